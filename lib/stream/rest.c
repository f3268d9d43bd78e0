/* A slow reader of ours must not make an end look like a cut, nor a cut like an end. */
#include "stream/rest.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"

#define READ_SIZE 65536u

int sp_rest_keep(struct sp_rest *rest, const char *bytes, size_t size)
{
	if (size == 0)
		return 0;
	rest->bytes = malloc(size);
	if (!rest->bytes)
		return -ENOMEM;
	memcpy(rest->bytes, bytes, size);
	rest->start = 0;
	rest->end = size;
	return 0;
}

void sp_rest_done(struct sp_rest *rest)
{
	free(rest->bytes);
	*rest = (struct sp_rest){0};
}

bool sp_rest_peer_gone(int fd)
{
	struct pollfd one = {.fd = fd};

	return poll(&one, 1, 0) > 0 && one.revents & (POLLHUP | POLLERR);
}

/* 1: some have come; 0: there is no more; -errno. */
static int read_more(int fd, struct sp_rest *rest)
{
	char *grown;
	ssize_t n;

	if (rest->end > SP_REST_MAX)
		return -ENOMEM;
	grown = realloc(rest->bytes, rest->end + READ_SIZE);
	if (!grown)
		return -ENOMEM;
	rest->bytes = grown;
	n = sp_read_some(fd, rest->bytes + rest->end, READ_SIZE);
	rest->end += n > 0 ? (size_t)n : 0;
	return n > 0 ? 1 : 0;
}

static bool comes_to_end(const struct sp_frame_reader *reader, const char *bytes, size_t size)
{
	struct sp_frame_reader ahead = *reader;
	struct sp_frame frame;
	struct sp_err err;

	while (size > 0) {
		size_t used = 0;
		if (sp_frame_take(&ahead, bytes, size, &used, &frame, &err) < 0)
			return false;
		bytes += used;
		size -= used;
	}
	return sp_frame_over(&ahead);
}

bool sp_rest_read(int fd, const struct sp_frame_reader *reader, size_t piece, struct sp_rest *rest)
{
	size_t looked = rest->start + piece;
	int got;

	do
		got = read_more(fd, rest);
	while (got == 1);
	return got == 0 && comes_to_end(reader, rest->bytes + looked, rest->end - looked);
}
