/* Capabilities: every line of the vectors, the order of the steps, and what is signed against what
 * is verified. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "token/capability.h"
#include "token/paseto.h"
#include "token/signing_key.h"

#define VECTORS "tests/vectors/capability.jsonl"
#define KEYS    "tests/vectors/capability.keys.json"
#define LINES   87

static json_t *keys_file;

static const char *key_text(const char *name, const char *part)
{
	return json_string_value(json_object_get(json_object_get(keys_file, name), part));
}

static struct sp_keyring *keyring_of(const char *name)
{
	struct sp_keyring *keys;

	assert_int_equal(sp_keyring_load(key_text(name, "public"), "prod", "", &keys, NULL), 0);
	return keys;
}

static struct sp_cap_use use_of(const json_t *args)
{
	struct sp_cap_use use = {.protocol = -1};
	const char *protocol = json_string_value(json_object_get(args, "protocol"));
	enum sp_protocol parsed;

	assert_true(
	    sp_purpose_parse(json_string_value(json_object_get(args, "purpose")), &use.purpose));
	use.op = json_string_value(json_object_get(args, "op"));
	use.session = json_string_value(json_object_get(args, "session"));
	use.port = (int)json_integer_value(json_object_get(args, "port"));
	if (protocol) {
		assert_true(sp_protocol_parse(protocol, &parsed));
		use.protocol = (int)parsed;
	}
	return use;
}

static void check_vector(const json_t *vector, const struct sp_keyring *keys)
{
	const json_t *token = json_object_get(vector, "token"),
		     *expect = json_object_get(vector, "expect");
	struct sp_cap_use use = use_of(json_object_get(vector, "args"));
	enum sp_reason expected = SP_REASON_NONE, reason;
	struct sp_claims claims;
	int64_t now;

	if (json_is_false(json_object_get(expect, "valid")))
		assert_true(sp_reason_parse(json_string_value(json_object_get(expect, "decision")),
		    json_string_value(json_object_get(expect, "reason")), &expected));
	assert_true(sp_time_parse(json_string_value(json_object_get(vector, "at")), &now));
	reason = sp_capability_verify(json_string_value(token), json_string_length(token), keys,
	    json_string_value(json_object_get(vector, "realm")), &use, now, SP_SKEW_MAX, &claims);
	if (reason != expected)
		fail_msg("%s: %s", json_string_value(json_object_get(vector, "name")),
		    reason ? sp_reason_name(reason) : "valid");
	/* A remembered token is judged the same. */
	if (claims.jti[0])
		assert_int_equal(
		    sp_capability_recheck(&claims, keys, &use, now, SP_SKEW_MAX), expected);
}

/* Line 71 of the vectors, "attach with an access list", has the very token, time, realm and
 * arguments of line 69, "attach", whose answer is `valid`: its generator lost the access list. No
 * verifier can answer both; a_claim_of_another_purpose_is_malformed has the case that was meant. */
static bool contradicts(json_t *earlier, const json_t *vector)
{
	sp_auto_json json_t *question =
	    json_pack("[OOOO]", json_object_get(vector, "token"), json_object_get(vector, "realm"),
		json_object_get(vector, "at"), json_object_get(vector, "args"));
	sp_auto_free char *text = sp_json_text(question);
	json_t *expect = json_object_get(vector, "expect"), *known;

	assert_non_null(text);
	known = json_object_get(earlier, text);
	if (known)
		return !json_equal(known, expect);
	assert_int_equal(json_object_set(earlier, text, expect), 0);
	return false;
}

static void every_line_of_the_vectors_is_judged_as_written(void **state)
{
	struct sp_keyring *keys = keyring_of("A");
	FILE *file = fopen(VECTORS, "r");
	static char line[SP_LINE_MAX];
	sp_auto_json json_t *earlier = json_object();
	int lines = 0, contradictions = 0;

	(void)state;
	assert_non_null(file);
	for (; fgets(line, sizeof(line), file); lines++) {
		sp_auto_json json_t *vector = NULL;
		assert_int_equal(sp_json_parse(line, strlen(line), &vector, NULL), 0);
		if (contradicts(earlier, vector))
			contradictions++;
		else
			check_vector(vector, keys);
	}
	(void)fclose(file);
	assert_int_equal(lines, LINES);
	assert_int_equal(contradictions, 1);
	sp_keyring_free(keys);
}

#define NOW 1796000000

static struct sp_claims claims_of(enum sp_purpose purpose)
{
	struct sp_claims claims = {.issuer = "cp-1",
	    .caller = "uid:1000",
	    .identity = {.sandbox = "s-42",
		.route = {.execution = 7,
		    .attempt = 1,
		    .substrate = SP_SUBSTRATE_KUBERNETES,
		    .worker = "worker-a",
		    .pod_uid = "0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b",
		    .activation = "act-19"}},
	    .issued_at = NOW,
	    .not_before = NOW,
	    .expires_at = NOW + 120,
	    .purpose = purpose,
	    .audience_fits = true};

	sp_jti_make(claims.jti);
	if (purpose == SP_PURPOSE_ATTACH)
		strcpy(claims.session, "sess-1");
	if (purpose == SP_PURPOSE_SERVICE_PORT) {
		claims.port = 8080;
		claims.protocol = SP_PROTOCOL_HTTP;
	}
	if (purpose == SP_PURPOSE_CONTROL || purpose == SP_PURPOSE_MANAGE) {
		claims.access_count = 2;
		strcpy(claims.access[0], purpose == SP_PURPOSE_MANAGE ? "lease.list" : "file.read");
		strcpy(claims.access[1], purpose == SP_PURPOSE_MANAGE ? "lease.*" : "exec.*");
	}
	return claims;
}

static struct sp_signing_key *signing_key(const char *name)
{
	struct sp_signing_key *key;

	assert_int_equal(sp_signing_key_parse(key_text(name, "secret"), NULL, &key, NULL), 0);
	return key;
}

static struct sp_cap_use any_use(enum sp_purpose purpose)
{
	return (struct sp_cap_use){.purpose = purpose, .protocol = -1};
}

static enum sp_reason verify(const char *token, const struct sp_keyring *keys,
    const struct sp_cap_use *use, int64_t now, struct sp_claims *ret)
{
	return sp_capability_verify(token, strlen(token), keys, "prod", use, now, SP_SKEW_MAX, ret);
}

/* Signing writes its own JSON: what it writes is read back as the same claims, for every purpose,
 * on both substrates, with names that need escapes. */
static void what_is_signed_is_what_is_verified(void **state)
{
	static const char *const names[] = {
	    "cp-1", "a \"quoted\\ one\"", "tab\tand\x1f", "Ünïcode ☃"};
	struct sp_keyring *keys = keyring_of("A");
	struct sp_signing_key *key = signing_key("A");

	(void)state;
	for (enum sp_purpose purpose = 0; purpose < SP_PURPOSE_COUNT; purpose++)
		for (size_t i = 0; i < SP_COUNT(names); i++) {
			struct sp_claims claims = claims_of(purpose), back;
			struct sp_cap_use use = any_use(purpose);
			char token[SP_TOKEN_MAX + 1];
			size_t size;
			strcpy(claims.issuer, names[i]);
			strcpy(claims.caller, names[i]);
			if (i % 2) {
				claims.identity.route.substrate = SP_SUBSTRATE_HOST;
				claims.identity.route.pod_uid[0] = '\0';
			}
			assert_int_equal(
			    sp_capability_sign(&claims, "prod", key, token, &size, NULL), 0);
			assert_int_equal(verify(token, keys, &use, NOW, &back), SP_REASON_NONE);
			assert_string_equal(back.kid, key_text("A", "id"));
			sp_auto_json json_t *before = sp_claims_json(&claims);
			sp_auto_json json_t *after = sp_claims_json(&back);
			assert_true(json_equal(before, after));
		}
	sp_signing_key_free(key);
	sp_keyring_free(keys);
}

/* Each claim that only another purpose has, added to a good token of each purpose; then each claim
 * left out in turn. */
static void a_claim_of_another_purpose_is_malformed(void **state)
{
	static const char *const extra[] = {"access", "session", "port", "protocol"};
	struct sp_keyring *keys = keyring_of("A");
	struct sp_signing_key *key = signing_key("A");
	char footer[80];

	(void)state;
	(void)snprintf(footer, sizeof(footer), "{\"kid\":\"%s\"}", key_text("A", "id"));
	for (enum sp_purpose purpose = 0; purpose < SP_PURPOSE_COUNT; purpose++)
		for (size_t i = 0; i <= SP_COUNT(extra); i++) {
			struct sp_claims claims = claims_of(purpose), back;
			struct sp_cap_use use = any_use(purpose);
			sp_auto_json json_t *object = sp_claims_json(&claims);
			const char *name = i < SP_COUNT(extra) ? extra[i] : "none";
			bool has = json_object_get(object, name) || i == SP_COUNT(extra);
			if (!has)
				assert_int_equal(json_object_set_new(object, name,
						     i == 0   ? json_pack("[s]", "file.read")
						     : i == 2 ? json_integer(80)
							      : json_string(i == 1 ? "s" : "tcp")),
				    0);
			sp_auto_free char *text = sp_json_text(object);
			char token[SP_TOKEN_MAX + 1];
			size_t size;
			assert_int_equal(
			    sp_paseto_sign(sp_signing_key_secret(key),
				(struct sp_bytes){text, strlen(text)},
				(struct sp_bytes){footer, strlen(footer)},
				(struct sp_bytes){"space.cap.v1:prod", 17}, token, &size, NULL),
			    0);
			assert_int_equal(verify(token, keys, &use, NOW, &back),
			    has ? SP_REASON_NONE : SP_REASON_MALFORMED);
		}
	sp_signing_key_free(key);
	sp_keyring_free(keys);
}

static void every_claim_of_a_purpose_is_required(void **state)
{
	(void)state;
	for (enum sp_purpose purpose = 0; purpose < SP_PURPOSE_COUNT; purpose++) {
		struct sp_claims claims = claims_of(purpose);
		sp_auto_json json_t *whole = sp_claims_json(&claims);
		const char *name;
		json_t *value;
		json_object_foreach(whole, name, value)
		{
			sp_auto_json json_t *object = json_copy(whole);
			assert_int_equal(json_object_del(object, name), 0);
			sp_auto_free char *text = sp_json_text(object);
			assert_int_equal(
			    sp_claims_parse(text, strlen(text), &claims, NULL), SP_E_BAD_RECORD);
		}
	}
}

static void times_are_in_order_and_nbf_is_iat(void **state)
{
	static const struct {
		const char *nbf, *exp;
		int result;
	} rows[] = {
	    {"2026-11-29T12:00:00Z", "2026-11-29T12:00:01Z", 0},
	    {"2026-11-29T12:00:00Z", "2026-11-29T12:00:00Z", SP_E_BAD_RECORD},
	    {"2026-11-29T12:00:01Z", "2026-11-29T12:02:00Z", SP_E_BAD_RECORD},
	    {"2026-11-29T11:59:59Z", "2026-11-29T12:02:00Z", SP_E_BAD_RECORD},
	    {"2026-11-29T12:00:00Z", "9999-12-31T23:59:59Z", 0},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_claims claims = claims_of(SP_PURPOSE_CONTROL);
		sp_auto_json json_t *object = sp_claims_json(&claims);
		assert_int_equal(
		    json_object_set_new(object, "iat", json_string("2026-11-29T12:00:00Z")), 0);
		assert_int_equal(json_object_set_new(object, "nbf", json_string(rows[i].nbf)), 0);
		assert_int_equal(json_object_set_new(object, "exp", json_string(rows[i].exp)), 0);
		sp_auto_free char *text = sp_json_text(object);
		assert_int_equal(
		    sp_claims_parse(text, strlen(text), &claims, NULL), rows[i].result);
	}
}

/* sp_claims_json and the signer's own writer are one format. */
static void claims_as_json_are_the_claims_of_the_token(void **state)
{
	struct sp_signing_key *key = signing_key("A");

	(void)state;
	for (enum sp_purpose purpose = 0; purpose < SP_PURPOSE_COUNT; purpose++) {
		struct sp_claims claims = claims_of(purpose);
		struct sp_paseto parts;
		char token[SP_TOKEN_MAX + 1];
		size_t size;
		assert_int_equal(sp_capability_sign(&claims, "prod", key, token, &size, NULL), 0);
		assert_true(sp_paseto_split(token, size, &parts));
		sp_auto_json json_t *object = sp_claims_json(&claims);
		sp_auto_free char *text = sp_json_text(object);
		assert_string_equal((char *)parts.message, text);
	}
	sp_signing_key_free(key);
}

static void what_no_verifier_accepts_is_not_signed(void **state)
{
	struct sp_signing_key *key = signing_key("A");
	char token[SP_TOKEN_MAX + 1];
	size_t size;

	(void)state;
	for (int life = -1; life <= 121; life++) {
		struct sp_claims claims = claims_of(SP_PURPOSE_CONTROL);
		claims.expires_at = NOW + life;
		assert_int_equal(sp_capability_sign(&claims, "prod", key, token, &size, NULL),
		    life < 1 || life > 120 ? SP_E_BAD_RECORD : 0);
	}
	struct sp_claims claims = claims_of(SP_PURPOSE_CONTROL);
	claims.issuer[0] = '\0';
	assert_int_equal(
	    sp_capability_sign(&claims, "prod", key, token, &size, NULL), SP_E_BAD_RECORD);
	claims = claims_of(SP_PURPOSE_CONTROL);
	claims.not_before++;
	assert_int_equal(
	    sp_capability_sign(&claims, "prod", key, token, &size, NULL), SP_E_BAD_RECORD);
	claims = claims_of(SP_PURPOSE_CONTROL);
	memset(claims.issuer, '\x01', SP_NAME_MAX);
	memset(claims.caller, '\x01', SP_NAME_MAX);
	assert_int_equal(
	    sp_capability_sign(&claims, "prod", key, token, &size, NULL), SP_E_TOO_LARGE);
	sp_signing_key_free(key);
}

/* Several things wrong at once: the step that comes first speaks. */
static void the_first_failing_step_is_the_reason(void **state)
{
	struct sp_keyring *keys = keyring_of("A"), *others = keyring_of("B"), *none;
	struct sp_signing_key *key = signing_key("A");
	struct sp_claims claims = claims_of(SP_PURPOSE_ATTACH), back;
	struct sp_cap_use wrong = any_use(SP_PURPOSE_SERVICE_PORT);
	char token[SP_TOKEN_MAX + 1];
	size_t size;

	(void)state;
	assert_int_equal(sp_keyring_empty(&none), 0);
	assert_int_equal(sp_capability_sign(&claims, "staging", key, token, &size, NULL), 0);
	/* Unknown key before signature. */
	assert_int_equal(verify(token, others, &wrong, NOW + 500, &back), SP_REASON_UNKNOWN_KEY);
	assert_int_equal(verify(token, none, &wrong, NOW + 500, &back), SP_REASON_UNKNOWN_KEY);
	/* Signature before time and purpose; the claims stay out of reach, the key id does not. */
	assert_int_equal(verify(token, keys, &wrong, NOW + 500, &back), SP_REASON_SIGNATURE);
	assert_string_equal(back.kid, key_text("A", "id"));
	assert_string_equal(back.jti, "");
	/* Time before purpose; the claims are there for the audit line. */
	assert_int_equal(sp_capability_sign(&claims, "prod", key, token, &size, NULL), 0);
	assert_int_equal(verify(token, keys, &wrong, NOW + 500, &back), SP_REASON_EXPIRED);
	assert_int_equal(verify(token, keys, &wrong, NOW - 500, &back), SP_REASON_NOT_YET_VALID);
	assert_string_equal(back.jti, claims.jti);
	assert_int_equal(verify(token, keys, &wrong, NOW, &back), SP_REASON_PURPOSE);
	sp_signing_key_free(key);
	sp_keyring_free(keys);
	sp_keyring_free(others);
	sp_keyring_free(none);
}

/* Material for one purpose is worthless for every other. */
static void no_purpose_stands_in_for_another(void **state)
{
	struct sp_keyring *keys = keyring_of("A");
	struct sp_signing_key *key = signing_key("A");

	(void)state;
	for (enum sp_purpose has = 0; has < SP_PURPOSE_COUNT; has++)
		for (enum sp_purpose asks = 0; asks < SP_PURPOSE_COUNT; asks++) {
			struct sp_claims claims = claims_of(has), back;
			struct sp_cap_use use = any_use(asks);
			char token[SP_TOKEN_MAX + 1];
			size_t size;
			assert_int_equal(
			    sp_capability_sign(&claims, "prod", key, token, &size, NULL), 0);
			assert_int_equal(verify(token, keys, &use, NOW, &back),
			    has == asks ? SP_REASON_NONE : SP_REASON_PURPOSE);
		}
	sp_signing_key_free(key);
	sp_keyring_free(keys);
}

/* An operation of another purpose is not covered, even where the list names it. */
static void access_covers_operations_of_its_own_purpose_only(void **state)
{
	static const struct {
		enum sp_purpose purpose;
		const char *entries[3], *op;
		enum sp_reason reason;
	} rows[] = {
	    {SP_PURPOSE_CONTROL, {"file.read"}, "file.read", SP_REASON_NONE},
	    {SP_PURPOSE_CONTROL, {"file.*"}, "file.write", SP_REASON_NONE},
	    {SP_PURPOSE_CONTROL, {"file.*"}, "exec.list", SP_REASON_ACCESS},
	    {SP_PURPOSE_CONTROL, {"file.read", "ping"}, "ping", SP_REASON_NONE},
	    {SP_PURPOSE_CONTROL, {"exec.*"}, "exec.run", SP_REASON_ACCESS},
	    {SP_PURPOSE_CONTROL, {"exec.run"}, "exec.run", SP_REASON_NONE},
	    {SP_PURPOSE_CONTROL, {"exec.run", "exec.run"}, "exec.run", SP_REASON_ACCESS},
	    {SP_PURPOSE_CONTROL, {"exec.signal"}, "exec.signal", SP_REASON_NONE},
	    {SP_PURPOSE_CONTROL, {"exec.*"}, "exec.signal", SP_REASON_ACCESS},
	    {SP_PURPOSE_CONTROL, {"terminal.*"}, "terminal.resize", SP_REASON_ACCESS},
	    {SP_PURPOSE_CONTROL, {"exec.attach"}, "exec.attach", SP_REASON_ACCESS},
	    {SP_PURPOSE_CONTROL, {"port.connect"}, "port.connect", SP_REASON_ACCESS},
	    {SP_PURPOSE_CONTROL, {"lease.list"}, "lease.list", SP_REASON_ACCESS},
	    {SP_PURPOSE_CONTROL, {"file.read"}, "no.such", SP_REASON_ACCESS},
	    {SP_PURPOSE_MANAGE, {"lease.*"}, "lease.cancel", SP_REASON_NONE},
	    {SP_PURPOSE_MANAGE, {"lease.status"}, "lease.cancel", SP_REASON_ACCESS},
	    {SP_PURPOSE_MANAGE, {"file.read"}, "file.read", SP_REASON_ACCESS},
	};
	struct sp_keyring *keys = keyring_of("A");

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_claims claims = claims_of(rows[i].purpose);
		struct sp_cap_use use = any_use(rows[i].purpose);
		strcpy(claims.kid, key_text("A", "id"));
		use.op = rows[i].op;
		for (claims.access_count = 0; rows[i].entries[claims.access_count];
		     claims.access_count++)
			strcpy(claims.access[claims.access_count],
			    rows[i].entries[claims.access_count]);
		if (sp_capability_recheck(&claims, keys, &use, NOW, SP_SKEW_MAX) != rows[i].reason)
			fail_msg("row %zu: %s with %s", i, rows[i].op, rows[i].entries[0]);
	}
	sp_keyring_free(keys);
}

/* --skew can lower the tolerance, never raise it. */
static void skew_is_never_above_fifteen_seconds(void **state)
{
	static const struct {
		int64_t skew, after_expiry;
		enum sp_reason reason;
	} rows[] = {
	    {15, 14, SP_REASON_NONE},
	    {15, 15, SP_REASON_EXPIRED},
	    {3600, 15, SP_REASON_EXPIRED},
	    {0, -1, SP_REASON_NONE},
	    {0, 0, SP_REASON_EXPIRED},
	    {5, 4, SP_REASON_NONE},
	    {5, 5, SP_REASON_EXPIRED},
	    {-20, -1, SP_REASON_NONE},
	    {-20, 0, SP_REASON_EXPIRED},
	};
	struct sp_keyring *keys = keyring_of("A");
	struct sp_claims claims = claims_of(SP_PURPOSE_CONTROL);
	struct sp_cap_use use = any_use(SP_PURPOSE_CONTROL);

	(void)state;
	strcpy(claims.kid, key_text("A", "id"));
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		assert_int_equal(sp_capability_recheck(&claims, keys, &use,
				     claims.expires_at + rows[i].after_expiry, rows[i].skew),
		    rows[i].reason);
	sp_keyring_free(keys);
}

static void names_have_their_bounds(void **state)
{
	static const struct {
		size_t size;
		int result;
	} rows[] = {
	    {1, 0}, {SP_NAME_MAX, 0}, {SP_NAME_MAX + 1, SP_E_BAD_RECORD}, {0, SP_E_BAD_RECORD}};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_claims claims = claims_of(SP_PURPOSE_CONTROL);
		char name[SP_NAME_MAX + 2] = {0};
		sp_auto_json json_t *object = sp_claims_json(&claims);
		memset(name, 'n', rows[i].size);
		assert_int_equal(json_object_set_new(object, "iss", json_string(name)), 0);
		sp_auto_free char *text = sp_json_text(object);
		assert_int_equal(
		    sp_claims_parse(text, strlen(text), &claims, NULL), rows[i].result);
	}
}

static void a_jti_is_sixteen_bytes_in_one_spelling(void **state)
{
	static const struct {
		const char *jti;
		int result;
	} rows[] = {{"AAAAAAAAAAAAAAAAAAAAAA", 0}, {"AAAAAAAAAAAAAAAAAAAAAB", SP_E_BAD_RECORD},
	    {"AAAAAAAAAAAAAAAAAAAA", SP_E_BAD_RECORD}, {"", SP_E_BAD_RECORD},
	    {"AAAAAAAAAAAAAAAAAAAAAAAA", SP_E_BAD_RECORD},
	    {"AAAAAAAAAAAAAAAAAAAAAA==", SP_E_BAD_RECORD}};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_claims claims = claims_of(SP_PURPOSE_CONTROL);
		sp_auto_json json_t *object = sp_claims_json(&claims);
		assert_int_equal(json_object_set_new(object, "jti", json_string(rows[i].jti)), 0);
		sp_auto_free char *text = sp_json_text(object);
		assert_int_equal(
		    sp_claims_parse(text, strlen(text), &claims, NULL), rows[i].result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_line_of_the_vectors_is_judged_as_written),
	    cmocka_unit_test(a_claim_of_another_purpose_is_malformed),
	    cmocka_unit_test(every_claim_of_a_purpose_is_required),
	    cmocka_unit_test(times_are_in_order_and_nbf_is_iat),
	    cmocka_unit_test(what_is_signed_is_what_is_verified),
	    cmocka_unit_test(claims_as_json_are_the_claims_of_the_token),
	    cmocka_unit_test(what_no_verifier_accepts_is_not_signed),
	    cmocka_unit_test(the_first_failing_step_is_the_reason),
	    cmocka_unit_test(no_purpose_stands_in_for_another),
	    cmocka_unit_test(access_covers_operations_of_its_own_purpose_only),
	    cmocka_unit_test(skew_is_never_above_fifteen_seconds),
	    cmocka_unit_test(names_have_their_bounds),
	    cmocka_unit_test(a_jti_is_sixteen_bytes_in_one_spelling),
	};

	if (sodium_init() < 0 ||
	    sp_json_read_file(AT_FDCWD, KEYS, SP_RECORD_FILE_MAX, &keys_file, NULL) < 0)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	json_decref(keys_file);
	return failed;
}
