/* The messages of a watch: objects one after another, cut by the network wherever it likes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "routing/etcd_message.h"

int sp_etcd_stream_add(struct sp_etcd_stream *stream, const void *bytes, size_t size)
{
	if (size > stream->max - stream->size)
		return SP_E_TOO_LARGE;
	if (stream->size + size > stream->room) {
		size_t room = 2 * (stream->size + size);
		char *more = realloc(stream->bytes, room);
		if (!more)
			return -ENOMEM;
		stream->bytes = more;
		stream->room = room;
	}
	memcpy(stream->bytes + stream->size, bytes, size);
	stream->size += size;
	return 0;
}

/* The size of the first object; 0: its end is not there yet. Each byte is looked at once. */
static size_t whole(struct sp_etcd_stream *stream)
{
	while (stream->scanned < stream->size) {
		char c = stream->bytes[stream->scanned++];
		if (stream->quoted) {
			stream->quoted = stream->escaped || c != '"';
			stream->escaped = !stream->escaped && c == '\\';
		} else if (c == '"') {
			stream->quoted = true;
		} else if (c == '{') {
			stream->depth++;
		} else if (c == '}' && stream->depth > 0 && --stream->depth == 0) {
			return stream->scanned;
		}
	}
	return 0;
}

int sp_etcd_stream_next(struct sp_etcd_stream *stream, json_t **ret)
{
	size_t size = whole(stream);
	int bad;

	if (size == 0)
		return 0;
	bad = sp_json_parse(stream->bytes, size, ret, NULL);
	stream->size -= size;
	stream->scanned = 0;
	memmove(stream->bytes, stream->bytes + size, stream->size);
	return bad ? bad : 1;
}

void sp_etcd_stream_done(struct sp_etcd_stream *stream)
{
	free(stream->bytes);
	*stream = (struct sp_etcd_stream){.max = stream->max};
}
