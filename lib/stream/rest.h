/*
 * What a connection still holds whose peer has gone: bytes in the kernel, of which nobody has read
 * yet whether the last frame is among them.
 */
#ifndef SP_STREAM_REST_H
#define SP_STREAM_REST_H

#include <stdbool.h>
#include <stddef.h>
#include "stream/frame.h"

/* More than the kernel keeps of a Unix connection. */
#define SP_REST_MAX (1024u * 1024u)

/* Bytes that were read and not looked at, [start, end) of heap memory. */
struct sp_rest {
	char *bytes;
	size_t start, end;
};

/* A copy of these bytes, where there are none yet. -ENOMEM or 0. */
int sp_rest_keep(struct sp_rest *rest, const char *bytes, size_t size);
void sp_rest_done(struct sp_rest *rest);

/* Has the peer closed the connection, or has it failed? Its bytes may be there still. */
bool sp_rest_peer_gone(int fd);

/*
 * Reads all that is left behind the `rest` that there is. `reader` stands before the byte at
 * rest->start + `piece`. True: the last frame is among it, and no byte is missing; `rest` has it
 * all. False: it has been cut (or there is no memory for it).
 */
bool sp_rest_read(int fd, const struct sp_frame_reader *reader, size_t piece, struct sp_rest *rest);

#endif
