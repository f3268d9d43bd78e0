/* The table by dlopen. */
#include "net/openssl.h"

#include <stdbool.h>
#include <stddef.h>
#include "base/library.h"
#include "base/util.h"

#define LIBRARY "libssl.so.3"

struct sp_openssl sp_openssl;

static const struct sp_library_symbol SYMBOLS[] = {
#define SYMBOL(name) {#name, offsetof(struct sp_openssl, name)},
    SP_OPENSSL_FUNCTIONS(SYMBOL)};

int sp_openssl_load(struct sp_err *err)
{
	static bool ready;
	int bad = ready ? 0
			: sp_library_load(
			      LIBRARY, "libssl3", SYMBOLS, SP_COUNT(SYMBOLS), &sp_openssl, err);

	if (!bad)
		ready = true;
	return bad;
}
