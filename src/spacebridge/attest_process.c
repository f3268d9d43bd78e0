/* spacebridge attest --pid: what evidence of one process would be, without a record. */
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "spacebridge/attest.h"

static void print_members(const json_t *object, const char *before)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		char whole[64];
		(void)snprintf(whole, sizeof(whole), "%s%s", before, name);
		if (json_is_object(value)) {
			char inner[64];
			(void)snprintf(inner, sizeof(inner), "%.60s.", whole);
			print_members(value, inner);
			continue;
		}
		sp_auto_free char *text = json_is_string(value)
					      ? strdup(json_string_value(value))
					      : json_dumps(value, JSON_ENCODE_ANY);
		for (char *at = text; at && *at; at++)
			if ((unsigned char)*at < 0x20 || *at == 0x7f)
				*at = '?';
		(void)printf("%-20s %s\n", whole, text ? text : "");
	}
}

int attest_process(struct sp_cli *cli)
{
	struct sp_enroll what = {.role = SP_ROLE_BRIDGE, .path = sp_cli_text(cli, "vsock")};
	sp_auto_json json_t *evidence = NULL;
	const char *path = sp_cli_text(cli, "evidence");
	const char *level = sp_level_name(sp_level_probe());
	struct sp_err err = {0};
	int64_t pid;
	int bad;

	if (sp_cli_number(cli, "pid", 0, 1, INT32_MAX, &pid))
		return SP_EXIT_USAGE;
	what.pid = (pid_t)pid;
	bad = sp_evidence_enroll(&what, &evidence, &err);
	if (!bad && path)
		bad = attest_evidence_process(path, what.pid, evidence, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	if (sp_cli_json(cli))
		return sp_cli_put_json(
		    cli, json_pack("{ss sO}", "level", level, "evidence", evidence));
	(void)printf("%-20s %s\n", "level", level);
	print_members(evidence, "");
	return SP_EXIT_DONE;
}
