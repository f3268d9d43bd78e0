/*
 * exec.run (07-operations): one command, its input given, its output collected up to a bound, its
 * time limited. It runs in a session of its own, so that it can be ended with all it started.
 */
#ifndef SP_GUEST_EXEC_H
#define SP_GUEST_EXEC_H

#include <ev.h>
#include <jansson.h>
#include <sys/resource.h>
#include "base/err.h"

#define SP_EXEC_TIMEOUT_MS     25000        /* by default: below the manager's 30 s, to be heard */
#define SP_EXEC_TIMEOUT_MAX_MS 3600000      /* an hour; what lasts longer is exec.start's */
#define SP_EXEC_LIMIT_MAX      (128 * 1024) /* of stdout and of stderr */
#define SP_EXEC_GRACE          2.0 /* seconds from SIGTERM to SIGKILL of a cancelled command */

struct sp_exec;

/* 0 and the result (stolen), or a negative code and words; SP_E_CLOSED for a cancelled one. Called
 * once, from the loop, when the command has ended; the exec is freed after it. */
typedef void sp_exec_fn(void *context, int code, json_t *result, const struct sp_err *err);

/*
 * Starts a command. `root` is where `cwd` is resolved. `files` is the RLIMIT_NOFILE that commands
 * get. `loop` must be the default loop. Errors: SP_E_BAD_RECORD for wrong args, -ENOENT and the
 * like from looking the program up and starting it: nothing has run then.
 */
int sp_exec_start(struct ev_loop *loop, int root, const struct rlimit *files, const json_t *args,
    sp_exec_fn *done, void *context, struct sp_exec **ret, struct sp_err *err);

/* Nobody waits for its result any more: SIGTERM to all of it, SIGKILL after SP_EXEC_GRACE. */
void sp_exec_cancel(struct sp_exec *exec);

/* SIGKILL, now, to all of it; for the agent's own end. */
void sp_exec_kill(struct sp_exec *exec);

#endif
