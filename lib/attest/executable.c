/* Tuples and hashes of running executables. */
#include "attest/executable.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/crypto_generichash.h>
#include <string.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/limits.h"
#include "base/util.h"

#define REMEMBERED 32

static struct sp_instant instant_of(const struct timespec *time)
{
	return (struct sp_instant){time->tv_sec, (uint32_t)time->tv_nsec};
}

static struct sp_executable tuple_of(const struct stat *info)
{
	return (struct sp_executable){.dev = info->st_dev,
	    .ino = info->st_ino,
	    .size = (uint64_t)info->st_size,
	    .mtime = instant_of(&info->st_mtim),
	    .ctime = instant_of(&info->st_ctim)};
}

static bool same_instant(struct sp_instant a, struct sp_instant b)
{
	return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

bool sp_executable_equal(const struct sp_executable *a, const struct sp_executable *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       same_instant(a->mtime, b->mtime) && same_instant(a->ctime, b->ctime);
}

int sp_executable_read(const struct sp_process *process, struct sp_executable *ret)
{
	struct stat info;

	if (fstatat(process->directory, "exe", &info, 0) < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret = tuple_of(&info);
	return 0;
}

int sp_executable_path(const struct sp_process *process, char *text, size_t room)
{
	ssize_t size = readlinkat(process->directory, "exe", text, room - 1);

	if (size < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	text[size] = '\0';
	return 0;
}

static struct {
	bool used;
	struct sp_executable tuple;
	uint8_t hash[SP_EXECUTABLE_HASH];
} remembered[REMEMBERED];
static unsigned next_place;

static const uint8_t *recall(const struct sp_executable *tuple)
{
	for (unsigned i = 0; i < REMEMBERED; i++)
		if (remembered[i].used && sp_executable_equal(&remembered[i].tuple, tuple))
			return remembered[i].hash;
	return NULL;
}

static void remember(const struct sp_executable *tuple, const uint8_t hash[SP_EXECUTABLE_HASH])
{
	unsigned at = next_place++ % REMEMBERED;

	remembered[at].used = true;
	remembered[at].tuple = *tuple;
	memcpy(remembered[at].hash, hash, SP_EXECUTABLE_HASH);
}

static int hash_file(int fd, uint64_t size, uint8_t hash[SP_EXECUTABLE_HASH])
{
	crypto_generichash_state state;
	uint8_t block[64 * 1024];
	ssize_t n;

	if (size > SP_EXECUTABLE_MAX)
		return SP_E_TOO_LARGE;
	(void)crypto_generichash_init(&state, NULL, 0, SP_EXECUTABLE_HASH);
	while ((n = sp_read_some(fd, block, sizeof(block))) > 0) {
		if ((uint64_t)n > size)
			return -EAGAIN;
		size -= (uint64_t)n;
		(void)crypto_generichash_update(&state, block, (unsigned long long)n);
	}
	if (n < 0)
		return (int)n;
	(void)crypto_generichash_final(&state, hash, SP_EXECUTABLE_HASH);
	return size == 0 ? 0 : -EAGAIN;
}

int sp_executable_hash(const struct sp_process *process, const struct sp_executable *tuple,
    uint8_t ret[SP_EXECUTABLE_HASH])
{
	const uint8_t *known = recall(tuple);
	uint8_t hash[SP_EXECUTABLE_HASH];
	struct sp_executable before, after;
	struct stat info;
	sp_auto_fd int fd = -1;
	int bad;

	if (known) {
		memcpy(ret, known, SP_EXECUTABLE_HASH);
		return 0;
	}
	fd = openat(process->directory, "exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	before = tuple_of(&info);
	bad = hash_file(fd, before.size, hash);
	if (!bad && fstat(fd, &info) < 0)
		bad = -errno;
	if (bad)
		return bad;
	after = tuple_of(&info);
	if (!sp_executable_equal(tuple, &before) || !sp_executable_equal(tuple, &after))
		return -EAGAIN;
	remember(tuple, hash);
	memcpy(ret, hash, SP_EXECUTABLE_HASH);
	return 0;
}
