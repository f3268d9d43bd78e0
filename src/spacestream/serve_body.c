/* The body of a request: its bytes out of HTTP's framing, its records out of its bytes, and their
 * answers in the same order. */
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "spacestream/serve.h"

static bool on_bytes(void *context, const char *bytes, size_t size)
{
	struct web *web = context;

	/* One record: whatever is behind its bound tells only that there is more. */
	if (!web->lines && web->body.end + size > SP_ASKED_MAX + 1)
		size = SP_ASKED_MAX + 1 - web->body.end;
	web->broken = sp_line_give(&web->body, bytes, size) < 0;
	return !web->broken;
}

int web_body_begin(struct web *web, const char *head, size_t size)
{
	int bad = sp_line_reader_init(&web->body, -1, SP_LINE_MAX);

	if (bad)
		return bad;
	web->begun = false;
	sp_body_begin(&web->framed, head, size, on_bytes, web);
	web->body.ended = web->framed.done;
	return 0;
}

void web_body_end(struct web *web)
{
	while (!TAILQ_EMPTY(&web->ops))
		op_free(TAILQ_FIRST(&web->ops));
	sp_line_reader_done(&web->body);
}

/* True: bytes of `in` were the body's. */
static bool take_bytes(struct web *web)
{
	size_t used;

	if (web->framed.done || web->size == 0)
		return false;
	used = sp_body_read(&web->framed, web->in, web->size);
	web->size -= used;
	memmove(web->in, web->in + used, web->size);
	web->body.ended = web->framed.done;
	if (web->framed.bad && !web->broken)
		web_fail(web, 400, SP_ERROR_BAD_RECORD, "the body of the request is none");
	return true;
}

static void begin(struct web *web, const char *line, size_t size, size_t number)
{
	if (op_begin(web, line, size, number) < 0)
		web->broken = true;
}

/* One record: the whole body. */
static bool take_record(struct web *web)
{
	size_t size = web->body.end;

	if (size > SP_ASKED_MAX) {
		web_fail(web, 413, SP_ERROR_BAD_RECORD, SERVE_TOO_LONG);
		return true;
	}
	if (!web->framed.done || web->begun)
		return false;
	web->begun = true;
	begin(web, web->body.buffer, size, 1);
	return true;
}

/* One of many. While no more are begun the rest stays where it is, up to the client. */
static bool take_line(struct web *web, bool *ret_waits)
{
	char *line = NULL;
	size_t size = 0;
	int got;

	*ret_waits = web->op_count >= web->window ||
		     web->out_end - web->out_start > SERVE_OUT_FULL || web->server->stopping;
	if (*ret_waits)
		return false;
	got = sp_line_take(&web->body, &line, &size);
	if (got == 1)
		begin(web, line, size, web->body.number);
	else if (got == SP_E_TOO_LARGE)
		begin(web, NULL, 0, web->body.number);
	return got != -EAGAIN && got != 0;
}

static bool write_due(struct web *web)
{
	struct op *op = TAILQ_FIRST(&web->ops);

	if (!op || !op->text)
		return false;
	if (web->lines) {
		web_answer_line(web, op->text, op->size);
	} else {
		op->text[op->size] = '\n'; /* in the place of the NUL */
		web_answer(web, op->status, "application/json",
		    op->status == 429 ? "Retry-After: 1\r\n" : "", op->text, op->size + 1);
	}
	op_free(op);
	return true;
}

/* Is everything said? */
static bool is_over(const struct web *web)
{
	if (web->op_count > 0)
		return false;
	if (!web->lines)
		return web->begun;
	return web->framed.done && web->body.start == web->body.end;
}

bool web_body_step(struct web *web)
{
	bool waits = false, done;

	if (!web->lines && web->server->stopping && !web->framed.done) {
		web_fail(web, 503, SP_ERROR_UNAVAILABLE, "this server stops");
		return true;
	}
	done = web->lines ? take_line(web, &waits) : take_record(web);
	if (!done && !waits && web->phase == WEB_BODY)
		done = take_bytes(web);
	done |= write_due(web);
	if (web->phase != WEB_BODY)
		return true;
	if (is_over(web)) {
		if (web->lines)
			web_answer_end(web);
		web_next(web);
		return true;
	}
	/* The end that is missing tells that there were more lines. */
	if (web->lines && web->server->stopping && web->op_count == 0) {
		web->phase = WEB_OVER;
		return true;
	}
	return done;
}
