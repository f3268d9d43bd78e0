/* An end of `spacestream relay`: unix:PATH, tcp:HOST:PORT, fd:N, or - for standard input and
 * output.
 */
#ifndef SP_SPACESTREAM_ADDRESS_H
#define SP_SPACESTREAM_ADDRESS_H

#include "base/err.h"
#include "relay/relay.h"

/* Connects, `timeout_ms` at most. Every descriptor is non-blocking; those of unix: and tcp: are the
 * caller's to close. SP_E_USAGE: it is no address. */
int address_open(const char *address, int timeout_ms, struct sp_relay_end *ret, struct sp_err *err);

#endif
