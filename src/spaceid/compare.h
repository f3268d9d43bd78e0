/* One comparison of spaceid compare: what was given, what came of it. */
#ifndef SPACEID_COMPARE_H
#define SPACEID_COMPARE_H

#include <jansson.h>
#include "cli/cli.h"
#include "record/compare.h"
#include "record/out.h"
#include "store/store.h"

struct comparison {
	struct sp_identity selected, installed;
	bool has_installed, retired;
	bool unseen; /* nobody knows whether there is a record */
	enum sp_use use;
	struct sp_comparison result;
};

/* What the store has in force for the selected sandbox: sets has_installed, installed and retired.
 * A change under way is over in a moment; SP_E_UNAVAILABLE, SP_E_BAD_RECORD. */
int spaceid_ask_store(struct sp_store *store, struct comparison *c, struct sp_err *err);

/* Takes `{id?, selected, installed, use?}` apart and compares. With `store`, installed is what that
 * has in force, and the line must not bring one. Bad sides are SP_E_BAD_RECORD. */
int spaceid_judge(
    const json_t *line, struct sp_store *store, struct comparison *ret, struct sp_err *err);

/* The same of a usual line, as it came and compact (record/scan.h), without a tree; whole runtime
 * records are not usual. False: not judged, or it could not be, *ret is void. */
bool spaceid_judge_quick(
    const char *line, size_t size, struct sp_store *store, struct comparison *ret);

/* Adds decision, reason, differs and behind to the line. -ENOMEM or 0. */
int spaceid_add_result(json_t *line, const struct sp_comparison *result);

/* The members that it adds, as text, each behind a comma. */
void spaceid_put_result(const struct sp_comparison *result, struct sp_out *out);

/* For people: both sides field by field, the differing ones marked; 0 or negative. */
int spaceid_print_sides(struct sp_cli *cli, const struct comparison *comparison);

/* "next: ..." and the command. */
struct advice;
void spaceid_print_advice(const struct advice *advice);

/* Both sides, the decision, which is behind, what to do next. */
int spaceid_print_comparison(struct sp_cli *cli, const struct comparison *comparison);

#endif
