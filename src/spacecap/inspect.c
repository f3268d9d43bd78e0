/* inspect: what a token says of itself. Nothing of it is verified, and it says so. */
#include "spacecap/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/fields.h"
#include "cli/table.h"
#include "record/json.h"
#include "record/reason.h"
#include "token/capability.h"
#include "token/paseto.h"

#define DEPTH 16 /* of objects taken apart: all */

/* A part as JSON, or as text when it is none, or as base64 when it is no text either. */
static json_t *part_json(const unsigned char *bytes, size_t size)
{
	json_t *object;
	char encoded[SP_TOKEN_MAX + 1];

	if (sp_json_parse((const char *)bytes, size, &object, NULL) == 0)
		return object;
	if (sp_utf8_valid(bytes, size))
		return json_stringn((const char *)bytes, size);
	sp_base64_encode(bytes, size, false, encoded, sizeof(encoded));
	return json_pack("{ss}", "data", encoded);
}

static json_t *clock_json(const struct sp_paseto *token, int64_t now)
{
	struct sp_claims claims;
	struct sp_err err = {0};
	char time[SP_TIME_SIZE];
	enum sp_reason reason;

	sp_time_format(now, time);
	if (sp_claims_parse((const char *)token->message, token->message_size, &claims, &err) < 0)
		return json_pack("{ssssss}", "now", time, "says", "malformed", "why", err.message);
	reason = sp_claims_clock(&claims, now, SP_SKEW_MAX);
	return json_pack("{sssssIsI}", "now", time, "says",
	    reason ? sp_reason_name(reason) : "within its life", "age",
	    (json_int_t)(now - claims.issued_at), "left", (json_int_t)(claims.expires_at - now));
}

static json_t *describe(const char *token, int64_t now, struct sp_err *err)
{
	struct sp_paseto parts;
	json_t *object;

	if (!sp_paseto_split(token, strlen(token), &parts)) {
		(void)sp_fail(err, SP_E_BAD_RECORD,
		    "not a v4.public token: at most %d bytes, %sBODY.FOOTER in base64url",
		    SP_TOKEN_MAX, SP_PASETO_HEADER);
		return NULL;
	}
	object = json_pack("{sbsssososo}", "verified", 0, "header", "v4.public", "footer",
	    part_json(parts.footer, parts.footer_size), "claims",
	    part_json(parts.message, parts.message_size), "clock", clock_json(&parts, now));
	if (!object)
		(void)sp_fail(err, -ENOMEM, "out of memory");
	return object;
}

static int print_table(struct sp_cli *cli, json_t *object)
{
	sp_tone_print(stdout, sp_cli_color(cli), SP_TONE_WARN, "unverified");
	(void)printf(": what the token says, whoever made it (spacecap verify judges it)\n");
	(void)json_object_del(object, "verified");
	return sp_cli_fields(cli, "field", object, DEPTH);
}

int spacecap_inspect(struct sp_cli *cli)
{
	const char *at = sp_cli_text(cli, "at");
	int64_t now = sp_time_now();
	struct sp_err err = {0};
	sp_auto_free char *token = NULL;
	sp_auto_json json_t *object = NULL;

	if (at)
		(void)sp_time_parse(at, &now);
	if (sp_cli_secret(cli, sp_cli_argument(cli, 0), 64u * 1024u, &token, &err) < 0)
		return sp_cli_fail(cli, &err);
	object = describe(token, now, &err);
	if (!object)
		return sp_cli_fail(cli, &err);
	return sp_cli_json(cli) ? sp_cli_put_json(cli, json_incref(object))
				: print_table(cli, object);
}
