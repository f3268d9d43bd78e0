/* The libraries that a tool runs with: those it is linked to, and those that it would load here;
 * for people, and as a bill of materials. */
#include <dlfcn.h>
#include <jansson.h>
#include <string.h>
#include "base/util.h"
#include "cli/internal.h"
#include "record/json.h"

#define VERSION_MAX 512

enum kind { TEXT, PAIR, PACKED, SILENT };

struct library {
	const char *name;
	const char *file; /* NULL: linked to, where the tool has it at all */
	enum kind kind;
	const char *version, *minor; /* functions; of a SILENT one any */
};

static const struct library LIBRARIES[] = {
    {"glibc", NULL, TEXT, "gnu_get_libc_version", NULL},
    {"libsodium", NULL, TEXT, "sodium_version_string", NULL},
    {"jansson", NULL, TEXT, "jansson_version_str", NULL},
    {"inih", NULL, SILENT, "ini_parse_string", NULL},
    {"libev", NULL, PAIR, "ev_version_major", "ev_version_minor"},
    {"http-parser", NULL, PACKED, "http_parser_version", NULL},
    {"wslay", NULL, SILENT, "wslay_event_context_server_init", NULL},
    {"libmd", NULL, SILENT, "SHA1Init", NULL},
    {"libarchive", "libarchive.so.13", TEXT, "archive_version_string", NULL},
    {"sqlite", "libsqlite3.so.0", TEXT, "sqlite3_libversion", NULL},
    {"curl", "libcurl.so.4", TEXT, "curl_version", NULL},
    {"openssl", "libcrypto.so.3", TEXT, "OpenSSL_version", NULL},
};

union symbol {
	void *address;
	const char *(*text)(int what); /* OpenSSL's has an argument; the others look at none */
	int (*number)(void);
	unsigned long (*packed)(void);
};

static union symbol find(void *handle, const char *name)
{
	return (union symbol){.address = name ? dlsym(handle, name) : NULL};
}

/* "" where it does not say. False: the tool is not linked to it. */
static bool take_version(const struct library *library, void *handle, char ret[VERSION_MAX])
{
	union symbol version = find(handle, library->version);
	union symbol minor = find(handle, library->minor);

	ret[0] = '\0';
	if (!version.address)
		return library->file;
	if (library->kind == TEXT)
		(void)snprintf(ret, VERSION_MAX, "%s", version.text(0));
	else if (library->kind == PAIR && minor.address)
		(void)snprintf(ret, VERSION_MAX, "%d.%d", version.number(), minor.number());
	else if (library->kind == PACKED)
		(void)snprintf(ret, VERSION_MAX, "%lu.%lu.%lu", version.packed() >> 16 & 255,
		    version.packed() >> 8 & 255, version.packed() & 255);
	return true;
}

/* Each library that the tool is linked to, or would load; `version` NULL: it would, and cannot.
 * What is not 0 ends the walk, and is returned. */
typedef int library_fn(void *context, const struct library *library, const char *version);

static int walk(library_fn *each, void *context)
{
	char version[VERSION_MAX];
	int bad = 0;

	for (size_t i = 0; i < SP_COUNT(LIBRARIES) && !bad; i++) {
		const struct library *library = &LIBRARIES[i];
		void *handle =
		    library->file ? dlopen(library->file, RTLD_LAZY | RTLD_LOCAL) : RTLD_DEFAULT;
		if (library->file && !handle)
			bad = each(context, library, NULL);
		else if (take_version(library, handle, version))
			bad = each(context, library, version);
	}
	return bad;
}

static int put_line(void *context, const struct library *library, const char *version)
{
	FILE *out = context;

	if (library->kind == SILENT)
		return 0;
	(void)fprintf(out, "%s: %s%s\n", library->name,
	    !version     ? "not here"
	    : version[0] ? version
			 : "unknown",
	    version && library->file ? ", loaded where it is needed" : "");
	return 0;
}

void sp_cli_versions(FILE *out)
{
	(void)walk(put_line, out);
}

/* A component as CycloneDX has it, with the number in `version`, if there is one. */
static json_t *component(const char *name, const char *version)
{
	const char *number = version + strcspn(version, "0123456789");
	char text[VERSION_MAX], purl[VERSION_MAX + 80];

	(void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(number, " ,()"), number);
	(void)snprintf(purl, sizeof(purl), "pkg:generic/%.64s%s%s", name, text[0] ? "@" : "", text);
	return json_pack("{ss ss ss ss* ss}", "type", "library", "bom-ref", name, "name", name,
	    "version", text[0] ? text : NULL, "purl", purl);
}

/* curl tells of the libraries that it was linked to in its turn: "libcurl/7.88.1 zlib/1.2.13 ...".
 */
static int add_parts(json_t *curl, const char *version)
{
	char words[VERSION_MAX], reference[VERSION_MAX], *rest = NULL;
	json_t *parts = json_array(), *part;
	int bad = json_object_set_new(curl, "components", parts);

	(void)snprintf(words, sizeof(words), "%s", version);
	for (char *word = strtok_r(words, " ", &rest); word && !bad;
	     word = strtok_r(NULL, " ", &rest)) {
		char *slash = strchr(word, '/');
		/* In brackets is what the one before it was linked to. */
		if (!slash || word[0] == '(' || strncmp(word, "libcurl/", 8) == 0)
			continue;
		*slash = '\0';
		part = component(word, slash + 1);
		(void)snprintf(reference, sizeof(reference), "curl/%s", word);
		bad = part ? json_object_set_new(part, "bom-ref", json_string(reference)) : -1;
		if (bad)
			json_decref(part);
		else
			bad = json_array_append_new(parts, part);
	}
	return bad;
}

struct bom {
	json_t *components, *depends_on;
};

static int add_library(void *context, const struct library *library, const char *version)
{
	struct bom *bom = context;
	json_t *one = version ? component(library->name, version) : NULL;
	int bad = 0;

	if (!version)
		return 0;
	if (!one)
		return -1;
	if (strcmp(library->name, "curl") == 0)
		bad = add_parts(one, version);
	if (!bad)
		bad = json_object_set_new(
		    one, "scope", json_string(library->file ? "optional" : "required"));
	if (bad) {
		json_decref(one);
		return bad;
	}
	bad = json_array_append_new(bom->components, one);
	return bad ? bad : json_array_append_new(bom->depends_on, json_string(library->name));
}

json_t *sp_cli_bom(const char *tool)
{
	struct bom bom = {json_array(), json_array()};
	int bad = bom.components && bom.depends_on ? walk(add_library, &bom) : -1;

	if (bad) {
		json_decref(bom.components);
		json_decref(bom.depends_on);
		return NULL;
	}
	return json_pack("{ss ss si s{s{ss ss ss ss}} so s[{ss so}]}", "bomFormat", "CycloneDX",
	    "specVersion", "1.5", "version", 1, "metadata", "component", "type", "application",
	    "bom-ref", tool, "name", tool, "version", SP_VERSION, "components", bom.components,
	    "dependencies", "ref", tool, "dependsOn", bom.depends_on);
}
