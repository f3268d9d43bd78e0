/* Keys by id, and whether they count now. */
#include "token/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/util.h"
#include "token/bundle.h"

struct sp_keyring {
	struct sp_manifest manifest; /* serial and expires_at are 0 when it is no bundle */
	char path[PATH_MAX];         /* what to look at again; "": nothing */
	struct stat seen;
};

static int allocate(struct sp_keyring **ret, struct sp_err *err)
{
	struct sp_keyring *keys = sodium_init() < 0 ? NULL : calloc(1, sizeof(*keys));

	if (!keys)
		return sp_fail(err, -ENOMEM, "keys: out of memory");
	*ret = keys;
	return 0;
}

int sp_keyring_empty(struct sp_keyring **ret)
{
	return allocate(ret, NULL);
}

void sp_keyring_free(struct sp_keyring *keys)
{
	free(keys);
}

static int add_public(struct sp_keyring *keys, const char *word, struct sp_err *err)
{
	struct sp_bundle_key *key = &keys->manifest.keys[keys->manifest.count];
	int bad;

	if (keys->manifest.count == SP_BUNDLE_KEYS_MAX)
		return sp_fail(err, SP_E_BAD_KEY, "more than %d keys", SP_BUNDLE_KEYS_MAX);
	bad = sp_paserk_public_read(word, key->public, err);
	if (!bad)
		bad = sp_paserk_id(key->public, sizeof(key->public), key->kid, err);
	if (bad)
		return bad;
	key->not_before = INT64_MIN;
	key->not_after = INT64_MAX;
	keys->manifest.count++;
	return 0;
}

/* One key a line; empty lines and those that start with # are for people. */
static int add_lines(struct sp_keyring *keys, char *text, struct sp_err *err)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t\r");
		line[strcspn(line, " \t\r")] = '\0';
		if (*line == '\0' || *line == '#')
			continue;
		int bad = add_public(keys, line, err);
		if (bad)
			return bad;
	}
	return keys->manifest.count > 0 ? 0 : sp_fail(err, SP_E_BAD_KEY, "no k4.public. key in it");
}

/* The stat comes before the reading: a change in between is then noticed later, never missed. */
static int remember(
    struct sp_keyring *keys, const char *path, const char *below, struct sp_err *err)
{
	int size = snprintf(keys->path, sizeof(keys->path), "%s%s", path, below);

	if (size < 0 || (size_t)size >= sizeof(keys->path))
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", path);
	if (stat(keys->path, &keys->seen) < 0)
		memset(&keys->seen, 0, sizeof(keys->seen));
	return 0;
}

static int load_file(struct sp_keyring *keys, const char *path, struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	size_t size;
	int bad = remember(keys, path, "", err);

	if (!bad)
		bad = sp_file_read(AT_FDCWD, path, 0,
		    SP_BUNDLE_KEYS_MAX * SP_PASERK_PUBLIC_SIZE + SP_KEY_FILE_MAX, &text, &size,
		    err);
	if (bad)
		return bad;
	bad = add_lines(keys, text, err);
	return bad ? sp_err_prefix(err, bad, "%s", path) : 0;
}

static int load_directory(struct sp_keyring *keys, const char *path, const char *realm,
    const char *roots_text, struct sp_err *err)
{
	struct sp_roots roots;
	struct sp_bundle bundle;
	int bad = sp_roots_parse(roots_text, &roots, err);

	if (!bad)
		bad = remember(keys, path, "/current/manifest.json", err);
	if (!bad && keys->seen.st_ino == 0)
		bad = remember(keys, path, "/manifest.json", err);
	if (!bad)
		bad = sp_bundle_read_directory(path, &bundle, err);
	if (bad)
		return bad;
	bad = sp_bundle_check(&bundle, &roots, realm, &keys->manifest, err);
	sp_bundle_done(&bundle);
	return bad ? sp_err_prefix(err, bad, "%s", path) : 0;
}

static int load(struct sp_keyring *keys, const char *source, const char *realm, const char *roots,
    struct sp_err *err)
{
	struct stat info;

	if (strncmp(source, "k4.public.", 10) == 0)
		return add_public(keys, source, err);
	if (stat(source, &info) < 0)
		return errno == ENOENT ? sp_fail(err, SP_E_ABSENT, "%s: no such keys", source)
				       : sp_fail_errno(err, "%s", source);
	return S_ISDIR(info.st_mode) ? load_directory(keys, source, realm, roots, err)
				     : load_file(keys, source, err);
}

int sp_keyring_load(const char *source, const char *realm, const char *roots,
    struct sp_keyring **ret, struct sp_err *err)
{
	struct sp_keyring *keys = NULL;
	int bad = allocate(&keys, err);

	if (bad)
		return bad;
	bad = load(keys, source, realm, roots, err);
	if (bad)
		sp_keyring_free(keys);
	else
		*ret = keys;
	return bad;
}

enum sp_reason sp_keyring_find(
    const struct sp_keyring *keys, const char *kid, int64_t now, const unsigned char **ret_public)
{
	const struct sp_manifest *manifest = &keys->manifest;
	const struct sp_bundle_key *key = manifest->keys;

	if (manifest->serial > 0 && now >= manifest->expires_at)
		return SP_REASON_UNKNOWN_KEY;
	while (key < manifest->keys + manifest->count && strcmp(key->kid, kid) != 0)
		key++;
	if (key == manifest->keys + manifest->count)
		return SP_REASON_UNKNOWN_KEY;
	if (key->revoked)
		return SP_REASON_REVOKED_KEY;
	if (now < key->not_before || now >= key->not_after)
		return SP_REASON_UNKNOWN_KEY;
	*ret_public = key->public;
	return SP_REASON_NONE;
}

int64_t sp_keyring_serial(const struct sp_keyring *keys)
{
	return keys->manifest.serial;
}

int64_t sp_keyring_expires_at(const struct sp_keyring *keys)
{
	return keys->manifest.expires_at;
}

size_t sp_keyring_count(const struct sp_keyring *keys)
{
	return keys->manifest.count;
}

bool sp_keyring_stale(const struct sp_keyring *keys)
{
	const struct stat *seen = &keys->seen;
	struct stat now;

	if (!keys->path[0])
		return keys->manifest.count == 0;
	return stat(keys->path, &now) < 0 || now.st_ino != seen->st_ino ||
	       now.st_dev != seen->st_dev || now.st_size != seen->st_size ||
	       now.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec;
}
