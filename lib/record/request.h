/* A request on its way (01-records): asked, routed, minted, done; each state closed. */
#ifndef SP_RECORD_REQUEST_H
#define SP_RECORD_REQUEST_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "record/op.h"
#include "record/route.h"

enum sp_state { SP_STATE_ASKED, SP_STATE_ROUTED, SP_STATE_MINTED, SP_STATE_DONE };

/* Where a record stands, by its fields alone: `cap` → minted, `route` → routed, `status` → done,
 * else asked. No validation. */
enum sp_state sp_request_state(const json_t *record);

/* A view into a record: everything borrowed, NULL where its state has no such field. */
struct sp_request {
	const char *id; /* NULL when the caller gave none */
	const struct sp_op *op;
	const char *sandbox; /* valid id */
	const json_t *args;  /* object */
	/* routed and minted */
	const char *caller;
	struct sp_route route;
	const json_t *route_json;
	const char *endpoint;     /* where the worker's manager listens: "unix:/path" */
	const json_t *access;     /* array of strings: the caller's granted operations */
	int64_t authorized_until; /* seconds */
	int attempted;            /* 1 or 2 */
	/* minted, and on the wire to the manager */
	const char *cap;
};

/*
 * Exactly the fields of `state` (asked, routed or minted), or SP_E_BAD_RECORD naming the first
 * thing wrong. An unknown operation is a bad record. `args` of port.connect, exec.attach are
 * checked where they are used.
 */
int sp_request_parse(
    const json_t *record, enum sp_state state, struct sp_request *ret, struct sp_err *err);

/* What travels from send to forward: id (required), op, sandbox, args, cap, exactly. */
int sp_request_parse_wire(const json_t *record, struct sp_request *ret, struct sp_err *err);

/* What travels from forward to the guest: id (required), op, sandbox, args, exactly. */
int sp_request_parse_guest(const json_t *record, struct sp_request *ret, struct sp_err *err);

#endif
