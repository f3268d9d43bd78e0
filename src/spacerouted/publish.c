/* spacerouted publish: where a sandbox is served from now on; one from flags, or lines. */
#include <string.h>
#include <unistd.h>
#include "cli/route_flags.h"
#include "record/filter.h"
#include "record/json.h"
#include "record/result.h"
#include "spacerouted/verbs.h"

struct publish {
	struct sp_cli *cli;
	struct sp_registry *registry;
	bool conditional;
	int64_t if_revision;
	struct sp_trail trail;
	int exit;
};

static int publish_line(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	struct publish *publish = context;
	struct sp_publication wanted;
	enum sp_publish_effect effect = SP_PUBLISH_NONE;
	int64_t revision;
	struct sp_err why = {0};
	int bad = sp_publication_parse(record, &wanted, err);

	if (bad)
		return bad;
	wanted.conditional = publish->conditional;
	wanted.if_revision = publish->if_revision;
	sp_trail_start(&publish->trail);
	bad = sp_registry_publish(publish->registry, &wanted, &effect, &revision, &why);
	spacerouted_audit_route(
	    &publish->trail, "publish", &wanted.identity, true, bad, effect, &why);
	if (bad) {
		(void)sp_cli_fail(publish->cli, &why);
		*ret = sp_result_error(NULL, SP_ERROR_UNAVAILABLE, false, why.message);
		return 0;
	}
	if (effect == SP_PUBLISH_CONFLICT)
		publish->exit = sp_exit_worse(publish->exit, SP_EXIT_CONFLICT);
	*ret = sp_publish_line(wanted.identity.sandbox, effect, revision, &why);
	return 0;
}

static int quiet_moment(void *context, struct sp_err *err)
{
	struct publish *publish = context;

	(void)err;
	sp_registry_tidy(publish->registry);
	return 0;
}

static int publish_lines(struct publish *publish)
{
	struct sp_err err = {0};
	int written = SP_EXIT_DONE;
	int bad = sp_filter_run(
	    STDIN_FILENO, STDOUT_FILENO, publish_line, quiet_moment, publish, &written, &err);

	return bad ? sp_cli_fail(publish->cli, &err) : sp_exit_worse(written, publish->exit);
}

static int read_flags(struct sp_cli *cli, struct sp_publication *wanted)
{
	const char *sandbox, *endpoint = sp_cli_text(cli, "endpoint");
	struct sp_err err = {0};

	if (spacerouted_id(cli, "sandbox", &sandbox))
		return SP_EXIT_USAGE;
	if (!sandbox || !endpoint)
		return sp_cli_usage(
		    cli, "one route from flags needs --%s", sandbox ? "endpoint" : "sandbox");
	if (!sp_endpoint_valid(endpoint))
		return sp_cli_usage(
		    cli, "--endpoint: `%.200s` is not unix: and an absolute path", endpoint);
	if (sp_cli_route(cli, &wanted->identity.route, &err) < 0)
		return sp_cli_usage(cli, "%s", err.message);
	memcpy(wanted->identity.sandbox, sandbox, strlen(sandbox) + 1);
	memcpy(wanted->endpoint, endpoint, strlen(endpoint) + 1);
	return 0;
}

static int publish_flags(struct publish *publish, const struct sp_publication *wanted)
{
	enum sp_publish_effect effect = SP_PUBLISH_NONE;
	int64_t revision;
	struct sp_err err = {0};
	int bad;

	sp_trail_start(&publish->trail);
	bad = sp_registry_publish(publish->registry, wanted, &effect, &revision, &err);
	spacerouted_audit_route(
	    &publish->trail, "publish", &wanted->identity, true, bad, effect, &err);
	return bad ? sp_cli_fail(publish->cli, &err)
		   : spacerouted_told(
			 publish->cli, wanted->identity.sandbox, effect, revision, &err);
}

int spacerouted_publish(struct sp_cli *cli)
{
	bool flags =
	    sp_cli_has_route(cli) || sp_cli_text(cli, "sandbox") || sp_cli_text(cli, "endpoint");
	auto_registry struct sp_registry *registry = NULL;
	struct publish publish = {.cli = cli, .conditional = sp_cli_flag(cli, "if-rev")};
	struct sp_publication wanted = {0};
	int bad = flags ? read_flags(cli, &wanted) : 0;

	if (bad || sp_cli_number(cli, "if-rev", 0, 0, SP_INT_MAX, &publish.if_revision))
		return SP_EXIT_USAGE;
	bad = sp_trail_open(cli, "spacerouted", &publish.trail);
	if (!bad)
		bad = spacerouted_open(cli, true, &registry);
	if (bad) {
		sp_trail_done(&publish.trail);
		return bad;
	}
	publish.registry = registry;
	wanted.conditional = publish.conditional;
	wanted.if_revision = publish.if_revision;
	bad = flags ? publish_flags(&publish, &wanted) : publish_lines(&publish);
	sp_trail_done(&publish.trail);
	return bad;
}
