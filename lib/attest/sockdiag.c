/* Exact sock_diag look-ups, one message out, one back; and the list of all that listen. */
#include "attest/sockdiag.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include "base/util.h"

struct question {
	struct nlmsghdr head;
	struct unix_diag_req ask;
};

int sp_sockdiag_open(int *ret_netlink)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	sp_auto_fd int fd =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

	if (fd < 0)
		return -errno;
	/* Connected: only the kernel's answers are received. */
	if (connect(fd, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	*ret_netlink = sp_steal_fd(&fd);
	return 0;
}

static enum sp_socket_state state_of(uint8_t state)
{
	if (state == TCP_LISTEN)
		return SP_SOCKET_LISTENING;
	return state == TCP_ESTABLISHED ? SP_SOCKET_ESTABLISHED : SP_SOCKET_OTHER;
}

static void take_attribute(const struct rtattr *attribute, struct sp_socket *found)
{
	struct unix_diag_vfs file;
	const void *data = RTA_DATA(attribute);
	size_t size = RTA_PAYLOAD(attribute);

	switch (attribute->rta_type) {
	case UNIX_DIAG_VFS:
		if (size < sizeof(file))
			return;
		memcpy(&file, data, sizeof(file));
		found->has_file = true;
		found->file_device = file.udiag_vfs_dev;
		found->file_inode = file.udiag_vfs_ino;
		return;
	case UNIX_DIAG_PEER:
		if (size >= sizeof(found->peer))
			memcpy(&found->peer, data, sizeof(found->peer));
		return;
	case UNIX_DIAG_UID:
		found->has_uid = size >= sizeof(found->uid);
		if (found->has_uid)
			memcpy(&found->uid, data, sizeof(found->uid));
		return;
	default:
		return;
	}
}

static void take_attributes(const char *at, size_t left, struct sp_socket *found)
{
	while (left >= sizeof(struct rtattr)) {
		const struct rtattr *attribute = (const struct rtattr *)at;
		size_t step = RTA_ALIGN(attribute->rta_len);

		if (attribute->rta_len < sizeof(*attribute) || attribute->rta_len > left)
			return;
		take_attribute(attribute, found);
		if (step >= left)
			return;
		at += step;
		left -= step;
	}
}

/* `head` has a whole unix_diag_msg. */
static void take_message(const struct nlmsghdr *head, struct sp_socket *ret)
{
	const struct unix_diag_msg *told = NLMSG_DATA(head);
	struct sp_socket found = {0};

	found.inode = told->udiag_ino;
	found.cookie = (uint64_t)told->udiag_cookie[1] << 32 | told->udiag_cookie[0];
	found.state = state_of(told->udiag_state);
	found.stream = told->udiag_type == SOCK_STREAM;
	take_attributes(
	    (const char *)(told + 1), head->nlmsg_len - NLMSG_LENGTH(sizeof(*told)), &found);
	*ret = found;
}

static int parse_error(const struct nlmsghdr *head)
{
	struct nlmsgerr error;

	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(error)))
		return -EPROTO;
	memcpy(&error, NLMSG_DATA(head), sizeof(error));
	return error.error < 0 ? error.error : -EPROTO;
}

int sp_sockdiag_parse(
    const void *answer, size_t size, uint32_t inode, uint32_t sequence, struct sp_socket *ret)
{
	const struct nlmsghdr *head = answer;
	const struct unix_diag_msg *told;

	if (size < sizeof(*head) || head->nlmsg_len > size || head->nlmsg_len < sizeof(*head) ||
	    head->nlmsg_seq != sequence)
		return -EPROTO;
	if (head->nlmsg_type == NLMSG_ERROR)
		return parse_error(head);
	if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    head->nlmsg_len < NLMSG_LENGTH(sizeof(*told)))
		return -EPROTO;
	told = NLMSG_DATA(head);
	if (told->udiag_family != AF_UNIX || told->udiag_ino != inode)
		return -EPROTO;
	take_message(head, ret);
	return 0;
}

int sp_sockdiag_find(int netlink, uint32_t inode, struct sp_socket *ret)
{
	static uint32_t last_sequence;
	uint32_t sequence = ++last_sequence;
	struct question question = {
	    .head = {.nlmsg_len = sizeof(question),
		.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlmsg_flags = NLM_F_REQUEST,
		.nlmsg_seq = sequence},
	    .ask = {.sdiag_family = AF_UNIX,
		.udiag_states = UINT32_MAX,
		.udiag_ino = inode,
		.udiag_show = UDIAG_SHOW_VFS | UDIAG_SHOW_PEER | UDIAG_SHOW_UID,
		.udiag_cookie = {UINT32_MAX, UINT32_MAX}}, /* INET_DIAG_NOCOOKIE: any */
	};
	_Alignas(struct nlmsghdr) char answer[2048];
	const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
	ssize_t size;

	if (inode == 0)
		return -ENOENT;
	/* The kernel answers within send(): what is not there at once will not come. */
	if (send(netlink, &question, sizeof(question), MSG_NOSIGNAL) < 0)
		return -errno;
	do {
		size = recv(netlink, answer, sizeof(answer), MSG_DONTWAIT);
		if (size < 0)
			return -errno;
		/* An answer left over from a question that was given up is passed by. */
	} while ((size_t)size >= sizeof(*head) && head->nlmsg_seq != sequence);
	return sp_sockdiag_parse(answer, (size_t)size, inode, sequence, ret);
}

/* One datagram of a list. 1: the list goes on; 0: it has ended; what `each` returned; -errno. */
static int take_batch(
    const char *at, size_t left, sp_sockdiag_fn *each, void *context, bool *ret_stopped)
{
	while (left >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *head = (const struct nlmsghdr *)at;
		size_t step = NLMSG_ALIGN(head->nlmsg_len);
		struct sp_socket found;
		int done = 0;

		if (head->nlmsg_len < sizeof(*head) || head->nlmsg_len > left)
			return -EPROTO;
		if (head->nlmsg_type == NLMSG_DONE)
			return 0;
		if (head->nlmsg_type == NLMSG_ERROR)
			return parse_error(head);
		if (head->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
			return -EPROTO;
		take_message(head, &found);
		if (found.state == SP_SOCKET_LISTENING && found.has_file)
			done = each(context, &found);
		if (done) {
			*ret_stopped = true;
			return done;
		}
		if (step >= left)
			break;
		at += step;
		left -= step;
	}
	return 1;
}

int sp_sockdiag_walk(int netlink, sp_sockdiag_fn *each, void *context)
{
	struct question question = {
	    .head = {.nlmsg_len = sizeof(question),
		.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	    .ask = {.sdiag_family = AF_UNIX,
		.udiag_states = 1U << TCP_LISTEN,
		.udiag_show = UDIAG_SHOW_VFS | UDIAG_SHOW_UID},
	};
	_Alignas(struct nlmsghdr) char batch[32768];
	bool stopped = false;
	int done = 1;

	if (send(netlink, &question, sizeof(question), MSG_NOSIGNAL) < 0)
		return -errno;
	/* Here too the kernel has each part of its answer at once. */
	while (done == 1 && !stopped) {
		ssize_t size = recv(netlink, batch, sizeof(batch), MSG_DONTWAIT);
		if (size < 0)
			return -errno;
		done = take_batch(batch, (size_t)size, each, context, &stopped);
	}
	return done;
}
