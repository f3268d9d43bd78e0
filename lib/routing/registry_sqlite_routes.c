/* Routes in the database: read, decide, write where it still is as read. */
#include <string.h>
#include "base/util.h"
#include "routing/registry_sqlite.h"

#define TRIM_EVERY 1000 /* changes */

bool sp_sqlite_read_route(sqlite3_stmt *statement, struct sp_placement *ret)
{
	struct sp_placement placement = {.retired = sp_sql.column_int(statement, 7) != 0,
	    .revision = sp_sql.column_int64(statement, 8)};
	struct sp_route *route = &placement.route;
	int substrate = sp_sql.column_int(statement, 2);

	route->execution = sp_sql.column_int64(statement, 0);
	route->attempt = sp_sql.column_int64(statement, 1);
	route->substrate =
	    substrate == SP_SUBSTRATE_KUBERNETES ? SP_SUBSTRATE_KUBERNETES : SP_SUBSTRATE_HOST;
	if (!sp_sqlite_copy(statement, 3, route->worker, sizeof(route->worker)) ||
	    !sp_sqlite_copy(statement, 4, route->pod_uid, sizeof(route->pod_uid)) ||
	    !sp_sqlite_copy(statement, 5, route->activation, sizeof(route->activation)) ||
	    !sp_sqlite_copy(statement, 6, placement.endpoint, sizeof(placement.endpoint)) ||
	    !sp_endpoint_valid(placement.endpoint))
		return false;
	*ret = placement;
	return true;
}

int sp_sqlite_find_route(
    struct sp_sqlite *sqlite, const char *sandbox, struct sp_placement *ret, struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_ROUTE, err);
	int got;

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, sandbox, -1, SQLITE_STATIC);
	got = sp_sqlite_step(sqlite, statement, err);
	if (got > 0 && !sp_sqlite_read_route(statement, ret))
		got = sp_sqlite_damaged(sqlite, "route", err);
	(void)sp_sql.reset(statement);
	return got;
}

static void bind_placement(
    sqlite3_stmt *statement, const char *sandbox, const struct sp_placement *placement)
{
	const struct sp_route *route = &placement->route;

	(void)sp_sql.bind_text(statement, 1, sandbox, -1, SQLITE_STATIC);
	(void)sp_sql.bind_int64(statement, 2, route->execution);
	(void)sp_sql.bind_int64(statement, 3, route->attempt);
	(void)sp_sql.bind_int(statement, 4, (int)route->substrate);
	(void)sp_sql.bind_text(statement, 5, route->worker, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 6, route->pod_uid, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 7, route->activation, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 8, placement->endpoint, -1, SQLITE_STATIC);
	(void)sp_sql.bind_int(statement, 9, placement->retired);
	(void)sp_sql.bind_int64(statement, 10, placement->revision);
}

/* `was` is the revision it replaces; 0: there is none. */
static int put_route(struct sp_sqlite *sqlite, const char *sandbox,
    const struct sp_placement *placement, int64_t was, struct sp_err *err)
{
	sqlite3_stmt *statement =
	    sp_sqlite_use(sqlite, was ? SP_SQL_ROUTE_UPDATE : SP_SQL_ROUTE_INSERT, err);
	int bad;

	if (!statement)
		return SP_E_UNAVAILABLE;
	bind_placement(statement, sandbox, placement);
	if (was)
		(void)sp_sql.bind_int64(statement, 11, was);
	bad = sp_sqlite_step(sqlite, statement, err);
	if (bad)
		return bad;
	return sp_sql.changes(sqlite->db) == 1
		   ? 0
		   : sp_fail(
			 err, SP_E_UNAVAILABLE, "registry %s: changed under a lock", sqlite->path);
}

static int run_up_to(
    struct sp_sqlite *sqlite, enum sp_sql which, int64_t revision, struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, which, err);

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_int64(statement, 1, revision);
	return sp_sqlite_step(sqlite, statement, err);
}

/* Many at a time: each page that a change writes is one more to be made durable. */
static int trim_changes(struct sp_sqlite *sqlite, int64_t revision, struct sp_err *err)
{
	int64_t gone = revision - SP_SQLITE_CHANGES;
	int bad;

	if (revision % TRIM_EVERY != 0 || gone <= 0)
		return 0;
	bad = run_up_to(sqlite, SP_SQL_CHANGES_TRIM, gone, err);
	return bad ? bad : run_up_to(sqlite, SP_SQL_CHANGES_FORGOTTEN, gone, err);
}

static int put_change(struct sp_sqlite *sqlite, const char *sandbox,
    const struct sp_placement *placement, struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_CHANGE_PUT, err);
	int bad;

	if (!statement)
		return SP_E_UNAVAILABLE;
	bind_placement(statement, sandbox, placement);
	bad = sp_sqlite_step(sqlite, statement, err);
	return bad ? bad : trim_changes(sqlite, placement->revision, err);
}

static int put(struct sp_sqlite *sqlite, const char *sandbox, struct sp_placement *placement,
    int64_t was, struct sp_err *err)
{
	int bad = sp_sqlite_count_up(sqlite, &placement->revision, err);

	if (!bad)
		bad = put_route(sqlite, sandbox, placement, was, err);
	return bad ? bad : put_change(sqlite, sandbox, placement, err);
}

int sp_sqlite_change(struct sp_registry *registry, const struct sp_route_change *wanted,
    enum sp_publish_effect *ret_effect, int64_t *ret_revision, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	struct sp_placement placement = {0};
	enum sp_publish_effect effect;
	int64_t was;
	int got = sp_sqlite_change_begin(sqlite, err);

	if (got)
		return got;
	got = sp_sqlite_find_route(sqlite, wanted->sandbox, &placement, err);
	if (got < 0)
		return sp_sqlite_change_end(sqlite, got, err);
	was = placement.revision;
	effect = sp_route_change_apply(wanted, got > 0, &placement, err);
	got = 0;
	if (effect != SP_PUBLISH_NONE && effect != SP_PUBLISH_CONFLICT)
		got = put(sqlite, wanted->sandbox, &placement, was, err);
	got = sp_sqlite_change_end(sqlite, got, err);
	if (got)
		return got;
	*ret_effect = effect;
	*ret_revision = effect == SP_PUBLISH_CONFLICT ? 0 : placement.revision;
	return 0;
}

int sp_sqlite_resolve(
    struct sp_registry *registry, const char *sandbox, struct sp_placement *ret, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	int got = sp_sqlite_find_route(sqlite, sandbox, ret, err);

	if (got < 0)
		return got;
	return got ? 0 : sp_fail(err, SP_E_ABSENT, "%s: no route was ever published", sandbox);
}

int sp_sqlite_list(
    struct sp_registry *registry, sp_registry_route_fn *each, void *context, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_ROUTES, err);
	struct sp_placement placement;
	int got;

	if (!statement)
		return SP_E_UNAVAILABLE;
	while ((got = sp_sqlite_step(sqlite, statement, err)) > 0) {
		got = sp_sqlite_read_route(statement, &placement)
			  ? each(context, sp_sqlite_text(statement, 9), &placement)
			  : sp_sqlite_damaged(sqlite, "route", err);
		if (got < 0)
			break;
	}
	(void)sp_sql.reset(statement);
	return got;
}
