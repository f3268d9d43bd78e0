/*
 * The guest's own identity: which sandbox and execution it was told to be, by which id and key
 * (bridge/hello.h). Without a key the first rekey gives it one; from then on a rekey must prove the
 * key in force. The key lives in guarded memory, and in a file where one is given, so that an agent
 * that is restarted in the same boot is not without it.
 */
#ifndef SP_GUEST_SELF_H
#define SP_GUEST_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "bridge/hello.h"

struct sp_guest_self;

/*
 * `file` (NULL: none; borrowed for its life) is read when it is of this boot; 0600. A file that
 * cannot be trusted is an error: the agent must not come up without the key that it had.
 */
int sp_guest_self_new(const char *file, struct sp_guest_self **ret, struct sp_err *err);
void sp_guest_self_free(struct sp_guest_self *self);

/* What became of a message: for the connection, and for the audit. */
struct sp_guest_verdict {
	const char *op;         /* "guest.hello", "guest.rekey"; NULL: neither */
	bool passed;            /* answered with a proof; after a hello requests follow */
	char words[SP_ERR_MAX]; /* why not */
};

/* Answers one message of the bridge. The size of ret_line, without LF; 0 when there is nothing to
 * say (out of memory). */
size_t sp_guest_self_answer(struct sp_guest_self *self, const char *line, size_t size,
    const struct sp_guest_link *link, char ret_line[SP_HELLO_LINE_MAX],
    struct sp_guest_verdict *ret);

/* The sandbox it was told to be of; NULL: not yet. */
const char *sp_guest_self_sandbox(const struct sp_guest_self *self);

#endif
