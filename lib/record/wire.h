/* The line that travels from send to forward, as forward needs it: its values, and the bytes that
 * go on as they were written. */
#ifndef SP_RECORD_WIRE_H
#define SP_RECORD_WIRE_H

#include <jansson.h>
#include <stddef.h>
#include "base/err.h"
#include "record/request.h"

struct sp_wire {
	struct sp_request request; /* `args` is NULL: they stand below */
	const char *id, *args;     /* JSON as text: the id with its quotes */
	size_t id_size, args_size;
	json_t *record;              /* owned; NULL when none had to be made */
	char *owned_id, *owned_args; /* owned; NULL when they stand in the line */
};

/*
 * As sp_json_parse and sp_request_parse_wire, to the same results. *ret borrows from the line,
 * which is changed, and is for sp_wire_done. On failure the line is as it was.
 */
int sp_wire_read(char *line, size_t size, struct sp_wire *ret, struct sp_err *err);
void sp_wire_done(struct sp_wire *wire);

#endif
