/*
 * Grants (05-routing, Registry): who may do what with which sandboxes. A principal, a sandbox or
 * glob, operations and families, ports with protocols, until when. Pure.
 */
#ifndef SP_ROUTING_GRANTS_H
#define SP_ROUTING_GRANTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/limits.h"
#include "record/op.h"

#define SP_PRINCIPAL_MAX    (6 + SP_ID_MAX) /* "token:" and an id */
#define SP_GRANT_PORTS_MAX  64              /* port ranges of one grant */
#define SP_ACCESS_ENTRY_MAX 31              /* "terminal.resize", "terminal.*" */

enum sp_principal_kind { SP_PRINCIPAL_UID, SP_PRINCIPAL_USER, SP_PRINCIPAL_TOKEN };

/* "uid:N" (no leading zero, below 2^32 - 1), "user:NAME" or "token:NAME" (an id). */
bool sp_principal_parse(const char *text, enum sp_principal_kind *ret_kind);

/* Who may be a request's caller: a uid or the owner of a token. A user:NAME stands in grants only.
 */
bool sp_caller_valid(const char *text);

/* "8080/http" or "8000-8099/tcp". */
struct sp_port_range {
	uint16_t low, high; /* 1 to 65535, low <= high */
	enum sp_protocol protocol;
};
bool sp_port_range_parse(const char *text, struct sp_port_range *ret);
#define SP_PORT_RANGE_SIZE 24
void sp_port_range_format(const struct sp_port_range *range, char text[SP_PORT_RANGE_SIZE]);

/* An id, or one in which `*` stands for any run of characters and `?` for one. */
bool sp_sandbox_pattern_valid(const char *pattern);
bool sp_sandbox_pattern_is_glob(const char *pattern);
bool sp_sandbox_matches(const char *pattern, const char *sandbox);

/* A set of rights: operations and families, and the ports that `port.connect` may reach. */
struct sp_rights {
	unsigned op_count;
	char ops[SP_ACCESS_MAX][SP_ACCESS_ENTRY_MAX + 1];
	unsigned port_count;
	struct sp_port_range ports[SP_GRANT_PORTS_MAX];
};

struct sp_grant {
	char principal[SP_PRINCIPAL_MAX + 1];
	char subject[SP_PRINCIPAL_MAX + 1]; /* whom it is compared with: the principal, but
					       uid:N for a user:NAME */
	char sandbox[SP_ID_MAX + 1];        /* pattern */
	struct sp_rights rights;
	int64_t until;    /* seconds; the grant holds before it; 0: no end */
	int64_t revision; /* of the registry's counter, set by the registry */
};

/*
 * Adds to *rights; what is there already is not added twice. `port.connect` is in `ops` exactly
 * when there are ports: sp_rights_add_op refuses it and `port.*` (say ports instead),
 * sp_rights_add_port adds it. SP_E_USAGE names what is wrong, also when a bound is reached.
 */
int sp_rights_add_op(struct sp_rights *rights, const char *entry, struct sp_err *err);
int sp_rights_add_port(
    struct sp_rights *rights, const struct sp_port_range *range, struct sp_err *err);

/* The union. What does not fit below the bounds is left out: a right too few, never one too many.
 */
void sp_rights_merge(struct sp_rights *rights, const struct sp_rights *more);

/* Is the operation, or its family, among these rights? `port.connect` needs its port besides. */
bool sp_rights_cover(const struct sp_rights *rights, const struct sp_op *op);
bool sp_ports_cover(const struct sp_port_range *ports, unsigned count, int port, int protocol);

/* What a caller may do with one sandbox, from all grants of a subject. */
struct sp_authorization {
	struct sp_rights rights; /* none: not authorized */
	int64_t until;           /* the earliest end of the grants that count; 0: no end */
};

/* Adds a grant whose subject is the caller's, when it matches the sandbox and has not ended at
 * `now` (seconds). */
void sp_authorization_add(struct sp_authorization *authorization, const struct sp_grant *grant,
    const char *sandbox, int64_t now);

/* As JSON arrays of strings; new references, NULL: out of memory. */
json_t *sp_rights_ops_json(const struct sp_rights *rights);
json_t *sp_rights_ports_json(const struct sp_rights *rights);

/* The reverse: rights as stored. SP_E_BAD_RECORD. */
int sp_rights_parse(
    const json_t *ops, const json_t *ports, struct sp_rights *ret, struct sp_err *err);

/* {principal, subject?, sandbox, ops, ports, until?, revision}: a grant as `grants` lists it; the
 * subject where it is another than the principal. */
json_t *sp_grant_json(const struct sp_grant *grant);

/* The reverse; `revision` may be missing, and is 0 then. SP_E_BAD_RECORD. */
int sp_grant_parse(const json_t *object, struct sp_grant *ret, struct sp_err *err);

#endif
