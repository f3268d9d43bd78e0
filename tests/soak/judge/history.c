/* Reads a history. A line that is not understood ends it: what cannot be read proves nothing. */
#include "judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct history history;

void *grow(void *rows, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return rows;
	*room = *room ? 2 * *room : 16;
	rows = reallocarray(rows, *room, size);
	if (!rows)
		die("history", "out of memory");
	return rows;
}

#define ADD(list)                                                                                  \
	((list).rows = grow((list).rows, (list).count, &(list).room, sizeof(*(list).rows)),        \
	    &(list).rows[(list).count++])

static bool read_head(const char *line)
{
	return sscanf(line,
		   "soak 1 seed %" SCNu64 " sandboxes %u ttl %" SCNd64 " skew %" SCNd64
		   " wall %" SCNd64,
		   &history.seed, &history.sandboxes, &history.ttl, &history.skew,
		   &history.wall) == 5;
}

static bool read_guest(const char *line)
{
	struct guest guest = {.known = true};
	unsigned number;

	if (sscanf(line, "guest %u %u %" SCNd64, &number, &guest.sandbox, &guest.execution) != 3)
		return false;
	while (history.guests.count <= number)
		*ADD(history.guests) = (struct guest){.known = false};
	history.guests.rows[number] = guest;
	return true;
}

/* Of this sandbox on this worker everything up to this execution, but `kept`, is going, or gone. */
static void supersede(unsigned sandbox, unsigned worker, int64_t execution,
    const struct incarnation *kept, int64_t begin, int64_t end)
{
	for (size_t i = 0; i < history.incarnations.count; i++) {
		struct incarnation *one = &history.incarnations.rows[i];
		if (one == kept || one->sandbox != sandbox || one->worker != worker ||
		    one->execution > execution)
			continue;
		if (begin < one->going)
			one->going = begin;
		if (end < one->to)
			one->to = end;
	}
}

static struct incarnation *find(const struct incarnation *wanted)
{
	for (size_t i = 0; i < history.incarnations.count; i++) {
		struct incarnation *one = &history.incarnations.rows[i];
		if (one->sandbox == wanted->sandbox && one->worker == wanted->worker &&
		    one->execution == wanted->execution && one->attempt == wanted->attempt)
			return one;
	}
	*ADD(history.incarnations) = *wanted;
	return &history.incarnations.rows[history.incarnations.count - 1];
}

static bool read_install(const char *line)
{
	struct incarnation one = {.to = NEVER, .going = NEVER};
	int64_t end;
	int code;

	if (sscanf(line, "install %" SCNd64 " %" SCNd64 " %u %u %u %" SCNd64 " %d %d", &one.from,
		&end, &one.sandbox, &one.worker, &one.guest, &one.execution, &one.attempt,
		&code) != 8)
		return false;
	history.changes++;
	supersede(
	    one.sandbox, one.worker, one.execution, find(&one), one.from, code == 0 ? end : NEVER);
	return true;
}

static bool read_retire(const char *line)
{
	int64_t begin, end, execution;
	unsigned sandbox, worker;
	int code;

	if (sscanf(line, "retire %" SCNd64 " %" SCNd64 " %u %u %" SCNd64 " %d", &begin, &end,
		&sandbox, &worker, &execution, &code) != 6)
		return false;
	history.changes++;
	supersede(sandbox, worker, execution, NULL, begin, code == 0 ? end : NEVER);
	return true;
}

static bool read_fence(const char *line)
{
	struct fence fence;
	int code;

	if (sscanf(line, "fence %" SCNd64 " %" SCNd64 " %u %u %d %d", &fence.begin, &fence.end,
		&fence.sandbox, &fence.worker, &fence.cut, &code) != 6)
		return false;
	history.changes++;
	if (code == 0)
		*ADD(history.fences) = fence;
	return true;
}

static bool read_publish(const char *line)
{
	struct publication one;
	int64_t end;
	unsigned worker;
	int attempt, code;

	if (sscanf(line, "publish %" SCNd64 " %" SCNd64 " %u %u %" SCNd64 " %d %d", &one.begin,
		&end, &one.sandbox, &worker, &one.execution, &attempt, &code) != 7)
		return false;
	history.changes++;
	*ADD(history.publications) = one;
	return true;
}

static bool read_revoke(const char *line)
{
	struct revocation one;
	int64_t begin;
	int code;

	if (sscanf(line, "revoke %" SCNd64 " %" SCNd64 " %u %u %d", &begin, &one.end, &one.key,
		&one.worker, &code) != 5)
		return false;
	if (code == 0)
		*ADD(history.revocations) = one;
	return true;
}

static bool read_cache(const char *line)
{
	struct cache one;

	if (sscanf(line, "cache %" SCNd64 " %d", &one.at, &one.watch) != 2)
		return false;
	*ADD(history.caches) = one;
	return true;
}

static bool read_late(const char *line)
{
	char what[32];
	int64_t begin, end;
	unsigned sandbox;
	int wanted, code;

	if (sscanf(line, "late %" SCNd64 " %" SCNd64 " %u %31s %d %d", &begin, &end, &sandbox, what,
		&wanted, &code) != 6)
		return false;
	history.changes++;
	if (code != wanted)
		complain(LATE_CHANGE, "%s", line);
	return true;
}

static bool read_window(const char *line)
{
	struct window one;

	if (sscanf(line, "window %" SCNd64 " %" SCNd64 " %c%u %19s", &one.begin, &one.end,
		&one.scope, &one.number, one.what) != 5)
		return false;
	*ADD(history.windows) = one;
	return true;
}

static const struct {
	const char *text;
	enum class class;
} CLASSES[] = {
    {"refresh-route ", CLASS_REFRESH},
    {"deny fenced", CLASS_FENCED},
    {"deny expired", CLASS_TIME},
    {"deny not-yet-valid", CLASS_TIME},
    {"deny revoked-key", CLASS_KEY},
    {"deny unknown-key", CLASS_KEY},
    {"deny replayed", CLASS_REPLAYED},
    {"deny peer-credentials", CLASS_BRIDGE},
    {"deny bridge-", CLASS_BRIDGE},
    {"deny vmm-", CLASS_BRIDGE},
    {"deny listener-", CLASS_BRIDGE},
    {"deny guest-identity", CLASS_BRIDGE},
    {"transport ", CLASS_TRANSPORT},
    {"unavailable ", CLASS_UNAVAILABLE},
};

static uint16_t class_of(const char *text)
{
	for (size_t i = 0; i < sizeof(CLASSES) / sizeof(*CLASSES); i++)
		if (strncmp(text, CLASSES[i].text, strlen(CLASSES[i].text)) == 0)
			return (uint16_t)CLASSES[i].class;
	return CLASS_OTHER;
}

/* An error that says nothing of what was sent: of these it is said that nothing has run. */
static enum result error_result(const char *text)
{
	static const char *const unsent[] = {
	    "unavailable", "overloaded", "bad-record", "too-large"};
	size_t size = strcspn(text, " ");

	if (strcmp(text + size, " 0") == 0)
		return UNSENT;
	if (strcmp(text + size, " 1") == 0)
		return MAYBE;
	for (size_t i = 0; i < sizeof(unsent) / sizeof(*unsent); i++)
		if (strlen(unsent[i]) == size && strncmp(text, unsent[i], size) == 0)
			return UNSENT;
	return MAYBE;
}

static bool read_outcome(const char *text, struct answer *ret)
{
	if (sscanf(text, "ok %u %" SCNu32, &ret->guest, &ret->at) == 2) {
		ret->at_known = true;
	} else if (sscanf(text, "ok %u", &ret->guest) == 1 || strcmp(text, "ok - -") == 0) {
		ret->result = OK;
	} else if (strncmp(text, "refused ", 8) == 0) {
		ret->result = REFUSED;
		ret->class = class_of(text + 8);
	} else if (strncmp(text, "error ", 6) == 0) {
		ret->result = (uint8_t)error_result(text + 6);
		ret->class = class_of(text + 6);
	} else if (strcmp(text, "lost") == 0) {
		ret->result = MAYBE;
		ret->end = NEVER;
	} else if (strcmp(text, "odd") == 0) {
		ret->result = MAYBE;
		ret->class = CLASS_OTHER;
	} else {
		return false;
	}
	return true;
}

static bool read_op(const char *line)
{
	struct answer one = {.asked = -1};
	char principal[8], must[16];
	int used = 0;

	if (sscanf(line, "op %" SCNu64 " %7s %c %u %" SCNd64 " %" SCNd64 " %15s %n", &one.number,
		principal, &one.kind, &one.sandbox, &one.begin, &one.end, must, &used) != 7 ||
	    !used || !read_outcome(line + used, &one))
		return false;
	one.principal = *principal;
	one.must = strcmp(must, "-") != 0;
	*ADD(history.answers) = one;
	return true;
}

static bool read_sent(const char *line)
{
	struct answer one = {.principal = 's'};
	char must[16];
	int used = 0;

	if (sscanf(line,
		"sent %" SCNu64 " %c %u %u %" SCNd64 " %d %u %u %" SCNd64 " %" SCNd64 " %" SCNd64
		" %" SCNd64 " %" SCNd64 " %" SCNd64 " %15s %n",
		&one.number, &one.kind, &one.sandbox, &one.copy, &one.execution, &one.attempt,
		&one.worker, &one.key, &one.iat, &one.exp, &one.asked, &one.minted, &one.begin,
		&one.end, must, &used) != 15 ||
	    !used || !read_outcome(line + used, &one))
		return false;
	one.must = strcmp(must, "-") != 0;
	*ADD(history.answers) = one;
	return true;
}

static bool read_stream(const char *line)
{
	struct stream one;

	if (sscanf(line,
		"stream %c %" SCNd64 " %" SCNd64 " %u %" SCNd64 " %d %u %15s %" SCNu64 " %" SCNu64
		" %d %" SCNd64,
		&one.kind, &one.begin, &one.end, &one.sandbox, &one.execution, &one.attempt,
		&one.worker, one.how, &one.sent, &one.echoed, &one.wrong, &one.last) != 12)
		return false;
	*ADD(history.streams) = one;
	return true;
}

static bool read_trouble(const char *line)
{
	complain(TROUBLE, "%s", line);
	return true;
}

static bool read_nothing(const char *line)
{
	(void)line;
	return true;
}

static bool read_load(const char *line)
{
	return sscanf(line, "load %" SCNd64 " %" SCNd64, &history.load_begin, &history.load_end) ==
	       2;
}

static bool read_end(const char *line)
{
	int64_t at;

	history.ended = sscanf(line, "end %" SCNd64 " %" SCNu64, &at, &history.issued) == 2;
	return history.ended;
}

static const struct {
	const char *tag;
	bool (*read)(const char *line);
} LINES[] = {
    {"op ", read_op},
    {"sent ", read_sent},
    {"soak ", read_head},
    {"guest ", read_guest},
    {"install ", read_install},
    {"retire ", read_retire},
    {"fence ", read_fence},
    {"publish ", read_publish},
    {"withdraw ", read_nothing},
    {"revoke ", read_revoke},
    {"cache ", read_cache},
    {"late ", read_late},
    {"window ", read_window},
    {"stream ", read_stream},
    {"died ", read_trouble},
    {"trouble ", read_trouble},
    {"killed ", read_nothing},
    {"load ", read_load},
    {"end ", read_end},
};

static bool read_line(const char *line)
{
	for (size_t i = 0; i < sizeof(LINES) / sizeof(*LINES); i++)
		if (strncmp(line, LINES[i].tag, strlen(LINES[i].tag)) == 0)
			return LINES[i].read(line);
	return false;
}

#define SORT(list, by)                                                                             \
	static int compare_##list(const void *a, const void *b)                                    \
	{                                                                                          \
		const __typeof__(*history.list.rows) *one = a, *two = b;                           \
		if (one->sandbox != two->sandbox)                                                  \
			return one->sandbox < two->sandbox ? -1 : 1;                               \
		return one->by < two->by ? -1 : one->by > two->by;                                 \
	}                                                                                          \
	static void sort_##list(void)                                                              \
	{                                                                                          \
		size_t at = 0;                                                                     \
		if (history.list.count)                                                            \
			qsort(history.list.rows, history.list.count, sizeof(*history.list.rows),   \
			    compare_##list);                                                       \
		history.list##_of = calloc(history.sandboxes + 1, sizeof(size_t));                 \
		if (!history.list##_of)                                                            \
			die("history", "out of memory");                                           \
		for (unsigned sandbox = 0; sandbox <= history.sandboxes; sandbox++) {              \
			while (at < history.list.count && history.list.rows[at].sandbox < sandbox) \
				at++;                                                              \
			history.list##_of[sandbox] = at;                                           \
		}                                                                                  \
	}

SORT(incarnations, from)
SORT(fences, begin)
SORT(publications, begin)

static void sort_all(void)
{
	sort_incarnations();
	sort_fences();
	sort_publications();
	for (size_t i = 0; i < history.answers.count; i++)
		if (history.answers.rows[i].sandbox >= history.sandboxes)
			die("history", "an answer of no sandbox");
	for (size_t i = 0; i < history.streams.count; i++)
		if (history.streams.rows[i].sandbox >= history.sandboxes)
			die("history", "a stream of no sandbox");
}

void history_read(const char *directory)
{
	char path[4096], *line = NULL;
	size_t room = 0, number = 0;
	ssize_t size;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/history", directory);
	file = fopen(path, "re");
	if (!file)
		die(path, "cannot be read");
	while ((size = getline(&line, &room, file)) > 0) {
		number++;
		line[strcspn(line, "\n")] = '\0';
		if ((number == 1 && strncmp(line, "soak ", 5) != 0) || !read_line(line)) {
			(void)fprintf(stderr, "soak-judge: line %zu: %s\n", number, line);
			die(path, "a line is not understood");
		}
	}
	free(line);
	(void)fclose(file);
	if (!history.ended)
		die(path, "it has no end");
	sort_all();
}
