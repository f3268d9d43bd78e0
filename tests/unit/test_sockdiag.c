/* What the kernel's sock_diag answers is taken as, and a live pair of sockets found by inode. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attest/attest.h"
#include "attest/corner.h"
#include "attest/sockdiag.h"
#include "base/limits.h"
#include "base/util.h"

struct answer {
	_Alignas(struct nlmsghdr) char bytes[512];
	size_t size;
};

static void add(struct answer *answer, unsigned short type, const void *data, size_t size)
{
	struct rtattr *attribute = (struct rtattr *)(answer->bytes + answer->size);

	attribute->rta_type = type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(size);
	memcpy(RTA_DATA(attribute), data, size);
	answer->size += RTA_SPACE(size);
	((struct nlmsghdr *)answer->bytes)->nlmsg_len = (uint32_t)answer->size;
}

static struct answer answer_for(uint32_t inode, uint32_t sequence, uint8_t state)
{
	struct answer answer = {.size = NLMSG_LENGTH(sizeof(struct unix_diag_msg))};
	struct nlmsghdr *head = (struct nlmsghdr *)answer.bytes;
	struct unix_diag_msg *told = NLMSG_DATA(head);

	*head = (struct nlmsghdr){.nlmsg_len = (uint32_t)answer.size,
	    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
	    .nlmsg_seq = sequence};
	*told = (struct unix_diag_msg){.udiag_family = AF_UNIX,
	    .udiag_type = SOCK_STREAM,
	    .udiag_state = state,
	    .udiag_ino = inode,
	    .udiag_cookie = {7, 1}};
	return answer;
}

static void takes_every_fact(void **unused)
{
	struct answer answer = answer_for(42, 9, TCP_ESTABLISHED);
	struct unix_diag_vfs file = {.udiag_vfs_dev = 0xfe00000, .udiag_vfs_ino = 99};
	uint32_t peer = 43, uid = 1000;
	struct sp_socket found;

	(void)unused;
	add(&answer, UNIX_DIAG_VFS, &file, sizeof(file));
	add(&answer, UNIX_DIAG_PEER, &peer, sizeof(peer));
	add(&answer, UNIX_DIAG_UID, &uid, sizeof(uid));
	assert_int_equal(sp_sockdiag_parse(answer.bytes, answer.size, 42, 9, &found), 0);
	assert_int_equal(found.inode, 42);
	assert_int_equal(found.cookie, (1LL << 32) + 7);
	assert_int_equal(found.state, SP_SOCKET_ESTABLISHED);
	assert_true(found.stream);
	assert_int_equal(found.peer, 43);
	assert_true(found.has_file);
	assert_int_equal(found.file_device, 0xfe00000);
	assert_int_equal(found.file_inode, 99);
	assert_true(found.has_uid);
	assert_int_equal(found.uid, 1000);
}

static void takes_a_listener_without_attributes(void **unused)
{
	struct answer answer = answer_for(42, 9, TCP_LISTEN);
	struct sp_socket found;

	(void)unused;
	assert_int_equal(sp_sockdiag_parse(answer.bytes, answer.size, 42, 9, &found), 0);
	assert_int_equal(found.state, SP_SOCKET_LISTENING);
	assert_int_equal(found.peer, 0);
	assert_false(found.has_file);
	assert_false(found.has_uid);
}

static void refuses_what_answers_something_else(void **unused)
{
	struct answer answer = answer_for(42, 9, TCP_ESTABLISHED);
	struct nlmsghdr *head = (struct nlmsghdr *)answer.bytes;
	struct sp_socket found;

	(void)unused;
	assert_int_equal(sp_sockdiag_parse(answer.bytes, answer.size, 41, 9, &found), -EPROTO);
	assert_int_equal(sp_sockdiag_parse(answer.bytes, answer.size, 42, 8, &found), -EPROTO);
	assert_int_equal(sp_sockdiag_parse(answer.bytes, answer.size - 1, 42, 9, &found), -EPROTO);
	assert_int_equal(sp_sockdiag_parse(answer.bytes, 8, 42, 9, &found), -EPROTO);
	head->nlmsg_type = NLMSG_DONE;
	assert_int_equal(sp_sockdiag_parse(answer.bytes, answer.size, 42, 9, &found), -EPROTO);
}

static void passes_the_kernels_error_on(void **unused)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} answer = {{.nlmsg_len = sizeof(answer), .nlmsg_type = NLMSG_ERROR, .nlmsg_seq = 9},
	    {-ENOENT, {0}}};
	struct sp_socket found;

	(void)unused;
	assert_int_equal(sp_sockdiag_parse(&answer, sizeof(answer), 42, 9, &found), -ENOENT);
	answer.error.error = 0;
	assert_int_equal(sp_sockdiag_parse(&answer, sizeof(answer), 42, 9, &found), -EPROTO);
}

static void stops_at_a_broken_attribute(void **unused)
{
	struct answer answer = answer_for(42, 9, TCP_ESTABLISHED);
	struct rtattr *attribute = (struct rtattr *)(answer.bytes + answer.size);
	uint32_t peer = 43;
	struct sp_socket found;

	(void)unused;
	add(&answer, UNIX_DIAG_PEER, &peer, sizeof(peer));
	attribute->rta_len = 500;
	assert_int_equal(sp_sockdiag_parse(answer.bytes, answer.size, 42, 9, &found), 0);
	assert_int_equal(found.peer, 0);
	attribute->rta_len = 0;
	assert_int_equal(sp_sockdiag_parse(answer.bytes, answer.size, 42, 9, &found), 0);
	assert_int_equal(found.peer, 0);
}

static void finds_a_live_pair(void **unused)
{
	struct sp_socket found;
	struct stat info[2];
	uint64_t cookie;
	socklen_t size = sizeof(cookie);
	int pair[2], netlink;

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(fstat(pair[0], &info[0]) | fstat(pair[1], &info[1]), 0);
	assert_int_equal(sp_sockdiag_open(&netlink), 0);
	assert_int_equal(sp_sockdiag_find(netlink, (uint32_t)info[0].st_ino, &found), 0);
	assert_int_equal(found.peer, info[1].st_ino);
	assert_int_equal(found.state, SP_SOCKET_ESTABLISHED);
	assert_int_equal(found.uid, geteuid());
	assert_int_equal(getsockopt(pair[0], SOL_SOCKET, SO_COOKIE, &cookie, &size), 0);
	assert_int_equal(found.cookie, cookie);
	(void)close(pair[0]);
	assert_int_equal(sp_sockdiag_find(netlink, (uint32_t)info[0].st_ino, &found), -ENOENT);
	assert_int_equal(sp_sockdiag_find(netlink, 0, &found), -ENOENT);
	(void)close(pair[1]);
	(void)close(netlink);
}

static void client_sockets_are_found_in_their_namespace(void **unused)
{
	struct sp_socket found;
	struct stat info;
	struct sp_corner *corner;
	int fd, netlink, own;

	(void)unused;
	assert_int_equal(sp_sockdiag_open(&own), 0);
	assert_int_equal(sp_corner_client(&fd, &netlink, &corner), 0);
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(sp_sockdiag_find(own, (uint32_t)info.st_ino, &found), 0);
	(void)close(fd);
	(void)close(own);
	sp_attest_private();
	for (int i = 0; i < 40; i++) {
		assert_int_equal(sp_corner_client(&fd, &netlink, &corner), 0);
		assert_int_equal(fstat(fd, &info), 0);
		assert_int_equal(sp_sockdiag_find(netlink, (uint32_t)info.st_ino, &found), 0);
		(void)close(fd);
		sp_corner_leave(corner);
	}
}

static uint64_t namespace_of(int fd)
{
	sp_auto_fd int found = ioctl(fd, SIOCGSKNS);
	struct stat info;

	assert_true(found >= 0);
	assert_int_equal(fstat(found, &info), 0);
	return info.st_ino;
}

/* Clients of corners of our own; looking one up passes by all that its namespace holds. */
static void no_namespace_holds_more_than_its_share(void **unused)
{
	enum { COUNT = 3 * SP_CORNER_CONNECTIONS };
	static struct sp_corner *corners[COUNT + 1];
	static int fds[COUNT + 1];
	uint64_t namespaces[3] = {0};
	struct sp_socket found;
	struct stat info;
	int netlink;

	(void)unused;
	sp_attest_private();
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(sp_corner_client(&fds[i], &netlink, &corners[i]), 0);
		if (!corners[i])
			skip(); /* the right to make namespaces is missing */
		assert_int_equal(fstat(fds[i], &info), 0);
		assert_int_equal(sp_sockdiag_find(netlink, (uint32_t)info.st_ino, &found), 0);
		if (i % SP_CORNER_CONNECTIONS == 0)
			namespaces[i / SP_CORNER_CONNECTIONS] = namespace_of(fds[i]);
		assert_int_equal(namespace_of(fds[i]), namespaces[i / SP_CORNER_CONNECTIONS]);
	}
	assert_int_not_equal(namespaces[0], namespaces[1]);
	assert_int_not_equal(namespaces[1], namespaces[2]);
	assert_int_not_equal(namespaces[0], namespaces[2]);
	/* A place that was left is given away before another namespace is made. */
	(void)close(fds[1]);
	sp_corner_leave(corners[1]);
	assert_int_equal(sp_corner_client(&fds[1], &netlink, &corners[1]), 0);
	assert_int_equal(namespace_of(fds[1]), namespaces[0]);
	for (int i = 0; i < COUNT; i++) {
		(void)close(fds[i]);
		sp_corner_leave(corners[i]);
	}
	/* All but one are gone, and that one serves again. */
	assert_int_equal(sp_corner_client(&fds[0], &netlink, &corners[0]), 0);
	assert_true(namespace_of(fds[0]) == namespaces[0] ||
		    namespace_of(fds[0]) == namespaces[1] || namespace_of(fds[0]) == namespaces[2]);
	(void)close(fds[0]);
	sp_corner_leave(corners[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(takes_every_fact),
	    cmocka_unit_test(takes_a_listener_without_attributes),
	    cmocka_unit_test(refuses_what_answers_something_else),
	    cmocka_unit_test(passes_the_kernels_error_on),
	    cmocka_unit_test(stops_at_a_broken_attribute),
	    cmocka_unit_test(finds_a_live_pair),
	    cmocka_unit_test(client_sockets_are_found_in_their_namespace),
	    cmocka_unit_test(no_namespace_holds_more_than_its_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
