/*
 * What is said to etcd v3's JSON gateway and what it answers: keys and values are base64, 64-bit
 * numbers are strings, and what is zero or false is left out. Pure. Not for others than the etcd
 * backend.
 */
#ifndef SP_ROUTING_ETCD_MESSAGE_H
#define SP_ROUTING_ETCD_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "base/limits.h"

#define SP_ETCD_KEY_MAX 768 /* prefix, kind, and at most three ids with what is between them */

struct sp_etcd_key {
	size_t size;
	char text[SP_ETCD_KEY_MAX + 1]; /* a NUL after it, and perhaps in it */
};

/* Formats; cut at the bound, which no key of valid ids reaches. */
struct sp_etcd_key sp_etcd_key_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * A transaction being put together: comparisons, and what is done when all of them hold. Out of
 * memory is remembered and said by sp_etcd_transaction_text.
 */
struct sp_etcd_transaction {
	json_t *compare, *success, *failure;
	bool failed;
};

void sp_etcd_transaction_init(struct sp_etcd_transaction *transaction);
void sp_etcd_transaction_done(struct sp_etcd_transaction *transaction);

/* Holds when the key was last modified at this revision; 0: there is none. */
void sp_etcd_compare(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key, int64_t modified);
/* Holds when no key of this prefix was written after this revision. */
void sp_etcd_compare_prefix(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *prefix, int64_t revision);

void sp_etcd_range(struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key);
void sp_etcd_range_prefix(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *prefix, unsigned limit);
/* Read instead when a comparison does not hold. */
void sp_etcd_else_range(struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key);
void sp_etcd_put(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key, const char *value);
void sp_etcd_delete(struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key);
void sp_etcd_delete_prefix(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *prefix);

/* The body of a request to /v3/kv/txn; heap, NULL: out of memory. */
char *sp_etcd_transaction_text(const struct sp_etcd_transaction *transaction);

/* The body of a request to /v3/kv/range: a page of a prefix, from the key `after` on but without it
 * (NULL: from the first), as of `revision` (0: now). */
char *sp_etcd_page_text(const struct sp_etcd_key *prefix, const struct sp_etcd_key *after,
    unsigned limit, int64_t revision);

/* The body of a request to /v3/watch: all of a prefix, from `revision` on (0: from now on). */
char *sp_etcd_watch_text(const struct sp_etcd_key *prefix, int64_t revision);

/* A number that may be a string, or missing: 0. */
int64_t sp_etcd_number(const json_t *object, const char *name);

/* The cluster's revision of an answer. */
int64_t sp_etcd_revision(const json_t *answer);

/* What the n-th range of a transaction found: an array, or NULL for nothing. */
const json_t *sp_etcd_found(const json_t *answer, unsigned index);
/* Was it cut at its limit? And how many are there in all? */
bool sp_etcd_found_more(const json_t *answer, unsigned index);
int64_t sp_etcd_found_count(const json_t *answer, unsigned index);

/* A key and its value. */
struct sp_etcd_pair {
	struct sp_etcd_key key;
	char *value; /* heap, with a NUL after it */
	size_t size;
	int64_t created, modified, version;
};

/* SP_E_BAD_RECORD. */
int sp_etcd_pair_take(const json_t *object, struct sp_etcd_pair *ret);
void sp_etcd_pair_done(struct sp_etcd_pair *pair);
#define sp_auto_pair sp_cleanup(sp_etcd_pair_done)

/*
 * JSON objects out of a stream of bytes that may be cut anywhere.
 */
struct sp_etcd_stream {
	char *bytes;
	size_t size, room, max;
	size_t scanned; /* of them */
	unsigned depth;
	bool quoted, escaped;
};

/* SP_E_TOO_LARGE: more than `max` bytes without the end of an object. */
int sp_etcd_stream_add(struct sp_etcd_stream *stream, const void *bytes, size_t size);

/* 1 and the next whole object, a new reference; 0: none yet. SP_E_BAD_RECORD. */
int sp_etcd_stream_next(struct sp_etcd_stream *stream, json_t **ret);
void sp_etcd_stream_done(struct sp_etcd_stream *stream); /* ready for another one */

#endif
