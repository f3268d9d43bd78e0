/*
 * A terminal taken for a view that is drawn again and again: its other screen, so that what stood
 * there comes back at the end, also by SIGINT and when the process is stopped for a while.
 */
#ifndef SP_CLI_SCREEN_H
#define SP_CLI_SCREEN_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <termios.h>
#include "base/err.h"

struct sp_screen {
	int signals; /* signalfd: what ends or stops us, and a new size */
	sigset_t before;
	bool inside, keys; /* is the other screen shown; do we read keys */
	struct termios modes;
};

/* Is standard output a terminal that can do it? */
bool sp_screen_possible(void);

/* From here on signals wait for sp_screen_look. -errno with words. */
int sp_screen_enter(struct sp_screen *ret, struct sp_err *err);

/* The terminal is as it was; signals end the process again. Harmless where nothing was entered. */
void sp_screen_leave(struct sp_screen *screen);

/* What to poll beside one's own descriptors: readable when sp_screen_look has something to say. */
#define SP_SCREEN_FDS 2
void sp_screen_fds(const struct sp_screen *screen, struct pollfd ret_fds[SP_SCREEN_FDS]);

enum sp_screen_event { SP_SCREEN_NOTHING, SP_SCREEN_REDRAW, SP_SCREEN_QUIT, SP_SCREEN_SIGNAL };

/* Deals with what has come, without waiting. *ret_signal is set with SP_SCREEN_SIGNAL alone: what
 * the process is to die by once it has left. */
enum sp_screen_event sp_screen_look(struct sp_screen *screen, int *ret_signal);

void sp_screen_size(unsigned *ret_columns, unsigned *ret_rows);

/* Puts lines, as many as there is room for, over what was there. False: it cannot be written. */
bool sp_screen_draw(const char *lines);

#endif
