/* Parsing, hints and help, from the table. */
#include "spaced-guest/options.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"

#define MIB  (1024LL * 1024)
#define NEAR 2 /* letters off for a hint */

struct option {
	const char *name;
	char letter;          /* or 0 */
	const char *argument; /* NULL: a flag */
	const char *help;     /* lines of 80 columns */
	int64_t min, max;     /* of a number; 0: it is none */
};

enum which { LISTEN, ROOT, CID, KEY, SESSIONS, TREE_MIB, TREE_ENTRIES, HELP, VERSION, VERBOSE };

static const struct option OPTIONS[] = {
    [LISTEN] = {"listen", 'l', "ADDRESS", "vsock:PORT or unix:PATH (default: vsock:5005)", 0, 0},
    [ROOT] = {"root", 'r', "DIR", "what paths are resolved in (default: /)", 0, 0},
    [CID] = {"cid", 0, "N", "our CID, where a stand-in plays the VMM", 3, UINT32_MAX - 1},
    [KEY] = {"key", 'k', "FILE", "where our key outlives us until the next boot", 0, 0},
    [SESSIONS] = {"max-sessions", 0, "N", "sessions kept, 1 to 4096 (default: 64)", 1, 4096},
    [TREE_MIB] = {"max-tree-mib", 0, "N", "size of one tree.put (default: 16384)", 1, 1048576},
    [TREE_ENTRIES] = {"max-tree-entries", 0, "N", "its entries (default: 1000000)", 1, 100000000},
    [HELP] = {"help", 'h', NULL, "this text", 0, 0},
    [VERSION] = {"version", 'V', NULL, "which version it is", 0, 0},
    [VERBOSE] = {"verbose", 'v', NULL, "after -V: which libraries are inside, too", 0, 0},
};

void guest_help(FILE *out)
{
	(void)fputs("usage: spaced-guest-static [options]\n\nthe agent in the guest of a sandbox: "
		    "files, commands, sessions, trees, ports\n\noptions:\n",
	    out);
	for (size_t i = 0; i < SP_COUNT(OPTIONS); i++) {
		const struct option *option = &OPTIONS[i];
		char left[64];
		(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s", option->letter ? '-' : ' ',
		    option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
		    option->argument ? " " : "", option->argument ? option->argument : "");
		(void)fprintf(out, "  %-30s %s\n", left, option->help);
	}
	(void)fputs("\nexamples:\n  spaced-guest-static\n  spaced-guest-static --listen "
		    "unix:/tmp/guest.sock --root /srv/tree --cid 3\n\n"
		    "exit codes: 0 told to end, 1 cannot serve, 2 usage\n",
	    out);
}

static void set(struct sp_agent_config *config, enum guest_wanted *wanted, size_t which,
    const char *text, int64_t number)
{
	switch ((enum which)which) {
	case LISTEN:
		config->listen = text;
		break;
	case ROOT:
		config->root = text;
		break;
	case KEY:
		config->key = text;
		break;
	case CID:
		config->cid = (uint32_t)number;
		break;
	case SESSIONS:
		config->tasks_max = (unsigned)number;
		break;
	case TREE_MIB:
		config->tree.bytes = number * MIB;
		break;
	case TREE_ENTRIES:
		config->tree.entries = number;
		break;
	case HELP:
		*wanted = GUEST_HELP;
		break;
	case VERSION:
		*wanted = GUEST_VERSION;
		break;
	case VERBOSE:
		if (*wanted == GUEST_VERSION)
			*wanted = GUEST_LIBRARIES;
		break;
	}
}

static int unknown(const char *name, struct sp_err *err)
{
	const char *nearest = NULL;
	unsigned least = NEAR + 1;

	for (size_t i = 0; i < SP_COUNT(OPTIONS); i++) {
		unsigned off = sp_word_distance(name, OPTIONS[i].name);
		if (off < least) {
			least = off;
			nearest = OPTIONS[i].name;
		}
	}
	return sp_fail(err, SP_E_USAGE, "unknown option --%.64s%s%s%s", name,
	    nearest ? "; did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* The option that a word is: `--name`, `--name=value`, `-n`, `-nvalue`; its value so far. */
static int find(char *word, size_t *ret_which, const char **ret_value, struct sp_err *err)
{
	bool is_long = strncmp(word, "--", 2) == 0;
	char *equals = is_long ? strchr(word, '=') : NULL;

	if (word[0] != '-' || !word[1])
		return sp_fail(err, SP_E_USAGE, "`%.64s`: no argument is taken", word);
	if (equals)
		*equals++ = '\0';
	for (size_t i = 0; i < SP_COUNT(OPTIONS); i++)
		if (is_long ? strcmp(word + 2, OPTIONS[i].name) == 0
			    : word[1] == OPTIONS[i].letter) {
			*ret_which = i;
			*ret_value = is_long ? equals : word[2] ? word + 2 : NULL;
			return 0;
		}
	return is_long ? unknown(word + 2, err)
		       : sp_fail(err, SP_E_USAGE, "unknown option -%.1s", word + 1);
}

int guest_options(int argc, char **argv, struct sp_agent_config *config,
    enum guest_wanted *ret_wanted, struct sp_err *err)
{
	*ret_wanted = GUEST_SERVE;
	for (int at = 1; at < argc; at++) {
		const char *value = NULL;
		int64_t number = 0;
		size_t which = 0;
		int bad = find(argv[at], &which, &value, err);
		const struct option *option = &OPTIONS[which];

		if (bad)
			return bad;
		if (!option->argument && value)
			return sp_fail(err, SP_E_USAGE, "--%s takes no value", option->name);
		if (option->argument && !value)
			value = argv[++at]; /* NULL behind the last */
		if (option->argument && !value)
			return sp_fail(err, SP_E_USAGE, "--%s wants a value (%s)", option->name,
			    option->argument);
		if (option->max && !sp_number_parse(value, option->min, option->max, &number))
			return sp_fail(err, SP_E_USAGE,
			    "--%s: `%.64s` is not a whole number from %lld to %lld", option->name,
			    value, (long long)option->min, (long long)option->max);
		set(config, ret_wanted, which, value, number);
	}
	return 0;
}
