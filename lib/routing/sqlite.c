/* The table of SQLite's functions. */
#include "routing/sqlite.h"

#include <stdbool.h>
#include <stddef.h>
#include "base/library.h"
#include "base/util.h"

#define LIBRARY "libsqlite3.so.0"

struct sp_sqlite_library sp_sql;

static const struct sp_library_symbol SYMBOLS[] = {
#define SYMBOL(name) {"sqlite3_" #name, offsetof(struct sp_sqlite_library, name)},
    SP_SQLITE_FUNCTIONS(SYMBOL)};

int sp_sqlite_load(struct sp_err *err)
{
	static bool ready;
	int bad = ready ? 0
			: sp_library_load(
			      LIBRARY, "libsqlite3-0", SYMBOLS, SP_COUNT(SYMBOLS), &sp_sql, err);

	if (bad)
		return sp_err_prefix(err, bad, "registry");
	/* Refused where the process has used it already, which changes nothing but the cost of
	 * locks that nobody else takes and of counters that nobody reads. */
	if (!ready) {
		(void)sp_sql.config(SQLITE_CONFIG_SINGLETHREAD);
		(void)sp_sql.config(SQLITE_CONFIG_MEMSTATUS, 0);
	}
	ready = true;
	return 0;
}
