/*
 * The quick readers beside the slow ones (tests/fuzz/fuzz_*.c), over their corpus and what is one
 * byte away from it. A disagreement aborts. And what is usual is read quickly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/util.h"

#define TARGET(name) int name(const uint8_t *data, size_t size)
TARGET(agree_scan);
TARGET(agree_claims);
TARGET(agree_order);
TARGET(agree_compare);
TARGET(agree_route);
TARGET(agree_question);

#define LLVMFuzzerTestOneInput agree_scan
#include "../fuzz/fuzz_scan.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput agree_claims
#include "../fuzz/fuzz_claims.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput agree_order
#include "../fuzz/fuzz_order.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput agree_compare
#include "../fuzz/fuzz_compare.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput agree_route
#define agree_question         agree_route_question
#include "../fuzz/fuzz_route.c"
#undef agree_question
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput agree_question
#include "../fuzz/fuzz_question.c"
#undef LLVMFuzzerTestOneInput

#define CORPUS "tests/fuzz/corpus/"

typedef int target_fn(const uint8_t *data, size_t size);

/* Each byte left out, and put in the place of another. */
static void mutate(target_fn *target, const char *seed, size_t size)
{
	static const char odd[] = " \"\\{}[]:,0-.enu/\x01\x80";
	sp_auto_free char *text = malloc(size + 1);

	for (size_t i = 0; i < size; i++) {
		memcpy(text, seed, size);
		memmove(text + i, text + i + 1, size - i - 1);
		(void)target((uint8_t *)text, size - 1);
		for (size_t j = 0; j < sizeof(odd); j += 1 + i % 3) {
			memcpy(text, seed, size);
			text[i] = odd[j];
			(void)target((uint8_t *)text, size);
			memcpy(text + i + 1, seed + i, size - i);
			(void)target((uint8_t *)text, size + 1);
		}
		(void)target((uint8_t *)text, i);
	}
}

/* Seeds, and how many of them `is_quick` takes. */
static unsigned over_corpus(
    const char *name, target_fn *target, bool (*is_quick)(const char *text, size_t size))
{
	char path[512];
	unsigned seeds = 0, quick = 0;
	struct dirent *entry;
	DIR *directory;

	(void)snprintf(path, sizeof(path), CORPUS "%s", name);
	directory = opendir(path);
	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		sp_auto_free char *seed = NULL;
		size_t size;
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), CORPUS "%s/%s", name, entry->d_name);
		assert_int_equal(sp_file_read(AT_FDCWD, path, 0, 1 << 16, &seed, &size, NULL), 0);
		(void)target((uint8_t *)seed, size);
		mutate(target, seed, size);
		quick += is_quick(seed, size);
		seeds++;
	}
	(void)closedir(directory);
	assert_true(seeds > 0);
	return quick;
}

static bool scan_is_quick(const char *text, size_t size)
{
	struct sp_scan_member members[ROOM];
	unsigned count;

	return sp_json_scan_compact(text, size, members, ROOM, &count);
}

static bool claims_are_quick(const char *text, size_t size)
{
	struct sp_claims claims;

	return sp_claims_quick(text, size, &claims);
}

static bool order_is_quick(const char *text, size_t size)
{
	struct sp_order order;

	return sp_order_quick(text, size, &order);
}

static bool compare_is_quick(const char *text, size_t size)
{
	struct comparison comparison;

	return spaceid_judge_quick(text, size, NULL, &comparison);
}

static bool route_is_quick(const char *text, size_t size)
{
	const char *lf = memchr(text, '\n', size);
	char question[SP_QUESTION_MAX];
	struct sp_out out = {.at = question, .room = sizeof(question)};
	struct sp_reply_pieces pieces;

	return lf && sp_route_stage_quick(text, (size_t)(lf - text), &WHO, &out) &&
	       sp_reply_quick(lf + 1, size - (size_t)(lf - text) - 1, &pieces);
}

static bool question_is_quick(const char *text, size_t size)
{
	struct sp_question question;

	return sp_question_quick(text, size, &question);
}

static void lines_agree(void **state)
{
	(void)state;
	assert_true(over_corpus("scan", agree_scan, scan_is_quick) >= 7);
}

static void claims_agree(void **state)
{
	(void)state;
	assert_true(over_corpus("claims", agree_claims, claims_are_quick) >= 6);
}

static void orders_agree(void **state)
{
	(void)state;
	assert_true(over_corpus("order", agree_order, order_is_quick) >= 5);
}

static void comparisons_agree(void **state)
{
	(void)state;
	assert_true(over_corpus("compare", agree_compare, compare_is_quick) >= 4);
}

static void routes_agree(void **state)
{
	(void)state;
	assert_true(over_corpus("route", agree_route, route_is_quick) >= 5);
}

static void questions_agree(void **state)
{
	(void)state;
	assert_true(over_corpus("question", agree_question, question_is_quick) >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_agree),
	    cmocka_unit_test(claims_agree),
	    cmocka_unit_test(orders_agree),
	    cmocka_unit_test(comparisons_agree),
	    cmocka_unit_test(routes_agree),
	    cmocka_unit_test(questions_agree),
	};

	return cmocka_run_group_tests_name("agree", tests, NULL, NULL);
}
