/* What the verbs share: the registry, and the line that tells what a change did. */
#include "spacerouted/verbs.h"

#include <stdio.h>
#include "base/text.h"
#include "cli/table.h"
#include "record/reason.h"

static int open_registry(struct sp_cli *cli, bool create, bool mapped, struct sp_registry **ret)
{
	const struct sp_config *config = sp_cli_config(cli);
	const char *given = sp_cli_text(cli, "registry");
	struct sp_err err = {0};
	int bad;

	if (!config)
		return SP_EXIT_USAGE;
	const struct sp_registry_options options = {.timeout_ms = (int)config->registry_timeout_ms,
	    .create = create,
	    .mapped = mapped,
	    .tls_ca = config->registry_tls_ca,
	    .tls_cert = config->registry_tls_cert,
	    .tls_key = config->registry_tls_key};
	bad = sp_registry_open(given ? given : config->registry_url, &options, ret, &err);
	return bad ? sp_cli_fail(cli, &err) : 0;
}

int spacerouted_open(struct sp_cli *cli, bool create, struct sp_registry **ret)
{
	return open_registry(cli, create, false, ret);
}

int spacerouted_open_to_stay(struct sp_cli *cli, struct sp_registry **ret)
{
	return open_registry(cli, true, true, ret);
}

int spacerouted_id(struct sp_cli *cli, const char *option, const char **ret)
{
	const char *text = sp_cli_text(cli, option);

	if (text && !sp_id_valid(text))
		return sp_cli_usage(cli,
		    "--%s: `%.140s` is no id ([A-Za-z0-9][A-Za-z0-9._-]{0,127})", option, text);
	*ret = text;
	return 0;
}

static void put_words(struct sp_cli *cli, const char *sandbox, enum sp_publish_effect effect,
    int64_t revision, const struct sp_err *why)
{
	bool color = sp_cli_color(cli);

	(void)printf("%s: ", sandbox);
	if (effect == SP_PUBLISH_CONFLICT) {
		sp_tone_print(stdout, color, SP_TONE_BAD, "conflict");
		(void)printf(": %s; nothing was changed\n", why->message);
		return;
	}
	sp_tone_print(stdout, color, effect == SP_PUBLISH_NONE ? SP_TONE_DIM : SP_TONE_GOOD,
	    sp_publish_effect_name(effect));
	(void)printf(", revision %lld\n", (long long)revision);
}

int spacerouted_told(struct sp_cli *cli, const char *sandbox, enum sp_publish_effect effect,
    int64_t revision, const struct sp_err *why)
{
	if (!sp_cli_json(cli))
		put_words(cli, sandbox, effect, revision, why);
	else if (sp_cli_put_json(cli, sp_publish_line(sandbox, effect, revision, why)))
		return SP_EXIT_FAILED;
	return effect == SP_PUBLISH_CONFLICT ? SP_EXIT_CONFLICT : SP_EXIT_DONE;
}

void spacerouted_audit_route(struct sp_trail *trail, const char *op,
    const struct sp_identity *identity, bool has_route, int bad, enum sp_publish_effect effect,
    const struct sp_err *why)
{
	const struct sp_audit_line line = {.op = op,
	    .sandbox = identity->sandbox,
	    .selected = has_route ? &identity->route : NULL};
	bool conflict = !bad && effect == SP_PUBLISH_CONFLICT;

	sp_trail_end(trail, &line, bad || conflict ? NULL : sp_publish_effect_name(effect),
	    conflict ? why->message : NULL, bad ? why : NULL);
}

void spacerouted_audit_grant(struct sp_trail *trail, const char *op, const char *principal,
    const char *pattern, int bad, const char *effect, const struct sp_err *why)
{
	const struct sp_audit_line line = {.op = op, .sandbox = pattern, .note = principal};
	bool conflict = bad == SP_E_CONFLICT;

	sp_trail_end(trail, &line, bad ? NULL : effect, conflict ? why->message : NULL,
	    bad && !conflict ? why : NULL);
}

const char *spacerouted_socket(struct sp_cli *cli, const struct sp_config *config)
{
	const char *given = sp_cli_text(cli, "cache");

	return given ? given : config->cache_socket;
}
