/*
 * Firecracker's handshake on the VSOCK device's Unix socket (04-bridge): `CONNECT <port>\n` in one
 * write, then exactly `OK <number>\n`. Pure. Source: Firecracker docs/vsock.md and its vsock muxer.
 */
#ifndef SP_BRIDGE_HANDSHAKE_H
#define SP_BRIDGE_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

#define SP_HANDSHAKE_ASK_MAX    20 /* "CONNECT 4294967295\n" and a NUL */
#define SP_HANDSHAKE_ANSWER_MAX 14 /* "OK 4294967295\n" */

enum sp_handshake {
	SP_HANDSHAKE_WAIT, /* nothing has come yet */
	SP_HANDSHAKE_OK,
	SP_HANDSHAKE_BAD, /* end of file, another word, no whole line: transport, not sent */
};

/* The question, ready to be written in one write. Bytes, without the NUL. */
size_t sp_handshake_ask(uint32_t port, char ret_line[SP_HANDSHAKE_ASK_MAX]);

/*
 * Judges what is at hand of the answer, of which nothing has been taken off the socket yet (peek at
 * SP_HANDSHAKE_ANSWER_MAX bytes). The VMM writes its line in one write, and a Unix socket never
 * splits that: a first piece without its LF is no answer. On OK *ret_used bytes are the line, what
 * follows is the guest's and stays; *ret_port is the number: the host's port as the guest sees it.
 */
enum sp_handshake sp_handshake_read(
    const char *bytes, size_t size, size_t *ret_used, uint32_t *ret_port);

#endif
