/* Names and manifest of an archive of evidence. */
#include "spacebridge/attest_archive.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "attest/level.h"
#include "attest/proc.h"
#include "base/util.h"
#include "record/json.h"

static const char *const PARTS[] = {
    [ATTEST_BRIDGE] = "bridge", [ATTEST_VMM] = "vmm", [ATTEST_PROCESS] = "process"};

const char *attest_part_name(enum attest_part part)
{
	return PARTS[part];
}

void attest_member_name(enum attest_part part, const char *name, char text[SP_ARCHIVE_NAME_MAX + 1])
{
	(void)snprintf(text, SP_ARCHIVE_NAME_MAX + 1, "%s/%s", PARTS[part], name);
}

static bool is_of_part(enum attest_part part, const char *name)
{
	size_t length = strlen(PARTS[part]);

	if (strncmp(name, PARTS[part], length) != 0 || name[length] != '/')
		return false;
	name += length + 1;
	for (unsigned i = 0; i < SP_CAPTURE_TEXTS; i++)
		if (strcmp(name, sp_capture_name(i)) == 0)
			return true;
	return strcmp(name, ATTEST_SEEN) == 0;
}

bool attest_member_allowed(const char *name, void *context)
{
	static const char *const top[] = {
	    ATTEST_MANIFEST, ATTEST_RECORD, ATTEST_REPORT, ATTEST_EVIDENCE};

	(void)context;
	for (size_t i = 0; i < SP_COUNT(top); i++)
		if (strcmp(name, top[i]) == 0)
			return true;
	for (unsigned part = 0; part < ATTEST_PARTS; part++)
		if (is_of_part(part, name))
			return true;
	return false;
}

static json_t *list_facilities(void)
{
	sp_auto_json json_t *object = json_object();
	struct sp_facilities facilities;
	const char *name;
	bool has;

	sp_facilities_probe(&facilities);
	for (unsigned i = 0; sp_facilities_row(&facilities, i, &name, &has); i++)
		if (json_object_set_new(object, name, json_boolean(has)) < 0)
			return NULL;
	return sp_steal(&object);
}

json_t *attest_manifest_make(const char *sandbox, pid_t pid, enum sp_level min_level)
{
	struct utsname system = {0};
	char now[SP_TIME_SIZE];

	(void)uname(&system);
	sp_time_format(sp_time_now(), now);
	return json_pack("{si ss ss ss ss ss ss ss* ss ss* so* ss ss so}", "v",
	    ATTEST_ARCHIVE_VERSION, "made_by", "spacebridge " SP_VERSION, "made_at", now, "host",
	    system.nodename, "kernel", system.release, "build", system.version, "machine",
	    system.machine, "boot_id", sp_boot_id(), "of", pid ? "pid" : "sandbox", "sandbox",
	    pid ? NULL : sandbox, "pid", pid ? json_integer(pid) : NULL, "level",
	    sp_level_name(sp_level_probe()), "min_level", sp_level_name(min_level), "facilities",
	    list_facilities());
}

static int check_version(const json_t *object, struct sp_err *err)
{
	const json_t *version = json_object_get(object, "v");

	if (!json_is_integer(version))
		return sp_fail(err, SP_E_BAD_RECORD, "manifest: it has no format version");
	return sp_json_format(object, "manifest", "v", ATTEST_ARCHIVE_VERSION, err);
}

/* "none" is a level too: of a machine that cannot attest. */
static bool parse_level(const json_t *text, enum sp_level *ret)
{
	*ret = SP_LEVEL_NONE;
	return strcmp(json_string_value(text), sp_level_name(SP_LEVEL_NONE)) == 0 ||
	       sp_level_parse(json_string_value(text), ret);
}

static bool copy(const json_t *value, char *text, size_t room)
{
	size_t size = value ? json_string_length(value) : 0;

	if (size >= room)
		return false;
	memcpy(text, value ? json_string_value(value) : "", size + 1);
	return true;
}

int attest_manifest_parse(const json_t *object, struct attest_manifest *ret, struct sp_err *err)
{
	const json_t *made_at, *host, *boot, *of, *sandbox, *pid, *level, *min_level;
	const struct sp_json_field fields[] = {{"v", SP_JSON_INTEGER, false, NULL},
	    {"made_by", SP_JSON_STRING, false, NULL}, {"made_at", SP_JSON_STRING, false, &made_at},
	    {"host", SP_JSON_STRING, false, &host}, {"kernel", SP_JSON_STRING, false, NULL},
	    {"build", SP_JSON_STRING, false, NULL}, {"machine", SP_JSON_STRING, false, NULL},
	    {"boot_id", SP_JSON_STRING, true, &boot}, {"of", SP_JSON_STRING, false, &of},
	    {"sandbox", SP_JSON_STRING, true, &sandbox}, {"pid", SP_JSON_INTEGER, true, &pid},
	    {"level", SP_JSON_STRING, false, &level},
	    {"min_level", SP_JSON_STRING, false, &min_level},
	    {"facilities", SP_JSON_OBJECT, false, NULL}};
	struct attest_manifest manifest = {0};
	int64_t seconds;
	int bad = check_version(object, err);

	if (!bad)
		bad = sp_json_take(object, "manifest", fields, SP_COUNT(fields), err);
	if (bad)
		return bad;
	manifest.of_process = strcmp(json_string_value(of), "pid") == 0;
	if ((!manifest.of_process && strcmp(json_string_value(of), "sandbox") != 0) ||
	    manifest.of_process != !sandbox || manifest.of_process != !!pid)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "manifest: of neither a sandbox nor a process");
	if (!copy(made_at, manifest.made_at, sizeof(manifest.made_at)) ||
	    !sp_time_parse(manifest.made_at, &seconds) ||
	    !copy(host, manifest.host, sizeof(manifest.host)) ||
	    !copy(sandbox, manifest.sandbox, sizeof(manifest.sandbox)) ||
	    (sandbox && !sp_id_valid(manifest.sandbox)) ||
	    !copy(boot, manifest.place.boot_id, sizeof(manifest.place.boot_id)) ||
	    (boot && !sp_uuid_valid(manifest.place.boot_id)) ||
	    !parse_level(level, &manifest.place.level) ||
	    !parse_level(min_level, &manifest.place.min_level))
		return sp_fail(err, SP_E_BAD_RECORD, "manifest: a field is not of its form");
	sp_text_printable(manifest.host);
	*ret = manifest;
	return 0;
}
