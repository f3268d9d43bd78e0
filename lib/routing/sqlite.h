/* SQLite, loaded by the first registry that is opened: most runs of the tools open none. Not for
 * others than the SQLite backend. */
#ifndef SP_ROUTING_SQLITE_H
#define SP_ROUTING_SQLITE_H

#include <sqlite3.h>
#include "base/err.h"

/* Every function that is used, without its sqlite3_. */
#define SP_SQLITE_FUNCTIONS(F)                                                                     \
	F(bind_blob)                                                                               \
	F(bind_int)                                                                                \
	F(bind_int64)                                                                              \
	F(bind_text)                                                                               \
	F(busy_timeout)                                                                            \
	F(changes)                                                                                 \
	F(clear_bindings)                                                                          \
	F(close)                                                                                   \
	F(column_blob)                                                                             \
	F(column_bytes)                                                                            \
	F(column_int)                                                                              \
	F(column_int64)                                                                            \
	F(column_text)                                                                             \
	F(config)                                                                                  \
	F(errmsg)                                                                                  \
	F(exec)                                                                                    \
	F(file_control)                                                                            \
	F(finalize)                                                                                \
	F(get_autocommit)                                                                          \
	F(open_v2)                                                                                 \
	F(prepare_v2)                                                                              \
	F(prepare_v3)                                                                              \
	F(reset)                                                                                   \
	F(step)                                                                                    \
	F(wal_checkpoint_v2)                                                                       \
	F(wal_hook)

#define SP_SQLITE_POINTER(name) __typeof__(&sqlite3_##name) name;
struct sp_sqlite_library {
	SP_SQLITE_FUNCTIONS(SP_SQLITE_POINTER)
};
#undef SP_SQLITE_POINTER

/* sp_sql.step(...) is sqlite3_step(...), once sp_sqlite_load has returned 0. */
extern struct sp_sqlite_library sp_sql;

/* For use by one thread of the process. SP_E_UNAVAILABLE. */
int sp_sqlite_load(struct sp_err *err);

#endif
