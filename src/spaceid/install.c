/* spaceid install: records in, one effect line each out. */
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "base/util.h"
#include "record/filter.h"
#include "record/json.h"
#include "record/result.h"
#include "spaceid/verbs.h"

struct install {
	struct sp_cli *cli;
	struct sp_store *store;
	struct sp_change change; /* what is the same for every line */
	int cut_timeout_ms;
	struct sp_trail trail;
	int exit;
};

static int parse(json_t *record, struct sp_change *change, struct sp_err *err)
{
	const json_t *sandbox, *route, *owner, *bridge, *vmm, *guest;
	const struct sp_json_field fields[] = {
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"route", SP_JSON_OBJECT, false, &route},
	    {"owner", SP_JSON_STRING, false, &owner},
	    {"bridge", SP_JSON_OBJECT, true, &bridge},
	    {"vmm", SP_JSON_OBJECT, true, &vmm},
	    {"guest", SP_JSON_OBJECT, true, &guest},
	};
	char checked[SP_ID_MAX + 1];
	int bad = sp_json_take(record, "record", fields, SP_COUNT(fields), err);

	if (!bad)
		bad = sp_id_copy(json_string_value(sandbox), "`sandbox`", checked, err);
	if (!bad)
		bad = sp_id_copy(json_string_value(owner), "`owner`", checked, err);
	if (!bad)
		bad = sp_route_parse(route, &change->route, err);
	if (!bad)
		bad = sp_evidence_check(guest, err);
	if (bad)
		return bad;
	change->sandbox = json_string_value(sandbox);
	change->owner = json_string_value(owner);
	change->bridge = json_object_get(record, "bridge");
	change->vmm = json_object_get(record, "vmm");
	change->guest = json_object_get(record, "guest");
	return 0;
}

static int install_one(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	struct install *install = context;
	struct sp_change change = install->change;
	struct sp_outcome outcome;
	int bad = parse(record, &change, err);

	if (bad)
		return bad;
	change.now = sp_time_now();
	sp_trail_start(&install->trail);
	bad = sp_store_change(install->store, &change, install->cut_timeout_ms, &outcome, err);
	spaceid_audit(&install->trail, install->store,
	    &(struct spaceid_asked){"install", change.sandbox, NULL, &change.route}, bad, &outcome,
	    err);
	if (bad == SP_E_BAD_RECORD)
		return bad;
	if (bad) {
		(void)sp_cli_fail(install->cli, err);
		/* In force, though what it replaced may still be moving: as a request that was
		 * sent. */
		*ret = sp_result_error(NULL,
		    bad == SP_E_TIMEOUT ? SP_ERROR_TIMEOUT : SP_ERROR_UNAVAILABLE, true,
		    err->message);
		return 0;
	}
	if (outcome.effect == SP_EFFECT_CONFLICT)
		install->exit = sp_exit_worse(install->exit, SP_EXIT_CONFLICT);
	*ret = spaceid_outcome(change.sandbox, &outcome);
	return 0;
}

int spaceid_install(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	auto_store struct sp_store *store = NULL;
	struct install install = {.cli = cli, .change = {.kind = SP_CHANGE_INSTALL}};
	struct sp_err err = {0};
	int written = SP_EXIT_DONE, bad;

	if (!config || sp_cli_number(cli, "if-epoch", 0, 0, SP_INT_MAX, &install.change.if_epoch))
		return SP_EXIT_USAGE;
	install.change.has_if_epoch = sp_cli_flag(cli, "if-epoch");
	install.change.worker = config->worker;
	install.cut_timeout_ms = (int)config->cut_timeout_ms;
	bad = sp_trail_open(cli, "spaceid", &install.trail);
	if (!bad)
		bad = spaceid_store(cli, SP_STORE_CREATE, &store);
	if (bad) {
		sp_trail_done(&install.trail);
		return bad;
	}
	install.store = store;
	bad =
	    sp_filter_run(STDIN_FILENO, STDOUT_FILENO, install_one, NULL, &install, &written, &err);
	sp_trail_done(&install.trail);
	return bad ? sp_cli_fail(cli, &err) : sp_exit_worse(written, install.exit);
}
