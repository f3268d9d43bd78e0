/* What the roles' audit lines have in common: the record that a refusal was about. */
#ifndef SPACEBRIDGE_AUDITED_H
#define SPACEBRIDGE_AUDITED_H

#include "net/audit.h"
#include "store/store.h"

/*
 * For a line with this reason: what is in force for the sandbox now, in *room; NULL where that has
 * nothing to do with the reason, or cannot be told. Borrowed until the store is asked of this
 * sandbox again.
 */
const struct sp_audit_installed *audited_installed(struct sp_store *store, const char *sandbox,
    enum sp_reason reason, struct sp_audit_installed *room);

#endif
