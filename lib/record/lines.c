/* Lines out of a descriptor and into one, in batches, with a bound on each. */
#include "record/lines.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "record/json.h"

#define CHUNK (64u * 1024u)

int sp_line_reader_init(struct sp_line_reader *reader, int fd, size_t max)
{
	char *buffer = malloc(CHUNK + 1);

	if (!buffer)
		return -ENOMEM;
	*reader = (struct sp_line_reader){.fd = fd, .max = max, .buffer = buffer, .room = CHUNK};
	return 0;
}

void sp_line_reader_done(struct sp_line_reader *reader)
{
	free(reader->buffer);
	reader->buffer = NULL;
}

/*
 * Has the buffer what sp_line_take would return: a line, one too long, or the end? Moves `scanned`
 * to the LF, so that no byte is looked at twice, and drops what is left of a line that was too
 * long.
 */
static bool is_decided(struct sp_line_reader *reader)
{
	for (;;) {
		char *lf =
		    memchr(reader->buffer + reader->scanned, '\n', reader->end - reader->scanned);
		reader->scanned = lf ? (size_t)(lf - reader->buffer) : reader->end;
		if (!reader->skipping)
			return lf || reader->ended || reader->end - reader->start > reader->max;
		if (!lf) {
			reader->start = reader->scanned = reader->end = 0;
			return reader->ended;
		}
		reader->start = reader->scanned = reader->scanned + 1;
		reader->skipping = false;
	}
}

int sp_line_take(struct sp_line_reader *reader, char **ret_line, size_t *ret_size)
{
	bool whole;

	if (!is_decided(reader))
		return -EAGAIN;
	whole = reader->scanned < reader->end;
	char *line = reader->buffer + reader->start;
	size_t size = reader->scanned - reader->start;
	if (!whole && size == 0)
		return 0;
	reader->number++;
	reader->skipping = !whole && size > reader->max;
	reader->start = reader->scanned = reader->scanned + whole;
	if (size > reader->max)
		return SP_E_TOO_LARGE;
	line[size] = '\0';
	*ret_line = line;
	*ret_size = size;
	return 1;
}

/* Room for `size` bytes behind `end`: by moving what is unread to the front, else by growing up to
 * one longest line and a chunk. */
static int make_room(struct sp_line_reader *reader, size_t size)
{
	size_t most = reader->max + 1 + CHUNK;

	if (reader->start > 0) {
		memmove(
		    reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
		reader->end -= reader->start;
		reader->scanned -= reader->start;
		reader->start = 0;
	}
	while (reader->room - reader->end < size) {
		size_t room = reader->room * 2 < most ? reader->room * 2 : most;
		char *larger = room > reader->room ? realloc(reader->buffer, room + 1) : NULL;
		if (!larger)
			return -ENOMEM;
		reader->buffer = larger;
		reader->room = room;
	}
	return 0;
}

int sp_line_fill(struct sp_line_reader *reader)
{
	int bad = make_room(reader, 1);
	ssize_t n;

	if (bad)
		return bad;
	n = sp_read_some(reader->fd, reader->buffer + reader->end, reader->room - reader->end);
	if (n < 0)
		return (int)n;
	if (n == 0)
		reader->ended = true;
	reader->end += (size_t)n;
	return 0;
}

int sp_line_give(struct sp_line_reader *reader, const void *bytes, size_t size)
{
	int bad = make_room(reader, size);

	if (bad)
		return bad;
	memcpy(reader->buffer + reader->end, bytes, size);
	reader->end += size;
	return 0;
}

int sp_line_next(struct sp_line_reader *reader, char **ret_line, size_t *ret_size)
{
	for (;;) {
		int got = sp_line_take(reader, ret_line, ret_size);
		if (got != -EAGAIN)
			return got;
		got = sp_line_fill(reader);
		if (got < 0)
			return got;
	}
}

bool sp_line_at_hand(struct sp_line_reader *reader)
{
	struct pollfd one = {.fd = reader->fd, .events = POLLIN};

	/* Half a line at hand is none: whoever sends it may wait for an answer first. */
	while (!is_decided(reader)) {
		if (poll(&one, 1, 0) <= 0)
			return false;
		if (sp_line_fill(reader) < 0)
			return true;
	}
	return true;
}

int sp_line_writer_init(struct sp_line_writer *writer, int fd)
{
	char *buffer = malloc(CHUNK);

	if (!buffer)
		return -ENOMEM;
	*writer = (struct sp_line_writer){.fd = fd, .buffer = buffer, .room = CHUNK};
	return 0;
}

void sp_line_writer_done(struct sp_line_writer *writer)
{
	free(writer->buffer);
	writer->buffer = NULL;
}

int sp_line_flush(struct sp_line_writer *writer)
{
	if (!writer->failed && writer->used > 0 && writer->before)
		writer->failed = writer->before(writer->context);
	if (!writer->failed && writer->used > 0)
		writer->failed = sp_write_all(writer->fd, writer->buffer, writer->used, -1);
	writer->used = 0;
	return writer->failed;
}

static int grow(struct sp_line_writer *writer, size_t room)
{
	char *larger = realloc(writer->buffer, room);

	if (!larger)
		return writer->failed = -ENOMEM;
	writer->buffer = larger;
	writer->room = room;
	return 0;
}

/* Makes `size` bytes free, by flushing, and by growing for a line longer than a batch. */
static int reserve(struct sp_line_writer *writer, size_t size)
{
	if (writer->room - writer->used >= size)
		return writer->failed;
	if (writer->fd == SP_LINES_KEPT)
		return grow(writer, 2 * writer->room + size);
	if (sp_line_flush(writer))
		return writer->failed;
	return writer->room >= size ? 0 : grow(writer, size);
}

int sp_line_put(struct sp_line_writer *writer, const char *line, size_t size)
{
	int bad = reserve(writer, size + 1);

	if (bad)
		return bad;
	memcpy(writer->buffer + writer->used, line, size);
	writer->buffer[writer->used + size] = '\n';
	writer->used += size + 1;
	return 0;
}

int sp_line_put_json(struct sp_line_writer *writer, const void *json)
{
	size_t left = writer->room - writer->used;
	size_t size = sp_json_write(json, writer->buffer + writer->used, left);

	if (size + 1 > left) {
		int bad = reserve(writer, size + 1);
		if (bad)
			return bad;
		(void)sp_json_write(json, writer->buffer + writer->used, size);
	}
	writer->buffer[writer->used + size] = '\n';
	writer->used += size + 1;
	return writer->failed;
}

int sp_line_room(struct sp_line_writer *writer, size_t size, struct sp_out *ret)
{
	int bad = reserve(writer, size + 1);

	if (!bad)
		*ret = (struct sp_out){
		    .at = writer->buffer + writer->used, .room = writer->room - writer->used - 1};
	return bad;
}

void sp_line_took(struct sp_line_writer *writer, size_t used)
{
	writer->buffer[writer->used + used] = '\n';
	writer->used += used + 1;
}
