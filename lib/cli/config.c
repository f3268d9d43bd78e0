/*
 * A reader around inih that makes it strict: inih itself goes on after errors, cuts long lines in
 * two and takes inline comments.
 */
#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/config_keys.h"

extern int ini_max_line __attribute__((weak));

struct load {
	struct sp_config *config;
	const char *path, *text;
	size_t at, size, line, longest;
	bool seen[SP_CONFIG_KEYS_MAX];
	struct sp_err *err;
	int failed;
};

static int refuse(struct load *load, const char *what, const char *why)
{
	if (!load->failed)
		load->failed = sp_fail(
		    load->err, SP_E_CONFIG, "%s:%zu: %s: %s", load->path, load->line, what, why);
	return 0;
}

/* inih's handler: 0 tells it of an error, but it goes on; hence load->failed. */
static int on_pair(void *context, const char *section, const char *name, const char *value)
{
	struct load *load = context;
	char what[SP_CONFIG_LINE_MAX + 8], hint[SP_CONFIG_HINT_MAX];
	const struct sp_config_key *key;
	const char *why;

	if (load->failed)
		return 0;
	(void)snprintf(what, sizeof(what), "[%s] %s", section, name);
	for (unsigned i = 0; (key = sp_config_key_at(i)); i++) {
		if (strcmp(key->section, section) != 0 || strcmp(key->name, name) != 0)
			continue;
		if (load->seen[i])
			return refuse(load, what, "given twice");
		load->seen[i] = true;
		why = sp_config_set(key, value, load->config);
		return why ? refuse(load, what, why) : 1;
	}
	sp_config_hint_key(section, name, hint, sizeof(hint));
	return refuse(load, what, hint);
}

static bool known_section(const char *line, size_t length)
{
	const struct sp_config_key *key;

	for (unsigned i = 0; (key = sp_config_key_at(i)); i++) {
		size_t n = strlen(key->section);
		if (length == n + 2 && line[0] == '[' && line[n + 1] == ']' &&
		    memcmp(line + 1, key->section, n) == 0)
			return true;
	}
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* inih ends a name at the first of these. */
static bool is_pair(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (line[i] == '=' || line[i] == ':')
			return line[i] == '=';
	return false;
}

/* A `;` after white space is a comment to inih, a `#` part of the value: neither is what it looks
 * like to somebody. */
static bool has_comment(const char *line, size_t length)
{
	for (size_t i = 1; i < length; i++)
		if ((line[i] == ';' || line[i] == '#') &&
		    (line[i - 1] == ' ' || line[i - 1] == '\t'))
			return true;
	return false;
}

static bool is_plain(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (((unsigned char)line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7f)
			return false;
	return sp_utf8_valid(line, length) && (length < 3 || memcmp(line, "\xef\xbb\xbf", 3) != 0);
}

static void refuse_section(struct load *load, const char *line, size_t length)
{
	char hint[SP_CONFIG_HINT_MAX];

	sp_config_hint_section(line, length, hint, sizeof(hint));
	(void)refuse(load, "section", hint);
}

/* What inih would take in silence, or take for something else. `line` without white space at its
 * end. */
static void check_line(struct load *load, const char *line, size_t length)
{
	bool comment = length > 0 && (line[0] == ';' || line[0] == '#');
	char words[48];

	(void)snprintf(words, sizeof(words), "longer than %zu bytes", load->longest);
	if (length > load->longest)
		(void)refuse(load, "line", words);
	else if (!is_plain(line, length))
		(void)refuse(load, "line", "not plain UTF-8 text");
	else if (length == 0 || comment)
		return;
	else if (line[0] == ' ' || line[0] == '\t')
		(void)refuse(load, "line", "starts with white space");
	else if (has_comment(line, length))
		(void)refuse(load, "line", "a comment stands on a line of its own");
	else if (line[0] == '[' && !known_section(line, length))
		refuse_section(load, line, length);
	else if (line[0] != '[' && !is_pair(line, length))
		(void)refuse(load, "line", "neither [section] nor key = value");
}

/* inih's fgets: counts lines, which inih does not tell its handler. */
static char *next_line(char *room, int size, void *stream)
{
	struct load *load = stream;
	const char *line = load->text + load->at;
	size_t left = load->size - load->at;
	const char *lf = memchr(line, '\n', left);
	size_t length = lf ? (size_t)(lf - line) : left;

	if (left == 0 || load->failed)
		return NULL;
	load->line++;
	load->at += length + (lf != NULL);
	while (length > 0 && is_blank(line[length - 1]))
		length--;
	check_line(load, line, length);
	if (!load->failed && length + 2 > (size_t)size)
		(void)refuse(load, "line", "longer than inih can read");
	if (load->failed)
		return NULL;
	memcpy(room, line, length);
	memcpy(room + length, "\n", 2);
	return room;
}

/* Debian's inih has its buffer's size in a variable, others have it built in: 200. */
static size_t longest_line(void)
{
	if (!&ini_max_line)
		return 197;
	ini_max_line = SP_CONFIG_LINE_MAX + 3;
	return SP_CONFIG_LINE_MAX;
}

static int read_pairs(struct load *load)
{
	int bad_line;

	load->longest = longest_line();
	bad_line = ini_parse_stream(next_line, load, on_pair, load);

	if (!load->failed && bad_line != 0) {
		load->line = bad_line > 0 ? (size_t)bad_line : 1;
		(void)refuse(load, "line", "neither [section] nor key = value");
	}
	return load->failed;
}

static void set_fallbacks(struct sp_config *config)
{
	const struct sp_config_key *key;

	for (unsigned i = 0; (key = sp_config_key_at(i)); i++)
		if (key->fallback[0] != '@')
			(void)sp_config_set(key, key->fallback, config);
}

/* Keys under the two directories, once those are known. */
static int derive(struct sp_config *config, struct sp_err *err)
{
	const struct sp_config_key *key;

	for (unsigned i = 0; (key = sp_config_key_at(i)); i++) {
		char *field = (char *)config + key->offset;
		bool run = strncmp(key->fallback, "@run/", 5) == 0;
		const char *scheme = key->kind == SP_CONFIG_REGISTRY ? "sqlite:" : "";
		int n;
		if (key->fallback[0] != '@' || *field)
			continue;
		n = snprintf(field, sp_config_room(key), "%s%s/%s", scheme,
		    run ? config->run_dir : config->state_dir, strchr(key->fallback, '/') + 1);
		if (n < 0 || (size_t)n >= sp_config_room(key))
			return sp_fail(err, SP_E_CONFIG, "[%s] %s: too long under its directory",
			    key->section, key->name);
	}
	return 0;
}

int sp_config_load(const char *path, bool optional, struct sp_config *ret, struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	sp_auto_free struct sp_config *config = calloc(1, sizeof(*config));
	struct load load = {.config = config, .path = path, .err = err};
	struct sp_err why = {0};
	int bad = 0;

	if (!config)
		return sp_fail(err, -ENOMEM, "out of memory");
	set_fallbacks(config);
	if (path)
		bad = sp_file_read(AT_FDCWD, path, 0, SP_CONFIG_FILE_MAX, &text, &load.size, &why);
	if (bad && !(bad == -ENOENT && optional))
		return sp_fail(err, SP_E_CONFIG, "%s", why.message);
	load.text = text;
	bad = text ? read_pairs(&load) : 0;
	if (!bad)
		bad = derive(config, err);
	if (bad)
		return bad;
	for (size_t i = 0; i < SP_CONFIG_KEYS_MAX; i++)
		config->from_file[i] = load.seen[i];
	*ret = *config;
	return 0;
}

bool sp_config_row(const struct sp_config *config, unsigned index, struct sp_config_row *ret)
{
	const struct sp_config_key *key = sp_config_key_at(index);

	if (!key)
		return false;
	*ret = (struct sp_config_row){
	    .section = key->section, .key = key->name, .unit = key->unit, .help = key->help};
	ret->source = config->from_file[index]  ? SP_CONFIG_FILE
		      : key->fallback[0] == '@' ? SP_CONFIG_DERIVED
						: SP_CONFIG_DEFAULT;
	sp_config_format(key, config, ret->value, sizeof(ret->value));
	return true;
}

bool sp_uid_list_allows(const struct sp_uid_list *list, uid_t uid)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->uids[i] == uid)
			return true;
	return list->count == 0 && uid == geteuid();
}
