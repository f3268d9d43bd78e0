/* Grants, bearer tokens and revocations in the database. */
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "routing/registry_sqlite.h"

bool sp_sqlite_read_grant(sqlite3_stmt *statement, struct sp_grant *ret)
{
	sp_auto_json json_t *ops = json_loads(sp_sqlite_text(statement, 3), 0, NULL);
	sp_auto_json json_t *ports = json_loads(sp_sqlite_text(statement, 4), 0, NULL);

	ret->until = sp_sql.column_int64(statement, 5);
	ret->revision = sp_sql.column_int64(statement, 6);
	return sp_sqlite_copy(statement, 0, ret->principal, sizeof(ret->principal)) &&
	       sp_sqlite_copy(statement, 1, ret->subject, sizeof(ret->subject)) &&
	       sp_sqlite_copy(statement, 2, ret->sandbox, sizeof(ret->sandbox)) &&
	       json_is_array(ops) && json_is_array(ports) &&
	       sp_rights_parse(ops, ports, &ret->rights, NULL) == 0;
}

static int revocation(
    struct sp_sqlite *sqlite, const char *subject, const char *pattern, struct sp_err *err)
{
	int64_t revision;
	sqlite3_stmt *statement;
	int bad = sp_sqlite_count_up(sqlite, &revision, err);

	if (bad)
		return bad;
	statement = sp_sqlite_use(sqlite, SP_SQL_REVOCATION_PUT, err);
	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_int64(statement, 1, revision);
	(void)sp_sql.bind_text(statement, 2, subject, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 3, pattern, -1, SQLITE_STATIC);
	bad = sp_sqlite_step(sqlite, statement, err);
	if (!bad)
		bad = sp_sqlite_run(sqlite, SP_SQL_REVOCATIONS_FORGOTTEN, err);
	return bad ? bad : sp_sqlite_run(sqlite, SP_SQL_REVOCATIONS_TRIM, err);
}

static int put_grant(struct sp_sqlite *sqlite, const struct sp_grant *grant, int64_t *ret_revision,
    struct sp_err *err)
{
	sp_auto_json json_t *ops = sp_rights_ops_json(&grant->rights);
	sp_auto_json json_t *ports = sp_rights_ports_json(&grant->rights);
	sp_auto_free char *ops_text = ops ? sp_json_text(ops) : NULL;
	sp_auto_free char *ports_text = ports ? sp_json_text(ports) : NULL;
	sqlite3_stmt *statement = NULL;
	int bad = sp_sqlite_count_up(sqlite, ret_revision, err);

	if (bad)
		return bad;
	if (ops_text && ports_text)
		statement = sp_sqlite_use(sqlite, SP_SQL_GRANT_PUT, err);
	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, grant->principal, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 2, grant->subject, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 3, grant->sandbox, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 4, ops_text, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 5, ports_text, -1, SQLITE_STATIC);
	(void)sp_sql.bind_int64(statement, 6, grant->until);
	(void)sp_sql.bind_int64(statement, 7, *ret_revision);
	(void)sp_sql.bind_int(statement, 8, sp_sandbox_pattern_is_glob(grant->sandbox));
	return sp_sqlite_step(sqlite, statement, err);
}

int sp_sqlite_find_token(struct sp_sqlite *sqlite, const char *principal,
    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err)
{
	const char *name = sp_token_name(principal);
	sqlite3_stmt *statement = name ? sp_sqlite_use(sqlite, SP_SQL_TOKEN, err) : NULL;
	int got;

	if (!name)
		return 0;
	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, name, -1, SQLITE_STATIC);
	got = sp_sqlite_step(sqlite, statement, err);
	if (got > 0) {
		if (sp_sql.column_bytes(statement, 0) == SP_CREDENTIAL_SIZE)
			memcpy(ret_hash, sp_sql.column_blob(statement, 0), SP_CREDENTIAL_SIZE);
		else
			got = sp_sqlite_damaged(sqlite, "token", err);
	}
	(void)sp_sql.reset(statement);
	return got;
}

int sp_sqlite_token(struct sp_registry *registry, const char *principal,
    unsigned char ret_hash[SP_CREDENTIAL_SIZE], struct sp_err *err)
{
	return sp_sqlite_find_token((struct sp_sqlite *)registry, principal, ret_hash, err);
}

static int put_token(struct sp_sqlite *sqlite, const char *name,
    const unsigned char hash[SP_CREDENTIAL_SIZE], struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_TOKEN_PUT, err);

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, name, -1, SQLITE_STATIC);
	(void)sp_sql.bind_blob(statement, 2, hash, SP_CREDENTIAL_SIZE, SQLITE_STATIC);
	return sp_sqlite_step(sqlite, statement, err);
}

/* A token in the place of the one before: whoever came with that one has no rights any more. */
static int settle_token(
    struct sp_sqlite *sqlite, const struct sp_granting *granting, struct sp_err *err)
{
	const char *principal = granting->wanted->principal;
	int bad = granting->held_credential ? revocation(sqlite, principal, "*", err) : 0;

	return bad ? bad : put_token(sqlite, sp_token_name(principal), granting->credential, err);
}

/* 1 and the grant of this principal and pattern, or 0. */
static int find_grant(struct sp_sqlite *sqlite, const char *principal, const char *pattern,
    struct sp_grant *ret, struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_GRANT, err);
	int got;

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, principal, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 2, pattern, -1, SQLITE_STATIC);
	got = sp_sqlite_step(sqlite, statement, err);
	if (got > 0 && !sp_sqlite_read_grant(statement, ret))
		got = sp_sqlite_damaged(sqlite, "grant", err);
	(void)sp_sql.reset(statement);
	return got;
}

static int delete_grants(
    struct sp_sqlite *sqlite, const char *principal, const char *pattern, struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_GRANT_DELETE, err);

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, principal, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 2, pattern, -1, SQLITE_STATIC);
	return sp_sqlite_step(sqlite, statement, err);
}

/* Within a transaction. */
static int grant_in(struct sp_sqlite *sqlite, const struct sp_grant *grant,
    const unsigned char *credential, enum sp_grant_manner manner, enum sp_grant_effect *ret_effect,
    int64_t *ret_revision, struct sp_err *err)
{
	struct sp_grant old = {0};
	unsigned char hash[SP_CREDENTIAL_SIZE];
	struct sp_granting granting = {.wanted = grant, .credential = credential, .manner = manner};
	struct sp_granted granted;
	int got = sp_sqlite_find_token(sqlite, grant->principal, hash, err);

	if (got < 0)
		return got;
	granting.held_credential = got ? hash : NULL;
	got = find_grant(sqlite, grant->principal, grant->sandbox, &old, err);
	if (got < 0)
		return got;
	granting.held = got ? &old : NULL;
	got = sp_granting_decide(&granting, &granted, err);
	if (got)
		return got;
	*ret_effect = granted.effect;
	*ret_revision = old.revision;
	if (granted.put_token)
		got = settle_token(sqlite, &granting, err);
	if (got || !granted.put_grant)
		return got;
	/* It may have lost something: whoever remembers the old one must ask again. */
	if (granting.held)
		got = revocation(sqlite, old.subject, old.sandbox, err);
	if (!got)
		got = delete_grants(sqlite, grant->principal, grant->sandbox, err);
	return got ? got : put_grant(sqlite, grant, ret_revision, err);
}

int sp_sqlite_grant(struct sp_registry *registry, const struct sp_grant *grant,
    const unsigned char *credential, enum sp_grant_manner manner, enum sp_grant_effect *ret_effect,
    int64_t *ret_revision, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	enum sp_grant_effect effect = SP_GRANT_NONE;
	int64_t revision = 0;
	int bad = sp_sqlite_change_begin(sqlite, err);

	if (bad)
		return bad;
	bad = grant_in(sqlite, grant, credential, manner, &effect, &revision, err);
	bad = sp_sqlite_change_end(sqlite, bad, err);
	if (bad)
		return bad;
	*ret_effect = effect;
	*ret_revision = revision;
	return 0;
}

/* A revocation for each grant that is about to go. */
static int revoke_each(struct sp_sqlite *sqlite, const char *principal, const char *pattern,
    unsigned *ret_count, struct sp_err *err)
{
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_GRANT_SUBJECT, err);
	int got;

	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, principal, -1, SQLITE_STATIC);
	(void)sp_sql.bind_text(statement, 2, pattern, -1, SQLITE_STATIC);
	while ((got = sp_sqlite_step(sqlite, statement, err)) > 0) {
		got = revocation(
		    sqlite, sp_sqlite_text(statement, 0), sp_sqlite_text(statement, 1), err);
		if (got)
			break;
		(*ret_count)++;
	}
	(void)sp_sql.reset(statement);
	return got;
}

static int delete_token_without_grants(
    struct sp_sqlite *sqlite, const char *principal, struct sp_err *err)
{
	const char *name = sp_token_name(principal);
	sqlite3_stmt *statement = name ? sp_sqlite_use(sqlite, SP_SQL_GRANT_SUBJECT, err) : NULL;
	int got;

	if (!name)
		return 0;
	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, principal, -1, SQLITE_STATIC);
	got = sp_sqlite_step(sqlite, statement, err);
	(void)sp_sql.reset(statement);
	if (got)
		return got < 0 ? got : 0;
	statement = sp_sqlite_use(sqlite, SP_SQL_TOKEN_DELETE, err);
	if (!statement)
		return SP_E_UNAVAILABLE;
	(void)sp_sql.bind_text(statement, 1, name, -1, SQLITE_STATIC);
	return sp_sqlite_step(sqlite, statement, err);
}

int sp_sqlite_revoke(struct sp_registry *registry, const char *principal, const char *pattern,
    unsigned *ret_count, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	unsigned count = 0;
	int bad = sp_sqlite_change_begin(sqlite, err);

	if (bad)
		return bad;
	bad = revoke_each(sqlite, principal, pattern, &count, err);
	if (!bad)
		bad = delete_grants(sqlite, principal, pattern, err);
	if (!bad)
		bad = delete_token_without_grants(sqlite, principal, err);
	bad = sp_sqlite_change_end(sqlite, bad, err);
	if (!bad)
		*ret_count = count;
	return bad;
}

int sp_sqlite_grants(
    struct sp_registry *registry, sp_registry_grant_fn *each, void *context, struct sp_err *err)
{
	struct sp_sqlite *sqlite = (struct sp_sqlite *)registry;
	sqlite3_stmt *statement = sp_sqlite_use(sqlite, SP_SQL_GRANTS, err);
	int got;

	if (!statement)
		return SP_E_UNAVAILABLE;
	while ((got = sp_sqlite_step(sqlite, statement, err)) > 0) {
		struct sp_grant grant = {0};
		got = sp_sqlite_read_grant(statement, &grant)
			  ? each(context, &grant)
			  : sp_sqlite_damaged(sqlite, "grant", err);
		if (got < 0)
			break;
	}
	(void)sp_sql.reset(statement);
	return got;
}
