/* A frame's header is judged as soon as it is whole, before a byte of its payload. */
#include "stream/frame.h"

#include <string.h>
#include "base/util.h"

static const struct {
	bool from[2]; /* may it come from the client, from the guest? */
	size_t max;
	bool control;
} TYPES[] = {
    [SP_FRAME_INPUT] = {{true, false}, SP_FRAME_PAYLOAD_MAX, false},
    [SP_FRAME_OUTPUT] = {{false, true}, SP_FRAME_PAYLOAD_MAX, false},
    [SP_FRAME_ERROR] = {{false, true}, SP_FRAME_PAYLOAD_MAX, false},
    [SP_FRAME_STATUS] = {{false, true}, SP_FRAME_CONTROL_MAX, true},
    [SP_FRAME_RESIZE] = {{true, false}, SP_FRAME_CONTROL_MAX, true},
    [SP_FRAME_END] = {{true, true}, 0, true},
};

void sp_frame_header(enum sp_frame_type type, size_t size, unsigned char ret[SP_FRAME_HEADER])
{
	ret[0] = (unsigned char)type;
	ret[1] = ret[2] = ret[3] = 0;
	for (int i = 0; i < 4; i++)
		ret[4 + i] = (unsigned char)(size >> (24 - 8 * i));
}

void sp_frame_reader_init(struct sp_frame_reader *reader, enum sp_frame_from from)
{
	*reader = (struct sp_frame_reader){.from = from};
}

static size_t header_length(const unsigned char *header)
{
	return (size_t)header[4] << 24 | (size_t)header[5] << 16 | (size_t)header[6] << 8 |
	       (size_t)header[7];
}

static int check_header(const struct sp_frame_reader *reader, struct sp_err *err)
{
	const unsigned char *header = reader->header;
	size_t length = header_length(header);

	if (header[0] >= SP_COUNT(TYPES))
		return sp_fail(err, SP_E_BAD_RECORD, "frame: unknown type %d", header[0]);
	if (header[1] || header[2] || header[3])
		return sp_fail(err, SP_E_BAD_RECORD, "frame: a reserved byte is not 0");
	if (!TYPES[header[0]].from[reader->from])
		return sp_fail(err, SP_E_BAD_RECORD, "frame: type %d does not come from %s",
		    header[0], reader->from == SP_FRAME_FROM_GUEST ? "the guest" : "a client");
	if (reader->ended && header[0] != SP_FRAME_STATUS)
		return sp_fail(err, SP_E_BAD_RECORD, "frame: type %d after the end", header[0]);
	if (length > TYPES[header[0]].max)
		return sp_fail(err, SP_E_BAD_RECORD, "frame: type %d of %zu bytes, more than %zu",
		    header[0], length, TYPES[header[0]].max);
	return 0;
}

/* Completes the header as far as the bytes go. 1: it is whole and well. */
static int take_header(struct sp_frame_reader *reader, const char *bytes, size_t size, size_t *used,
    struct sp_err *err)
{
	size_t wants = SP_FRAME_HEADER - reader->header_size;
	size_t fits = size < wants ? size : wants;
	int bad;

	memcpy(reader->header + reader->header_size, bytes, fits);
	reader->header_size += fits;
	*used += fits;
	if (reader->header_size < SP_FRAME_HEADER)
		return 0;
	bad = check_header(reader, err);
	if (bad)
		return bad;
	reader->type = (enum sp_frame_type)reader->header[0];
	reader->left = header_length(reader->header);
	reader->control_size = 0;
	return 1;
}

static void frame_done(struct sp_frame_reader *reader)
{
	reader->header_size = 0;
	reader->ended |= reader->type == SP_FRAME_END;
	reader->over |= reader->type == SP_FRAME_STATUS ||
			(reader->type == SP_FRAME_END && reader->from == SP_FRAME_FROM_CLIENT);
}

/* 1 with a piece; 0 for an empty frame, or a control frame that is not whole yet. */
static int take_payload(struct sp_frame_reader *reader, const char *bytes, size_t size,
    size_t *used, struct sp_frame *ret)
{
	size_t fits = size < reader->left ? size : reader->left;
	bool control = TYPES[reader->type].control;
	bool whole = fits == reader->left;

	if (control) {
		memcpy(reader->control + reader->control_size, bytes, fits);
		reader->control_size += fits;
		reader->control[reader->control_size] = '\0';
	}
	reader->left -= fits;
	*used += fits;
	if (whole)
		frame_done(reader);
	if (control ? !whole : fits == 0)
		return 0;
	*ret = (struct sp_frame){reader->type, bytes, fits};
	if (control)
		*ret = (struct sp_frame){reader->type, reader->control, reader->control_size};
	return 1;
}

size_t sp_frame_left(const struct sp_frame_reader *reader)
{
	bool within = reader->header_size == SP_FRAME_HEADER && !reader->failed;

	return within && !TYPES[reader->type].control ? reader->left : 0;
}

void sp_frame_skip(struct sp_frame_reader *reader, size_t size)
{
	reader->left -= size;
	if (size > 0 && reader->left == 0)
		frame_done(reader);
}

int sp_frame_take(struct sp_frame_reader *reader, const char *bytes, size_t size, size_t *ret_used,
    struct sp_frame *ret_frame, struct sp_err *err)
{
	size_t used = 0;
	int got = 0;

	if (reader->failed)
		return sp_fail(err, SP_E_BAD_RECORD, "frame: the stream has failed before");
	while (got == 0 && used < size) {
		if (reader->over)
			got = sp_fail(err, SP_E_BAD_RECORD, "frame: after the last one");
		else if (reader->header_size < SP_FRAME_HEADER)
			got = take_header(reader, bytes + used, size - used, &used, err);
		else
			got = 1;
		if (got == 1)
			got = take_payload(reader, bytes + used, size - used, &used, ret_frame);
	}
	if (got < 0) {
		reader->failed = true;
		return got;
	}
	*ret_used = used;
	return got;
}
