/* Bundles between manifest, archive and directory. */
#include "token/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include "base/archive.h"
#include "base/file.h"
#include "base/util.h"
#include "record/json.h"

#define MANIFEST  "manifest.json"
#define SIGNATURE "manifest.sig"

/* A compressed bundle is never larger than what it unpacks to, but for frames and padding. */
#define FILE_MAX (SP_BUNDLE_BYTES_MAX + 64u * 1024u)

void sp_bundle_done(struct sp_bundle *bundle)
{
	free(bundle->manifest);
	*bundle = (struct sp_bundle){.manifest = NULL};
}

int sp_bundle_make(const struct sp_manifest *manifest, const struct sp_signing_key *root,
    struct sp_bundle *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	struct sp_bundle bundle;
	int bad = sp_manifest_check(manifest, err);

	if (bad)
		return bad;
	object = sp_manifest_json(manifest);
	bundle.manifest = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
	if (!bundle.manifest)
		return sp_fail(err, -ENOMEM, "bundle: out of memory");
	bundle.size = strlen(bundle.manifest);
	(void)crypto_sign_detached(bundle.signature, NULL, (unsigned char *)bundle.manifest,
	    bundle.size, sp_signing_key_secret(root));
	*ret = bundle;
	return 0;
}

int sp_bundle_pack(
    const struct sp_bundle *bundle, int64_t mtime, char **ret, size_t *ret_size, struct sp_err *err)
{
	char signature[SP_BUNDLE_SIGNATURE], manifest_name[] = MANIFEST,
					     signature_name[] = SIGNATURE;
	const struct sp_archive_member members[] = {
	    {manifest_name, bundle->manifest, bundle->size},
	    {signature_name, signature, sizeof(signature)},
	};

	memcpy(signature, bundle->signature, sizeof(signature));
	return sp_archive_pack(
	    members, SP_COUNT(members), SP_ARCHIVE_TAR_ZSTD, mtime, ret, ret_size, err);
}

static int take_members(struct sp_archive *archive, struct sp_bundle *ret, struct sp_err *err)
{
	const struct sp_archive_member *manifest = sp_archive_find(archive, MANIFEST);
	const struct sp_archive_member *signature = sp_archive_find(archive, SIGNATURE);
	struct sp_bundle bundle;

	if (!manifest || !signature)
		return sp_fail(err, SP_E_BAD_ARCHIVE, "bundle: without its %s",
		    manifest ? SIGNATURE : MANIFEST);
	if (signature->size != SP_BUNDLE_SIGNATURE)
		return sp_fail(err, SP_E_BAD_ARCHIVE, "bundle: %s has %zu bytes, not %d", SIGNATURE,
		    signature->size, SP_BUNDLE_SIGNATURE);
	memcpy(bundle.signature, signature->data, sizeof(bundle.signature));
	bundle.size = manifest->size;
	bundle.manifest = sp_steal(&archive->members[manifest - archive->members].data);
	*ret = bundle;
	return 0;
}

int sp_bundle_unpack(const void *data, size_t size, struct sp_bundle *ret, struct sp_err *err)
{
	static const char *const names[] = {MANIFEST, SIGNATURE, NULL};
	const struct sp_archive_limits limits = {
	    .bytes = SP_BUNDLE_BYTES_MAX, .members = SP_BUNDLE_MEMBERS_MAX, .names = names};
	struct sp_archive archive;
	int bad = sp_archive_unpack(data, size, &limits, &archive, err);

	if (bad)
		return bad;
	bad = take_members(&archive, ret, err);
	sp_archive_done(&archive);
	return bad;
}

int sp_bundle_read_file(const char *path, struct sp_bundle *ret, struct sp_err *err)
{
	sp_auto_free char *data = NULL;
	size_t size;
	int bad = sp_file_read(AT_FDCWD, path, 0, FILE_MAX, &data, &size, err);

	if (!bad) {
		bad = sp_bundle_unpack(data, size, ret, err);
		if (bad)
			bad = sp_err_prefix(err, bad, "%s", path);
	}
	return bad;
}

/* A descriptor on the directory that holds the two files: what it holds does not change any more.
 */
static int open_current(const char *directory, int *ret_fd)
{
	sp_auto_fd int outer = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int inner;

	if (outer < 0)
		return -errno;
	inner = openat(outer, "current", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (inner < 0 && errno != ENOENT)
		return -errno;
	*ret_fd = inner < 0 ? sp_steal_fd(&outer) : inner;
	return 0;
}

static int read_pair(int at, struct sp_bundle *ret, struct sp_err *err)
{
	sp_auto_free char *manifest = NULL;
	sp_auto_free char *signature = NULL;
	size_t size, signature_size;
	int bad = sp_file_read(at, MANIFEST, 0, SP_BUNDLE_BYTES_MAX, &manifest, &size, err);

	if (!bad)
		bad = sp_file_read(
		    at, SIGNATURE, 0, SP_BUNDLE_SIGNATURE, &signature, &signature_size, err);
	if (bad)
		return bad;
	if (signature_size != SP_BUNDLE_SIGNATURE)
		return sp_fail(err, SP_E_BAD_ARCHIVE, "%s has %zu bytes, not %d", SIGNATURE,
		    signature_size, SP_BUNDLE_SIGNATURE);
	memcpy(ret->signature, signature, SP_BUNDLE_SIGNATURE);
	ret->size = size;
	ret->manifest = sp_steal(&manifest);
	return 0;
}

int sp_bundle_read_directory(const char *directory, struct sp_bundle *ret, struct sp_err *err)
{
	int bad = 0;

	/* An installer that has just switched takes the old files away: then open anew. */
	for (int tries = 0; tries < 5; tries++) {
		sp_auto_fd int fd = -1;
		bad = open_current(directory, &fd);
		if (bad && bad != -ENOENT)
			return sp_fail(err, bad, "%s: %s", directory, sp_code_text(bad));
		if (!bad)
			bad = read_pair(fd, ret, err);
		if (bad != -ENOENT)
			return bad ? sp_err_prefix(err, bad, "%s", directory) : 0;
	}
	return sp_fail(err, SP_E_ABSENT,
	    "%s: no bundle is installed there (spacecap bundle install FILE)", directory);
}

int sp_roots_parse(const char *text, struct sp_roots *ret, struct sp_err *err)
{
	struct sp_roots roots = {.count = 0};
	const char *at = text + strspn(text, " \t");

	while (*at) {
		char word[SP_PASERK_PUBLIC_SIZE];
		size_t length = strcspn(at, " \t");
		if (roots.count == SP_BUNDLE_ROOTS_MAX)
			return sp_fail(
			    err, SP_E_CONFIG, "more than %d bundle root keys", SP_BUNDLE_ROOTS_MAX);
		memcpy(word, at, length < sizeof(word) ? length : sizeof(word) - 1);
		word[length < sizeof(word) ? length : sizeof(word) - 1] = '\0';
		if (length >= sizeof(word) ||
		    sp_paserk_public_read(word, roots.keys[roots.count++], NULL) < 0)
			return sp_fail(err, SP_E_CONFIG, "bundle root `%s` is no k4.public.", word);
		at += length;
		at += strspn(at, " \t");
	}
	if (roots.count == 0)
		return sp_fail(err, SP_E_CONFIG,
		    "no bundle root key: set [keys] root to the k4.public. of the bundle root");
	*ret = roots;
	return 0;
}

int sp_bundle_check(const struct sp_bundle *bundle, const struct sp_roots *roots, const char *realm,
    struct sp_manifest *ret, struct sp_err *err)
{
	struct sp_manifest manifest;
	bool signed_by_root = false;
	int bad;

	for (unsigned i = 0; i < roots->count && !signed_by_root; i++)
		signed_by_root =
		    crypto_sign_verify_detached(bundle->signature,
			(const unsigned char *)bundle->manifest, bundle->size, roots->keys[i]) == 0;
	if (!signed_by_root)
		return sp_fail(
		    err, SP_E_BAD_ARCHIVE, "bundle: not signed by a root key that is trusted here");
	bad = sp_manifest_parse(bundle->manifest, bundle->size, &manifest, err);
	if (bad)
		return bad;
	if (realm && strcmp(realm, manifest.realm) != 0)
		return sp_fail(err, SP_E_BAD_ARCHIVE, "bundle: of realm `%s`, not of `%s`",
		    manifest.realm, realm);
	*ret = manifest;
	return 0;
}
