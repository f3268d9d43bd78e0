/* Fields of an object, one below the other. */
#include "cli/fields.h"

#include <stdint.h>
#include <stdio.h>
#include "base/util.h"
#include "cli/table.h"
#include "record/reason.h"

static int add_rows(struct sp_table *table, const char *prefix, const json_t *value, unsigned depth)
{
	sp_auto_free char *text = NULL;
	const char *name, *cells[] = {prefix, json_string_value(value)};
	json_t *member;
	char label[128];
	int bad = 0;

	if (!json_is_object(value) || depth == 0) {
		if (!json_is_string(value))
			cells[1] = text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		return sp_table_add(table, SP_TONE_PLAIN, cells);
	}
	json_object_foreach((json_t *)(uintptr_t)value, name, member)
	{
		(void)snprintf(label, sizeof(label), "%s%s%s", prefix, *prefix ? "." : "", name);
		if (!bad)
			bad = add_rows(table, label, member, depth - 1);
	}
	return bad;
}

int sp_cli_fields(struct sp_cli *cli, const char *name, const json_t *object, unsigned depth)
{
	const char *const headings[] = {name, "value", NULL};
	struct sp_table *table;
	int bad = sp_cli_table(cli, headings, 2, &table);

	if (bad)
		return bad;
	bad = add_rows(table, "", object, depth) < 0 || sp_table_finish(table) < 0;
	sp_table_free(table);
	return bad ? SP_EXIT_FAILED : SP_EXIT_DONE;
}
