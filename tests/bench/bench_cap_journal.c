/* The journal of used jtis: one use made durable by itself, and when 64 share one sync. On the file
 * system of $TMPDIR or /tmp: tmpfs makes it look better than it is. */
#include <string.h>
#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>
#include "bench.h"
#include "base/text.h"
#include "token/capability.h"
#include "token/journal.h"

#define SINGLES 500
#define GROUPS  100
#define GROUP   64
#define NOW     1796000000

static void stop(const char *what)
{
	(void)fprintf(stderr, "bench_cap_journal: %s\n", what);
	exit(1);
}

/* What no journal can do without: 64 bytes into a file of zeros, and a sync. */
static int bare_open(const char *directory)
{
	static const char zeros[SINGLES * 64];
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/bare", directory);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, zeros, sizeof(zeros)) != sizeof(zeros) || fsync(fd) < 0)
		stop("cannot write");
	return fd;
}

static int64_t bare_use(int fd, size_t n)
{
	char bytes[64];
	int64_t start = bench_now_ns();

	memset(bytes, (int)n, sizeof(bytes));
	if (pwrite(fd, bytes, sizeof(bytes), (off_t)(n * sizeof(bytes))) != sizeof(bytes) ||
	    fdatasync(fd) < 0)
		stop("cannot write");
	return bench_now_ns() - start;
}

int main(void)
{
	static int64_t singles[SINGLES], groups[GROUPS], bare[SINGLES];
	const char *base = getenv("TMPDIR");
	char directory[256], command[300], jti[SP_JTI_SIZE];
	struct sp_journal *journal;
	int fd;

	(void)snprintf(directory, sizeof(directory), "%s/space-bench-XXXXXX", base ? base : "/tmp");
	if (sodium_init() < 0 || !mkdtemp(directory) ||
	    sp_journal_open(directory, &journal, NULL) < 0)
		stop("cannot start");
	fd = bare_open(directory);
	for (size_t i = 0; i < SINGLES; i++) {
		bare[i] = bare_use(fd, i);
		int64_t start = bench_now_ns();
		sp_jti_make(jti);
		if (sp_journal_use(journal, jti, NOW + 120, NOW, NULL) < 0)
			stop("a use failed");
		singles[i] = bench_now_ns() - start;
	}
	for (size_t i = 0; i < GROUPS; i++) {
		int64_t start = bench_now_ns();
		for (size_t j = 0; j < GROUP; j++) {
			sp_jti_make(jti);
			if (sp_journal_put(journal, jti, NOW + 120, NOW, NULL) < 0)
				stop("a use failed");
		}
		if (sp_journal_commit(journal, NULL) < 0)
			stop("a commit failed");
		groups[i] = (bench_now_ns() - start) / GROUP;
	}
	double peer = (double)bench_percentile(bare, SINGLES, 50) / 1000.;
	bench_put("jti into the journal, durably, median",
	    (double)bench_percentile(singles, SINGLES, 50) / 1000., "us", "pwrite, fdatasync", peer,
	    "<=", 1.3);
	bench_put("the same when 64 share one sync, each",
	    (double)bench_percentile(groups, GROUPS, 50) / 1000., "us", "pwrite, fdatasync", peer,
	    "<=", 0.1);
	sp_journal_close(journal);
	(void)snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) == 0 ? 0 : 1;
}
