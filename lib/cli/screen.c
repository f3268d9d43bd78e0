/* Escape sequences that every terminal since the VT100, and xterm's other screen, understand. */
#include "cli/screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/util.h"

/* The other screen, no cursor, and no wrapping: a line too long is cut, not a line more. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define HOME  "\033[H"
#define REST  "\033[K" /* of a line is empty; not behind its last column, which it would take */
#define BELOW "\033[J" /* all lines too */

bool sp_screen_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* Keys are read one by one and not shown; who is in the background must not touch the terminal. */
static void take_keys(struct sp_screen *screen)
{
	struct termios modes;

	screen->keys =
	    tcgetpgrp(STDIN_FILENO) == getpgrp() && tcgetattr(STDIN_FILENO, &screen->modes) == 0;
	if (!screen->keys)
		return;
	modes = screen->modes;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	modes.c_cc[VMIN] = 0;
	modes.c_cc[VTIME] = 0;
	screen->keys = tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0;
}

static void show(struct sp_screen *screen)
{
	take_keys(screen);
	(void)fputs(ENTER, stdout);
	(void)fflush(stdout);
	screen->inside = true;
}

static void hide(struct sp_screen *screen)
{
	if (!screen->inside)
		return;
	(void)fputs(LEAVE, stdout);
	(void)fflush(stdout);
	if (screen->keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->modes);
	screen->inside = false;
}

int sp_screen_enter(struct sp_screen *ret, struct sp_err *err)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	struct sp_screen screen = {.inside = false};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < SP_COUNT(wanted); i++)
		(void)sigaddset(&set, wanted[i]);
	screen.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (screen.signals < 0)
		return sp_fail(err, -errno, "signals: %s", strerror(errno));
	(void)sigprocmask(SIG_BLOCK, &set, &screen.before);
	show(&screen);
	*ret = screen;
	return 0;
}

void sp_screen_leave(struct sp_screen *screen)
{
	if (screen->signals < 0)
		return;
	hide(screen);
	(void)sigprocmask(SIG_SETMASK, &screen->before, NULL);
	(void)close(screen->signals);
	screen->signals = -1;
}

void sp_screen_fds(const struct sp_screen *screen, struct pollfd ret_fds[SP_SCREEN_FDS])
{
	ret_fds[0] = (struct pollfd){.fd = screen->signals, .events = POLLIN};
	ret_fds[1] = (struct pollfd){.fd = screen->keys ? STDIN_FILENO : -1, .events = POLLIN};
}

/* A terminal that has gone is the end, too. */
static bool quit_key(struct sp_screen *screen)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char key;
	ssize_t n;

	while (screen->keys && poll(&in, 1, 0) > 0) {
		n = read(STDIN_FILENO, &key, 1);
		if (n == 1 && (key == 'q' || key == 'Q'))
			return true;
		if (n <= 0)
			screen->keys = false;
	}
	return false;
}

/* As the terminal's own stop key does it; it goes on here. */
static void stop_here(struct sp_screen *screen)
{
	hide(screen);
	(void)raise(SIGSTOP);
	show(screen);
}

enum sp_screen_event sp_screen_look(struct sp_screen *screen, int *ret_signal)
{
	enum sp_screen_event event = SP_SCREEN_NOTHING;
	struct signalfd_siginfo info;

	while (read(screen->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGTSTP) {
			*ret_signal = (int)info.ssi_signo;
			return SP_SCREEN_SIGNAL;
		}
		if (info.ssi_signo == SIGTSTP)
			stop_here(screen);
		event = SP_SCREEN_REDRAW;
	}
	return quit_key(screen) ? SP_SCREEN_QUIT : event;
}

void sp_screen_size(unsigned *ret_columns, unsigned *ret_rows)
{
	struct winsize size;
	bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;

	*ret_columns = known && size.ws_col > 0 ? size.ws_col : 80;
	*ret_rows = known && size.ws_row > 0 ? size.ws_row : 24;
}

/* One line, of which what has no room is left out; its colours are not. */
static void put_line(const char *line, size_t length, unsigned columns)
{
	bool sequence = false, room = true;
	unsigned used = 0;

	for (size_t i = 0; i < length; i++) {
		sequence |= line[i] == '\033';
		if (!sequence && ((unsigned char)line[i] & 0xc0) != 0x80)
			room = used++ < columns;
		if (sequence || room)
			(void)fputc(line[i], stdout);
		sequence &= line[i] != 'm';
	}
}

bool sp_screen_draw(const char *lines)
{
	unsigned columns, rows, row;

	sp_screen_size(&columns, &rows);
	(void)fputs(HOME, stdout);
	for (row = 0; *lines && row < rows; row++) {
		size_t length = strcspn(lines, "\n");
		/* Behind the last line an LF would scroll. */
		(void)fputs(row ? "\n" REST : REST, stdout);
		put_line(lines, length, columns);
		lines += length;
		lines += *lines == '\n';
	}
	if (row < rows)
		(void)fputs("\n" BELOW, stdout);
	return fflush(stdout) == 0;
}
