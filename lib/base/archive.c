/* libarchive behind bounds: what a hostile archive may cost and contain is decided here. */
#include "base/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/libarchive.h"
#include "base/util.h"

static int load(const struct sp_libarchive **ret, struct sp_err *err)
{
	int bad = sp_libarchive_load(ret, err);

	return bad ? sp_err_prefix(err, bad, "archives") : 0;
}

bool sp_archive_name_valid(const char *name)
{
	size_t length = strlen(name), component = 0;

	if (length == 0 || length > SP_ARCHIVE_NAME_MAX)
		return false;
	for (size_t i = 0; i <= length; i++) {
		unsigned char c = (unsigned char)name[i];
		if (c != '/' && c != '\0') {
			if (c < 0x20 || c > 0x7e)
				return false;
			continue;
		}
		const char *at = name + component;
		size_t size = i - component;
		if (size == 0 || (size == 1 && at[0] == '.') ||
		    (size == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		component = i + 1;
	}
	return true;
}

const struct sp_archive_member *sp_archive_find(const struct sp_archive *archive, const char *name)
{
	for (size_t i = 0; i < archive->count; i++)
		if (strcmp(archive->members[i].name, name) == 0)
			return &archive->members[i];
	return NULL;
}

void sp_archive_done(struct sp_archive *archive)
{
	for (size_t i = 0; i < archive->count; i++) {
		free(archive->members[i].name);
		free(archive->members[i].data);
	}
	free(archive->members);
	*archive = (struct sp_archive){0};
}

struct output {
	char *data;
	size_t size, room;
};

static la_ssize_t append(struct archive *archive, void *context, const void *data, size_t size)
{
	struct output *output = context;

	(void)archive;
	if (output->room - output->size < size) {
		size_t room = (output->size + size) * 2;
		char *larger = realloc(output->data, room);
		if (!larger)
			return -1;
		output->data = larger;
		output->room = room;
	}
	if (size > 0)
		memcpy(output->data + output->size, data, size);
	output->size += size;
	return (la_ssize_t)size;
}

static int write_member(const struct sp_libarchive *la, struct archive *writer,
    struct archive_entry *entry, const struct sp_archive_member *member, int64_t mtime,
    struct sp_err *err)
{
	if (!sp_archive_name_valid(member->name))
		return sp_fail(err, SP_E_BAD_ARCHIVE, "`%.64s` is no name for an archive's member",
		    member->name);
	(void)la->archive_entry_clear(entry);
	la->archive_entry_set_pathname(entry, member->name);
	la->archive_entry_set_filetype(entry, AE_IFREG);
	la->archive_entry_set_perm(entry, 0644);
	la->archive_entry_set_size(entry, (la_int64_t)member->size);
	la->archive_entry_set_mtime(entry, mtime, 0);
	if (la->archive_write_header(writer, entry) != ARCHIVE_OK ||
	    la->archive_write_data(writer, member->data, member->size) != (la_ssize_t)member->size)
		return sp_fail(err, SP_E_BAD_ARCHIVE, "member `%.64s`: %s", member->name,
		    la->archive_error_string(writer));
	return 0;
}

static int write_all(const struct sp_libarchive *la, struct archive *writer,
    const struct sp_archive_member *members, size_t count, int64_t mtime, struct sp_err *err)
{
	struct archive_entry *entry = la->archive_entry_new();
	int bad = entry ? 0 : sp_fail(err, -ENOMEM, "archive: out of memory");

	for (size_t i = 0; i < count && !bad; i++)
		bad = write_member(la, writer, entry, &members[i], mtime, err);
	la->archive_entry_free(entry);
	if (!bad && la->archive_write_close(writer) != ARCHIVE_OK)
		bad = sp_fail(err, -ENOMEM, "archive: %s", la->archive_error_string(writer));
	return bad;
}

int sp_archive_pack(const struct sp_archive_member *members, size_t count,
    enum sp_archive_kind kind, int64_t mtime, char **ret, size_t *ret_size, struct sp_err *err)
{
	const struct sp_libarchive *la;
	struct output output = {0};
	struct archive *writer;
	int bad = load(&la, err);

	if (bad)
		return bad;
	writer = la->archive_write_new();
	if (!writer)
		return sp_fail(err, -ENOMEM, "archive: out of memory");
	if (la->archive_write_set_format_pax_restricted(writer) != ARCHIVE_OK ||
	    (kind == SP_ARCHIVE_TAR_ZSTD &&
		la->archive_write_add_filter_zstd(writer) != ARCHIVE_OK) ||
	    la->archive_write_set_bytes_in_last_block(writer, 1) != ARCHIVE_OK ||
	    la->archive_write_open(writer, &output, NULL, append, NULL) != ARCHIVE_OK)
		bad =
		    sp_fail(err, SP_E_UNAVAILABLE, "archive: %s", la->archive_error_string(writer));
	else
		bad = write_all(la, writer, members, count, mtime, err);
	(void)la->archive_write_free(writer);
	if (bad) {
		free(output.data);
		return bad;
	}
	*ret = output.data;
	*ret_size = output.size;
	return 0;
}

static bool listed(const struct sp_archive_limits *limits, const char *name)
{
	bool found = limits->names == NULL;

	for (size_t i = 0; !found && limits->names[i]; i++)
		found = strcmp(limits->names[i], name) == 0;
	return found && (!limits->allowed || limits->allowed(name, limits->context));
}

/* What is known before one byte of the member's content is read. */
static int check_header(const struct sp_libarchive *la, struct archive_entry *entry,
    const struct sp_archive_limits *limits, const struct sp_archive *so_far, struct sp_err *err)
{
	const char *name = la->archive_entry_pathname(entry);

	if (!name || !sp_archive_name_valid(name))
		return sp_fail(err, SP_E_BAD_ARCHIVE, "archive: a member's name is unsafe: `%.64s`",
		    name ? name : "");
	if (la->archive_entry_filetype(entry) != AE_IFREG || la->archive_entry_hardlink(entry))
		return sp_fail(
		    err, SP_E_BAD_ARCHIVE, "archive: `%.64s` is a link, device or directory", name);
	if (!listed(limits, name))
		return sp_fail(err, SP_E_BAD_ARCHIVE, "archive: unknown member `%.64s`", name);
	if (sp_archive_find(so_far, name))
		return sp_fail(err, SP_E_BAD_ARCHIVE, "archive: `%.64s` is in it twice", name);
	if (so_far->count >= limits->members)
		return sp_fail(
		    err, SP_E_BAD_ARCHIVE, "archive: more than %zu members", limits->members);
	return 0;
}

/* Reads what there is, not what a header claims, up to `room`. */
static int read_content(const struct sp_libarchive *la, struct archive *reader, size_t room,
    struct sp_archive_member *member, struct sp_err *err)
{
	struct output content = {0};
	char chunk[16384];

	for (;;) {
		la_ssize_t n = la->archive_read_data(reader, chunk, sizeof(chunk));
		int bad = 0;
		if (n < 0)
			bad = sp_fail(
			    err, SP_E_BAD_ARCHIVE, "archive: %s", la->archive_error_string(reader));
		else if ((size_t)n > room - content.size)
			bad = sp_fail(
			    err, SP_E_BAD_ARCHIVE, "archive: larger than its limit when unpacked");
		else if (append(NULL, &content, chunk, (size_t)n) < 0)
			bad = sp_fail(err, -ENOMEM, "archive: out of memory");
		if (bad) {
			free(content.data);
			return bad;
		}
		if (n == 0)
			break;
	}
	if (append(NULL, &content, "", 1) < 0) {
		free(content.data);
		return sp_fail(err, -ENOMEM, "archive: out of memory");
	}
	member->data = content.data;
	member->size = content.size - 1;
	return 0;
}

static int read_member(const struct sp_libarchive *la, struct archive *reader,
    struct archive_entry *entry, const struct sp_archive_limits *limits, size_t room,
    struct sp_archive *archive, struct sp_err *err)
{
	struct sp_archive_member member = {0};
	int bad = check_header(la, entry, limits, archive, err);

	if (bad)
		return bad;
	member.name = strdup(la->archive_entry_pathname(entry));
	if (!member.name)
		return sp_fail(err, -ENOMEM, "archive: out of memory");
	bad = read_content(la, reader, room, &member, err);
	if (bad) {
		free(member.name);
		return bad;
	}
	archive->members[archive->count++] = member;
	return 0;
}

static int read_all(const struct sp_libarchive *la, struct archive *reader,
    const struct sp_archive_limits *limits, struct sp_archive *archive, struct sp_err *err)
{
	size_t used = 0;

	for (;;) {
		struct archive_entry *entry;
		int got = la->archive_read_next_header(reader, &entry);
		if (got == ARCHIVE_EOF)
			return archive->count > 0
				   ? 0
				   : sp_fail(err, SP_E_BAD_ARCHIVE, "archive: nothing in it");
		/* A warning means that libarchive made something up: not for us. */
		if (got != ARCHIVE_OK)
			return sp_fail(
			    err, SP_E_BAD_ARCHIVE, "archive: %s", la->archive_error_string(reader));
		int bad =
		    read_member(la, reader, entry, limits, limits->bytes - used, archive, err);
		if (bad)
			return bad;
		used += archive->members[archive->count - 1].size;
	}
}

int sp_archive_unpack(const void *data, size_t size, const struct sp_archive_limits *limits,
    struct sp_archive *ret, struct sp_err *err)
{
	const struct sp_libarchive *la;
	struct sp_archive archive = {0};
	struct archive *reader;
	int bad = load(&la, err);

	if (bad)
		return bad;
	archive.members = calloc(limits->members, sizeof(*archive.members));
	reader = archive.members ? la->archive_read_new() : NULL;
	if (!reader) {
		free(archive.members);
		return sp_fail(err, -ENOMEM, "archive: out of memory");
	}
	if (la->archive_read_support_format_tar(reader) != ARCHIVE_OK ||
	    la->archive_read_support_filter_zstd(reader) != ARCHIVE_OK)
		bad = sp_fail(err, SP_E_UNAVAILABLE, "this libarchive reads no zstd: %s",
		    la->archive_error_string(reader));
	else if (la->archive_read_open_memory(reader, data, size) != ARCHIVE_OK)
		bad =
		    sp_fail(err, SP_E_BAD_ARCHIVE, "archive: %s", la->archive_error_string(reader));
	else
		bad = read_all(la, reader, limits, &archive, err);
	(void)la->archive_read_free(reader);
	if (bad)
		sp_archive_done(&archive);
	else
		*ret = archive;
	return bad;
}
