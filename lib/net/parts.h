/* Many lines in one write, and whose bytes have gone: both ends that must know `sent` exactly write
 * in this way. */
#ifndef SP_NET_PARTS_H
#define SP_NET_PARTS_H

#include <errno.h>
#include <sys/uio.h>

#define SP_PARTS_MAX 64

/* One writev(2), EINTR repeated. Bytes or -errno. */
static inline ssize_t sp_parts_write(int fd, const struct iovec *parts, unsigned count)
{
	ssize_t n;

	do
		n = writev(fd, parts, (int)count);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* How many of the *left bytes that were written are this part's; takes them off. */
static inline size_t sp_parts_take(const struct iovec *part, ssize_t *left)
{
	size_t taken = (size_t)*left < part->iov_len ? (size_t)*left : part->iov_len;

	*left -= (ssize_t)taken;
	return taken;
}

#endif
