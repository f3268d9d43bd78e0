/* The route cache over its socket beside a Redis that holds the same bytes: one question at a time
 * and 16 in flight, each server on one core. And the memory of its entries. */
#include "base/util.h"
#include "routing/cache_wire.h"
#include "routing/registry.h"
#include "socket.h"

enum { ROUNDS = 2000, ENTRIES = 1000000, REPLACED = 2000, WORKERS = 250 };

#define KEY  "sandbox-00000042"
#define KEPT "sandbox-00000043"

static pid_t cache_pid, redis_pid;
static char directory[80], config[100], sock[100], redis_sock[100];

/* As they are in a fleet: many sandboxes of few workers. */
static struct sp_publication publication(unsigned number, int64_t execution)
{
	struct sp_publication wanted = {0};
	struct sp_route *route = &wanted.identity.route;

	(void)snprintf(
	    wanted.identity.sandbox, sizeof(wanted.identity.sandbox), "sandbox-%08u", number);
	(void)snprintf(wanted.endpoint, sizeof(wanted.endpoint),
	    "unix:/run/space/worker-%03u/manager.sock", number % WORKERS);
	*route = (struct sp_route){
	    .execution = execution, .attempt = 1, .substrate = SP_SUBSTRATE_KUBERNETES};
	(void)snprintf(route->worker, sizeof(route->worker), "worker-%03u", number % WORKERS);
	(void)snprintf(
	    route->pod_uid, sizeof(route->pod_uid), "0b9fa1c2-1111-2222-3333-4444%08x", number);
	(void)snprintf(route->activation, sizeof(route->activation), "activation-%08u", number);
	return wanted;
}

static void publish(struct sp_registry *registry, unsigned number, int64_t execution)
{
	struct sp_publication wanted = publication(number, execution);
	enum sp_publish_effect effect;
	int64_t revision;

	bench_must(sp_registry_publish(registry, &wanted, &effect, &revision, NULL));
}

static struct sp_registry *make_registry(const char *url)
{
	const struct sp_registry_options options = {.timeout_ms = 5000, .create = true};
	struct sp_registry *registry;
	struct sp_grant grant = {.sandbox = "*"};
	enum sp_grant_effect effect;
	int64_t revision;

	bench_must(sp_registry_open(url, &options, &registry, NULL));
	(void)snprintf(grant.principal, sizeof(grant.principal), "uid:1000");
	(void)snprintf(grant.subject, sizeof(grant.subject), "uid:1000");
	bench_must(sp_rights_add_op(&grant.rights, "file.*", NULL));
	bench_must(sp_registry_grant(registry, &grant, NULL, false, &effect, &revision, NULL));
	return registry;
}

static pid_t start_cache(const char *url)
{
	const char *const arguments[] = {"build/bin/spacerouted", "serve", "--no-watch", "-c",
	    config, "--listen", sock, "--audit", "/dev/null", NULL};
	FILE *file = fopen(config, "w");

	if (!file || fprintf(file, "[registry]\nurl = %s\n", url) < 0 || fclose(file) != 0)
		exit(1);
	return bench_start(arguments);
}

/* 0: there is none to compare with. */
static pid_t start_redis(void)
{
	const char *const arguments[] = {"redis-server", "--port", "0", "--unixsocket", redis_sock,
	    "--save", "", "--appendonly", "no", "--dir", directory, NULL};

	if (system("command -v redis-server >/dev/null") == 0)
		return bench_start(arguments);
	(void)fprintf(stderr,
	    "bench: redis-server is missing (Debian: redis-server): the cache's figures are left "
	    "out\n");
	return 0;
}

static char *get_question(const char *sandbox)
{
	char *text;

	bench_must(asprintf(&text,
	    "{\"ask\":\"get\",\"caller\":\"uid:1000\",\"sandbox\":\"%s\",\"op\":\"file.read\"}\n",
	    sandbox));
	return text;
}

static char *reject_question(unsigned number, int64_t execution)
{
	struct sp_publication rejected = publication(number, execution);
	char route[SP_ROUTE_TEXT_SIZE], *text;

	(void)sp_route_text(&rejected.identity.route, route);
	bench_must(asprintf(&text,
	    "{\"ask\":\"reject\",\"caller\":\"uid:1000\",\"sandbox\":\"%s\",\"rejected\":%s}\n",
	    rejected.identity.sandbox, route));
	return text;
}

/* A peer whose answer to the question contains `wanted`; *ret_answer has it. */
static struct bench_peer peer_of(
    int fd, const char *question, const char *wanted, char *ret_answer, size_t room)
{
	struct bench_peer peer = {
	    .fd = fd, .question = question, .question_size = strlen(question)};

	peer.answer_size = bench_ask(fd, question, peer.question_size, ret_answer, room);
	if (!strstr(ret_answer, wanted)) {
		(void)fprintf(stderr, "bench: unexpected: %.300s\n", ret_answer);
		exit(1);
	}
	return peer;
}

static char *redis_text(size_t count, const char *const *words)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fprintf(out, "*%zu\r\n", count);
	for (size_t i = 0; i < count; i++)
		(void)fprintf(out, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
	(void)fclose(out);
	return text;
}
#define REDIS(...)                                                                                 \
	redis_text(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                         \
	    (const char *const[]){__VA_ARGS__})

static void redis_set(int fd, const char *key, const char *value)
{
	sp_auto_free char *text = REDIS("SET", key, value);
	char answer[64];

	(void)peer_of(fd, text, "+OK", answer, sizeof(answer));
}

static void race_both(const char *name, const struct bench_peer *ours, const char *their_name,
    const struct bench_peer *theirs)
{
	struct bench_peer us = *ours, them = *theirs;
	char title[64];

	us.server = cache_pid;
	them.server = redis_pid;
	(void)snprintf(title, sizeof(title), "cache %s, one at a time", name);
	bench_race(title, &us, their_name, &them, ROUNDS, 1);
	(void)snprintf(title, sizeof(title), "cache %s, 16 in flight", name);
	bench_race(title, &us, their_name, &them, 4 * ROUNDS, BENCH_DEEP_MAX);
}

static void measure_gets(int fd, int redis)
{
	sp_auto_free char *question = get_question(KEY), *theirs = REDIS("GET", KEY);
	char answer[4096], other[4096];
	struct bench_peer ours, peer;

	/* The first fills; the second is what every later one is. */
	(void)peer_of(fd, question, "\"filled\"", answer, sizeof(answer));
	ours = peer_of(fd, question, "\"hit\"", answer, sizeof(answer));
	redis_set(redis, KEY, answer);
	peer = peer_of(redis, theirs, "\"hit\"", other, sizeof(other));
	race_both("get", &ours, "redis GET", &peer);
}

static const char COMPARE_AND_SET[] = "local held = redis.call('GET', KEYS[1]) "
				      "if held ~= ARGV[1] then return held end "
				      "redis.call('SET', KEYS[1], ARGV[2]) return ARGV[2]";

/* The digest Redis gives the script. */
static void load_script(int redis, char digest[41])
{
	sp_auto_free char *text = REDIS("SCRIPT", "LOAD", COMPARE_AND_SET);
	char answer[64];

	(void)peer_of(redis, text, "$40", answer, sizeof(answer));
	(void)snprintf(digest, 41, "%.40s", answer + 5);
}

/* The entry holds another route already: both compare, and say what is held. */
static void measure_kept(int fd, int redis, const char *digest)
{
	sp_auto_free char *fill = get_question(KEPT), *question = reject_question(43, 6);
	sp_auto_free char *theirs = NULL;
	char answer[4096], other[4096];
	struct bench_peer ours, peer;

	(void)peer_of(fd, fill, "\"filled\"", answer, sizeof(answer));
	ours = peer_of(fd, question, "\"kept\"", answer, sizeof(answer));
	redis_set(redis, KEPT, answer);
	theirs = REDIS("EVALSHA", digest, "1", KEPT, "another", "a third");
	peer = peer_of(redis, theirs, "\"kept\"", other, sizeof(other));
	race_both("reject, kept", &ours, "redis Lua compare-and-set", &peer);
}

/* Nanoseconds of some of ours, and of as many of theirs. */
static int64_t replace_ours(int fd, unsigned from, unsigned count)
{
	int64_t start = bench_now_ns();
	char answer[4096];

	for (unsigned i = from; i < from + count; i++) {
		sp_auto_free char *question = reject_question(1000 + i, 7);
		(void)peer_of(fd, question, "\"replaced\"", answer, sizeof(answer));
	}
	return bench_now_ns() - start;
}

static int64_t replace_theirs(int redis, const char *digest, unsigned count)
{
	sp_auto_free char *forth = REDIS("EVALSHA", digest, "1", "swap", "one", "two");
	sp_auto_free char *back = REDIS("EVALSHA", digest, "1", "swap", "two", "one");
	int64_t start = bench_now_ns();
	char answer[4096];

	redis_set(redis, "swap", "one");
	for (unsigned i = 0; i < count; i++)
		(void)peer_of(
		    redis, i % 2 ? back : forth, i % 2 ? "one" : "two", answer, sizeof(answer));
	return bench_now_ns() - start;
}

/* Every one resolved afresh in the registry and replaced; Redis is handed the new value. In turns:
 * whatever else the machine does meets both. */
static void measure_replaced(int fd, int redis, const char *digest, struct sp_registry *registry)
{
	static int64_t ours[BENCH_SLICES], theirs[BENCH_SLICES];
	const unsigned slice = REPLACED / BENCH_SLICES;
	double our_cpu = 0, their_cpu = 0, answers = slice * BENCH_SLICES / 1e6;
	char answer[4096];

	for (unsigned i = 0; i < REPLACED; i++) {
		sp_auto_free char *fill = NULL;
		struct sp_publication wanted = publication(1000 + i, 7);
		publish(registry, 1000 + i, 7);
		fill = get_question(wanted.identity.sandbox);
		(void)peer_of(fd, fill, "\"filled\"", answer, sizeof(answer));
		publish(registry, 1000 + i, 8);
	}
	for (unsigned i = 0; i < BENCH_SLICES; i++) {
		our_cpu -= bench_cpu(cache_pid);
		ours[i] = replace_ours(fd, i * slice, slice);
		our_cpu += bench_cpu(cache_pid);
		their_cpu -= bench_cpu(redis_pid);
		theirs[i] = replace_theirs(redis, digest, slice);
		their_cpu += bench_cpu(redis_pid);
	}
	bench_put("cache reject, replaced from the registry",
	    slice * 1e9 / (double)bench_percentile(ours, BENCH_SLICES, 50), "/s",
	    "redis Lua compare-and-set",
	    slice * 1e9 / (double)bench_percentile(theirs, BENCH_SLICES, 50), ">=", 1.0);
	bench_put("cache reject, replaced from the registry: CPU", our_cpu / answers, "us",
	    "redis Lua compare-and-set", their_cpu / answers, "<=", 1.0);
}

static void measure_speed(void)
{
	struct sp_registry *registry;
	char url[120], digest[41];
	int fd, redis_fd;

	redis_pid = start_redis();
	if (redis_pid == 0)
		return;
	(void)snprintf(url, sizeof(url), "sqlite:%s/registry.db", directory);
	registry = make_registry(url);
	publish(registry, 42, 7);
	publish(registry, 43, 7);
	cache_pid = start_cache(url);
	fd = bench_reach(sock);
	redis_fd = bench_reach(redis_sock);
	load_script(redis_fd, digest);
	measure_gets(fd, redis_fd);
	measure_kept(fd, redis_fd, digest);
	measure_replaced(fd, redis_fd, digest, registry);
	(void)close(fd);
	(void)close(redis_fd);
	bench_stop(cache_pid);
	bench_stop(redis_pid);
	sp_registry_close(registry);
}

static void ignore(void *context, struct sp_cache_ask *ask, const struct sp_cache_answer *answer)
{
	(void)context;
	(void)ask;
	(void)answer;
}

static void fill(struct sp_cache *cache, unsigned number)
{
	const struct sp_cache_time now = {.wall = 1000, .monotonic = 1000};
	struct sp_publication wanted = publication(number, 7);
	struct sp_lookup lookup = {.available = true, .routed = true};
	struct sp_cache_ask ask = {
	    .kind = SP_CACHE_GET, .caller = "uid:1000", .sandbox = wanted.identity.sandbox};
	struct sp_cache_answer answer;
	struct sp_flight *flight;

	bench_must(sp_rights_add_op(&lookup.authorization.rights, "file.*", NULL));
	lookup.placement.route = wanted.identity.route;
	lookup.placement.revision = number;
	memcpy(lookup.placement.endpoint, wanted.endpoint, sizeof(wanted.endpoint));
	if (sp_cache_take(cache, &ask, now, &answer, &flight) != SP_CACHE_LOOK)
		exit(1);
	(void)sp_cache_looked(cache, flight, &lookup, now, ignore, NULL);
}

/* Memory that this process really has. */
static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t all, pages = 0;

	if (!file || fscanf(file, "%zu %zu", &all, &pages) != 2 || fclose(file) != 0)
		exit(1);
	return pages * (size_t)getpagesize();
}

static void measure_memory(void)
{
	static const unsigned char key[SP_CACHE_KEY_SIZE];
	size_t before = resident();
	struct sp_cache *cache;

	bench_must(sp_cache_new(ENTRIES, 900, key, &cache));
	for (unsigned i = 0; i < ENTRIES; i++)
		fill(cache, i);
	bench_put("cache entry, of 1,000,000", (double)(resident() - before) / ENTRIES, "bytes",
	    NULL, 0, "<=", 400);
	sp_cache_free(cache);
}

int main(void)
{
	/* Redis keeps nothing; where there is memory to lie in, the registry's disk is left out of
	 * this, too. */
	const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	char command[128];

	(void)snprintf(directory, sizeof(directory), "%s/space-bench-cache-XXXXXX", place);
	if (!mkdtemp(directory))
		return 1;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(config, sizeof(config), "%s/space.ini", directory);
	(void)snprintf(sock, sizeof(sock), "%s/cache.sock", directory);
	(void)snprintf(redis_sock, sizeof(redis_sock), "%s/redis.sock", directory);
	measure_memory();
	bench_pin(BENCH_CLIENT_CPU);
	measure_speed();
	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) == 0 ? 0 : 1;
}
