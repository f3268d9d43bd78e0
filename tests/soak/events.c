/* Threads that do what the trace says: several things at once, but one at a time to each. */
#include "soak.h"

#include <stdio.h>
#include <string.h>

#define THREADS 3
#define BEHIND  6 /* events that are due and not begun: operations wait for them */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t threads[THREADS];
	unsigned to_activate, activated;
	size_t next, busy;
	uint64_t answered;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool is_due(void)
{
	return self.next < soak.trace.count && soak.trace.events[self.next].at <= self.answered;
}

static void next_step(void)
{
	const struct event *event;
	unsigned number;

	if (self.to_activate < soak.trace.sandboxes) {
		number = self.to_activate++;
		(void)pthread_mutex_unlock(&self.lock);
		sandbox_activate(&soak.sandboxes[number]);
		(void)pthread_mutex_lock(&self.lock);
		self.activated++;
	} else {
		event = &soak.trace.events[self.next++];
		(void)pthread_mutex_unlock(&self.lock);
		deed(event);
		(void)pthread_mutex_lock(&self.lock);
	}
}

static void *serve(void *unused)
{
	(void)pthread_mutex_lock(&self.lock);
	/* For ever: its children would be told of its end (prctl(2), PR_SET_PDEATHSIG). */
	for (;;) {
		if (self.to_activate >= soak.trace.sandboxes && !is_due()) {
			(void)pthread_cond_wait(&self.changed, &self.lock);
			continue;
		}
		self.busy++;
		next_step();
		self.busy--;
		(void)pthread_cond_broadcast(&self.changed);
	}
	return unused;
}

/* Returns once every sandbox is up. */
void events_start(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&self.threads[i], NULL, serve, NULL) != 0)
			die("thread", "cannot be created");
	(void)pthread_mutex_lock(&self.lock);
	while (self.activated < soak.trace.sandboxes)
		(void)pthread_cond_wait(&self.changed, &self.lock);
	(void)pthread_mutex_unlock(&self.lock);
}

void events_advance(uint64_t answered)
{
	(void)pthread_mutex_lock(&self.lock);
	self.answered = answered;
	if (is_due())
		(void)pthread_cond_broadcast(&self.changed);
	(void)pthread_mutex_unlock(&self.lock);
}

bool events_behind(void)
{
	size_t last;
	bool behind;

	(void)pthread_mutex_lock(&self.lock);
	last = self.next + BEHIND;
	behind = last < soak.trace.count && soak.trace.events[last].at <= self.answered;
	(void)pthread_mutex_unlock(&self.lock);
	return behind;
}

bool events_done(void)
{
	bool done;

	(void)pthread_mutex_lock(&self.lock);
	done = !is_due() && self.busy == 0;
	(void)pthread_mutex_unlock(&self.lock);
	return done;
}
