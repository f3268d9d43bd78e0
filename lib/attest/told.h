/* A report that was made at another time, as sp_report_json wrote it. Pure. */
#ifndef SP_ATTEST_TOLD_H
#define SP_ATTEST_TOLD_H

#include <jansson.h>
#include "attest/attest.h"

struct sp_told {
	enum sp_reason reason;
	const json_t *checks; /* borrowed: an array of objects with name, ok, expected and seen */
};

/* Closed; at most SP_CAPTURE_CHECKS checks. The report borrows from `object`. SP_E_BAD_RECORD.
 */
int sp_told_parse(const json_t *object, struct sp_told *ret, struct sp_err *err);

/* "match", or the decision with its reason and the first check that failed, in one line. */
void sp_told_words(const struct sp_told *told, char *text, size_t room);

/* The names of the checks that were made then and are not among those of `report`, each once: a
 * JSON array, a new reference, NULL when out of memory. */
json_t *sp_told_others(const struct sp_told *told, const struct sp_report *report);

#endif
