/*
 * spaceid export: records as they are on disk, damaged ones too, and what the page said of them, as
 * a tar for debugging elsewhere. No guest key is ever in it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/archive.h"
#include "base/file.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

#define OUTPUT_MS 60000

struct exporting {
	struct sp_store *store;
	const char *only;
	struct sp_archive_member members[SP_EXPORT_MEMBERS_MAX];
	size_t count, bytes;
	char *page; /* lines */
	size_t page_size;
	FILE *page_stream;
	struct sp_err *err;
};

static void exporting_free(struct exporting *export)
{
	for (size_t i = 0; i < export->count; i++) {
		free(export->members[i].name);
		free(export->members[i].data);
	}
	if (export->page_stream)
		(void)fclose(export->page_stream);
	free(export->page);
	free(export);
}

/* Takes `data`. */
static int add(struct exporting *export, const char *prefix, const char *name, const char *suffix,
    char *data, size_t size)
{
	struct sp_archive_member *member = &export->members[export->count];
	char path[SP_ARCHIVE_NAME_MAX + 1];

	if (export->count == SP_EXPORT_MEMBERS_MAX - 2 ||
	    export->bytes + size > SP_EXPORT_BYTES_MAX) {
		free(data);
		return sp_fail(export->err, SP_E_TOO_LARGE,
		    "more than %u records or %u bytes: name one with --sandbox",
		    SP_EXPORT_MEMBERS_MAX - 2, SP_EXPORT_BYTES_MAX);
	}
	(void)snprintf(path, sizeof(path), "%s%s%s", prefix, name, suffix);
	*member = (struct sp_archive_member){strdup(path), data, size};
	export->count++;
	export->bytes += size;
	return member->name && data ? 0 : sp_fail(export->err, -ENOMEM, "out of memory");
}

/* What holders and caches go by, beside what is on disk: a mismatch may lie between the two. */
static int note_page(struct exporting *export, const char *sandbox)
{
	static const char *const states[] = {"absent", "active", "retired"};
	sp_auto_json json_t *line = NULL;
	struct sp_page_ref ref;
	struct sp_page_view view = {0};
	int bad = sp_page_find(export->store, sandbox, &ref);

	if (!bad)
		bad = sp_page_look(export->store, ref, &view);
	if (bad)
		line = json_pack("{ssss}", "sandbox", sandbox, "page",
		    bad == SP_E_ABSENT ? "absent" : "unavailable");
	else
		line = json_pack("{sssIsIsssbsb}", "sandbox", sandbox, "epoch",
		    (json_int_t)view.epoch, "version", (json_int_t)view.version, "state",
		    states[view.state], "pending", view.pending, "writer_dead", view.writer_dead);
	if (!line || json_dumpf(line, export->page_stream, JSON_COMPACT) < 0 ||
	    fputc('\n', export->page_stream) == EOF)
		return sp_fail(export->err, -ENOMEM, "out of memory");
	return 0;
}

static int export_one(void *context, const char *sandbox, const struct sp_record *record)
{
	struct exporting *export = context;
	char *text;
	size_t size;
	int bad;

	(void)record;
	if (export->only && strcmp(export->only, sandbox) != 0)
		return 0;
	bad = note_page(export, sandbox);
	if (!bad)
		bad = sp_store_raw(export->store, sandbox, &text, &size, export->err);
	if (bad)
		return bad == SP_E_ABSENT ? 0 : bad; /* went since it was listed */
	return add(export, SPACEID_EXPORT_RECORDS, sandbox, ".json", text, size);
}

static char *read_line(const char *path)
{
	char *text;
	size_t size;

	if (sp_file_read(AT_FDCWD, path, 0, 256, &text, &size, NULL) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static int add_manifest(struct exporting *export, const struct sp_config *config, size_t records)
{
	sp_auto_free char *boot = read_line("/proc/sys/kernel/random/boot_id");
	sp_auto_json json_t *manifest = NULL;
	struct utsname system = {0};
	char now[SP_TIME_SIZE];
	char *text;

	(void)uname(&system);
	sp_time_format(sp_time_now(), now);
	manifest = json_pack("{sissssssss*ss*ss*sI}", "v", 1, "made_by", "spaceid " SP_VERSION,
	    "made_at", now, "host", system.nodename, "kernel", system.release, "boot_id", boot,
	    "worker", config->worker[0] ? config->worker : NULL, "records", (json_int_t)records);
	text = manifest ? sp_json_text(manifest) : NULL;
	return add(export, "", SPACEID_EXPORT_MANIFEST, "", text, text ? strlen(text) : 0);
}

static int collect(struct exporting *export, const struct sp_config *config, struct sp_err *err)
{
	size_t records;
	int bad;

	export->page_stream = open_memstream(&export->page, &export->page_size);
	if (!export->page_stream)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = sp_store_walk(export->store, export_one, export, err);
	records = export->count;
	if (!bad && records == 0)
		bad = sp_fail(err, SP_E_ABSENT, "%s: no record in %s",
		    export->only ? export->only : "all", sp_store_path(export->store));
	if (!bad && fflush(export->page_stream) != 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	if (!bad)
		bad = add(export, "", SPACEID_EXPORT_PAGE, "",
		    strndup(export->page, export->page_size), export->page_size);
	return bad ? bad : add_manifest(export, config, records);
}

static int write_out(const char *path, const char *tar, size_t size, struct sp_err *err)
{
	int bad;

	if (strcmp(path, "-") != 0)
		return sp_file_create(AT_FDCWD, path, 0600, tar, size, err);
	bad = sp_write_all(STDOUT_FILENO, tar, size, OUTPUT_MS);
	return bad ? sp_fail(err, bad, "standard output: %s", sp_code_text(bad)) : 0;
}

static int export_store(
    struct exporting *export, const struct sp_config *config, const char *path, struct sp_err *err)
{
	sp_auto_free char *tar = NULL;
	size_t size;
	int bad = collect(export, config, err);

	if (!bad)
		bad = sp_archive_pack(export->members, export->count, SP_ARCHIVE_TAR, sp_time_now(),
		    &tar, &size, err);
	return bad ? bad : write_out(path, tar, size, err);
}

int spaceid_export(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	const char *path = sp_cli_argument(cli, 0), *only;
	auto_store struct sp_store *store = NULL;
	struct exporting *export;
	struct sp_err err = {0};
	int bad;

	if (!config || spaceid_id(cli, "sandbox", &only))
		return SP_EXIT_USAGE;
	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		return sp_cli_usage(cli, "a tar is nothing for a terminal: name a file");
	bad = spaceid_store(cli, 0, &store);
	if (bad)
		return bad;
	export = calloc(1, sizeof(*export));
	if (!export)
		return SP_EXIT_FAILED;
	export->store = store;
	export->only = only;
	export->err = &err;
	bad = export_store(export, config, path, &err);
	exporting_free(export);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
