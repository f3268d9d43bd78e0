/*
 * The judge of a soak. It reads what the driver wrote down (DIRECTORY/history) and what the guests
 * did (DIRECTORY/g/N/root/log), and says what was wrong, by rules of its own: no line of it is the
 * tools' or the driver's. Times are microseconds since the start; where one thing took from B to E,
 * it happened somewhere in between.
 *
 *     soak 1 seed S sandboxes N ttl SECONDS skew SECONDS wall US     (US: the time of day at 0)
 *     guest G SANDBOX EXECUTION
 *     install B E SANDBOX WORKER G EXECUTION ATTEMPT CODE            (CODE: of the tool; 0: done)
 *     retire B E SANDBOX WORKER EXECUTION CODE
 *     fence B E SANDBOX WORKER CUT CODE
 *     publish B E SANDBOX WORKER EXECUTION ATTEMPT CODE
 *     withdraw B E SANDBOX EXECUTION CODE
 *     revoke B E KEY WORKER CODE
 *     cache AT WATCH                            it begins: does it follow the registry?
 *     late B E SANDBOX WHAT WANTED CODE         a change that must come to a certain code
 *     window B E SCOPE WHAT                     sN, wN, c0: what we did to whom
 *     op N PRINCIPAL KIND SANDBOX B E MUST OUTCOME
 *     sent N KIND SANDBOX COPY EXECUTION ATTEMPT WORKER KEY IAT EXP ASKED MINTED B E MUST OUTCOME
 *     stream c|g B E SANDBOX EXECUTION ATTEMPT WORKER HOW SENT ECHOED WRONG LAST   (g: by a
 * gateway) died AT WHAT STATUS    trouble AT WHAT CODE    killed AT CLIENT load B E ANSWERED end AT
 * ISSUED
 *
 * KIND: W appends N to its guest's log, X does so by a command, R reads whose guest it is, P is a
 * ping. MUST: why it must be refused, or -. OUTCOME: `ok G AT` (whose answer; place in the log),
 * `refused DECISION REASON`, `error KIND SENT` (0, 1, -), `lost` (its client was killed), `odd`.
 */
#ifndef SOAK_JUDGE_H
#define SOAK_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEVER INT64_MAX

/* How an operation may end besides well; a window excuses some of them. */
enum class {
	CLASS_REFRESH = 1,
	CLASS_BRIDGE = 2, /* a deny about bridge, VMM or guest */
	CLASS_FENCED = 4,
	CLASS_TIME = 8, /* expired, not-yet-valid */
	CLASS_TRANSPORT = 16,
	CLASS_UNAVAILABLE = 32,
	CLASS_KEY = 64, /* revoked-key, unknown-key */
	CLASS_REPLAYED = 128,
	CLASS_OTHER = 256, /* never excused */
};

enum result { OK, REFUSED, UNSENT, MAYBE }; /* MAYBE: it may have run */

/* One answer to one operation. */
struct answer {
	uint64_t number;
	int64_t begin, end;
	int64_t asked, minted, iat, exp; /* of what was held back; asked: else -1 */
	unsigned sandbox, guest, copy, key;
	int64_t execution; /* selected, where that is known */
	int attempt;
	unsigned worker;
	uint32_t at; /* in the log */
	uint16_t class;
	char kind, principal; /* u, t: by `call`; l: late */
	uint8_t result;
	bool must, odd, at_known;
};

/* What a worker was told to serve: from the first moment at which it may to the last one. */
struct incarnation {
	unsigned sandbox, worker, guest;
	int64_t execution;
	int attempt;
	int64_t from, to;
	int64_t going; /* what ends it begins */
};

struct guest {
	bool known;
	unsigned sandbox;
	int64_t execution;
};

struct window {
	int64_t begin, end;
	char scope;
	unsigned number;
	char what[20];
};

struct fence {
	int64_t begin, end;
	unsigned sandbox, worker;
	int cut;
};

struct publication {
	int64_t begin;
	unsigned sandbox;
	int64_t execution;
};

struct cache {
	int64_t at;
	int watch;
};

struct revocation {
	int64_t end;
	unsigned key, worker;
};

struct stream {
	int64_t begin, end;
	unsigned sandbox, worker;
	int64_t execution;
	int attempt;
	char kind, how[16];
	uint64_t sent, echoed;
	int wrong;
	int64_t last;
};

/* A growing array. */
#define LIST(type)                                                                                 \
	struct {                                                                                   \
		type *rows;                                                                        \
		size_t count, room;                                                                \
	}

extern struct history {
	uint64_t seed;
	unsigned sandboxes;
	int64_t ttl, skew, wall;
	int64_t load_begin, load_end;
	uint64_t issued;
	bool ended;
	LIST(struct answer) answers;
	LIST(struct incarnation) incarnations;
	LIST(struct guest) guests; /* by number */
	LIST(struct window) windows;
	LIST(struct fence) fences;
	LIST(struct publication) publications;
	LIST(struct revocation) revocations;
	LIST(struct cache) caches;
	LIST(struct stream) streams;
	uint64_t changes; /* of records and routes */
	/* Where in these lists, once they are sorted, each sandbox begins. */
	size_t *incarnations_of, *fences_of, *publications_of;
} history;

/* What was wrong, by kind; the first of each are said on stderr. */
enum wrong {
	WRONG_EXECUTION,
	AFTER_REFUSAL,
	TWICE,
	MISSING, /* answered well, and not done */
	WENT_BACK,
	NOT_REFUSED,
	STREAM_BYTES,
	STREAM_CUT,
	LATE_CHANGE,
	TROUBLE,
	UNEXPLAINED,
	WRONGS
};
extern const char *const WRONG_NAMES[WRONGS];
extern uint64_t wrongs[WRONGS];
void complain(enum wrong wrong, const char *format, ...) __attribute__((format(printf, 2, 3)));
void die(const char *what, const char *why) __attribute__((noreturn));
void *grow(void *rows, size_t count, size_t *room, size_t size);

/* history.c */
void history_read(const char *directory);

/* windows.c: is an ending of this class explained by what we did? */
void windows_sort(void);
bool windows_excuse(const struct answer *answer, unsigned class);
bool windows_cut(const struct stream *stream);

/* runs.c: what ran where, and was it to. */
void runs_judge(const char *directory);
extern uint64_t ran;

/* answers.c: each answer by itself. */
void answers_judge(void);
bool incarnation_allows(const struct incarnation *incarnation, int64_t begin, int64_t end);
/* Could this guest have been asked by it? */
bool guest_allowed(unsigned guest, const struct answer *answer);

/* streams.c */
void streams_judge(void);

#endif
