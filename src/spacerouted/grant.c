/* spacerouted grant: lets a principal do operations in sandboxes, until when. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/text.h"
#include "record/json.h"
#include "record/reason.h"
#include "routing/bearer.h"
#include "spacerouted/verbs.h"

/* A user's name is looked up now, by the one who grants: from then on the grant is the uid's, as a
 * file's owner is. */
static int take_principal(const char *principal, struct sp_grant *grant, struct sp_err *err)
{
	enum sp_principal_kind kind;
	const struct passwd *user;

	if (!sp_principal_parse(principal, &kind))
		return sp_fail(err, SP_E_USAGE,
		    "--principal: `%.140s` is none of uid:N, user:NAME, token:NAME", principal);
	memcpy(grant->principal, principal, strlen(principal) + 1);
	memcpy(grant->subject, principal, strlen(principal) + 1);
	if (kind != SP_PRINCIPAL_USER)
		return 0;
	errno = 0;
	user = getpwnam(principal + strlen("user:"));
	if (!user)
		return sp_fail(err, SP_E_ABSENT, "%s: %s", principal,
		    errno ? strerror(errno) : "no such user on this machine");
	(void)snprintf(grant->subject, sizeof(grant->subject), "uid:%u", (unsigned)user->pw_uid);
	return 0;
}

/* Calls `add` for each word of a list with commas. */
static int each_word(const char *list,
    int (*add)(struct sp_rights *, const char *, struct sp_err *), struct sp_rights *rights,
    struct sp_err *err)
{
	char word[64];

	for (const char *at = list ? list : ""; *at; at += *at == ',') {
		size_t length = strcspn(at, ",");
		int bad;
		if (length >= sizeof(word))
			return sp_fail(err, SP_E_USAGE, "`%.64s...`: too long", at);
		memcpy(word, at, length);
		word[length] = '\0';
		bad = add(rights, word, err);
		if (bad)
			return bad;
		at += length;
	}
	return 0;
}

static int add_port(struct sp_rights *rights, const char *word, struct sp_err *err)
{
	struct sp_port_range range;

	if (!sp_port_range_parse(word, &range))
		return sp_fail(err, SP_E_USAGE,
		    "--ports: `%s` is not PORT/PROTOCOL or LOW-HIGH/PROTOCOL (tcp, http, "
		    "websocket, tls)",
		    word);
	return sp_rights_add_port(rights, &range, err);
}

static int read_flags(struct sp_cli *cli, struct sp_grant *grant, struct sp_err *err)
{
	const char *sandbox = sp_cli_text(cli, "sandbox"), *until = sp_cli_text(cli, "until");
	int bad = take_principal(sp_cli_text(cli, "principal"), grant, err);

	if (bad)
		return bad;
	if (sp_cli_text(cli, "token-file") && strncmp(grant->principal, "token:", 6) != 0)
		return sp_fail(err, SP_E_USAGE, "--token-file goes with a token:NAME principal");
	if (!sp_sandbox_pattern_valid(sandbox))
		return sp_fail(err, SP_E_USAGE,
		    "--sandbox: `%.140s` is no id and no pattern of one (* and ?)", sandbox);
	memcpy(grant->sandbox, sandbox, strlen(sandbox) + 1);
	if (until && (!sp_time_parse(until, &grant->until) || grant->until <= sp_time_now()))
		return sp_fail(err, SP_E_USAGE, "--until: %s has passed", until);
	bad = each_word(sp_cli_text(cli, "ops"), sp_rights_add_op, &grant->rights, err);
	if (!bad)
		bad = each_word(sp_cli_text(cli, "ports"), add_port, &grant->rights, err);
	if (!bad && grant->rights.op_count == 0)
		bad = sp_fail(err, SP_E_USAGE, "a grant needs --ops or --ports");
	return bad;
}

/* The token of --token-file: read, or made where there is no such file. */
static int take_token(struct sp_cli *cli, const struct sp_grant *grant, struct sp_bearer *bearer,
    bool *ret_made, struct sp_err *err)
{
	const char *path = sp_cli_text(cli, "token-file");
	const char *name = strchr(grant->principal, ':') + 1;
	struct stat info;
	int bad;

	if (!path)
		return 0;
	*ret_made = lstat(path, &info) < 0 && errno == ENOENT;
	bad = *ret_made ? sp_bearer_create(path, name, bearer, err)
			: sp_bearer_read(path, bearer, err);
	if (!bad && strcmp(bearer->name, name) != 0)
		bad = sp_fail(err, SP_E_BAD_KEY, "%s: the token of token:%s", path, bearer->name);
	return bad;
}

json_t *spacerouted_grant_line(
    const struct sp_grant *grant, enum sp_grant_effect effect, int64_t revision)
{
	return json_pack("{sssssbsssI}", "principal", grant->principal, "sandbox", grant->sandbox,
	    "changed", effect != SP_GRANT_NONE, "effect", sp_grant_effect_name(effect), "revision",
	    (json_int_t)revision);
}

static int put_effect(
    struct sp_cli *cli, const struct sp_grant *grant, enum sp_grant_effect effect, int64_t revision)
{
	if (sp_cli_json(cli))
		return sp_cli_put_json(cli, spacerouted_grant_line(grant, effect, revision));
	(void)printf("%s on %s: %s, revision %lld\n", grant->principal, grant->sandbox,
	    sp_grant_effect_name(effect), (long long)revision);
	return SP_EXIT_DONE;
}

int spacerouted_grant(struct sp_cli *cli)
{
	auto_registry struct sp_registry *registry = NULL;
	struct sp_grant grant = {0};
	struct sp_bearer bearer;
	enum sp_grant_effect effect = SP_GRANT_NONE;
	int64_t revision;
	bool made = false;
	auto_trail struct sp_trail trail = {.audit = NULL};
	struct sp_err err = {0};
	int bad = read_flags(cli, &grant, &err);

	if (bad == SP_E_USAGE)
		return sp_cli_usage(cli, "%s", err.message);
	if (bad)
		return sp_cli_fail(cli, &err);
	bad = sp_trail_open(cli, "spacerouted", &trail);
	if (!bad)
		bad = spacerouted_open(cli, true, &registry);
	if (bad)
		return bad;
	sp_trail_start(&trail);
	bad = take_token(cli, &grant, &bearer, &made, &err);
	if (!bad)
		bad = sp_registry_grant(registry, &grant,
		    sp_cli_text(cli, "token-file") ? bearer.credential : NULL,
		    sp_cli_flag(cli, "rotate") ? SP_GRANT_ROTATES : SP_GRANT_PUTS, &effect,
		    &revision, &err);
	spacerouted_audit_grant(&trail, "grant", grant.principal, grant.sandbox, bad,
	    sp_grant_effect_name(effect), &err);
	/* A token that nobody knows would only look like one. */
	if (bad && made)
		(void)unlink(sp_cli_text(cli, "token-file"));
	return bad ? sp_cli_fail(cli, &err) : put_effect(cli, &grant, effect, revision);
}
