/* What route, repair and call share: who asks; a filter with questions to the cache in flight. */
#ifndef SPACEROUTED_STAGE_H
#define SPACEROUTED_STAGE_H

#include <sys/queue.h>
#include "call/who.h"
#include "net/caller.h"
#include "net/pipeline.h"
#include "spacerouted/verbs.h"

struct stage {
	struct sp_caller *caller;
	LIST_HEAD(jobs, job) jobs;
};

/* One record whose answer depends on the cache's. */
struct job {
	LIST_ENTRY(job) link;
	struct stage *stage;
	struct sp_turn *turn;
	json_t *record; /* owned; NULL: it stands in the turn's room, as the line it came in */
	size_t size;    /* of that */
	json_t *(*finish)(struct job *job, const struct sp_reply *reply);
	/* Instead, of a record that stands there: its answer, put together in its place; false:
	 * the record is needed. */
	bool (*finish_quickly)(struct job *job, const char *line, size_t size);
};

/*
 * Asks the cache about a record (a reference is taken); `finish` then makes the turn's answer of
 * it, a new reference. When the cache cannot be reached or says nonsense the reply is
 * SP_CACHE_UNAVAILABLE, with words. -ENOMEM or 0.
 */
int stage_ask(struct stage *stage, struct sp_turn *turn, json_t *record,
    const struct sp_question *question,
    json_t *(*finish)(struct job *job, const struct sp_reply *reply), struct sp_err *err);

/* The same of a line as it came, put into the turn's room. `job` has both finishes. False: out of
 * memory, nothing has been done. */
bool stage_ask_quickly(struct stage *stage, struct sp_turn *turn, const char *line, size_t size,
    const struct sp_out *question, const struct job *job);

/* Who asks, by --peer, --token-file or our own uid. 0, or the exit code, told. */
int stage_who(struct sp_cli *cli, struct sp_who *ret);

/* What a verb's filter is made of; by several threads each has one, `context` is its own. */
struct stage_verb {
	sp_turn_quick_fn *quick; /* may be NULL */
	sp_turn_fn *start;
	struct stage *stage;
	void *context;
};

/* Runs it over standard input and output, by so many threads (--jobs) with one of `verbs` each; the
 * exit code. */
int stage_run(struct sp_cli *cli, const struct stage_verb *verbs, unsigned jobs);

#endif
