/* spaceid import: looks into an export, here or in a directory of its own. Installs nothing. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/archive.h"
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

#define TAR_OVERHEAD (1024u * SP_EXPORT_MEMBERS_MAX + 65536u) /* headers and padding */

/* "records/<sandbox>.json" */
static bool record_name(const char *name, char sandbox[SP_ID_MAX + 1])
{
	size_t prefix = strlen(SPACEID_EXPORT_RECORDS), length = strlen(name);

	if (length <= prefix + 5 || length - prefix - 5 > SP_ID_MAX ||
	    strncmp(name, SPACEID_EXPORT_RECORDS, prefix) != 0 ||
	    strcmp(name + length - 5, ".json") != 0)
		return false;
	memcpy(sandbox, name + prefix, length - prefix - 5);
	sandbox[length - prefix - 5] = '\0';
	return sp_id_valid(sandbox);
}

static bool allowed(const char *name, void *context)
{
	char sandbox[SP_ID_MAX + 1];

	(void)context;
	return strcmp(name, SPACEID_EXPORT_MANIFEST) == 0 ||
	       strcmp(name, SPACEID_EXPORT_PAGE) == 0 || record_name(name, sandbox);
}

static int read_archive(const char *path, struct sp_archive *ret, struct sp_err *err)
{
	static const struct sp_archive_limits limits = {
	    .bytes = SP_EXPORT_BYTES_MAX, .members = SP_EXPORT_MEMBERS_MAX, .allowed = allowed};
	sp_auto_free char *tar = NULL;
	size_t size;
	int bad =
	    sp_file_read(AT_FDCWD, path, 0, SP_EXPORT_BYTES_MAX + TAR_OVERHEAD, &tar, &size, err);

	if (!bad)
		bad = sp_archive_unpack(tar, size, &limits, ret, err);
	return bad;
}

static int parse(const struct sp_archive_member *member, const char *sandbox, struct sp_record *ret,
    struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	int bad = sp_json_parse(member->data, member->size, &object, err);

	if (!bad)
		bad = sp_record_parse(object, ret, err);
	if (!bad && strcmp(ret->identity.sandbox, sandbox) != 0) {
		bad = sp_fail(err, SP_E_BAD_RECORD, "is the record of %s", ret->identity.sandbox);
		sp_record_done(ret);
	}
	return bad ? sp_err_prefix(err, bad, "%s", member->name) : 0;
}

static int print_one(struct sp_cli *cli, struct sp_table *table, const struct sp_record *record)
{
	if (table)
		return spaceid_records_row(table, record) < 0 ? SP_EXIT_FAILED : SP_EXIT_DONE;
	return sp_cli_put_json(cli, sp_record_json(record));
}

static int print_records(struct sp_cli *cli, const struct sp_archive *archive)
{
	struct sp_table *table;
	int exit = spaceid_records_table(cli, &table);

	for (size_t i = 0; i < archive->count && exit != SP_EXIT_FAILED; i++) {
		char sandbox[SP_ID_MAX + 1];
		struct sp_record record;
		struct sp_err err = {0};
		if (!record_name(archive->members[i].name, sandbox))
			continue;
		if (parse(&archive->members[i], sandbox, &record, &err) < 0) {
			exit = sp_exit_worse(exit, sp_cli_fail(cli, &err));
			continue;
		}
		exit = sp_exit_worse(exit, print_one(cli, table, &record));
		sp_record_done(&record);
	}
	if (sp_table_finish(table) < 0)
		exit = SP_EXIT_FAILED;
	sp_table_free(table);
	return exit;
}

/* A directory that is there already could be somebody's store. */
static int unpack(
    struct sp_cli *cli, const char *into, const struct sp_archive *archive, struct sp_err *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" SPACEID_EXPORT_RECORDS, into);
	int bad = 0;

	if (n < 0 || (size_t)n >= sizeof(path))
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", into);
	if (mkdir(into, 0700) < 0 || mkdir(path, 0700) < 0)
		return sp_fail_errno(err, "%s", into);
	for (size_t i = 0; i < archive->count && !bad; i++) {
		const struct sp_archive_member *member = &archive->members[i];
		sp_cli_progress(cli, (int64_t)i, "files", false);
		n = snprintf(path, sizeof(path), "%s/%s", into, member->name);
		bad = n < 0 || (size_t)n >= sizeof(path)
			  ? sp_fail(err, -ENAMETOOLONG, "%s: path too long", into)
			  : sp_file_create(AT_FDCWD, path, 0600, member->data, member->size, err);
	}
	return bad;
}

int spaceid_import(struct sp_cli *cli)
{
	const char *into = sp_cli_text(cli, "into");
	sp_cleanup(sp_archive_done) struct sp_archive archive = {0};
	struct sp_err err = {0};
	int bad = read_archive(sp_cli_argument(cli, 0), &archive, &err);

	if (!bad && into)
		bad = unpack(cli, into, &archive, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	return into ? SP_EXIT_DONE : print_records(cli, &archive);
}
