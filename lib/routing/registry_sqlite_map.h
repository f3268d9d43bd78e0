/* The file of a database mapped into memory, for a process that stays and reads much. Not for
 * others than the SQLite backend. */
#ifndef SP_ROUTING_REGISTRY_SQLITE_MAP_H
#define SP_ROUTING_REGISTRY_SQLITE_MAP_H

#include <signal.h>
#include <stddef.h>
#include <sys/queue.h>
#include "routing/sqlite.h"

/* In place from sp_sqlite_map_begin to sp_sqlite_map_end. */
struct sp_sqlite_map {
	LIST_ENTRY(sp_sqlite_map) link;
	sqlite3_file *file; /* NULL: it is read, not mapped */
	char *start;        /* NULL: not mapped now */
	size_t size;
	unsigned times; /* that it was mapped */
	/* A page was not there when it was looked at (the file was cut short, its disk failed), and
	 * zeros stood for it: what was read since is not to be believed, and nothing but closing
	 * the database mends it. */
	volatile sig_atomic_t torn;
};

/* Before the first read of the database. Where it cannot be mapped it is read as ever. */
void sp_sqlite_map_begin(struct sp_sqlite_map *map, sqlite3 *db);

/* Once the database is closed, or before. */
void sp_sqlite_map_end(struct sp_sqlite_map *map);

#endif
