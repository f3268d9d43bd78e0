/* A publication beside a bare SQLite commit of the same durability. */
#include <sqlite3.h>
#include <string.h>
#include "bench.h"
#include "routing/registry.h"

enum { COMMITS = 200 };

static char directory[] = "/tmp/space-bench-publish-XXXXXX";

static void must(bool good)
{
	if (good)
		return;
	(void)fprintf(stderr, "bench_publish: failed\n");
	exit(1);
}

static void publish(struct sp_registry *registry, int64_t execution)
{
	struct sp_publication wanted = {.endpoint = "unix:/run/space/worker-a/manager.sock",
	    .identity = {.sandbox = "sandbox-00000042"}};
	enum sp_publish_effect effect;
	int64_t revision;

	wanted.identity.route = (struct sp_route){.execution = execution,
	    .attempt = 1,
	    .substrate = SP_SUBSTRATE_KUBERNETES,
	    .worker = "worker-a",
	    .pod_uid = "0b9fa1c2-1111-2222-3333-444455556666",
	    .activation = "activation-19"};
	must(sp_registry_publish(registry, &wanted, &effect, &revision, NULL) == 0);
}

static sqlite3 *open_bare(void)
{
	char path[80];
	sqlite3 *bare;

	(void)snprintf(path, sizeof(path), "%s/bare.db", directory);
	must(sqlite3_open(path, &bare) == SQLITE_OK);
	must(sqlite3_exec(bare,
		 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
		 "CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT, rev INTEGER) WITHOUT ROWID;"
		 "INSERT INTO t VALUES ('sandbox-00000042', hex(randomblob(100)), 0)",
		 NULL, NULL, NULL) == SQLITE_OK);
	return bare;
}

/* Each by itself: on one loaded disk only neighbours in time compare. */
static void measure(struct sp_registry *registry, sqlite3 *bare)
{
	static int64_t ours[COMMITS], theirs[COMMITS];

	for (int i = 0; i < COMMITS; i++) {
		int64_t start = bench_now_ns();
		must(sqlite3_exec(bare, "UPDATE t SET rev = rev + 1 WHERE k = 'sandbox-00000042'",
			 NULL, NULL, NULL) == SQLITE_OK);
		theirs[i] = bench_now_ns() - start;
		start = bench_now_ns();
		publish(registry, 8 + i);
		ours[i] = bench_now_ns() - start;
	}
	bench_put("durable publish", 1e9 / (double)bench_percentile(ours, COMMITS, 50), "/s",
	    "SQLite commit", 1e9 / (double)bench_percentile(theirs, COMMITS, 50), ">=", 0.8);
}

int main(void)
{
	const struct sp_registry_options options = {.timeout_ms = 5000, .create = true};
	struct sp_registry *registry;
	char url[80], command[128];
	sqlite3 *bare;

	if (!mkdtemp(directory))
		return 1;
	(void)snprintf(url, sizeof(url), "sqlite:%s/registry.db", directory);
	must(sp_registry_open(url, &options, &registry, NULL) == 0);
	bare = open_bare();
	publish(registry, 7);
	measure(registry, bare);
	(void)sqlite3_close(bare);
	sp_registry_close(registry);
	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) == 0 ? 0 : 1;
}
