/* The verbs of spaceid, each in its own file, and what they share (common.c). */
#ifndef SPACEID_VERBS_H
#define SPACEID_VERBS_H

#include <jansson.h>
#include "cli/cli.h"
#include "cli/table.h"
#include "client/trail.h"
#include "store/store.h"

int spaceid_compare(struct sp_cli *cli);
int spaceid_install(struct sp_cli *cli);
int spaceid_retire(struct sp_cli *cli);
int spaceid_handoff(struct sp_cli *cli);
int spaceid_fence(struct sp_cli *cli);
int spaceid_prune(struct sp_cli *cli);
int spaceid_show(struct sp_cli *cli);
int spaceid_list(struct sp_cli *cli);
int spaceid_watch(struct sp_cli *cli);
int spaceid_export(struct sp_cli *cli);
int spaceid_explain(struct sp_cli *cli);
int spaceid_import(struct sp_cli *cli);

static inline void spaceid_store_close(struct sp_store **store)
{
	sp_store_close(*store);
}
#define auto_store sp_cleanup(spaceid_store_close)

/* The store of --records, else of the configuration. 0, or the exit code, told. */
int spaceid_store(struct sp_cli *cli, int flags, struct sp_store **ret);

/* An option that must be an id. 0 or SP_EXIT_USAGE, told. */
int spaceid_id(struct sp_cli *cli, const char *option, const char **ret);

/* The table of `list` and `import`, as sp_cli_table. Then its rows. */
int spaceid_records_table(struct sp_cli *cli, struct sp_table **ret);
int spaceid_records_row(struct sp_table *table, const struct sp_record *record);

/* Names in an export: who made it and when, what the page said, the records byte for byte. */
#define SPACEID_EXPORT_MANIFEST "manifest.json"
#define SPACEID_EXPORT_PAGE     "page.jsonl"
#define SPACEID_EXPORT_RECORDS  "records/"

/* The effect line or conflict line of a change; NULL: out of memory. */
json_t *spaceid_outcome(const char *sandbox, const struct sp_outcome *outcome);

/* The audit line of one change; `bad` as from sp_store_change. `route` is what was asked for,
 * `note` what else was, either may be NULL. What is installed then is looked up. */
struct spaceid_asked {
	const char *op, *sandbox, *note;
	const struct sp_route *route;
};
void spaceid_audit(struct sp_trail *trail, struct sp_store *store,
    const struct spaceid_asked *asked, int bad, const struct sp_outcome *outcome,
    const struct sp_err *err);

/* Carries out one change given by flags, prints its line and writes its audit line, as `op`; the
 * exit code. */
int spaceid_change(struct sp_cli *cli, const struct sp_change *change, const char *op);

/* Prints what came of one change; `bad` as from sp_store_change. The exit code. */
int spaceid_told(struct sp_cli *cli, const char *sandbox, int bad, const struct sp_outcome *outcome,
    const struct sp_err *err);

#endif
