/* The agent's operations: one table of names and of what does them. */
#ifndef SP_GUEST_OPS_H
#define SP_GUEST_OPS_H

#include "guest/file.h"
#include "guest/session.h"
#include "guest/stream.h"

enum sp_guest_op_kind {
	SP_GUEST_OP_DIRECT,  /* answered at once */
	SP_GUEST_OP_SESSION, /* the same, on the agent's sessions */
	SP_GUEST_OP_EXEC,    /* tasks (guest/client.h) */
	SP_GUEST_OP_REMOVE,
	SP_GUEST_OP_STREAM,
};

struct sp_guest_op {
	const char *name;
	enum sp_guest_op_kind kind;
	sp_file_op_fn *direct;
	sp_session_op_fn *session;
	const struct sp_stream_kind *stream;
};

/* What does an operation of this name; NULL: the agent has none. */
const struct sp_guest_op *sp_guest_op_find(const char *name);

#endif
