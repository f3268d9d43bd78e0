/* Putting a bundle into force: one rename of a symlink is the moment at which it counts. */
#include "token/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include "base/file.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

#define LOCK_TIMEOUT_MS 10000
#define SERIAL_FILE_MAX 1024
#define DIGEST_SIZE     32
#define DIGEST_TEXT     44 /* base64url and a NUL */

/* What the serial file remembers of the newest bundle that was ever installed. */
struct highest {
	int64_t serial; /* 0: none yet */
	char digest[DIGEST_TEXT];
};

struct place {
	char directory[PATH_MAX - 16]; /* without a slash at its end */
	char serial_path[PATH_MAX];
	int fd, lock;
};

static void close_place(struct place *place)
{
	sp_fd_close(&place->lock);
	sp_fd_close(&place->fd);
}

static int take_lock(int fd, const struct sp_bundle_wait *wait, struct sp_err *err)
{
	int64_t deadline = sp_monotonic_ms() + LOCK_TIMEOUT_MS;
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return sp_fail_errno(err, "lock of the bundle directory");
		if (sp_monotonic_ms() > deadline)
			return sp_fail(err, SP_E_TIMEOUT,
			    "another install has held the bundle directory for %d s",
			    LOCK_TIMEOUT_MS / 1000);
		if (wait)
			wait->waiting(wait->context);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static int open_place(const char *directory, const struct sp_bundle_wait *wait, struct place *place,
    struct sp_err *err)
{
	size_t length = strlen(directory);
	int bad;

	while (length > 1 && directory[length - 1] == '/')
		length--;
	if (length == 0 || length >= sizeof(place->directory))
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", directory);
	memcpy(place->directory, directory, length);
	place->directory[length] = '\0';
	(void)snprintf(
	    place->serial_path, sizeof(place->serial_path), "%s.serial", place->directory);
	bad = sp_directory_make_lasting(place->directory, 0755, err);
	if (bad)
		return bad;
	place->fd = open(place->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->fd < 0)
		return sp_fail_errno(err, "%s", place->directory);
	place->lock = openat(place->fd, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (place->lock < 0)
		return sp_fail_errno(err, "%s/.lock", place->directory);
	return take_lock(place->lock, wait, err);
}

static void digest_of(const struct sp_bundle *bundle, char ret[DIGEST_TEXT])
{
	unsigned char digest[DIGEST_SIZE];
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, NULL, 0, sizeof(digest));
	(void)crypto_generichash_update(&state, bundle->signature, sizeof(bundle->signature));
	(void)crypto_generichash_update(
	    &state, (const unsigned char *)bundle->manifest, bundle->size);
	(void)crypto_generichash_final(&state, digest, sizeof(digest));
	sp_base64_encode(digest, sizeof(digest), true, ret, DIGEST_TEXT);
}

static int read_highest(const struct place *place, struct highest *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	const json_t *serial, *digest;
	const struct sp_json_field fields[] = {
	    {"serial", SP_JSON_INTEGER, false, &serial},
	    {"digest", SP_JSON_STRING, false, &digest},
	};
	int bad = sp_json_read_file(AT_FDCWD, place->serial_path, SERIAL_FILE_MAX, &object, err);

	*ret = (struct highest){.serial = 0};
	if (bad == -ENOENT)
		return 0;
	if (!bad)
		bad = sp_json_take(object, place->serial_path, fields, SP_COUNT(fields), err);
	if (!bad && json_string_length(digest) != DIGEST_TEXT - 1)
		bad = sp_fail(
		    err, SP_E_BAD_RECORD, "%s: `digest` has another length", place->serial_path);
	if (bad)
		return bad;
	ret->serial = json_integer_value(serial);
	memcpy(ret->digest, json_string_value(digest), DIGEST_TEXT);
	return 0;
}

static int write_highest(
    const struct place *place, const struct highest *highest, struct sp_err *err)
{
	char text[128];
	int size = snprintf(text, sizeof(text), "{\"serial\":%lld,\"digest\":\"%s\"}\n",
	    (long long)highest->serial, highest->digest);

	return sp_file_replace(AT_FDCWD, place->serial_path, 0644, text, (size_t)size, err);
}

/* The bundle in force counts too: the serial file may be older than it, or gone. It is not
 * verified: whoever can write there needs no rollback. */
static void consider_installed(
    const struct place *place, struct highest *highest, char ret_in_force[DIGEST_TEXT])
{
	struct sp_bundle installed;
	struct sp_manifest manifest;

	ret_in_force[0] = '\0';
	if (sp_bundle_read_directory(place->directory, &installed, NULL) < 0)
		return;
	digest_of(&installed, ret_in_force);
	if (sp_manifest_parse(installed.manifest, installed.size, &manifest, NULL) == 0 &&
	    manifest.serial > highest->serial) {
		highest->serial = manifest.serial;
		memcpy(highest->digest, ret_in_force, DIGEST_TEXT);
	}
	sp_bundle_done(&installed);
}

static int check_serial(
    const struct highest *highest, const struct highest *offered, struct sp_err *err)
{
	if (offered->serial < highest->serial)
		return sp_fail(err, SP_E_CONFLICT,
		    "serial %lld is lower than %lld, which was installed before",
		    (long long)offered->serial, (long long)highest->serial);
	if (offered->serial == highest->serial && strcmp(offered->digest, highest->digest) != 0)
		return sp_fail(err, SP_E_CONFLICT,
		    "serial %lld was installed before with other bytes: build a higher one",
		    (long long)offered->serial);
	return 0;
}

static int make_version(const struct place *place, const struct sp_bundle *bundle, int64_t serial,
    char name[64], struct sp_err *err)
{
	sp_auto_fd int fd = -1;
	unsigned char random[6];
	char suffix[13];
	int bad;

	randombytes_buf(random, sizeof(random));
	(void)sodium_bin2hex(suffix, sizeof(suffix), random, sizeof(random));
	(void)snprintf(name, 64, "v%lld-%s", (long long)serial, suffix);
	if (mkdirat(place->fd, name, 0755) < 0)
		return sp_fail_errno(err, "%s/%s", place->directory, name);
	fd = openat(place->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fchmod(fd, 0755) < 0)
		return sp_fail_errno(err, "%s/%s", place->directory, name);
	bad = sp_file_create(fd, "manifest.json", 0644, bundle->manifest, bundle->size, err);
	if (!bad)
		bad = sp_file_create(
		    fd, "manifest.sig", 0644, bundle->signature, sizeof(bundle->signature), err);
	return bad;
}

/* A symlink under a name that may be taken: aside, then renamed over it. */
static int point(
    const struct place *place, const char *target, const char *name, struct sp_err *err)
{
	char aside[64];

	(void)snprintf(aside, sizeof(aside), "%s.new", name);
	if (unlinkat(place->fd, aside, 0) < 0 && errno != ENOENT)
		return sp_fail_errno(err, "%s/%s", place->directory, aside);
	if (symlinkat(target, place->fd, aside) < 0 ||
	    renameat(place->fd, aside, place->fd, name) < 0)
		return sp_fail_errno(err, "%s/%s", place->directory, name);
	return 0;
}

static bool points_to(const struct place *place, const char *name, const char *target)
{
	char link[64];
	ssize_t size = readlinkat(place->fd, name, link, sizeof(link));

	return size == (ssize_t)strlen(target) && memcmp(link, target, (size_t)size) == 0;
}

/* The two files under the names that they are looked for by, and all of it durable. */
static int complete(const struct place *place, struct sp_err *err)
{
	int bad = 0;

	if (!points_to(place, "manifest.json", "current/manifest.json"))
		bad = point(place, "current/manifest.json", "manifest.json", err);
	if (!bad && !points_to(place, "manifest.sig", "current/manifest.sig"))
		bad = point(place, "current/manifest.sig", "manifest.sig", err);
	if (!bad && fsync(place->fd) < 0)
		bad = sp_fail_errno(err, "%s: fsync", place->directory);
	return bad;
}

static int switch_to(const struct place *place, const char *version, struct sp_err *err)
{
	int bad;

	if (fsync(place->fd) < 0)
		return sp_fail_errno(err, "%s: fsync", place->directory);
	bad = point(place, version, "current", err);
	return bad ? bad : complete(place, err);
}

/* Versions that are no longer, or never were, in force. Best effort: the next install tries again.
 */
static void sweep(const struct place *place, const char *version)
{
	int fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!directory) {
		sp_fd_close(&fd);
		return;
	}
	while ((entry = readdir(directory))) {
		char path[sizeof(entry->d_name) + 16];
		if (entry->d_name[0] != 'v' || strcmp(entry->d_name, version) == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/manifest.json", entry->d_name);
		(void)unlinkat(place->fd, path, 0);
		(void)snprintf(path, sizeof(path), "%s/manifest.sig", entry->d_name);
		(void)unlinkat(place->fd, path, 0);
		(void)unlinkat(place->fd, entry->d_name, AT_REMOVEDIR);
	}
	(void)closedir(directory);
}

/* The bundle is in force; but whoever switched to it may have been killed right after. */
static int finish_switch(const struct place *place, struct sp_err *err)
{
	char version[64];
	ssize_t size = readlinkat(place->fd, "current", version, sizeof(version) - 1);
	int bad;

	if (size < 0) /* Two plain files, put there by hand. */
		return 0;
	version[size] = '\0';
	bad = complete(place, err);
	if (!bad)
		sweep(place, version);
	return bad;
}

static int install(const struct place *place, const struct sp_bundle *bundle,
    const struct sp_manifest *manifest, bool *ret_changed, struct sp_err *err)
{
	struct highest highest, offered = {.serial = manifest->serial};
	char in_force[DIGEST_TEXT], version[64];
	int bad = read_highest(place, &highest, err);

	if (bad)
		return bad;
	consider_installed(place, &highest, in_force);
	digest_of(bundle, offered.digest);
	bad = check_serial(&highest, &offered, err);
	if (bad)
		return bad;
	if (strcmp(in_force, offered.digest) == 0) {
		*ret_changed = false;
		return finish_switch(place, err);
	}
	bad = make_version(place, bundle, manifest->serial, version, err);
	/* First the mark that nothing goes below, then the switch: in between, the old bundle stays
	 * in force and only this one, or a newer, can follow. */
	if (!bad)
		bad = write_highest(place, &offered, err);
	if (!bad)
		bad = switch_to(place, version, err);
	if (bad)
		return bad;
	sweep(place, version);
	*ret_changed = true;
	return 0;
}

int sp_bundle_install(const struct sp_bundle *bundle, const struct sp_manifest *manifest,
    const char *directory, int64_t now, const struct sp_bundle_wait *wait, bool *ret_changed,
    struct sp_err *err)
{
	struct place place = {.fd = -1, .lock = -1};
	char when[SP_TIME_SIZE];
	int bad;

	if (now >= manifest->expires_at) {
		sp_time_format(manifest->expires_at, when);
		return sp_fail(err, SP_E_BAD_ARCHIVE, "bundle: expired at %s", when);
	}
	bad = open_place(directory, wait, &place, err);
	if (!bad)
		bad = install(&place, bundle, manifest, ret_changed, err);
	close_place(&place);
	return bad;
}
