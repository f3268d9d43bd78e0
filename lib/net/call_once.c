/* One question and its answer, without a loop. */
#include "net/caller.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "net/unix.h"
#include "record/lines.h"

static int left(int64_t deadline)
{
	int64_t rest = deadline - sp_monotonic_ms();

	return rest > 0 ? (int)rest : 0;
}

/* send(2) and not write(2): a one-shot tool has SIGPIPE as it is, and a server that has gone must
 * not kill it. */
static int put_bytes(int fd, const char *bytes, size_t size, int64_t deadline)
{
	while (size > 0) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			int ready = sp_poll_one(fd, POLLOUT, left(deadline));
			if (ready < 0)
				return ready;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		} else if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

static int put(int fd, const char *line, size_t size, int64_t deadline)
{
	int bad = put_bytes(fd, line, size, deadline);

	return bad ? bad : put_bytes(fd, "\n", 1, deadline);
}

static int get(struct sp_line_reader *reader, int64_t deadline, char **ret_line)
{
	for (;;) {
		char *line;
		size_t size;
		int got = sp_line_take(reader, &line, &size);
		/* Without its LF it is half an answer. */
		if (reader->ended && (got == 0 || got == 1))
			return SP_E_CLOSED;
		if (got == 1) {
			*ret_line = strndup(line, size);
			return *ret_line ? 0 : -ENOMEM;
		}
		if (got != -EAGAIN)
			return got;
		got = sp_poll_one(reader->fd, POLLIN, left(deadline));
		if (got >= 0)
			got = sp_line_fill(reader);
		if (got < 0 && got != -EAGAIN)
			return got;
	}
}

int sp_call_once(const char *path, int timeout_ms, const char *line, size_t size, char **ret_line,
    struct sp_err *err)
{
	int64_t deadline = sp_monotonic_ms() + timeout_ms;
	struct sp_line_reader reader;
	sp_auto_fd int fd = -1;
	int bad = sp_unix_connect(path, timeout_ms, &fd, err);

	if (bad)
		return bad;
	bad = sp_line_reader_init(&reader, fd, SP_LINE_MAX);
	if (bad)
		return sp_fail(err, bad, "out of memory");
	bad = put(fd, line, size, deadline);
	/* A server that refuses may have answered before it closed. */
	if (!bad || bad == -EPIPE || bad == -ECONNRESET)
		bad = get(&reader, deadline, ret_line);
	sp_line_reader_done(&reader);
	return bad ? sp_fail(err, bad, "%s: %s", path, sp_code_text(bad)) : 0;
}
