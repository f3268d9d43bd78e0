/* A manager is connected to when it is first needed, and looked at before it is told anything. */
#include "call/endpoint_inner.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"
#include "net/parts.h"
#include "net/unix.h"
#include "record/json.h"
#include "record/result.h"

#define FILLS 4 /* reads in one turn, so that one busy manager does not starve the others */

static bool is_manager(const struct sp_endpoint *endpoint, uid_t uid)
{
	const struct sp_endpoint_options *options = &endpoint->set->options;

	if (uid == 0 || (options->uid_count == 0 && uid == geteuid()))
		return true;
	for (unsigned i = 0; i < options->uid_count; i++)
		if (options->uids[i] == uid)
			return true;
	return false;
}

/* Whoever listens there is given a capability: it must be a manager. */
static bool check_peer(struct sp_endpoint *endpoint, int fd)
{
	struct ucred peer;
	int bad = sp_unix_peer(fd, &peer);

	if (bad)
		endpoint_lose(
		    endpoint, "%s: who listens there? %s", endpoint->path, sp_code_text(bad));
	else if (!is_manager(endpoint, peer.uid))
		endpoint_lose(endpoint, "%s: uid %u listens there, which is none of [manager] uid",
		    endpoint->path, (unsigned)peer.uid);
	return !endpoint->broken;
}

void endpoint_connect(struct sp_endpoint *endpoint)
{
	struct ev_loop *loop = endpoint->set->options.loop;
	struct sp_err err = {0};
	sp_auto_fd int fd = -1;
	int bad = sp_unix_connect(endpoint->path, 0, &fd, &err);

	/* Its backlog is full: each call's own time limit ends the waiting. */
	if (bad == SP_E_TIMEOUT) {
		ev_timer_again(loop, &endpoint->retry);
		return;
	}
	ev_timer_stop(loop, &endpoint->retry);
	if (bad) {
		endpoint_lose(endpoint, "%s", err.message);
		return;
	}
	if (!check_peer(endpoint, fd))
		return;
	if (sp_line_reader_init(&endpoint->reader, fd, SP_LINE_MAX) < 0) {
		endpoint_lose(endpoint, "out of memory");
		return;
	}
	endpoint->fd = sp_steal_fd(&fd);
	ev_io_set(&endpoint->readable, endpoint->fd, EV_READ);
	ev_io_set(&endpoint->writable, endpoint->fd, EV_WRITE);
	ev_io_start(loop, &endpoint->readable);
	ev_feed_event(loop, &endpoint->pump, EV_CUSTOM);
}

void endpoint_on_retry(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_endpoint *endpoint = watcher->data;

	(void)events;
	if (TAILQ_EMPTY(&endpoint->waiting))
		ev_timer_stop(loop, watcher);
	else
		endpoint_connect(endpoint);
}

/* A manager that does not serve our uid says so before it reads anything, and ends. */
static bool is_turned_away(const char *line, size_t size)
{
	sp_auto_json json_t *answer = NULL;
	const char *reason;

	if (sp_json_parse(line, size, &answer, NULL) || json_object_get(answer, "id") ||
	    sp_result_check(answer, false, NULL, NULL))
		return false;
	reason = json_string_value(json_object_get(answer, "reason"));
	return reason && strcmp(reason, sp_reason_name(SP_REASON_UNAUTHORIZED)) == 0;
}

static void lose_unmatched(struct sp_endpoint *endpoint, const char *line, size_t size)
{
	endpoint->turned_away = is_turned_away(line, size);
	endpoint_lose(endpoint, "%s: %s", endpoint->path,
	    endpoint->turned_away ? "the manager does not serve this uid ([manager] allow_uids)"
				  : "an answer that belongs to no request");
}

/* The connection is the stream's from here on. */
static void give_stream(struct sp_endpoint_call *call, const struct sp_answer *answer)
{
	struct sp_endpoint *endpoint = call->endpoint;
	struct sp_endpoint_set *set = endpoint->set;
	struct sp_line_reader *reader = &endpoint->reader;
	int fd = sp_steal_fd(&endpoint->fd);

	endpoint_take_out(call);
	endpoint_lose(endpoint, "%s: its connection has become a stream", endpoint->path);
	set->handlers->opened(call, answer, fd, reader->buffer + reader->start,
	    reader->end - reader->start, set->context);
}

static void give_answer(struct sp_endpoint *endpoint, const struct sp_answer *answer)
{
	struct sp_endpoint_set *set = endpoint->set;
	struct sp_endpoint_call *call = set->numbers[answer->number % SP_WINDOW_MAX];
	struct sp_err err = {0};

	/* Late: its call has timed out. */
	if (!call || call->number != answer->number || call->endpoint != endpoint ||
	    call->written < call->size)
		return;
	if (call->stream && sp_answer_is_open(answer)) {
		give_stream(call, answer);
		return;
	}
	if (call->stream && sp_answer_is_ok(answer)) {
		endpoint_fail(call, SP_ERROR_TRANSPORT, "answer: `ok` where a stream was asked");
		return;
	}
	if (sp_answer_of_manager(answer, &err)) {
		endpoint_fail(call, SP_ERROR_TRANSPORT, err.message);
		return;
	}
	endpoint_take_out(call);
	if (endpoint->alone)
		endpoint_lose(endpoint, "%s: the stream was not opened", endpoint->path);
	set->handlers->answered(call, answer, set->context);
}

static void take_answer(struct sp_endpoint *endpoint, const char *line, size_t size)
{
	struct sp_answer answer;

	if (sp_answer_read(line, size, &answer, NULL)) {
		lose_unmatched(endpoint, line, size);
		return;
	}
	if (answer.number > endpoint->set->last_number)
		lose_unmatched(endpoint, line, size);
	else
		give_answer(endpoint, &answer);
	sp_answer_done(&answer);
}

static void read_answers(struct sp_endpoint *endpoint)
{
	for (int fills = 0; !endpoint->broken;) {
		char *line;
		size_t size;
		int got = sp_line_take(&endpoint->reader, &line, &size);
		if (got == 1) {
			take_answer(endpoint, line, size);
		} else if (got == -EAGAIN) {
			if (fills++ == FILLS)
				return;
			got = sp_line_fill(&endpoint->reader);
			if (got == -EAGAIN)
				return;
			if (got < 0)
				endpoint_lose(
				    endpoint, "%s: %s", endpoint->path, sp_code_text(got));
		} else {
			endpoint_lose(endpoint, "%s: %s", endpoint->path,
			    got == SP_E_TOO_LARGE ? "an answer longer than 256 KiB"
						  : "the manager ended the connection");
		}
	}
}

void endpoint_on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	read_answers(watcher->data);
}

static unsigned gather(
    struct sp_endpoint *endpoint, struct sp_endpoint_call **calls, struct iovec *parts)
{
	struct sp_endpoint_call *call;
	unsigned count = 0;

	for (call = TAILQ_FIRST(&endpoint->waiting); call; call = TAILQ_NEXT(call, entry)) {
		if (count == SP_PARTS_MAX)
			break;
		calls[count] = call;
		parts[count].iov_base = call->line + call->written;
		parts[count++].iov_len = call->size - call->written;
	}
	return count;
}

static void write_waiting(struct sp_endpoint *endpoint)
{
	struct sp_endpoint_call *calls[SP_PARTS_MAX];
	struct iovec parts[SP_PARTS_MAX];

	while (!TAILQ_EMPTY(&endpoint->waiting) && !endpoint->broken && endpoint->fd >= 0) {
		unsigned count = gather(endpoint, calls, parts);
		ssize_t n = sp_parts_write(endpoint->fd, parts, count);
		if (n == -EAGAIN) {
			ev_io_start(endpoint->set->options.loop, &endpoint->writable);
			return;
		}
		if (n < 0) {
			/* What the manager said before it ended counts. */
			read_answers(endpoint);
			endpoint_lose(endpoint, "%s: %s", endpoint->path, strerror((int)-n));
			return;
		}
		for (unsigned i = 0; i < count && n > 0; i++) {
			calls[i]->written += sp_parts_take(&parts[i], &n);
			if (calls[i]->written < calls[i]->size)
				break;
			TAILQ_REMOVE(&endpoint->waiting, calls[i], entry);
			TAILQ_INSERT_TAIL(&endpoint->sent, calls[i], entry);
		}
	}
	ev_io_stop(endpoint->set->options.loop, &endpoint->writable);
}

void endpoint_on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	write_waiting(watcher->data);
}

void endpoint_on_pump(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	write_waiting(watcher->data);
}
