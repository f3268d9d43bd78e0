/*
 * Descriptor scans with a memory. A process gets the lowest number that is free: one that it has
 * closed, or one near the last it got. So most looks are a few readlinks whatever else it has open.
 */
#include "attest/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/limits.h"
#include "base/text.h"
#include "base/util.h"

#define SETS   64
#define WAYS   8  /* processes remembered in a set */
#define NEARBY 8  /* numbers looked at on either side of a remembered one */
#define FREED  16 /* numbers remembered as closed */
#define FOUND  1

struct memory {
	uint64_t pidfs;
	uint64_t used; /* when */
	pid_t pid;
	int last[SP_DESCRIPTOR_KINDS]; /* found; -1: none */
	int highest;                   /* of the accepted ones */
	unsigned freed_count;
	int freed[FREED]; /* lowest first */
};

static struct memory memories[SETS][WAYS];

uint32_t sp_descriptor_socket(const char *link)
{
	static const char before[] = "socket:[";
	char digits[16];
	size_t size;
	int64_t inode;

	if (strncmp(link, before, sizeof(before) - 1) != 0)
		return 0;
	link += sizeof(before) - 1;
	size = strcspn(link, "]");
	if (size == 0 || size >= sizeof(digits) || strcmp(link + size, "]") != 0)
		return 0;
	memcpy(digits, link, size);
	digits[size] = '\0';
	return sp_number_parse(digits, 1, UINT32_MAX, &inode) ? (uint32_t)inode : 0;
}

static int read_socket(int at, const char *name, uint32_t *ret)
{
	char link[64];
	ssize_t size = readlinkat(at, name, link, sizeof(link) - 1);

	if (size < 0)
		return -errno;
	link[size] = '\0';
	*ret = sp_descriptor_socket(link);
	return 0;
}

/* 0 in *ret for what is no socket. */
static int read_number(const struct sp_process *process, int number, uint32_t *ret)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "fd/%d", number);
	return read_socket(process->directory, name, ret);
}

static bool is_at(const struct sp_process *process, int number, uint32_t inode)
{
	uint32_t found = 0;

	return number >= 0 && read_number(process, number, &found) == 0 && found == inode;
}

struct search {
	uint32_t inode;
	int number;
};

static int compare(void *context, int number, uint32_t inode)
{
	struct search *search = context;

	if (inode != search->inode)
		return 0;
	search->number = number;
	return FOUND;
}

static int consider(int directory, const char *name, sp_descriptor_fn *each, void *context)
{
	uint32_t inode = 0;
	int64_t number;

	/* One closed meanwhile is none. */
	if (!sp_number_parse(name, 0, INT32_MAX, &number) ||
	    read_socket(directory, name, &inode) < 0 || inode == 0)
		return 0;
	return each(context, (int)number, inode);
}

/* Without a DIR, which would allocate 32 KiB for a directory of a few names. */
static int walk(int directory, sp_descriptor_fn *each, void *context)
{
	_Alignas(struct dirent64) char bytes[4096];
	unsigned seen = 0;
	ssize_t size;

	while ((size = getdents64(directory, bytes, sizeof(bytes))) > 0) {
		if (seen >= SP_DESCRIPTORS_MAX)
			return -E2BIG;
		for (ssize_t at = 0; at < size; seen++) {
			const struct dirent64 *entry = (const struct dirent64 *)(bytes + at);
			int done = consider(directory, entry->d_name, each, context);
			if (done)
				return done;
			at += entry->d_reclen;
		}
	}
	return size < 0 ? -errno : 0;
}

int sp_descriptor_walk(const struct sp_process *process, sp_descriptor_fn *each, void *context)
{
	sp_auto_fd int directory =
	    openat(process->directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return walk(directory, each, context);
}

static struct memory *memory_of(const struct sp_process *process)
{
	static uint64_t uses;
	struct memory *set = memories[(unsigned)process->pid % SETS], *oldest = set;

	for (struct memory *at = set; at < set + WAYS; at++) {
		if (at->used && at->pid == process->pid && at->pidfs == process->pidfs) {
			at->used = ++uses;
			return at;
		}
		oldest = at->used < oldest->used ? at : oldest;
	}
	*oldest = (struct memory){.pidfs = process->pidfs,
	    .used = ++uses,
	    .pid = process->pid,
	    .last = {-1, -1},
	    .highest = -1};
	return oldest;
}

static void forget_freed(struct memory *memory, unsigned at)
{
	memory->freed_count--;
	memmove(memory->freed + at, memory->freed + at + 1,
	    (memory->freed_count - at) * sizeof(memory->freed[0]));
}

void sp_descriptor_freed(const struct sp_process *process, int number)
{
	struct memory *memory = memory_of(process);
	unsigned at = memory->freed_count;

	/* The lowest are taken first, and are the ones worth remembering. */
	if (at == FREED && memory->freed[--at] < number)
		return;
	for (; at > 0 && memory->freed[at - 1] > number; at--)
		memory->freed[at] = memory->freed[at - 1];
	memory->freed[at] = number;
	if (memory->freed_count < FREED)
		memory->freed_count++;
}

/* One that something else has taken is forgotten; one that is not open may still be taken. */
static bool look_freed(
    struct memory *memory, const struct sp_process *process, uint32_t inode, int *ret_number)
{
	for (unsigned i = 0; i < memory->freed_count;) {
		int number = memory->freed[i];
		uint32_t seen = 0;
		int bad = read_number(process, number, &seen);
		if (bad) {
			i++;
			continue;
		}
		forget_freed(memory, i);
		if (seen == inode) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

static bool look_near(const struct sp_process *process, int place, uint32_t inode, int *ret_number)
{
	for (int i = 0; place >= 0 && i <= 2 * NEARBY; i++) {
		/* The next ones first, the nearest of them before the others. */
		int number = i <= NEARBY ? place + i : place - (i - NEARBY);
		if (is_at(process, number, inode)) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

static int look_everywhere(const struct sp_process *process, uint32_t inode, int *ret_number)
{
	struct search search = {.inode = inode};
	int done = sp_descriptor_walk(process, compare, &search);

	if (done != FOUND)
		return done < 0 ? done : -ENOENT;
	*ret_number = search.number;
	return 0;
}

static int look_around(struct memory *memory, const struct sp_process *process, uint32_t inode,
    enum sp_descriptor_kind kind, int *ret_number)
{
	int *last = &memory->last[kind];
	bool found = kind == SP_DESCRIPTOR_ACCEPTED && look_freed(memory, process, inode, last);
	int bad;

	if (!found)
		found = look_near(process, *last, inode, last);
	if (!found && kind == SP_DESCRIPTOR_ACCEPTED && memory->highest != *last)
		found = look_near(process, memory->highest, inode, last);
	bad = found ? 0 : look_everywhere(process, inode, last);
	if (bad)
		return bad;
	if (kind == SP_DESCRIPTOR_ACCEPTED && *last > memory->highest)
		memory->highest = *last;
	*ret_number = *last;
	return 0;
}

int sp_descriptor_find(const struct sp_process *process, uint32_t inode, int guess,
    enum sp_descriptor_kind kind, int *ret_number)
{
	if (inode == 0)
		return -ENOENT;
	if (!is_at(process, guess, inode))
		return look_around(memory_of(process), process, inode, kind, ret_number);
	*ret_number = guess;
	return 0;
}
