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
	json_t *record; /* owned */
	json_t *(*finish)(struct job *job, const struct sp_reply *reply);
};

/*
 * Asks the cache about a record (a reference is taken); `finish` then makes the turn's answer of
 * it, a new reference. When the cache cannot be reached or says nonsense the reply is
 * SP_CACHE_UNAVAILABLE, with words. -ENOMEM or 0.
 */
int stage_ask(struct stage *stage, struct sp_turn *turn, json_t *record,
    const struct sp_question *question,
    json_t *(*finish)(struct job *job, const struct sp_reply *reply), struct sp_err *err);

/* Who asks, by --peer, --token-file or our own uid. 0, or the exit code, told. */
int stage_who(struct sp_cli *cli, struct sp_who *ret);

/* Runs the filter of this verb over standard input and output; its exit code. */
int stage_run(struct sp_cli *cli, struct stage *stage, sp_turn_fn *start, void *context);

#endif
