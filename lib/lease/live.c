/* The answering side: a listener on the set's loop. */
#include "lease/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "lease/inner.h"
#include "net/conn.h"
#include "net/unix.h"
#include "record/json.h"

#define ASKER_SECONDS 5.
#define BACKOFF       0.1 /* seconds without accepting when that failed, out of descriptors mostly */

struct asker {
	struct sp_lease_live *live;
	struct sp_conn *conn; /* NULL: a free place */
	char *text;           /* all of the answer, NULL: none yet; heap */
	size_t at, size;
};

struct sp_lease_live {
	struct sp_lease_set *set;
	int fd;
	ev_io accepting;
	ev_timer backoff;
	unsigned count;
	struct asker askers[SP_LIVE_ASKERS];
	dev_t device; /* of the socket's file: ours to take away */
	ino_t inode;
	char path[PATH_MAX + NAME_MAX + 2];
};

static int put(void *context, json_t *lease)
{
	sp_auto_json json_t *json = lease;
	sp_auto_free char *text = json ? sp_json_text(json) : NULL;

	return text && fprintf(context, "%s\n", text) > 0 ? 0 : -ENOMEM;
}

/* The id, or as much of it as says which one is meant, was made whole by whoever asks. */
static int answer(struct sp_lease_live *live, const json_t *question, FILE *out)
{
	const char *ask = json_string_value(json_object_get(question, "ask"));
	const char *id = json_string_value(json_object_get(question, "lease"));
	const char *sandbox = json_string_value(json_object_get(question, "sandbox"));

	if (ask && strcmp(ask, "list") == 0 && !id)
		return sp_lease_walk(live->set, sandbox, put, out);
	if (ask && strcmp(ask, "cancel") == 0 && (id || sandbox))
		return put(out,
		    json_pack("{si}", "cancelled", (int)sp_lease_cancel(live->set, sandbox, id)));
	return SP_E_BAD_RECORD;
}

/* As much as the connection's queue takes; the rest when it has drained. */
static void give(struct sp_conn *conn, void *context)
{
	struct asker *asker = context;

	while (asker->at < asker->size && !sp_conn_full(conn)) {
		const char *line = asker->text + asker->at;
		size_t size = strcspn(line, "\n");
		if (sp_conn_put(conn, line, size) < 0)
			break;
		asker->at += size + 1;
	}
	if (asker->at >= asker->size || !sp_conn_full(conn))
		sp_conn_close(conn, asker->at >= asker->size);
}

static void on_line(struct sp_conn *conn, char *line, size_t size, void *context)
{
	struct asker *asker = context;
	sp_auto_json json_t *question = NULL;
	FILE *out = asker->text ? NULL : open_memstream(&asker->text, &asker->size);
	int bad = out ? sp_json_parse(line, size, &question, NULL) : -ENOMEM;

	if (!bad)
		bad = answer(asker->live, question, out);
	if (out && fclose(out) != 0)
		bad = -ENOMEM;
	if (bad)
		sp_conn_close(conn, false);
	else
		give(conn, asker);
}

static void on_close(struct sp_conn *conn, int code, void *context)
{
	struct asker *asker = context;
	struct sp_lease_live *live = asker->live;

	(void)conn;
	(void)code;
	free(asker->text);
	*asker = (struct asker){.live = live};
	live->count--;
	ev_io_start(live->set->options.loop, &live->accepting);
}

static void on_backoff(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_lease_live *live = watcher->data;

	(void)events;
	if (live->count < SP_LIVE_ASKERS)
		ev_io_start(loop, &live->accepting);
}

static void on_accept(struct ev_loop *loop, ev_io *watcher, int events)
{
	static const struct sp_conn_handlers handlers = {
	    .on_line = on_line, .on_close = on_close, .on_drain = give};
	struct sp_lease_live *live = watcher->data;
	struct asker *asker = live->askers;
	sp_auto_fd int fd = accept4(live->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	while (asker->conn)
		asker++;
	if (fd < 0 || sp_conn_new(loop, fd, &handlers, asker, &asker->conn) < 0) {
		/* Who waits in the backlog would be seen again at once. */
		ev_io_stop(loop, watcher);
		ev_timer_set(&live->backoff, BACKOFF, 0.);
		ev_timer_start(loop, &live->backoff);
		return;
	}
	(void)sp_steal_fd(&fd);
	sp_conn_idle_limit(asker->conn, ASKER_SECONDS);
	if (++live->count == SP_LIVE_ASKERS)
		ev_io_stop(loop, watcher);
}

static int listen_at(struct sp_lease_live *live, const char *run_dir, struct sp_err *err)
{
	char directory[PATH_MAX];
	struct stat info;
	int n = snprintf(directory, sizeof(directory), "%s/" SP_LIVE_DIRECTORY, run_dir);
	int bad;

	if (n < 0 || (size_t)n >= sizeof(directory) - NAME_MAX)
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", run_dir);
	bad = sp_directory_make(directory, 0750, err);
	if (bad)
		return bad;
	(void)snprintf(live->path, sizeof(live->path), "%s/%s.%d.sock", directory,
	    live->set->options.role, (int)getpid());
	bad = sp_unix_listen(live->path, 0600, &live->fd, err);
	if (bad || lstat(live->path, &info) < 0)
		return bad ? bad : sp_fail_errno(err, "%s", live->path);
	live->device = info.st_dev;
	live->inode = info.st_ino;
	return 0;
}

int sp_lease_live_open(
    struct sp_lease_set *set, const char *run_dir, struct sp_lease_live **ret, struct sp_err *err)
{
	struct sp_lease_live *live = calloc(1, sizeof(*live));
	int bad;

	if (!live)
		return sp_fail(err, -ENOMEM, "out of memory");
	live->set = set;
	live->fd = -1;
	for (unsigned i = 0; i < SP_LIVE_ASKERS; i++)
		live->askers[i].live = live;
	bad = listen_at(live, run_dir, err);
	if (bad) {
		sp_fd_close(&live->fd);
		free(live);
		return sp_err_prefix(err, bad, "list of leases");
	}
	ev_io_init(&live->accepting, on_accept, live->fd, EV_READ);
	ev_init(&live->backoff, on_backoff);
	live->accepting.data = live->backoff.data = live;
	ev_io_start(set->options.loop, &live->accepting);
	*ret = live;
	return 0;
}

void sp_lease_live_close(struct sp_lease_live *live)
{
	struct stat info;

	if (!live)
		return;
	ev_io_stop(live->set->options.loop, &live->accepting);
	ev_timer_stop(live->set->options.loop, &live->backoff);
	for (unsigned i = 0; i < SP_LIVE_ASKERS; i++)
		if (live->askers[i].conn) {
			sp_conn_free(live->askers[i].conn);
			free(live->askers[i].text);
		}
	if (lstat(live->path, &info) == 0 && info.st_dev == live->device &&
	    info.st_ino == live->inode)
		(void)unlink(live->path);
	sp_fd_close(&live->fd);
	free(live);
}
