/* A link's life: opened, attested, watched, closed. */
#include "spacebridge/link_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"

#define LINKS_MAX 4096
#define RETRY     0.001 /* seconds between looks at a pending change */
#define DOUBT     1.    /* in which what ended behind a bridge ends before it, too */

static void stop_watchers(struct link *link)
{
	struct ev_loop *loop = link->set->options.loop;

	ev_io_stop(loop, &link->readable);
	ev_io_stop(loop, &link->writable);
	ev_io_stop(loop, &link->exited);
	ev_timer_stop(loop, &link->limit);
	ev_timer_stop(loop, &link->retry);
	ev_timer_stop(loop, &link->doubt);
	(void)ev_clear_pending(loop, &link->pump);
}

static bool has_moved(const struct link *link, const struct sp_page_view *view)
{
	if (view->pending)
		return view->writer_dead;
	return view->state != SP_PAGE_ACTIVE || (int64_t)view->epoch != link->epoch;
}

/* The listed one takes new items. One that never opened stays listed for the rest of this turn:
 * what is asked in the same breath shares its failure, instead of repeating it. */
static void end_with(struct link *link, const struct link_end *end)
{
	if (link->state == LINK_OPEN || end->outcome == LINK_MOVED)
		link_unlist(link);
	link->state = LINK_CLOSING;
	link->end = *end;
	(void)snprintf(link->words, sizeof(link->words), "%s", end->words ? end->words : "");
	link->end.words = link->words;
	stop_watchers(link);
	ev_feed_event(link->set->options.loop, &link->finish, EV_CUSTOM);
}

void link_close(struct link *link, const struct link_end *end)
{
	static const struct link_end moved = {
	    .outcome = LINK_MOVED, .words = "the execution was replaced or retired meanwhile"};
	struct sp_page_view view;

	if (link->state == LINK_CLOSING)
		return;
	/* A bridge that fails because its execution was replaced is no accident: what has not been
	 * sent is to learn of the new route. */
	if (end->outcome == LINK_MOVED ||
	    (link->has_ref && (sp_page_look(link->set->options.store, link->ref, &view) < 0 ||
				  has_moved(link, &view))))
		end = &moved;
	end_with(link, end);
}

void link_lose(struct link *link, const char *format, ...)
{
	char words[SP_ERR_MAX];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(words, sizeof(words), format, list);
	va_end(list);
	link_close(link, &(struct link_end){.outcome = LINK_LOST, .words = words});
}

/* Stub items (see link_drop) belong to the link alone. */
static void end_items(struct link *link, struct link_items *items)
{
	struct link_item *item, *next;

	for (item = TAILQ_FIRST(items); item; item = next) {
		next = TAILQ_NEXT(item, entry);
		bool stub = item->number == 0;
		link_item_detach(item);
		if (!stub)
			link->set->handlers->ended(item, &link->end, link->set->context);
		else {
			free(item->line);
			free(item);
		}
	}
}

void link_free_now(struct link *link)
{
	struct link_set *set = link->set;

	(void)ev_clear_pending(set->options.loop, &link->finish);
	link_unlist(link);
	sp_attest_close(link->attestation);
	sp_attest_close(link->onward);
	end_items(link, &link->sent);
	end_items(link, &link->waiting);
	link_set_remove(link);
	if (link->reader.buffer)
		sp_line_reader_done(&link->reader);
	json_decref(link->vmm);
	free(link->late);
	free(link->doubts);
	free(link);
}

static void on_finish(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	link_free_now(watcher->data);
}

void link_pause(struct link *link)
{
	struct ev_loop *loop = link->set->options.loop;
	int64_t now = sp_monotonic_ms();

	if (!link->paused_since)
		link->paused_since = now;
	if (now - link->paused_since > link->set->options.settle_ms) {
		link_close(link, &(struct link_end){.outcome = LINK_MOVED});
		return;
	}
	ev_io_stop(loop, &link->readable);
	ev_io_stop(loop, &link->writable);
	ev_timer_set(&link->retry, RETRY, 0.);
	ev_timer_start(loop, &link->retry);
}

int link_settled(struct link *link, struct sp_page_view *ret_view)
{
	struct sp_page_view view;

	if (link->state == LINK_CLOSING)
		return -1;
	if (sp_page_look(link->set->options.store, link->ref, &view) < 0 ||
	    has_moved(link, &view)) {
		link_close(link, &(struct link_end){.outcome = LINK_MOVED});
		return -1;
	}
	if (view.pending) {
		link_pause(link);
		return link->state == LINK_CLOSING ? -1 : 0;
	}
	link->paused_since = 0;
	*ret_view = view;
	return 1;
}

static void on_retry(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct link *link = watcher->data;
	struct sp_page_view view;

	(void)events;
	if (link_settled(link, &view) != 1)
		return;
	ev_io_start(loop, &link->readable);
	link_write(link);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	link_read(watcher->data);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	link_write(watcher->data);
}

static void on_pump(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)loop;
	(void)events;
	link_write(watcher->data);
}

static void on_exited(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	link_lose(watcher->data, "the bridge's process has ended");
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	link_close(
	    watcher->data, &(struct link_end){.outcome = LINK_ERROR,
			       .error = SP_ERROR_TIMEOUT,
			       .words = "the bridge did not say in time whether it is ready"});
}

static void on_doubt(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct link *link = watcher->data;

	(void)loop;
	(void)events;
	link_close(link, &(struct link_end){.outcome = LINK_REFUSED,
			     .reason = link->doubted,
			     .hop = LINK_HOP,
			     .words = link->doubts});
}

void link_doubt(struct link *link, enum sp_reason reason, const struct sp_report *report)
{
	char words[SP_ERR_MAX] = "";

	sp_report_words(report, words, sizeof(words));
	link->doubts = strdup(words);
	link->doubted = reason;
	if (link->doubts)
		ev_timer_start(link->set->options.loop, &link->doubt);
	else
		link_refuse(link, reason, LINK_HOP, report);
}

static void init_watchers(struct link *link)
{
	ev_init(&link->readable, on_readable);
	ev_init(&link->writable, on_writable);
	ev_init(&link->exited, on_exited);
	ev_timer_init(&link->limit, on_limit, link->set->options.connect_timeout_ms / 1000., 0.);
	ev_timer_init(&link->retry, on_retry, RETRY, 0.);
	ev_timer_init(&link->doubt, on_doubt, DOUBT, 0.);
	ev_prepare_init(&link->pump, on_pump);
	ev_prepare_init(&link->finish, on_finish);
	/* After all lines of a turn have been read: many requests make one write. */
	ev_set_priority(&link->pump, EV_MINPRI);
	ev_set_priority(&link->finish, EV_MINPRI);
	link->readable.data = link->writable.data = link->exited.data = link;
	link->limit.data = link->retry.data = link->doubt.data = link->pump.data =
	    link->finish.data = link;
}

static struct link *make(struct link_set *set, const struct sp_record *record)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->set = set;
	link->fd = -1;
	link->identity = record->identity;
	link->epoch = record->epoch;
	link->used_at = sp_monotonic_ms();
	TAILQ_INIT(&link->waiting);
	TAILQ_INIT(&link->sent);
	init_watchers(link);
	link_set_add(link);
	return link;
}

void link_refuse(
    struct link *link, enum sp_reason reason, const char *hop, const struct sp_report *report)
{
	char words[SP_ERR_MAX] = "";

	sp_report_words(report, words, sizeof(words));
	link_close(
	    link, &(struct link_end){
		      .outcome = LINK_REFUSED, .reason = reason, .hop = hop, .words = words});
}

/* Steps 1 to 3 of the verification. The greeting proves that the bridge has accepted: link_io.c
 * goes on there. */
static void start(struct link *link, const struct sp_record *record)
{
	struct ev_loop *loop = link->set->options.loop;
	struct sp_report report = {.failed_only = true};
	enum sp_reason reason;
	int pidfd;

	if (sp_page_find(link->set->options.store, link->identity.sandbox, &link->ref) < 0) {
		link_close(link, &(struct link_end){.outcome = LINK_ERROR,
				     .error = SP_ERROR_UNAVAILABLE,
				     .words = "the page of records does not know this sandbox"});
		return;
	}
	link->has_ref = true;
	link->vmm = json_incref(record->vmm);
	reason = sp_attest_open(SP_ROLE_BRIDGE, record->bridge, link->set->options.min_level,
	    &report, &link->attestation);
	if (reason)
		link_refuse(link, reason, LINK_HOP, &report);
	else if (!link->attestation)
		link_close(link, &(struct link_end){.outcome = LINK_ERROR,
				     .error = SP_ERROR_OVERLOADED,
				     .words = "the bridge's backlog is full"});
	sp_report_done(&report);
	if (link->state == LINK_CLOSING)
		return;
	link->fd = sp_attest_fd(link->attestation);
	if (sp_line_reader_init(&link->reader, link->fd, SP_LINE_MAX) < 0) {
		link_lose(link, "out of memory");
		return;
	}
	pidfd = sp_attest_pidfd(link->attestation);
	ev_io_set(&link->readable, link->fd, EV_READ);
	ev_io_set(&link->writable, link->fd, EV_WRITE);
	ev_io_start(loop, &link->readable);
	ev_timer_start(loop, &link->limit);
	if (pidfd >= 0) {
		ev_io_set(&link->exited, pidfd, EV_READ);
		ev_io_start(loop, &link->exited);
	}
	/* While the bridge looks at us, and at its VMM. */
	link->onward = sp_attest_onward_begin(link->vmm, link->set->options.min_level);
}

void link_ready(struct link *link)
{
	ev_timer_stop(link->set->options.loop, &link->limit);
	link->state = LINK_OPEN;
}

/* NULL: out of memory. */
static struct link *open_link(struct link_set *set, const struct sp_record *record, bool alone)
{
	struct link *link = make(set, record);

	if (link)
		link->alone = alone;
	if (link && !alone)
		link_enlist(link);
	if (link && set->count > LINKS_MAX)
		link_close(link, &(struct link_end){.outcome = LINK_ERROR,
				     .error = SP_ERROR_OVERLOADED,
				     .words = "too many links to bridges"});
	else if (link)
		start(link, record);
	return link;
}

struct link *link_obtain(struct link_set *set, const struct sp_record *record)
{
	struct link *link = link_find(set, record->identity.sandbox);

	if (link && link->epoch == record->epoch)
		return link;
	if (link) {
		link_close(link, &(struct link_end){.outcome = LINK_MOVED});
		link_unlist(link);
	}
	return open_link(set, record, false);
}

struct link *link_make_alone(struct link_set *set, const struct sp_record *record)
{
	return open_link(set, record, true);
}

int link_give_away(struct link *link, struct link_stream *ret)
{
	const struct sp_line_reader *reader = &link->reader;
	struct link_stream stream = {.rest_size = reader->end - reader->start};

	link_lose(link, "it has become a stream");
	if (stream.rest_size > 0) {
		stream.rest = malloc(stream.rest_size);
		if (!stream.rest)
			return -ENOMEM;
		memcpy(stream.rest, reader->buffer + reader->start, stream.rest_size);
	}
	stream.attestation = sp_steal(&link->attestation);
	link->fd = -1;
	*ret = stream;
	return 0;
}
