/* spacebridge attest --level: what this kernel lets us prove, and whether [bridge] min_level is
 * content with it. */
#include <stdio.h>
#include "attest/level.h"
#include "cli/table.h"
#include "spacebridge/attest.h"

static json_t *missing_json(const struct sp_facilities *facilities)
{
	json_t *missing = json_array();
	const char *name;
	bool has;

	for (unsigned i = 0; sp_facilities_row(facilities, i, &name, &has); i++)
		if (!has && json_array_append_new(missing, json_string(name)) < 0) {
			json_decref(missing);
			return NULL;
		}
	return missing;
}

static void print_facilities(const struct sp_facilities *facilities, bool color)
{
	const char *name;
	bool has;

	for (unsigned i = 0; sp_facilities_row(facilities, i, &name, &has); i++) {
		sp_tone_print(
		    stdout, color, has ? SP_TONE_GOOD : SP_TONE_BAD, has ? "has   " : "lacks ");
		(void)printf(" %s\n", name);
	}
}

int attest_level(struct sp_cli *cli)
{
	struct sp_facilities facilities;
	enum sp_level min_level, level;
	int bad = attest_min_level(cli, &min_level);

	if (bad)
		return bad;
	sp_facilities_probe(&facilities);
	level = sp_level_of(&facilities);
	if (sp_cli_json(cli))
		bad = sp_cli_put_json(
		    cli, json_pack("{ss ss sb so}", "level", sp_level_name(level), "min_level",
			     sp_level_name(min_level), "enough", level >= min_level, "missing",
			     missing_json(&facilities)));
	else {
		print_facilities(&facilities, sp_cli_color(cli));
		(void)printf("level %s, [bridge] min_level %s\n", sp_level_name(level),
		    sp_level_name(min_level));
	}
	if (bad)
		return bad;
	return level >= min_level ? SP_EXIT_DONE : SP_EXIT_DENY;
}
