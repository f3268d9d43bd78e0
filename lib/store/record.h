/* A runtime record (03-identity, The store): its values and its JSON. Pure. */
#ifndef SP_STORE_RECORD_H
#define SP_STORE_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "record/route.h"

struct sp_record {
	struct sp_identity identity;
	int64_t epoch, version; /* >= 1; grow only */
	bool retired;
	char owner[SP_ID_MAX + 1];
	int64_t fenced_at;            /* seconds; 0: never fenced */
	int64_t cut_version;          /* 0: none */
	int64_t installed_at;         /* seconds */
	json_t *bridge, *vmm, *guest; /* owned references, NULL: no evidence */
	char *history; /* owned; the array as text (store/history.h). NULL: none kept */
};

/* Closed, as in 03-identity; evidence must be objects. *ret is for sp_record_done. */
int sp_record_parse(const json_t *object, struct sp_record *ret, struct sp_err *err);

/* A new reference, NULL when out of memory: the record without its history, as programs read it.
 */
json_t *sp_record_json(const struct sp_record *record);

/* The same from and to the text of its file, with its history. That is not taken apart, only
 * checked for being JSON: whoever looks into it (sp_history_json) checks the rest. The text of
 * sp_record_text is heap, without LF; NULL when out of memory. */
int sp_record_read(
    char *text /* changed */, size_t size, struct sp_record *ret, struct sp_err *err);
char *sp_record_text(const struct sp_record *record);
void sp_record_done(struct sp_record *record);

/* "active" and "retired", in both directions. */
const char *sp_record_state_name(bool retired);
int sp_record_state_parse(const char *name, bool *ret_retired, struct sp_err *err);

/* SP_E_BAD_RECORD when `guest` (may be NULL) carries a key: that belongs into store/guestkey.h's
 * file. */
int sp_evidence_check(const json_t *guest, struct sp_err *err);

#endif
