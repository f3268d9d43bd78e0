/*
 * Raw mode, and the way back from it whatever becomes of us: a process of its own waits for our
 * end, in a session of its own, so that no signal to our group reaches it, and restores the
 * terminal when we have not.
 */
#ifndef SP_SPACESTREAM_GUARD_H
#define SP_SPACESTREAM_GUARD_H

#include <stdbool.h>
#include <termios.h>
#include "base/err.h"

struct guard {
	int terminal, line; /* line: closed, the guard acts; told, it goes */
	bool raw;
	struct termios before;
};

/* Remembers how the terminal is, and starts the guard. Nothing is changed yet. */
int guard_start(struct guard *guard, int terminal, struct sp_err *err);

/* Into raw mode; back to how it was. Any number of times. */
int guard_raw(struct guard *guard, struct sp_err *err);
void guard_restore(struct guard *guard);

/* Restores, and lets the guard go. Safe on zeroed memory. */
void guard_end(struct guard *guard);

#endif
