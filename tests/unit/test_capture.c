/* Captures are judged without a machine: sights in and out of JSON, and the checks on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/sysmacros.h>
#include "attest/capture.h"
#include "attest/evidence.h"
#include "attest/told.h"
#include "base/util.h"
#include "record/json.h"

#define BOOT "0b9f1c2d-0000-4000-8000-0123456789ab"
#define STAT                                                                                       \
	"4711 (a ) R b) S 1 4711 4711 0 -1 4194304 107 0 2 0 0 0 0 0 20 0 1 0 12345 3194880 502 "  \
	"18446744073709551615 1 2 140726999449600 0 0 0 0"

static const struct sp_capture_place PLACE = {SP_LEVEL_FULL, SP_LEVEL_FULL, BOOT};

static struct sp_evidence sample_evidence(void)
{
	return (struct sp_evidence){.boot_id = BOOT,
	    .pid = 4711,
	    .pidfs = UINT64_MAX,
	    .start_time = 12345,
	    .start_stack = 140726999449600,
	    .uid = 1000,
	    .gid = 7,
	    .namespaces = {1, 2, 3, 4},
	    .cgroup = "/x",
	    .executable = {makedev(254, 0), 5, 123, {1700000000, 5}, {-3, 999999999}},
	    .hash = {1, 2, 3},
	    .executable_path = "/usr/bin/x",
	    .listener = {"/run/v.sock", makedev(0, 25), 77, 0, 0660, 8112, 3, 25, 77, 5},
	    .cid = 3,
	    .uds_path = "v.sock"};
}

/* What an honest process of that evidence shows, over a connection too. */
static struct sp_sight sample_sight(void)
{
	struct sp_evidence evidence = sample_evidence();
	struct sp_sight sight;

	memset(&sight, 0, sizeof(sight));
	sp_sight_init(&sight);
	sight.file.code = sight.process.code = sight.start.code = sight.namespaces.code = 0;
	sight.tracer.code = sight.executable.code = sight.bytes.code = sight.listener.code = 0;
	sight.connection.code = sight.credentials.code = sight.peer_process.code = 0;
	sight.own.code = sight.peer.code = sight.held.code = 0;
	sight.file.kind = SP_FILE_SOCKET;
	sight.file.dev = evidence.listener.dev;
	sight.file.ino = 77;
	sight.file.mode = 0660;
	sight.file.links = 1;
	sight.process.pid = sight.credentials.pid = 4711;
	sight.process.pidfs = sight.peer_process.pidfs = UINT64_MAX;
	sight.credentials.uid = 1000;
	sight.credentials.gid = 7;
	sight.namespaces.all = evidence.namespaces;
	sight.executable.tuple = evidence.executable;
	memcpy(sight.bytes.hash, evidence.hash, sizeof(evidence.hash));
	sight.listener.number = 5;
	sight.listener.socket =
	    (struct sp_socket){8112, 3, SP_SOCKET_LISTENING, true, 0, true, 25, 77, true, 0};
	sight.own.inode = 900;
	sight.own.socket =
	    (struct sp_socket){900, 90, SP_SOCKET_ESTABLISHED, true, 901, false, 0, 0, true, 0};
	sight.peer.socket =
	    (struct sp_socket){901, 91, SP_SOCKET_ESTABLISHED, true, 900, true, 25, 77, true, 1000};
	sight.held.number = 12;
	return sight;
}

/* Judges a sight by the sample's evidence: the reason, and the check that failed in `failed`. */
static enum sp_reason judge_at(const struct sp_sight *sight, const struct sp_capture_place *place,
    char failed[64], unsigned *ret_count)
{
	struct sp_evidence evidence = sample_evidence();
	sp_auto_json json_t *object = sp_evidence_json(SP_ROLE_VMM, &evidence);
	sp_auto_json json_t *seen = sp_sight_json(sight);
	struct sp_report report = {0};
	enum sp_reason reason = SP_REASON_COUNT;

	assert_int_equal(
	    sp_capture_judge(SP_ROLE_VMM, object, seen, STAT, place, &report, &reason, NULL), 0);
	assert_true(report.count > 0);
	(void)snprintf(failed, 64, "%s",
	    report.checks[report.count - 1].ok ? "" : report.checks[report.count - 1].name);
	*ret_count = report.count;
	sp_report_done(&report);
	return reason;
}

static void assert_judged(const struct sp_sight *sight, const char *check, enum sp_reason reason)
{
	char failed[64];
	unsigned count;

	assert_int_equal(judge_at(sight, &PLACE, failed, &count), reason);
	assert_string_equal(failed, check);
}

static void a_sight_is_read_back_as_it_was_written(void **unused)
{
	struct sp_sight sight = sample_sight(), again;
	sp_auto_json json_t *object = sp_sight_json(&sight);

	(void)unused;
	assert_int_equal(sp_sight_parse(object, &again, NULL), 0);
	sp_auto_json json_t *twice = sp_sight_json(&again);
	assert_true(json_equal(object, twice));
	assert_true(again.process.pidfs == UINT64_MAX);
	assert_int_equal(again.peer.socket.uid, 1000);
	assert_int_equal(again.alive.code, SP_UNSEEN);
	assert_int_equal(again.image.code, SP_UNSEEN);
	assert_int_equal(again.level.code, SP_UNSEEN);
}

static void every_error_keeps_what_a_judge_makes_of_it(void **unused)
{
	static const int codes[] = {-ESRCH, -ENOENT, -ENOTDIR, -ELOOP, -EACCES, -EPERM, -ENODATA,
	    -ECONNREFUSED, -EPROTOTYPE, -EPROTO, -E2BIG};
	struct sp_sight sight = sample_sight(), again;

	(void)unused;
	for (size_t i = 0; i < SP_COUNT(codes); i++) {
		sight.file.code = codes[i];
		sp_auto_json json_t *object = sp_sight_json(&sight);
		assert_int_equal(sp_sight_parse(object, &again, NULL), 0);
		assert_int_equal(again.file.code, codes[i]);
	}
	sight.file.code = -EUCLEAN;
	sp_auto_json json_t *object = sp_sight_json(&sight);
	assert_int_equal(sp_sight_parse(object, &again, NULL), 0);
	assert_int_equal(again.file.code, -EIO);
}

static void only_what_needs_a_connection_may_be_absent(void **unused)
{
	struct sp_sight sight = sample_sight();
	sp_auto_json json_t *whole = sp_sight_json(&sight);
	const char *key;
	json_t *value;
	unsigned optional = 0;

	(void)unused;
	json_object_foreach(whole, key, value)
	{
		sp_auto_json json_t *some = json_copy(whole);
		assert_int_equal(json_object_del(some, key), 0);
		optional += sp_sight_parse(some, &sight, NULL) == 0;
		assert_int_equal(json_object_set_new(some, key, json_pack("{si}", "x", 1)), 0);
		assert_int_equal(sp_sight_parse(some, &sight, NULL), SP_E_BAD_RECORD);
		assert_int_equal(
		    json_object_set_new(some, key, json_pack("{ss}", "error", "x")), 0);
		assert_int_equal(sp_sight_parse(some, &sight, NULL), SP_E_BAD_RECORD);
	}
	assert_int_equal(json_object_size(whole), 14);
	assert_int_equal(optional, 6);
}

static void an_honest_process_matches_and_life_is_not_judged(void **unused)
{
	struct sp_sight sight = sample_sight();
	char failed[64];
	unsigned count;

	(void)unused;
	assert_int_equal(judge_at(&sight, &PLACE, failed, &count), SP_REASON_NONE);
	assert_int_equal(count, 14);
	sight.connection.code = sight.credentials.code = sight.peer_process.code = SP_UNSEEN;
	sight.own.code = sight.peer.code = sight.held.code = SP_UNSEEN;
	assert_int_equal(judge_at(&sight, &PLACE, failed, &count), SP_REASON_NONE);
	assert_int_equal(count, 9);
}

#define WRONG(change, check, reason)                                                               \
	do {                                                                                       \
		struct sp_sight sight = sample_sight();                                            \
		change;                                                                            \
		assert_judged(&sight, check, SP_REASON_##reason);                                  \
	} while (0)

static void each_fact_that_differs_fails_at_its_own_check(void **unused)
{
	(void)unused;
	WRONG(sight.file.links = 2, "vmm-path", LISTENER_REPLACED);
	WRONG(sight.file.kind = SP_FILE_SYMLINK, "vmm-path", LISTENER_REPLACED);
	WRONG(sight.file.code = -ELOOP, "vmm-path", LISTENER_REPLACED);
	WRONG(sight.file.code = -EACCES, "vmm-path", EVIDENCE_UNAVAILABLE);
	WRONG(sight.connection.code = -ECONNREFUSED, "vmm-connect", LISTENER_REPLACED);
	WRONG(sight.credentials.gid++, "vmm-peer-credentials", PEER_CREDENTIALS);
	WRONG(sight.credentials.pid = 0, "vmm-peer-credentials", EVIDENCE_UNAVAILABLE);
	WRONG(sight.peer_process.pidfs--, "vmm-peer-process", VMM_PROCESS);
	WRONG(sight.process.pid++, "vmm-process", VMM_PROCESS);
	WRONG(sight.process.pidfs--, "vmm-process", VMM_PROCESS);
	WRONG(sight.process.code = -ENODATA, "vmm-process", EVIDENCE_UNAVAILABLE);
	WRONG(sight.start.code = -ESRCH, "vmm-start", VMM_PROCESS);
	WRONG(sight.namespaces.all.user++, "vmm-namespaces", VMM_PROCESS);
	WRONG(sight.tracer.pid = 1, "vmm-tracer", VMM_PROCESS);
	WRONG(sight.tracer.code = -E2BIG, "vmm-tracer", EVIDENCE_UNAVAILABLE);
	WRONG(sight.executable.tuple.ino++, "vmm-executable", VMM_EXECUTABLE);
	WRONG(sight.executable.tuple.size++, "vmm-executable", VMM_EXECUTABLE);
	WRONG(sight.own.ended = true, "vmm-peer-socket", EVIDENCE_UNAVAILABLE);
	WRONG(sight.own.socket.peer = 0, "vmm-peer-socket", LISTENER_REPLACED);
	WRONG(sight.peer.socket.peer++, "vmm-peer-socket", LISTENER_REPLACED);
	WRONG(sight.peer.socket.has_uid = false, "vmm-peer-socket", LISTENER_REPLACED);
	WRONG(sight.peer.code = SP_UNSEEN, "vmm-peer-socket", EVIDENCE_UNAVAILABLE);
	WRONG(sight.held.code = -ENOENT, "vmm-peer-held", LISTENER_OWNER);
	WRONG(sight.listener.code = -ENOENT, "vmm-listener", LISTENER_OWNER);
	WRONG(sight.listener.socket.cookie++, "vmm-listener", LISTENER_OWNER);
	WRONG(sight.listener.socket.state = SP_SOCKET_OTHER, "vmm-listener", LISTENER_OWNER);
}

static void the_bytes_decide_when_only_times_moved(void **unused)
{
	(void)unused;
	WRONG(sight.executable.tuple.mtime.nanoseconds++, "", NONE);
	WRONG(sight.executable.tuple.ctime.seconds++;
	      sight.bytes.hash[0]++, "vmm-executable", VMM_EXECUTABLE);
	WRONG(sight.executable.tuple.ctime.seconds++;
	      sight.bytes.code = -EACCES, "vmm-executable", EVIDENCE_UNAVAILABLE);
	WRONG(sight.bytes.code = -EACCES, "", NONE);
}

static void level_and_boot_are_those_of_the_place(void **unused)
{
	struct sp_sight sight = sample_sight();
	struct sp_capture_place place = PLACE;
	char failed[64];
	unsigned count;

	(void)unused;
	place.level = SP_LEVEL_PIDFD;
	assert_int_equal(judge_at(&sight, &place, failed, &count), SP_REASON_EVIDENCE_UNAVAILABLE);
	assert_string_equal(failed, "vmm-level");
	place.min_level = SP_LEVEL_NONE;
	assert_int_equal(judge_at(&sight, &place, failed, &count), SP_REASON_EVIDENCE_UNAVAILABLE);
	assert_string_equal(failed, "vmm-level");
	place = PLACE;
	place.boot_id[0] = '1';
	assert_int_equal(judge_at(&sight, &place, failed, &count), SP_REASON_VMM_PROCESS);
	assert_string_equal(failed, "vmm-boot");
	place.boot_id[0] = '\0';
	assert_int_equal(judge_at(&sight, &place, failed, &count), SP_REASON_EVIDENCE_UNAVAILABLE);
}

static void a_capture_without_its_parts_is_bad(void **unused)
{
	static const char *const stats[] = {NULL, "", "4711 (x", "4711 (x) S 1"};
	struct sp_evidence evidence = sample_evidence();
	struct sp_sight sight = sample_sight();
	sp_auto_json json_t *object = sp_evidence_json(SP_ROLE_VMM, &evidence);
	sp_auto_json json_t *seen = sp_sight_json(&sight);
	enum sp_reason reason = SP_REASON_NONE;

	(void)unused;
	for (size_t i = 0; i < SP_COUNT(stats); i++)
		assert_int_equal(sp_capture_judge(SP_ROLE_VMM, object, seen, stats[i], &PLACE, NULL,
				     &reason, NULL),
		    SP_E_BAD_RECORD);
	assert_int_equal(
	    sp_capture_judge(SP_ROLE_VMM, object, NULL, STAT, &PLACE, NULL, &reason, NULL),
	    SP_E_BAD_RECORD);
	/* Without evidence there is nothing to compare with, whatever was seen. */
	assert_int_equal(
	    sp_capture_judge(SP_ROLE_VMM, NULL, NULL, NULL, &PLACE, NULL, &reason, NULL), 0);
	assert_int_equal(reason, SP_REASON_EVIDENCE_UNAVAILABLE);
}

static void a_report_is_read_again(void **unused)
{
	struct sp_report report = {0}, later = {0};
	struct sp_told told;
	char words[256];

	(void)unused;
	sp_report_add(&report, "vmm-level", SP_REASON_NONE, "full", "full", 1);
	sp_report_add(&report, "vmm-alive", SP_REASON_NONE, "alive", "alive", 1);
	sp_report_add(&report, "vmm-alive", SP_REASON_VMM_PROCESS, "alive", "gone", 1);
	sp_auto_json json_t *object = sp_report_json(&report, SP_REASON_VMM_PROCESS, SP_LEVEL_FULL);
	assert_int_equal(sp_told_parse(object, &told, NULL), 0);
	assert_int_equal(told.reason, SP_REASON_VMM_PROCESS);
	sp_told_words(&told, words, sizeof(words));
	assert_string_equal(words, "deny vmm-process: vmm-alive: expected alive, seen gone");
	sp_told_words(&told, words, 8);
	assert_string_equal(words, "deny vm");
	sp_report_add(&later, "vmm-level", SP_REASON_NONE, "full", "full", 1);
	sp_auto_json json_t *others = sp_told_others(&told, &later);
	assert_int_equal(json_array_size(others), 1);
	assert_string_equal(json_string_value(json_array_get(others, 0)), "vmm-alive");
	json_object_del(object, "reason");
	assert_int_equal(sp_told_parse(object, &told, NULL), SP_E_BAD_RECORD);
	sp_report_done(&report);
	sp_report_done(&later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_sight_is_read_back_as_it_was_written),
	    cmocka_unit_test(every_error_keeps_what_a_judge_makes_of_it),
	    cmocka_unit_test(only_what_needs_a_connection_may_be_absent),
	    cmocka_unit_test(an_honest_process_matches_and_life_is_not_judged),
	    cmocka_unit_test(each_fact_that_differs_fails_at_its_own_check),
	    cmocka_unit_test(the_bytes_decide_when_only_times_moved),
	    cmocka_unit_test(level_and_boot_are_those_of_the_place),
	    cmocka_unit_test(a_capture_without_its_parts_is_bad),
	    cmocka_unit_test(a_report_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
