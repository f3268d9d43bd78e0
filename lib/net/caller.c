/* Questions and answers on one connection: the n-th line that comes back belongs to the n-th that
 * was written. */
#include "net/caller.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/io.h"
#include "base/util.h"
#include "net/conn.h"
#include "net/heldup.h"
#include "net/unix.h"

struct question {
	TAILQ_ENTRY(question) link;
	sp_caller_fn *answered;
	void *context;
	int64_t deadline;
	int code; /* why it failed */
	size_t size;
	char line[]; /* of those that wait for room on the connection; else empty */
};
TAILQ_HEAD(questions, question);

/* Outlives the caller by as much as its conn needs to end. */
struct link {
	struct sp_caller *caller;
	struct sp_conn *conn;
};

struct sp_caller {
	struct ev_loop *loop;
	struct link *link; /* NULL: not connected */
	struct questions asked, waiting, failed;
	ev_timer limit;
	ev_prepare tell; /* never started: fed to the loop as an event */
	int64_t look_at; /* when the limit fires */
	int timeout_ms;
	char path[];
};

static void tell(struct sp_caller *caller, struct question *question)
{
	char words[SP_ERR_MAX];
	int n = snprintf(
	    words, sizeof(words), "%.400s: %s", caller->path, sp_code_text(question->code));

	question->answered(question->context, question->code, words, n > 0 ? (size_t)n : 0);
	free(question);
}

static void on_tell(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct sp_caller *caller = watcher->data;
	struct questions due = TAILQ_HEAD_INITIALIZER(due);
	struct question *question;

	(void)loop;
	(void)events;
	/* What is asked meanwhile and fails too has its own turn. */
	TAILQ_CONCAT(&due, &caller->failed, link);
	while ((question = TAILQ_FIRST(&due))) {
		TAILQ_REMOVE(&due, question, link);
		tell(caller, question);
	}
}

static void fail_question(struct sp_caller *caller, struct question *question, int code)
{
	question->code = code;
	TAILQ_INSERT_TAIL(&caller->failed, question, link);
	ev_feed_event(caller->loop, &caller->tell, EV_CUSTOM);
}

/* The connection is of no more use: every question on it and behind it fails. */
static void give_up(struct sp_caller *caller, int code)
{
	struct question *question;
	struct link *link = sp_steal(&caller->link);

	if (link) {
		link->caller = NULL;
		sp_conn_close(link->conn, false);
	}
	ev_timer_stop(caller->loop, &caller->limit);
	TAILQ_CONCAT(&caller->asked, &caller->waiting, link);
	while ((question = TAILQ_FIRST(&caller->asked))) {
		TAILQ_REMOVE(&caller->asked, question, link);
		fail_question(caller, question, code);
	}
}

static void watch_limit(struct sp_caller *caller, int64_t now)
{
	const struct question *first = TAILQ_FIRST(&caller->asked);
	double wait;

	if (!first || ev_is_active(&caller->limit))
		return;
	wait = first->deadline > now ? (double)(first->deadline - now) / 1000. : 0.;
	caller->look_at = now + (int64_t)(wait * 1000.);
	ev_now_update(caller->loop);
	ev_timer_set(&caller->limit, wait, 0.);
	ev_timer_start(caller->loop, &caller->limit);
}

static void begin_anew(struct sp_caller *caller, int64_t now)
{
	struct question *question;

	for (question = TAILQ_FIRST(&caller->asked); question;
	     question = TAILQ_NEXT(question, link))
		question->deadline = now + caller->timeout_ms;
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_caller *caller = watcher->data;
	const struct question *first = TAILQ_FIRST(&caller->asked);
	int64_t now = sp_monotonic_ms();

	(void)loop;
	(void)events;
	if (sp_held_up(caller->look_at, now))
		begin_anew(caller, now);
	/* Answers do not touch the timer; it looks what has become the oldest. */
	if (first && first->deadline <= now)
		give_up(caller, SP_E_TIMEOUT);
	else
		watch_limit(caller, now);
}

static void on_line(struct sp_conn *conn, char *line, size_t size, void *context)
{
	struct link *link = context;
	struct sp_caller *caller = link->caller;
	struct question *question = caller ? TAILQ_FIRST(&caller->asked) : NULL;

	(void)conn;
	if (!question) {
		if (caller)
			give_up(caller, SP_E_CLOSED);
		return;
	}
	TAILQ_REMOVE(&caller->asked, question, link);
	question->answered(question->context, 0, line, size);
	free(question);
}

static void on_close(struct sp_conn *conn, int code, void *context)
{
	struct link *link = context;

	(void)conn;
	if (link->caller)
		give_up(link->caller, code ? code : SP_E_CLOSED);
	free(link);
}

static void put_waiting(struct sp_caller *caller)
{
	struct question *question;

	while (caller->link && !sp_conn_full(caller->link->conn) &&
	       (question = TAILQ_FIRST(&caller->waiting))) {
		int bad = sp_conn_put(caller->link->conn, question->line, question->size);
		TAILQ_REMOVE(&caller->waiting, question, link);
		if (bad)
			fail_question(caller, question, bad);
		else
			TAILQ_INSERT_TAIL(&caller->asked, question, link);
	}
}

static void on_drain(struct sp_conn *conn, void *context)
{
	struct link *link = context;

	(void)conn;
	if (link->caller)
		put_waiting(link->caller);
}

static const struct sp_conn_handlers HANDLERS = {
    .on_line = on_line, .on_close = on_close, .on_drain = on_drain};

static int reach(struct sp_caller *caller)
{
	struct link *link;
	sp_auto_fd int fd = -1;
	int bad;

	if (caller->link)
		return 0;
	bad = sp_unix_connect(caller->path, caller->timeout_ms, &fd, NULL);
	if (bad)
		return bad;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	bad = sp_conn_new(caller->loop, fd, &HANDLERS, link, &link->conn);
	if (bad) {
		free(link);
		return bad;
	}
	(void)sp_steal_fd(&fd);
	link->caller = caller;
	caller->link = link;
	return 0;
}

int sp_caller_new(struct ev_loop *loop, const char *path, int timeout_ms, struct sp_caller **ret,
    struct sp_err *err)
{
	size_t size = strlen(path) + 1;
	struct sp_caller *caller = calloc(1, sizeof(*caller) + size);

	if (!caller)
		return sp_fail(err, -ENOMEM, "out of memory");
	memcpy(caller->path, path, size);
	caller->loop = loop;
	caller->timeout_ms = timeout_ms;
	TAILQ_INIT(&caller->asked);
	TAILQ_INIT(&caller->waiting);
	TAILQ_INIT(&caller->failed);
	ev_timer_init(&caller->limit, on_limit, 0., 0.);
	ev_set_priority(&caller->limit, EV_MINPRI);
	ev_prepare_init(&caller->tell, on_tell);
	caller->limit.data = caller->tell.data = caller;
	*ret = caller;
	return 0;
}

static void forget(struct questions *questions)
{
	struct question *question;

	while ((question = TAILQ_FIRST(questions))) {
		TAILQ_REMOVE(questions, question, link);
		free(question);
	}
}

void sp_caller_free(struct sp_caller *caller)
{
	if (!caller)
		return;
	give_up(caller, SP_E_CLOSED);
	forget(&caller->failed);
	(void)ev_clear_pending(caller->loop, &caller->tell);
	free(caller);
}

static struct question *new_question(
    const char *line, size_t size, sp_caller_fn *answered, void *context)
{
	struct question *question = malloc(sizeof(*question) + size);

	if (!question)
		return NULL;
	*question = (struct question){.answered = answered, .context = context, .size = size};
	memcpy(question->line, line, size);
	return question;
}

void sp_caller_timeout(struct sp_caller *caller, int timeout_ms)
{
	caller->timeout_ms = timeout_ms;
}

void sp_caller_ask(
    struct sp_caller *caller, const char *line, size_t size, sp_caller_fn *answered, void *context)
{
	int bad = reach(caller);
	/* Behind others, it needs its line until there is room. */
	bool wait = !bad && (sp_conn_full(caller->link->conn) || !TAILQ_EMPTY(&caller->waiting));
	struct question *question = new_question(line, wait ? size : 0, answered, context);
	int64_t now = sp_monotonic_ms();

	if (!question) {
		answered(context, -ENOMEM, "out of memory", strlen("out of memory"));
		return;
	}
	question->deadline = now + caller->timeout_ms;
	if (!bad && !wait)
		bad = sp_conn_put(caller->link->conn, line, size);
	if (bad)
		fail_question(caller, question, bad);
	else if (wait)
		TAILQ_INSERT_TAIL(&caller->waiting, question, link);
	else
		TAILQ_INSERT_TAIL(&caller->asked, question, link);
	watch_limit(caller, now);
}
