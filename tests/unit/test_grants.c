/* Grants: principals, patterns, operations, ports, time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "routing/grants.h"

static void a_principal_is_a_uid_a_user_or_a_token(void **state)
{
	static const struct {
		const char *text;
		int kind; /* -1: none */
	} rows[] = {
	    {"uid:0", SP_PRINCIPAL_UID},
	    {"uid:1000", SP_PRINCIPAL_UID},
	    {"uid:4294967294", SP_PRINCIPAL_UID},
	    {"uid:4294967295", -1},
	    {"uid:01", -1},
	    {"uid:-1", -1},
	    {"uid:", -1},
	    {"user:alice", SP_PRINCIPAL_USER},
	    {"user:", -1},
	    {"token:ci", SP_PRINCIPAL_TOKEN},
	    {"token:a b", -1},
	    {"token:", -1},
	    {"group:x", -1},
	    {"1000", -1},
	    {"", -1},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		enum sp_principal_kind kind;
		bool valid = sp_principal_parse(rows[i].text, &kind);
		assert_int_equal(valid ? (int)kind : -1, rows[i].kind);
	}
}

static void a_pattern_matches_runs_and_single_characters(void **state)
{
	static const struct {
		const char *pattern, *sandbox;
		bool valid, matches;
	} rows[] = {
	    {"s-42", "s-42", true, true},
	    {"s-42", "s-421", true, false},
	    {"s-42", "s-4", true, false},
	    {"*", "anything", true, true},
	    {"s-*", "s-42", true, true},
	    {"s-*", "s-", true, true},
	    {"s-*", "t-42", true, false},
	    {"*-prod", "a-b-prod", true, true},
	    {"*-prod", "a-b-prod2", true, false},
	    {"a*b*c", "aXbYbZc", true, true},
	    {"a*b*c", "aXcYb", true, false},
	    {"s-?", "s-4", true, true},
	    {"s-?", "s-42", true, false},
	    {"s-?", "s-", true, false},
	    {"**", "x", true, true},
	    {"", "", false, true},
	    {"[a]", "a", false, false},
	    {"-s*", "-s1", false, true},
	    {"s/*", "s/1", false, true},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		assert_int_equal(sp_sandbox_pattern_valid(rows[i].pattern), rows[i].valid);
		assert_int_equal(
		    sp_sandbox_matches(rows[i].pattern, rows[i].sandbox), rows[i].matches);
	}
}

static void a_pattern_of_stars_takes_no_time(void **state)
{
	char pattern[SP_ID_MAX + 1], sandbox[SP_ID_MAX + 1];

	(void)state;
	for (int i = 0; i < SP_ID_MAX; i++) {
		pattern[i] = i % 2 ? '*' : 'a';
		sandbox[i] = 'a';
	}
	pattern[SP_ID_MAX] = sandbox[SP_ID_MAX] = '\0';
	pattern[SP_ID_MAX - 1] = 'b';
	for (int i = 0; i < 10000; i++)
		assert_false(sp_sandbox_matches(pattern, sandbox));
}

static void port_ranges_are_read_and_written(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} rows[] = {{"8080/http", true}, {"1-65535/tcp", true}, {"443/tls", true},
	    {"80/websocket", true}, {"0/tcp", false}, {"65536/tcp", false}, {"8080", false},
	    {"8080/udp", false}, {"9-8/tcp", false}, {"08/tcp", false}, {"-8/tcp", false},
	    {"8-/tcp", false}, {"1-2-3/tcp", false}, {"/tcp", false}, {"8080/", false},
	    {"123456789/tcp", false}};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_port_range range;
		char text[SP_PORT_RANGE_SIZE];
		assert_int_equal(sp_port_range_parse(rows[i].text, &range), rows[i].valid);
		if (!rows[i].valid)
			continue;
		sp_port_range_format(&range, text);
		assert_string_equal(text, rows[i].text);
	}
}

static void rights_are_operations_families_and_ports(void **state)
{
	struct sp_rights rights = {0};
	struct sp_port_range range;

	(void)state;
	assert_int_equal(sp_rights_add_op(&rights, "file.*", NULL), 0);
	assert_int_equal(sp_rights_add_op(&rights, "exec.run", NULL), 0);
	assert_int_equal(sp_rights_add_op(&rights, "file.*", NULL), 0);
	assert_int_equal(rights.op_count, 2);
	assert_int_equal(sp_rights_add_op(&rights, "file.fly", NULL), SP_E_USAGE);
	assert_int_equal(sp_rights_add_op(&rights, "*", NULL), SP_E_USAGE);
	assert_int_equal(sp_rights_add_op(&rights, "guest.rekey", NULL), SP_E_USAGE);
	assert_int_equal(sp_rights_add_op(&rights, "port.connect", NULL), SP_E_USAGE);
	assert_int_equal(sp_rights_add_op(&rights, "port.*", NULL), SP_E_USAGE);
	assert_true(sp_rights_cover(&rights, sp_op_find("file.chmod")));
	assert_true(sp_rights_cover(&rights, sp_op_find("exec.run")));
	assert_false(sp_rights_cover(&rights, sp_op_find("exec.start")));
	assert_false(sp_rights_cover(&rights, sp_op_find("port.connect")));
	assert_true(sp_port_range_parse("80/http", &range));
	assert_int_equal(sp_rights_add_port(&rights, &range, NULL), 0);
	assert_true(sp_rights_cover(&rights, sp_op_find("port.connect")));
	assert_true(sp_ports_cover(rights.ports, rights.port_count, 80, SP_PROTOCOL_HTTP));
	assert_false(sp_ports_cover(rights.ports, rights.port_count, 80, SP_PROTOCOL_TLS));
	assert_false(sp_ports_cover(rights.ports, rights.port_count, 81, SP_PROTOCOL_HTTP));
}

static void a_family_grants_the_single_use_operations_too(void **state)
{
	struct sp_rights rights = {0};

	(void)state;
	assert_int_equal(sp_rights_add_op(&rights, "exec.*", NULL), 0);
	assert_true(sp_rights_cover(&rights, sp_op_find("exec.run")));
	assert_true(sp_rights_cover(&rights, sp_op_find("exec.attach")));
}

static struct sp_grant grant(const char *sandbox, const char *op, int64_t until)
{
	struct sp_grant made = {.until = until};

	(void)snprintf(made.sandbox, sizeof(made.sandbox), "%s", sandbox);
	assert_int_equal(sp_rights_add_op(&made.rights, op, NULL), 0);
	return made;
}

static void what_a_caller_may_is_the_union_of_the_grants_that_hold_now(void **state)
{
	const struct sp_grant grants[] = {
	    grant("s-42", "file.read", 0), grant("s-*", "exec.*", 2000), grant("*", "ping", 1500),
	    grant("s-42", "file.write", 1000), /* ended just now */
	    grant("t-*", "tree.*", 0),         /* another sandbox */
	};
	struct sp_authorization authorization = {0};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(grants); i++)
		sp_authorization_add(&authorization, &grants[i], "s-42", 1000);
	assert_int_equal(authorization.rights.op_count, 3);
	assert_string_equal(authorization.rights.ops[0], "file.read");
	assert_string_equal(authorization.rights.ops[1], "exec.*");
	assert_string_equal(authorization.rights.ops[2], "ping");
	assert_int_equal(authorization.until, 1500);
}

static void a_union_beyond_the_bounds_has_too_little_never_too_much(void **state)
{
	struct sp_rights rights = {0}, more = {0};

	(void)state;
	for (uint16_t i = 0; i < SP_GRANT_PORTS_MAX; i++) {
		struct sp_port_range low = {(uint16_t)(1 + i), (uint16_t)(1 + i), SP_PROTOCOL_TCP};
		struct sp_port_range high = {
		    (uint16_t)(1000 + i), (uint16_t)(1000 + i), SP_PROTOCOL_TCP};
		assert_int_equal(sp_rights_add_port(&rights, &low, NULL), 0);
		assert_int_equal(sp_rights_add_port(&more, &high, NULL), 0);
	}
	assert_int_equal(sp_rights_add_port(&rights, &more.ports[0], NULL), SP_E_USAGE);
	sp_rights_merge(&rights, &more);
	assert_int_equal(rights.port_count, SP_GRANT_PORTS_MAX);
	assert_false(sp_ports_cover(rights.ports, rights.port_count, 1000, SP_PROTOCOL_TCP));
	assert_true(sp_ports_cover(rights.ports, rights.port_count, 1, SP_PROTOCOL_TCP));
}

static void rights_survive_their_json(void **state)
{
	struct sp_grant made = grant("s-*", "file.*", 0);
	struct sp_port_range range;
	struct sp_rights back;

	(void)state;
	assert_true(sp_port_range_parse("8000-8010/tcp", &range));
	assert_int_equal(sp_rights_add_port(&made.rights, &range, NULL), 0);
	sp_auto_json json_t *ops = sp_rights_ops_json(&made.rights);
	sp_auto_json json_t *ports = sp_rights_ports_json(&made.rights);
	assert_int_equal(sp_rights_parse(ops, ports, &back, NULL), 0);
	assert_memory_equal(&back, &made.rights, sizeof(back));
	sp_auto_json json_t *bad = json_pack("[s]", "file.fly");
	assert_int_equal(sp_rights_parse(bad, ports, &back, NULL), SP_E_BAD_RECORD);
	assert_int_equal(sp_rights_parse(ops, bad, &back, NULL), SP_E_BAD_RECORD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_principal_is_a_uid_a_user_or_a_token),
	    cmocka_unit_test(a_pattern_matches_runs_and_single_characters),
	    cmocka_unit_test(a_pattern_of_stars_takes_no_time),
	    cmocka_unit_test(port_ranges_are_read_and_written),
	    cmocka_unit_test(rights_are_operations_families_and_ports),
	    cmocka_unit_test(a_family_grants_the_single_use_operations_too),
	    cmocka_unit_test(what_a_caller_may_is_the_union_of_the_grants_that_hold_now),
	    cmocka_unit_test(a_union_beyond_the_bounds_has_too_little_never_too_much),
	    cmocka_unit_test(rights_survive_their_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
