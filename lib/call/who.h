/* Who asks: the principal that the control plane authorizes (05-routing, Filters). */
#ifndef SP_CALL_WHO_H
#define SP_CALL_WHO_H

#include <stdbool.h>
#include "base/err.h"
#include "routing/bearer.h"
#include "routing/cache.h"

struct sp_who {
	char caller[SP_PRINCIPAL_MAX + 1]; /* uid:N or token:NAME */
	bool has_credential;
	unsigned char credential[SP_CREDENTIAL_SIZE];
	bool nobody; /* a peer without a uid here: refused whatever it asks */
};

/* Our own uid. */
void sp_who_self(struct sp_who *ret);

/* The peer of a connected Unix socket; SP_E_CONFIG when `fd` is none. */
int sp_who_peer(int fd, struct sp_who *ret, struct sp_err *err);

/* The owner of this bearer token. */
void sp_who_bearer(const struct sp_bearer *bearer, struct sp_who *ret);

/* ... of the one in this file (routing/bearer.h). */
int sp_who_token(const char *path, struct sp_who *ret, struct sp_err *err);

#endif
