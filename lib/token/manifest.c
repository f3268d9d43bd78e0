/* The manifest in and out of JSON. */
#include "token/manifest.h"

#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/route.h"

#define VERSION 1

static int check_key(
    const struct sp_manifest *manifest, const struct sp_bundle_key *key, struct sp_err *err)
{
	char kid[SP_KID_SIZE];
	int bad = sp_paserk_id(key->public, sizeof(key->public), kid, err);

	if (bad)
		return bad;
	if (strcmp(kid, key->kid) != 0)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "manifest: `kid` %s is another key's", key->kid);
	if (key->not_after <= key->not_before)
		return sp_fail(err, SP_E_BAD_RECORD,
		    "manifest: key %s: `not_after` is not behind `not_before`", key->kid);
	for (const struct sp_bundle_key *other = manifest->keys; other < key; other++)
		if (strcmp(other->kid, key->kid) == 0)
			return sp_fail(
			    err, SP_E_BAD_RECORD, "manifest: key %s is in it twice", key->kid);
	return 0;
}

int sp_manifest_check(const struct sp_manifest *manifest, struct sp_err *err)
{
	int bad = 0;

	if (!sp_id_valid(manifest->realm))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "manifest: realm `%s` is no id", manifest->realm);
	if (manifest->serial < 1 || manifest->serial > SP_INT_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "manifest: `serial` is below 1");
	if (manifest->expires_at <= manifest->issued_at)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "manifest: `expires_at` is not behind `issued_at`");
	if (manifest->count < 1 || manifest->count > SP_BUNDLE_KEYS_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "manifest: not 1 to %d keys", SP_BUNDLE_KEYS_MAX);
	for (unsigned i = 0; i < manifest->count && !bad; i++)
		bad = check_key(manifest, &manifest->keys[i], err);
	return bad;
}

static int take_time(const json_t *value, const char *what, int64_t *ret, struct sp_err *err)
{
	if (!sp_time_parse(json_string_value(value), ret))
		return sp_fail(err, SP_E_BAD_RECORD, "manifest: `%s` is no time", what);
	return 0;
}

static int take_key(const json_t *object, struct sp_bundle_key *key, struct sp_err *err)
{
	const json_t *kid, *public, *state, *not_before, *not_after;
	const struct sp_json_field fields[] = {
	    {"kid", SP_JSON_STRING, false, &kid},
	    {"public", SP_JSON_STRING, false, &public},
	    {"state", SP_JSON_STRING, false, &state},
	    {"not_before", SP_JSON_STRING, false, &not_before},
	    {"not_after", SP_JSON_STRING, false, &not_after},
	};
	int bad = sp_json_take(object, "manifest: key", fields, SP_COUNT(fields), err);

	if (!bad)
		bad = sp_paserk_public_read(json_string_value(public), key->public, err);
	if (!bad)
		bad = take_time(not_before, "not_before", &key->not_before, err);
	if (!bad)
		bad = take_time(not_after, "not_after", &key->not_after, err);
	if (bad)
		return bad;
	if (json_string_length(kid) != SP_KID_SIZE - 1)
		return sp_fail(err, SP_E_BAD_RECORD, "manifest: `kid` is no k4.pid.");
	memcpy(key->kid, json_string_value(kid), SP_KID_SIZE);
	key->revoked = strcmp(json_string_value(state), "revoked") == 0;
	if (!key->revoked && strcmp(json_string_value(state), "active") != 0)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "manifest: `state` is neither active nor revoked");
	return 0;
}

static int take_keys(const json_t *keys, struct sp_manifest *manifest, struct sp_err *err)
{
	size_t count = json_array_size(keys);
	int bad = 0;

	if (count > SP_BUNDLE_KEYS_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "manifest: more than %d keys", SP_BUNDLE_KEYS_MAX);
	for (size_t i = 0; i < count && !bad; i++)
		bad = take_key(json_array_get(keys, i), &manifest->keys[i], err);
	manifest->count = (unsigned)count;
	return bad;
}

static int take(const json_t *object, struct sp_manifest *manifest, struct sp_err *err)
{
	const json_t *version, *realm, *serial, *issued_at, *expires_at, *keys;
	const struct sp_json_field fields[] = {
	    {"version", SP_JSON_INTEGER, false, &version},
	    {"realm", SP_JSON_STRING, false, &realm},
	    {"serial", SP_JSON_INTEGER, false, &serial},
	    {"issued_at", SP_JSON_STRING, false, &issued_at},
	    {"expires_at", SP_JSON_STRING, false, &expires_at},
	    {"keys", SP_JSON_ARRAY, false, &keys},
	};
	int bad = sp_json_format(object, "manifest", "version", VERSION, err);

	if (!bad)
		bad = sp_json_take(object, "manifest", fields, SP_COUNT(fields), err);
	if (!bad)
		bad =
		    sp_id_copy(json_string_value(realm), "manifest: `realm`", manifest->realm, err);
	if (!bad)
		bad = take_time(issued_at, "issued_at", &manifest->issued_at, err);
	if (!bad)
		bad = take_time(expires_at, "expires_at", &manifest->expires_at, err);
	if (bad)
		return bad;
	manifest->serial = json_integer_value(serial);
	return take_keys(keys, manifest, err);
}

int sp_manifest_parse(const char *text, size_t size, struct sp_manifest *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	struct sp_manifest manifest = {.serial = 0};
	int bad = sp_json_parse(text, size, &object, err);

	if (!bad)
		bad = take(object, &manifest, err);
	if (!bad)
		bad = sp_manifest_check(&manifest, err);
	if (!bad) {
		*ret = manifest;
		return 0;
	}
	if (err)
		err->code = SP_E_BAD_ARCHIVE;
	return SP_E_BAD_ARCHIVE;
}

static json_t *key_json(const struct sp_bundle_key *key)
{
	char public[SP_PASERK_PUBLIC_SIZE], not_before[SP_TIME_SIZE], not_after[SP_TIME_SIZE];

	(void)sp_paserk_public_write(key->public, sizeof(key->public), public, NULL);
	sp_time_format(key->not_before, not_before);
	sp_time_format(key->not_after, not_after);
	return json_pack("{ssssssssss}", "kid", key->kid, "public", public, "state",
	    key->revoked ? "revoked" : "active", "not_before", not_before, "not_after", not_after);
}

json_t *sp_manifest_json(const struct sp_manifest *manifest)
{
	char issued_at[SP_TIME_SIZE], expires_at[SP_TIME_SIZE];
	sp_auto_json json_t *keys = json_array();

	for (unsigned i = 0; i < manifest->count; i++)
		if (json_array_append_new(keys, key_json(&manifest->keys[i])) < 0)
			return NULL;
	sp_time_format(manifest->issued_at, issued_at);
	sp_time_format(manifest->expires_at, expires_at);
	return json_pack("{sisssIsssssO}", "version", VERSION, "realm", manifest->realm, "serial",
	    (json_int_t)manifest->serial, "issued_at", issued_at, "expires_at", expires_at, "keys",
	    keys);
}
