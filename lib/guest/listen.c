/* Sockets of the guest's agent. */
#include "guest/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/vm_sockets.h>
#include <sys/un.h>
#include "base/text.h"
#include "base/util.h"

static int listen_vsock(const char *text, int *ret_fd, struct sp_err *err)
{
	struct sockaddr_vm address = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY};
	sp_auto_fd int fd = -1;
	int64_t port;

	if (!sp_number_parse(text, 1, 65535, &port))
		return sp_fail(err, SP_E_USAGE, "vsock:%s: not a port from 1 to 65535", text);
	address.svm_port = (unsigned)port;
	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return sp_fail_errno(err, "vsock:%s", text);
	*ret_fd = sp_steal_fd(&fd);
	return 0;
}

int sp_guest_listen(struct sp_service *service, const char *where, unsigned max,
    sp_service_accept_fn *accepted, void *context, struct sp_err *err)
{
	int fd = -1, bad;

	if (strncmp(where, "unix:", 5) == 0 && where[5] != '\0')
		return sp_service_listen(service, where + 5, 0600, max, accepted, context, err);
	if (strncmp(where, "vsock:", 6) != 0)
		return sp_fail(err, SP_E_USAGE, "%s: neither unix:PATH nor vsock:PORT", where);
	bad = listen_vsock(where + 6, &fd, err);
	return bad ? bad : sp_service_adopt(service, fd, max, accepted, context, err);
}

bool sp_guest_peer_parse(const char *name, size_t size, struct sp_guest_peer *ret)
{
	char text[64], *rest = text, *cid, *port;
	int64_t cid_number, port_number;

	if (size < 6 || size >= sizeof(text) || memcmp(name, "vsock:", 6) != 0 ||
	    memchr(name, '\0', size))
		return false;
	memcpy(text, name + 6, size - 6);
	text[size - 6] = '\0';
	cid = strsep(&rest, ":");
	port = strsep(&rest, ":");
	if (!port || !sp_number_parse(cid, 0, UINT32_MAX, &cid_number) ||
	    !sp_number_parse(port, 0, UINT32_MAX, &port_number))
		return false;
	*ret = (struct sp_guest_peer){true, (uint32_t)cid_number, (uint32_t)port_number};
	return true;
}

struct sp_guest_peer sp_guest_peer(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_vm vm;
	} address = {.vm = {0}};
	struct sp_guest_peer peer = {false, 0, 0};
	socklen_t size = sizeof(address);
	size_t name = offsetof(struct sockaddr_un, sun_path) + 1;

	if (getpeername(fd, &address.any, &size) < 0)
		return peer;
	if (address.any.sa_family == AF_VSOCK)
		peer = (struct sp_guest_peer){true, address.vm.svm_cid, address.vm.svm_port};
	else if (address.any.sa_family == AF_UNIX && size > name && address.un.sun_path[0] == '\0')
		(void)sp_guest_peer_parse(address.un.sun_path + 1, size - name, &peer);
	return peer;
}

/* What the guest's kernel says; VMADDR_CID_ANY when it does not. */
static uint32_t kernel_cid(void)
{
	sp_auto_fd int fd = open("/dev/vsock", O_RDONLY | O_CLOEXEC);
	unsigned cid;

	if (fd < 0 || ioctl(fd, IOCTL_VM_SOCKETS_GET_LOCAL_CID, &cid) < 0)
		return VMADDR_CID_ANY;
	return cid;
}

uint32_t sp_guest_own_cid(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_vm vm;
	} address = {.vm = {0}};
	socklen_t size = sizeof(address);
	uint32_t kernel;

	if (getsockname(fd, &address.any, &size) < 0 || address.any.sa_family != AF_VSOCK ||
	    address.vm.svm_cid == VMADDR_CID_ANY)
		return 0;
	/* A packet's address is whatever the device wrote: the kernel does not compare it. */
	kernel = kernel_cid();
	return kernel == VMADDR_CID_ANY || kernel == address.vm.svm_cid ? address.vm.svm_cid : 0;
}
