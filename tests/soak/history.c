/* What was done and what was answered, a line each; judge/judge.h says what they mean. */
#include "soak.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/io.h"

static struct {
	pthread_mutex_t lock;
	FILE *file;
	int64_t begin;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

int64_t now_us(void)
{
	return sp_monotonic_us() - self.begin;
}

void note(const char *format, ...)
{
	va_list arguments;

	(void)pthread_mutex_lock(&self.lock);
	va_start(arguments, format);
	if (vfprintf(self.file, format, arguments) < 0 || putc('\n', self.file) == EOF)
		die("history", "cannot be written");
	va_end(arguments);
	(void)pthread_mutex_unlock(&self.lock);
}

void note_window(int64_t begin, char scope, unsigned number, const char *what)
{
	note("window %" PRId64 " %" PRId64 " %c%u %s", begin, now_us(), scope, number, what);
}

void history_open(const char *name)
{
	struct timespec wall;

	self.file = fopen(name, "we");
	if (!self.file)
		die(name, "cannot be written");
	self.begin = sp_monotonic_us();
	(void)clock_gettime(CLOCK_REALTIME, &wall);
	note("soak 1 seed %" PRIu64 " sandboxes %u ttl %d skew %d wall %" PRId64, soak.trace.seed,
	    soak.trace.sandboxes, TTL_SECONDS, SKEW_SECONDS,
	    (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000);
}

void history_close(void)
{
	if (fclose(self.file) != 0)
		die("history", "cannot be written");
}
