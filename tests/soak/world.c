/* The control plane's servers, the managers, and the signer's keys. */
#include "soak.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"

#define KEYS_MAX  512
#define KEYS_KEPT 20       /* in a bundle */
#define NOTICED   1000000  /* a new bundle has been seen by everybody, in microseconds */
#define OUTLIVED  18000000 /* nothing that was signed before is good any more */

static struct {
	char *kids[KEYS_MAX + 1];
	int64_t since[KEYS_MAX + 1]; /* the signer's */
	bool revoked[KEYS_MAX + 1];
	pthread_mutex_t lock; /* of kids */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

void manager_start(unsigned number)
{
	struct worker *worker = &soak.workers[number];
	char name[] = "manager-a", skew[32], preload[512];
	bool wrong = soak.faketime && worker->skew != 0;

	name[8] = worker_letter(number);
	(void)snprintf(skew, sizeof(skew), "FAKETIME=%+d", worker->skew);
	(void)snprintf(
	    preload, sizeof(preload), "LD_PRELOAD=%s", soak.faketime ? soak.faketime : "");
	if (!daemon_start(&worker->manager, name,
		ARGV("spacebridge", "forward", "-c", worker_ini(number)),
		wrong ? ARGV(preload, skew, "NO_FAKE_STAT=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
		      : NULL))
		die(name, "did not start");
}

/* Without a watch an old route stays until it is rejected. */
void cache_start(bool watch)
{
	note("cache %" PRId64 " %d", now_us(), watch);
	if (!daemon_start(&soak.cache, "cache",
		ARGV("spacerouted", "serve", watch ? NULL : "--no-watch"), NULL))
		die("cache", "did not start");
}

void signer_start(void)
{
	char ttl[16];

	(void)snprintf(ttl, sizeof(ttl), "%d", TTL_SECONDS);
	if (!daemon_start(&soak.signer, "signer", ARGV("spacecap", "agent", "--ttl", ttl), NULL))
		die("signer", "did not start");
}

/* Some of Kubernetes. */
unsigned gateway_sandbox(unsigned gateway)
{
	return 2 * gateway + 1;
}

void gateway_start(unsigned gateway, unsigned worker)
{
	const char *sandbox = soak.sandboxes[gateway_sandbox(gateway)].name;
	char name[NAME_MAX_];

	(void)snprintf(name, sizeof(name), "gateway-%u-%c", gateway, worker_letter(worker));
	if (!daemon_start(&soak.gateways[gateway][worker].daemon, name,
		ARGV("spacebridge", "gateway", sandbox, "-c", worker_ini(worker)), NULL))
		die(name, "did not start");
}

static void must(const char *const argv[])
{
	int code = tool(argv, NULL, -1, NULL);

	if (code != 0)
		note("trouble %" PRId64 " %s-%s %d", now_us(), argv[0], argv[1], code);
}

/* The first key was made by tests/soak/run. */
static void learn(unsigned key)
{
	char *kid;

	(void)tool(ARGV("spacecap", "pubkey", "--id", path("keys/%u.key", key)), NULL, -1, &kid);
	kid[strcspn(kid, "\n")] = '\0';
	(void)pthread_mutex_lock(&self.lock);
	self.kids[key] = kid;
	(void)pthread_mutex_unlock(&self.lock);
}

unsigned key_of(const char *kid)
{
	unsigned found = 0;

	(void)pthread_mutex_lock(&self.lock);
	for (unsigned key = 1; key <= KEYS_MAX && !found; key++)
		if (self.kids[key] && strcmp(self.kids[key], kid) == 0)
			found = key;
	(void)pthread_mutex_unlock(&self.lock);
	return found;
}

static void make_key(unsigned key)
{
	char *public, *at = strdup(path("keys/%u.public", key));
	FILE *file = at ? fopen(at, "we") : NULL;

	must(ARGV("spacecap", "keygen", "-o", path("keys/%u.key", key)));
	(void)tool(ARGV("spacecap", "pubkey", path("keys/%u.key", key)), NULL, -1, &public);
	if (!file || fputs(public, file) < 0 || fclose(file) != 0)
		die("key", "cannot be written");
	free(public);
	free(at);
	learn(key);
}

/* The bundle of this key: it and its predecessor are good, those before are not. */
static void build_bundle(unsigned key)
{
	const char *argv[KEYS_KEPT + 16] = {
	    "spacecap", "bundle", "build", "-k", path("root.key"), "-r", "test", "--serial"};
	char texts[KEYS_KEPT + 2][512];
	size_t count = 8, used = 0;

	(void)snprintf(texts[used], sizeof(*texts), "%u", key);
	argv[count++] = texts[used++];
	argv[count++] = "-o";
	(void)snprintf(texts[used], sizeof(*texts), "%s", path("keys/%u.tar", key));
	argv[count++] = texts[used++];
	for (unsigned one = key; one > 0 && one + KEYS_KEPT > key; one--) {
		(void)snprintf(texts[used], sizeof(*texts), "%s%s", path("keys/%u.public", one),
		    self.revoked[one] ? ",revoked" : "");
		argv[count++] = texts[used++];
	}
	must(argv);
}

static void install_bundle(unsigned key, unsigned worker)
{
	int64_t begin = now_us();
	int code = tool(ARGV("spacecap", "bundle", "install", "-c", worker_ini(worker),
			    path("keys/%u.tar", key)),
	    NULL, -1, NULL);

	for (unsigned one = 1; one <= key; one++)
		if (self.revoked[one])
			note("revoke %" PRId64 " %" PRId64 " %u %u %d", begin, now_us(), one,
			    worker, code);
	if (code != 0)
		note("trouble %" PRId64 " bundle-install %d", now_us(), code);
}

/* The new key is known to every worker before anything is signed with it; an old one is revoked
 * when nothing lives that it has signed. Managers stand meanwhile. */
void rotate(void)
{
	unsigned key = soak.key + 1;

	if (key > KEYS_MAX)
		return;
	for (unsigned i = 0; i < WORKERS; i++)
		(void)pthread_mutex_lock(&soak.workers[i].lock);
	make_key(key);
	if (now_us() - self.since[soak.key] > OUTLIVED)
		for (unsigned one = 1; one < soak.key; one++)
			self.revoked[one] = true;
	build_bundle(key);
	for (unsigned i = 0; i < WORKERS; i++)
		install_bundle(key, i);
	pause_us(NOTICED);
	for (unsigned i = 0; i < WORKERS; i++)
		(void)pthread_mutex_unlock(&soak.workers[i].lock);
	must(ARGV("cp", path("keys/%u.key", key), path("control/next.key")));
	if (rename(path("control/next.key"), path("control/signer.key")) < 0)
		die("signer.key", strerror(errno));
	soak.key = key;
	self.since[key] = now_us();
}

void world_start(void)
{
	soak.key = 1;
	learn(1);
	cache_start(true);
	signer_start();
	for (unsigned i = 0; i < WORKERS; i++)
		manager_start(i);
	for (unsigned i = 0; i < GATEWAYS * WORKERS; i++) {
		(void)pthread_mutex_init(&soak.gateways[i / WORKERS][i % WORKERS].lock, NULL);
		gateway_start(i / WORKERS, i % WORKERS);
	}
}

/* By SIGTERM, as a host that goes down: each must end well. */
void world_end(void)
{
	for (unsigned i = 0; i < soak.trace.sandboxes; i++) {
		struct sandbox *sandbox = &soak.sandboxes[i];
		if (sandbox->state == PAUSED || sandbox->state == RETIRED)
			note_window(sandbox->window, 's', i, "ended");
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		if (soak.workers[i].broken)
			note_window(soak.workers[i].broken, 'w', i, "broken");
		daemon_end(&soak.workers[i].manager, SIGTERM);
	}
	for (unsigned i = 0; i < GATEWAYS * WORKERS; i++)
		daemon_end(&soak.gateways[i / WORKERS][i % WORKERS].daemon, SIGTERM);
	daemon_end(&soak.cache, SIGTERM);
	daemon_end(&soak.signer, SIGTERM);
	for (unsigned i = 0; i < soak.trace.sandboxes; i++) {
		life_end(&soak.sandboxes[i].now, SIGTERM);
		life_end(&soak.sandboxes[i].left, SIGTERM);
	}
}
