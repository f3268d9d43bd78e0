/* A link's bytes: requests out, inside the bracket of the holder's slot; the greeting and answers
 * in. */
#include "spacebridge/link_private.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "bridge/answer.h"
#include "bridge/greeting.h"
#include "record/json.h"
#include "net/parts.h"

#define BATCH_BYTES (256u * 1024u)
#define ENTER_TRIES 8
#define FILLS       4 /* reads a turn, so that one busy bridge does not starve the others */

bool link_late_add(struct link *link, uint64_t number)
{
	if (!link->late)
		link->late = malloc(LINK_LATE_MAX * sizeof(*link->late));
	if (!link->late || link->late_count == LINK_LATE_MAX)
		return false;
	link->late[link->late_count++] = number;
	return true;
}

static bool take_late(struct link *link, uint64_t number)
{
	for (unsigned i = 0; i < link->late_count; i++)
		if (link->late[i] == number) {
			link->late[i] = link->late[--link->late_count];
			return true;
		}
	return false;
}

/* Requests that may go, oldest first. One that has begun was asked before. */
static unsigned gather(struct link *link, const struct sp_page_view *view, struct link_item **items,
    struct iovec *parts)
{
	const struct link_set *set = link->set;
	struct link_item *item = TAILQ_FIRST(&link->waiting), *next;
	unsigned count = 0;
	size_t bytes = 0;

	for (; item && count < SP_PARTS_MAX && bytes < BATCH_BYTES; item = next) {
		next = TAILQ_NEXT(item, entry);
		if (item->written == 0 && !set->handlers->may_pass(item, view, set->context))
			continue;
		items[count] = item;
		parts[count].iov_base = item->line + item->written;
		parts[count].iov_len = item->size - item->written;
		bytes += parts[count++].iov_len;
	}
	return count;
}

static void wholly_written(struct link *link, struct link_item *item)
{
	struct link_set *set = link->set;

	if (item->number == 0) {
		link_item_detach(item);
		free(item->line);
		free(item);
		return;
	}
	TAILQ_REMOVE(&link->waiting, item, entry);
	TAILQ_INSERT_TAIL(&link->sent, item, entry);
	free(sp_steal(&item->line));
	if (set->sent++ == 0)
		ev_timer_again(set->options.loop, &set->watch);
}

static void account(struct link *link, struct link_item **items, const struct iovec *parts,
    unsigned count, ssize_t written)
{
	struct link_set *set = link->set;

	for (unsigned i = 0; i < count && written > 0; i++) {
		bool begins = items[i]->written == 0;
		items[i]->written += sp_parts_take(&parts[i], &written);
		if (begins && items[i]->number != 0)
			set->handlers->passed(items[i], set->context);
		if (items[i]->written == items[i]->size)
			wholly_written(link, items[i]);
	}
}

/* One batch. True: there may be more to write at once. */
static bool write_batch(struct link *link)
{
	struct link_item *items[SP_PARTS_MAX];
	struct iovec parts[SP_PARTS_MAX];
	struct sp_page_view view;
	struct link_set *set = link->set;
	unsigned count;
	ssize_t n;
	int entered;

	if (link_settled(link, &view) != 1)
		return false;
	count = gather(link, &view, items, parts);
	if (count == 0 || link->state != LINK_OPEN)
		return false;
	if (!set->handlers->commit(set->context))
		return true;
	entered = sp_holder_enter(set->options.holder, link->ref, &view);
	if (entered == -EAGAIN)
		link_pause(link);
	if (entered < 0)
		return entered == SP_E_CONFLICT; /* the record moved since the look: look again */
	n = sp_parts_write(link->fd, parts, count);
	sp_holder_leave(set->options.holder);
	if (n == -EAGAIN) {
		ev_io_start(set->options.loop, &link->writable);
		return false;
	}
	if (n < 0) {
		/* What was answered before the bridge went is not lost with it. */
		link_read(link);
		link_lose(link, "the bridge's connection broke: %s", strerror((int)-n));
		return false;
	}
	account(link, items, parts, count, n);
	return link->state == LINK_OPEN;
}

void link_write(struct link *link)
{
	if (link->state != LINK_OPEN || ev_is_active(&link->retry))
		return;
	while (!TAILQ_EMPTY(&link->waiting))
		if (!write_batch(link))
			return;
	ev_io_stop(link->set->options.loop, &link->writable);
}

static void give_stream(struct link *link, struct link_item *item, int64_t from)
{
	struct link_set *set = link->set;
	struct link_stream stream;

	/* Without memory for it the item ends with the link. */
	if (link_give_away(link, &stream) < 0)
		return;
	stream.from = from;
	link_item_detach(item);
	set->handlers->opened(item, &stream, set->context);
}

static void take_answer(struct link *link, const char *line, size_t size)
{
	struct link_set *set = link->set;
	struct sp_answer answer;
	struct link_item *item;
	struct sp_err err = {0};
	int64_t from;

	if (sp_answer_read(line, size, &answer, &err)) {
		link_lose(link, "an answer that belongs to no request: %s", err.message);
		return;
	}
	item = link_item_find(link, answer.number);
	if (item && link->alone && sp_answer_of_stream(&answer, &from)) {
		give_stream(link, item, from);
	} else if (item) {
		bool believed = sp_answer_of_guest(&answer, &err) == 0;
		link_item_detach(item);
		set->handlers->answered(item, &answer, believed ? NULL : err.message, set->context);
	} else if (!take_late(link, answer.number)) {
		link_lose(link, "an answer that belongs to no request, or a second one");
	}
	if (link->alone)
		link_lose(link, "it has done its work");
	sp_answer_done(&answer);
}

static enum sp_reason prove_onward(struct link *link, const struct sp_greeting *greeting,
    struct sp_report *report, enum sp_onward_end *ret_end)
{
	struct sp_attestation *begun = sp_steal(&link->onward);
	struct sp_onward onward;

	if (!sp_greeting_onward(greeting, &onward)) {
		sp_attest_close(begun);
		return SP_REASON_LISTENER_OWNER;
	}
	return begun ? sp_attest_onward_end(begun, link->attestation, &onward, report, ret_end)
		     : sp_attest_onward(link->attestation, &onward, link->vmm,
			   link->set->options.min_level, report, ret_end);
}

/* Steps 5 and 6, and for what is ready also that the bridge's own connection ends in the recorded
 * VMM; 8 at the end. *ret_end: what became of one of the two meanwhile. */
static enum sp_reason prove(struct link *link, const struct sp_greeting *greeting,
    struct sp_report *report, enum sp_onward_end *ret_end)
{
	bool ready = greeting->kind == SP_GREETING_READY;
	enum sp_reason reason;

	if (ready)
		sp_attest_hint(link->attestation, (int)greeting->fd);
	reason = sp_attest_accepted(link->attestation, report);
	*ret_end =
	    reason && sp_attest_ended(link->attestation) ? SP_ONWARD_ENDED : SP_ONWARD_STANDS;
	if (!reason && ready)
		reason = prove_onward(link, greeting, report, ret_end);
	return reason ? reason : sp_attest_alive(link->attestation, report);
}

/* Of what is no more there is no evidence, which is none against it: whoever asks may ask again. */
static bool is_proven(struct link *link, const struct sp_greeting *greeting)
{
	struct sp_report report = {.failed_only = true};
	enum sp_onward_end end = SP_ONWARD_STANDS;
	enum sp_reason reason = prove(link, greeting, &report, &end);

	if (reason == SP_REASON_EVIDENCE_UNAVAILABLE && end == SP_ONWARD_ENDED)
		link_lose(link, "the connection ended before the bridge was proven");
	else if (reason == SP_REASON_LISTENER_OWNER && end == SP_ONWARD_GONE)
		link_doubt(link, reason, &report);
	else if (reason)
		link_refuse(link, reason, LINK_HOP, &report);
	sp_report_done(&report);
	return !reason;
}

static void take_ready(struct link *link, const struct sp_greeting *greeting)
{
	if (strcmp(greeting->sandbox, link->identity.sandbox) != 0 ||
	    greeting->execution != link->identity.route.execution ||
	    greeting->epoch != link->epoch) {
		link_lose(link, "the bridge is ready for another execution than was selected");
		return;
	}
	link_ready(link);
	link_write(link);
}

/* Who said it is looked at before it is believed. */
static void take_greeting(struct link *link, const char *line, size_t size)
{
	struct sp_greeting greeting = {.kind = SP_GREETING_ERROR};
	struct sp_err err = {0};
	int bad = sp_greeting_parse(line, size, &greeting, &err);

	if (!is_proven(link, &greeting))
		return;
	if (bad)
		link_lose(link, "%s", err.message);
	else if (greeting.kind == SP_GREETING_READY)
		take_ready(link, &greeting);
	else if (greeting.kind == SP_GREETING_REFUSED)
		link_close(link, &(struct link_end){.outcome = LINK_REFUSED,
				     .reason = greeting.reason,
				     .hop = "spaced-host",
				     .words = "the bridge refused; its own audit line says why"});
	else
		link_close(link,
		    &(struct link_end){
			.outcome = LINK_ERROR, .error = greeting.error, .words = greeting.message});
}

static void take_line(struct link *link, const char *line, size_t size)
{
	if (link->state == LINK_OPENING)
		take_greeting(link, line, size);
	else
		take_answer(link, line, size);
}

/* The greeting: nothing is passed back for it, so no bracket is needed. */
static void read_greeting(struct link *link)
{
	char *line;
	size_t size;
	int got = sp_line_next(&link->reader, &line, &size);

	if (got == 1 && !link->doubts)
		take_line(link, line, size);
	else if (got != 1 && got != -EAGAIN)
		link_lose(link, link->doubts ? "the bridge ended before it was proven"
					     : "the bridge ended before it said that it is ready");
}

static void read_lines(struct link *link)
{
	for (int fills = 0; link->state == LINK_OPEN;) {
		char *line;
		size_t size;
		int got = sp_line_take(&link->reader, &line, &size);
		if (got == 1) {
			take_line(link, line, size);
		} else if (got == -EAGAIN) {
			if (fills++ == FILLS)
				break;
			got = sp_line_fill(&link->reader);
			if (got == -EAGAIN)
				break;
			if (got < 0)
				link_lose(
				    link, "the bridge's connection broke: %s", sp_code_text(got));
		} else {
			link_lose(link, "%s",
			    got == SP_E_TOO_LARGE ? "an answer longer than 256 KiB"
						  : "the bridge ended the connection");
		}
	}
}

/* 1: inside the bracket. Otherwise nothing may be passed back now. */
static int enter(struct link *link)
{
	struct sp_page_view view;
	int entered = SP_E_CONFLICT;

	/* A version that moves without the epoch (a handoff, a fence) is looked at again. */
	for (int i = 0; i < ENTER_TRIES && entered == SP_E_CONFLICT; i++) {
		if (link_settled(link, &view) != 1)
			return 0;
		entered = sp_holder_enter(link->set->options.holder, link->ref, &view);
	}
	if (entered < 0)
		link_pause(link);
	return entered == 0;
}

void link_read(struct link *link)
{
	struct link_set *set = link->set;

	if (link->state == LINK_OPENING)
		read_greeting(link);
	if (link->state != LINK_OPEN || !enter(link))
		return;
	read_lines(link);
	set->handlers->flush(set->context);
	sp_holder_leave(set->options.holder);
}
