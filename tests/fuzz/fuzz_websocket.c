/*
 * What a stranger may send to open a WebSocket, and what its frames may hold: a head, then bytes of
 * frames, whose messages are frames of a stream. Besides what the sanitizers see: how the bytes are
 * cut makes no difference to what is given, nothing is given that did not come, and what goes out
 * by itself is never more than what came.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "stream/frame.h"
#include "stream/head.h"
#include "stream/upgrade.h"
#include "stream/websocket.h"

#define MESSAGE_MAX (SP_FRAME_HEADER + SP_FRAME_PAYLOAD_MAX)

struct seen {
	uint64_t sum;
	size_t given, messages, out;
	bool bad; /* a message was no frames */
	struct sp_frame_reader frames;
};

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

static void on_binary(void *context, const char *bytes, size_t size, bool last)
{
	struct seen *seen = context;

	for (size_t i = 0; i < size; i++)
		seen->sum = seen->sum * 31 + (unsigned char)bytes[i];
	seen->given += size;
	seen->messages += last;
	while (size > 0 && !seen->bad) {
		struct sp_frame frame;
		size_t used = 0;
		int got = sp_frame_take(&seen->frames, bytes, size, &used, &frame, NULL);
		must(used <= size && (got < 0 || used > 0 || got == 1));
		seen->bad = got < 0;
		bytes += used;
		size -= used;
	}
	seen->bad |= last && !sp_frame_between(&seen->frames);
}

static void on_write(void *context, const char *bytes, size_t size)
{
	struct seen *seen = context;

	(void)bytes;
	seen->out += size;
}

static struct seen take(const char *bytes, size_t size, size_t piece)
{
	static const struct sp_websocket_handlers handlers = {on_binary, on_write};
	struct seen seen = {.sum = 1};
	struct sp_websocket *socket;

	sp_frame_reader_init(&seen.frames, SP_FRAME_FROM_CLIENT);
	must(sp_websocket_new(&handlers, &seen, MESSAGE_MAX, &socket) == 0);
	for (size_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		char *copy = malloc(n);
		must(copy != NULL);
		memcpy(copy, bytes + at, n);
		must(sp_websocket_take(socket, copy, n) == 0);
		free(copy);
	}
	must(!sp_websocket_over(socket) || sp_websocket_closing(socket));
	sp_websocket_free(socket);
	must(seen.given <= size && seen.out <= size + 2 + SP_WEBSOCKET_REASON_MAX);
	return seen;
}

static void open_it(const char *text, size_t size)
{
	struct sp_head head;
	struct sp_upgrade upgrade;
	enum sp_upgrade_fault fault;
	char answer[SP_UPGRADE_ANSWER_MAX];
	bool allowed = false;

	if (sp_head_parse(text, size, &head, NULL))
		return;
	if (sp_upgrade_read(&head, &upgrade, &fault, NULL) == 0) {
		must(head.websocket && strlen(upgrade.accept) == 28);
		must(sp_upgrade_print(&upgrade, answer) == strlen(answer));
	}
	if (sp_upgrade_origin(&head, true, "https://app.example", &allowed, NULL) == 0 &&
	    !allowed) {
		const struct sp_head_field *origin = NULL;
		must(sp_head_one(&head, "Origin", &origin, NULL) == 0 && origin);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	ssize_t head = size > 0 ? sp_head_find(bytes, size, NULL) : 0;
	struct seen whole, pieces;

	if (head > 0) {
		open_it(bytes, (size_t)head);
		bytes += head;
		size -= (size_t)head;
	}
	if (size == 0)
		return 0;
	whole = take(bytes, size, size);
	pieces = take(bytes, size, 1 + (unsigned char)bytes[0] % 7);
	must(whole.given == pieces.given && whole.sum == pieces.sum);
	must(whole.messages == pieces.messages && whole.bad == pieces.bad);
	return 0;
}
