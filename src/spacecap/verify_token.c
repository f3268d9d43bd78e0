/* verify, one token: would it pass, and if not, at which step. */
#include "spacecap/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/fields.h"
#include "cli/table.h"
#include "record/json.h"
#include "record/reason.h"

static int use_of_flags(struct sp_cli *cli, struct sp_cap_use *ret)
{
	struct sp_cap_use use = {.protocol = -1};
	const char *purpose = sp_cli_text(cli, "purpose"), *protocol = sp_cli_text(cli, "protocol");
	enum sp_protocol parsed;
	int64_t port;

	if (!purpose)
		return sp_cli_usage(cli, "one token needs --purpose: what it is presented for");
	(void)sp_purpose_parse(purpose, &use.purpose);
	if (sp_cli_number(cli, "port", 0, 1, 65535, &port) < 0)
		return SP_EXIT_USAGE;
	use.op = sp_cli_text(cli, "op");
	use.session = sp_cli_text(cli, "session");
	use.port = (int)port;
	if (protocol && sp_protocol_parse(protocol, &parsed))
		use.protocol = (int)parsed;
	*ret = use;
	return 0;
}

static int print_json(struct sp_cli *cli, enum sp_reason reason, const struct sp_claims *claims)
{
	if (reason == SP_REASON_NONE)
		return sp_cli_put_json(
		    cli, json_pack("{sbso}", "valid", 1, "claims", sp_claims_json(claims)));
	return sp_cli_put_json(cli,
	    json_pack("{sbssss}", "valid", 0, "decision",
		sp_decision_name(sp_reason_decision(reason)), "reason", sp_reason_name(reason)));
}

static int print_table(struct sp_cli *cli, enum sp_reason reason, const struct sp_claims *claims)
{
	sp_auto_json json_t *object = NULL;

	sp_tone_print(stdout, sp_cli_color(cli), reason ? SP_TONE_BAD : SP_TONE_GOOD,
	    reason ? "refused" : "valid");
	if (reason) {
		(void)printf(": %s %s\n", sp_decision_name(sp_reason_decision(reason)),
		    sp_reason_name(reason));
		return 0;
	}
	(void)printf("\n");
	object = sp_claims_json(claims);
	return sp_cli_fields(cli, "claim", object, 2);
}

/* Whatever is wrong with a token is a decision: one that is too long to be read too. */
static enum sp_reason judge(struct sp_cli *cli, const struct spacecap_verifier *verifier,
    const struct sp_cap_use *use, struct sp_claims *claims, struct sp_err *err)
{
	sp_auto_free char *token = NULL;
	int bad = sp_cli_secret(cli, sp_cli_argument(cli, 0), 64u * 1024u, &token, err);

	if (bad) {
		if (bad == SP_E_TOO_LARGE)
			err->code = 0;
		return SP_REASON_MALFORMED;
	}
	return sp_capability_verify(token, strlen(token), verifier->keys, verifier->realm, use,
	    spacecap_verifier_now(verifier), verifier->skew, claims);
}

int spacecap_verify_token(struct sp_cli *cli, const struct spacecap_verifier *verifier)
{
	struct sp_cap_use use;
	struct sp_claims claims;
	struct sp_err err = {0};
	enum sp_reason reason;
	int bad = use_of_flags(cli, &use);

	if (bad)
		return bad;
	reason = judge(cli, verifier, &use, &claims, &err);
	if (err.code)
		return sp_cli_fail(cli, &err);
	bad =
	    sp_cli_json(cli) ? print_json(cli, reason, &claims) : print_table(cli, reason, &claims);
	return bad ? bad : sp_reason_exit(reason);
}
