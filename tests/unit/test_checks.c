/*
 * The table of checks against a live listener: the honest one passes, and each recorded value that
 * is changed fails at its own row with its own reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attest/checks.h"
#include "attest/evidence.h"
#include "base/io.h"
#include "base/util.h"
#include "listener_fixture.h"
#include "record/json.h"

static void the_honest_process_passes_every_row(void **unused)
{
	(void)unused;
	for (enum sp_role role = SP_ROLE_BRIDGE; role <= SP_ROLE_VMM; role++) {
		struct sp_report report = {0};
		enum sp_reason row_reason;
		unsigned n = 0;
		assert_int_equal(
		    attest(role, role == SP_ROLE_VMM ? vmm : bridge, sp_level_probe(), &report),
		    SP_REASON_NONE);
		for (; sp_checks_row(n, role, &row_reason); n++) {
			assert_string_equal(
			    report.checks[n].name, sp_checks_row(n, role, &row_reason));
			assert_true(report.checks[n].ok);
			assert_string_not_equal(report.checks[n].expected, "");
			assert_string_not_equal(report.checks[n].seen, "");
		}
		assert_int_equal(report.count, n);
		sp_report_done(&report);
	}
}

enum value { AS_IT_IS, ADD_ONE, OTHER_DIGEST, OTHER_BOOT };

static const struct {
	const char *object, *field;
	enum value value;
	const char *row;
	enum sp_reason reason; /* as a bridge's */
} CHANGED[] = {
    {"listener", "dev", ADD_ONE, "path", SP_REASON_LISTENER_REPLACED},
    {"listener", "ino", ADD_ONE, "path", SP_REASON_LISTENER_REPLACED},
    {"listener", "uid", ADD_ONE, "path", SP_REASON_LISTENER_REPLACED},
    {NULL, "pid", ADD_ONE, "peer-credentials", SP_REASON_PEER_CREDENTIALS},
    {NULL, "uid", ADD_ONE, "peer-credentials", SP_REASON_PEER_CREDENTIALS},
    {NULL, "gid", ADD_ONE, "peer-credentials", SP_REASON_PEER_CREDENTIALS},
    {NULL, "pidfs", ADD_ONE, "peer-process", SP_REASON_BRIDGE_PROCESS},
    {NULL, "boot_id", OTHER_BOOT, "boot", SP_REASON_BRIDGE_PROCESS},
    {NULL, "start_time", ADD_ONE, "start", SP_REASON_BRIDGE_PROCESS},
    {NULL, "start_stack", ADD_ONE, "start", SP_REASON_BRIDGE_PROCESS},
    {"namespaces", "net", ADD_ONE, "namespaces", SP_REASON_BRIDGE_PROCESS},
    {"namespaces", "mnt", ADD_ONE, "namespaces", SP_REASON_BRIDGE_PROCESS},
    {"namespaces", "pid", ADD_ONE, "namespaces", SP_REASON_BRIDGE_PROCESS},
    {"namespaces", "user", ADD_ONE, "namespaces", SP_REASON_BRIDGE_PROCESS},
    {"executable", "dev", ADD_ONE, "executable", SP_REASON_BRIDGE_EXECUTABLE},
    {"executable", "ino", ADD_ONE, "executable", SP_REASON_BRIDGE_EXECUTABLE},
    {"executable", "size", ADD_ONE, "executable", SP_REASON_BRIDGE_EXECUTABLE},
    {"listener", "file_dev", ADD_ONE, "peer-socket", SP_REASON_LISTENER_REPLACED},
    {"listener", "file_ino", ADD_ONE, "peer-socket", SP_REASON_LISTENER_REPLACED},
    {"listener", "socket", ADD_ONE, "listener", SP_REASON_LISTENER_OWNER},
    {"listener", "cookie", ADD_ONE, "listener", SP_REASON_LISTENER_OWNER},
    /* Only told to people, or where to look first, or moved by a touch: the bytes are the same. */
    {NULL, "cgroup", AS_IT_IS, NULL, SP_REASON_NONE},
    {"listener", "fd", ADD_ONE, NULL, SP_REASON_NONE},
    {"executable", "mtime", ADD_ONE, NULL, SP_REASON_NONE},
    {"executable", "ctime", ADD_ONE, NULL, SP_REASON_NONE},
    {"executable", "blake2b", OTHER_DIGEST, NULL, SP_REASON_NONE},
};

/* The last digit of a text, or a number, goes one up (9 becomes 8). */
static json_t *one_more(const json_t *value)
{
	char text[128];
	size_t size;

	if (json_is_integer(value))
		return json_integer(json_integer_value(value) + 1);
	size = strlen(json_string_value(value));
	assert_true(size > 0 && size < sizeof(text));
	memcpy(text, json_string_value(value), size + 1);
	text[size - 1] = text[size - 1] == '9' ? '8' : (char)(text[size - 1] + 1);
	return json_string(text);
}

static void change(json_t *object, const char *field, enum value value)
{
	char digest[65];

	memset(digest, '0', 64);
	digest[64] = '\0';
	if (value == ADD_ONE)
		(void)json_object_set_new(object, field, one_more(json_object_get(object, field)));
	else if (value == OTHER_DIGEST)
		(void)json_object_set_new(object, field, json_string(digest));
	else if (value == OTHER_BOOT)
		(void)json_object_set_new(
		    object, field, json_string("00000000-0000-4000-8000-000000000000"));
}

static json_t *changed(size_t row, const json_t *evidence)
{
	json_t *copy = json_deep_copy(evidence);

	change(CHANGED[row].object ? json_object_get(copy, CHANGED[row].object) : copy,
	    CHANGED[row].field, CHANGED[row].value);
	return copy;
}

static void each_changed_value_fails_at_its_row(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < SP_COUNT(CHANGED); i++) {
		sp_auto_json json_t *evidence = changed(i, bridge);
		struct sp_report report = {0};
		enum sp_reason reason = attest(SP_ROLE_BRIDGE, evidence, sp_level_probe(), &report);
		const struct sp_check *last = &report.checks[report.count - 1];
		if (reason != CHANGED[i].reason)
			fail_msg("%s: %s", CHANGED[i].field, last->name);
		if (CHANGED[i].row) {
			assert_string_equal(last->name + strlen("bridge-"), CHANGED[i].row);
			assert_false(last->ok);
			assert_int_equal(last->reason, reason);
		}
		sp_report_done(&report);
	}
}

static void a_vmm_fails_with_its_own_reasons(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < SP_COUNT(CHANGED); i++) {
		sp_auto_json json_t *evidence = changed(i, vmm);
		enum sp_reason expected = CHANGED[i].reason;
		if (expected == SP_REASON_BRIDGE_PROCESS)
			expected = SP_REASON_VMM_PROCESS;
		else if (expected == SP_REASON_BRIDGE_EXECUTABLE)
			expected = SP_REASON_VMM_EXECUTABLE;
		assert_int_equal(attest(SP_ROLE_VMM, evidence, sp_level_probe(), NULL), expected);
	}
}

static void other_bytes_under_a_moved_tuple_are_refused(void **unused)
{
	sp_auto_json json_t *evidence = json_deep_copy(bridge);
	json_t *executable = json_object_get(evidence, "executable");

	(void)unused;
	change(executable, "ctime", ADD_ONE);
	change(executable, "blake2b", OTHER_DIGEST);
	assert_int_equal(
	    attest(SP_ROLE_BRIDGE, evidence, sp_level_probe(), NULL), SP_REASON_BRIDGE_EXECUTABLE);
}

static void a_level_below_the_minimum_is_refused(void **unused)
{
	sp_auto_json json_t *old = json_deep_copy(bridge);

	(void)unused;
	assert_int_equal(
	    attest(SP_ROLE_BRIDGE, bridge, SP_LEVEL_NONE, NULL), SP_REASON_EVIDENCE_UNAVAILABLE);
	assert_int_equal(
	    attest(SP_ROLE_BRIDGE, bridge, SP_LEVEL_LAUNCH_PIDFD, NULL), SP_REASON_NONE);
	(void)json_object_del(old, "pidfs");
	assert_int_equal(
	    attest(SP_ROLE_BRIDGE, old, SP_LEVEL_FULL, NULL), SP_REASON_EVIDENCE_UNAVAILABLE);
	assert_int_equal(attest(SP_ROLE_BRIDGE, old, SP_LEVEL_LAUNCH_PIDFD, NULL), SP_REASON_NONE);
}

static void no_or_broken_evidence_is_unavailable(void **unused)
{
	sp_auto_json json_t *broken = json_deep_copy(bridge);
	struct sp_report report = {0};

	(void)unused;
	assert_int_equal(
	    attest(SP_ROLE_BRIDGE, NULL, SP_LEVEL_FULL, &report), SP_REASON_EVIDENCE_UNAVAILABLE);
	(void)json_object_set_new(broken, "more", json_true());
	assert_int_equal(
	    attest(SP_ROLE_BRIDGE, broken, SP_LEVEL_FULL, &report), SP_REASON_EVIDENCE_UNAVAILABLE);
	assert_int_equal(report.count, 2);
	assert_string_equal(report.checks[1].name, "bridge-evidence");
	sp_report_done(&report);
}

static void inspection_needs_no_connection(void **unused)
{
	struct sp_report report = {0};

	(void)unused;
	assert_int_equal(
	    sp_attest_inspect(SP_ROLE_VMM, vmm, sp_level_probe(), &report), SP_REASON_NONE);
	for (unsigned i = 0; i < report.count; i++)
		assert_null(strstr(report.checks[i].name, "peer"));
	sp_report_done(&report);
}

static void a_connection_that_nobody_accepts_proves_nothing(void **unused)
{
	struct sp_attestation *first = NULL, *waiting = NULL;
	struct sp_report report = {0};
	char byte;

	(void)unused;
	assert_int_equal(
	    sp_attest_open(SP_ROLE_BRIDGE, bridge, sp_level_probe(), NULL, &first), SP_REASON_NONE);
	/* The server serves one at a time: once it has greeted the first, the second waits. */
	assert_int_equal(sp_read_exact(sp_attest_fd(first), &byte, 1, 5000), 0);
	assert_int_equal(sp_attest_open(SP_ROLE_BRIDGE, bridge, sp_level_probe(), NULL, &waiting),
	    SP_REASON_NONE);
	assert_int_equal(sp_attest_accepted(waiting, &report), SP_REASON_LISTENER_REPLACED);
	assert_string_equal(report.checks[0].name, "bridge-peer-socket");
	sp_report_done(&report);
	assert_false(sp_attest_ended(waiting));
	sp_attest_close(first);
	assert_int_equal(sp_read_exact(sp_attest_fd(waiting), &byte, 1, 5000), 0);
	assert_int_equal(sp_attest_accepted(waiting, NULL), SP_REASON_NONE);
	sp_attest_close(waiting);
}

static void a_connection_that_has_ended_is_no_denial(void **unused)
{
	struct sp_attestation *made = NULL;
	struct sp_report report = {0};
	char byte;

	(void)unused;
	assert_int_equal(
	    sp_attest_open(SP_ROLE_BRIDGE, bridge, sp_level_probe(), NULL, &made), SP_REASON_NONE);
	assert_int_equal(sp_read_exact(sp_attest_fd(made), &byte, 1, 5000), 0);
	assert_false(sp_attest_ended(made));
	/* The server closes its end once we have ended ours. */
	assert_int_equal(shutdown(sp_attest_fd(made), SHUT_WR), 0);
	assert_int_equal(sp_read_exact(sp_attest_fd(made), &byte, 1, 5000), SP_E_CLOSED);
	assert_true(sp_attest_ended(made));
	assert_int_equal(sp_attest_accepted(made, &report), SP_REASON_EVIDENCE_UNAVAILABLE);
	assert_string_equal(report.checks[0].seen, "the connection has ended");
	sp_report_done(&report);
	sp_attest_close(made);
}

static void a_full_backlog_is_busy_not_denied(void **unused)
{
	struct sp_attestation *made[BACKLOG * 2] = {NULL};
	enum sp_reason reason = SP_REASON_NONE;
	unsigned n = 0;

	(void)unused;
	/* The queue takes one more than its length; one has been accepted out of it. */
	for (; n < SP_COUNT(made) && reason == SP_REASON_NONE; n++) {
		reason = sp_attest_open(SP_ROLE_BRIDGE, bridge, sp_level_probe(), NULL, &made[n]);
		if (!made[n])
			break;
	}
	assert_int_equal(reason, SP_REASON_NONE);
	assert_in_range(n, BACKLOG, BACKLOG + 2);
	assert_int_equal(sp_attest_fd(NULL), -1);
	assert_int_equal(sp_attest_alive(NULL, NULL), SP_REASON_EVIDENCE_UNAVAILABLE);
	while (n-- > 0)
		sp_attest_close(made[n]);
}

static void clients_are_judged_by_uid_and_executable(void **unused)
{
	const uid_t own = geteuid(), other = own + 1, both[] = {other, own};
	char self[64];
	int pair[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	(void)snprintf(self, sizeof(self), "/proc/%d/exe", (int)getpid());
	assert_int_equal(sp_attest_client(pair[0], both, 2, self, NULL), SP_REASON_NONE);
	assert_int_equal(
	    sp_attest_client(pair[0], &other, 1, self, NULL), SP_REASON_PEER_CREDENTIALS);
	assert_int_equal(
	    sp_attest_client(pair[0], NULL, 0, self, NULL), SP_REASON_PEER_CREDENTIALS);
	assert_int_equal(
	    sp_attest_client(pair[0], &own, 1, "/bin/true", NULL), SP_REASON_BRIDGE_EXECUTABLE);
	assert_int_equal(sp_attest_client(pair[0], &own, 1, "/nonexistent", NULL),
	    SP_REASON_EVIDENCE_UNAVAILABLE);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void reports_are_json_and_words(void **unused)
{
	struct sp_report report = {0};
	char words[128];

	(void)unused;
	sp_report_add(&report, "a", SP_REASON_NONE, "x\n", "\xff", 1);
	sp_report_words(&report, words, sizeof(words));
	assert_string_equal(words, "");
	sp_report_add(&report, "guest-hello", SP_REASON_GUEST_IDENTITY, "e", "s", 1);
	sp_report_words(&report, words, sizeof(words));
	assert_string_equal(words, "guest-identity: guest-hello: expected e, seen s");
	sp_auto_json json_t *json =
	    sp_report_json(&report, SP_REASON_GUEST_IDENTITY, SP_LEVEL_FULL);
	sp_auto_free char *text = sp_json_text(json);
	assert_string_equal(text,
	    "{\"decision\":\"deny\",\"reason\":\"guest-identity\",\"level\":\"full\",\"checks\":["
	    "{\"name\":\"a\",\"ok\":true,\"expected\":\"x?\",\"seen\":\"?\"},"
	    "{\"name\":\"guest-hello\",\"ok\":false,\"expected\":\"e\",\"seen\":\"s\"}]}");
	sp_report_done(&report);
	sp_auto_json json_t *match = sp_report_json(&report, SP_REASON_NONE, SP_LEVEL_PIDFD);
	sp_auto_free char *short_text = sp_json_text(match);
	assert_string_equal(
	    short_text, "{\"decision\":\"match\",\"level\":\"pidfd\",\"checks\":[]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_honest_process_passes_every_row),
	    cmocka_unit_test(each_changed_value_fails_at_its_row),
	    cmocka_unit_test(a_vmm_fails_with_its_own_reasons),
	    cmocka_unit_test(other_bytes_under_a_moved_tuple_are_refused),
	    cmocka_unit_test(a_level_below_the_minimum_is_refused),
	    cmocka_unit_test(no_or_broken_evidence_is_unavailable),
	    cmocka_unit_test(inspection_needs_no_connection),
	    cmocka_unit_test(a_connection_that_nobody_accepts_proves_nothing),
	    cmocka_unit_test(a_connection_that_has_ended_is_no_denial),
	    cmocka_unit_test(a_full_backlog_is_busy_not_denied),
	    cmocka_unit_test(clients_are_judged_by_uid_and_executable),
	    cmocka_unit_test(reports_are_json_and_words),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
