/* The cache's side of the database: one lookup at one instant, and what others have changed. */
#include <sodium/utils.h>
#include <string.h>
#include "base/util.h"
#include "routing/registry_sqlite.h"

static bool is_token(const char *caller)
{
	enum sp_principal_kind kind;

	return sp_principal_parse(caller, &kind) && kind == SP_PRINCIPAL_TOKEN;
}

/* 1: the caller has proved who he is. */
static int authenticate(struct sp_sqlite *sqlite, const struct sp_flight_question *question)
{
	unsigned char hash[SP_CREDENTIAL_SIZE];
	int got;

	if (!is_token(question->caller))
		return 1;
	got = sp_sqlite_find_token(sqlite, question->caller, hash, NULL);
	if (got <= 0)
		return got;
	return question->credential && sodium_memcmp(hash, question->credential, sizeof(hash)) == 0;
}

static int authorize(struct sp_sqlite *sqlite, const struct sp_flight_question *question,
    int64_t now, struct sp_authorization *authorization)
{
	sqlite3_stmt *statement;
	int got = authenticate(sqlite, question);

	if (got <= 0)
		return got;
	statement = sp_sqlite_use(sqlite, SP_SQL_GRANTS_OF, NULL);
	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, question->caller, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 2, question->sandbox, -1, SQLITE_STATIC);
	while ((got = sp_sqlite_step(sqlite, statement, NULL)) > 0) {
		struct sp_grant grant = {0};
		if (!sp_sqlite_read_grant(statement, &grant)) {
			got = SP_E_UNAVAILABLE;
			break;
		}
		sp_authorization_add(authorization, &grant, question->sandbox, now);
	}
	(void)sp_sql.reset(statement);
	return got;
}

static int look_for_route(
    struct sp_sqlite *sqlite, const struct sp_flight_question *question, struct sp_lookup *lookup)
{
	int got = sp_sqlite_find_route(sqlite, question->sandbox, &lookup->placement, NULL);

	lookup->routed = got > 0 && !lookup->placement.retired;
	return got;
}

static int look(struct sp_sqlite *sqlite, const struct sp_flight_question *question, int64_t now,
    struct sp_lookup *lookup)
{
	int got;

	/* One statement is one instant by itself. */
	if (!question->authorize)
		return look_for_route(sqlite, question, lookup);
	got = sp_sqlite_run(sqlite, SP_SQL_BEGIN_READ, NULL);
	if (got)
		return got;
	got = authorize(sqlite, question, now, &lookup->authorization);
	if (!got)
		got = look_for_route(sqlite, question, lookup);
	return sp_sqlite_end(sqlite, got, NULL);
}

void sp_sqlite_lookup(struct sp_registry *registry, const struct sp_flight_question *question,
    int64_t now, sp_registry_looked_fn *looked, void *context)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	struct sp_lookup lookup = {0};

	lookup.available = sqlite->db && look(sqlite, question, now, &lookup) >= 0;
	looked(context, &lookup);
}

/* Is the file at the path still the one that is open? A registry restored from a copy is another
 * one. */
static bool moved(const struct sp_sqlite *sqlite)
{
	struct stat info;

	return lstat(sqlite->path, &info) < 0 || info.st_dev != sqlite->device ||
	       info.st_ino != sqlite->inode;
}

static int read_numbers(struct sp_sqlite *sqlite, enum sp_sql which, int count, int64_t *ret)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, which, NULL);
	int got = statement ? sp_sqlite_step(sqlite, statement, NULL) : SP_E_UNAVAILABLE;

	if (got <= 0)
		return SP_E_UNAVAILABLE;
	for (int i = 0; i < count; i++)
		ret[i] = sp_sql.column_int64(statement, i);
	(void)sp_sql.reset(statement);
	return 0;
}

static int tell_revocations(
    struct sp_sqlite *sqlite, const struct sp_registry_changes *changes, void *context)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_REVOCATIONS, NULL);
	int got;

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_int64(statement, 1, sqlite->cursor);
	while ((got = sp_sqlite_step(sqlite, statement, NULL)) > 0)
		changes->revoked(
		    context, sp_sqlite_text(statement, 0), sp_sqlite_text(statement, 1));
	return got;
}

static int tell_routes(
    struct sp_sqlite *sqlite, const struct sp_registry_changes *changes, void *context)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_CHANGES, NULL);
	struct sp_placement placement;
	int got;

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_int64(statement, 1, sqlite->cursor);
	while ((got = sp_sqlite_step(sqlite, statement, NULL)) > 0)
		if (sp_sqlite_read_route(statement, &placement))
			changes->routed(context, sp_sqlite_text(statement, 9), &placement);
		else
			changes->revoked(context, NULL, sp_sqlite_text(statement, 9));
	return got;
}

/* What has been taken away since, and how far that goes; within a transaction. */
static int tell(struct sp_sqlite *sqlite, const struct sp_registry_changes *changes, void *context)
{
	int64_t counter[3], revision, forgotten;
	int got = read_numbers(sqlite, SP_SQL_COUNTER, 3, counter);

	if (got)
		return got;
	revision = counter[0];
	forgotten = changes->routed && counter[2] > counter[1] ? counter[2] : counter[1];
	/* Too long ago to know each one, or the file holds an older state than it did. */
	if (sqlite->cursor < forgotten || revision < sqlite->cursor)
		changes->revoked(context, NULL, NULL);
	else
		got = tell_revocations(sqlite, changes, context);
	if (!got && changes->routed && revision >= sqlite->cursor)
		got = tell_routes(sqlite, changes, context);
	if (!got)
		sqlite->cursor = revision;
	return got;
}

/* The file went, or came back: nothing that was known is certain. */
static int reconnect(
    struct sp_sqlite *sqlite, const struct sp_registry_changes *changes, void *context)
{
	int bad;

	sp_sqlite_disconnect(sqlite);
	sqlite->options.create = false;
	sqlite->data_version = -1;
	bad = sp_sqlite_connect(sqlite, NULL);
	if (!bad)
		changes->revoked(context, NULL, NULL);
	return bad ? SP_E_UNAVAILABLE : 0;
}

int sp_sqlite_poll(
    struct sp_registry *registry, const struct sp_registry_changes *changes, void *context)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	int64_t version = -1;
	int bad = 0;

	if (!sqlite->db || sqlite->map.torn || moved(sqlite))
		bad = reconnect(sqlite, changes, context);
	if (!bad)
		bad = read_numbers(sqlite, SP_SQL_DATA_VERSION, 1, &version);
	if (bad || version == sqlite->data_version)
		return bad;
	bad = sp_sqlite_run(sqlite, SP_SQL_BEGIN_READ, NULL);
	if (bad)
		return bad;
	bad = sp_sqlite_end(sqlite, tell(sqlite, changes, context), NULL);
	if (!bad)
		sqlite->data_version = version;
	return bad;
}

int sp_sqlite_descriptor(struct sp_registry *registry)
{
	(void)registry;
	return -1;
}

void sp_sqlite_resume(struct sp_registry *registry, int64_t revision)
{
	((struct sp_sqlite *)registry)->cursor = revision;
}

int sp_sqlite_snapshot(
    struct sp_registry *registry, bool begin, int64_t *ret_revision, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	int64_t revision = 0;
	int bad;

	if (!begin)
		return sp_sqlite_end(sqlite, 0, err);
	bad = sp_sqlite_run(sqlite, SP_SQL_BEGIN_READ, err);
	if (!bad && read_numbers(sqlite, SP_SQL_COUNTER, 1, &revision) < 0)
		bad = sp_sqlite_end(sqlite, sp_sqlite_fail(sqlite, err), NULL);
	if (!bad && ret_revision)
		*ret_revision = revision;
	return bad;
}

int sp_sqlite_raise(struct sp_registry *registry, int64_t revision, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_COUNT_TO, err);

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_int64(statement, 1, revision);
	return sp_sqlite_step(sqlite, statement, err);
}
