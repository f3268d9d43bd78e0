/* One secret a file: made O_EXCL, read only while nobody else can. */
#include "store/guestkey.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"

#define DIRECTORY_MODE 0711
#define TRIED_SIZE     (SP_GUEST_TRIED_MAX * (SP_ID_MAX + 1) + 1)
#define TEXT_SIZE      48 /* 32 bytes in base64url, an LF, and some */

static int key_path(
    const char *records, const char *guest_id, char path[PATH_MAX], struct sp_err *err)
{
	int n;

	if (!sp_id_valid(guest_id))
		return sp_fail(err, SP_E_USAGE, "`%.140s` is no guest id", guest_id);
	n = snprintf(path, PATH_MAX, "%s/" SP_GUEST_KEYS_PATH "/%s", records, guest_id);
	if (n < 0 || n >= PATH_MAX)
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", records);
	return 0;
}

static int make_directory(const char *records, struct sp_err *err)
{
	char path[PATH_MAX];
	struct stat info;

	(void)snprintf(path, sizeof(path), "%s/" SP_GUEST_KEYS_PATH, records);
	if (mkdir(path, DIRECTORY_MODE) == 0) {
		if (chmod(path, DIRECTORY_MODE) < 0)
			return sp_fail_errno(err, "%s", path);
		/* Made by root for a store of another uid: that one's, as all beside it. */
		if (stat(records, &info) == 0 && geteuid() == 0 &&
		    chown(path, info.st_uid, info.st_gid) < 0)
			return sp_fail_errno(err, "%s", path);
		return 0;
	}
	return errno == EEXIST ? 0 : sp_fail_errno(err, "%s", path);
}

static int give_to(const char *path, uid_t reader, struct sp_err *err)
{
	if (reader == (uid_t)-1 || reader == geteuid())
		return 0;
	if (chown(path, reader, (gid_t)-1) == 0)
		return 0;
	(void)sp_fail_errno(err, "%s: owner", path);
	(void)unlink(path);
	return err ? err->code : -EPERM;
}

int sp_guest_key_create(const char *records, const char *guest_id, uid_t reader,
    const uint8_t key[SP_GUEST_KEY_SIZE], struct sp_err *err)
{
	char path[PATH_MAX], text[TEXT_SIZE];
	int bad = key_path(records, guest_id, path, err);

	if (!bad)
		bad = make_directory(records, err);
	if (bad)
		return bad;
	sp_base64_encode(key, SP_GUEST_KEY_SIZE, true, text, sizeof(text));
	text[sp_base64_room(SP_GUEST_KEY_SIZE, true) - 1] = '\n';
	bad = sp_file_create(
	    AT_FDCWD, path, 0600, text, sp_base64_room(SP_GUEST_KEY_SIZE, true), err);
	sodium_memzero(text, sizeof(text));
	return bad ? bad : give_to(path, reader, err);
}

int sp_guest_key_load(const char *path, uint8_t ret_key[SP_GUEST_KEY_SIZE], struct sp_err *err)
{
	uint8_t key[SP_GUEST_KEY_SIZE];
	char *text;
	size_t size, length, decoded = 0;
	int bad = sp_file_read(AT_FDCWD, path, SP_FILE_SECRET, TEXT_SIZE, &text, &size, err);

	if (bad == -ENOENT)
		return sp_fail(err, SP_E_ABSENT, "%s: no such guest key", path);
	if (bad == SP_E_TOO_LARGE)
		return sp_fail(err, SP_E_BAD_KEY, "%s: not a guest key", path);
	if (bad)
		return bad;
	length = size > 0 && text[size - 1] == '\n' ? size - 1 : size;
	if (!sp_base64_decode(text, length, true, key, sizeof(key), &decoded) ||
	    decoded != sizeof(key))
		bad = sp_fail(err, SP_E_BAD_KEY, "%s: not a guest key", path);
	else
		memcpy(ret_key, key, sizeof(key));
	sodium_memzero(key, sizeof(key));
	sp_secret_free(text, size);
	return bad;
}

int sp_guest_key_read(const char *records, const char *guest_id, uint8_t ret_key[SP_GUEST_KEY_SIZE],
    struct sp_err *err)
{
	char path[PATH_MAX];
	int bad = key_path(records, guest_id, path, err);

	return bad ? bad : sp_guest_key_load(path, ret_key, err);
}

int sp_guest_key_remove(const char *records, const char *guest_id, struct sp_err *err)
{
	char path[PATH_MAX];
	int bad = key_path(records, guest_id, path, err);

	if (bad)
		return bad;
	if (unlink(path) == 0)
		return 0;
	if (errno == ENOENT)
		return sp_fail(err, SP_E_ABSENT, "%s: no such guest key", path);
	return sp_fail_errno(err, "%s", path);
}

/* A leading dot makes no id: the names of keys and these never meet. */
static int tried_path(
    const char *records, const char *sandbox, char path[PATH_MAX], struct sp_err *err)
{
	int n;

	if (!sp_id_valid(sandbox))
		return sp_fail(err, SP_E_USAGE, "`%.140s` is no sandbox's id", sandbox);
	n = snprintf(path, PATH_MAX, "%s/" SP_GUEST_KEYS_PATH "/.tried.%s", records, sandbox);
	if (n < 0 || n >= PATH_MAX)
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", records);
	return 0;
}

int sp_guest_tried_read(const char *records, const char *sandbox,
    char ret_ids[SP_GUEST_TRIED_MAX][SP_ID_MAX + 1], unsigned *ret_count, struct sp_err *err)
{
	char path[PATH_MAX], *rest, *id;
	sp_auto_free char *text = NULL;
	unsigned count = 0;
	size_t size;
	int bad = tried_path(records, sandbox, path, err);

	if (!bad)
		bad = sp_file_read(AT_FDCWD, path, SP_FILE_NOFOLLOW, TRIED_SIZE, &text, &size, err);
	if (bad && bad != -ENOENT)
		return bad;
	for (rest = text; rest && (id = strsep(&rest, "\n")) && count < SP_GUEST_TRIED_MAX;)
		if (sp_id_valid(id))
			memcpy(ret_ids[count++], id, strlen(id) + 1);
	*ret_count = count;
	return 0;
}

int sp_guest_tried_write(const char *records, const char *sandbox, char (*ids)[SP_ID_MAX + 1],
    unsigned count, struct sp_err *err)
{
	char path[PATH_MAX], text[TRIED_SIZE] = "";
	int bad = tried_path(records, sandbox, path, err);
	size_t used = 0;

	for (unsigned i = 0; i < count && i < SP_GUEST_TRIED_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", ids[i]);
	if (!bad)
		bad = make_directory(records, err);
	return bad ? bad : sp_file_replace(AT_FDCWD, path, 0600, text, strlen(text), err);
}

void sp_guest_forget(const char *records, const char *sandbox, const char *guest_id)
{
	char ids[SP_GUEST_TRIED_MAX][SP_ID_MAX + 1], path[PATH_MAX];
	unsigned count = 0;

	if (guest_id)
		(void)sp_guest_key_remove(records, guest_id, NULL);
	if (sp_guest_tried_read(records, sandbox, ids, &count, NULL) == 0)
		for (unsigned i = 0; i < count; i++)
			(void)sp_guest_key_remove(records, ids[i], NULL);
	if (tried_path(records, sandbox, path, NULL) == 0)
		(void)unlink(path);
}
