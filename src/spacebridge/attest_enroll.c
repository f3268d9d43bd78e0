/* spacebridge attest --enroll: evidence of the bridge and the VMM of an activation. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "spacebridge/attest.h"

static int take_pid(struct sp_cli *cli, const char *option, pid_t *ret)
{
	int64_t number;

	if (sp_cli_number(cli, option, 0, 1, INT32_MAX, &number))
		return SP_EXIT_USAGE;
	*ret = (pid_t)number;
	return 0;
}

static int take_bridge(struct sp_cli *cli, struct sp_enroll *bridge, char path[PATH_MAX])
{
	const char *sandbox = sp_cli_text(cli, "sandbox");
	const struct sp_config *config;
	int bad = take_pid(cli, "bridge-pid", &bridge->pid);

	bridge->role = SP_ROLE_BRIDGE;
	bridge->path = sp_cli_text(cli, "bridge");
	if (bad || bridge->path || !bridge->pid)
		return !bad && bridge->path && !bridge->pid
			   ? sp_cli_usage(cli, "--bridge needs --bridge-pid")
			   : bad;
	if (!sandbox)
		return sp_cli_usage(cli, "--bridge-pid needs --bridge, or --sandbox");
	config = sp_cli_config(cli);
	if (!config)
		return SP_EXIT_USAGE;
	if (snprintf(path, PATH_MAX, "%s/bridge/%s.sock", config->run_dir, sandbox) >= PATH_MAX)
		return sp_cli_usage(cli, "[space] run_dir: path too long");
	bridge->path = path;
	return 0;
}

static int take_vmm(struct sp_cli *cli, struct sp_enroll *vmm)
{
	int bad = take_pid(cli, "vmm-pid", &vmm->pid);

	vmm->role = SP_ROLE_VMM;
	vmm->path = sp_cli_text(cli, "vsock");
	vmm->api = sp_cli_text(cli, "api");
	if (!bad && sp_cli_number(cli, "cid", 0, 3, UINT32_MAX - 1, &vmm->cid))
		return SP_EXIT_USAGE;
	if (!bad && !vmm->pid != !vmm->path)
		return sp_cli_usage(cli, "--vmm-pid and --vsock go together");
	if (!bad && !vmm->pid && (vmm->api || vmm->cid))
		return sp_cli_usage(cli, "--api and --cid need --vmm-pid");
	return bad;
}

/* The record to add to, or an empty one. */
static int read_record(struct sp_cli *cli, json_t **ret, struct sp_err *err)
{
	const char *file = sp_cli_text(cli, "record");
	const char *sandbox = sp_cli_text(cli, "sandbox"), *named;
	sp_auto_json json_t *record = NULL;
	sp_auto_free char *text = NULL;
	int bad;

	if (!file) {
		*ret = json_object();
		return 0;
	}
	if (strcmp(file, "-") == 0) {
		bad = sp_cli_secret(cli, file, SP_RECORD_FILE_MAX, &text, err);
		if (!bad)
			bad = sp_json_parse(text, strlen(text), &record, err);
	} else {
		bad = sp_json_read_file(AT_FDCWD, file, SP_RECORD_FILE_MAX, &record, err);
	}
	if (bad)
		return bad;
	named = json_string_value(json_object_get(record, "sandbox"));
	if (sandbox && (!named || strcmp(named, sandbox) != 0))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "the record is not of sandbox %.140s", sandbox);
	*ret = sp_steal(&record);
	return 0;
}

static int add(json_t *record, const char *name, const struct sp_enroll *what, struct sp_err *err)
{
	json_t *evidence = NULL;
	int bad = what->pid ? sp_evidence_enroll(what, &evidence, err) : 0;

	if (bad)
		return sp_err_prefix(err, bad, "%s", name);
	if (evidence && json_object_set_new(record, name, evidence) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	return 0;
}

int attest_enroll(struct sp_cli *cli)
{
	struct sp_enroll bridge = {0}, vmm = {0};
	const char *sandbox = sp_cli_text(cli, "sandbox");
	char path[PATH_MAX];
	sp_auto_json json_t *record = NULL;
	struct sp_err err = {0};
	int bad;

	if (sandbox && !sp_id_valid(sandbox))
		return sp_cli_usage(cli, "--sandbox: `%.140s` is no id", sandbox);
	if (take_bridge(cli, &bridge, path) || take_vmm(cli, &vmm))
		return SP_EXIT_USAGE;
	if (!bridge.pid && !vmm.pid)
		return sp_cli_usage(cli, "--enroll needs --bridge-pid, --vmm-pid or both");
	if (sp_cli_text(cli, "guest-key") && (!sp_cli_text(cli, "record") || !vmm.pid))
		return sp_cli_usage(cli, "--guest-key needs --record and --vmm-pid");
	bad = read_record(cli, &record, &err);
	if (!bad)
		bad = add(record, "bridge", &bridge, &err);
	if (!bad)
		bad = add(record, "vmm", &vmm, &err);
	/* A record that is whole but for its evidence: the guest is told whose it is. */
	if (!bad && vmm.pid && json_object_get(record, "route"))
		bad = attest_enroll_guest(cli, record, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	sp_cli_note(cli, "level %s", sp_level_name(sp_level_probe()));
	return sp_cli_put_json(cli, sp_steal(&record));
}
