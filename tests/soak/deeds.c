/* What befalls sandboxes, workers and the control plane. Whatever state they are in, it makes sense
 * or is nothing. */
#include "soak.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "base/util.h"

/* Of the salt, each use takes bits of its own. */
static bool bit(uint64_t salt, unsigned number)
{
	return salt >> (40 + number) & 1;
}

static void linger(uint64_t salt, int64_t most_us)
{
	pause_us((int64_t)(salt >> 16) % most_us);
}

static void window(struct sandbox *sandbox, int64_t begin, const char *what)
{
	note_window(begin, 's', sandbox->number, what);
}

/* The worker that was lost hears that its execution is over. */
static void tell(struct sandbox *sandbox, uint64_t salt)
{
	if (!sandbox->left.guest)
		return;
	life_retire(sandbox, &sandbox->left, salt);
	linger(salt, 300000);
	life_end(&sandbox->left, SIGTERM);
}

static void tell_now(struct sandbox *sandbox, uint64_t salt)
{
	int64_t begin = now_us();

	tell(sandbox, salt);
	window(sandbox, begin, "tell");
}

/* What was left behind on the worker that is to have the next execution may learn of that by the
 * next record alone. */
static void settle_left(struct sandbox *sandbox, unsigned worker, uint64_t salt)
{
	if (sandbox->left.worker == worker && bit(salt, 0))
		daemon_end(&sandbox->left.host, SIGTERM);
	else
		tell(sandbox, salt >> 1);
}

/* The order of bin/sandbox: fence, snapshot, install, publish, retire. */
static void replace(struct sandbox *sandbox, unsigned worker, bool lost, uint64_t salt)
{
	struct life old = sandbox->now;
	bool active = sandbox->state == UP || sandbox->state == PAUSED;
	struct life next = {.worker = worker, .attempt = 1, .execution = ++sandbox->execution};
	const struct life *snapshot = active && !lost && bit(salt, 1) ? &old : NULL;

	settle_left(sandbox, worker, salt);
	if (sandbox->state == UP && !lost)
		life_fence(sandbox, &old, true);
	life_boot(sandbox, &next, snapshot);
	if (old.worker == worker)
		daemon_end(&old.host, bit(salt, 2) ? SIGTERM : SIGKILL);
	life_bridge(sandbox, &next);
	(void)life_install(sandbox, &next, snapshot, salt >> 2);
	life_publish(sandbox, &next, salt >> 3);
	if (lost)
		sandbox->left = old;
	else if (active && old.worker != worker)
		life_retire(sandbox, &old, salt >> 4);
	/* They stand for a while: nobody may reach them. */
	if (!lost) {
		linger(salt, 300000);
		life_end(&old, SIGKILL);
	}
	if (sandbox->left.guest && sandbox->left.worker == worker)
		life_end(&sandbox->left, SIGTERM);
	sandbox->now = next;
	sandbox->state = UP;
}

static void replace_on(
    struct sandbox *sandbox, unsigned worker, bool lost, uint64_t salt, const char *what)
{
	bool was_up = sandbox->state == UP;
	int64_t begin = was_up ? now_us() : sandbox->window;

	replace(sandbox, worker, lost && was_up, salt);
	window(sandbox, begin, what);
}

void sandbox_activate(struct sandbox *sandbox)
{
	(void)pthread_mutex_lock(&sandbox->lock);
	replace_on(sandbox, sandbox->number % WORKERS, false, 1, "activate");
	(void)pthread_mutex_unlock(&sandbox->lock);
}

static void attempt(struct sandbox *sandbox, uint64_t salt)
{
	daemon_end(&sandbox->now.host, bit(salt, 0) ? SIGTERM : SIGKILL);
	sandbox->now.attempt++;
	life_bridge(sandbox, &sandbox->now);
	(void)life_install(sandbox, &sandbox->now, NULL, salt >> 1);
	life_publish(sandbox, &sandbox->now, salt >> 2);
}

static void pause_it(struct sandbox *sandbox)
{
	sandbox->window = now_us();
	life_fence(sandbox, &sandbox->now, true);
	daemon_end(&sandbox->now.vmm, SIGKILL);
	daemon_end(&sandbox->now.agent, SIGKILL);
	sandbox->state = PAUSED;
}

static void retire(struct sandbox *sandbox, uint64_t salt)
{
	sandbox->window = now_us();
	tell(sandbox, salt);
	life_withdraw(sandbox, &sandbox->now, salt >> 1);
	life_retire(sandbox, &sandbox->now, salt >> 2);
	life_end(&sandbox->now, SIGTERM);
	sandbox->state = RETIRED;
}

static void late_one(struct sandbox *sandbox, const char *what, int want, const char *const argv[],
    const char *input)
{
	int64_t begin = now_us();
	int code = argv ? tool(argv, input, -1, NULL) : -1;

	note("late %" PRId64 " %" PRId64 " %u %s %d %d", begin, now_us(), sandbox->number, what,
	    want, code);
}

static void handoff(struct sandbox *sandbox, uint64_t salt)
{
	char next[32];

	(void)snprintf(next, sizeof(next), "op-%u", (unsigned)(salt >> 32));
	late_one(sandbox, "handoff", sandbox->number % 2 ? 0 : 14,
	    ARGV("spaceid", "handoff", "-c", worker_ini(sandbox->now.worker), "--sandbox",
		sandbox->name, "--from", sandbox->owner, "--owner", next),
	    NULL);
	if (sandbox->number % 2)
		memcpy(sandbox->owner, next, sizeof(next));
}

/* Requests for what was, delayed until now, and repeated ones for what is. */
static void late(struct sandbox *sandbox)
{
	struct life old = sandbox->now;
	char ini[1024], number[24], bare[1024];
	int64_t begin;

	(void)snprintf(ini, sizeof(ini), "%s", worker_ini(old.worker));
	begin = now_us();
	note("late %" PRId64 " %" PRId64 " %u publish-again 0 %d", begin, now_us(), sandbox->number,
	    publish_once(sandbox, &sandbox->now));
	old.execution--;
	if (old.execution < 1)
		return;
	begin = now_us();
	note("late %" PRId64 " %" PRId64 " %u publish 14 %d", begin, now_us(), sandbox->number,
	    publish_once(sandbox, &old));
	(void)snprintf(number, sizeof(number), "%" PRId64, old.execution);
	(void)snprintf(bare, sizeof(bare), "{\"sandbox\":\"%s\",\"route\":%s,\"owner\":\"%s\"}\n",
	    sandbox->name, route_text(sandbox, &old), sandbox->owner);
	late_one(sandbox, "install", 14, ARGV("spaceid", "install", "-c", ini), bare);
	late_one(sandbox, "retire", 14,
	    ARGV("spaceid", "retire", "-c", ini, "--sandbox", sandbox->name, "--execution", number),
	    NULL);
	late_one(sandbox, "withdraw", 14,
	    ARGV("spacerouted", "retire", "--sandbox", sandbox->name, "--execution", number), NULL);
}

static void stall(const struct daemon *daemon, uint64_t salt)
{
	daemon_signal(daemon, SIGSTOP);
	pause_us(50000);
	linger(salt, 1500000);
	daemon_signal(daemon, SIGCONT);
}

/* To one that is up. */
static void befall(struct sandbox *sandbox, const struct event *event)
{
	int64_t begin = now_us();
	uint64_t salt = event->salt;

	switch (event->kind) {
	case ATTEMPT:
		attempt(sandbox, salt);
		break;
	case FENCE:
	case FENCE_CUT:
		life_fence(sandbox, &sandbox->now, event->kind == FENCE_CUT);
		break;
	case HANDOFF:
		handoff(sandbox, salt);
		break;
	case LATE:
		late(sandbox);
		break;
	case KILL_HOST:
		daemon_end(&sandbox->now.host, SIGKILL);
		linger(salt, 400000);
		attempt(sandbox, salt);
		break;
	case KILL_VMM:
		daemon_end(&sandbox->now.vmm, SIGKILL);
		linger(salt, 400000);
		replace(sandbox, sandbox->now.worker, false, salt);
		break;
	case KILL_GUEST:
		daemon_end(&sandbox->now.agent, SIGKILL);
		linger(salt, 400000);
		life_agent(&sandbox->now);
		break;
	case STALL_HOST:
		stall(&sandbox->now.host, salt);
		break;
	case STALL_VMM:
		stall(&sandbox->now.vmm, salt);
		break;
	default:
		for (unsigned i = 0; i < 1 + salt % 40; i++) {
			daemon_signal(&sandbox->now.vmm, SIGUSR1);
			linger(salt, 20000);
		}
		break;
	}
	window(sandbox, begin, EVENT_ROWS[event->kind].name);
}

static void on_sandbox(const struct event *event)
{
	struct sandbox *sandbox = &soak.sandboxes[event->target];
	unsigned here = sandbox->now.worker;

	(void)pthread_mutex_lock(&sandbox->lock);
	here = sandbox->now.worker;
	if (event->kind == RESUME)
		replace_on(sandbox, here, false, event->salt, "resume");
	else if (event->kind == MIGRATE || event->kind == LOSE)
		replace_on(sandbox, 1 - here, event->kind == LOSE, event->salt,
		    EVENT_ROWS[event->kind].name);
	else if (event->kind == TELL)
		tell_now(sandbox, event->salt);
	else if (sandbox->state != UP)
		;
	else if (event->kind == PAUSE)
		pause_it(sandbox);
	else if (event->kind == RETIRE)
		retire(sandbox, event->salt);
	else
		befall(sandbox, event);
	(void)pthread_mutex_unlock(&sandbox->lock);
}

static void set_skew(struct worker *worker, unsigned number, int skew)
{
	int64_t now = now_us();

	daemon_end(&worker->manager, SIGTERM);
	worker->skew = skew;
	if (worker->broken)
		note_window(worker->broken, 'w', number, "broken");
	worker->broken = skew > SKEW_SECONDS || skew < -SKEW_SECONDS ? now : 0;
}

static void on_worker(const struct event *event)
{
	struct worker *worker = &soak.workers[event->target];
	int64_t begin;

	(void)pthread_mutex_lock(&worker->lock);
	begin = now_us();
	if (event->kind == STALL_MANAGER) {
		stall(&worker->manager, event->salt);
	} else {
		if (event->kind == SKEW)
			set_skew(worker, event->target, (int)(event->salt % 5) - 2);
		else if (event->kind == BROKEN)
			set_skew(worker, event->target, event->salt % 2 ? 8 : -8);
		else
			daemon_end(
			    &worker->manager, event->kind == KILL_MANAGER ? SIGKILL : SIGTERM);
		linger(event->salt, 300000);
		manager_start(event->target);
	}
	note_window(begin, 'w', event->target,
	    event->kind == STALL_MANAGER || event->kind == KILL_MANAGER
		? EVENT_ROWS[event->kind].name
		: "stop-manager");
	(void)pthread_mutex_unlock(&worker->lock);
}

static void on_gateway(const struct event *event)
{
	unsigned number = event->target / WORKERS, worker = event->target % WORKERS;
	struct gateway *gateway = &soak.gateways[number][worker];
	int64_t begin;

	(void)pthread_mutex_lock(&gateway->lock);
	begin = now_us();
	if (event->kind == STALL_GATEWAY) {
		stall(&gateway->daemon, event->salt);
	} else {
		daemon_end(&gateway->daemon, event->salt % 2 ? SIGKILL : SIGTERM);
		linger(event->salt, 300000);
		gateway_start(number, worker);
	}
	note_window(begin, 's', gateway_sandbox(number), EVENT_ROWS[event->kind].name);
	(void)pthread_mutex_unlock(&gateway->lock);
}

static void on_control(const struct event *event)
{
	int64_t begin;

	(void)pthread_mutex_lock(&soak.control);
	begin = now_us();
	if (event->kind == KILL_CACHE || event->kind == KILL_SIGNER) {
		daemon_end(event->kind == KILL_CACHE ? &soak.cache : &soak.signer, SIGKILL);
		linger(event->salt, 300000);
		if (event->kind == KILL_CACHE)
			cache_start(event->salt % 2 == 0);
		else
			signer_start();
	} else if (event->kind == ROTATE) {
		rotate();
	} else {
		stall(event->kind == STALL_CACHE ? &soak.cache : &soak.signer, event->salt);
	}
	note_window(begin, 'c', 0, EVENT_ROWS[event->kind].name);
	(void)pthread_mutex_unlock(&soak.control);
}

void deed(const struct event *event)
{
	switch (EVENT_ROWS[event->kind].target) {
	case ON_SANDBOX:
		on_sandbox(event);
		return;
	case ON_WORKER:
		on_worker(event);
		return;
	case ON_GATEWAY:
		on_gateway(event);
		return;
	case ON_CONTROL:
		on_control(event);
		return;
	case ON_CALLER:
		caller_kill(event->target);
		return;
	}
}
