/*
 * spacestream serve: a request whose body is the input of a stream operation, and whose answer is
 * made of its output: a tree, or a request to a port (serve_tree.c, serve_port.c).
 */
#ifndef SP_SPACESTREAM_SERVE_TRANSFER_H
#define SP_SPACESTREAM_SERVE_TRANSFER_H

#include "client/attachment.h"
#include "spacestream/serve.h"
#include "stream/channel.h"

struct transfer;

struct transfer_kind {
	const char *op;
	bool ends_input; /* the end of the body is the input's */
	bool is_stream;  /* it counts among the streams of its caller, not among his requests */
	/* The stream is open: what goes before the body may be put. NULL: nothing does. */
	void (*opened)(struct transfer *transfer);
	/* Output of the sandbox: all of it is taken. It says no more. NULL: that is no news. */
	void (*output)(struct transfer *transfer, const char *bytes, size_t size);
	void (*output_end)(struct transfer *transfer);
	/* It has ended: answers, or ends the answer, by web_next, web_fail or `broken`. */
	void (*over)(struct transfer *transfer);
	void (*done)(void *own); /* lets go of it; NULL: there is none */
};

struct transfer {
	struct web *web;
	const struct transfer_kind *kind;
	void *own; /* the kind's */
	char sandbox[SP_ID_MAX + 1];
	struct caller *caller;
	struct sp_attachment *attachment;
	struct sp_pump *pump; /* NULL: no stream is open */
	ev_prepare due;       /* never started: fed to the loop as an event */
	bool expects;         /* the client waits for 100 Continue */
	bool chunked;         /* the body goes on in chunks */
	bool raw; /* what comes from the client now is no body, but bytes without an end */
	bool input_over;
	bool begun;   /* the answer's head has gone out */
	bool stalled; /* output waits for the client */
	bool ended;   /* nothing more is waited for */
	bool told;    /* ... as it ended by itself, by this: */
	enum sp_attachment_ending ending;
	struct sp_status status;
	json_t *record; /* that was answered instead of a stream; or NULL */
	char words[SP_ERR_MAX];
};

/* Begins one for the connection, whose caller is known: the operation with these arguments
 * (stolen); `own` is taken over. Whatever it comes to is answered. NULL: it is already. */
struct transfer *transfer_begin(struct web *web, const struct transfer_kind *kind,
    const struct sp_asked *asked, const char *sandbox, json_t *args, void *own);

/* Input before the body; in `opened`, at most TRANSFER_FIRST bytes. */
#define TRANSFER_FIRST (SP_CHANNEL_OUT - SP_FRAME_HEADER)
void transfer_put(struct transfer *transfer, const char *bytes, size_t size);

/* Nothing more is waited for. */
void transfer_finish(struct transfer *transfer);

/* What it comes to, as a record: the answer, or when one has begun the broken end of that.
 * `status` 0: as the record has it. */
void transfer_answer(struct transfer *transfer, int status, json_t *record /* stolen */);

/* Has the guest said that all went well? */
bool transfer_succeeded(const struct transfer *transfer);

/* The record that tells how it ended, if that was no success; NULL: out of memory. */
json_t *transfer_record(const struct transfer *transfer);

#endif
