/* Signals come in through the loop, so that the terminal is restored before any of them acts. */
#include "spacestream/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"

#define CTRL_C 3

bool terminal_key_parse(const char *text, int *ret_key)
{
	char last;

	if (strcmp(text, "none") == 0) {
		*ret_key = -1;
		return true;
	}
	if (strncmp(text, "ctrl-", 5) != 0 || strlen(text) != 6)
		return false;
	last = text[5];
	if (last >= 'a' && last <= 'z')
		last = (char)(last - 'a' + 'A');
	if (last < '@' || last > '_')
		return false;
	*ret_key = last - '@';
	return true;
}

void terminal_size(unsigned *ret_rows, unsigned *ret_cols)
{
	struct winsize size = {0};

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
		(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*ret_rows = size.ws_row ? size.ws_row : 24;
	*ret_cols = size.ws_col ? size.ws_col : 80;
}

static void on_leave(int revents, void *context)
{
	struct terminal *terminal = context;

	(void)revents;
	terminal->handlers->left(terminal->context);
}

size_t terminal_input(struct terminal *terminal, const char *bytes, size_t size)
{
	const char *key =
	    terminal->is_raw && terminal->key >= 0 ? memchr(bytes, terminal->key, size) : NULL;

	if (!key)
		return size;
	/* What was typed before it goes out first. */
	ev_once(terminal->loop, -1, 0, 0., on_leave, terminal);
	return (size_t)(key - bytes);
}

static void on_waiting(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct terminal *terminal = watcher->data;
	char bytes[256];
	ssize_t n = sp_read_some(STDIN_FILENO, bytes, sizeof(bytes));

	(void)events;
	if (n <= 0)
		ev_io_stop(loop, watcher);
	else if (memchr(bytes, CTRL_C, (size_t)n) ||
		 (terminal->key >= 0 && memchr(bytes, terminal->key, (size_t)n)))
		terminal->handlers->left(terminal->context);
}

void terminal_wait(struct terminal *terminal, bool waiting)
{
	if (terminal->is_raw && waiting)
		ev_io_start(terminal->loop, &terminal->waiting);
	else if (terminal->loop)
		ev_io_stop(terminal->loop, &terminal->waiting);
}

/* Stopped and continued as any job, in the mode that the shell expects. */
static void pause_here(struct terminal *terminal)
{
	guard_restore(&terminal->guard);
	(void)kill(getpid(), SIGSTOP);
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	struct terminal *terminal = watcher->data;

	(void)loop;
	(void)events;
	if (watcher->signum == SIGTSTP) {
		pause_here(terminal);
	} else if (watcher->signum == SIGCONT || watcher->signum == SIGWINCH) {
		if (watcher->signum == SIGCONT && terminal->is_raw)
			(void)guard_raw(&terminal->guard, NULL);
		terminal->handlers->resized(terminal->context);
	} else {
		terminal->handlers->ended(terminal->context, watcher->signum);
	}
}

/* The last three have a meaning for a terminal only. */
static const int SIGNALS[TERMINAL_SIGNALS] = {SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT, SIGWINCH};
#define SIGNALS_WITHOUT 3

int terminal_start(struct terminal *terminal, struct ev_loop *loop, bool raw, int key,
    const struct terminal_handlers *handlers, void *context, struct sp_err *err)
{
	int bad = raw ? guard_start(&terminal->guard, STDIN_FILENO, err) : 0;

	if (bad)
		return bad;
	terminal->loop = loop;
	terminal->handlers = handlers;
	terminal->context = context;
	terminal->key = key;
	ev_io_init(&terminal->waiting, on_waiting, STDIN_FILENO, EV_READ);
	terminal->waiting.data = terminal;
	for (unsigned i = 0; i < (raw ? TERMINAL_SIGNALS : SIGNALS_WITHOUT); i++) {
		ev_signal_init(&terminal->signals[i], on_signal, SIGNALS[i]);
		terminal->signals[i].data = terminal;
		ev_signal_start(loop, &terminal->signals[i]);
	}
	if (raw)
		bad = guard_raw(&terminal->guard, err);
	terminal->is_raw = raw && !bad;
	return bad;
}

void terminal_say(const struct terminal *terminal, const char *words)
{
	bool raw = terminal->is_raw && isatty(STDERR_FILENO);

	(void)fprintf(
	    stderr, "%sspacestream: attach: %s%s\n", raw ? "\r\n" : "", words, raw ? "\r" : "");
}

void terminal_end(struct terminal *terminal)
{
	if (!terminal->loop)
		return;
	ev_io_stop(terminal->loop, &terminal->waiting);
	for (unsigned i = 0; i < TERMINAL_SIGNALS; i++)
		ev_signal_stop(terminal->loop, &terminal->signals[i]);
	guard_end(&terminal->guard);
	terminal->is_raw = false;
	terminal->loop = NULL;
}
