/* Which facilities make which level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "attest/level.h"
#include "base/util.h"

static const struct sp_facilities ALL = {true, true, true, true, true, true, true};

static void each_missing_facility_lowers_the_level(void **unused)
{
	static const struct {
		size_t without;
		enum sp_level level;
		const char *missing;
	} rows[] = {
	    {offsetof(struct sp_facilities, proc), SP_LEVEL_NONE, "/proc of this pid namespace"},
	    {offsetof(struct sp_facilities, pidfd), SP_LEVEL_NONE, "pidfd_open"},
	    {offsetof(struct sp_facilities, peerpidfd), SP_LEVEL_LAUNCH_PIDFD, "SO_PEERPIDFD"},
	    {offsetof(struct sp_facilities, pidfs), SP_LEVEL_PIDFD, "pidfs"},
	    {offsetof(struct sp_facilities, image), SP_LEVEL_NONE, "/proc/<pid>/pagemap"},
	    {offsetof(struct sp_facilities, sockdiag), SP_LEVEL_NONE, "UNIX_DIAG"},
	    {offsetof(struct sp_facilities, cookie), SP_LEVEL_NONE, "SO_COOKIE"},
	};
	char text[256];

	(void)unused;
	assert_int_equal(sp_level_of(&ALL), SP_LEVEL_FULL);
	sp_facilities_missing(&ALL, text, sizeof(text));
	assert_string_equal(text, "");
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_facilities some = ALL;
		*(bool *)((char *)&some + rows[i].without) = false;
		assert_int_equal(sp_level_of(&some), rows[i].level);
		sp_facilities_missing(&some, text, sizeof(text));
		assert_string_equal(text, rows[i].missing);
	}
}

static void an_old_kernel_lacks_both(void **unused)
{
	struct sp_facilities old = ALL;
	char text[256], little[8];

	(void)unused;
	old.peerpidfd = old.pidfs = false;
	assert_int_equal(sp_level_of(&old), SP_LEVEL_LAUNCH_PIDFD);
	sp_facilities_missing(&old, text, sizeof(text));
	assert_string_equal(text, "SO_PEERPIDFD, pidfs");
	sp_facilities_missing(&old, little, sizeof(little));
	assert_string_equal(little, "SO_PEER");
}

static void names_are_read_back(void **unused)
{
	enum sp_level level = SP_LEVEL_NONE;

	(void)unused;
	assert_true(sp_level_parse("full", &level));
	assert_int_equal(level, SP_LEVEL_FULL);
	assert_true(sp_level_parse("pidfd", &level));
	assert_int_equal(level, SP_LEVEL_PIDFD);
	assert_true(sp_level_parse("launch-pidfd", &level));
	assert_int_equal(level, SP_LEVEL_LAUNCH_PIDFD);
	assert_false(sp_level_parse("none", &level));
	assert_false(sp_level_parse("", &level));
	assert_string_equal(sp_level_name(SP_LEVEL_NONE), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_missing_facility_lowers_the_level),
	    cmocka_unit_test(an_old_kernel_lacks_both),
	    cmocka_unit_test(names_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
