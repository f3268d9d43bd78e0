/* What all calls of a path share: cache, signer, managers, and the questions that are out. */
#include "call/inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "call/route.h"

struct wait *wait_new(struct sp_path *path, struct sp_call *call)
{
	struct wait *wait = calloc(1, sizeof(*wait));

	if (wait) {
		wait->call = call;
		LIST_INSERT_HEAD(&path->waits, wait, link);
	}
	return wait;
}

void wait_free(struct wait *wait)
{
	LIST_REMOVE(wait, link);
	free(wait);
}

int sp_path_new(const struct sp_path_options *options, struct sp_path **ret, struct sp_err *err)
{
	const struct sp_endpoint_options endpoints = {.loop = options->loop,
	    .uids = options->manager_uids,
	    .uid_count = options->manager_uid_count,
	    .timeout_ms = options->manager_timeout_ms};
	struct sp_path *path = calloc(1, sizeof(*path));
	int bad = path ? sp_caller_new(options->loop, options->cache_socket,
			     options->cache_timeout_ms, &path->cache, NULL)
		       : -ENOMEM;

	if (!bad && options->signer_socket)
		bad = sp_caller_new(options->loop, options->signer_socket, SP_SIGNER_TIMEOUT_MS,
		    &path->signer, NULL);
	if (!bad)
		bad = sp_endpoint_set_new(
		    &endpoints, &call_endpoint_handlers, path, &path->endpoints);
	if (bad) {
		sp_path_free(path);
		return sp_fail(err, bad, "out of memory");
	}
	LIST_INIT(&path->waits);
	path->loop = options->loop;
	path->minter = options->minter;
	path->audit = options->audit;
	path->no_streams = options->no_streams;
	*ret = path;
	return 0;
}

void sp_path_limits(struct sp_path *path, const struct sp_path_options *options)
{
	sp_caller_timeout(path->cache, options->cache_timeout_ms);
	sp_endpoint_set_limits(path->endpoints, options->manager_uids, options->manager_uid_count,
	    options->manager_timeout_ms);
}

void sp_path_free(struct sp_path *path)
{
	if (!path)
		return;
	sp_endpoint_set_free(path->endpoints);
	sp_caller_free(path->cache);
	sp_caller_free(path->signer);
	while (!LIST_EMPTY(&path->waits))
		wait_free(LIST_FIRST(&path->waits));
	free(path);
}

static void where_answered(void *context, int code, const char *line_or_words, size_t size)
{
	struct wait *wait = context;
	struct sp_reply reply;

	sp_route_stage_reply(code, line_or_words, size, &reply);
	if (wait->replied)
		wait->replied(wait->context, &reply);
	sp_reply_done(&reply);
	wait_free(wait);
}

int sp_path_where(struct sp_path *path, const struct sp_who *who, const char *sandbox,
    const struct sp_route *rejected, sp_path_where_fn *replied, void *context,
    struct sp_where **ret)
{
	struct sp_question question;
	sp_auto_free char *text = NULL;
	struct wait *wait;

	sp_route_stage_where(who, sandbox, &question);
	if (rejected) {
		question.kind = SP_QUESTION_REJECT;
		question.has_credential = false; /* it gives nothing that is not asked for again */
		question.rejected = *rejected;
	}
	text = sp_question_text(&question);
	wait = text ? wait_new(path, NULL) : NULL;
	if (!wait)
		return -ENOMEM;
	wait->replied = replied;
	wait->context = context;
	sp_caller_ask(path->cache, text, strlen(text), where_answered, wait);
	*ret = (struct sp_where *)wait;
	return 0;
}

void sp_path_where_cancel(struct sp_where *where)
{
	((struct wait *)where)->replied = NULL;
}
