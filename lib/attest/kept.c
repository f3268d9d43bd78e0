/* The table of kept pidfds. */
#include "attest/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include "base/io.h"
#include "base/limits.h"
#include "base/util.h"

/* The listener's cookie is in it, so that an enrollment anew is looked at anew. */
struct kept {
	pid_t pid;
	uint64_t start_time, start_stack, cookie;
	int pidfd;
};

static struct kept kept[SP_KEPT_MAX];
static unsigned count;

static bool is_of(const struct kept *entry, const struct sp_evidence *evidence)
{
	return entry->pid == evidence->pid && entry->start_time == evidence->start_time &&
	       entry->start_stack == evidence->start_stack &&
	       entry->cookie == evidence->listener.cookie;
}

static bool is_alive(const struct kept *entry)
{
	return sp_poll_one(entry->pidfd, POLLIN, 0) == SP_E_TIMEOUT;
}

/* A new place; with none left, that of a process that has ended. */
static struct kept *place(void)
{
	if (count < SP_KEPT_MAX)
		return &kept[count++];
	for (unsigned i = 0; i < count; i++)
		if (!is_alive(&kept[i])) {
			sp_fd_close(&kept[i].pidfd);
			return &kept[i];
		}
	return NULL;
}

int sp_kept_look(const struct sp_evidence *evidence, const struct sp_process *process)
{
	struct kept *entry;
	int pidfd;

	for (unsigned i = 0; i < count; i++)
		if (is_of(&kept[i], evidence))
			return is_alive(&kept[i]);
	pidfd = fcntl(process->pidfd, F_DUPFD_CLOEXEC, 3);
	if (pidfd < 0)
		return -errno;
	entry = place();
	if (!entry) {
		sp_fd_close(&pidfd);
		return SP_E_TOO_LARGE;
	}
	*entry = (struct kept){evidence->pid, evidence->start_time, evidence->start_stack,
	    evidence->listener.cookie, pidfd};
	return 1;
}
