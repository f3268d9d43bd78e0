/* Roots, realm and the last step of making a bundle. */
#include "spacecap/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "record/reason.h"

int spacecap_roots(
    struct sp_cli *cli, const struct sp_config *config, struct sp_roots *ret, struct sp_err *err)
{
	const char *roots = sp_cli_text(cli, "root");

	return sp_roots_parse(roots ? roots : config->keys_root, ret, err);
}

const char *spacecap_realm(struct sp_cli *cli, const struct sp_config *config)
{
	const char *realm = sp_cli_text(cli, "realm");

	return realm ? realm : config->realm;
}

static unsigned revoked_of(const struct sp_manifest *manifest)
{
	unsigned revoked = 0;

	for (unsigned i = 0; i < manifest->count; i++)
		revoked += manifest->keys[i].revoked;
	return revoked;
}

void spacecap_bundle_audit(struct sp_trail *trail, const struct spacecap_changed *changed, int bad,
    const struct sp_err *err)
{
	const struct sp_manifest *manifest = changed->manifest;
	struct sp_audit_line line = {.op = changed->op, .kid = changed->kid};
	char note[SP_ID_MAX + SP_KID_SIZE + 96];

	if (manifest) {
		unsigned revoked = revoked_of(manifest);
		(void)snprintf(note, sizeof(note),
		    "serial %lld of realm %s: %u active, %u revoked%s%s",
		    (long long)manifest->serial, manifest->realm, manifest->count - revoked,
		    revoked, changed->kid ? ", now also " : "", changed->kid ? changed->kid : "");
		line.note = note;
	}
	sp_trail_end(trail, &line, bad ? NULL : changed->effect,
	    bad == SP_E_CONFLICT ? err->message : NULL, bad ? err : NULL);
}

json_t *spacecap_bundle_summary(const struct sp_manifest *manifest)
{
	char issued_at[SP_TIME_SIZE], expires_at[SP_TIME_SIZE];
	int revoked = (int)revoked_of(manifest);

	sp_time_format(manifest->issued_at, issued_at);
	sp_time_format(manifest->expires_at, expires_at);
	return json_pack("{sssIsssssisi}", "realm", manifest->realm, "serial",
	    (json_int_t)manifest->serial, "issued_at", issued_at, "expires_at", expires_at,
	    "active", (int)manifest->count - revoked, "revoked", revoked);
}

int spacecap_bundle_write(struct sp_cli *cli, const struct sp_manifest *manifest,
    const struct sp_signing_key *root, struct sp_err *err)
{
	const char *path = sp_cli_text(cli, "out");
	struct sp_bundle bundle;
	sp_auto_free char *data = NULL;
	size_t size;
	int bad = sp_bundle_make(manifest, root, &bundle, err);

	if (bad)
		return bad;
	bad = sp_bundle_pack(&bundle, manifest->issued_at, &data, &size, err);
	sp_bundle_done(&bundle);
	if (!bad)
		bad = sp_file_create(AT_FDCWD, path, 0644, data, size, err);
	if (bad)
		return bad;
	if (!sp_cli_json(cli)) {
		(void)printf("%s: serial %lld of realm %s, %u keys\n", path,
		    (long long)manifest->serial, manifest->realm, manifest->count);
		return 0;
	}
	json_t *summary = spacecap_bundle_summary(manifest);
	if (!summary || json_object_set_new(summary, "file", json_string(path)) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	return sp_cli_put_json(cli, summary) ? sp_fail(err, -EIO, "standard output") : 0;
}
