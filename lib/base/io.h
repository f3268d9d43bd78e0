/* The one pair of read and write loops: EINTR, partial transfers and EAGAIN are met here and
 * nowhere else. */
#ifndef SP_BASE_IO_H
#define SP_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "base/err.h"

/* One read(2), EINTR repeated. Returns bytes, 0 at end of file, or -errno (-EAGAIN on an empty
 * non-blocking descriptor). */
ssize_t sp_read_some(int fd, void *buffer, size_t size);

/* One write(2), EINTR repeated; a socket's SIGPIPE must be ignored by the program. Returns bytes or
 * -errno. */
ssize_t sp_write_some(int fd, const void *data, size_t size);

/* Writes all of it, waiting for a non-blocking descriptor for `timeout_ms` in all (-1: no limit).
 * 0, -errno or SP_E_TIMEOUT. */
int sp_write_all(int fd, const void *data, size_t size, int timeout_ms);

/* Reads exactly `size` bytes within `timeout_ms` in all. 0, SP_E_CLOSED at an early end,
 * SP_E_TIMEOUT or -errno. */
int sp_read_exact(int fd, void *buffer, size_t size, int timeout_ms);

/* poll(2) for `events` on one descriptor, EINTR repeated against a fixed deadline. Returns revents,
 * SP_E_TIMEOUT or -errno. */
int sp_poll_one(int fd, short events, int timeout_ms);

/* Raises the soft limit of open descriptors to the hard one: a server's connections cost several
 * each. *ret_before (may be NULL) is what it was, for children that shall not inherit it. */
void sp_descriptors_raise(struct rlimit *ret_before);

/* Makes a descriptor one that does not block, for us alone where the kernel can: others may share
 * what it refers to (a socket's flag is theirs too). Regular files stay as they are. 0 or -errno.
 */
int sp_descriptor_unblock(int fd);

/* CLOCK_MONOTONIC, in milliseconds and microseconds: for waits and measurements, never for
 * decisions about time of day. */
int64_t sp_monotonic_ms(void);
int64_t sp_monotonic_us(void);

#endif
