/* The tree of names behind file.watch, where events and what a path finds do not agree. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "guest/watch.h"
#include "scratch.h"

static struct sp_watched_set set;

/* The directory `path`, watched as `name` in `parent`. */
static int add(struct sp_watched *parent, const char *name, const char *path,
    enum sp_watched_tell tell, struct sp_watched **ret)
{
	int fd = open(scratch_path(path), O_PATH | O_DIRECTORY | O_CLOEXEC), bad;

	assert_true(fd >= 0);
	bad = sp_watched_add(&set, parent, name, fd, tell, ret);
	(void)close(fd);
	return bad;
}

/* a/b/c, each watched; the root's in *ret. */
static void watch_three(struct sp_watched *ret[4])
{
	static const char *const paths[] = {"", "a", "a/b", "a/b/c"};

	assert_int_equal(sp_watched_init(&set), 0);
	for (int i = 0; i < 4; i++) {
		if (i > 0)
			assert_int_equal(mkdir(scratch_path(paths[i]), 0700), 0);
		assert_int_equal(add(i > 0 ? ret[i - 1] : NULL, i > 0 ? &paths[i][2 * i - 2] : "",
				     paths[i], SP_WATCHED_NOTHING, &ret[i]),
		    0);
	}
}

static void is_at(const struct sp_watched *watched, const char *expected)
{
	char path[PATH_MAX];

	assert_int_equal(sp_watched_path(watched, NULL, path), 0);
	assert_string_equal(path, expected);
}

/* By a rename of which the tree knows the end but not the beginning, or a mount. */
static void nothing_lies_in_itself(void **state)
{
	struct sp_watched *at[4], *made = NULL;

	(void)state;
	watch_three(at);
	assert_int_equal(sp_watched_move(at[1], at[3], "x"), -ELOOP);
	assert_int_equal(sp_watched_move(at[1], at[1], "x"), -ELOOP);
	assert_int_equal(add(at[3], "x", "a", SP_WATCHED_ALL, &made), -ELOOP);
	assert_int_equal(add(at[2], "x", "", SP_WATCHED_ALL, &made), -ELOOP);
	assert_null(made);
	is_at(at[3], "a/b/c");
	assert_int_equal(sp_watched_move(at[3], at[0], "d"), 0);
	is_at(at[3], "d");
	assert_int_equal(sp_watched_move(at[1], at[3], "x"), 0);
	is_at(at[2], "d/x/b");
	sp_watched_done(&set);
	assert_int_equal(set.count, 0);
}

/* Takes all out of the queue; as letters what is in it, in its order. */
static const char *queued(struct sp_watched *const at[4])
{
	static char letters[5];
	size_t size = 0;
	struct sp_watched *watched;

	while ((watched = TAILQ_FIRST(&set.to_scan))) {
		TAILQ_REMOVE(&set.to_scan, watched, next_to_scan);
		watched->queued = false;
		for (int i = 0; i < 4; i++)
			if (at[i] == watched)
				letters[size++] = "rabc"[i];
	}
	letters[size] = '\0';
	return letters;
}

static void what_was_missed_is_taken_up_below_what_moved(void **state)
{
	struct sp_watched *at[4];

	(void)state;
	watch_three(at);
	assert_string_equal(queued(at), "rabc");
	sp_watched_miss(&set, at[1], SP_WATCHED_WITHIN);
	sp_watched_miss(&set, at[3], SP_WATCHED_ALL);
	sp_watched_miss(&set, at[3], SP_WATCHED_WITHIN);
	sp_watched_take_up(&set, at[2]);
	assert_int_equal(at[3]->tell, SP_WATCHED_ALL);
	assert_string_equal(queued(at), "c");
	sp_watched_take_up(&set, at[2]);
	assert_string_equal(queued(at), "");
	sp_watched_miss(&set, at[2], SP_WATCHED_NOTHING);
	sp_watched_take_up(&set, at[0]);
	assert_int_equal(at[1]->tell, SP_WATCHED_WITHIN);
	assert_string_equal(queued(at), "ab");
	sp_watched_miss(&set, at[3], SP_WATCHED_ALL);
	sp_watched_drop(&set, at[2]);
	assert_int_equal(set.missed, 0);
	sp_watched_done(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    test_in_scratch(nothing_lies_in_itself),
	    test_in_scratch(what_was_missed_is_taken_up_below_what_moved),
	};

	(void)alarm(60); /* of what would go round for ever */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
