/* Evidence is closed: what is written is read back, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/sysmacros.h>
#include "attest/config.h"
#include "attest/evidence.h"
#include "base/limits.h"
#include "base/util.h"
#include "record/json.h"

static struct sp_evidence sample(void)
{
	struct sp_evidence evidence = {.boot_id = "0b9f1c2d-0000-4000-8000-0123456789ab",
	    .pid = 4711,
	    .pidfs = UINT64_MAX,
	    .start_time = 12345,
	    .start_stack = 0x7ffd00000010,
	    .uid = 1000,
	    .gid = 0,
	    .namespaces = {4026531840, 4026531841, 4026531836, 4026531837},
	    .cgroup = "/system.slice/x.service",
	    .executable = {makedev(254, 0), 1ull << 60, 123, {1700000000, 5}, {-3, 999999999}},
	    .executable_path = "/usr/bin/firecracker (deleted)",
	    .listener = {"/run/v.sock", makedev(0, 25), 77, 0, 0660, 8112, 3, 25, 77, 5},
	    .cid = 3,
	    .uds_path = "v.sock",
	    .api = {"/run/a.sock", makedev(0, 25), 78, 0, 0600, 8113, 4, 25, 78, 6}};

	for (unsigned i = 0; i < sizeof(evidence.hash); i++)
		evidence.hash[i] = (uint8_t)(i * 9);
	return evidence;
}

static json_t *sample_json(enum sp_role role)
{
	struct sp_evidence evidence = sample();
	json_t *object = sp_evidence_json(role, &evidence);

	assert_non_null(object);
	return object;
}

static void what_is_written_is_read_back(void **unused)
{
	(void)unused;
	for (enum sp_role role = SP_ROLE_BRIDGE; role <= SP_ROLE_VMM; role++) {
		struct sp_evidence evidence;
		sp_auto_json json_t *object = sample_json(role);
		assert_int_equal(sp_evidence_parse(role, object, &evidence, NULL), 0);
		sp_auto_json json_t *again = sp_evidence_json(role, &evidence);
		assert_true(json_equal(object, again));
		assert_true(json_dumpb(object, NULL, 0, 0) <= SP_EVIDENCE_MAX);
	}
}

static void values_survive_beyond_2_to_53(void **unused)
{
	sp_auto_json json_t *object = sample_json(SP_ROLE_VMM);
	struct sp_evidence evidence, expected = sample();

	(void)unused;
	assert_int_equal(sp_evidence_parse(SP_ROLE_VMM, object, &evidence, NULL), 0);
	assert_true(evidence.pidfs == expected.pidfs);
	assert_true(sp_executable_equal(&evidence.executable, &expected.executable));
	assert_memory_equal(evidence.hash, expected.hash, sizeof(evidence.hash));
	assert_true(evidence.listener.dev == expected.listener.dev);
	assert_int_equal(evidence.listener.mode, 0660);
	assert_int_equal(evidence.api.fd, 6);
}

static void only_pidfs_and_api_may_be_absent(void **unused)
{
	sp_auto_json json_t *whole = sample_json(SP_ROLE_VMM);
	struct sp_evidence evidence;
	const char *key;
	json_t *value;

	(void)unused;
	json_object_foreach(whole, key, value)
	{
		sp_auto_json json_t *some = json_copy(whole);
		bool optional = strcmp(key, "pidfs") == 0 || strcmp(key, "api") == 0;
		assert_int_equal(json_object_del(some, key), 0);
		assert_int_equal(sp_evidence_parse(SP_ROLE_VMM, some, &evidence, NULL),
		    optional ? 0 : SP_E_BAD_RECORD);
		if (!optional)
			continue;
		assert_true(strcmp(key, "api") ? evidence.pidfs == 0 : !evidence.api.path);
		sp_auto_json json_t *again = sp_evidence_json(SP_ROLE_VMM, &evidence);
		assert_true(json_equal(some, again));
	}
}

static void every_inner_field_is_required(void **unused)
{
	static const char *const inner[] = {"namespaces", "executable", "listener", "api"};
	struct sp_evidence evidence;
	const char *key;
	json_t *value;

	(void)unused;
	for (size_t i = 0; i < SP_COUNT(inner); i++) {
		sp_auto_json json_t *whole = sample_json(SP_ROLE_VMM);
		json_object_foreach(json_object_get(whole, inner[i]), key, value)
		{
			sp_auto_json json_t *some = json_deep_copy(whole);
			assert_int_equal(json_object_del(json_object_get(some, inner[i]), key), 0);
			assert_int_equal(
			    sp_evidence_parse(SP_ROLE_VMM, some, &evidence, NULL), SP_E_BAD_RECORD);
		}
	}
}

static const struct {
	const char *object, *field, *value; /* `object` NULL: the outer one */
} BAD[] = {
    {NULL, "other", "1"},
    {NULL, "boot_id", "\"x\""},
    {NULL, "pid", "0"},
    {NULL, "pid", "-1"},
    {NULL, "pid", "\"4711\""},
    {NULL, "pid", "4294967296"},
    {NULL, "pidfs", "\"0\""},
    {NULL, "pidfs", "\"01\""},
    {NULL, "pidfs", "\"18446744073709551616\""},
    {NULL, "pidfs", "\"+1\""},
    {NULL, "pidfs", "12"},
    {NULL, "start_time", "\"0\""},
    {NULL, "start_stack", "\"0\""},
    {NULL, "start_stack", "\"0x7f\""},
    {NULL, "start_stack", "\"\""},
    {NULL, "uid", "-1"},
    {NULL, "uid", "4294967296"},
    {NULL, "cgroup", "\"x\""},
    {NULL, "namespaces", "[]"},
    {NULL, "cid", "2"},
    {NULL, "cid", "4294967299"},
    {NULL, "uds_path", "\"\""},
    {NULL, "api", "null"},
    {"executable", "dev", "\"254\""},
    {"executable", "dev", "\"254:\""},
    {"executable", "dev", "\"254:0:1\""},
    {"executable", "dev", "\"99999999999:0\""},
    {"executable", "size", "-1"},
    {"executable", "mtime", "\"1.5\""},
    {"executable", "mtime", "\"-0.000000000\""},
    {"executable", "mtime", "\"1.00000000x\""},
    {"executable", "mtime", "\".000000000\""},
    {"executable", "blake2b", "\"00\""},
    {"executable", "blake2b",
	"\"AA00000000000000000000000000000000000000000000000000000000000000\""},
    {"executable", "path", "\"\""},
    {"executable", "other", "1"},
    {"listener", "path", "\"run/v.sock\""},
    {"listener", "mode", "\"660\""},
    {"listener", "mode", "\"0680\""},
    {"listener", "socket", "0"},
    {"listener", "cookie", "\"0\""},
    {"listener", "fd", "-1"},
    {"api", "socket", "0"},
    {"api", "other", "1"},
    {"namespaces", "net", "-1"},
    {"namespaces", "other", "1"},
};

static void other_forms_are_refused(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < SP_COUNT(BAD); i++) {
		sp_auto_json json_t *object = sample_json(SP_ROLE_VMM);
		json_t *at = BAD[i].object ? json_object_get(object, BAD[i].object) : object;
		struct sp_evidence evidence = {.pid = 1};
		struct sp_err err = {0};
		assert_int_equal(json_object_set_new(at, BAD[i].field,
				     json_loads(BAD[i].value, JSON_DECODE_ANY, NULL)),
		    0);
		if (sp_evidence_parse(SP_ROLE_VMM, object, &evidence, &err) != SP_E_BAD_RECORD)
			fail_msg("%s.%s = %s is taken", BAD[i].object ? BAD[i].object : "",
			    BAD[i].field, BAD[i].value);
		assert_int_equal(evidence.pid, 1);
		assert_string_not_equal(err.message, "");
	}
}

static void a_bridge_has_no_guest(void **unused)
{
	sp_auto_json json_t *vmm = sample_json(SP_ROLE_VMM);
	sp_auto_json json_t *bridge = sample_json(SP_ROLE_BRIDGE);
	struct sp_evidence evidence;

	(void)unused;
	assert_int_equal(sp_evidence_parse(SP_ROLE_BRIDGE, vmm, &evidence, NULL), SP_E_BAD_RECORD);
	assert_int_equal(sp_evidence_parse(SP_ROLE_VMM, bridge, &evidence, NULL), SP_E_BAD_RECORD);
}

#define HEAD "HTTP/1.1 200 OK\r\nServer: Firecracker API\r\nContent-Length: "

static const struct {
	const char *answer;
	int code;
} CONFIGS[] = {
    {HEAD "51\r\n\r\n{\"vsock\":{\"guest_cid\":42,\"uds_path\":\"/run/v.sock\"}}", 0},
    {"HTTP/1.1 200 OK\r\ncontent-length:51\r\n\r\n"
     "{\"vsock\":{\"guest_cid\":42,\"uds_path\":\"/run/v.sock\"}}",
	0},
    {HEAD "51\r\n\r\n{\"vsock\":{\"guest_cid\":42", -EAGAIN},
    {HEAD "51\r\n", -EAGAIN},
    {"", -EAGAIN},
    {HEAD "10\r\n\r\n{\"vsock\":{\"guest_cid\":42,\"uds_path\":\"/run/v.sock\"}}", SP_E_BAD_RECORD},
    {HEAD "99999999\r\n\r\n", SP_E_BAD_RECORD},
    {HEAD "x\r\n\r\n", SP_E_BAD_RECORD},
    {"HTTP/1.1 200 OK\r\n\r\n{}", SP_E_BAD_RECORD},
    {"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}", SP_E_BAD_RECORD},
    {HEAD "2\r\n\r\n{}", SP_E_BAD_RECORD},
    {HEAD "51\r\n\r\n{\"vsock\":{\"guest_cid\":02,\"uds_path\":\"/run/v.sock\"}}", SP_E_BAD_RECORD},
    {HEAD "50\r\n\r\n{\"vsock\":{\"guest_cid\":2,\"uds_path\":\"/run/v.sock\"}}", SP_E_BAD_RECORD},
    {HEAD "40\r\n\r\n{\"vsock\":{\"guest_cid\":42,\"uds_path\":\"\"}}", SP_E_BAD_RECORD},
};

static void a_vmms_answer_is_read_whole_or_not(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < SP_COUNT(CONFIGS); i++) {
		struct sp_vmm_config config = {0};
		int code = sp_vmm_config_parse(
		    CONFIGS[i].answer, strlen(CONFIGS[i].answer), &config, NULL);
		if (code != CONFIGS[i].code)
			fail_msg("answer %zu: %d", i, code);
		if (code)
			continue;
		assert_int_equal(config.cid, 42);
		assert_string_equal(config.uds_path, "/run/v.sock");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_is_read_back),
	    cmocka_unit_test(values_survive_beyond_2_to_53),
	    cmocka_unit_test(only_pidfs_and_api_may_be_absent),
	    cmocka_unit_test(every_inner_field_is_required),
	    cmocka_unit_test(other_forms_are_refused),
	    cmocka_unit_test(a_bridge_has_no_guest),
	    cmocka_unit_test(a_vmms_answer_is_read_whole_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
