/* spacebridge attest --sandbox: judges bridge and VMM against what the runtime record has of them.
 */
#include <limits.h>
#include <stdio.h>
#include "attest/sight.h"
#include "base/text.h"
#include "base/util.h"
#include "spacebridge/attest.h"
#include "store/store.h"

int attest_records(struct sp_cli *cli, char path[PATH_MAX], struct sp_err *err)
{
	const struct sp_config *config = sp_cli_config(cli);
	const char *given = sp_cli_text(cli, "records");
	int n = given ? snprintf(path, PATH_MAX, "%s", given)
		      : snprintf(path, PATH_MAX, "%s/records", config->state_dir);

	if (n < 0 || n >= PATH_MAX)
		return sp_fail(err, SP_E_CONFIG, "the records' directory: path too long");
	return 0;
}

int attest_read_record(
    const char *records, const char *sandbox, struct sp_record *ret, struct sp_err *err)
{
	struct sp_store *store;
	int bad = sp_store_open(records, 0, &store, err);

	if (bad)
		return bad;
	bad = sp_store_read(store, sandbox, ret, err);
	sp_store_close(store);
	return bad;
}

static enum sp_reason first(enum sp_reason a, enum sp_reason b)
{
	return a != SP_REASON_NONE ? a : b;
}

/* Both sides are looked at, whatever the first one gives: the first failure is the reason, the rest
 * helps whoever has to mend it. */
static enum sp_reason judge(
    const struct attest_target *target, bool connect, struct sp_report *report)
{
	enum sp_reason bridge, vmm;

	if (connect) {
		bridge = attest_connect_bridge(target, report);
		vmm = attest_connect_vmm(target, report);
	} else {
		bridge =
		    sp_attest_inspect(SP_ROLE_BRIDGE, target->bridge, target->min_level, report);
		vmm = sp_attest_inspect(SP_ROLE_VMM, target->vmm, target->min_level, report);
	}
	if (vmm == SP_REASON_NONE)
		vmm = sp_attest_config(target->vmm, target->min_level, target->timeout_ms, report);
	return first(bridge, vmm);
}

/* What was judged is taken away first: an answer without the archive that was asked for is none. */
static int answer(struct sp_cli *cli, const struct sp_record *record,
    const struct sp_report *report, enum sp_reason reason, enum sp_level min_level)
{
	const char *path = sp_cli_text(cli, "evidence");
	struct attest_taken taken = {.sandbox = sp_cli_text(cli, "sandbox"),
	    .record = record,
	    .report = report,
	    .reason = reason,
	    .min_level = min_level};
	struct sp_err err = {0};

	if (path && attest_evidence_sandbox(path, &taken, &err))
		return sp_cli_fail(cli, &err);
	return attest_show(cli, report, reason);
}

int attest_sandbox(struct sp_cli *cli)
{
	const char *sandbox = sp_cli_text(cli, "sandbox");
	const struct sp_config *config;
	char records[PATH_MAX];
	struct sp_record record = {0};
	struct sp_sight sights[2];
	struct sp_report report = {.sights = sights};
	struct attest_target target = {.records = records};
	struct sp_err err = {0};
	enum sp_reason reason;
	int code = attest_min_level(cli, &target.min_level);

	if (code)
		return code;
	config = sp_cli_config(cli);
	sp_attest_private();
	sp_sight_init(&sights[SP_ROLE_BRIDGE]);
	sp_sight_init(&sights[SP_ROLE_VMM]);
	if (!sp_id_valid(sandbox))
		return sp_cli_usage(cli, "--sandbox: `%.140s` is no id", sandbox);
	code = attest_records(cli, records, &err);
	if (!code)
		code = attest_read_record(records, sandbox, &record, &err);
	if (code == SP_E_ABSENT)
		return answer(cli, NULL, &report, SP_REASON_ABSENT, target.min_level);
	if (code)
		return sp_cli_fail(cli, &err);
	target.bridge = record.bridge;
	target.vmm = record.vmm;
	target.port = (uint32_t)config->guest_port;
	sp_guest_name_of(&record, &target.guest);
	target.timeout_ms = (int)config->connect_timeout_ms;
	reason = record.retired ? SP_REASON_RETIRED
				: judge(&target, sp_cli_flag(cli, "connect"), &report);
	code = answer(cli, &record, &report, reason, target.min_level);
	sp_report_done(&report);
	sp_record_done(&record);
	return code;
}
