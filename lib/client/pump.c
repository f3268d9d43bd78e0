/* A stream's frames as input, output and an end. */
#include "client/pump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/util.h"
#include "stream/channel.h"

/* A stream, which ends a little later than it is given up. */
struct attached {
	struct sp_pump *pump; /* NULL: given up */
	struct sp_channel *channel;
	bool has_status;
	struct sp_status status;
	enum sp_pump_ending ending; /* what we ended it for; SP_PUMP_CUT: we did not */
	int code;
};

struct sp_pump {
	struct ev_loop *loop;
	const struct sp_side *side;
	void *side_context;
	sp_pump_fn *ended;
	void *context;
	struct attached *attached; /* NULL: none is open */
	uint64_t received;
};

void sp_pump_end(struct sp_pump *pump, enum sp_pump_ending ending, int code)
{
	struct attached *attached = pump->attached;

	if (!attached || attached->ending != SP_PUMP_CUT)
		return;
	attached->ending = ending;
	attached->code = code;
	sp_channel_close(attached->channel);
}

static void take_status(struct attached *attached, const struct sp_frame *frame)
{
	int bad = sp_status_parse(frame->data, frame->size, &attached->status, NULL);

	attached->has_status = !bad;
	sp_pump_end(attached->pump, bad ? SP_PUMP_FAILED : SP_PUMP_STATUS, bad);
}

static size_t on_frame(struct sp_channel *channel, const struct sp_frame *frame, void *context)
{
	struct attached *attached = context;
	struct sp_pump *pump = attached->pump;
	size_t taken = frame->size;

	(void)channel;
	if (!pump)
		return taken;
	if (frame->type == SP_FRAME_STATUS) {
		take_status(attached, frame);
	} else if (frame->type == SP_FRAME_END) {
		pump->side->output_end(pump->side_context);
	} else if (frame->type == SP_FRAME_OUTPUT || frame->type == SP_FRAME_ERROR) {
		taken =
		    pump->side->output(pump->side_context, frame->type, frame->data, frame->size);
		pump->received += taken;
	}
	return taken;
}

static void on_room(struct sp_channel *channel, void *context)
{
	struct attached *attached = context;

	(void)channel;
	if (attached->pump)
		attached->pump->side->room(attached->pump->side_context);
}

static void on_close(struct sp_channel *channel, int code, void *context)
{
	struct attached *attached = context;
	struct sp_pump *pump = attached->pump;
	struct sp_pump_end end = {
	    .ending = attached->ending, .status = attached->status, .code = attached->code};

	(void)channel;
	if (pump) {
		if (end.ending == SP_PUMP_CUT && (code == SP_E_BAD_RECORD || code == -ENOMEM))
			end = (struct sp_pump_end){.ending = SP_PUMP_FAILED, .code = code};
		pump->attached = NULL;
		pump->side->closed(pump->side_context);
		pump->ended(pump->context, &end);
	}
	free(attached);
}

int sp_pump_new(struct ev_loop *loop, const struct sp_side *side, void *side_context,
    sp_pump_fn *ended, void *context, struct sp_pump **ret)
{
	struct sp_pump *pump = calloc(1, sizeof(*pump));

	if (!pump)
		return -ENOMEM;
	pump->loop = loop;
	pump->side = side;
	pump->side_context = side_context;
	pump->ended = ended;
	pump->context = context;
	*ret = pump;
	return 0;
}

void sp_pump_free(struct sp_pump *pump)
{
	if (!pump)
		return;
	sp_pump_stop(pump);
	free(pump);
}

int sp_pump_begin(struct sp_pump *pump, int fd, const char *rest, size_t size)
{
	static const struct sp_channel_handlers handlers = {
	    .on_frame = on_frame, .on_room = on_room, .on_close = on_close};
	struct attached *attached = calloc(1, sizeof(*attached));

	if (!attached || sp_channel_new(pump->loop, fd, SP_FRAME_FROM_GUEST, &handlers, attached,
			     &attached->channel) < 0) {
		free(attached);
		sp_fd_close(&fd);
		return -ENOMEM;
	}
	attached->pump = pump;
	attached->ending = SP_PUMP_CUT;
	pump->attached = attached;
	if (sp_channel_start(attached->channel, rest, size) < 0) {
		sp_pump_stop(pump);
		return -ENOMEM;
	}
	pump->side->opened(pump->side_context, pump);
	return 0;
}

size_t sp_pump_room(const struct sp_pump *pump)
{
	return pump->attached ? sp_channel_room(pump->attached->channel) : 0;
}

void sp_pump_ask_room(struct sp_pump *pump)
{
	if (pump->attached)
		sp_channel_ask_room(pump->attached->channel);
}

size_t sp_pump_put(struct sp_pump *pump, const char *bytes, size_t size)
{
	return pump->attached ? sp_channel_put(pump->attached->channel, SP_FRAME_INPUT, bytes, size)
			      : 0;
}

void sp_pump_end_input(struct sp_pump *pump)
{
	if (pump->attached)
		sp_channel_end(pump->attached->channel);
}

void sp_pump_resize(struct sp_pump *pump, unsigned rows, unsigned cols)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "{\"rows\":%u,\"cols\":%u}", rows, cols);

	/* With a stream so full of input that this does not fit, the next change is told. */
	if (sp_pump_room(pump) >= (size_t)n)
		(void)sp_channel_put(pump->attached->channel, SP_FRAME_RESIZE, text, (size_t)n);
}

void sp_pump_resume(struct sp_pump *pump)
{
	if (pump->attached)
		sp_channel_resume(pump->attached->channel);
}

bool sp_pump_lost(struct sp_pump *pump)
{
	return pump->attached && sp_channel_lost(pump->attached->channel);
}

void sp_pump_stop(struct sp_pump *pump)
{
	struct attached *attached = sp_steal(&pump->attached);

	if (!attached)
		return;
	attached->pump = NULL;
	pump->side->closed(pump->side_context);
	sp_channel_close(attached->channel);
}

uint64_t sp_pump_received(const struct sp_pump *pump)
{
	return pump->received;
}
