/* The operations table of 07-operations: what every stage reads to know an operation's purpose and
 * its right to be repeated. Pure. */
#ifndef SP_RECORD_OP_H
#define SP_RECORD_OP_H

#include <stdbool.h>
#include <stddef.h>

enum sp_purpose {
	SP_PURPOSE_CONTROL,
	SP_PURPOSE_ATTACH,
	SP_PURPOSE_SERVICE_PORT,
	SP_PURPOSE_MANAGE,
	SP_PURPOSE_COUNT
};
enum sp_protocol {
	SP_PROTOCOL_TCP,
	SP_PROTOCOL_HTTP,
	SP_PROTOCOL_WEBSOCKET,
	SP_PROTOCOL_TLS,
	SP_PROTOCOL_COUNT
};

struct sp_op {
	const char *name;
	enum sp_purpose purpose;
	bool stream;       /* its connection becomes a stream: no place in the pipeline */
	bool single_use;   /* needs a capability of its own, whose jti is consumed */
	bool rebuilt;      /* one rebuilt attempt after refresh-route */
	bool retry_unsent; /* one retry after transport or timeout, nothing sent */
	bool retry_sent;   /* ... even when something may have been sent */
	bool resync;       /* a repeated attempt starts with a resync event */
};

/* NULL: no such operation. */
const struct sp_op *sp_op_find(const char *name);
const struct sp_op *sp_op_at(size_t index); /* NULL past the end: to walk the table */

/* "control", ... ; false for an unknown name. */
const char *sp_purpose_name(enum sp_purpose purpose);
bool sp_purpose_parse(const char *name, enum sp_purpose *ret_purpose);
const char *sp_purpose_audience(enum sp_purpose purpose); /* "sbx-manager" or "netgtw" */
const char *sp_protocol_name(enum sp_protocol protocol);
bool sp_protocol_parse(const char *name, enum sp_protocol *ret_protocol);

/* An access entry: an operation of the table, or a family such as `file.*` that the table knows;
 * with its NUL none is longer than SP_ACCESS_TEXT_SIZE. */
#define SP_ACCESS_TEXT_SIZE 32
bool sp_access_entry_valid(const char *entry);

/*
 * Does one access or grant entry cover the operation? Exact, or a family.
 * `family_covers_single_use`: true for grants (what a caller may do), false for capabilities
 * (02-capability, Verification 6).
 */
bool sp_access_entry_covers(const char *entry, const char *op, bool family_covers_single_use);
bool sp_access_entry_covers_op(
    const char *entry, const struct sp_op *op, bool family_covers_single_use);

#endif
