/* Claims as text, written straight into the token: minting is a hot path, and nearly every value is
 * known to need no escape. */
#include "token/capability.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include "base/base64.h"
#include "base/text.h"
#include "token/paseto.h"
#include "token/signing_key.h"

struct text {
	char at[SP_PASETO_MESSAGE_MAX];
	size_t used;
	bool full;
};

static void add(struct text *text, const char *words, size_t size)
{
	if (sizeof(text->at) - text->used < size) {
		text->full = true;
		return;
	}
	memcpy(text->at + text->used, words, size);
	text->used += size;
}

static void add_words(struct text *text, const char *words)
{
	add(text, words, strlen(words));
}

/* A value of a form without quotes, backslashes and controls: ids, times, names of our tables. */
static void add_plain(struct text *text, const char *before, const char *value)
{
	add_words(text, before);
	add_words(text, value);
	add(text, "\"", 1);
}

static void add_escaped(struct text *text, const char *before, const char *value)
{
	add_words(text, before);
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;
		char escape[7];
		if (c >= 0x20 && c != '"' && c != '\\') {
			add(text, value, 1);
			continue;
		}
		(void)snprintf(escape, sizeof(escape), "\\u%04X", c);
		add(text, escape, 6);
	}
	add(text, "\"", 1);
}

static void add_number(struct text *text, const char *before, int64_t number)
{
	char digits[21];
	size_t at = sizeof(digits);

	for (; number > 0 || at == sizeof(digits); number /= 10)
		digits[--at] = (char)('0' + number % 10);
	add_words(text, before);
	add(text, digits + at, sizeof(digits) - at);
}

static void add_time(struct text *text, const char *before, int64_t seconds)
{
	char when[SP_TIME_SIZE];

	sp_time_format(seconds, when);
	add_plain(text, before, when);
}

static void add_route(struct text *text, const struct sp_route *route)
{
	add_number(text, ",\"route\":{\"execution\":", route->execution);
	add_plain(text, ",\"worker\":\"", route->worker);
	if (route->substrate == SP_SUBSTRATE_KUBERNETES) {
		add_plain(text, ",\"substrate\":\"", "kubernetes");
		add_plain(text, ",\"pod_uid\":\"", route->pod_uid);
	} else {
		add_plain(text, ",\"substrate\":\"", "host");
	}
	add_plain(text, ",\"activation\":\"", route->activation);
	add_number(text, ",\"attempt\":", route->attempt);
	add(text, "}", 1);
}

static void add_purpose(struct text *text, const struct sp_claims *claims)
{
	if (claims->purpose == SP_PURPOSE_ATTACH) {
		add_plain(text, ",\"session\":\"", claims->session);
	} else if (claims->purpose == SP_PURPOSE_SERVICE_PORT) {
		add_number(text, ",\"port\":", claims->port);
		add_plain(text, ",\"protocol\":\"", sp_protocol_name(claims->protocol));
	} else {
		add_words(text, ",\"access\":[");
		for (unsigned i = 0; i < claims->access_count; i++)
			add_plain(text, i ? ",\"" : "\"", claims->access[i]);
		add(text, "]", 1);
	}
	add(text, "}", 1);
}

static void write_claims(struct text *text, const struct sp_claims *claims)
{
	add_escaped(text, "{\"iss\":\"", claims->issuer);
	add_plain(text, ",\"sub\":\"", claims->identity.sandbox);
	add_plain(text, ",\"aud\":\"", sp_purpose_audience(claims->purpose));
	add_time(text, ",\"iat\":\"", claims->issued_at);
	add_time(text, ",\"nbf\":\"", claims->not_before);
	add_time(text, ",\"exp\":\"", claims->expires_at);
	add_plain(text, ",\"jti\":\"", claims->jti);
	add_escaped(text, ",\"caller\":\"", claims->caller);
	add_plain(text, ",\"purpose\":\"", sp_purpose_name(claims->purpose));
	add_route(text, &claims->identity.route);
	add_purpose(text, claims);
}

/* What a verifier would refuse in any case is not signed. */
static int check(const struct sp_claims *claims, struct sp_err *err)
{
	int64_t life = claims->expires_at - claims->issued_at;

	if (claims->not_before != claims->issued_at || life < 1 || life > SP_CAP_LIFE_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "a capability lives 1 to %d s, not %lld",
		    SP_CAP_LIFE_MAX, (long long)life);
	if (!claims->issuer[0] || !claims->caller[0])
		return sp_fail(err, SP_E_BAD_RECORD, "a capability names issuer and caller");
	return 0;
}

int sp_capability_sign(const struct sp_claims *claims, const char *realm,
    const struct sp_signing_key *key, char *ret_token, size_t *ret_size, struct sp_err *err)
{
	struct text text = {.used = 0}, footer = {.used = 0}, implicit = {.used = 0};
	int bad = check(claims, err);

	if (bad)
		return bad;
	write_claims(&text, claims);
	add_plain(&footer, "{\"kid\":\"", sp_signing_key_id(key));
	add(&footer, "}", 1);
	add_words(&implicit, SP_CAP_ASSERTION);
	add_words(&implicit, realm);
	if (text.full)
		return sp_fail(
		    err, SP_E_TOO_LARGE, "claims that do not fit into %d bytes", SP_TOKEN_MAX);
	return sp_paseto_sign(sp_signing_key_secret(key), (struct sp_bytes){text.at, text.used},
	    (struct sp_bytes){footer.at, footer.used},
	    (struct sp_bytes){implicit.at, implicit.used}, ret_token, ret_size, err);
}

void sp_jti_make(char ret[SP_JTI_SIZE])
{
	unsigned char bytes[16];

	randombytes_buf(bytes, sizeof(bytes));
	sp_base64_encode_public(bytes, sizeof(bytes), true, ret, SP_JTI_SIZE);
}
