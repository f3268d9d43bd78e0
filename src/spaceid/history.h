/* A record's history for people. */
#ifndef SPACEID_HISTORY_H
#define SPACEID_HISTORY_H

#include <jansson.h>
#include "cli/cli.h"
#include "store/history.h"

/* One change as "execution 7 -> 8, state active -> retired"; heap, NULL when out of memory. */
char *spaceid_history_words(const json_t *entry);

/* A table of them, the newest first; the exit code. */
int spaceid_history_print(struct sp_cli *cli, const json_t *history);

/* "last change: ..." of the newest. */
void spaceid_history_last(const json_t *history);

#endif
