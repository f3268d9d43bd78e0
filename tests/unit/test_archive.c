/* Archives in memory: what was packed comes back, and nothing over the limits or outside the rules
 * does. Archives that only another program would write are tried in
 * tests/bats/spacecap-bundle.bats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/archive.h"
#include "base/util.h"

static struct sp_archive_member member(const char *name, const char *data)
{
	return (struct sp_archive_member){
	    (char *)(uintptr_t)name, (char *)(uintptr_t)data, strlen(data)};
}

static char *pack(
    const struct sp_archive_member *members, size_t count, enum sp_archive_kind kind, size_t *size)
{
	char *data = NULL;
	struct sp_err err = {0};

	if (sp_archive_pack(members, count, kind, 1796000000, &data, size, &err) < 0)
		fail_msg("%s", err.message);
	return data;
}

static const struct sp_archive_limits WIDE = {.bytes = 1u << 20, .members = 16};

static void what_is_packed_comes_back(void **state)
{
	char binary[3000];
	struct sp_archive_member members[] = {member("a", "one"), member("dir/b", ""),
	    {(char *)(uintptr_t) "d/c", binary, sizeof(binary)}};

	(void)state;
	for (size_t i = 0; i < sizeof(binary); i++)
		binary[i] = (char)i;
	for (enum sp_archive_kind kind = SP_ARCHIVE_TAR; kind <= SP_ARCHIVE_TAR_ZSTD; kind++) {
		struct sp_archive archive;
		size_t size;
		sp_auto_free char *data = pack(members, 3, kind, &size);
		assert_int_equal(sp_archive_unpack(data, size, &WIDE, &archive, NULL), 0);
		assert_int_equal(archive.count, 3);
		for (size_t i = 0; i < archive.count; i++) {
			const struct sp_archive_member *found =
			    sp_archive_find(&archive, members[i].name);
			assert_non_null(found);
			assert_int_equal(found->size, members[i].size);
			assert_memory_equal(found->data, members[i].data, found->size);
			assert_int_equal(found->data[found->size], 0);
		}
		assert_null(sp_archive_find(&archive, "b"));
		sp_archive_done(&archive);
		assert_int_equal(archive.count, 0);
	}
}

static void the_same_members_give_the_same_bytes(void **state)
{
	struct sp_archive_member members[] = {member("a", "one"), member("b", "two")};
	size_t first_size, second_size;

	(void)state;
	sp_auto_free char *first = pack(members, 2, SP_ARCHIVE_TAR_ZSTD, &first_size);
	sp_auto_free char *second = pack(members, 2, SP_ARCHIVE_TAR_ZSTD, &second_size);
	assert_int_equal(first_size, second_size);
	assert_memory_equal(first, second, first_size);
}

static void only_plain_relative_names_are_names(void **state)
{
	static const struct {
		const char *name;
		bool valid;
	} rows[] = {
	    {"a", true},
	    {"a/b", true},
	    {".hidden", true},
	    {"..a", true},
	    {"a..", true},
	    {"ü", false},
	    {"a b", true},
	    {"", false},
	    {"/a", false},
	    {"a/", false},
	    {"a//b", false},
	    {".", false},
	    {"..", false},
	    {"a/../b", false},
	    {"../a", false},
	    {"a/..", false},
	    {"./a", false},
	    {"a\nb", false},
	    {"a\x7f", false},
	    {"\xff", false},
	    {"a\x1b[2J", false},
	};
	char longest[SP_ARCHIVE_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		assert_int_equal(sp_archive_name_valid(rows[i].name), rows[i].valid);
	memset(longest, 'a', sizeof(longest));
	longest[SP_ARCHIVE_NAME_MAX + 1] = '\0';
	assert_false(sp_archive_name_valid(longest));
	longest[SP_ARCHIVE_NAME_MAX] = '\0';
	assert_true(sp_archive_name_valid(longest));
}

static void a_name_that_would_not_unpack_is_not_packed(void **state)
{
	struct sp_archive_member members[] = {member("../a", "one")};
	char *data = NULL;
	size_t size;

	(void)state;
	assert_int_equal(
	    sp_archive_pack(members, 1, SP_ARCHIVE_TAR, 0, &data, &size, NULL), SP_E_BAD_ARCHIVE);
	assert_null(data);
}

static int unpack(
    const char *data, size_t size, const struct sp_archive_limits *limits, struct sp_err *err)
{
	struct sp_archive archive;
	int bad = sp_archive_unpack(data, size, limits, &archive, err);

	if (!bad)
		sp_archive_done(&archive);
	return bad;
}

static bool starts_with_a(const char *name, void *context)
{
	(*(unsigned *)context)++;
	return name[0] == 'a';
}

static void limits_are_exact(void **state)
{
	struct sp_archive_member members[] = {
	    member("a", "one"), member("ab", "four"), member("abc", "x")};
	static const char *const all[] = {"abc", "ab", "a", NULL}, *const some[] = {
								       "a", "ab", NULL};
	unsigned asked = 0;
	const struct {
		struct sp_archive_limits limits;
		int result;
		const char *words;
	} rows[] = {
	    {{.bytes = 8, .members = 3}, 0, NULL},
	    {{.bytes = 7, .members = 3}, SP_E_BAD_ARCHIVE, "larger"},
	    {{.bytes = 8, .members = 2}, SP_E_BAD_ARCHIVE, "more than 2"},
	    {{.bytes = 8, .members = 3, .names = all}, 0, NULL},
	    {{.bytes = 8, .members = 3, .names = some}, SP_E_BAD_ARCHIVE, "unknown member `abc`"},
	    {{.bytes = 8, .members = 3, .allowed = starts_with_a, .context = &asked}, 0, NULL},
	};
	size_t size;
	sp_auto_free char *data = pack(members, 3, SP_ARCHIVE_TAR_ZSTD, &size);

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_err err = {0};
		assert_int_equal(unpack(data, size, &rows[i].limits, &err), rows[i].result);
		if (rows[i].words)
			assert_non_null(strstr(err.message, rows[i].words));
	}
	assert_int_equal(asked, 3);
}

static void a_member_that_is_in_it_twice_is_refused(void **state)
{
	struct sp_archive_member members[] = {member("a", "one"), member("a", "two")};
	struct sp_err err = {0};
	size_t size;
	sp_auto_free char *data = pack(members, 2, SP_ARCHIVE_TAR, &size);

	(void)state;
	assert_int_equal(unpack(data, size, &WIDE, &err), SP_E_BAD_ARCHIVE);
	assert_non_null(strstr(err.message, "twice"));
}

/* A small file that unpacks to a hundred times its size stops at the limit. */
static void a_bomb_stops_at_the_limit(void **state)
{
	size_t zeros = 64u << 20, size;
	sp_auto_free char *content = calloc(1, zeros);
	struct sp_archive_member members[] = {{(char *)(uintptr_t) "a", content, zeros}};
	sp_auto_free char *data = pack(members, 1, SP_ARCHIVE_TAR_ZSTD, &size);
	struct sp_err err = {0};

	(void)state;
	assert_true(size < zeros / 100);
	assert_int_equal(unpack(data, size, &WIDE, &err), SP_E_BAD_ARCHIVE);
	assert_non_null(strstr(err.message, "larger"));
}

/* Every shorter archive is refused, or, cut behind its last member, has just these members. */
static void an_archive_cut_anywhere_never_gives_half_a_member(void **state)
{
	struct sp_archive_member members[] = {member("a", "one"), member("b", "two")};
	size_t size;
	sp_auto_free char *data = pack(members, 2, SP_ARCHIVE_TAR_ZSTD, &size);
	unsigned refused = 0;

	(void)state;
	for (size_t length = 0; length < size; length++) {
		struct sp_archive archive;
		if (sp_archive_unpack(data, length, &WIDE, &archive, NULL) < 0) {
			refused++;
			continue;
		}
		for (size_t i = 0; i < archive.count; i++)
			assert_int_equal(archive.members[i].size, 3);
		sp_archive_done(&archive);
	}
	assert_true(refused > 10);
}

static void noise_is_no_archive(void **state)
{
	static const struct {
		const char *data;
		size_t size;
	} rows[] = {{"", 0}, {"x", 1}, {"{\"version\":1}", 13}, {"\x28\xb5\x2f\xfd", 4},
	    {"PK\x03\x04zip", 7}};
	char zeros[2048] = {0};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		assert_int_equal(unpack(rows[i].data, rows[i].size, &WIDE, NULL), SP_E_BAD_ARCHIVE);
	assert_int_equal(unpack(zeros, sizeof(zeros), &WIDE, NULL), SP_E_BAD_ARCHIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_packed_comes_back),
	    cmocka_unit_test(the_same_members_give_the_same_bytes),
	    cmocka_unit_test(only_plain_relative_names_are_names),
	    cmocka_unit_test(a_name_that_would_not_unpack_is_not_packed),
	    cmocka_unit_test(limits_are_exact),
	    cmocka_unit_test(a_member_that_is_in_it_twice_is_refused),
	    cmocka_unit_test(a_bomb_stops_at_the_limit),
	    cmocka_unit_test(an_archive_cut_anywhere_never_gives_half_a_member),
	    cmocka_unit_test(noise_is_no_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
