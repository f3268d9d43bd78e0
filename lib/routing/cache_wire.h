/*
 * The cache's line protocol: one JSON object a question, one an answer, in order, on a Unix socket.
 *
 *   {"ask":"get","caller":C,"sandbox":S[,"op":O][,"port":N,"protocol":P][,"credential":H]}
 *   {"ask":"reject","caller":C,"sandbox":S,"rejected":ROUTE}
 *   {"ask":"renew","caller":C,"sandbox":S[,"credential":H]}
 *   {"ask":"drop"[,"caller":C][,"sandbox":PATTERN]}          without both: everything
 *   {"ask":"stats"}
 *   {"ask":"dump"[,"position":N]}
 *
 * C is uid:N or token:NAME; H the BLAKE2b-256 of the bearer token, in base64url. Answers:
 *
 *   {"status":"ok","effect":"hit|filled|renewed","route":ROUTE,"endpoint":E,"revision":N,
 *    "access":[...],"ports":[...],"expires":TIME}
 *   {"status":"ok","effect":"replaced|kept","route":ROUTE,"endpoint":E,"revision":N}
 *   {"status":"ok","effect":"unchanged|gone"}
 *   {"status":"ok","effect":"dropped","count":N}
 *   {"status":"ok","counters":{...}}
 *   {"status":"ok","entries":[{"caller":C,"sandbox":S,...},...][,"position":N]}   N: where to go on
 *   {"status":"refused","decision":"deny","reason":"unauthorized"}
 *   {"status":"error","error":"unavailable|bad-record","message":WORDS}
 */
#ifndef SP_ROUTING_CACHE_WIRE_H
#define SP_ROUTING_CACHE_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "record/out.h"
#include "record/reason.h"
#include "routing/cache.h"

enum sp_question_kind {
	SP_QUESTION_GET,
	SP_QUESTION_REJECT,
	SP_QUESTION_RENEW,
	SP_QUESTION_DROP,
	SP_QUESTION_STATS,
	SP_QUESTION_DUMP,
};

struct sp_question {
	enum sp_question_kind kind;
	char caller[SP_PRINCIPAL_MAX + 1]; /* "": none (drop) */
	char sandbox[SP_ID_MAX + 1];       /* "": none (drop); a pattern with drop */
	bool has_credential;
	unsigned char credential[SP_CREDENTIAL_SIZE];
	const struct sp_op *op; /* get; NULL: nothing in particular */
	int port, protocol;     /* of port.connect; 0 and -1: none */
	struct sp_route rejected;
	int64_t position; /* dump */
};

/* SP_E_BAD_RECORD names what is wrong. */
int sp_question_parse(const char *line, size_t size, struct sp_question *ret, struct sp_err *err);

/* The same, quickly, of a get or reject as sp_question_text writes it. False: not judged, *ret is
 * void, let sp_question_parse say. */
bool sp_question_quick(const char *line, size_t size, struct sp_question *ret);

/* The line, which SP_QUESTION_MAX bytes have room for; heap, NULL when out of memory. */
#define SP_QUESTION_MAX 2048
void sp_question_put(const struct sp_question *question, struct sp_out *out);
char *sp_question_text(const struct sp_question *question);

/* A get, reject or renew as the cache's rules take it; it points into the question. */
struct sp_cache_ask sp_question_ask(const struct sp_question *question);

/* Formats the answer into `text`; the size, or 0 when it does not fit (SP_REPLY_MAX always does).
 */
#define SP_REPLY_MAX (16u * 1024u)
size_t sp_reply_format(const struct sp_cache_answer *answer, char *text, size_t room);

/* An error answer; heap, NULL when out of memory. */
char *sp_reply_error(enum sp_error_kind kind, const char *message);

/* One entry of a dump; a new reference, NULL when out of memory. */
json_t *sp_reply_entry(
    const char *caller, const char *sandbox, const struct sp_cache_answer *entry);

/* What a client makes of the answer to a get, reject or renew. */
struct sp_reply {
	enum sp_cache_effect effect;
	bool routed; /* the following are set */
	struct sp_route route;
	char endpoint[SP_ENDPOINT_MAX + 1];
	json_t *access;  /* array, a reference of the reply's; NULL but for get and renew */
	int64_t expires; /* seconds; with access */
	char message[SP_ERR_MAX];
};

/* 0, or SP_E_BAD_RECORD: the answer is none to such a question. An error answer is
 * SP_CACHE_UNAVAILABLE with its words. */
int sp_reply_parse(const char *line, size_t size, struct sp_reply *ret, struct sp_err *err);
void sp_reply_done(struct sp_reply *reply);

/* Pieces of an entry's answer as it was written, borrowed from the line: JSON that sp_json_write
 * would write so. */
struct sp_reply_pieces {
	const char *route, *endpoint, *access, *expires;
	size_t route_size, endpoint_size, access_size, expires_size;
};

/* sp_reply_parse, quickly, of an entry (hit, filled, renewed) as sp_reply_format writes it. False:
 * not judged, *ret is void. */
bool sp_reply_quick(const char *line, size_t size, struct sp_reply_pieces *ret);

#endif
