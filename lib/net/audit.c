/* Audit lines, each written whole by one write(2) so that several processes may share a file. */
#include "net/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "net/audit_line.h"
#include "record/reason.h"

#define USUAL_LINE 2048

struct sp_audit {
	char *path; /* NULL: stderr */
	int fd;
	bool torn; /* half a line is in the file */
	unsigned long lost;
	/* cheap lines of the second that began at `since` */
	int64_t since_ms;
	unsigned written;
	unsigned long held;
	const char *held_role, *held_error; /* static, of the last one held back */
	struct ev_loop *loop;               /* NULL: none */
	ev_timer second;
};

/* What root makes must not shut out those who write to it daily. */
static void give_to_owner(int fd, const char *path)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int n = snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1,
	    slash ? path : ".");
	struct stat info;

	if (geteuid() == 0 && n > 0 && (size_t)n < sizeof(directory) && stat(directory, &info) == 0)
		(void)!fchown(fd, info.st_uid, info.st_gid);
}

static int open_file(const char *path, int *ret_fd, struct sp_err *err)
{
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd = open(path, flags | O_EXCL, 0640);

	if (fd >= 0)
		give_to_owner(fd, path);
	else if (errno == EEXIST)
		fd = open(path, flags, 0640);
	if (fd < 0)
		return sp_fail_errno(err, "%s", path);
	*ret_fd = fd;
	return 0;
}

static void lose(struct sp_audit *audit, const char *why)
{
	if (audit->lost++ == 0)
		(void)fprintf(stderr, "audit: %s: line lost: %s (said once)\n",
		    audit->path ? audit->path : "stderr", why);
}

static void write_out(struct sp_audit *audit, const struct sp_audit_text *text)
{
	size_t size = text->out.used;
	ssize_t n;

	/* A line that the disk had no room for must not spoil the next one. */
	if (audit->torn && sp_write_some(audit->fd, "\n", 1) == 1)
		audit->torn = false;
	n = sp_write_some(audit->fd, text->out.at, size);
	if (n < 0 || (size_t)n != size)
		lose(audit, n < 0 ? strerror((int)-n) : "the disk is full");
	audit->torn |= n > 0 && (size_t)n != size;
}

static void put(struct sp_audit *audit, const struct sp_audit_line *line, unsigned long repeated)
{
	char now[SP_TIME_SIZE], usual[USUAL_LINE];
	struct sp_audit_text text = {.out = {.at = usual, .room = sizeof(usual)}};
	sp_auto_free char *longer = NULL;

	sp_time_format(sp_time_now(), now);
	sp_audit_line_put(&text, line, repeated, now);
	if (text.out.used > text.out.room) {
		size_t room = text.out.used;
		longer = malloc(room);
		text = (struct sp_audit_text){.out = {.at = longer, .room = longer ? room : 0}};
		sp_audit_line_put(&text, line, repeated, now);
	}
	if (text.bad || text.out.used > text.out.room)
		lose(audit, "not writable as JSON");
	else
		write_out(audit, &text);
}

/* Anybody who may connect can cause as many of these as he likes. */
static bool is_cheap(const struct sp_audit_line *line)
{
	return line->error && !line->kid &&
	       (strcmp(line->error, sp_error_name(SP_ERROR_BAD_RECORD)) == 0 ||
		   strcmp(line->error, sp_error_name(SP_ERROR_OVERLOADED)) == 0);
}

static void count_out(struct sp_audit *audit)
{
	const struct sp_audit_line line = {.role = audit->held_role,
	    .error = audit->held_error,
	    .note = "so many more in the same second"};
	unsigned long held = audit->held;

	audit->held = 0;
	audit->written = 0;
	if (held > 0)
		put(audit, &line, held);
}

static void on_second(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	count_out(watcher->data);
}

/* Is it one too many of this second? Then it is counted. */
static bool hold_back(struct sp_audit *audit, const struct sp_audit_line *line)
{
	if (audit->written++ == 0)
		audit->since_ms = sp_monotonic_ms();
	if (audit->written <= SP_AUDIT_BURST)
		return false;
	audit->held_role = line->role;
	audit->held_error = line->error;
	if (audit->held++ == 0 && audit->loop) {
		ev_timer_set(&audit->second, 1., 0.);
		ev_timer_start(audit->loop, &audit->second);
	}
	return true;
}

void sp_audit_write(struct sp_audit *audit, const struct sp_audit_line *line)
{
	if (audit->written > 0 && sp_monotonic_ms() - audit->since_ms >= 1000) {
		if (audit->loop)
			ev_timer_stop(audit->loop, &audit->second);
		count_out(audit);
	}
	if (!is_cheap(line) || !hold_back(audit, line))
		put(audit, line, 0);
}

int sp_audit_open(const char *path, struct sp_audit **ret, struct sp_err *err)
{
	struct sp_audit *audit = calloc(1, sizeof(*audit));
	char *copy = path ? strdup(path) : NULL;
	int fd = STDERR_FILENO;
	int bad;

	if (!audit || (path && !copy)) {
		free(copy);
		free(audit);
		return sp_fail(err, -ENOMEM, "out of memory");
	}
	bad = path ? open_file(path, &fd, err) : 0;
	if (bad) {
		free(copy);
		free(audit);
		return bad;
	}
	*audit = (struct sp_audit){.path = copy, .fd = fd};
	ev_init(&audit->second, on_second);
	audit->second.data = audit;
	*ret = audit;
	return 0;
}

void sp_audit_attach(struct sp_audit *audit, struct ev_loop *loop)
{
	audit->loop = loop;
}

void sp_audit_close(struct sp_audit *audit)
{
	if (!audit)
		return;
	if (audit->loop)
		ev_timer_stop(audit->loop, &audit->second);
	count_out(audit);
	if (audit->path)
		sp_fd_close(&audit->fd);
	free(audit->path);
	free(audit);
}

static bool is_open_one(const struct sp_audit *audit)
{
	struct stat at_path, open_one;

	return lstat(audit->path, &at_path) == 0 && fstat(audit->fd, &open_one) == 0 &&
	       at_path.st_dev == open_one.st_dev && at_path.st_ino == open_one.st_ino;
}

int sp_audit_reopen(struct sp_audit *audit, struct sp_err *err)
{
	int fd = -1;
	int bad;

	if (!audit->path || is_open_one(audit))
		return 0;
	bad = open_file(audit->path, &fd, err);
	if (bad)
		return bad;
	sp_fd_close(&audit->fd);
	audit->fd = fd;
	audit->torn = false;
	return 0;
}
