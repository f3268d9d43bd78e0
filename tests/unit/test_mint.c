/* Minting: what a capability may carry, how long it lives, and when one of before will do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "token/mint.h"
#include "token/reuse.h"

#define NOW   1796000000
#define UNTIL (NOW + 3600)

/* A routed record that the test owns, and its view. */
struct routed {
	json_t *record;
	struct sp_request request;
};

static struct routed routed(
    const char *op, json_t *args, json_t *access, int64_t until, int attempted, const char *sandbox)
{
	struct routed routed;
	char time[SP_TIME_SIZE];
	struct sp_err err = {0};

	sp_time_format(until, time);
	routed.record = json_pack("{ss ss so ss s{si ss ss ss ss si} ss so ss si}", "op", op,
	    "sandbox", sandbox, "args", args, "caller", "uid:1000", "route", "execution", 7,
	    "worker", "worker-a", "substrate", "kubernetes", "pod_uid",
	    "0b9fa3b1-3d4e-4f50-8a6b-7c8d9e0f1a2b", "activation", "act-19", "attempt", 1,
	    "endpoint", "unix:/run/m.sock", "access", access, "authorized_until", time, "attempted",
	    attempted);
	assert_non_null(routed.record);
	if (sp_request_parse(routed.record, SP_STATE_ROUTED, &routed.request, &err) < 0)
		fail_msg("%s", err.message);
	return routed;
}

static struct routed plain(const char *op, json_t *access)
{
	return routed(op, json_object(), access, UNTIL, 1, "s-42");
}

static json_t *list(const char *words)
{
	json_t *array = json_array();

	for (const char *at = words; *at; at += *at == ' ') {
		size_t length = strcspn(at, " ");
		assert_int_equal(json_array_append_new(array, json_stringn(at, length)), 0);
		at += length;
	}
	return array;
}

static void assert_access(const struct sp_claims *claims, const char *words)
{
	char text[1024] = "";

	for (unsigned i = 0; i < claims->access_count; i++) {
		strcat(text, i ? " " : "");
		strcat(text, claims->access[i]);
	}
	assert_string_equal(text, words);
}

/* What the caller was granted, the operation asked for, what the capability then carries. */
static void access_is_what_was_granted_and_is_multi_use(void **state)
{
	static const struct {
		const char *granted, *op;
		enum sp_reason reason;
		const char *carried;
	} rows[] = {
	    {"file.read", "file.read", SP_REASON_NONE, "file.read"},
	    {"file.* ping", "file.write", SP_REASON_NONE, "file.* ping"},
	    {"file.* file.* ping file.*", "ping", SP_REASON_NONE, "file.* ping"},
	    {"file.read exec.run", "file.read", SP_REASON_NONE, "file.read"},
	    {"file.read exec.*", "file.read", SP_REASON_NONE, "file.read exec.*"},
	    {"terminal.* file.read", "file.read", SP_REASON_NONE, "file.read"},
	    {"file.read port.connect exec.attach lease.*", "file.read", SP_REASON_NONE,
		"file.read"},
	    {"file.read lease.* lease.list", "lease.list", SP_REASON_NONE, "lease.* lease.list"},
	    {"exec.*", "exec.run", SP_REASON_NONE, "exec.run"},
	    {"exec.run", "exec.run", SP_REASON_NONE, "exec.run"},
	    {"exec.* file.read", "exec.signal", SP_REASON_NONE, "exec.signal"},
	    {"exec.*", "exec.list", SP_REASON_NONE, "exec.*"},
	    {"file.read", "file.write", SP_REASON_ACCESS, "file.read"},
	    {"file.read", "exec.run", SP_REASON_ACCESS, "exec.run"},
	    {"", "ping", SP_REASON_ACCESS, ""},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct routed asked = plain(rows[i].op, list(rows[i].granted));
		struct sp_claims claims;
		enum sp_reason reason;
		assert_int_equal(
		    sp_mint_claims(&asked.request, NOW, 120, &claims, &reason, NULL), 0);
		if (reason != rows[i].reason)
			fail_msg("row %zu: %s of %s", i, rows[i].op, rows[i].granted);
		assert_access(&claims, rows[i].carried);
		json_decref(asked.record);
	}
}

/* Whatever operation of the table: what is minted for it verifies for it, and for its purpose only.
 */
static void every_operation_gets_a_capability_that_fits_it(void **state)
{
	const struct sp_op *op;

	(void)state;
	for (size_t i = 0; (op = sp_op_at(i)); i++) {
		json_t *args =
		    json_pack("{ss si ss}", "session", "sess-1", "port", 80, "protocol", "tcp");
		struct routed asked = routed(op->name, args, list(op->name), UNTIL, 1, "s-42");
		struct sp_cap_use use = {.purpose = op->purpose,
		    .op = op->name,
		    .session = "sess-1",
		    .port = 80,
		    .protocol = SP_PROTOCOL_TCP};
		struct sp_signing_key *key;
		struct sp_minter *minter;
		struct sp_minted minted;
		struct sp_claims claims;
		struct sp_keyring *keys;
		char public[SP_PASERK_PUBLIC_SIZE];
		assert_int_equal(sp_signing_key_new(&key, NULL), 0);
		(void)sp_paserk_public_write(
		    sp_signing_key_public(key), SP_PUBLIC_KEY_SIZE, public, NULL);
		assert_int_equal(sp_minter_new(key, "prod", "cp", 120, &minter, NULL), 0);
		assert_int_equal(sp_minter_request(minter, &asked.request, NOW, &minted, NULL), 0);
		assert_int_equal(minted.reason, SP_REASON_NONE);
		assert_int_equal(sp_keyring_load(public, "prod", "", &keys, NULL), 0);
		assert_int_equal(sp_capability_verify(minted.token, minted.size, keys, "prod", &use,
				     NOW, 0, &claims),
		    SP_REASON_NONE);
		assert_string_equal(claims.jti, minted.jti);
		assert_string_equal(claims.issuer, "cp");
		use.purpose = (use.purpose + 1) % SP_PURPOSE_COUNT;
		assert_int_equal(sp_capability_verify(minted.token, minted.size, keys, "prod", &use,
				     NOW, 0, &claims),
		    SP_REASON_PURPOSE);
		sp_keyring_free(keys);
		sp_minter_free(minter);
		json_decref(asked.record);
	}
	assert_true(op == NULL);
}

static void no_life_goes_beyond_the_authorization(void **state)
{
	static const struct {
		int64_t until, life, lives;
		enum sp_reason reason;
	} rows[] = {
	    {NOW + 3600, 120, 120, SP_REASON_NONE},
	    {NOW + 3600, 30, 30, SP_REASON_NONE},
	    {NOW + 120, 120, 120, SP_REASON_NONE},
	    {NOW + 119, 120, 119, SP_REASON_NONE},
	    {NOW + 1, 120, 1, SP_REASON_NONE},
	    {NOW, 120, 0, SP_REASON_UNAUTHORIZED},
	    {NOW - 1, 120, -1, SP_REASON_UNAUTHORIZED},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct routed asked =
		    routed("ping", json_object(), list("ping"), rows[i].until, 1, "s-42");
		struct sp_claims claims;
		enum sp_reason reason;
		assert_int_equal(
		    sp_mint_claims(&asked.request, NOW, rows[i].life, &claims, &reason, NULL), 0);
		assert_int_equal(reason, rows[i].reason);
		assert_int_equal(claims.expires_at - claims.issued_at, rows[i].lives);
		assert_int_equal(claims.not_before, NOW);
		json_decref(asked.record);
	}
}

static void args_that_name_no_session_or_port_are_a_bad_record(void **state)
{
	const struct {
		const char *op;
		json_t *args;
		int result;
	} rows[] = {
	    {"exec.attach", json_object(), SP_E_BAD_RECORD},
	    {"exec.attach", json_pack("{si}", "session", 1), SP_E_BAD_RECORD},
	    {"exec.attach", json_pack("{ss}", "session", "a/b"), SP_E_BAD_RECORD},
	    {"exec.attach", json_pack("{ss}", "session", ""), SP_E_BAD_RECORD},
	    {"exec.attach", json_pack("{ss}", "session", "sess-1"), 0},
	    {"port.connect", json_object(), SP_E_BAD_RECORD},
	    {"port.connect", json_pack("{si}", "port", 80), SP_E_BAD_RECORD},
	    {"port.connect", json_pack("{siss}", "port", 0, "protocol", "tcp"), SP_E_BAD_RECORD},
	    {"port.connect", json_pack("{siss}", "port", 65536, "protocol", "tcp"),
		SP_E_BAD_RECORD},
	    {"port.connect", json_pack("{ssss}", "port", "80", "protocol", "tcp"), SP_E_BAD_RECORD},
	    {"port.connect", json_pack("{siss}", "port", 80, "protocol", "udp"), SP_E_BAD_RECORD},
	    {"port.connect", json_pack("{siss}", "port", 65535, "protocol", "tls"), 0},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct routed asked =
		    routed(rows[i].op, rows[i].args, list(rows[i].op), UNTIL, 1, "s-42");
		struct sp_claims claims;
		enum sp_reason reason;
		assert_int_equal(sp_mint_claims(&asked.request, NOW, 120, &claims, &reason, NULL),
		    rows[i].result);
		json_decref(asked.record);
	}
}

static void a_caller_s_name_has_a_bound(void **state)
{
	struct routed asked = plain("ping", list("ping"));
	struct sp_claims claims;
	enum sp_reason reason;
	char name[SP_NAME_MAX + 2];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[SP_NAME_MAX + 1] = '\0';
	asked.request.caller = name;
	assert_int_equal(
	    sp_mint_claims(&asked.request, NOW, 120, &claims, &reason, NULL), SP_E_BAD_RECORD);
	name[SP_NAME_MAX] = '\0';
	assert_int_equal(sp_mint_claims(&asked.request, NOW, 120, &claims, &reason, NULL), 0);
	json_decref(asked.record);
}

static struct sp_minter *new_minter(void)
{
	struct sp_signing_key *key;
	struct sp_minter *minter;

	assert_int_equal(sp_signing_key_new(&key, NULL), 0);
	assert_int_equal(sp_minter_new(key, "prod", "cp", 120, &minter, NULL), 0);
	return minter;
}

/* Mints for a request that is used up, and says whether the token was one of before. */
static bool reused(struct sp_minter *minter, struct routed asked, int64_t now)
{
	struct sp_minted minted;

	assert_int_equal(sp_minter_request(minter, &asked.request, now, &minted, NULL), 0);
	assert_int_equal(minted.reason, SP_REASON_NONE);
	assert_int_equal(strlen(minted.token), minted.size);
	json_decref(asked.record);
	return minted.reused;
}

static void a_multi_use_capability_is_reused_for_half_of_its_life(void **state)
{
	struct sp_minter *minter = new_minter();

	(void)state;
	assert_false(reused(minter, plain("ping", list("ping")), NOW));
	assert_true(reused(minter, plain("ping", list("ping")), NOW));
	assert_true(reused(minter, plain("ping", list("ping")), NOW + 59));
	assert_false(reused(minter, plain("ping", list("ping")), NOW + 60));
	assert_true(reused(minter, plain("ping", list("ping")), NOW + 119));
	/* Set back, the clock makes nothing younger. */
	assert_false(reused(minter, plain("ping", list("ping")), NOW - 1));
	sp_minter_free(minter);
}

static void another_operation_of_the_same_grant_shares_it(void **state)
{
	struct sp_minter *minter = new_minter();

	(void)state;
	assert_false(reused(minter, plain("file.read", list("file.* ping exec.run")), NOW));
	assert_true(reused(minter, plain("file.write", list("file.* ping exec.run")), NOW));
	assert_true(reused(minter, plain("ping", list("file.* ping")), NOW));
	sp_minter_free(minter);
}

static void single_use_attach_port_and_second_attempts_are_minted_each_time(void **state)
{
	struct sp_minter *minter = new_minter();

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_false(reused(minter, plain("exec.run", list("exec.run")), NOW));
		assert_false(reused(minter,
		    routed("exec.attach", json_pack("{ss}", "session", "s"), list("exec.attach"),
			UNTIL, 1, "s-42"),
		    NOW));
		assert_false(reused(minter,
		    routed("port.connect", json_pack("{siss}", "port", 80, "protocol", "tcp"),
			list("port.connect"), UNTIL, 1, "s-42"),
		    NOW));
	}
	assert_false(reused(minter, plain("ping", list("ping")), NOW));
	assert_false(
	    reused(minter, routed("ping", json_object(), list("ping"), UNTIL, 2, "s-42"), NOW));
	sp_minter_free(minter);
}

/* Each part of the key, changed alone, keeps a token from the other. */
static void nobody_gets_a_token_of_another(void **state)
{
	struct sp_minter *minter = new_minter();

	(void)state;
	assert_false(reused(minter, plain("ping", list("ping")), NOW));
	assert_false(reused(minter, plain("ping", list("ping file.read")), NOW));
	assert_false(reused(minter, plain("lease.list", list("lease.list")), NOW));
	assert_false(
	    reused(minter, routed("ping", json_object(), list("ping"), UNTIL, 1, "s-43"), NOW));
	for (int field = 0; field < 7; field++) {
		struct routed asked = plain("ping", list("ping"));
		struct sp_route *route = &asked.request.route;
		switch (field) {
		case 0:
			asked.request.caller = "uid:1001";
			break;
		case 1:
			route->execution++;
			break;
		case 2:
			route->attempt++;
			break;
		case 3:
			strcpy(route->worker, "worker-b");
			break;
		case 4:
			strcpy(route->activation, "act-20");
			break;
		case 5:
			route->pod_uid[0] = 'f';
			break;
		default:
			route->substrate = SP_SUBSTRATE_HOST;
			route->pod_uid[0] = '\0';
		}
		assert_false(reused(minter, asked, NOW));
	}
	assert_true(reused(minter, plain("ping", list("ping")), NOW));
	sp_minter_free(minter);
}

/* A session that ends sooner than the remembered token gets one that does, too. */
static void a_reused_token_does_not_outlive_the_authorization(void **state)
{
	struct sp_minter *minter = new_minter();

	(void)state;
	assert_false(reused(minter, plain("ping", list("ping")), NOW));
	assert_true(
	    reused(minter, routed("ping", json_object(), list("ping"), NOW + 120, 1, "s-42"), NOW));
	assert_false(
	    reused(minter, routed("ping", json_object(), list("ping"), NOW + 119, 1, "s-42"), NOW));
	sp_minter_free(minter);
}

static void a_refused_request_gets_no_token(void **state)
{
	struct sp_minter *minter = new_minter();
	struct routed asked = routed("ping", json_object(), list("ping"), NOW, 1, "s-42");
	struct sp_minted minted;

	(void)state;
	assert_false(reused(minter, plain("ping", list("ping")), NOW));
	assert_int_equal(sp_minter_request(minter, &asked.request, NOW, &minted, NULL), 0);
	assert_int_equal(minted.reason, SP_REASON_UNAUTHORIZED);
	assert_null(minted.token);
	json_decref(asked.record);
	sp_minter_free(minter);
}

static void the_table_of_tokens_is_bounded(void **state)
{
	struct sp_reuse *reuse;
	struct sp_reuse_key key;
	struct sp_claims claims = {.issued_at = NOW, .expires_at = NOW + 120};
	unsigned found = 0;
	const char *jti;
	size_t size;

	(void)state;
	assert_int_equal(sp_reuse_new(64, &reuse), 0);
	for (unsigned i = 0; i < 1000; i++) {
		claims.identity.route.execution = i + 1;
		claims.issued_at = NOW + i / 100;
		sp_reuse_key(reuse, &claims, &key);
		sp_reuse_put(reuse, &key, &claims, "token", 5);
		assert_non_null(sp_reuse_find(reuse, &key, NOW + 10, UNTIL, &size, &jti));
	}
	for (unsigned i = 0; i < 1000; i++) {
		claims.identity.route.execution = i + 1;
		sp_reuse_key(reuse, &claims, &key);
		found += sp_reuse_find(reuse, &key, NOW + 10, UNTIL, &size, &jti) != NULL;
	}
	assert_true(found > 32 && found <= 64);
	sp_reuse_free(reuse);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(access_is_what_was_granted_and_is_multi_use),
	    cmocka_unit_test(every_operation_gets_a_capability_that_fits_it),
	    cmocka_unit_test(no_life_goes_beyond_the_authorization),
	    cmocka_unit_test(args_that_name_no_session_or_port_are_a_bad_record),
	    cmocka_unit_test(a_caller_s_name_has_a_bound),
	    cmocka_unit_test(a_multi_use_capability_is_reused_for_half_of_its_life),
	    cmocka_unit_test(another_operation_of_the_same_grant_shares_it),
	    cmocka_unit_test(single_use_attach_port_and_second_attempts_are_minted_each_time),
	    cmocka_unit_test(nobody_gets_a_token_of_another),
	    cmocka_unit_test(a_reused_token_does_not_outlive_the_authorization),
	    cmocka_unit_test(a_refused_request_gets_no_token),
	    cmocka_unit_test(the_table_of_tokens_is_bounded),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
