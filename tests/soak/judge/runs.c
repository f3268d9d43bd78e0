/* What ran, by the guests' own logs: where, how often, and whether it was to. */
#include "judge.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_SHIFT 24 /* a log begins at its guest's number so shifted */
#define ENTRY     16

/* What was answered to one operation, all of its sendings together, and where it ran. */
struct run {
	unsigned count, guest;
	uint32_t at;
	unsigned good, answers;
	bool maybe, must;
};

static struct {
	struct run *runs;
	uint64_t count;
} self;
uint64_t ran;

static void take_entry(unsigned guest, uint32_t at, const char *entry)
{
	char text[ENTRY + 1] = {0};
	uint64_t number;
	struct run *run;

	memcpy(text, entry, ENTRY);
	if (text[ENTRY - 1] != '\n' || sscanf(text, "%15" SCNu64, &number) != 1 ||
	    number >= self.count)
		die("log", "an entry that is none");
	run = &self.runs[number];
	ran++;
	if (run->count++ > 0)
		complain(TWICE, "op %" PRIu64 " ran at guest %u and at guest %u", number,
		    run->guest, guest);
	run->guest = guest;
	run->at = at;
}

static void read_log(const char *directory, unsigned guest)
{
	char path[4096], bytes[ENTRY * 1024];
	off_t begin = (off_t)guest << LOG_SHIFT, at = begin;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/g/%u/root/log", directory, guest);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path, "cannot be read");
	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		for (ssize_t i = 0; i + ENTRY <= n; i += ENTRY)
			take_entry(guest, (uint32_t)((at - begin + i) / ENTRY), bytes + i);
		if (n % ENTRY)
			die(path, "its last entry is not whole");
		at += n;
	}
	(void)close(fd);
}

static void gather(const struct answer *answer)
{
	struct run *run = &self.runs[answer->number];

	run->answers++;
	run->good += answer->result == OK;
	run->maybe |= answer->result == MAYBE;
	run->must |= answer->must;
}

/* Does this answer say that it ran where it ran? A command may have written behind a write before
 * that one's place was taken. */
static void judge_place(const struct answer *answer, const struct run *run)
{
	if (answer->result != OK || answer->kind == 'P' || answer->kind == 'R')
		return;
	if (run->count == 0)
		complain(
		    MISSING, "op %" PRIu64 " was answered well and is in no log", answer->number);
	else if (run->count == 1 &&
		 (run->guest != answer->guest || (answer->at_known && run->at > answer->at)))
		complain(WRONG_EXECUTION, "op %" PRIu64 " ran at guest %u, and guest %u answered",
		    answer->number, run->guest, answer->guest);
}

/* Was there a sending that this guest may have been reached by? */
static void judge_guest(const struct answer *answers, size_t count, const struct run *run)
{
	for (size_t i = 0; i < count; i++)
		if (guest_allowed(run->guest, &answers[i]))
			return;
	complain(WRONG_EXECUTION, "op %" PRIu64 " of sandbox %u ran at guest %u", answers->number,
	    answers->sandbox, run->guest);
}

static void judge_run(const struct answer *answers, size_t count)
{
	const struct run *run = &self.runs[answers->number];

	for (size_t i = 0; i < count; i++)
		judge_place(&answers[i], run);
	if (run->good > 1 && (answers->kind == 'X' || answers->kind == 'W'))
		complain(
		    TWICE, "op %" PRIu64 " was answered well %u times", answers->number, run->good);
	if (run->count == 0)
		return;
	if (!run->good && !run->maybe)
		complain(AFTER_REFUSAL, "op %" PRIu64 " of sandbox %u ran at guest %u",
		    answers->number, answers->sandbox, run->guest);
	if (run->must)
		complain(NOT_REFUSED, "op %" PRIu64 " of sandbox %u ran at guest %u",
		    answers->number, answers->sandbox, run->guest);
	judge_guest(answers, count, run);
}

static int by_number(const void *a, const void *b)
{
	const struct answer *one = *(const struct answer *const *)a,
			    *two = *(const struct answer *const *)b;

	return one->number < two->number ? -1 : one->number > two->number;
}

/* All answers to one operation side by side, without disturbing their order. */
static void judge_all(void)
{
	size_t count = history.answers.count;
	const struct answer **order = calloc(count + 1, sizeof(*order));
	struct answer group[16];

	if (!order)
		die("answers", "out of memory");
	for (size_t i = 0; i < count; i++)
		order[i] = &history.answers.rows[i];
	qsort(order, count, sizeof(*order), by_number);
	for (size_t i = 0, n; i < count; i += n) {
		for (n = 0; n < 16 && i + n < count && order[i + n]->number == order[i]->number;
		     n++)
			group[n] = *order[i + n];
		judge_run(group, n);
	}
	free(order);
}

void runs_judge(const char *directory)
{
	self.count = history.issued;
	self.runs = calloc(self.count + 1, sizeof(*self.runs));
	if (!self.runs)
		die("runs", "out of memory");
	for (size_t i = 0; i < history.answers.count; i++) {
		if (history.answers.rows[i].number >= self.count)
			die("history", "an operation that nobody asked");
		gather(&history.answers.rows[i]);
	}
	for (unsigned guest = 1; guest < history.guests.count; guest++)
		if (history.guests.rows[guest].known)
			read_log(directory, guest);
	judge_all();
	for (uint64_t number = 0; number < self.count; number++)
		if (self.runs[number].answers == 0)
			complain(TROUBLE, "op %" PRIu64 " was never answered", number);
}
