/* However often a process is enrolled, attested and refused, no descriptor and no memory is kept.
 * LONG=1: 100,000 times. */
#include <dirent.h>
#include <malloc.h>
#include "listener_fixture.h"
#include "base/util.h"
#include "record/json.h"

#define COUNT         2000 /* of attestations that succeed */
#define LONG_COUNT    100000
#define PROVEN        2     /* of them in a round */
#define CACHED        16384 /* bytes that malloc counts as in use, ready for the next time */
#define TOUCHED       64    /* pages of programs that were not needed before */
#define NOW_AND_AGAIN 10    /* rounds between those that cost more */

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1 /* it keeps what is freed for a while */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifndef WITH_ASAN
#define WITH_ASAN 0
#endif

struct held {
	unsigned descriptors;
	size_t heap; /* bytes in use */
	long pages;  /* resident */
};

static unsigned count_descriptors(void)
{
	DIR *all = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(all))
		count++;
	(void)closedir(all);
	return count;
}

static long count_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long size = 0, resident = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
	(void)fclose(file);
	return resident;
}

static struct held count_held(void)
{
	return (struct held){count_descriptors(), mallinfo2().uordblks, count_pages()};
}

static json_t *with(const json_t *evidence, const char *object, const char *field, const char *text)
{
	json_t *copy = json_deep_copy(evidence);

	assert_int_equal(
	    json_object_set_new(json_object_get(copy, object), field, json_string(text)), 0);
	return copy;
}

static void be_refused(const json_t *evidence, enum sp_reason reason)
{
	struct sp_report report = {0};

	assert_int_equal(attest(SP_ROLE_VMM, evidence, sp_level_probe(), &report), reason);
	sp_report_done(&report);
}

/* What is asked less often: enrolling, looking without a connection, the API socket, a client. */
static void ask_the_rest(void)
{
	const uid_t own = geteuid();
	int pair[2];

	json_decref(enroll(SP_ROLE_VMM));
	assert_int_equal(
	    sp_attest_inspect(SP_ROLE_BRIDGE, bridge, sp_level_probe(), NULL), SP_REASON_NONE);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(
	    sp_attest_client(pair[0], &own, 1, "/proc/self/exe", NULL), SP_REASON_NONE);
	assert_int_equal(
	    sp_attest_client(pair[0], &own, 1, "/bin/true", NULL), SP_REASON_BRIDGE_EXECUTABLE);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void one_round(const json_t *early, const json_t *late)
{
	struct sp_report report = {0};

	assert_int_equal(attest(SP_ROLE_BRIDGE, bridge, sp_level_probe(), NULL), SP_REASON_NONE);
	assert_int_equal(attest(SP_ROLE_VMM, vmm, sp_level_probe(), &report), SP_REASON_NONE);
	sp_report_done(&report);
	be_refused(early, SP_REASON_LISTENER_REPLACED);
	be_refused(late, SP_REASON_LISTENER_OWNER);
}

static void nothing_is_kept(void **unused)
{
	long rounds = (getenv("LONG") ? LONG_COUNT : COUNT) / PROVEN;
	sp_auto_json json_t *early = with(vmm, "listener", "path", "/nonexistent");
	sp_auto_json json_t *late = with(vmm, "listener", "cookie", "1");
	struct held before = {0}, after;

	(void)unused;
	for (long i = 0; i < rounds; i++) {
		if (i == rounds / 10)
			before = count_held();
		one_round(early, late);
		if (i % NOW_AND_AGAIN == 0)
			ask_the_rest();
	}
	after = count_held();
	/* Sockets are made 16 at a time. */
	assert_in_range(after.descriptors, 0, before.descriptors + 16);
	if (WITH_ASAN)
		return;
	assert_in_range(after.heap, 0, before.heap + CACHED);
	assert_in_range(after.pages, 0, before.pages + TOUCHED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_kept)};

	return cmocka_run_group_tests(tests, start, finish);
}
