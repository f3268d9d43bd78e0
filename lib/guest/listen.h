/* Where the agent listens, and who has connected: AF_VSOCK in a guest, a Unix socket where a
 * stand-in plays the VMM. */
#ifndef SP_GUEST_LISTEN_H
#define SP_GUEST_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "net/service.h"

#define SP_CID_HOST 2u

struct sp_guest_peer {
	bool known; /* false: a Unix peer without a name of the form below */
	uint32_t cid, port;
};

/* `where`: "unix:PATH" (made 0600) or "vsock:PORT". SP_E_USAGE for anything else. */
int sp_guest_listen(struct sp_service *service, const char *where, unsigned max,
    sp_service_accept_fn *accepted, void *context, struct sp_err *err);

/* The VSOCK address of an accepted connection's peer; of a Unix peer what its abstract name says:
 * "\0vsock:CID:PORT", and after another colon anything. */
struct sp_guest_peer sp_guest_peer(int fd);

/* Our own CID on an AF_VSOCK connection: the one it was addressed to, which must be the kernel's
 * (IOCTL_VM_SOCKETS_GET_LOCAL_CID) where that can be asked. 0: they differ, or it is another kind
 * of connection. */
uint32_t sp_guest_own_cid(int fd);

/* A name of that form without its NUL at the front. Pure. */
bool sp_guest_peer_parse(const char *name, size_t size, struct sp_guest_peer *ret);

#endif
