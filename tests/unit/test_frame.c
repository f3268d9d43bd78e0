/* Frames: whole, in pieces of every size, and everything that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "stream/frame.h"

/* What came out of a reader: "type:payload" of each frame, pieces of one type put together. */
struct seen {
	char text[512];
	size_t used;
	int type;
	int result;
};

static void note(struct seen *seen, const struct sp_frame *frame)
{
	bool apart = seen->type != (int)frame->type || frame->type >= SP_FRAME_STATUS;
	int n = 0;

	if (apart)
		n = snprintf(seen->text + seen->used, sizeof(seen->text) - seen->used,
		    "%s%d:", seen->used ? " " : "", frame->type);
	seen->used += (size_t)n;
	assert_true(seen->used + frame->size < sizeof(seen->text));
	memcpy(seen->text + seen->used, frame->data, frame->size);
	seen->used += frame->size;
	seen->text[seen->used] = '\0';
	seen->type = (int)frame->type;
}

/* Gives the bytes `step` at a time, each time from memory of exactly that size. */
static void read_in_steps(
    struct sp_frame_reader *reader, const char *bytes, size_t size, size_t step, struct seen *seen)
{
	for (size_t at = 0; at < size && seen->result >= 0; at += step) {
		size_t length = size - at < step ? size - at : step, used = 0;
		sp_auto_free char *piece = malloc(length);
		memcpy(piece, bytes + at, length);
		for (size_t done = 0; done < length; done += used) {
			struct sp_frame frame;
			seen->result =
			    sp_frame_take(reader, piece + done, length - done, &used, &frame, NULL);
			if (seen->result < 0)
				return;
			if (seen->result == 1)
				note(seen, &frame);
			else
				assert_int_equal(done + used, length);
		}
	}
}

static const struct {
	enum sp_frame_from from;
	size_t size;
	const char *bytes, *seen;
	bool fails, over;
} CASES[] = {
    {SP_FRAME_FROM_CLIENT, 10, "\0\0\0\0\0\0\0\2hi", "0:hi", false, false},
    {SP_FRAME_FROM_CLIENT, 20, "\0\0\0\0\0\0\0\2hi\0\0\0\0\0\0\0\2ho", "0:hiho", false, false},
    {SP_FRAME_FROM_CLIENT, 18, "\0\0\0\0\0\0\0\2hi\5\0\0\0\0\0\0\0", "0:hi 5:", false, true},
    {SP_FRAME_FROM_CLIENT, 16, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "", false, false},
    {SP_FRAME_FROM_CLIENT, 20, "\4\0\0\0\0\0\0\2{}\4\0\0\0\0\0\0\2[]", "4:{} 4:[]", false, false},
    {SP_FRAME_FROM_CLIENT, 8, "\4\0\0\0\0\0\0\0", "4:", false, false},
    {SP_FRAME_FROM_GUEST, 21, "\1\0\0\0\0\0\0\2hi\2\0\0\0\0\0\0\3err", "1:hi 2:err", false, false},
    {SP_FRAME_FROM_GUEST, 20, "\1\0\0\0\0\0\0\2hi\3\0\0\0\0\0\0\2{}", "1:hi 3:{}", false, true},
    {SP_FRAME_FROM_GUEST, 18, "\5\0\0\0\0\0\0\0\3\0\0\0\0\0\0\2{}", "5: 3:{}", false, true},
    {SP_FRAME_FROM_GUEST, 8, "\5\0\0\0\0\0\0\0", "5:", false, false},
    /* Wrong ones; what came before them counts. */
    {SP_FRAME_FROM_CLIENT, 18, "\0\0\0\0\0\0\0\2hi\6\0\0\0\0\0\0\0", "0:hi", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\377\0\0\0\0\0\0\0", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\0\1\0\0\0\0\0\0", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\0\0\1\0\0\0\0\0", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\0\0\0\1\0\0\0\0", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\0\0\0\0\0\1\0\1", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\0\0\0\0\377\377\377\377", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\4\0\0\0\0\0\10\1", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\5\0\0\0\0\0\0\1", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\1\0\0\0\0\0\0\1", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\2\0\0\0\0\0\0\1", "", true, false},
    {SP_FRAME_FROM_CLIENT, 8, "\3\0\0\0\0\0\0\2", "", true, false},
    {SP_FRAME_FROM_GUEST, 8, "\0\0\0\0\0\0\0\1", "", true, false},
    {SP_FRAME_FROM_GUEST, 8, "\4\0\0\0\0\0\0\2", "", true, false},
    {SP_FRAME_FROM_GUEST, 8, "\3\0\0\0\0\0\10\1", "", true, false},
    {SP_FRAME_FROM_CLIENT, 9, "\5\0\0\0\0\0\0\0\0", "5:", true, true},
    {SP_FRAME_FROM_GUEST, 11, "\3\0\0\0\0\0\0\2{}\0", "3:{}", true, true},
    {SP_FRAME_FROM_GUEST, 16, "\5\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", "5:", true, false},
    {SP_FRAME_FROM_GUEST, 16, "\5\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0", "5:", true, false},
};

static void frames_are_the_same_in_pieces_of_every_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(CASES); i++)
		for (size_t step = 1; step <= CASES[i].size; step++) {
			struct sp_frame_reader reader;
			struct seen seen = {.type = -1};
			sp_frame_reader_init(&reader, CASES[i].from);
			read_in_steps(&reader, CASES[i].bytes, CASES[i].size, step, &seen);
			if (strcmp(seen.text, CASES[i].seen) != 0 ||
			    (seen.result == SP_E_BAD_RECORD) != CASES[i].fails ||
			    sp_frame_over(&reader) != CASES[i].over)
				fail_msg("case %zu, step %zu: %d, `%s`", i, step, seen.result,
				    seen.text);
		}
}

static void a_failed_reader_stays_failed(void **state)
{
	struct sp_frame_reader reader;
	struct sp_frame frame;
	size_t used;

	(void)state;
	sp_frame_reader_init(&reader, SP_FRAME_FROM_CLIENT);
	assert_int_equal(
	    sp_frame_take(&reader, "\7\0\0\0\0\0\0\0", 8, &used, &frame, NULL), SP_E_BAD_RECORD);
	assert_int_equal(
	    sp_frame_take(&reader, "\0\0\0\0\0\0\0\0", 8, &used, &frame, NULL), SP_E_BAD_RECORD);
}

static void headers_read_back_as_written(void **state)
{
	static const size_t sizes[] = {1, 255, 256, 65535, SP_FRAME_PAYLOAD_MAX};
	static const char zeros[16];

	(void)state;
	for (size_t i = 0; i < SP_COUNT(sizes); i++) {
		struct sp_frame_reader reader;
		struct sp_frame frame;
		unsigned char header[SP_FRAME_HEADER];
		size_t used;
		sp_frame_header(SP_FRAME_OUTPUT, sizes[i], header);
		sp_frame_reader_init(&reader, SP_FRAME_FROM_GUEST);
		assert_int_equal(sp_frame_take(&reader, (const char *)header, SP_FRAME_HEADER,
				     &used, &frame, NULL),
		    0);
		assert_int_equal(used, SP_FRAME_HEADER);
		assert_int_equal(reader.left, sizes[i]);
		assert_int_equal(sp_frame_take(&reader, zeros, 1, &used, &frame, NULL), 1);
		assert_int_equal(frame.type, SP_FRAME_OUTPUT);
	}
}

static void a_control_frame_of_its_bound_is_one_piece(void **state)
{
	struct sp_frame_reader reader;
	struct sp_frame frame = {0};
	unsigned char header[SP_FRAME_HEADER];
	char text[SP_FRAME_CONTROL_MAX];
	size_t used;

	(void)state;
	memset(text, 'x', sizeof(text));
	sp_frame_header(SP_FRAME_STATUS, sizeof(text), header);
	sp_frame_reader_init(&reader, SP_FRAME_FROM_GUEST);
	(void)sp_frame_take(&reader, (const char *)header, SP_FRAME_HEADER, &used, &frame, NULL);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		assert_int_equal(sp_frame_take(&reader, text + i, 1, &used, &frame, NULL), 0);
	assert_int_equal(sp_frame_take(&reader, text, 1, &used, &frame, NULL), 1);
	assert_int_equal(frame.size, sizeof(text));
	assert_int_equal(frame.data[frame.size], 0);
	assert_memory_equal(frame.data, text, sizeof(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frames_are_the_same_in_pieces_of_every_size),
	    cmocka_unit_test(a_failed_reader_stays_failed),
	    cmocka_unit_test(headers_read_back_as_written),
	    cmocka_unit_test(a_control_frame_of_its_bound_is_one_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
