/* Who is behind listening sockets: what sock_diag says of them, then whose descriptors they are. */
#include "spacebridge/sockets.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include "attest/descriptors.h"
#include "attest/proc.h"
#include "attest/sockdiag.h"
#include "base/text.h"
#include "base/util.h"

/* The kernel numbers some file systems' devices in another way than stat(2): there the inode has to
 * do. */
static bool is_device(const struct socket_seen *seen, const struct sp_socket *found)
{
	return found->file_device == (major(seen->file.st_dev) << 20 | minor(seen->file.st_dev));
}

static uint32_t by_file(const struct socket_seen *seen)
{
	return (uint32_t)seen->file.st_ino;
}

static uint32_t by_socket(const struct socket_seen *seen)
{
	return seen->socket;
}

static int compare_file(const void *a, const void *b)
{
	uint32_t x = by_file(a), y = by_file(b);

	return x < y ? -1 : x > y;
}

static int compare_socket(const void *a, const void *b)
{
	uint32_t x = by_socket(a), y = by_socket(b);

	return x < y ? -1 : x > y;
}

/* In a list sorted by `key`: the first that has not less than `wanted`. */
static size_t first_at(
    const struct socket_list *list, uint32_t (*key)(const struct socket_seen *), uint32_t wanted)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (key(&list->seen[middle]) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Could `found`, which has this inode, be what listens here? `sure`: it has the device, too. */
static bool may_be(const struct socket_seen *seen, bool sure)
{
	if (seen->state == SOCKET_HIDDEN)
		return sure && S_ISSOCK(seen->file.st_mode);
	return seen->state == SOCKET_SERVED && (sure || !seen->socket);
}

static int take_socket(void *context, const struct sp_socket *found)
{
	struct socket_list *list = context;

	for (size_t i = first_at(list, by_file, found->file_inode);
	     i < list->count && by_file(&list->seen[i]) == found->file_inode; i++) {
		struct socket_seen *seen = &list->seen[i];
		bool sure = is_device(seen, found);
		if (!may_be(seen, sure))
			continue;
		seen->state = SOCKET_SERVED;
		seen->socket = found->inode;
		seen->has_uid = found->has_uid;
		seen->uid = found->uid;
	}
	return 0;
}

struct holder {
	struct socket_list *list;
	pid_t pid;
};

static int take_descriptor(void *context, int number, uint32_t inode)
{
	const struct holder *holder = context;
	const struct socket_list *list = holder->list;

	(void)number;
	for (size_t i = first_at(list, by_socket, inode);
	     i < list->count && list->seen[i].socket == inode; i++)
		if (list->seen[i].pid <= 1)
			list->seen[i].pid = holder->pid;
	return 0;
}

static void look_into(struct socket_list *list, pid_t pid)
{
	struct sp_process process = SP_PROCESS_NONE;
	struct holder holder = {.list = list, .pid = pid};

	if (sp_process_pin(pid, -1, &process))
		return;
	(void)sp_descriptor_walk(&process, take_descriptor, &holder);
	sp_process_unpin(&process);
}

static bool any_known(const struct socket_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->seen[i].socket)
			return true;
	return false;
}

void sockets_who(struct socket_list *list)
{
	sp_auto_fd int netlink = -1;
	const struct dirent *entry;
	int64_t pid;
	DIR *processes;

	if (list->count == 0)
		return;
	qsort(list->seen, list->count, sizeof(*list->seen), compare_file);
	if (sp_sockdiag_open(&netlink) == 0)
		(void)sp_sockdiag_walk(netlink, take_socket, list);
	qsort(list->seen, list->count, sizeof(*list->seen), compare_socket);
	if (!any_known(list) || !(processes = opendir("/proc")))
		return;
	while ((entry = readdir(processes)))
		if (sp_number_parse(entry->d_name, 1, INT32_MAX, &pid))
			look_into(list, (pid_t)pid);
	(void)closedir(processes);
}
