/* What `spaceid watch` shows on a terminal: each record as it is now, what changed last on top. */
#ifndef SPACEID_WATCH_VIEW_H
#define SPACEID_WATCH_VIEW_H

#include "cli/live.h"
#include "store/store.h"

/* *ret is NULL where lines are wanted. 0 or an exit code, told. */
int spaceid_view_open(struct sp_cli *cli, struct sp_live **ret);

/* All records anew (`sandbox`: this one only, or NULL), and one that has changed. 0; anything else:
 * no memory for it. */
int spaceid_view_list(struct sp_live *view, struct sp_store *store, const char *sandbox);
int spaceid_view_change(
    struct sp_live *view, struct sp_store *store, const struct sp_page_change *change);

#endif
