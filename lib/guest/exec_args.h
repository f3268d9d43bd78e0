/* The args of exec.run, exec.start and terminal.open, taken apart, with the program looked up. */
#ifndef SP_GUEST_EXEC_ARGS_H
#define SP_GUEST_EXEC_ARGS_H

#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

/* Which of them: each has its own closed list of fields. */
enum sp_exec_form { SP_EXEC_RUN = 1, SP_EXEC_SESSION = 2, SP_EXEC_TERMINAL = 4 };

#define SP_TERMINAL_SHELL "/bin/sh" /* what terminal.open runs without `argv` */

struct sp_exec_args {
	char program[PATH_MAX];     /* what to execve: absolute, or relative to `directory` */
	char **argv, **environment; /* heap vectors, NULL-terminated; owned */
	int directory;              /* O_PATH; owned */
	char *input;                /* owned; NULL: none */
	size_t input_size;
	int64_t timeout_ms, limit;
	int64_t rows, cols; /* of a terminal: 1 to 65535 */
};

/* *ret is for sp_exec_args_done, also after a failure: SP_E_BAD_RECORD, -ENOENT (no such program in
 * PATH), or what resolving `cwd` gave. */
int sp_exec_args_take(int root, const json_t *args, enum sp_exec_form form,
    struct sp_exec_args *ret, struct sp_err *err);
void sp_exec_args_done(struct sp_exec_args *args);

#endif
