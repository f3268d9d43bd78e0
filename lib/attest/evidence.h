/*
 * Evidence: the `bridge` and `vmm` objects of a runtime record (04-bridge, Record), closed, at most
 * SP_EVIDENCE_MAX bytes. Pure.
 *
 *   boot_id      of the kernel that all numbers below are of
 *   pid          in the pid namespace of whoever enrolled
 *   pidfs        inode of a pidfd, never reused; absent where the kernel has no pidfs (< 6.9)
 *   start_time   clock ticks since boot, as in /proc/<pid>/stat
 *   start_stack  address of the stack that exec chose
 *   uid, gid     effective ids: what SO_PEERCRED and the accepted socket must show
 *   namespaces   {net, mnt, pid, user}: inodes
 *   cgroup       for people
 *   executable   {path (for people), dev, ino, size, mtime, ctime, blake2b (256 bits, hexadecimal)}
 *   listener     {path, dev, ino, uid, mode: of the socket's file;
 *                 socket, cookie: of the listening socket (sockfs inode, SO_COOKIE);
 *                 file_dev, file_ino: the file as sock_diag names it (kernel device number);
 *                 fd: the process's descriptor of it}
 * and for `vmm` also
 *   cid          of the guest, >= 3
 *   uds_path     as the VMM itself names its VSOCK socket: perhaps inside a jail
 *   api          a listener: the VMM's API socket; absent when it has none
 *
 * What may pass 2^53 is text: pidfs, start_time, start_stack, cookie and ino in decimal, dev as
 * "MAJOR:MINOR", times as "SECONDS.NANOSECONDS" (nine digits), mode in octal ("0660").
 */
#ifndef SP_ATTEST_EVIDENCE_H
#define SP_ATTEST_EVIDENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "attest/attest.h"
#include "attest/executable.h"
#include "attest/proc.h"
#include "base/err.h"

struct sp_listener {
	const char *path; /* absolute, free of symlinks */
	dev_t dev;
	ino_t ino;
	uid_t uid;
	mode_t mode; /* permission bits */
	uint32_t socket;
	uint64_t cookie;
	uint32_t file_device, file_inode;
	int fd;
};

struct sp_evidence {
	char boot_id[37];
	pid_t pid;
	uint64_t pidfs; /* 0: absent */
	uint64_t start_time, start_stack;
	uid_t uid;
	gid_t gid;
	struct sp_namespaces namespaces;
	const char *cgroup;
	struct sp_executable executable;
	uint8_t hash[SP_EXECUTABLE_HASH];
	const char *executable_path;
	struct sp_listener listener;
	/* vmm only */
	uint32_t cid;
	const char *uds_path;
	struct sp_listener api; /* path NULL: none */
};

/* Texts of *ret are borrowed from `object`. SP_E_BAD_RECORD names the first thing wrong. */
int sp_evidence_parse(
    enum sp_role role, const json_t *object, struct sp_evidence *ret, struct sp_err *err);

/* A new reference; NULL when out of memory or when a text is no UTF-8. */
json_t *sp_evidence_json(enum sp_role role, const struct sp_evidence *evidence);

#endif
