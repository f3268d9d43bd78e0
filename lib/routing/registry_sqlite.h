/* What the files of the SQLite backend share: the connection, its prepared statements,
 * transactions. Not for others. */
#ifndef SP_ROUTING_REGISTRY_SQLITE_H
#define SP_ROUTING_REGISTRY_SQLITE_H

#include <sys/stat.h>
#include "routing/registry_backend.h"
#include "routing/registry_sqlite_map.h"
#include "routing/sqlite.h"

/* How many of the last changes of routes are kept for those who have missed them. */
#define SP_SQLITE_CHANGES 65536

enum sp_sql {
	SP_SQL_BEGIN_READ,
	SP_SQL_BEGIN_WRITE,
	SP_SQL_COMMIT,
	SP_SQL_ROLLBACK,
	SP_SQL_ONE_BEGIN,
	SP_SQL_ONE_UNDO,
	SP_SQL_ONE_END,
	SP_SQL_DATA_VERSION,
	SP_SQL_COUNTER,
	SP_SQL_COUNT_UP,
	SP_SQL_COUNT_TO,
	SP_SQL_ROUTE,
	SP_SQL_ROUTE_INSERT,
	SP_SQL_ROUTE_UPDATE,
	SP_SQL_ROUTES,
	SP_SQL_CHANGE_PUT,
	SP_SQL_CHANGES,
	SP_SQL_CHANGES_TRIM,
	SP_SQL_CHANGES_FORGOTTEN,
	SP_SQL_GRANT,
	SP_SQL_GRANT_PUT,
	SP_SQL_GRANT_SUBJECT,
	SP_SQL_GRANT_DELETE,
	SP_SQL_GRANTS_OF,
	SP_SQL_GRANTS,
	SP_SQL_TOKEN,
	SP_SQL_TOKEN_PUT,
	SP_SQL_TOKEN_DELETE,
	SP_SQL_REVOCATION_PUT,
	SP_SQL_REVOCATIONS_TRIM,
	SP_SQL_REVOCATIONS_FORGOTTEN,
	SP_SQL_REVOCATIONS,
	SP_SQL_STATEMENTS
};

struct sp_sqlite {
	struct sp_registry registry;
	sqlite3 *db; /* NULL: the file went away; sp_registry_poll looks for it */
	sqlite3_stmt *statements[SP_SQL_STATEMENTS];
	struct sp_sqlite_map map; /* where the options say so */
	struct sp_registry_options options;
	dev_t device;
	ino_t inode;
	int64_t data_version; /* as of the last poll */
	int64_t cursor;       /* what has been told of */
	int wal_pages;        /* not yet moved into the database file */
	bool gathers;         /* changes are made together, */
	bool unsettled;       /* and some have been, in a transaction that is open */
	char path[];
};

/* Opens the file at sqlite->path and leaves sqlite->db NULL on failure. */
int sp_sqlite_connect(struct sp_sqlite *sqlite, struct sp_err *err);
void sp_sqlite_disconnect(struct sp_sqlite *sqlite);

/* The code of a failed SQLite call, with its words. */
int sp_sqlite_fail(struct sp_sqlite *sqlite, struct sp_err *err);

/* A statement, ready to bind; prepared on first use. NULL: err is set. */
sqlite3_stmt *sp_sqlite_use(struct sp_sqlite *sqlite, enum sp_sql which, struct sp_err *err);

/* 1: a row is there. 0: none any more, and the statement is reset. */
int sp_sqlite_step(struct sp_sqlite *sqlite, sqlite3_stmt *statement, struct sp_err *err);

/* One statement that gives no rows anyone wants. */
int sp_sqlite_run(struct sp_sqlite *sqlite, enum sp_sql which, struct sp_err *err);

/*
 * Ends a transaction: commits when `code` is 0, rolls back otherwise. Returns `code`, or why the
 * commit failed.
 */
int sp_sqlite_end(struct sp_sqlite *sqlite, int code, struct sp_err *err);

/* The same for one change: by itself, or as one of many in the transaction that gathers them. */
int sp_sqlite_change_begin(struct sp_sqlite *sqlite, struct sp_err *err);
int sp_sqlite_change_end(struct sp_sqlite *sqlite, int code, struct sp_err *err);
void sp_sqlite_gather(struct sp_registry *registry);
int sp_sqlite_settle(struct sp_registry *registry, struct sp_err *err);

/* The next revision, within a write transaction. */
int sp_sqlite_count_up(struct sp_sqlite *sqlite, int64_t *ret_revision, struct sp_err *err);

/* Text of a column, never NULL; and copied, unless it is too long. */
const char *sp_sqlite_text(sqlite3_stmt *statement, int column);
bool sp_sqlite_copy(sqlite3_stmt *statement, int column, char *room, size_t size);

/* What is in the file and makes no sense is not used. */
int sp_sqlite_damaged(struct sp_sqlite *sqlite, const char *what, struct sp_err *err);

/* The placement in a row of ROUTE_COLUMNS; false when it makes no sense. */
bool sp_sqlite_read_route(sqlite3_stmt *statement, struct sp_placement *ret);

/* 1 and what was last published, or 0. */
int sp_sqlite_find_route(
    struct sp_sqlite *sqlite, const char *sandbox, struct sp_placement *ret, struct sp_err *err);

/* 1 and the hash of the token of token:NAME, or 0. */
int sp_sqlite_find_token(struct sp_sqlite *sqlite, const char *principal,
    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err);

/* The grant in a row of GRANT_COLUMNS; false when it makes no sense. *ret starts zeroed. */
bool sp_sqlite_read_grant(sqlite3_stmt *statement, struct sp_grant *ret);

int sp_sqlite_change(struct sp_registry *registry, const struct sp_route_change *wanted,
    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err);
int sp_sqlite_resolve(struct sp_registry *registry, const char *sandbox, struct sp_placement *ret,
    struct sp_err *err);
int sp_sqlite_list(
    struct sp_registry *registry, sp_registry_route_fn *each, void *context, struct sp_err *err);
int sp_sqlite_grant(struct sp_registry *registry, const struct sp_grant *grant,
    const unsigned char *credential, enum sp_grant_manner manner, enum sp_grant_effect *ret_effect,
    int64_t *ret_revision, struct sp_err *err);
int sp_sqlite_revoke(struct sp_registry *registry, const char *principal, const char *pattern,
    unsigned *ret_count, struct sp_err *err);
int sp_sqlite_token(struct sp_registry *registry, const char *principal,
    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err);
int sp_sqlite_grants(
    struct sp_registry *registry, sp_registry_grant_fn *each, void *context, struct sp_err *err);
void sp_sqlite_lookup(struct sp_registry *registry, const struct sp_flight_question *question,
    int64_t now, sp_registry_looked_fn *looked, void *context);
int sp_sqlite_poll(
    struct sp_registry *registry, const struct sp_registry_changes *changes, void *context);
int sp_sqlite_descriptor(struct sp_registry *registry);
void sp_sqlite_resume(struct sp_registry *registry, int64_t revision);
int sp_sqlite_snapshot(
    struct sp_registry *registry, bool begin, int64_t *ret_revision, struct sp_err *err);
int sp_sqlite_raise(struct sp_registry *registry, int64_t revision, struct sp_err *err);

#endif
