/* The stream of a watch: objects cut anywhere, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "routing/etcd_message.h"

static const char STREAM[] = "{\"result\":{\"a\":\"}{\\\"}\"}}\n{\"b\":{}}\n\n{\"c\":[{},{}]}";

/* All objects of the stream, cut after each `step` bytes. */
static void read_in_steps(size_t step)
{
	struct sp_etcd_stream stream = {.max = 1024};
	const char *const keys[] = {"result", "b", "c"};
	unsigned count = 0;

	for (size_t at = 0; at < sizeof(STREAM) - 1; at += step) {
		size_t left = sizeof(STREAM) - 1 - at;
		json_t *object;
		assert_int_equal(
		    sp_etcd_stream_add(&stream, STREAM + at, left < step ? left : step), 0);
		while (sp_etcd_stream_next(&stream, &object) > 0) {
			assert_true(count < SP_COUNT(keys));
			assert_non_null(json_object_get(object, keys[count++]));
			json_decref(object);
		}
	}
	assert_int_equal(count, SP_COUNT(keys));
	sp_etcd_stream_done(&stream);
}

static void objects_are_whole_wherever_they_are_cut(void **state)
{
	(void)state;
	for (size_t step = 1; step <= sizeof(STREAM); step++)
		read_in_steps(step);
}

static void a_stream_has_a_bound_and_nonsense_ends_it(void **state)
{
	struct sp_etcd_stream stream = {.max = 16};
	json_t *object;

	(void)state;
	assert_int_equal(sp_etcd_stream_add(&stream, "{\"a\":\"0123456789", 16), 0);
	assert_int_equal(sp_etcd_stream_next(&stream, &object), 0);
	assert_int_equal(sp_etcd_stream_add(&stream, "x", 1), SP_E_TOO_LARGE);
	sp_etcd_stream_done(&stream);
	assert_int_equal(sp_etcd_stream_add(&stream, "}x{1}", 5), 0);
	assert_true(sp_etcd_stream_next(&stream, &object) < 0);
	sp_etcd_stream_done(&stream);
}

static void numbers_may_be_strings_or_missing(void **state)
{
	sp_auto_json json_t *object =
	    json_pack("{sssIss}", "a", "9223372036854775807", "b", (json_int_t)5, "c", "-1");

	(void)state;
	assert_true(sp_etcd_number(object, "a") == INT64_MAX);
	assert_int_equal(sp_etcd_number(object, "b"), 5);
	assert_int_equal(sp_etcd_number(object, "c"), 0);
	assert_int_equal(sp_etcd_number(object, "d"), 0);
}

static void a_pair_is_decoded_strictly(void **state)
{
	sp_auto_json json_t *good =
	    json_pack("{ssssss}", "key", "Zm9v", "value", "YmFy", "mod_revision", "7");
	sp_auto_json json_t *empty = json_pack("{ss}", "key", "Zm9v");
	sp_auto_json json_t *bad = json_pack("{ssss}", "key", "Zm9v", "value", "Ym=Fy");
	sp_auto_json json_t *none = json_pack("{ss}", "value", "YmFy");
	struct sp_etcd_pair pair;

	(void)state;
	assert_int_equal(sp_etcd_pair_take(good, &pair), 0);
	assert_string_equal(pair.key.text, "foo");
	assert_string_equal(pair.value, "bar");
	assert_int_equal(pair.modified, 7);
	sp_etcd_pair_done(&pair);
	assert_int_equal(sp_etcd_pair_take(empty, &pair), 0);
	assert_int_equal(pair.size, 0);
	sp_etcd_pair_done(&pair);
	assert_int_equal(sp_etcd_pair_take(bad, &pair), SP_E_BAD_RECORD);
	assert_int_equal(sp_etcd_pair_take(none, &pair), SP_E_BAD_RECORD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(objects_are_whole_wherever_they_are_cut),
	    cmocka_unit_test(a_stream_has_a_bound_and_nonsense_ends_it),
	    cmocka_unit_test(numbers_may_be_strings_or_missing),
	    cmocka_unit_test(a_pair_is_decoded_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
