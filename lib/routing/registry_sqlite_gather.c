/* Many changes in one transaction, which is durable as a whole: one wait for the disk. */
#include "routing/registry_sqlite.h"

/* Some failures end a transaction by themselves, and all that was made in it is gone. */
static bool is_lost(const struct sp_sqlite *sqlite)
{
	return sqlite->unsettled && (!sqlite->db || sp_sql.get_autocommit(sqlite->db));
}

static int lost(struct sp_sqlite *sqlite, struct sp_err *err)
{
	return sp_fail(err, SP_E_UNAVAILABLE,
	    "registry %s: changes that were made together were lost together", sqlite->path);
}

int sp_sqlite_change_begin(struct sp_sqlite *sqlite, struct sp_err *err)
{
	int bad = 0;

	if (is_lost(sqlite))
		return lost(sqlite, err);
	if (!sqlite->unsettled)
		bad = sp_sqlite_run(sqlite, SP_SQL_BEGIN_WRITE, err);
	if (bad || !sqlite->gathers)
		return bad;
	sqlite->unsettled = true;
	return sp_sqlite_run(sqlite, SP_SQL_ONE_BEGIN, err);
}

int sp_sqlite_change_end(struct sp_sqlite *sqlite, int code, struct sp_err *err)
{
	int bad;

	if (!sqlite->gathers)
		return sp_sqlite_end(sqlite, code, err);
	if (is_lost(sqlite))
		return code < 0 ? code : lost(sqlite, err);
	if (code < 0)
		(void)sp_sqlite_run(sqlite, SP_SQL_ONE_UNDO, NULL);
	bad = sp_sqlite_run(sqlite, SP_SQL_ONE_END, code < 0 ? NULL : err);
	return code < 0 ? code : bad;
}

void sp_sqlite_gather(struct sp_registry *registry)
{
	((struct sp_sqlite *)registry)->gathers = true;
}

int sp_sqlite_settle(struct sp_registry *registry, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	bool gone = is_lost(sqlite), some = sqlite->unsettled;

	sqlite->unsettled = false;
	if (gone)
		return lost(sqlite, err);
	return some ? sp_sqlite_end(sqlite, 0, err) : 0;
}
