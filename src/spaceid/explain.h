/*
 * spaceid explain: what is known of one refusal, audit line, token or sandbox, gathered from what
 * was given, the record and its history, the audit file and the key bundle. Each may be missing:
 * then that is said.
 */
#ifndef SPACEID_EXPLAIN_H
#define SPACEID_EXPLAIN_H

#include <jansson.h>
#include "base/text.h"
#include "spaceid/advice.h"
#include "spaceid/compare.h"
#include "token/capability.h"

#define EXPLAIN_WORD  256 /* of what is quoted of a line */
#define EXPLAIN_LINES 8   /* audit lines that are shown */

enum explain_input {
	EXPLAIN_SANDBOX,
	EXPLAIN_TOKEN,
	EXPLAIN_RESULT,     /* a done record: a refusal, an error, or what went well */
	EXPLAIN_AUDIT,      /* an audit line */
	EXPLAIN_COMPARISON, /* a line of spaceid compare */
	EXPLAIN_ROUTE,      /* any other record with sandbox and route */
};

/* What one line says happened. Texts are cut and printable; "" and -1: it does not say. */
struct explain_event {
	char time[SP_TIME_SIZE];
	char role[EXPLAIN_WORD], caller[EXPLAIN_WORD], op[EXPLAIN_WORD], action[EXPLAIN_WORD];
	char id[EXPLAIN_WORD], jti[EXPLAIN_WORD], note[EXPLAIN_WORD];
	char sandbox[SP_ID_MAX + 1];
	int64_t epoch;
	bool decided; /* reason is what was decided; SP_REASON_NONE: match */
	enum sp_reason reason;
	enum sp_behind behind;
	int error; /* enum sp_error_kind, or -1 */
	bool has_route, has_installed, installed_absent, installed_retired;
	struct sp_route route, installed;
};

enum explain_signature { SIGNATURE_UNCHECKED, SIGNATURE_GOOD, SIGNATURE_BAD };

struct explain_token {
	bool is_one, has_claims;
	enum explain_signature signature;
	enum sp_reason
	    reason; /* why it would be refused now; with SIGNATURE_UNCHECKED the clock's */
	struct sp_claims claims;
};

struct explained {
	enum explain_input input;
	struct explain_event event; /* what is explained */
	bool event_found; /* ... was not given, but is the last like it in the audit file */
	struct explain_token token;
	struct comparison sides; /* selected beside installed */
	bool has_selected, installed_seen, compared;
	const char *selected_from, *installed_from; /* static */
	int64_t epoch;                              /* of what is installed; 0: not known */
	json_t *parted;           /* the change (store/history.h) that parted them, with `by` */
	const char *parted_words; /* why there is none; NULL where there is */
	char *tail;               /* the end of the audit file; NULL: none was read */
	json_t *lines;            /* of it, about this, the last ones */
	long like_it;             /* refusals for the same reason in the audit file */
	char like_first[SP_TIME_SIZE], like_last[SP_TIME_SIZE];
	json_t *unseen; /* [{what, why}] */
	struct advice next;
};

/* --- explain_take.c --- */

/* What was given, whatever it is: `text` is changed. SP_E_BAD_RECORD: nothing that can be
 * explained. */
int explain_take(struct explained *explained, char *text, struct sp_err *err);

/* An audit line. False: it is none. */
bool explain_event_take(const json_t *line, struct explain_event *ret);

/* --- explain_token.c --- */

/* Takes it apart, and checks it as far as there are keys. */
void explain_token(struct explained *explained, const char *token, const char *keys,
    const struct sp_config *config);

/* --- explain_audit.c --- */

/* Looks through the end of the audit file for lines about it; NULL: there is none. */
void explain_audit(struct explained *explained, const char *path);

/* Who made the change of the record with this effect that led to this epoch, as the audit file has
 * it: {"by": ...} is added to the change. */
void explain_who(const struct explained *explained, json_t *change);

/* --- explain_record.c --- */

/* Looks the record up (NULL: there is no store), compares, and finds the change that parted the
 * sides. `elsewhere`: another worker was selected than the one whose store this is. */
void explain_record(
    struct explained *explained, struct sp_store *store, bool elsewhere, const char *why_none);

/* --- explain_words.c, explain_json.c --- */

int explain_print(struct sp_cli *cli, const struct explained *explained);
json_t *explain_json(const struct explained *explained);

/* Notes that something could not be looked at. */
void explain_unseen(struct explained *explained, const char *what, const char *why);

const char *explain_input_name(enum explain_input input);
const char *explain_signature_name(enum explain_signature signature);

/* The sandbox's id, or NULL. */
const char *explain_sandbox(const struct explained *explained);

#endif
