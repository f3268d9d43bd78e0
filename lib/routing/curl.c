/* The table of libcurl's functions. */
#include "routing/curl.h"

#include <stdbool.h>
#include <stddef.h>
#include "base/library.h"
#include "base/util.h"

#define LIBRARY "libcurl.so.4"

/* Where it is a macro that counts its arguments the table must not be it. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct sp_curl_library sp_curl;

static const struct sp_library_symbol SYMBOLS[] = {
#define SYMBOL(name) {"curl_" #name, offsetof(struct sp_curl_library, name)},
    SP_CURL_FUNCTIONS(SYMBOL)};

int sp_curl_load(struct sp_err *err)
{
	static bool ready;
	int bad =
	    ready ? 0
		  : sp_library_load(LIBRARY, "libcurl4", SYMBOLS, SP_COUNT(SYMBOLS), &sp_curl, err);

	if (!bad && !ready && sp_curl.global_init(CURL_GLOBAL_DEFAULT) != 0)
		bad = sp_fail(err, SP_E_UNAVAILABLE, "%s does not start", LIBRARY);
	if (bad)
		return sp_err_prefix(err, bad, "registry");
	ready = true;
	return 0;
}
