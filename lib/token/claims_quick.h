/* The quick reader of claims, in front of sp_claims_parse and never instead of it. Inside
 * lib/token, and for the fuzzer that holds the two against each other. Pure. */
#ifndef SP_TOKEN_CLAIMS_QUICK_H
#define SP_TOKEN_CLAIMS_QUICK_H

#include "token/capability.h"

/* True: *ret is what sp_claims_read would make of it. False: not judged, *ret is void. */
bool sp_claims_quick(const char *text, size_t size, struct sp_claims *ret);

/* Through a tree: sp_claims_parse without the quick look. */
int sp_claims_read(const char *text, size_t size, struct sp_claims *ret, struct sp_err *err);

#endif
