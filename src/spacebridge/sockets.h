/* What `spacebridge sockets` knows of a path, and who finds out what. */
#ifndef SP_SPACEBRIDGE_SOCKETS_H
#define SP_SPACEBRIDGE_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define SOCKETS_MAX 65536 /* shown at once */

enum socket_state {
	SOCKET_SERVED, /* a process has it */
	SOCKET_STALE,  /* a file that no process is behind */
	SOCKET_ABSENT,
	SOCKET_HIDDEN, /* not ours to reach */
	SOCKET_OTHER,  /* a file of another kind */
};

struct socket_seen {
	char *path; /* heap */
	enum socket_state state;
	bool has_file;
	struct stat file;
	uint32_t socket; /* inode of the listening socket; 0: not of this network namespace */
	bool has_uid;
	uid_t uid; /* of who made it */
	pid_t pid; /* who has it, init only when nobody else has; 0: not ours to see */
};

struct socket_list {
	struct socket_seen *seen;
	size_t count, room;
};

/* sockets_who.c: sets socket, uid and pid where they can be known. The order of the list is lost.
 */
void sockets_who(struct socket_list *list);

#endif
