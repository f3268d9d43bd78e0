/* A session's life: started, exited (its command has ended), ended (all of its output is read),
 * kept for a while, gone. */
#include "guest/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium/randombytes.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/text.h"
#include "base/util.h"
#include "guest/session_inner.h"
#include "guest/spawn.h"

struct sp_sessions *sp_sessions_new(
    struct ev_loop *loop, int root, const struct rlimit *files, unsigned max)
{
	struct sp_sessions *sessions = calloc(1, sizeof(*sessions));

	if (!sessions)
		return NULL;
	sessions->loop = loop;
	sessions->root = root;
	sessions->files = files;
	sessions->max = max;
	TAILQ_INIT(&sessions->list);
	return sessions;
}

void sp_sessions_free(struct sp_sessions *sessions)
{
	struct sp_session *session;

	if (!sessions)
		return;
	while ((session = TAILQ_FIRST(&sessions->list)))
		sp_session_free(session);
	free(sessions);
}

struct sp_session *sp_session_find(struct sp_sessions *sessions, const char *id)
{
	struct sp_session *session;

	TAILQ_FOREACH(session, &sessions->list, entry)
	if (strcmp(session->id, id) == 0)
		return session;
	return NULL;
}

void sp_session_free(struct sp_session *session)
{
	struct sp_sessions *sessions = session->sessions;

	if (session->pid > 0 && !session->exited)
		(void)kill(-session->pid, SIGKILL);
	sp_session_close_pipes(session);
	ev_child_stop(sessions->loop, &session->child);
	ev_timer_stop(sessions->loop, &session->timer);
	TAILQ_REMOVE(&sessions->list, session, entry);
	sessions->count--;
	free(session);
}

/* Room for one more: the one that has been of no use to anybody for the longest goes. */
static int make_room(struct sp_sessions *sessions, struct sp_err *err)
{
	struct sp_session *session;

	if (sessions->count < sessions->max)
		return 0;
	TAILQ_FOREACH(session, &sessions->list, entry)
	if (session->ended && !session->listener) {
		sp_session_free(session);
		return 0;
	}
	return sp_fail(err, -EAGAIN,
	    "%u sessions are running already: the most that [guest] max_sessions allows",
	    sessions->count);
}

/* TIOCGPTPEER (Linux >= 4.13) needs no path: which /dev/pts the child would see does not matter. */
static int open_terminal(const struct sp_exec_args *args, int *ret_ours, int *ret_theirs)
{
	struct winsize size = {
	    .ws_row = (unsigned short)args->rows, .ws_col = (unsigned short)args->cols};
	sp_auto_fd int ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	int unlocked = 0, theirs;

	if (ours < 0 || ioctl(ours, TIOCSPTLCK, &unlocked) < 0 ||
	    ioctl(ours, TIOCSWINSZ, &size) < 0)
		return -errno;
	theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (theirs < 0)
		return -errno;
	*ret_ours = sp_steal_fd(&ours);
	*ret_theirs = theirs;
	return 0;
}

static int run_in_terminal(struct sp_session *session, const struct sp_exec_args *args)
{
	sp_auto_fd int theirs = -1;
	int bad = open_terminal(args, &session->out.fd, &theirs);

	if (bad)
		return bad;
	session->in = fcntl(session->out.fd, F_DUPFD_CLOEXEC, 0);
	if (session->in < 0)
		return -errno;
	return sp_spawn(
	    args, (int[]){theirs, theirs, theirs}, true, session->sessions->files, &session->pid);
}

static int run_on_pipes(struct sp_session *session, const struct sp_exec_args *args)
{
	sp_auto_fd int in = -1;
	sp_auto_fd int out = -1;
	sp_auto_fd int err = -1;
	int bad = sp_spawn_pipe(false, &session->in, &in);

	if (!bad)
		bad = sp_spawn_pipe(true, &session->out.fd, &out);
	if (!bad)
		bad = sp_spawn_pipe(true, &session->err.fd, &err);
	if (bad)
		return bad;
	return sp_spawn(
	    args, (int[]){in, out, err}, false, session->sessions->files, &session->pid);
}

static struct sp_session *new_session(struct sp_sessions *sessions, bool terminal)
{
	struct sp_session *session = malloc(sizeof(*session));
	unsigned char random[(SP_SESSION_ID_SIZE - 1) / 2];

	if (!session)
		return NULL;
	memset(session, 0, offsetof(struct sp_session, ring));
	sp_ring_init(&session->ring);
	session->listener = NULL;
	session->passed = 0;
	session->sessions = sessions;
	session->terminal = terminal;
	session->in = session->out.fd = session->err.fd = -1;
	session->err.of_error = true;
	session->out.left = session->err.left = SP_SESSION_LEFT_MAX;
	session->started = sp_time_now();
	randombytes_buf(random, sizeof(random));
	(void)sodium_bin2hex(session->id, sizeof(session->id), random, sizeof(random));
	TAILQ_INSERT_TAIL(&sessions->list, session, entry);
	sessions->count++;
	return session;
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_session *session = watcher->data;

	(void)loop;
	(void)events;
	if (session->waits) {
		session->waits = false;
		sp_session_pump(session);
	} else if (session->ended && !session->listener) {
		sp_session_free(session);
	}
}

int sp_session_start(struct sp_sessions *sessions, const json_t *args, enum sp_exec_form form,
    struct sp_session **ret, struct sp_err *err)
{
	sp_cleanup(sp_exec_args_done) struct sp_exec_args taken;
	struct sp_session *session;
	int bad = sp_exec_args_take(sessions->root, args, form, &taken, err);

	if (!bad)
		bad = make_room(sessions, err);
	if (bad)
		return bad;
	session = new_session(sessions, form == SP_EXEC_TERMINAL);
	if (!session)
		return sp_fail(err, -ENOMEM, "out of memory");
	(void)snprintf(session->program, sizeof(session->program), "%s", taken.argv[0]);
	sp_text_printable(session->program);
	ev_timer_init(&session->timer, on_timer, SP_SESSION_WAIT, 0.);
	session->timer.data = session;
	bad = session->terminal ? run_in_terminal(session, &taken) : run_on_pipes(session, &taken);
	if (bad) {
		sp_session_free(session);
		return sp_fail(err, bad, "%.128s: %s", taken.argv[0], sp_code_text(bad));
	}
	sp_session_watch(session);
	*ret = session;
	return 0;
}

int sp_session_attach(struct sp_session *session, int64_t from,
    const struct sp_session_listener *listener, void *context, struct sp_err *err)
{
	uint64_t position = from < 0 ? session->ring.start : (uint64_t)from;

	if (position < session->ring.start || position > session->ring.end)
		return sp_fail(err, -ERANGE, "of the output bytes %llu to %llu are kept",
		    (unsigned long long)session->ring.start, (unsigned long long)session->ring.end);
	if (session->listener)
		session->listener->on_taken(session->context);
	session->listener = listener;
	session->context = context;
	session->passed = position;
	if (session->waits)
		ev_timer_stop(session->sessions->loop, &session->timer);
	session->waits = false;
	return 0;
}

void sp_session_detach(struct sp_session *session)
{
	session->listener = NULL;
	if (session->ended) {
		ev_timer_stop(session->sessions->loop, &session->timer);
		ev_timer_set(&session->timer, SP_SESSION_KEPT, 0.);
		ev_timer_start(session->sessions->loop, &session->timer);
	}
	sp_session_pump(session);
}

uint64_t sp_session_position(const struct sp_session *session)
{
	return session->passed;
}

size_t sp_session_output(
    const struct sp_session *session, const char **ret_bytes, bool *ret_of_error)
{
	return sp_ring_piece(&session->ring, session->passed, ret_bytes, ret_of_error);
}

void sp_session_passed(struct sp_session *session, size_t size)
{
	session->passed += size;
	sp_session_pump(session);
}

bool sp_session_over(const struct sp_session *session, struct sp_status *ret)
{
	if (!session->ended || session->passed < session->ring.end)
		return false;
	*ret = sp_status_of_wait(session->wait_status);
	return true;
}
