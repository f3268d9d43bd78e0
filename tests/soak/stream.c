/*
 * Streams whose bytes come back: sessions of `cat`, attached by a capability of their own, and, one
 * of four, connections through a gateway to a service of the guest. What is sent are numbers of
 * eight bytes, each the time when it was sent, so that what comes back says whether something is
 * missing, twice or changed, and when its last byte was sent.
 */
#include "soak.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "net/unix.h"
#include "record/json.h"
#include "stream/frame.h"

#define STREAMS_MAX 64
#define BATCH       32   /* numbers in a frame */
#define OUT_MAX     1024 /* numbers that are out */
#define PAUSE       0.1  /* seconds, before another is tried */

enum phase { RESTING, ASKING, OPENING, RUNNING };

struct stream {
	unsigned number;
	uint64_t turn; /* how many it was before */
	enum phase phase;
	unsigned sandbox;
	char args[160];
	struct minted minted;
	int fd;
	ev_io readable;
	ev_timer timer;
	struct sp_frame_reader frames;
	char line[512]; /* the answer to its request */
	size_t line_size;
	int64_t opened;
	uint64_t sent, echoed; /* numbers */
	int64_t out[OUT_MAX];
	unsigned char partial[8];
	unsigned partial_size;
	bool wrong, status;
	int64_t last; /* when the last one that came back was sent */
};

static struct {
	struct stream streams[STREAMS_MAX];
	bool draining, stopped;
} self;

static bool is_port(const struct stream *stream)
{
	return stream->number % 4 == 3;
}

static void rest(struct stream *stream)
{
	stream->phase = RESTING;
	if (!self.draining)
		ev_timer_again(soak.loop, &stream->timer);
	else
		ev_timer_stop(soak.loop, &stream->timer);
}

static void close_stream(struct stream *stream)
{
	ev_io_stop(soak.loop, &stream->readable);
	(void)close(stream->fd);
}

static void note_stream(const struct stream *stream, const char *how)
{
	note("stream %c %" PRId64 " %" PRId64 " %u %" PRId64 " %d %u %s %" PRIu64 " %" PRIu64
	     " %d %" PRId64,
	    is_port(stream) ? 'g' : 'c', stream->opened, now_us(), stream->sandbox,
	    stream->minted.execution, stream->minted.attempt, stream->minted.worker, how,
	    stream->sent, stream->echoed, stream->wrong, stream->last);
}

static void ended(struct stream *stream)
{
	note_stream(stream, stream->status ? "status" : "end");
	close_stream(stream);
	rest(stream);
}

static void push(struct stream *stream)
{
	unsigned char bytes[SP_FRAME_HEADER + BATCH * 8];
	int64_t now = now_us();

	if (self.draining || stream->sent - stream->echoed + BATCH > OUT_MAX)
		return;
	sp_frame_header(SP_FRAME_INPUT, (size_t)BATCH * 8, bytes);
	for (unsigned i = 0; i < BATCH; i++) {
		int64_t number = now + (int64_t)i;
		uint64_t wire = htobe64((uint64_t)number);
		stream->out[(stream->sent + i) % OUT_MAX] = number;
		memcpy(bytes + SP_FRAME_HEADER + (size_t)i * 8, &wire, 8);
	}
	/* A frame or nothing: what is out is far less than a socket holds. */
	if (sp_write_some(stream->fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes))
		stream->sent += BATCH;
}

static void take_number(struct stream *stream, int64_t number)
{
	if (stream->echoed >= stream->sent || number != stream->out[stream->echoed % OUT_MAX])
		stream->wrong = true;
	stream->echoed++;
	stream->last = number;
}

static void take_bytes(struct stream *stream, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t wire;
		stream->partial[stream->partial_size++] = (unsigned char)bytes[i];
		if (stream->partial_size < 8)
			continue;
		memcpy(&wire, stream->partial, 8);
		stream->partial_size = 0;
		take_number(stream, (int64_t)be64toh(wire));
	}
}

static void take_frames(struct stream *stream, const char *bytes, size_t size)
{
	struct sp_frame frame;
	size_t used;
	int got;

	while (size > 0 &&
	       (got = sp_frame_take(&stream->frames, bytes, size, &used, &frame, NULL)) >= 0) {
		bytes += used;
		size -= used;
		if (got == 1 && frame.type == SP_FRAME_OUTPUT)
			take_bytes(stream, frame.data, frame.size);
		else if (got == 1 && frame.type == SP_FRAME_STATUS)
			stream->status = true;
		if (got == 0)
			return;
	}
	if (size > 0)
		stream->wrong = true;
}

/* The one line before it is a stream, read to its end and no further. */
static bool take_line(struct stream *stream)
{
	ssize_t n = 0;

	while (stream->line_size < sizeof(stream->line) - 1 &&
	       (n = sp_read_some(stream->fd, stream->line + stream->line_size, 1)) == 1) {
		if (stream->line[stream->line_size++] != '\n')
			continue;
		stream->line[stream->line_size] = '\0';
		if (!strstr(stream->line, "\"status\":\"open\""))
			break;
		stream->phase = RUNNING;
		stream->opened = now_us();
		return true;
	}
	if (n == -EAGAIN)
		return false;
	close_stream(stream);
	rest(stream);
	return false;
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct stream *stream = watcher->data;
	char bytes[16384];
	ssize_t n;

	(void)loop;
	(void)events;
	if (stream->phase == OPENING && !take_line(stream))
		return;
	n = sp_read_some(stream->fd, bytes, sizeof(bytes));
	if (n > 0)
		take_frames(stream, bytes, (size_t)n);
	else if (n != -EAGAIN)
		ended(stream);
}

/* What travels to a manager: five fields of the minted record. */
static char *request_of(const char *line)
{
	static const char *const names[] = {"id", "op", "sandbox", "args", "cap"};
	sp_auto_json json_t *record = json_loads(line, 0, NULL), *request = json_object();
	sp_auto_free char *text = NULL;
	char *whole = NULL;

	for (size_t i = 0; i < SP_COUNT(names); i++)
		(void)json_object_set(request, names[i], json_object_get(record, names[i]));
	text = json_dumps(request, JSON_COMPACT);
	if (!text || asprintf(&whole, "%s\n", text) < 0)
		die("stream", "out of memory");
	return whole;
}

static void on_stream_minted(void *context, const char *line)
{
	struct stream *stream = context;
	sp_auto_free char *request = NULL;
	const char *socket;

	if (self.stopped || !minted_parse(line, &stream->minted)) {
		rest(stream);
		return;
	}
	request = request_of(line);
	socket = path("%c/run/manager.sock", worker_letter(stream->minted.worker));
	if (sp_unix_connect(socket, 0, &stream->fd, NULL) < 0) {
		rest(stream);
		return;
	}
	stream->phase = OPENING;
	stream->line_size = 0;
	stream->sent = stream->echoed = 0;
	stream->partial_size = 0;
	stream->wrong = stream->status = false;
	stream->last = 0;
	sp_frame_reader_init(&stream->frames, SP_FRAME_FROM_GUEST);
	ev_io_init(&stream->readable, on_readable, stream->fd, EV_READ);
	stream->readable.data = stream;
	ev_io_start(soak.loop, &stream->readable);
	(void)sp_write_all(stream->fd, request, strlen(request), 1000);
}

static void ask(struct stream *stream, const char *op, const char *args, minted_fn *minted)
{
	char line[512];
	int n = snprintf(line, sizeof(line),
	    "{\"id\":\"t%u\",\"op\":\"%s\",\"sandbox\":\"%s\",\"args\":%s}\n", stream->number, op,
	    soak.sandboxes[stream->sandbox].name, args);

	late_mint(line, (size_t)n, minted, stream);
}

static void on_session(void *context, const char *line)
{
	struct stream *stream = context;
	sp_auto_json json_t *answer = json_loads(line, 0, NULL);
	const char *session =
	    json_string_value(json_object_get(json_object_get(answer, "result"), "session"));

	if (!session || self.stopped) {
		rest(stream);
		return;
	}
	(void)snprintf(stream->args, sizeof(stream->args), "{\"session\":\"%.120s\"}", session);
	ask(stream, "exec.attach", stream->args, on_stream_minted);
}

static void on_start_minted(void *context, const char *line)
{
	struct stream *stream = context;
	sp_auto_free char *whole = NULL;

	if (self.stopped || !minted_parse(line, &stream->minted) ||
	    asprintf(&whole, "%s\n", line) < 0) {
		rest(stream);
		return;
	}
	late_send(stream->number, whole, strlen(whole), on_session, stream);
}

static void begin(struct stream *stream)
{
	uint64_t number = soak_mix(soak.trace.seed + 77 + stream->number, stream->turn++);

	stream->phase = ASKING;
	if (is_port(stream)) {
		stream->sandbox = gateway_sandbox((unsigned)(number % GATEWAYS));
		(void)snprintf(stream->args, sizeof(stream->args),
		    "{\"port\":%u,\"protocol\":\"tcp\"}", soak.port);
		ask(stream, "port.connect", stream->args, on_stream_minted);
	} else {
		stream->sandbox = (unsigned)(number % soak.trace.sandboxes);
		ask(stream, "exec.start", "{\"argv\":[\"/bin/cat\"]}", on_start_minted);
	}
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct stream *stream = timer->data;

	(void)loop;
	(void)events;
	if (stream->phase == RUNNING)
		push(stream);
	else if (stream->phase == RESTING && !self.draining)
		begin(stream);
}

void streams_start(void)
{
	for (unsigned i = 0; i < soak.trace.streams; i++) {
		struct stream *stream = &self.streams[i];
		stream->number = i;
		ev_timer_init(&stream->timer, on_timer, PAUSE, PAUSE);
		stream->timer.data = stream;
		ev_timer_again(soak.loop, &stream->timer);
	}
}

void streams_drain(void)
{
	self.draining = true;
}

/* What is out has come back, of all that stand. */
bool streams_done(void)
{
	for (unsigned i = 0; i < soak.trace.streams; i++) {
		const struct stream *stream = &self.streams[i];
		if (stream->phase == ASKING || stream->phase == OPENING ||
		    (stream->phase == RUNNING && stream->echoed < stream->sent))
			return false;
	}
	return true;
}

void streams_stop(void)
{
	self.stopped = true;
	for (unsigned i = 0; i < soak.trace.streams; i++) {
		struct stream *stream = &self.streams[i];
		ev_timer_stop(soak.loop, &stream->timer);
		if (stream->phase != RUNNING)
			continue;
		note_stream(stream, "stood");
		close_stream(stream);
		stream->phase = RESTING;
	}
}
