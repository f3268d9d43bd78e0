/* The rules of trees: names, targets of symlinks, extended attributes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "guest/tree.h"

static void names_are_made_plain_or_refused(void **state)
{
	static const struct {
		const char *given, *made; /* NULL: refused */
	} cases[] = {
	    {"a", "a"},
	    {"a/b", "a/b"},
	    {"./a", "a"},
	    {"a//b/", "a/b"},
	    {"a/./b/.", "a/b"},
	    {".", "."},
	    {"./", "."},
	    {".//.", "."},
	    {"...", "..."},
	    {"..a/b..", "..a/b.."},
	    {"\xff/\n", "\xff/\n"},
	    {"", NULL},
	    {"/", NULL},
	    {"/a", NULL},
	    {"..", NULL},
	    {"a/..", NULL},
	    {"a/../b", NULL},
	    {"./..", NULL},
	    {"a//..//b", NULL},
	};
	char name[PATH_MAX], longest[PATH_MAX + 1];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		int bad = sp_tree_name(cases[i].given, name);
		if (bad != (cases[i].made ? 0 : -EINVAL) ||
		    (!bad && strcmp(name, cases[i].made) != 0))
			fail_msg("%s: %d, %s", cases[i].given, bad, name);
	}
	memset(longest, 'x', sizeof(longest));
	longest[PATH_MAX] = '\0';
	assert_int_equal(sp_tree_name(longest, name), -ENAMETOOLONG);
	assert_int_equal(sp_tree_name(longest + 1, name), 0);
	assert_string_equal(name, longest + 1);
}

static void targets_stay_inside(void **state)
{
	static const struct {
		const char *name, *target;
		bool may;
	} cases[] = {
	    {"a", "b", true},
	    {"a", "b/c/d", true},
	    {"a", ".", true},
	    {"d/a", "..", true},
	    {"d/a", "../b", true},
	    {"d/e/a", "../../b", true},
	    {"d/a", "./../b", true},
	    {"d/a", ".././b", true},
	    {"a", "..b", true},
	    {"a", "", false},
	    {"a", "/", false},
	    {"a", "/b", false},
	    {"a", "..", false},
	    {"a", "../b", false},
	    {"d/a", "../..", false},
	    {"d/a", "../../b", false},
	    {"d/e/a", "b/..", false},
	    {"d/e/a", "../b/../c", false},
	    {"d/e/a", "b//..", false},
	    {"d/e/a", "..//..//..", false},
	    {"a", "./..", false},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		if (sp_tree_target(cases[i].name, cases[i].target) != cases[i].may)
			fail_msg("%s -> %s", cases[i].name, cases[i].target);
}

static void attributes_of_users_are_kept(void **state)
{
	(void)state;
	assert_true(sp_tree_attribute("user.x"));
	assert_true(sp_tree_attribute("security.capability"));
	assert_true(sp_tree_attribute("system.posix_acl_access"));
	assert_false(sp_tree_attribute("security.selinux"));
	assert_false(sp_tree_attribute("trusted.overlay.opaque"));
	assert_false(sp_tree_attribute("username"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_made_plain_or_refused),
	    cmocka_unit_test(targets_stay_inside),
	    cmocka_unit_test(attributes_of_users_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
