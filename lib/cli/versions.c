/* The libraries that a tool runs with: those it is linked to, and those that it would load here. */
#include <dlfcn.h>
#include <string.h>
#include "cli/internal.h"

enum kind { TEXT, PAIR, PACKED };

struct library {
	const char *name;
	const char *file; /* NULL: linked to, where the tool has it at all */
	enum kind kind;
	const char *version, *minor;
};

/* inih, wslay and libmd do not know their versions. */
static const struct library LIBRARIES[] = {
    {"glibc", NULL, TEXT, "gnu_get_libc_version", NULL},
    {"libsodium", NULL, TEXT, "sodium_version_string", NULL},
    {"jansson", NULL, TEXT, "jansson_version_str", NULL},
    {"libev", NULL, PAIR, "ev_version_major", "ev_version_minor"},
    {"http-parser", NULL, PACKED, "http_parser_version", NULL},
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

static void put_version(const struct library *library, void *handle, FILE *out)
{
	union symbol version = find(handle, library->version);
	union symbol minor = find(handle, library->minor);
	unsigned long packed;

	(void)fprintf(out, "%s: ", library->name);
	if (!version.address || (library->minor && !minor.address)) {
		(void)fputs("unknown", out);
	} else if (library->kind == TEXT) {
		(void)fputs(version.text(0), out);
	} else if (library->kind == PAIR) {
		(void)fprintf(out, "%d.%d", version.number(), minor.number());
	} else {
		packed = version.packed();
		(void)fprintf(
		    out, "%lu.%lu.%lu", packed >> 16 & 255, packed >> 8 & 255, packed & 255);
	}
	(void)fputs(library->file ? ", loaded where it is needed\n" : "\n", out);
}

void sp_cli_versions(FILE *out)
{
	for (size_t i = 0; i < sizeof(LIBRARIES) / sizeof(*LIBRARIES); i++) {
		const struct library *library = &LIBRARIES[i];
		void *handle = library->file ? dlopen(library->file, RTLD_LAZY | RTLD_LOCAL) : NULL;
		if (library->file && !handle)
			(void)fprintf(out, "%s: not here\n", library->name);
		else if (library->file || find(RTLD_DEFAULT, library->version).address)
			put_version(library, library->file ? handle : RTLD_DEFAULT, out);
	}
}
