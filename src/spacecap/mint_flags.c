/* mint, one token from flags: for scripts and for people; the token alone on standard output. */
#include "spacecap/signer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "call/mint.h"
#include "net/caller.h"
#include "record/json.h"
#include "record/result.h"

/* --access as a JSON array; NULL when it was not given. */
static json_t *access_json(const char *list)
{
	json_t *array = list ? json_array() : NULL;

	for (const char *at = list; at && *at; at += *at == ',') {
		size_t length = strcspn(at, ",");
		(void)json_array_append_new(array, json_stringn(at, length));
		at += length;
	}
	return array;
}

static json_t *number_json(const char *text)
{
	int64_t number;

	/* The table has checked that it is a number; one beyond JSON's is for the parser to refuse.
	 */
	return text && sp_number_parse(text, 0, INT64_MAX, &number) ? json_integer(number) : NULL;
}

static json_t *route_json(const struct sp_cli *cli)
{
	return json_pack("{so* ss* ss* ss* ss* so*}", "execution",
	    number_json(sp_cli_text(cli, "execution")), "worker", sp_cli_text(cli, "worker"),
	    "substrate", sp_cli_text(cli, "substrate"), "pod_uid", sp_cli_text(cli, "pod-uid"),
	    "activation", sp_cli_text(cli, "activation"), "attempt",
	    number_json(sp_cli_text(cli, "attempt")));
}

/* Through the reader of claims, which knows what each purpose has; what the signer sets is filled
 * with something valid. */
static int read_flags(const struct sp_cli *cli, struct sp_claims *ret, struct sp_err *err)
{
	static const char *const needed[] = {"sandbox", "caller", "purpose", NULL};
	enum sp_purpose purpose;
	char jti[SP_JTI_SIZE];
	sp_auto_json json_t *object = NULL;
	sp_auto_free char *text = NULL;

	for (size_t i = 0; needed[i]; i++)
		if (!sp_cli_text(cli, needed[i]))
			return sp_fail(
			    err, SP_E_USAGE, "one token from flags needs --%s", needed[i]);
	(void)sp_purpose_parse(sp_cli_text(cli, "purpose"), &purpose);
	sp_jti_make(jti);
	object = json_pack("{ss ss ss ss ss ss ss ss ss so so* ss* so* ss*}", "iss", "signer",
	    "sub", sp_cli_text(cli, "sandbox"), "aud", sp_purpose_audience(purpose), "iat",
	    "1970-01-01T00:00:00Z", "nbf", "1970-01-01T00:00:00Z", "exp", "1970-01-01T00:00:01Z",
	    "jti", jti, "caller", sp_cli_text(cli, "caller"), "purpose",
	    sp_cli_text(cli, "purpose"), "route", route_json(cli), "access",
	    access_json(sp_cli_text(cli, "access")), "session", sp_cli_text(cli, "session"), "port",
	    number_json(sp_cli_text(cli, "port")), "protocol", sp_cli_text(cli, "protocol"));
	text = object ? sp_json_text(object) : NULL;
	if (!text)
		return sp_fail(err, SP_E_USAGE, "a flag that is no valid UTF-8");
	return sp_claims_parse(text, strlen(text), ret, err);
}

static int mint_here(struct sp_cli *cli, const struct sp_config *config, struct sp_claims *claims,
    struct sp_err *err)
{
	int64_t started = sp_monotonic_us();
	struct sp_minter *minter = NULL;
	struct sp_audit *audit = NULL;
	struct sp_minted minted;
	int bad = spacecap_minter_load(cli, config, &minter, err);

	if (!bad)
		bad = sp_trail_file(cli, config, &audit, err);
	if (!bad)
		bad = sp_minter_claims(minter, claims, sp_time_now(), 0, &minted, err);
	if (!bad && audit) {
		const struct sp_audit_line line = {.role = SP_SIGNER_HOP,
		    .caller = claims->caller,
		    .sandbox = claims->identity.sandbox,
		    .action = "minted",
		    .kid = sp_minter_kid(minter),
		    .jti = minted.jti,
		    .selected = &claims->identity.route,
		    .microseconds = sp_monotonic_us() - started,
		    .note = sp_purpose_name(claims->purpose)};
		sp_audit_write(audit, &line);
	}
	if (!bad)
		(void)printf("%s\n", minted.token);
	sp_audit_close(audit);
	sp_minter_free(minter);
	return bad;
}

/* The operation that stands for the claims: a signer is asked with a routed record. */
static const char *operation_for(const struct sp_claims *claims)
{
	const char *entry = claims->access[0];
	const struct sp_op *op = sp_op_find(entry);

	if (op)
		return op->name;
	for (size_t i = 0; (op = sp_op_at(i)); i++) {
		bool fits = claims->access_count > 0
				? !op->single_use && op->purpose == claims->purpose &&
				      sp_access_entry_covers(entry, op->name, false)
				: op->purpose == claims->purpose;
		if (fits)
			return op->name;
	}
	return NULL;
}

static json_t *question_for(struct sp_cli *cli, const struct sp_claims *claims, int64_t until)
{
	const char *op = operation_for(claims);
	char time[SP_TIME_SIZE];
	json_t *access = access_json(sp_cli_text(cli, "access"));

	sp_time_format(until, time);
	/* `attempted` 2: a token of its own, for whoever asks for one by hand. */
	return json_pack("{ss ss s{ss* so* ss*} ss so ss so ss si}", "op", op, "sandbox",
	    claims->identity.sandbox, "args", "session", sp_cli_text(cli, "session"), "port",
	    number_json(sp_cli_text(cli, "port")), "protocol", sp_cli_text(cli, "protocol"),
	    "caller", claims->caller, "route", sp_route_json(&claims->identity.route), "endpoint",
	    "unix:/", "access", access ? access : json_pack("[s]", op), "authorized_until", time,
	    "attempted", 2);
}

static int ask(struct sp_cli *cli, const struct sp_claims *claims, int64_t life,
    json_t **ret_answer, struct sp_err *err)
{
	sp_auto_json json_t *question = NULL;
	sp_auto_free char *text = NULL;
	sp_auto_free char *line = NULL;
	int bad;

	if (!operation_for(claims))
		return sp_fail(err, SP_E_USAGE,
		    "--access %s: no operation of purpose %s that a signer could be asked for",
		    claims->access[0], sp_purpose_name(claims->purpose));
	question = question_for(cli, claims, sp_time_now() + life);
	text = question ? sp_json_text(question) : NULL;
	if (!text)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = sp_call_once(
	    sp_cli_text(cli, "agent"), SP_SIGNER_TIMEOUT_MS, text, strlen(text), &line, err);
	if (bad == -ENOENT || bad == -ECONNREFUSED)
		return sp_fail(
		    err, bad, "%s; no signer serves there (spacecap agent)", err->message);
	return bad ? bad : sp_json_parse(line, strlen(line), ret_answer, err);
}

static int mint_there(struct sp_cli *cli, const struct sp_claims *claims)
{
	sp_auto_json json_t *answer = NULL;
	const char *token;
	struct sp_err err = {0};
	int64_t life;
	int bad = sp_cli_number(cli, "ttl", SP_CAP_LIFE_MAX, 1, SP_CAP_LIFE_MAX, &life);

	if (bad)
		return SP_EXIT_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	bad = ask(cli, claims, life, &answer, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	token = json_string_value(json_object_get(answer, "cap"));
	if (token) {
		(void)printf("%s\n", token);
		return SP_EXIT_DONE;
	}
	bad = sp_record_exit(answer);
	if (sp_cli_put_json(cli, json_incref(answer)))
		return SP_EXIT_FAILED;
	return bad ? bad : SP_EXIT_FAILED;
}

int spacecap_mint_flags(struct sp_cli *cli, const struct sp_config *config)
{
	struct sp_claims claims;
	struct sp_err err = {0};

	if (read_flags(cli, &claims, &err) < 0)
		return sp_cli_usage(cli, "%s", err.message);
	if (sp_cli_text(cli, "agent"))
		return mint_there(cli, &claims);
	return mint_here(cli, config, &claims, &err) ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
