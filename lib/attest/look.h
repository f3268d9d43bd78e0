/*
 * The looks behind the rows of the table of checks (attest/checks.c): each fills in its part of the
 * attestation's sight, on this machine, now. None of them decides anything; the later ones need
 * what the earlier ones pinned.
 */
#ifndef SP_ATTEST_LOOK_H
#define SP_ATTEST_LOOK_H

#include "attest/attestation.h"

typedef void sp_look_fn(struct sp_attestation *attestation);

/* look_socket.c */
sp_look_fn sp_look_path, sp_look_connect, sp_look_credentials, sp_look_peer_process;
sp_look_fn sp_look_peer_socket, sp_look_peer_held, sp_look_listener;

/* look_process.c */
sp_look_fn sp_look_level, sp_look_boot, sp_look_process, sp_look_start, sp_look_namespaces,
    sp_look_tracer, sp_look_executable, sp_look_alive, sp_look_image;

/* The executable's bytes, whether they decide or not: for an archive. */
sp_look_fn sp_look_bytes;

/* The whole row of the listener that was found, from sock_diag where it may be asked: for an
 * archive. */
sp_look_fn sp_look_listener_row;

#endif
