/* The terminal that an attachment sits at: raw mode, its size, signals, the detach key. */
#ifndef SP_SPACESTREAM_TERMINAL_H
#define SP_SPACESTREAM_TERMINAL_H

#include <ev.h>
#include <stdbool.h>
#include "base/err.h"
#include "spacestream/guard.h"

#define TERMINAL_SIGNALS 6

struct terminal_handlers {
	void (*resized)(void *context); /* also when raw mode has come back */
	void (*left)(void *context);    /* the detach key, or ctrl-c while waiting */
	void (*ended)(void *context, int signal);
};

/* Zeroed: there is none. */
struct terminal {
	struct ev_loop *loop;
	const struct terminal_handlers *handlers;
	void *context;
	int key; /* a control character; -1: none */
	bool is_raw;
	struct guard guard;
	ev_signal signals[TERMINAL_SIGNALS];
	ev_io waiting;
};

/* "ctrl-]", "ctrl-a", ... or "none". False: neither. */
bool terminal_key_parse(const char *text, int *ret_key);

/* The size of the terminal that standard input is, else standard output; 24 and 80 without. */
void terminal_size(unsigned *ret_rows, unsigned *ret_cols);

/* Signals end us in order from here on, and with `raw` standard input, a terminal, is in raw mode.
 */
int terminal_start(struct terminal *terminal, struct ev_loop *loop, bool raw, int key,
    const struct terminal_handlers *handlers, void *context, struct sp_err *err);

/* How many bytes of input come before the detach key; with it among them `left` follows from the
 * loop. */
size_t terminal_input(struct terminal *terminal, const char *bytes, size_t size);

/* While no stream is open what is typed goes nowhere, but the detach key and ctrl-c leave. */
void terminal_wait(struct terminal *terminal, bool waiting);

/* A line of ours on standard error, whatever mode the terminal is in. */
void terminal_say(const struct terminal *terminal, const char *words);

void terminal_end(struct terminal *terminal);

#endif
