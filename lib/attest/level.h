/* Kernel facilities behind the levels of 04-bridge, each probed by using it once. */
#ifndef SP_ATTEST_LEVEL_H
#define SP_ATTEST_LEVEL_H

#include <stdbool.h>
#include "attest/attest.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* One facility each; `true`: this kernel has it and lets this process use it on itself. */
struct sp_facilities {
	bool proc;      /* /proc is mounted and belongs to our pid namespace */
	bool pidfd;     /* pidfd_open (5.3) and a pidfd that poll() takes */
	bool peerpidfd; /* SO_PEERPIDFD (6.5) */
	bool pidfs;     /* a pidfd's inode that never repeats (6.9) */
	bool image;     /* /proc/<pid>/pagemap: the mm pin */
	bool sockdiag;  /* AF_UNIX sock_diag with UNIX_DIAG_PEER */
	bool cookie;    /* SO_COOKIE */
};

void sp_facilities_probe(struct sp_facilities *ret);

/* The level that a set of facilities makes. Pure. */
enum sp_level sp_level_of(const struct sp_facilities *facilities);

/* The n-th facility's name and whether it is there, 0 first; false past the last. Pure. */
bool sp_facilities_row(
    const struct sp_facilities *facilities, unsigned n, const char **ret_name, bool *ret_has);

/* "pidfs, image": what keeps a set below `full`, for people. Empty when nothing does. Pure. */
void sp_facilities_missing(const struct sp_facilities *facilities, char *text, size_t room);

#endif
