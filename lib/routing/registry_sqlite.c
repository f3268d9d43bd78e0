/*
 * The database: opening, schema, statements, transactions. WAL and synchronous=FULL: a change that
 * was reported is durable, and readers never wait for writers.
 */
#include "routing/registry_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"

#define SCHEMA_VERSION     2
#define APPLICATION_ID     0x53505245 /* tells a registry from other databases */
#define CHECKPOINT_PAGES   1000       /* at the next quiet moment */
#define CHECKPOINT_AT_ONCE 32000      /* however busy it is: 128 MiB */

static const char SCHEMA[] =
    "CREATE TABLE routes (sandbox TEXT PRIMARY KEY, execution INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, substrate INTEGER NOT NULL, worker TEXT NOT NULL,"
    " pod_uid TEXT NOT NULL, activation TEXT NOT NULL, endpoint TEXT NOT NULL,"
    " retired INTEGER NOT NULL, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    /* In order, and whole: who has missed some reads on, wherever the routes are. */
    "CREATE TABLE changes (revision INTEGER PRIMARY KEY, sandbox TEXT NOT NULL,"
    " execution INTEGER NOT NULL, attempt INTEGER NOT NULL, substrate INTEGER NOT NULL,"
    " worker TEXT NOT NULL, pod_uid TEXT NOT NULL, activation TEXT NOT NULL,"
    " endpoint TEXT NOT NULL, retired INTEGER NOT NULL) STRICT;"
    "CREATE TABLE grants (subject TEXT NOT NULL, sandbox TEXT NOT NULL, principal TEXT NOT NULL,"
    " glob INTEGER NOT NULL, ops TEXT NOT NULL, ports TEXT NOT NULL, until INTEGER NOT NULL,"
    " revision INTEGER NOT NULL, PRIMARY KEY (subject, sandbox, principal)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX grants_globs ON grants (subject) WHERE glob = 1;"
    "CREATE INDEX grants_principals ON grants (principal, sandbox);"
    "CREATE TABLE tokens (name TEXT PRIMARY KEY, hash BLOB NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE revocations (revision INTEGER PRIMARY KEY, subject TEXT NOT NULL,"
    " sandbox TEXT NOT NULL) STRICT;"
    "CREATE TABLE counter (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL,"
    " forgotten INTEGER NOT NULL, changes_forgotten INTEGER NOT NULL) STRICT;"
    "INSERT INTO counter VALUES (1, 0, 0, 0);";

#define ROUTE_COLUMNS                                                                              \
	"execution, attempt, substrate, worker, pod_uid, activation, endpoint, retired, revision"
#define GRANT_COLUMNS "principal, subject, sandbox, ops, ports, until, revision"

static const char *const STATEMENTS[SP_SQL_STATEMENTS] = {
    [SP_SQL_BEGIN_READ] = "BEGIN",
    [SP_SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [SP_SQL_COMMIT] = "COMMIT",
    [SP_SQL_ROLLBACK] = "ROLLBACK",
    [SP_SQL_ONE_BEGIN] = "SAVEPOINT one",
    [SP_SQL_ONE_UNDO] = "ROLLBACK TO one",
    [SP_SQL_ONE_END] = "RELEASE one",
    [SP_SQL_DATA_VERSION] = "PRAGMA data_version",
    [SP_SQL_COUNTER] = "SELECT revision, forgotten, changes_forgotten FROM counter",
    [SP_SQL_COUNT_UP] = "UPDATE counter SET revision = ?1 WHERE one = 1",
    [SP_SQL_COUNT_TO] = "UPDATE counter SET revision = max(revision, ?1)",
    [SP_SQL_ROUTE] = "SELECT " ROUTE_COLUMNS " FROM routes WHERE sandbox = ?1",
    [SP_SQL_ROUTE_INSERT] = "INSERT INTO routes (sandbox, " ROUTE_COLUMNS
			    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [SP_SQL_ROUTE_UPDATE] = "UPDATE routes SET execution = ?2, attempt = ?3, substrate = ?4,"
			    " worker = ?5, pod_uid = ?6, activation = ?7, endpoint = ?8,"
			    " retired = ?9, revision = ?10 WHERE sandbox = ?1 AND revision = ?11",
    [SP_SQL_ROUTES] = "SELECT " ROUTE_COLUMNS ", sandbox FROM routes ORDER BY sandbox",
    [SP_SQL_CHANGE_PUT] = "INSERT INTO changes (sandbox, " ROUTE_COLUMNS
			  ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [SP_SQL_CHANGES] =
	"SELECT " ROUTE_COLUMNS ", sandbox FROM changes WHERE revision > ?1 ORDER BY revision",
    [SP_SQL_CHANGES_TRIM] = "DELETE FROM changes WHERE revision <= ?1",
    [SP_SQL_CHANGES_FORGOTTEN] = "UPDATE counter SET changes_forgotten = ?1 WHERE one = 1",
    [SP_SQL_GRANT] = "SELECT " GRANT_COLUMNS " FROM grants WHERE principal = ?1 AND sandbox = ?2",
    [SP_SQL_GRANT_PUT] = "INSERT OR REPLACE INTO grants (" GRANT_COLUMNS
			 ", glob) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [SP_SQL_GRANT_SUBJECT] = "SELECT subject, sandbox FROM grants WHERE principal = ?1 AND sandbox "
			     "= ifnull(?2, sandbox)",
    [SP_SQL_GRANT_DELETE] =
	"DELETE FROM grants WHERE principal = ?1 AND sandbox = ifnull(?2, sandbox)",
    [SP_SQL_GRANTS_OF] =
	"SELECT " GRANT_COLUMNS " FROM grants WHERE subject = ?1 AND sandbox = ?2 UNION ALL "
	"SELECT " GRANT_COLUMNS " FROM grants WHERE subject = ?1 AND glob = 1",
    [SP_SQL_GRANTS] = "SELECT " GRANT_COLUMNS " FROM grants ORDER BY principal, sandbox",
    [SP_SQL_TOKEN] = "SELECT hash FROM tokens WHERE name = ?1",
    [SP_SQL_TOKEN_PUT] = "INSERT OR REPLACE INTO tokens VALUES (?1, ?2)",
    [SP_SQL_TOKEN_DELETE] = "DELETE FROM tokens WHERE name = ?1",
    [SP_SQL_REVOCATION_PUT] = "INSERT OR REPLACE INTO revocations VALUES (?1, ?2, ?3)",
    [SP_SQL_REVOCATIONS_FORGOTTEN] =
	"UPDATE counter SET forgotten = ifnull((SELECT revision FROM revocations"
	" ORDER BY revision DESC LIMIT 1 OFFSET 1000), forgotten)",
    [SP_SQL_REVOCATIONS_TRIM] =
	"DELETE FROM revocations WHERE revision <= (SELECT forgotten FROM counter)",
    [SP_SQL_REVOCATIONS] =
	"SELECT subject, sandbox FROM revocations WHERE revision > ?1 ORDER BY revision",
};

int sp_sqlite_fail(struct sp_sqlite *sqlite, struct sp_err *err)
{
	return sp_fail(err, SP_E_UNAVAILABLE, "registry %s: %s", sqlite->path,
	    sqlite->db ? sp_sql.errmsg(sqlite->db) : "not there");
}

sqlite3_stmt *sp_sqlite_use(struct sp_sqlite *sqlite, enum sp_sql which, struct sp_err *err)
{
	sqlite3_stmt **statement = &sqlite->statements[which];

	if (*statement) {
		(void)sp_sql.reset(*statement);
		(void)sp_sql.clear_bindings(*statement);
	} else if (!sqlite->db || sp_sql.prepare_v3(sqlite->db, STATEMENTS[which], -1,
				      SQLITE_PREPARE_PERSISTENT, statement, NULL) != SQLITE_OK) {
		(void)sp_sqlite_fail(sqlite, err);
		return NULL;
	}
	return *statement;
}

int sp_sqlite_step(struct sp_sqlite *sqlite, sqlite3_stmt *statement, struct sp_err *err)
{
	int code = sp_sql.step(statement);

	if (sqlite->map.torn) {
		(void)sp_sql.reset(statement);
		return sp_fail(err, SP_E_UNAVAILABLE, "registry %s: a page of it could not be read",
		    sqlite->path);
	}
	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE) {
		(void)sp_sql.reset(statement);
		return 0;
	}
	code = sp_sqlite_fail(sqlite, err);
	(void)sp_sql.reset(statement);
	return code;
}

int sp_sqlite_run(struct sp_sqlite *sqlite, enum sp_sql which, struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, which, err);
	int got = statement ? sp_sqlite_step(sqlite, statement, err) : SP_E_UNAVAILABLE;

	if (got > 0)
		(void)sp_sql.reset(statement);
	return got < 0 ? got : 0;
}

int sp_sqlite_end(struct sp_sqlite *sqlite, int code, struct sp_err *err)
{
	if (code >= 0) {
		int bad = sp_sqlite_run(sqlite, SP_SQL_COMMIT, err);
		if (!bad)
			return code;
		code = bad;
	}
	/* Some failures have rolled back by themselves. */
	if (sqlite->db && !sp_sql.get_autocommit(sqlite->db))
		(void)sp_sqlite_run(sqlite, SP_SQL_ROLLBACK, NULL);
	return code;
}

int sp_sqlite_count_up(struct sp_sqlite *sqlite, int64_t *ret_revision, struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_COUNTER, err);
	int got = statement ? sp_sqlite_step(sqlite, statement, err) : SP_E_UNAVAILABLE;
	int64_t revision;

	if (got < 0)
		return got;
	if (got == 0)
		return sp_fail(
		    err, SP_E_UNAVAILABLE, "registry %s: its counter is missing", sqlite->path);
	revision = sp_sql.column_int64(statement, 0) + 1;
	(void)sp_sql.reset(statement);
	/* One row by its key, and nothing returned: SQLite keeps no journal of the statement and no
	 * table of its results, which cost more than all the rest. */
	statement = sp_sqlite_use(sqlite, SP_SQL_COUNT_UP, err);
	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_int64(statement, 1, revision);
	got = sp_sqlite_step(sqlite, statement, err);
	if (!got)
		*ret_revision = revision;
	return got;
}

const char *sp_sqlite_text(sqlite3_stmt *statement, int column)
{
	const unsigned char *text = sp_sql.column_text(statement, column);

	return text ? (const char *)text : "";
}

bool sp_sqlite_copy(sqlite3_stmt *statement, int column, char *room, size_t size)
{
	const char *text = sp_sqlite_text(statement, column);
	size_t length = strlen(text);

	if (length >= size)
		return false;
	memcpy(room, text, length + 1);
	return true;
}

int sp_sqlite_damaged(struct sp_sqlite *sqlite, const char *what, struct sp_err *err)
{
	return sp_fail(
	    err, SP_E_UNAVAILABLE, "registry %s: a %s in it is damaged", sqlite->path, what);
}

/* One number of a pragma; -1 when it could not be read. */
static int64_t pragma(struct sp_sqlite *sqlite, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t number = -1;

	if (sp_sql.prepare_v2(sqlite->db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sp_sql.step(statement) == SQLITE_ROW)
		number = sp_sql.column_int64(statement, 0);
	(void)sp_sql.finalize(statement);
	return number;
}

static int execute(struct sp_sqlite *sqlite, const char *sql, struct sp_err *err)
{
	return sp_sql.exec(sqlite->db, sql, NULL, NULL, NULL) == SQLITE_OK
		   ? 0
		   : sp_sqlite_fail(sqlite, err);
}

/* Whoever can write the file can grant himself anything. */
static int check_file(struct sp_sqlite *sqlite, struct sp_err *err)
{
	struct stat info;

	if (lstat(sqlite->path, &info) < 0)
		return errno == ENOENT
			   ? sp_fail(err, SP_E_ABSENT,
				 "no registry at %s; publish or grant makes one", sqlite->path)
			   : sp_fail_errno(err, "registry %s", sqlite->path);
	if (!S_ISREG(info.st_mode))
		return sp_fail(err, SP_E_CONFIG, "registry %s: not a regular file", sqlite->path);
	if (info.st_mode & 022)
		return sp_fail(err, SP_E_CONFIG,
		    "registry %s: mode %04o lets others write it; run: chmod 600 %s", sqlite->path,
		    (unsigned)(info.st_mode & 07777), sqlite->path);
	sqlite->device = info.st_dev;
	sqlite->inode = info.st_ino;
	return 0;
}

/* An empty file of the right mode, which SQLite's own files then take over. */
static int create_file(struct sp_sqlite *sqlite, struct sp_err *err)
{
	int fd = open(sqlite->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno != EEXIST)
		return sp_fail_errno(err, "registry %s", sqlite->path);
	sp_fd_close(&fd);
	return 0;
}

/* Two that find no registry make one: the second waits for the first and finds it made. */
static int create_schema(struct sp_sqlite *sqlite, struct sp_err *err)
{
	char stamp[96];
	int bad = execute(sqlite, "PRAGMA journal_mode = WAL", err);

	if (!bad)
		bad = execute(sqlite, "BEGIN EXCLUSIVE", err);
	if (bad)
		return bad;
	if (pragma(sqlite, "PRAGMA user_version") == 0) {
		(void)snprintf(stamp, sizeof(stamp),
		    "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID,
		    SCHEMA_VERSION);
		bad = execute(sqlite, SCHEMA, err);
		if (!bad)
			bad = execute(sqlite, stamp, err);
	}
	if (!bad)
		return execute(sqlite, "COMMIT", err);
	(void)execute(sqlite, "ROLLBACK", NULL);
	return bad;
}

static int check_schema(struct sp_sqlite *sqlite, struct sp_err *err)
{
	int64_t version = pragma(sqlite, "PRAGMA user_version");

	if (version < 0)
		return sp_sqlite_fail(sqlite, err);
	if (version == 0 && sqlite->options.create &&
	    pragma(sqlite, "SELECT count(*) FROM sqlite_schema") == 0) {
		int bad = create_schema(sqlite, err);
		if (bad)
			return bad;
	}
	/* It, or another one that found none either, has made it meanwhile. */
	if (version == 0)
		version = pragma(sqlite, "PRAGMA user_version");
	if (version == 0 && pragma(sqlite, "SELECT count(*) FROM sqlite_schema") == 0)
		return sp_fail(err, SP_E_ABSENT, "no registry at %s; publish or grant makes one",
		    sqlite->path);
	if (pragma(sqlite, "PRAGMA application_id") != APPLICATION_ID)
		return sp_fail(err, SP_E_CONFIG, "%s: a database, but no registry", sqlite->path);
	if (version > SCHEMA_VERSION)
		return sp_fail(err, SP_E_CONFIG, "registry " SP_NEWER_FORMAT, sqlite->path,
		    (long long)version, SCHEMA_VERSION);
	if (version != SCHEMA_VERSION)
		return sp_fail(err, SP_E_CONFIG,
		    "registry %s: of format %lld; this one reads %d: what the tool that made it "
		    "exports can be imported into a new one",
		    sqlite->path, (long long)version, SCHEMA_VERSION);
	return 0;
}

static int on_commit(void *context, sqlite3 *db, const char *name, int pages)
{
	struct sp_sqlite *sqlite = context;

	(void)name;
	sqlite->wal_pages = pages;
	/* Off the path of a change, unless nobody ever pauses. */
	if (pages >= CHECKPOINT_AT_ONCE)
		(void)sp_sql.wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return SQLITE_OK;
}

static void tidy(struct sp_registry *registry)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;

	if (!sqlite->db || sqlite->wal_pages < CHECKPOINT_PAGES)
		return;
	(void)sp_sql.wal_checkpoint_v2(sqlite->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	sqlite->wal_pages = 0;
}

static int set_up(struct sp_sqlite *sqlite, struct sp_err *err)
{
	int bad;

	if (sqlite->options.mapped)
		sp_sqlite_map_begin(&sqlite->map, sqlite->db);
	bad = execute(sqlite, "PRAGMA trusted_schema = OFF; PRAGMA synchronous = FULL", err);

	if (!bad)
		bad = check_schema(sqlite, err);
	if (!bad)
		(void)sp_sql.wal_hook(sqlite->db, on_commit, sqlite);
	return bad;
}

int sp_sqlite_connect(struct sp_sqlite *sqlite, struct sp_err *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	int bad = sqlite->options.create ? create_file(sqlite, err) : 0;

	if (!bad)
		bad = check_file(sqlite, err);
	if (bad)
		return bad;
	if (sp_sql.open_v2(sqlite->path, &sqlite->db, flags, NULL) != SQLITE_OK) {
		bad = sp_sqlite_fail(sqlite, err);
	} else {
		(void)sp_sql.busy_timeout(sqlite->db, sqlite->options.timeout_ms);
		bad = set_up(sqlite, err);
	}
	if (bad)
		sp_sqlite_disconnect(sqlite);
	return bad;
}

void sp_sqlite_disconnect(struct sp_sqlite *sqlite)
{
	for (size_t i = 0; i < SP_SQL_STATEMENTS; i++) {
		(void)sp_sql.finalize(sqlite->statements[i]);
		sqlite->statements[i] = NULL;
	}
	(void)sp_sql.close(sqlite->db);
	sqlite->db = NULL;
	sp_sqlite_map_end(&sqlite->map);
}

static void close_registry(struct sp_registry *registry)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;

	sp_sqlite_disconnect(sqlite);
	free(sqlite);
}

static int open_registry(const char *rest, const struct sp_registry_options *options,
    struct sp_registry **ret, struct sp_err *err)
{
	size_t size = strlen(rest) + 1;
	struct sp_sqlite *sqlite;
	int bad;

	if (rest[0] != '/')
		return sp_fail(
		    err, SP_E_CONFIG, "registry `sqlite:%.200s`: the path must be absolute", rest);
	bad = sp_sqlite_load(err);
	if (bad)
		return bad;
	sqlite = calloc(1, sizeof(*sqlite) + size);
	if (!sqlite)
		return sp_fail(err, -ENOMEM, "out of memory");
	memcpy(sqlite->path, rest, size);
	sqlite->registry.backend = &SP_REGISTRY_SQLITE;
	sqlite->options = *options;
	sqlite->data_version = -1;
	bad = sp_sqlite_connect(sqlite, err);
	if (!bad)
		sqlite->cursor = pragma(sqlite, "SELECT revision FROM counter");
	if (bad) {
		free(sqlite);
		return bad;
	}
	*ret = &sqlite->registry;
	return 0;
}

const struct sp_registry_backend SP_REGISTRY_SQLITE = {
    .scheme = "sqlite",
    .open = open_registry,
    .close = close_registry,
    .change = sp_sqlite_change,
    .resolve = sp_sqlite_resolve,
    .list = sp_sqlite_list,
    .gather = sp_sqlite_gather,
    .settle = sp_sqlite_settle,
    .tidy = tidy,
    .grant = sp_sqlite_grant,
    .revoke = sp_sqlite_revoke,
    .token = sp_sqlite_token,
    .grants = sp_sqlite_grants,
    .lookup = sp_sqlite_lookup,
    .descriptor = sp_sqlite_descriptor,
    .poll = sp_sqlite_poll,
    .resume = sp_sqlite_resume,
    .snapshot = sp_sqlite_snapshot,
    .raise = sp_sqlite_raise,
};
