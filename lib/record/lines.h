/*
 * JSON Lines in and out over descriptors: the reader and writer of every filter and server.
 *
 * The reader has a buffer of one longest line and a bit; a longer line is reported once and skipped
 * to its LF. The writer collects and writes in batches.
 */
#ifndef SP_RECORD_LINES_H
#define SP_RECORD_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "record/out.h"

struct sp_line_reader {
	int fd;     /* borrowed; blocking or not */
	size_t max; /* longest line without LF */
	char *buffer;
	size_t room, start, scanned, end;
	size_t number; /* of the line last returned, from 1 */
	bool skipping, ended;
};

/* `max` at most SP_LINE_MAX. -ENOMEM or 0. */
int sp_line_reader_init(struct sp_line_reader *reader, int fd, size_t max);
void sp_line_reader_done(struct sp_line_reader *reader);

/*
 * The next line without its LF, NUL-terminated, valid until the next call. A last line without LF
 * counts; an empty line is a line. Returns 1 with a line, 0 at the end of input, SP_E_TOO_LARGE for
 * a line over the bound (it has been counted and will be skipped), -EAGAIN when a non-blocking
 * descriptor has no more now, or -errno.
 */
int sp_line_next(struct sp_line_reader *reader, char **ret_line, size_t *ret_size);

/* sp_line_next in two steps, for event loops: a line out of the buffer (-EAGAIN: none whole), and
 * one read(2) into it. */
int sp_line_take(struct sp_line_reader *reader, char **ret_line, size_t *ret_size);
int sp_line_fill(struct sp_line_reader *reader);

/* Bytes that came otherwise than by its descriptor, in the place of sp_line_fill, at most 64 KiB
 * while no whole line is left to take; whoever gives the last sets `ended`. -ENOMEM or 0. */
int sp_line_give(struct sp_line_reader *reader, const void *bytes, size_t size);

/* Would sp_line_next return at once? Reads what is there to know, so the line before it is no
 * longer valid. For filters that flush before they wait. */
bool sp_line_at_hand(struct sp_line_reader *reader);

#define SP_LINES_KEPT (-1) /* for a descriptor: lines are not written, `buffer` grows instead */

struct sp_line_writer {
	int fd; /* borrowed */
	char *buffer;
	size_t used, room;
	int failed; /* the first error; sticky */
	/* Called before anything is written out; negative: it is not, and stays so. May be NULL. */
	int (*before)(void *context);
	void *context;
};

int sp_line_writer_init(struct sp_line_writer *writer, int fd);
void sp_line_writer_done(struct sp_line_writer *writer); /* does not flush */

/* Adds `size` bytes and an LF; writes out when a batch is full. 0 or the sticky error (-EPIPE: the
 * reader has gone). */
int sp_line_put(struct sp_line_writer *writer, const char *line, size_t size);
int sp_line_put_json(struct sp_line_writer *writer, const void *json /* json_t */);
int sp_line_flush(struct sp_line_writer *writer);

/* A line that is put together in place: *ret has at least `size` bytes of room, until the next call
 * but for sp_line_took, which adds the first `used` of them as a line. 0 or the sticky error. */
int sp_line_room(struct sp_line_writer *writer, size_t size, struct sp_out *ret);
void sp_line_took(struct sp_line_writer *writer, size_t used);

#endif
