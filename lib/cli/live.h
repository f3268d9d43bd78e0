/*
 * What is so now, as a table that is drawn again in its place: rows by name, what changed last on
 * top. On a terminal alone; elsewhere verbs that watch print a line for each change.
 */
#ifndef SP_CLI_LIVE_H
#define SP_CLI_LIVE_H

#include "cli/cli.h"
#include "cli/screen.h"
#include "cli/table.h"

#define SP_LIVE_ROWS  1000 /* remembered; more than a screen shows */
#define SP_LIVE_CELLS 9    /* of a row: the name first */

struct sp_live;

/* Takes the terminal where this is one and no JSON is wanted; else *ret is NULL and lines are to be
 * printed. `title` says what is watched, `of` what a row is ("records"). 0 or an exit code, told.
 */
int sp_cli_live(struct sp_cli *cli, const char *title, const char *of, const char *const *headings,
    unsigned kept, struct sp_live **ret);

/* Frees it and gives the terminal back, with what was shown last left on it. Returns `exit_code`,
 * or dies by the signal that sp_live_show has told of. NULL is fine. */
int sp_live_end(struct sp_live *live, int exit_code);

/* A row. One that has `changed`, new or not, goes to the top; others, of which each name comes once
 * after sp_live_clear, to where `when` they changed last puts them, in any unit. Copies. -ENOMEM.
 */
int sp_live_put(
    struct sp_live *live, enum sp_tone tone, const char *const *cells, int64_t when, bool changed);
void sp_live_drop(struct sp_live *live, const char *name);
void sp_live_clear(struct sp_live *live);

/* What stands below the title until it is NULL again: what is wrong. */
void sp_live_note(struct sp_live *live, const char *words);

/* What to poll beside one's own, as sp_screen_fds. */
void sp_live_fds(const struct sp_live *live, struct pollfd ret_fds[SP_SCREEN_FDS]);

/* Is it over, by a key or a signal? To be asked in work that may last, too: nothing else ends that.
 */
bool sp_live_over(struct sp_live *live);

/* Draws what is new. True: it is over, also by a terminal that cannot be written to. */
bool sp_live_show(struct sp_live *live);

#endif
