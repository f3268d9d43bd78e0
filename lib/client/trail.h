/* The audit lines of tools that change records, routes and grants: who changed what, and what came
 * of it. */
#ifndef SP_CLIENT_TRAIL_H
#define SP_CLIENT_TRAIL_H

#include "cli/cli.h"
#include "net/audit.h"

/* A row of an option table. */
#define SP_TRAIL_FLAG                                                                              \
	{                                                                                          \
		"audit", 0, SP_OPTION_FILE, "FILE",                                                \
		    "an audit line for each change (default: [audit] file, else none)", NULL,      \
		    false                                                                          \
	}

struct sp_trail {
	struct sp_audit *audit; /* NULL: no line is asked for */
	const char *role;
	char caller[32]; /* "uid:N": who runs the tool */
	int64_t started_us;
};

/* The file of --audit, else of the configuration; *ret NULL when neither names one. */
int sp_trail_file(
    struct sp_cli *cli, const struct sp_config *config, struct sp_audit **ret, struct sp_err *err);

/* `role` is static. Before anything is changed: a change that could not be written down must not be
 * made. 0, or the exit code, told. */
int sp_trail_open(struct sp_cli *cli, const char *role, struct sp_trail *ret);
/* The same for a change that must be made all the same: says why there is no line, and goes on. */
int sp_trail_open_if_possible(struct sp_cli *cli, const char *role, struct sp_trail *ret);
void sp_trail_done(struct sp_trail *trail);
#define auto_trail sp_cleanup(sp_trail_done)

/* A change begins: its line will tell how long it took. */
void sp_trail_start(struct sp_trail *trail);

/* Its end: `effect`, or else `conflict` (words), or else what failed. `line` has op, sandbox and
 * whatever else is known; its note stays where there is nothing to say that matters more. */
void sp_trail_end(struct sp_trail *trail, const struct sp_audit_line *line, const char *effect,
    const char *conflict, const struct sp_err *failed);

#endif
