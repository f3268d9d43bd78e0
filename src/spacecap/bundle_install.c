/* bundle install: a bundle into force on this machine. */
#include "spacecap/bundle.h"

#include <errno.h>
#include <stdio.h>
#include "base/text.h"
#include "base/util.h"
#include "record/reason.h"
#include "spacecap/verbs.h"

static void tell_waiting(void *context)
{
	sp_cli_progress_words(context, "another install is at work; it is waited for");
}

/* `manifest` has a count as soon as the bundle is believed. */
static int install(struct sp_cli *cli, const struct sp_config *config, struct sp_manifest *manifest,
    bool *ret_changed, struct sp_err *err)
{
	const struct sp_bundle_wait wait = {tell_waiting, cli};
	const char *directory = sp_cli_text(cli, "directory");
	struct sp_roots roots;
	struct sp_bundle bundle;
	int bad = spacecap_roots(cli, config, &roots, err);

	if (!bad)
		bad = sp_bundle_read_file(sp_cli_argument(cli, 0), &bundle, err);
	if (bad)
		return bad;
	bad = sp_bundle_check(&bundle, &roots, spacecap_realm(cli, config), manifest, err);
	if (!bad)
		bad = sp_bundle_install(&bundle, manifest,
		    directory ? directory : config->keys_bundle, sp_time_now(), &wait, ret_changed,
		    err);
	sp_bundle_done(&bundle);
	return bad;
}

/* As a conflict of spaceid is told: on standard output, for whoever asked. */
static int put_conflict(struct sp_cli *cli, const struct sp_err *err)
{
	if (!sp_cli_json(cli))
		return sp_cli_fail(cli, err);
	return sp_cli_put_json(cli, json_pack("{sbss}", "changed", 0, "conflict", err->message))
		   ? SP_EXIT_FAILED
		   : SP_EXIT_CONFLICT;
}

int spacecap_bundle_install(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	auto_trail struct sp_trail trail = {.audit = NULL};
	struct sp_manifest manifest = {.count = 0};
	struct sp_err err = {0};
	bool changed = false;
	json_t *summary;
	int bad;

	if (!config)
		return SP_EXIT_USAGE;
	/* It may take back a key: nothing may be in the way of that. */
	bad = sp_trail_open_if_possible(cli, "spacecap", &trail);
	if (bad)
		return bad;
	sp_trail_start(&trail);
	bad = install(cli, config, &manifest, &changed, &err);
	spacecap_bundle_audit(&trail,
	    &(struct spacecap_changed){.op = "bundle install",
		.effect = changed ? "installed" : "none",
		.manifest = manifest.count > 0 ? &manifest : NULL},
	    bad, &err);
	if (bad)
		return bad == SP_E_CONFLICT ? put_conflict(cli, &err) : sp_cli_fail(cli, &err);
	if (!sp_cli_json(cli)) {
		(void)printf("%s: serial %lld of realm %s\n",
		    changed ? "installed" : "in force already", (long long)manifest.serial,
		    manifest.realm);
		return SP_EXIT_DONE;
	}
	summary = spacecap_bundle_summary(&manifest);
	if (!summary || json_object_set_new(summary, "changed", json_boolean(changed)) < 0) {
		json_decref(summary);
		(void)sp_fail(&err, -ENOMEM, "out of memory");
		return sp_cli_fail(cli, &err);
	}
	return sp_cli_put_json(cli, summary);
}
