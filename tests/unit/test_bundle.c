/* Bundles and the keyring: who signed, which serial, which window; and that an install ends in the
 * old bundle or the new one, wherever it is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/file.h"
#include "base/util.h"
#include "record/json.h"
#include "scratch.h"
#include "token/bundle.h"
#include "token/keyring.h"

#define NOW  1796000000
#define LIFE 86400

static struct sp_signing_key *root, *other;
static struct sp_bundle_key key_a, key_b;

static struct sp_bundle_key new_key(void)
{
	struct sp_bundle_key key = {.not_before = NOW, .not_after = NOW + LIFE};
	sp_auto_signing_key struct sp_signing_key *secret = NULL;

	assert_int_equal(sp_signing_key_new(&secret, NULL), 0);
	memcpy(key.public, sp_signing_key_public(secret), sizeof(key.public));
	strcpy(key.kid, sp_signing_key_id(secret));
	return key;
}

static struct sp_manifest manifest_of(int64_t serial)
{
	struct sp_manifest manifest = {.realm = "prod",
	    .serial = serial,
	    .issued_at = NOW,
	    .expires_at = NOW + LIFE,
	    .count = 2};

	manifest.keys[0] = key_a;
	manifest.keys[1] = key_b;
	return manifest;
}

static struct sp_bundle bundle_of(const struct sp_manifest *manifest, struct sp_signing_key *by)
{
	struct sp_bundle bundle;

	assert_int_equal(sp_bundle_make(manifest, by, &bundle, NULL), 0);
	return bundle;
}

static const char *root_text(const struct sp_signing_key *a, const struct sp_signing_key *b)
{
	static char text[2 * SP_PASERK_PUBLIC_SIZE];

	assert_int_equal(
	    sp_paserk_public_write(sp_signing_key_public(a), SP_PUBLIC_KEY_SIZE, text, NULL), 0);
	if (b) {
		strcat(text, " ");
		assert_int_equal(sp_paserk_public_write(sp_signing_key_public(b),
				     SP_PUBLIC_KEY_SIZE, text + strlen(text), NULL),
		    0);
	}
	return text;
}

static struct sp_roots roots_of(const struct sp_signing_key *a, const struct sp_signing_key *b)
{
	struct sp_roots roots;

	assert_int_equal(sp_roots_parse(root_text(a, b), &roots, NULL), 0);
	return roots;
}

static int install(int64_t serial, bool *ret_changed, struct sp_err *err)
{
	struct sp_manifest manifest = manifest_of(serial);
	struct sp_bundle bundle = bundle_of(&manifest, root);
	int bad = sp_bundle_install(
	    &bundle, &manifest, scratch_path("keys"), NOW, NULL, ret_changed, err);

	sp_bundle_done(&bundle);
	return bad;
}

/* The serial in force; 0: none. Fails the test when it is anything but a whole, signed bundle. */
static int64_t in_force(void)
{
	struct sp_keyring *keys;
	struct sp_err err = {0};
	int bad = sp_keyring_load(scratch_path("keys"), "prod", root_text(root, NULL), &keys, &err);

	if (bad == SP_E_ABSENT)
		return 0;
	if (bad)
		fail_msg("%s", err.message);
	int64_t serial = sp_keyring_serial(keys);
	assert_int_equal(sp_keyring_count(keys), 2);
	sp_keyring_free(keys);
	return serial;
}

static void a_bundle_goes_through_an_archive_unchanged(void **state)
{
	struct sp_manifest manifest = manifest_of(3), back;
	struct sp_bundle bundle = bundle_of(&manifest, root), unpacked;
	struct sp_roots roots = roots_of(root, NULL);
	sp_auto_free char *data = NULL;
	size_t size;

	(void)state;
	assert_int_equal(sp_bundle_pack(&bundle, NOW, &data, &size, NULL), 0);
	assert_int_equal(sp_bundle_unpack(data, size, &unpacked, NULL), 0);
	assert_int_equal(sp_bundle_check(&unpacked, &roots, "prod", &back, NULL), 0);
	sp_auto_json json_t *before = sp_manifest_json(&manifest);
	sp_auto_json json_t *after = sp_manifest_json(&back);
	assert_true(json_equal(before, after));
	sp_bundle_done(&bundle);
	sp_bundle_done(&unpacked);
}

static void only_a_trusted_root_and_the_own_realm_will_do(void **state)
{
	struct sp_manifest manifest = manifest_of(3), back;
	struct sp_bundle bundle = bundle_of(&manifest, root);
	struct sp_roots own = roots_of(root, NULL), both = roots_of(other, root),
			foreign = roots_of(other, NULL);
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(sp_bundle_check(&bundle, &own, "prod", &back, NULL), 0);
	assert_int_equal(sp_bundle_check(&bundle, &both, "prod", &back, NULL), 0);
	assert_int_equal(sp_bundle_check(&bundle, &own, NULL, &back, NULL), 0);
	assert_int_equal(sp_bundle_check(&bundle, &foreign, "prod", &back, &err), SP_E_BAD_ARCHIVE);
	assert_non_null(strstr(err.message, "not signed by a root key"));
	assert_int_equal(sp_bundle_check(&bundle, &own, "staging", &back, &err), SP_E_BAD_ARCHIVE);
	assert_non_null(strstr(err.message, "of realm `prod`"));
	sp_bundle_done(&bundle);
}

/* The signature comes before the parser: a byte changed anywhere is never read as JSON. */
static void a_manifest_with_any_byte_changed_is_refused_by_its_signature(void **state)
{
	struct sp_manifest manifest = manifest_of(3), back;
	struct sp_bundle bundle = bundle_of(&manifest, root);
	struct sp_roots roots = roots_of(root, NULL);

	(void)state;
	for (size_t i = 0; i < bundle.size + SP_BUNDLE_SIGNATURE; i += 3) {
		char *at = i < bundle.size ? bundle.manifest + i
					   : (char *)bundle.signature + i - bundle.size;
		struct sp_err err = {0};
		*at = (char)(*at ^ 1);
		assert_int_equal(
		    sp_bundle_check(&bundle, &roots, "prod", &back, &err), SP_E_BAD_ARCHIVE);
		assert_non_null(strstr(err.message, "not signed"));
		*at = (char)(*at ^ 1);
	}
	sp_bundle_done(&bundle);
}

static void a_manifest_is_closed_in_every_field(void **state)
{
	struct sp_manifest manifest = manifest_of(3), back;
	sp_auto_json json_t *good = sp_manifest_json(&manifest);
	const struct {
		const char *field;
		bool in_key;
		json_t *value; /* NULL: left out */
	} rows[] = {
	    {"version", false, json_integer(2)},
	    {"version", false, NULL},
	    {"realm", false, json_string("a/b")},
	    {"serial", false, json_integer(0)},
	    {"serial", false, json_string("3")},
	    {"issued_at", false, json_string("2026-11-29")},
	    {"expires_at", false, json_string("1970-01-01T00:00:00Z")},
	    {"keys", false, json_array()},
	    {"extra", false, json_true()},
	    {"kid", true, json_string(sp_signing_key_id(other))},
	    {"kid", true, json_string("k4.pid.")},
	    {"public", true, json_string("k4.public.AAAA")},
	    {"state", true, json_string("retired")},
	    {"not_after", true, json_string("1970-01-01T00:00:00Z")},
	    {"not_before", true, NULL},
	    {"extra", true, json_true()},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		sp_auto_json json_t *changed = json_deep_copy(good);
		json_t *at =
		    rows[i].in_key ? json_array_get(json_object_get(changed, "keys"), 0) : changed;
		if (rows[i].value)
			assert_int_equal(json_object_set_new(at, rows[i].field, rows[i].value), 0);
		else
			assert_int_equal(json_object_del(at, rows[i].field), 0);
		sp_auto_free char *text = sp_json_text(changed);
		if (sp_manifest_parse(text, strlen(text), &back, NULL) != SP_E_BAD_ARCHIVE)
			fail_msg("row %zu: %s", i, rows[i].field);
	}
	sp_auto_free char *text = sp_json_text(good);
	assert_int_equal(sp_manifest_parse(text, strlen(text), &back, NULL), 0);
}

static void a_key_is_in_a_bundle_once(void **state)
{
	struct sp_manifest manifest = manifest_of(3);
	struct sp_bundle bundle;

	(void)state;
	manifest.keys[1] = manifest.keys[0];
	assert_int_equal(sp_bundle_make(&manifest, root, &bundle, NULL), SP_E_BAD_RECORD);
}

static void roots_are_one_or_two_keys(void **state)
{
	char three[4 * SP_PASERK_PUBLIC_SIZE];
	struct sp_roots roots;

	(void)state;
	assert_int_equal(sp_roots_parse("", &roots, NULL), SP_E_CONFIG);
	assert_int_equal(sp_roots_parse("  ", &roots, NULL), SP_E_CONFIG);
	assert_int_equal(sp_roots_parse("k4.public.AAAA", &roots, NULL), SP_E_CONFIG);
	assert_int_equal(sp_roots_parse(root_text(root, NULL), &roots, NULL), 0);
	assert_int_equal(roots.count, 1);
	assert_int_equal(sp_roots_parse(root_text(root, other), &roots, NULL), 0);
	assert_int_equal(roots.count, 2);
	(void)snprintf(three, sizeof(three), "%s ", root_text(root, other));
	strcat(three, root_text(root, NULL));
	assert_int_equal(sp_roots_parse(three, &roots, NULL), SP_E_CONFIG);
}

static void a_lower_serial_or_other_bytes_are_a_conflict(void **state)
{
	struct sp_manifest manifest = manifest_of(5);
	struct sp_bundle bundle;
	struct sp_err err = {0};
	bool changed = false;

	(void)state;
	assert_int_equal(in_force(), 0);
	assert_int_equal(install(5, &changed, NULL), 0);
	assert_true(changed);
	assert_int_equal(install(5, &changed, NULL), 0);
	assert_false(changed);
	assert_int_equal(install(4, &changed, &err), SP_E_CONFLICT);
	assert_non_null(strstr(err.message, "lower than 5"));
	manifest.keys[1].revoked = true;
	bundle = bundle_of(&manifest, root);
	assert_int_equal(
	    sp_bundle_install(&bundle, &manifest, scratch_path("keys"), NOW, NULL, &changed, &err),
	    SP_E_CONFLICT);
	assert_non_null(strstr(err.message, "other bytes"));
	sp_bundle_done(&bundle);
	assert_int_equal(in_force(), 5);
	assert_int_equal(install(6, &changed, NULL), 0);
	assert_true(changed);
	assert_int_equal(in_force(), 6);
}

/* The highest serial outlives the bundle. */
static void a_bundle_taken_away_does_not_open_the_way_for_an_older_one(void **state)
{
	char command[PATH_MAX + 32];
	bool changed;

	(void)state;
	assert_int_equal(install(5, &changed, NULL), 0);
	(void)snprintf(command, sizeof(command), "rm -r '%s'", scratch_path("keys"));
	assert_int_equal(system(command), 0);
	assert_int_equal(in_force(), 0);
	assert_int_equal(install(4, &changed, NULL), SP_E_CONFLICT);
	assert_int_equal(install(5, &changed, NULL), 0);
	assert_true(changed);
	assert_int_equal(in_force(), 5);
}

/* And the bundle in force counts where the serial's file has been lost. */
static void a_lost_serial_file_does_not_either(void **state)
{
	bool changed;

	(void)state;
	assert_int_equal(install(5, &changed, NULL), 0);
	assert_int_equal(unlink(scratch_path("keys.serial")), 0);
	assert_int_equal(install(4, &changed, NULL), SP_E_CONFLICT);
	assert_int_equal(in_force(), 5);
}

static void a_damaged_serial_file_stops_the_install(void **state)
{
	bool changed;

	(void)state;
	assert_int_equal(install(5, &changed, NULL), 0);
	assert_int_equal(
	    sp_file_replace(AT_FDCWD, scratch_path("keys.serial"), 0644, "{}", 2, NULL), 0);
	assert_int_equal(install(6, &changed, NULL), SP_E_BAD_RECORD);
	assert_int_equal(in_force(), 5);
}

static void an_expired_bundle_is_not_installed(void **state)
{
	struct sp_manifest manifest = manifest_of(5);
	struct sp_bundle bundle = bundle_of(&manifest, root);
	struct sp_err err = {0};
	bool changed;

	(void)state;
	assert_int_equal(sp_bundle_install(&bundle, &manifest, scratch_path("keys"), NOW + LIFE,
			     NULL, &changed, &err),
	    SP_E_BAD_ARCHIVE);
	assert_non_null(strstr(err.message, "expired at"));
	assert_int_equal(in_force(), 0);
	assert_int_equal(sp_bundle_install(&bundle, &manifest, scratch_path("keys"), NOW + LIFE - 1,
			     NULL, &changed, NULL),
	    0);
	sp_bundle_done(&bundle);
}

/* A hand-made directory with the two files is one too, and becomes an installed one. */
static void a_directory_with_the_two_files_is_read_and_replaced(void **state)
{
	struct sp_manifest manifest = manifest_of(5);
	struct sp_bundle bundle = bundle_of(&manifest, root);
	bool changed;

	(void)state;
	assert_int_equal(mkdir(scratch_path("keys"), 0755), 0);
	assert_int_equal(sp_file_create(AT_FDCWD, scratch_path("keys/manifest.json"), 0644,
			     bundle.manifest, bundle.size, NULL),
	    0);
	assert_int_equal(in_force(), 0);
	assert_int_equal(sp_file_create(AT_FDCWD, scratch_path("keys/manifest.sig"), 0644,
			     bundle.signature, sizeof(bundle.signature), NULL),
	    0);
	sp_bundle_done(&bundle);
	assert_int_equal(in_force(), 5);
	assert_int_equal(install(4, &changed, NULL), SP_E_CONFLICT);
	assert_int_equal(install(6, &changed, NULL), 0);
	assert_int_equal(in_force(), 6);
	assert_int_equal(access(scratch_path("keys/manifest.sig"), R_OK), 0);
}

/* Killed at each system call of an install in turn: the old bundle or the new one is in force,
 * whole; the install before it can be repeated; and what was left over is swept away. */
static bool install_killed_at(unsigned n, int64_t serial)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		bool changed;
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		_exit(install(serial, &changed, NULL) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	for (unsigned stop = 0; stop < 2 * n + 1; stop++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return false;
		}
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return true;
}

static unsigned versions(void)
{
	char command[PATH_MAX + 64];
	unsigned count = 0;

	(void)snprintf(command, sizeof(command), "ls -d '%s'/v*-* | wc -l", scratch_path("keys"));
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%u", &count), 1);
	assert_int_equal(pclose(pipe), 0);
	return count;
}

static void kill_9_at_any_system_call_leaves_the_old_or_the_new_bundle(void **state)
{
	int64_t serial = 0, seen_old = 0, seen_new = 0;
	bool changed, killed = true;

	(void)state;
	for (unsigned n = 0; killed; n++) {
		killed = install_killed_at(n, serial + 1);
		int64_t now = in_force();
		assert_true(now == serial || now == serial + 1);
		seen_old += now == serial;
		seen_new += now == serial + 1;
		assert_int_equal(install(serial + 1, &changed, NULL), 0);
		assert_int_equal(in_force(), serial + 1);
		serial++;
	}
	/* The next one tidies up what a killed one had no time for. */
	assert_int_equal(install(serial + 1, &changed, NULL), 0);
	assert_int_equal(versions(), 1);
	assert_true(seen_old > 10 && seen_new > 3);
}

/* A reader in a loop while bundles follow each other: always a whole one, never an older one again.
 */
static void a_reader_never_sees_halves_of_two_bundles(void **state)
{
	pid_t child = fork();
	int64_t last = 0;
	int status = 0;

	(void)state;
	if (child == 0) {
		bool changed;
		for (int64_t serial = 1; serial <= 60; serial++)
			if (install(serial, &changed, NULL) < 0)
				_exit(1);
		_exit(0);
	}
	while (waitpid(child, &status, WNOHANG) == 0) {
		int64_t serial = in_force();
		assert_true(serial >= last);
		last = serial;
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(in_force(), 60);
}

static struct sp_keyring *load(const char *source)
{
	struct sp_keyring *keys = NULL;
	struct sp_err err = {0};

	if (sp_keyring_load(source, "prod", root_text(root, NULL), &keys, &err) < 0)
		fail_msg("%s", err.message);
	return keys;
}

static enum sp_reason find(const struct sp_keyring *keys, const char *kid, int64_t now)
{
	const unsigned char *public;

	return sp_keyring_find(keys, kid, now, &public);
}

static void a_key_counts_within_its_window_and_bundle(void **state)
{
	struct sp_manifest manifest = manifest_of(5);
	struct sp_bundle bundle;
	struct sp_keyring *keys;
	const unsigned char *public;
	bool changed;

	(void)state;
	manifest.keys[0].not_before = NOW + 10;
	manifest.keys[0].not_after = NOW + 20;
	manifest.keys[1].revoked = true;
	manifest.keys[1].not_before = NOW + 10;
	bundle = bundle_of(&manifest, root);
	assert_int_equal(
	    sp_bundle_install(&bundle, &manifest, scratch_path("keys"), NOW, NULL, &changed, NULL),
	    0);
	sp_bundle_done(&bundle);
	keys = load(scratch_path("keys"));
	assert_int_equal(find(keys, key_a.kid, NOW + 9), SP_REASON_UNKNOWN_KEY);
	assert_int_equal(find(keys, key_a.kid, NOW + 10), SP_REASON_NONE);
	assert_int_equal(find(keys, key_a.kid, NOW + 19), SP_REASON_NONE);
	assert_int_equal(find(keys, key_a.kid, NOW + 20), SP_REASON_UNKNOWN_KEY);
	assert_int_equal(find(keys, key_b.kid, NOW), SP_REASON_REVOKED_KEY);
	assert_int_equal(find(keys, sp_signing_key_id(other), NOW), SP_REASON_UNKNOWN_KEY);
	assert_int_equal(find(keys, key_b.kid, NOW + LIFE - 1), SP_REASON_REVOKED_KEY);
	assert_int_equal(find(keys, key_b.kid, NOW + LIFE), SP_REASON_UNKNOWN_KEY);
	assert_int_equal(sp_keyring_find(keys, key_a.kid, NOW + 10, &public), SP_REASON_NONE);
	assert_memory_equal(public, key_a.public, SP_PUBLIC_KEY_SIZE);
	assert_int_equal(sp_keyring_expires_at(keys), NOW + LIFE);
	sp_keyring_free(keys);
}

static void keys_come_from_a_file_or_the_command_line_too(void **state)
{
	char public[SP_PASERK_PUBLIC_SIZE], text[512];
	struct sp_keyring *keys;
	struct sp_err err = {0};

	(void)state;
	(void)sp_paserk_public_write(key_a.public, SP_PUBLIC_KEY_SIZE, public, NULL);
	keys = load(public);
	assert_int_equal(sp_keyring_count(keys), 1);
	assert_int_equal(find(keys, key_a.kid, 0), SP_REASON_NONE);
	assert_int_equal(sp_keyring_serial(keys), 0);
	assert_false(sp_keyring_stale(keys));
	sp_keyring_free(keys);
	(void)snprintf(text, sizeof(text), "# signers\n\n%s\r\n", public);
	(void)sp_paserk_public_write(key_b.public, SP_PUBLIC_KEY_SIZE, public, NULL);
	strcat(text, public);
	assert_int_equal(
	    sp_file_create(AT_FDCWD, scratch_path("pub"), 0644, text, strlen(text), NULL), 0);
	keys = load(scratch_path("pub"));
	assert_int_equal(sp_keyring_count(keys), 2);
	assert_int_equal(find(keys, key_b.kid, 0), SP_REASON_NONE);
	assert_false(sp_keyring_stale(keys));
	assert_int_equal(sp_file_replace(AT_FDCWD, scratch_path("pub"), 0644, text, 20, NULL), 0);
	assert_true(sp_keyring_stale(keys));
	sp_keyring_free(keys);
	assert_int_equal(
	    sp_keyring_load(scratch_path("pub"), "prod", "", &keys, &err), SP_E_BAD_KEY);
	assert_int_equal(
	    sp_keyring_load(scratch_path("none"), "prod", "", &keys, &err), SP_E_ABSENT);
	assert_int_equal(sp_keyring_load("k4.public.AAAA", "prod", "", &keys, &err), SP_E_BAD_KEY);
}

static void a_keyring_knows_when_it_is_stale(void **state)
{
	struct sp_keyring *keys, *none;
	struct sp_err err = {0};
	bool changed;

	(void)state;
	assert_int_equal(sp_keyring_empty(&none), 0);
	assert_true(sp_keyring_stale(none));
	assert_int_equal(find(none, key_a.kid, NOW), SP_REASON_UNKNOWN_KEY);
	sp_keyring_free(none);
	assert_int_equal(mkdir(scratch_path("keys"), 0755), 0);
	assert_int_equal(
	    sp_keyring_load(scratch_path("keys"), "prod", root_text(root, NULL), &keys, &err),
	    SP_E_ABSENT);
	assert_int_equal(install(1, &changed, NULL), 0);
	keys = load(scratch_path("keys"));
	assert_false(sp_keyring_stale(keys));
	assert_int_equal(install(1, &changed, NULL), 0);
	assert_false(sp_keyring_stale(keys));
	assert_int_equal(install(2, &changed, NULL), 0);
	assert_true(sp_keyring_stale(keys));
	sp_keyring_free(keys);
	keys = load(scratch_path("keys"));
	assert_false(sp_keyring_stale(keys));
	assert_int_equal(unlink(scratch_path("keys/current")), 0);
	assert_true(sp_keyring_stale(keys));
	sp_keyring_free(keys);
	assert_int_equal(
	    sp_keyring_load(scratch_path("keys"), "prod", "", &keys, &err), SP_E_CONFIG);
}

static int make_keys(void **state)
{
	(void)state;
	if (sp_signing_key_new(&root, NULL) < 0 || sp_signing_key_new(&other, NULL) < 0)
		return -1;
	key_a = new_key();
	key_b = new_key();
	return 0;
}

static int free_keys(void **state)
{
	(void)state;
	sp_signing_key_free(root);
	sp_signing_key_free(other);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_bundle_goes_through_an_archive_unchanged),
	    cmocka_unit_test(only_a_trusted_root_and_the_own_realm_will_do),
	    cmocka_unit_test(a_manifest_with_any_byte_changed_is_refused_by_its_signature),
	    cmocka_unit_test(a_manifest_is_closed_in_every_field),
	    cmocka_unit_test(a_key_is_in_a_bundle_once),
	    cmocka_unit_test(roots_are_one_or_two_keys),
	    test_in_scratch(a_lower_serial_or_other_bytes_are_a_conflict),
	    test_in_scratch(a_bundle_taken_away_does_not_open_the_way_for_an_older_one),
	    test_in_scratch(a_lost_serial_file_does_not_either),
	    test_in_scratch(a_damaged_serial_file_stops_the_install),
	    test_in_scratch(an_expired_bundle_is_not_installed),
	    test_in_scratch(a_directory_with_the_two_files_is_read_and_replaced),
	    test_in_scratch(kill_9_at_any_system_call_leaves_the_old_or_the_new_bundle),
	    test_in_scratch(a_reader_never_sees_halves_of_two_bundles),
	    test_in_scratch(a_key_counts_within_its_window_and_bundle),
	    test_in_scratch(keys_come_from_a_file_or_the_command_line_too),
	    test_in_scratch(a_keyring_knows_when_it_is_stale),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
