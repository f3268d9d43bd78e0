/* The keys that capabilities are verified with, for manager and gateway: loaded at the start and
 * whenever the installed bundle changes. */
#ifndef SP_SPACEBRIDGE_KEYS_H
#define SP_SPACEBRIDGE_KEYS_H

#include <ev.h>
#include "admit/remember.h"
#include "net/service.h"
#include "token/keyring.h"

struct keys {
	const char *verb; /* who tells about them */
	struct sp_service *service;
	const char *source, *realm, *roots;
	struct sp_keyring *ring;
	struct sp_memory *memory; /* of tokens verified with them */
	ev_timer retry;
	unsigned tries;
};

/*
 * Loads the ring; above it all but `ring`, `memory` and what follows is set. A missing or broken
 * bundle is told and leaves an empty ring: nothing passes until a good one is installed.
 * SP_E_CONFIG: never will be. -ENOMEM.
 */
int keys_open(struct keys *keys, struct sp_err *err);

/* Loads it again: a change on disk, of the roots, or SIGHUP. (sp_service_event_fn) */
void keys_changed(void *context);

void keys_close(struct keys *keys);

#endif
