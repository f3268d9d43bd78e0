/* The audit file, from its end: the line that is explained where it was not given, and what else is
 * there about the same sandbox or capability. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"
#include "spaceid/explain.h"

#define TAIL_MAX (8u * 1024u * 1024u)
#define BUNDLES  "\"role\":\"spacecap\"" /* lines about bundles of keys */

/* `text` has a NUL behind it; false when nothing more is there. */
static bool next_line(char **at, const char **ret)
{
	char *end = *at ? strchr(*at, '\n') : NULL;

	if (!end)
		return false;
	*ret = *at;
	*at = end + 1;
	return true;
}

/* The line without its LF as an event, where it has `needle` in it. */
static bool read_event(const char *line, const char *needle, struct explain_event *ret)
{
	sp_auto_json json_t *object = NULL;
	size_t size = strcspn(line, "\n");

	if (needle && !memmem(line, size, needle, strlen(needle)))
		return false;
	return size <= SP_LINE_MAX && sp_json_parse(line, size, &object, NULL) == 0 &&
	       explain_event_take(object, ret);
}

static int read_tail(const char *path, char **ret, bool *ret_cut, struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	sp_auto_free char *text = NULL;
	struct stat info;
	off_t from;
	size_t size = 0;
	ssize_t n = 1;
	int bad = sp_file_open(AT_FDCWD, path, 0, &fd, err);

	if (bad)
		return bad;
	text = malloc(TAIL_MAX + 1);
	if (!text)
		return sp_fail(err, -ENOMEM, "out of memory");
	if (fstat(fd, &info) < 0)
		return sp_fail_errno(err, "%s", path);
	from = info.st_size > (off_t)TAIL_MAX ? info.st_size - (off_t)TAIL_MAX : 0;
	while (size < TAIL_MAX && n > 0) {
		n = pread(fd, text + size, TAIL_MAX - size, from + (off_t)size);
		if (n < 0)
			return sp_fail_errno(err, "%s", path);
		size += (size_t)n;
	}
	text[size] = '\0';
	/* It ends where it ends, whatever was written into it. */
	for (char *nul = memchr(text, '\0', size); nul;
	     nul = memchr(nul, '\0', size - (size_t)(nul - text)))
		*nul = '?';
	*ret_cut = from > 0;
	*ret = sp_steal(&text);
	return 0;
}

static bool is_refusal(const struct explain_event *event)
{
	return event->decided ? event->reason != SP_REASON_NONE : event->error >= 0;
}

/* May this line be the one behind what was given? */
static bool is_like(const struct explained *explained, const struct explain_event *event)
{
	const struct explain_event *given = &explained->event;

	if (given->sandbox[0] && strcmp(event->sandbox, given->sandbox) != 0)
		return false;
	if (explained->input == EXPLAIN_RESULT)
		return event->decided == given->decided && event->reason == given->reason &&
		       event->error == given->error &&
		       (!given->role[0] || strcmp(event->role, given->role) == 0);
	if (explained->input == EXPLAIN_TOKEN)
		return is_refusal(event) && strcmp(event->jti, given->jti) == 0;
	return is_refusal(event);
}

/* An answer names neither sandbox nor route, an id no refusal: the last line like it does. */
static void find_event(struct explained *explained)
{
	struct explain_event event, found = {.error = -1};
	const char *needle = explained->event.sandbox[0] ? explained->event.sandbox : NULL;
	char *at = explained->tail;
	const char *line;

	if (explained->input == EXPLAIN_AUDIT || explained->input == EXPLAIN_COMPARISON ||
	    explained->input == EXPLAIN_ROUTE ||
	    (explained->input == EXPLAIN_RESULT && !is_refusal(&explained->event)))
		return;
	while (next_line(&at, &line))
		if (read_event(line, needle, &event) && is_like(explained, &event)) {
			found = event;
			explained->event_found = true;
		}
	if (!explained->event_found)
		return;
	if (explained->input == EXPLAIN_TOKEN || explained->event.has_route) {
		found.route = explained->event.route;
		found.has_route = true;
	}
	explained->event = found;
}

static bool is_about(const struct explained *explained, const struct explain_event *event)
{
	const struct explain_event *given = &explained->event;

	if (given->jti[0] && strcmp(event->jti, given->jti) == 0)
		return true;
	/* What went well is many lines, and says little. */
	return given->sandbox[0] && strcmp(event->sandbox, given->sandbox) == 0 &&
	       (is_refusal(event) || strcmp(event->role, "spaceid") == 0 ||
		   strcmp(event->role, "spacerouted") == 0 || strcmp(event->action, "cut") == 0);
}

/* Was it the key that stood against it? Then what was done to bundles is about it, too. */
static bool is_of_keys(const struct explained *explained)
{
	switch (explained->token.is_one && explained->token.reason ? explained->token.reason
								   : explained->event.reason) {
	case SP_REASON_UNKNOWN_KEY:
	case SP_REASON_REVOKED_KEY:
		return true;
	default:
		return false;
	}
}

static json_t *line_json(const struct explain_event *event)
{
	const char *reason = event->decided ? sp_reason_name(event->reason) : NULL;
	const char *error =
	    event->error >= 0 ? sp_error_name((enum sp_error_kind)event->error) : NULL;
#define TEXT(value) ((value)[0] ? (value) : NULL)
	return json_pack("{ss* ss* ss* ss* ss* ss* ss* ss*}", "time", TEXT(event->time), "role",
	    TEXT(event->role), "caller", TEXT(event->caller), "op", TEXT(event->op), "action",
	    TEXT(event->action), "reason", reason, "error", error, "note", TEXT(event->note));
#undef TEXT
}

static void count_like(struct explained *explained, const struct explain_event *event)
{
	if (!is_refusal(event) || event->reason != explained->event.reason ||
	    event->error != explained->event.error ||
	    strcmp(event->sandbox, explained->event.sandbox) != 0)
		return;
	if (explained->like_it++ == 0)
		memcpy(explained->like_first, event->time, SP_TIME_SIZE);
	memcpy(explained->like_last, event->time, SP_TIME_SIZE);
}

static void collect(struct explained *explained)
{
	const char *sandbox = explain_sandbox(explained), *line;
	const char *needle = sandbox ? sandbox : explained->event.jti;
	bool keys = is_of_keys(explained);
	struct explain_event event;
	char *at = explained->tail;

	if (!*needle && !keys)
		return;
	while (next_line(&at, &line)) {
		bool of_bundle = keys && read_event(line, BUNDLES, &event);
		if (!of_bundle && (!*needle || !read_event(line, needle, &event)))
			continue;
		if (!of_bundle)
			count_like(explained, &event);
		if (!of_bundle && !is_about(explained, &event))
			continue;
		(void)json_array_append_new(explained->lines, line_json(&event));
		if (json_array_size(explained->lines) > EXPLAIN_LINES)
			(void)json_array_remove(explained->lines, 0);
	}
}

void explain_audit(struct explained *explained, const char *path)
{
	struct sp_err err = {0};
	bool cut = false;

	if (!path) {
		explain_unseen(explained, "audit lines",
		    "no file is named (--audit, or [audit] file of the configuration)");
		return;
	}
	if (read_tail(path, &explained->tail, &cut, &err) < 0) {
		explain_unseen(explained, "audit lines", err.message);
		return;
	}
	if (cut)
		explain_unseen(explained, "older audit lines", "only the last 8 MiB were read");
	find_event(explained);
	collect(explained);
}

void explain_who(const struct explained *explained, json_t *change)
{
	const char *effect = json_string_value(json_object_get(change, "effect"));
	int64_t epoch = json_integer_value(json_object_get(change, "epoch"));
	const char *sandbox = explain_sandbox(explained), *line;
	struct explain_event event;
	char *at = explained->tail;

	while (sandbox && next_line(&at, &line))
		if (read_event(line, sandbox, &event) && strcmp(event.role, "spaceid") == 0 &&
		    strcmp(event.sandbox, sandbox) == 0 && strcmp(event.action, effect) == 0 &&
		    event.epoch == epoch && event.caller[0])
			(void)json_object_set_new(change, "by", json_string(event.caller));
}
