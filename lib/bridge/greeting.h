/*
 * The greeting: the one line that spaced-host writes to the manager on each connection, before the
 * connection becomes the guest's (04-bridge). Pure.
 *
 *   {"bridge":"ready","sandbox":S,"execution":N,"epoch":E,"level":"full","fd":D,"vsock_inode":I,"vsock_fd":F,"vmm_fd":G}
 *       every check of the VMM has passed; what follows the line comes from the guest
 *   {"bridge":"refused","reason":R}
 *       a bridge reason of 01-records, or `retired`, `absent`; the end follows
 *   {"bridge":"error","error":"transport|timeout|overloaded|unavailable","message":M}
 *       no byte has reached the guest; the end follows
 *
 * Closed: another field, reason or error, or one missing, is no greeting. It is the bridge's word,
 * and proves nothing by itself: inode and descriptors tell the manager where to look.
 */
#ifndef SP_BRIDGE_GREETING_H
#define SP_BRIDGE_GREETING_H

#include <stddef.h>
#include <stdint.h>
#include "attest/attest.h"
#include "base/err.h"
#include "record/reason.h"

#define SP_GREETING_MAX 4096 /* the line without its LF, and a NUL */

enum sp_greeting_kind { SP_GREETING_READY, SP_GREETING_REFUSED, SP_GREETING_ERROR };

struct sp_greeting {
	enum sp_greeting_kind kind;
	/* ready */
	char sandbox[SP_ID_MAX + 1];
	int64_t execution, epoch; /* >= 1: of the runtime record the VMM was proven against */
	enum sp_level level;
	int64_t fd;          /* >= 0: the bridge's descriptor of this connection */
	int64_t vsock_inode; /* >= 1: of the bridge's end of its connection to the VMM */
	int64_t vsock_fd;    /* >= 0: the bridge's descriptor of it */
	int64_t vmm_fd;      /* >= 0: the VMM's descriptor of its other end */
	/* refused */
	enum sp_reason reason;
	/* error */
	enum sp_error_kind error; /* transport and timeout mean `sent: false` */
	char message[SP_ERR_MAX];
};

/* SP_E_BAD_RECORD with words for whatever is not exactly one of the three. */
int sp_greeting_parse(const char *line, size_t size, struct sp_greeting *ret, struct sp_err *err);

/* May a greeting carry this reason, this error? */
bool sp_greeting_reason_valid(enum sp_reason reason);
bool sp_greeting_error_valid(enum sp_error_kind kind);

/* Of one that is ready: where the connection to the VMM is. False: no socket can be meant by that.
 */
bool sp_greeting_onward(const struct sp_greeting *greeting, struct sp_onward *ret);

/* The line without LF. *ret_size bytes and a NUL. -EINVAL for values that sp_greeting_parse would
 * not take, -ENOMEM. */
int sp_greeting_print(
    const struct sp_greeting *greeting, char ret_line[SP_GREETING_MAX], size_t *ret_size);

#endif
