/*
 * The last changes of a runtime record, kept in its own file (03-identity): written by the same
 * fsync and rename as the record, so that the two can never tell different stories and no change
 * takes longer to become durable. A change adds to its text and does not take it apart. For people,
 * never for a decision. Pure.
 */
#ifndef SP_STORE_HISTORY_H
#define SP_STORE_HISTORY_H

#include <jansson.h>
#include "store/record.h"
#include "store/rules.h"

#define SP_HISTORY_MAX 32 /* changes; older ones are forgotten */

/*
 * Gives `record` the history of `installed` (NULL: there was none) and one entry more, that of its
 * own change: {at, epoch, version, effect, was?}. `was` holds what the values that differ were
 * before (null: there was none), of: the route's fields, owner, state, fenced_at, cut_version, and
 * evidence (which parts there are, by name: "bridge,vmm"); never what is in the evidence. Without
 * `was` it is the first. What they became is in the next entry, or the record: a short file is one
 * block for the disk. -ENOMEM or 0.
 */
int sp_history_add(struct sp_record *record, const struct sp_record *installed,
    enum sp_effect effect, int64_t now);

/* Forgets the oldest entry; false when there is none. */
bool sp_history_shorten(struct sp_record *record);

/*
 * The history for readers, the oldest first: {at, epoch, version, effect, from, to} each, where
 * `from` (null: no record) and `to` hold the values that differ. *ret is a new reference, an empty
 * array when none was kept. SP_E_BAD_RECORD: it is no history; -ENOMEM.
 */
int sp_history_json(const struct sp_record *record, json_t **ret, struct sp_err *err);

/* Closed: entries of the form above and not more than SP_HISTORY_MAX, else SP_E_BAD_RECORD. NULL:
 * no history. */
int sp_history_check(const json_t *history, struct sp_err *err);

#endif
