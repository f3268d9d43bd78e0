/* The kernel names a caller, or a bearer token does. */
#include "call/who.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "net/unix.h"

/* What the kernel shows for a uid that has no place in this user namespace. */
static uid_t overflow_uid(void)
{
	sp_auto_free char *text = NULL;
	size_t size;
	int64_t number = 65534;

	if (sp_file_read(AT_FDCWD, "/proc/sys/kernel/overflowuid", 0, 32, &text, &size, NULL) ==
	    0) {
		text[strcspn(text, "\n")] = '\0';
		(void)sp_number_parse(text, 0, UINT32_MAX, &number);
	}
	return (uid_t)number;
}

static void set_uid(struct sp_who *who, uid_t uid)
{
	*who = (struct sp_who){.nobody = false};
	(void)snprintf(who->caller, sizeof(who->caller), "uid:%u", (unsigned)uid);
}

void sp_who_self(struct sp_who *ret)
{
	set_uid(ret, getuid());
}

int sp_who_peer(int fd, struct sp_who *ret, struct sp_err *err)
{
	struct ucred peer;
	int family = 0, bad;
	socklen_t size = sizeof(family);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) < 0 || family != AF_UNIX)
		return sp_fail(err, SP_E_CONFIG,
		    "--peer: standard input is no Unix socket; it goes with a socket unit");
	bad = sp_unix_peer(fd, &peer);
	if (bad)
		return sp_fail(err, bad, "--peer: %s", sp_code_text(bad));
	set_uid(ret, peer.uid);
	ret->nobody = peer.uid == (uid_t)-1 || peer.uid == overflow_uid();
	return 0;
}

void sp_who_bearer(const struct sp_bearer *bearer, struct sp_who *ret)
{
	*ret = (struct sp_who){.has_credential = true};
	(void)snprintf(ret->caller, sizeof(ret->caller), "token:%s", bearer->name);
	memcpy(ret->credential, bearer->credential, sizeof(bearer->credential));
}

int sp_who_token(const char *path, struct sp_who *ret, struct sp_err *err)
{
	struct sp_bearer bearer;
	int bad = sp_bearer_read(path, &bearer, err);

	if (!bad)
		sp_who_bearer(&bearer, ret);
	return bad;
}
