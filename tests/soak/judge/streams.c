/* Streams: nothing is missing, twice or changed; one that may stay stays; one that may not is cut.
 */
#include "judge.h"

#include <inttypes.h>
#include <string.h>

#define CUT_WITHIN 30000000 /* microseconds after the change is done */

static const struct incarnation *selected(const struct stream *stream)
{
	for (size_t i = history.incarnations_of[stream->sandbox];
	     i < history.incarnations_of[stream->sandbox + 1]; i++) {
		const struct incarnation *one = &history.incarnations.rows[i];
		if (one->worker == stream->worker && one->execution == stream->execution &&
		    one->attempt == stream->attempt)
			return one;
	}
	return NULL;
}

/* A gateway's stream stays while only the attempt changes: it goes with the last one. */
static int64_t until(const struct stream *stream, int64_t own, bool going)
{
	if (stream->kind != 'g')
		return own;
	for (size_t i = history.incarnations_of[stream->sandbox];
	     i < history.incarnations_of[stream->sandbox + 1]; i++) {
		const struct incarnation *one = &history.incarnations.rows[i];
		if (one->worker == stream->worker && one->execution == stream->execution &&
		    (going ? one->going : one->to) > own)
			own = going ? one->going : one->to;
	}
	return own;
}

/* When a fence that cuts was done, after which nothing is moved: the first while it stood. */
static int64_t fenced_at(const struct stream *stream)
{
	int64_t at = NEVER;

	for (size_t i = history.fences_of[stream->sandbox];
	     i < history.fences_of[stream->sandbox + 1]; i++) {
		const struct fence *fence = &history.fences.rows[i];
		if (fence->cut && fence->sandbox == stream->sandbox &&
		    fence->worker == stream->worker && fence->begin > stream->begin &&
		    fence->end < at)
			at = fence->end;
	}
	return at;
}

static void judge(const struct stream *stream)
{
	const struct incarnation *one = selected(stream);
	int64_t to = one ? until(stream, one->to, false) : 0,
		going = one ? until(stream, one->going, true) : 0;
	int64_t fenced = fenced_at(stream);
	bool stood = strcmp(stream->how, "stood") == 0;

	to = fenced < to ? fenced : to;
	if (!one || one->from > stream->begin || to < stream->last) {
		complain(WRONG_EXECUTION,
		    "a stream of sandbox %u, execution %" PRId64 ", moved bytes at %" PRId64,
		    stream->sandbox, stream->execution, stream->last);
		return;
	}
	if (stream->wrong || stream->echoed > stream->sent ||
	    (stood && stream->echoed != stream->sent))
		complain(STREAM_BYTES,
		    "a stream of sandbox %u: %" PRIu64 " of %" PRIu64 " numbers%s", stream->sandbox,
		    stream->echoed, stream->sent, stream->wrong ? ", not in order" : "");
	if (stood && to != NEVER && to + CUT_WITHIN < stream->end)
		complain(STREAM_CUT, "a stream of sandbox %u outlived execution %" PRId64,
		    stream->sandbox, stream->execution);
	if (!stood && going > stream->end && !windows_cut(stream))
		complain(STREAM_CUT,
		    "a stream of sandbox %u ended at %" PRId64 ", and nothing was done to it",
		    stream->sandbox, stream->end);
}

void streams_judge(void)
{
	for (size_t i = 0; i < history.streams.count; i++)
		judge(&history.streams.rows[i]);
}
