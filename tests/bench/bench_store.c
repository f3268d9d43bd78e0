/* The store: a durable change beside one bare fsynced rename on the same disk, and the look-ups
 * that serve requests, in a store of 100,000 sandboxes. */
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench.h"
#include "store/inner.h"

enum { CHANGES = 200, SANDBOXES = 100000, LOOKS = 1000000 };

static char path[] = "/tmp/space-bench-store-XXXXXX";

static int take_away(const char *at, const struct stat *info, int type, struct FTW *where)
{
	(void)info;
	(void)type;
	(void)where;
	return remove(at);
}

static int64_t bare_rename(int directory)
{
	char text[256];
	int64_t start = bench_now_ns();
	int fd = openat(directory, "bare.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	memset(text, 'x', sizeof(text));
	if (write(fd, text, sizeof(text)) != sizeof(text) || fsync(fd) < 0 || close(fd) < 0 ||
	    renameat(directory, "bare.new", directory, "bare") < 0 || fsync(directory) < 0)
		exit(1);
	return bench_now_ns() - start;
}

static int64_t change(struct sp_store *store, int64_t execution)
{
	struct sp_change change = {.kind = SP_CHANGE_INSTALL,
	    .sandbox = "s-42",
	    .route = {.execution = execution,
		.attempt = 1,
		.substrate = SP_SUBSTRATE_HOST,
		.worker = "w",
		.activation = "a"},
	    .owner = "op-7",
	    .now = 1000};
	struct sp_outcome outcome;
	int64_t start = bench_now_ns();

	if (sp_store_change(store, &change, 2000, &outcome, NULL) < 0)
		exit(1);
	return bench_now_ns() - start;
}

/* Entries without files: the page is what a look-up costs. */
static void fill(struct sp_store *store)
{
	if (sp_store_lock(store, true, NULL) < 0)
		exit(1);
	for (unsigned i = 0; i < SANDBOXES; i++) {
		char name[16];
		uint32_t index;
		(void)snprintf(name, sizeof(name), "s-%u", i + 1000);
		if (sp_page_give(store, name, &index, NULL) < 0)
			exit(1);
		sp_page_publish(store, index, SP_EFFECT_INSTALLED, SP_PAGE_ACTIVE, 1, 1, 1);
	}
	sp_store_unlock(store);
}

static void measure_changes(struct sp_store *store)
{
	int64_t ours[CHANGES], theirs[CHANGES];

	for (int i = 0; i < CHANGES; i++) {
		theirs[i] = bare_rename(store->directory);
		ours[i] = change(store, i + 1);
	}
	bench_put("durable change", (double)bench_percentile(ours, CHANGES, 50) / 1e3, "us",
	    "fsynced rename", (double)bench_percentile(theirs, CHANGES, 50) / 1e3, "<=", 1.2);
}

static void measure_looks(struct sp_store *store)
{
	const struct sp_record *record;
	struct sp_holder *holder;
	struct sp_page_ref ref;
	struct sp_page_view seen;
	int64_t start = bench_now_ns();

	for (int i = 0; i < LOOKS; i++)
		if (sp_store_current(store, "s-42", &record, NULL) < 0)
			exit(1);
	bench_put(
	    "record in force", (double)(bench_now_ns() - start) / LOOKS, "ns", NULL, 0, "<=", 300);
	if (sp_holder_open(store, &holder, NULL) < 0 || sp_page_find(store, "s-42", &ref) < 0 ||
	    sp_page_look(store, ref, &seen) < 0)
		exit(1);
	start = bench_now_ns();
	for (int i = 0; i < LOOKS; i++) {
		if (sp_holder_enter(holder, ref, &seen) < 0)
			exit(1);
		sp_holder_leave(holder);
	}
	bench_put(
	    "move's bracket", (double)(bench_now_ns() - start) / LOOKS, "ns", NULL, 0, "<=", 200);
	sp_holder_close(holder);
}

int main(void)
{
	struct sp_store *store;

	if (!mkdtemp(path) || sp_store_open(path, SP_STORE_CREATE, &store, NULL) < 0)
		return 1;
	fill(store);
	measure_changes(store);
	measure_looks(store);
	sp_store_close(store);
	return nftw(path, take_away, 8, FTW_DEPTH | FTW_PHYS) != 0;
}
