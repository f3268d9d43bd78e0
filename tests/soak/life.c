/* One incarnation of a sandbox: its guest, VMM and bridge, its record on a worker, its route. */
#include "soak.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/util.h"

#define TRIES_MAX 60 /* of a change that waits for a stopped holder, some seconds each */
#define WATCHERS  24 /* sandboxes whose bridges have inotify */
#define LOG_SHIFT 24 /* a guest's log begins at its number so shifted: a size tells whose it is */

static atomic_uint guests;

const char *worker_ini(unsigned worker)
{
	return path("%c.ini", worker_letter(worker));
}

char worker_letter(unsigned worker)
{
	return (char)('a' + (int)worker);
}

/* The second caller is granted all but those named x-: tests/soak/run. */
void sandbox_init(struct sandbox *sandbox, unsigned number)
{
	(void)pthread_mutex_init(&sandbox->lock, NULL);
	sandbox->number = number;
	(void)snprintf(
	    sandbox->name, sizeof(sandbox->name), "%c-%u", number % 16 == 5 ? 'x' : 's', number);
	(void)snprintf(sandbox->owner, sizeof(sandbox->owner), "op-1");
}

const char *route_text(const struct sandbox *sandbox, const struct life *life)
{
	char pod[64] = "";
	const char *whole;

	if (sandbox->number % 2)
		(void)snprintf(pod, sizeof(pod),
		    ",\"pod_uid\":\"%08x-0000-4000-8000-000000000000\"", life->guest);
	whole = path("{\"execution\":%" PRId64 ",\"worker\":\"worker-%c\",\"substrate\":\"%s\"%s,"
		     "\"activation\":\"act-%" PRId64 "\",\"attempt\":%d}",
	    life->execution, worker_letter(life->worker), *pod ? "kubernetes" : "host", pod,
	    life->execution, life->attempt);
	return strchr(whole, '{');
}

static void write_file(const char *name, const char *text, off_t size)
{
	sp_auto_fd int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    (size && ftruncate(fd, size) < 0))
		die(name, strerror(errno));
}

static void copy_file(const char *from, const char *to)
{
	char bytes[4096];
	sp_auto_fd int fd = open(from, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, bytes, sizeof(bytes) - 1) : -1;

	if (n < 0)
		die(from, strerror(errno));
	bytes[n] = '\0';
	write_file(to, bytes, n);
}

void life_agent(struct life *life)
{
	const char *listen = path("g/%u/a", life->guest);
	char address[1024], name[NAME_MAX_], cid[16];

	(void)snprintf(address, sizeof(address), "unix:%s", listen);
	(void)snprintf(name, sizeof(name), "guest-%u", life->guest);
	(void)snprintf(cid, sizeof(cid), "%u", life->guest + 3);
	if (!daemon_start(&life->agent, name,
		ARGV("spacebridge", "guest", "--listen", address, "--root",
		    path("g/%u/root", life->guest), "--cid", cid, "--key",
		    path("g/%u/key", life->guest)),
		NULL))
		die(name, "did not start");
}

static void start_vmm(struct life *life)
{
	char name[NAME_MAX_], cid[16];

	(void)snprintf(name, sizeof(name), "vmm-%u", life->guest);
	(void)snprintf(cid, sizeof(cid), "%u", life->guest + 3);
	if (!daemon_start(&life->vmm, name,
		ARGV("vmm", "--uds", path("g/%u/v", life->guest), "--guest",
		    path("g/%u/a", life->guest), "--cid", cid, "--misbehave", "reset"),
		NULL))
		die(name, "did not start");
}

void life_boot(struct sandbox *sandbox, struct life *life, const struct life *snapshot)
{
	char text[96];

	life->guest = atomic_fetch_add(&guests, 1) + 1;
	if (mkdir(path("g/%u", life->guest), 0700) < 0 ||
	    mkdir(path("g/%u/root", life->guest), 0700) < 0)
		die("guest", strerror(errno));
	(void)snprintf(
	    text, sizeof(text), "%s %" PRId64 " %u\n", sandbox->name, life->execution, life->guest);
	write_file(path("g/%u/root/id", life->guest), text, 0);
	write_file(path("g/%u/root/log", life->guest), "", (off_t)life->guest << LOG_SHIFT);
	note("guest %u %u %" PRId64, life->guest, sandbox->number, life->execution);
	if (snapshot)
		copy_file(path("g/%u/key", snapshot->guest), path("g/%u/key", life->guest));
	life_agent(life);
	start_vmm(life);
}

/* A user has 128 inotify instances, and other tests want some: most bridges get none. */
void life_bridge(struct sandbox *sandbox, struct life *life)
{
	char name[NAME_MAX_], preload[1024];
	const char *const *lack = ARGV(preload, "SP_LACK=inotify");

	(void)snprintf(name, sizeof(name), "host-%s-%" PRId64 "-%d", sandbox->name, life->execution,
	    life->attempt);
	(void)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", soak.lack ? soak.lack : "");
	if (!daemon_start(&life->host, name,
		ARGV("spacebridge", "host", "-c", worker_ini(life->worker), "--sandbox",
		    sandbox->name),
		soak.lack && sandbox->number >= WATCHERS ? lack : NULL))
		die(name, "did not start");
}

void life_end(struct life *life, int signal)
{
	daemon_end(&life->host, signal);
	daemon_end(&life->vmm, signal);
	daemon_end(&life->agent, signal);
	free(sp_steal(&life->record));
	*life = (struct life){.guest = 0};
}

static void trouble(const char *what, int code)
{
	note("trouble %" PRId64 " %s %d", now_us(), what, code);
}

/* Runs what may be repeated until it is done: killed in the middle the first time, by `salt`. */
static void insist(
    const char *tag, const char *rest, const char *const argv[], const char *input, uint64_t salt)
{
	int64_t kill_us = salt % 6 == 0 ? (int64_t)(salt >> 8) % 8000 : -1;

	for (int tries = 0; tries < TRIES_MAX; tries++, kill_us = -1) {
		int64_t begin = now_us();
		int code = tool(argv, input, kill_us, NULL);
		note("%s %" PRId64 " %" PRId64 " %s %d", tag, begin, now_us(), rest, code);
		if (code == 0)
			return;
		/* 1: a holder that is stopped; it is repeated to wait again. */
		if (kill_us < 0 && code != 1) {
			trouble(tag, code);
			return;
		}
	}
	trouble(tag, -1);
}

static const char *number_text(int64_t number)
{
	return strrchr(path("%" PRId64, number), '/') + 1;
}

/* The key of the snapshot's guest, as its worker's store has it; NULL: there is none. */
static const char *key_file(const struct life *snapshot)
{
	const char *at =
	    snapshot && snapshot->record ? strstr(snapshot->record, "\"guest\":") : NULL;
	char id[64];

	if (!at || sscanf(at, "\"guest\":{\"id\":\"%63[^\"]", id) != 1)
		return NULL;
	return path("%c/records/guest-keys/%s", worker_letter(snapshot->worker), id);
}

static int enroll(
    struct sandbox *sandbox, struct life *life, const struct life *snapshot, char **ret_record)
{
	const char *key = key_file(snapshot);
	char bare[1024];

	(void)snprintf(bare, sizeof(bare), "{\"sandbox\":\"%s\",\"route\":%s,\"owner\":\"%s\"}\n",
	    sandbox->name, route_text(sandbox, life), sandbox->owner);
	return tool(
	    ARGV("spacebridge", "attest", "-o", "json", "-c", worker_ini(life->worker), "--sandbox",
		sandbox->name, "--enroll", "--bridge-pid", number_text(life->host.pid), "--vmm-pid",
		number_text(life->vmm.pid), "--vsock", path("g/%u/v", life->guest), "--cid",
		number_text(life->guest + 3), "--record", "-", key ? "--guest-key" : NULL, key),
	    bare, -1, ret_record);
}

bool life_install(
    struct sandbox *sandbox, struct life *life, const struct life *snapshot, uint64_t salt)
{
	char *record = NULL, rest[128];
	int code = enroll(sandbox, life, snapshot, &record);

	free(sp_steal(&life->record));
	life->record = record;
	if (code != 0) {
		trouble("enroll", code);
		return false;
	}
	(void)snprintf(rest, sizeof(rest), "%u %u %u %" PRId64 " %d", sandbox->number, life->worker,
	    life->guest, life->execution, life->attempt);
	insist("install", rest, ARGV("spaceid", "install", "-c", worker_ini(life->worker)), record,
	    salt);
	return true;
}

static const char *publication(const struct sandbox *sandbox, const struct life *life)
{
	return strchr(path("{\"sandbox\":\"%s\",\"route\":%s,\"endpoint\":\"unix:%s\"}\n",
			  sandbox->name, route_text(sandbox, life),
			  path("%c/run/manager.sock", worker_letter(life->worker))),
	    '{');
}

void life_publish(struct sandbox *sandbox, const struct life *life, uint64_t salt)
{
	char rest[128];

	(void)snprintf(rest, sizeof(rest), "%u %u %" PRId64 " %d", sandbox->number, life->worker,
	    life->execution, life->attempt);
	insist("publish", rest, ARGV("spacerouted", "publish"), publication(sandbox, life), salt);
}

int publish_once(const struct sandbox *sandbox, const struct life *life)
{
	return tool(ARGV("spacerouted", "publish"), publication(sandbox, life), -1, NULL);
}

void life_withdraw(struct sandbox *sandbox, const struct life *life, uint64_t salt)
{
	char rest[64];

	(void)snprintf(rest, sizeof(rest), "%u %" PRId64, sandbox->number, life->execution);
	insist("withdraw", rest,
	    ARGV("spacerouted", "retire", "--sandbox", sandbox->name, "--execution",
		number_text(life->execution)),
	    NULL, salt);
}

void life_retire(struct sandbox *sandbox, const struct life *life, uint64_t salt)
{
	char rest[64];

	(void)snprintf(
	    rest, sizeof(rest), "%u %u %" PRId64, sandbox->number, life->worker, life->execution);
	insist("retire", rest,
	    ARGV("spaceid", "retire", "-c", worker_ini(life->worker), "--sandbox", sandbox->name,
		"--execution", number_text(life->execution)),
	    NULL, salt);
}

void life_fence(struct sandbox *sandbox, const struct life *life, bool cut)
{
	char rest[64];

	(void)snprintf(rest, sizeof(rest), "%u %u %d", sandbox->number, life->worker, cut);
	insist("fence", rest,
	    ARGV("spaceid", "fence", "-c", worker_ini(life->worker), "--sandbox", sandbox->name,
		cut ? "--cut" : NULL),
	    NULL, 1);
}
