/* The end of a connection that nothing more may pass through. */
#ifndef SP_NET_SOCKET_H
#define SP_NET_SOCKET_H

/*
 * Ends both directions at once; the caller still closes it. What TCP has not sent yet is thrown
 * away, its peer is reset; other sockets are shut down. A descriptor that is no socket, or none, is
 * left alone.
 */
void sp_socket_abort(int fd);

#endif
