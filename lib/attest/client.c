/* Who has connected to us: the check of a server on its clients. */
#include "attest/attest.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "attest/executable.h"
#include "attest/judge.h"
#include "attest/level.h"
#include "attest/proc.h"
#include "attest/report.h"
#include "base/io.h"
#include "base/util.h"

struct client {
	struct ucred peer;
	struct sp_process process;
	const uid_t *uids;
	unsigned count;
	const char *executable;
};

static enum sp_verdict judge_uid(int fd, struct client *client, struct sp_words *words)
{
	socklen_t size = sizeof(client->peer);

	sp_words_expect(words, "one of %u allowed uids", client->count);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client->peer, &size) < 0)
		return sp_judge_code(-errno, words);
	sp_words_see(words, "pid %d, uid %u", (int)client->peer.pid, (unsigned)client->peer.uid);
	for (unsigned i = 0; i < client->count; i++)
		if (client->uids[i] == client->peer.uid)
			return client->peer.pid > 0 ? SP_VERDICT_RIGHT : SP_VERDICT_UNKNOWN;
	return SP_VERDICT_WRONG;
}

static enum sp_verdict judge_process(int fd, struct client *client, struct sp_words *words)
{
	int pidfd = -1;
	socklen_t size = sizeof(pidfd);
	int bad = 0;

	sp_words_expect(words, "alive");
	/* Without SO_PEERPIDFD (Linux < 6.5) the number alone has to do. */
	if (sp_level_probe() >= SP_LEVEL_PIDFD &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0)
		bad = errno == EINVAL ? -ESRCH : -errno;
	if (!bad)
		bad = sp_process_pin(client->peer.pid, pidfd, &client->process);
	if (bad)
		return sp_judge_code(bad, words);
	sp_words_see(words, "alive");
	return SP_VERDICT_RIGHT;
}

static enum sp_verdict judge_executable(int fd, struct client *client, struct sp_words *words)
{
	struct sp_executable found;
	struct stat wanted;
	int bad;

	(void)fd;
	if (stat(client->executable, &wanted) < 0) {
		sp_words_expect(words, "%s", client->executable);
		return sp_judge_code(errno == ENOENT ? -ENODEV : -errno, words);
	}
	sp_words_expect(words, "%s: %u:%u inode %" PRIu64, client->executable, major(wanted.st_dev),
	    minor(wanted.st_dev), (uint64_t)wanted.st_ino);
	bad = sp_executable_read(&client->process, &found);
	if (bad)
		return sp_judge_code(bad, words);
	sp_words_see(
	    words, "%u:%u inode %" PRIu64, major(found.dev), minor(found.dev), (uint64_t)found.ino);
	return found.dev == wanted.st_dev && found.ino == wanted.st_ino ? SP_VERDICT_RIGHT
									: SP_VERDICT_WRONG;
}

static enum sp_verdict judge_still(int fd, struct client *client, struct sp_words *words)
{
	int same = sp_process_same_image(&client->process);

	(void)fd;
	sp_words_expect(words, "alive, no exec meanwhile");
	if (same < 0)
		return sp_judge_code(same, words);
	if (same && sp_process_alive(&client->process)) {
		sp_words_see(words, "alive, no exec meanwhile");
		return SP_VERDICT_RIGHT;
	}
	sp_words_see(words, "it has called exec, or exited");
	return SP_VERDICT_WRONG;
}

static const struct {
	const char *name;
	enum sp_reason reason;
	enum sp_verdict (*judge)(int fd, struct client *client, struct sp_words *words);
} ROWS[] = {
    {"client-uid", SP_REASON_PEER_CREDENTIALS, judge_uid},
    {"client-process", SP_REASON_BRIDGE_PROCESS, judge_process},
    {"client-executable", SP_REASON_BRIDGE_EXECUTABLE, judge_executable},
    {"client-alive", SP_REASON_BRIDGE_PROCESS, judge_still},
};

static enum sp_reason judge_row(size_t row, int fd, struct client *client, struct sp_report *report)
{
	struct sp_words words = {"", ""};
	int64_t start = report ? sp_monotonic_us() : 0;
	enum sp_verdict verdict = ROWS[row].judge(fd, client, report ? &words : NULL);
	enum sp_reason reason = SP_REASON_NONE;

	if (verdict != SP_VERDICT_RIGHT)
		reason =
		    verdict == SP_VERDICT_WRONG ? ROWS[row].reason : SP_REASON_EVIDENCE_UNAVAILABLE;
	if (report)
		sp_report_add(report, ROWS[row].name, reason, words.expected, words.seen,
		    sp_monotonic_us() - start);
	return reason;
}

enum sp_reason sp_attest_client(
    int fd, const uid_t *uids, unsigned count, const char *executable, struct sp_report *report)
{
	struct client client = {
	    .process = SP_PROCESS_NONE, .uids = uids, .count = count, .executable = executable};
	enum sp_reason reason = SP_REASON_NONE;

	for (size_t i = 0; i < SP_COUNT(ROWS) && reason == SP_REASON_NONE; i++)
		reason = judge_row(i, fd, &client, report);
	sp_process_unpin(&client.process);
	return reason;
}
