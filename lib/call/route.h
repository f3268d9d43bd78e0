/*
 * The stage `route`: asked -> routed (05-routing, Filters). It is the entry of the path: whatever
 * is not exactly an asked record is a bad record here, so nothing a caller writes passes for what
 * the control plane adds. Pure; somebody else asks the cache.
 */
#ifndef SP_CALL_ROUTE_H
#define SP_CALL_ROUTE_H

#include <jansson.h>
#include "call/who.h"
#include "routing/cache_wire.h"

#define SP_ROUTE_HOP "node-api" /* who refuses, in the records made here */

/*
 * What the cache is to be asked about an asked record that came as a line of `size` bytes. 0:
 * *ret is the question; 1: none, *ret_answer is the record's answer (a new reference, NULL: out of
 * memory); SP_E_BAD_RECORD.
 */
int sp_route_stage_ask(const json_t *record, size_t size, const struct sp_who *who,
    struct sp_question *ret, json_t **ret_answer, struct sp_err *err);

/* The same of a usual line, compact (record/scan.h), without a tree: the question's text is added
 * to `question`, which has room for SP_QUESTION_MAX. False: not judged. */
bool sp_route_stage_quick(
    const char *line, size_t size, const struct sp_who *who, struct sp_out *question);

/* What such a line becomes by an entry of the cache: all of it but its closing brace stands in
 * `out`, which has room for the cache's answer and SP_ROUTED_MORE bytes behind that. */
#define SP_ROUTED_MORE 512
void sp_route_stage_put(
    const struct sp_who *who, const struct sp_reply_pieces *pieces, struct sp_out *out);

/* The question where a sandbox is, about nothing in particular; `sandbox` is a valid id. */
void sp_route_stage_where(const struct sp_who *who, const char *sandbox, struct sp_question *ret);

/* The routed record that the cache's reply makes of it (`record` itself, changed), or its answer. A
 * new reference, NULL: out of memory. */
json_t *sp_route_stage_finish(
    json_t *record, const struct sp_who *who, const struct sp_reply *reply);

/* What came back from the cache, as sp_caller_fn is given it, is a reply in any case:
 * SP_CACHE_UNAVAILABLE, with words, when there is none. For sp_reply_done. */
void sp_route_stage_reply(int code, const char *line_or_words, size_t size, struct sp_reply *ret);

#endif
