/*
 * The file: a header, then slots of one size, written in order over zeros that are already on the
 * disk, so that a use is one write and one fdatasync. A slot counts when its check fits its bytes,
 * its place and this file; whatever else is there (zeros, a torn write) does not.
 */
#include "token/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "token/jti_set.h"

#define SLOT      64
#define MAGIC     "SPUSED1\n" /* with the format's number, one digit */
#define FORMAT    1
#define SLOTS_MIN 4096u
#define CHECK     16

/* Numbers in the file are little-endian. Every member is bytes: no padding. */
struct header {
	unsigned char magic[8], nonce[16], floor[8], zero[16], check[CHECK];
};
struct slot {
	unsigned char jti[SP_JTI_BYTES], expires_at[8], accepted_at[8], zero[16], check[CHECK];
};
_Static_assert(sizeof(struct header) == SLOT && sizeof(struct slot) == SLOT, "one size for all");

struct sp_journal {
	char path[PATH_MAX];
	int fd, lock;
	size_t slots, next; /* how many there are, and the first free one */
	bool dirty, failed;
	unsigned char nonce[16];
	int64_t floor;
	int64_t full_until; /* no entry expires before: nothing to be gained by looking */
	struct sp_jti_set used;
};

static void put_number(unsigned char at[8], int64_t number)
{
	uint64_t rest = (uint64_t)number;

	for (int i = 0; i < 8; i++, rest >>= 8)
		at[i] = (unsigned char)rest;
}

static int64_t get_number(const unsigned char at[8])
{
	uint64_t number = 0;

	for (int i = 7; i >= 0; i--)
		number = number << 8 | at[i];
	return (int64_t)number;
}

/* Over what comes before the check, and the slot's place, so that a slot counts only where it was
 * written. The header is place 0. */
static void make_check(
    const void *slot, size_t place, const unsigned char nonce[16], unsigned char ret[CHECK])
{
	unsigned char number[8];
	crypto_generichash_state state;

	put_number(number, (int64_t)place);
	(void)crypto_generichash_init(&state, nonce, 16, CHECK);
	(void)crypto_generichash_update(&state, number, sizeof(number));
	(void)crypto_generichash_update(&state, slot, SLOT - CHECK);
	(void)crypto_generichash_final(&state, ret, CHECK);
}

static bool check_fits(const void *slot, size_t place, const unsigned char nonce[16])
{
	unsigned char check[CHECK];

	make_check(slot, place, nonce, check);
	return memcmp(check, (const unsigned char *)slot + SLOT - CHECK, CHECK) == 0;
}

static int write_at(int fd, const void *data, size_t size, size_t place)
{
	const char *at = data;
	off_t offset = (off_t)(place * SLOT);

	while (size > 0) {
		ssize_t n = pwrite(fd, at, size, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		offset += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Real zeros, not a hole or an unwritten extent: a sync of a slot then has no metadata to write. */
static int write_zeros(int fd, size_t from, size_t to)
{
	static const char zeros[SLOT * 1024];
	int bad = 0;

	while (from < to && !bad) {
		size_t count = to - from < 1024 ? to - from : 1024;
		bad = write_at(fd, zeros, count * SLOT, from);
		from += count;
	}
	return bad;
}

static void make_slot(const struct sp_journal *journal, const struct sp_jti *jti,
    int64_t accepted_at, size_t place, struct slot *ret)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->jti, jti->bytes, sizeof(ret->jti));
	put_number(ret->expires_at, jti->expires_at);
	put_number(ret->accepted_at, accepted_at);
	make_check(ret, place, journal->nonce, ret->check);
}

/* Everything that is in the set, as a whole file under a fresh nonce. */
static int write_file(struct sp_journal *fresh, size_t slots)
{
	struct header header = {.magic = MAGIC};
	int bad;

	randombytes_buf(fresh->nonce, sizeof(fresh->nonce));
	memcpy(header.nonce, fresh->nonce, sizeof(header.nonce));
	put_number(header.floor, fresh->floor);
	make_check(&header, 0, fresh->nonce, header.check);
	bad = write_at(fresh->fd, &header, sizeof(header), 0);
	fresh->next = 1;
	for (size_t i = 0; i < fresh->used.room && !bad; i++) {
		struct slot slot;
		if (fresh->used.places[i].expires_at == 0)
			continue;
		make_slot(fresh, &fresh->used.places[i], fresh->floor, fresh->next, &slot);
		bad = write_at(fresh->fd, &slot, sizeof(slot), fresh->next++);
	}
	if (!bad)
		bad = write_zeros(fresh->fd, fresh->next, slots);
	if (!bad && fsync(fresh->fd) < 0)
		bad = -errno;
	fresh->slots = slots;
	return bad;
}

/* A new file in place of the old one, if any. Until it is renamed the old one stays in use. */
static int replace_file(struct sp_journal *journal, struct sp_err *err)
{
	struct sp_journal fresh = *journal;
	char aside[PATH_MAX + 8];
	size_t slots = SLOTS_MIN;
	int bad;

	while (slots < (journal->used.count + 1) * 2 && slots < SP_JOURNAL_ENTRIES_MAX)
		slots *= 2;
	(void)snprintf(aside, sizeof(aside), "%s.new", journal->path);
	fresh.fd = open(aside, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fresh.fd < 0)
		return sp_fail_errno(err, "%s", aside);
	bad = write_file(&fresh, slots);
	if (!bad && rename(aside, journal->path) < 0)
		bad = -errno;
	if (bad) {
		(void)unlink(aside);
		sp_fd_close(&fresh.fd);
		return sp_fail(err, bad, "%s: %s", journal->path, sp_code_text(bad));
	}
	sp_fd_close(&journal->fd);
	*journal = fresh;
	bad = sp_file_sync_directory(AT_FDCWD, journal->path, err);
	/* Which of the two files a crash would leave is not known: no use may count on this one. */
	if (bad)
		journal->failed = true;
	return bad;
}

static int take_slot(struct sp_journal *journal, const struct slot *slot, size_t place)
{
	int64_t expires_at = get_number(slot->expires_at);
	int64_t accepted_at = get_number(slot->accepted_at);

	if (expires_at <= 0 || !check_fits(slot, place, journal->nonce))
		return 0;
	if (accepted_at > journal->floor)
		journal->floor = accepted_at;
	journal->next = place + 1;
	return sp_jti_set_add(&journal->used, slot->jti, expires_at);
}

static int damaged(const struct sp_journal *journal, struct sp_err *err)
{
	return sp_fail(err, SP_E_UNAVAILABLE,
	    "%s: not a journal of used capabilities, or its header is damaged; it may be taken "
	    "away "
	    "once every capability from before the damage has expired (%d s)",
	    journal->path, SP_CAP_LIFE_MAX + SP_SKEW_MAX);
}

/* Of a later format, or 0. */
static int newer_format(const unsigned char magic[8])
{
	int format = magic[6] - '0';

	return memcmp(magic, MAGIC, 6) == 0 && magic[7] == '\n' && format > FORMAT && format <= 9
		   ? format
		   : 0;
}

static int take_header(struct sp_journal *journal, const struct header *header, struct sp_err *err)
{
	int newer = newer_format(header->magic);

	if (newer)
		return sp_fail(err, SP_E_UNAVAILABLE, SP_NEWER_FORMAT, journal->path,
		    (long long)newer, FORMAT);
	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) != 0 ||
	    !check_fits(header, 0, header->nonce))
		return damaged(journal, err);
	memcpy(journal->nonce, header->nonce, sizeof(journal->nonce));
	journal->floor = get_number(header->floor);
	journal->next = 1;
	return 0;
}

static ssize_t read_at(int fd, void *buffer, size_t size, off_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)buffer + done, size - done, offset + (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int read_file(struct sp_journal *journal, struct sp_err *err)
{
	struct slot chunk[256];
	struct stat info;
	int bad = 0;

	if (fstat(journal->fd, &info) < 0)
		return sp_fail_errno(err, "%s", journal->path);
	if (info.st_size < SLOT || info.st_size > (off_t)SP_JOURNAL_ENTRIES_MAX * SLOT)
		return damaged(journal, err);
	journal->slots = (size_t)info.st_size / SLOT;
	for (size_t place = 0; place < journal->slots && !bad; place += SP_COUNT(chunk)) {
		ssize_t n = read_at(journal->fd, chunk, sizeof(chunk), (off_t)(place * SLOT));
		if (n < 0)
			return sp_fail(err, (int)n, "%s: %s", journal->path, sp_code_text((int)n));
		for (size_t i = 0; i < (size_t)n / SLOT && !bad; i++)
			bad = place + i == 0
				  ? take_header(journal, (const struct header *)&chunk[0], err)
				  : take_slot(journal, &chunk[i], place + i);
	}
	return bad == -ENOMEM ? sp_fail(err, bad, "%s: out of memory", journal->path) : bad;
}

static int lock(struct sp_journal *journal, struct sp_err *err)
{
	char path[PATH_MAX + 8];

	(void)snprintf(path, sizeof(path), "%s.lock", journal->path);
	journal->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (journal->lock < 0)
		return sp_fail_errno(err, "%s", path);
	if (flock(journal->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK
		   ? sp_fail(err, SP_E_CONFLICT, "%s: another process holds this journal", path)
		   : sp_fail_errno(err, "%s", path);
}

static int open_file(struct sp_journal *journal, struct sp_err *err)
{
	struct stat info;
	int bad;

	journal->fd = open(journal->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (journal->fd < 0)
		return errno == ENOENT ? replace_file(journal, err)
				       : sp_fail_errno(err, "%s", journal->path);
	if (fstat(journal->fd, &info) < 0 || !S_ISREG(info.st_mode))
		return sp_fail(err, -EINVAL, "%s: not a regular file", journal->path);
	/* Who renamed it may have been killed before he could sync: without its name, what is used
	 * from now on would be lost with the power. */
	bad = sp_file_sync_directory(AT_FDCWD, journal->path, err);
	return bad ? bad : read_file(journal, err);
}

int sp_journal_open(const char *directory, struct sp_journal **ret, struct sp_err *err)
{
	struct sp_journal *journal = sodium_init() < 0 ? NULL : calloc(1, sizeof(*journal));
	int size, bad;

	if (!journal)
		return sp_fail(err, -ENOMEM, "journal: out of memory");
	journal->fd = journal->lock = -1;
	size = snprintf(journal->path, sizeof(journal->path), "%s/journal", directory);
	bad = size < 0 || (size_t)size >= sizeof(journal->path) ? -ENAMETOOLONG
								: sp_jti_set_init(&journal->used);
	if (bad)
		(void)sp_fail(err, bad, "%s: journal: %s", directory, sp_code_text(bad));
	if (!bad)
		bad = sp_directory_make_lasting(directory, 0700, err);
	if (!bad)
		bad = lock(journal, err);
	if (!bad)
		bad = open_file(journal, err);
	if (bad)
		sp_journal_close(journal);
	else
		*ret = journal;
	return bad;
}

void sp_journal_close(struct sp_journal *journal)
{
	if (!journal)
		return;
	sp_jti_set_done(&journal->used);
	sp_fd_close(&journal->fd);
	sp_fd_close(&journal->lock);
	free(journal);
}

static bool read_jti(const char *text, unsigned char ret[SP_JTI_BYTES])
{
	size_t size;

	return sp_base64_decode(text, strlen(text), true, ret, SP_JTI_BYTES, &size) &&
	       size == SP_JTI_BYTES;
}

bool sp_journal_used(const struct sp_journal *journal, const char *jti)
{
	unsigned char bytes[SP_JTI_BYTES];

	/* What is no jti cannot be told from one that was used: fail closed. */
	return !read_jti(jti, bytes) || sp_jti_set_has(&journal->used, bytes);
}

int64_t sp_journal_floor(const struct sp_journal *journal)
{
	return journal->floor;
}

static int64_t soonest_expiry(const struct sp_journal *journal)
{
	int64_t soonest = INT64_MAX;

	for (size_t i = 0; i < journal->used.room; i++) {
		int64_t expires_at = journal->used.places[i].expires_at;
		if (expires_at != 0 && expires_at < soonest)
			soonest = expires_at;
	}
	return soonest;
}

static int grow(struct sp_journal *journal, struct sp_err *err)
{
	size_t slots = journal->slots * 2;
	int bad;

	if (slots < SLOTS_MIN)
		slots = SLOTS_MIN;
	if (slots > SP_JOURNAL_ENTRIES_MAX)
		slots = SP_JOURNAL_ENTRIES_MAX;
	bad = write_zeros(journal->fd, journal->slots, slots);
	if (!bad && fsync(journal->fd) < 0)
		bad = -errno;
	if (bad) {
		/* Give back what fitted, so that a full disk is not kept full. */
		if (ftruncate(journal->fd, (off_t)(journal->slots * SLOT)) < 0)
			journal->failed = true;
		return sp_fail(err, bad, "%s: %s", journal->path, sp_code_text(bad));
	}
	journal->slots = slots;
	return 0;
}

/* A free slot: by throwing away what expired when that gives back a quarter, else by growing. `now`
 * is not below the floor, and becomes it with the entry that needs the room: nothing that goes here
 * can be believed again. */
static int make_room(struct sp_journal *journal, int64_t now, struct sp_err *err)
{
	int64_t limit = now - SP_SKEW_MAX;

	if (journal->full_until <= limit &&
	    sp_jti_set_live(&journal->used, limit) * 4 <= journal->slots * 3) {
		int bad = sp_jti_set_keep(&journal->used, limit);
		if (bad)
			return sp_fail(err, bad, "%s: out of memory", journal->path);
		journal->floor = now;
		return replace_file(journal, err);
	}
	journal->full_until = soonest_expiry(journal);
	if (journal->slots < SP_JOURNAL_ENTRIES_MAX)
		return grow(journal, err);
	return sp_fail(err, SP_E_UNAVAILABLE, "%s: full of capabilities that have not expired yet",
	    journal->path);
}

static int append(struct sp_journal *journal, const unsigned char bytes[SP_JTI_BYTES],
    int64_t expires_at, int64_t now, struct sp_err *err)
{
	struct sp_jti jti = {.expires_at = expires_at};
	struct slot slot;
	int bad = 0;

	memcpy(jti.bytes, bytes, sizeof(jti.bytes));
	if (journal->next >= journal->slots)
		bad = make_room(journal, now, err);
	if (bad)
		return bad;
	/* Into memory first: should the write fail, it stays used rather than forgotten. */
	bad = sp_jti_set_add(&journal->used, bytes, expires_at);
	if (bad)
		return sp_fail(err, bad, "%s: out of memory", journal->path);
	make_slot(journal, &jti, now, journal->next, &slot);
	bad = write_at(journal->fd, &slot, sizeof(slot), journal->next);
	if (bad) {
		journal->failed = true;
		return sp_fail(err, bad, "%s: %s", journal->path, sp_code_text(bad));
	}
	journal->next++;
	journal->floor = now;
	journal->dirty = true;
	return 0;
}

int sp_journal_put(struct sp_journal *journal, const char *jti, int64_t expires_at, int64_t now,
    struct sp_err *err)
{
	unsigned char bytes[SP_JTI_BYTES];

	if (!read_jti(jti, bytes) || expires_at <= 0)
		return sp_fail(err, SP_E_BAD_RECORD, "not a jti, or without an expiry");
	if (journal->failed)
		return sp_fail(err, SP_E_UNAVAILABLE, "%s: a write failed before; open it again",
		    journal->path);
	if (sp_jti_set_has(&journal->used, bytes))
		return sp_fail(err, SP_E_CONFLICT, "jti %s was used before", jti);
	return append(journal, bytes, expires_at, now > journal->floor ? now : journal->floor, err);
}

int sp_journal_commit(struct sp_journal *journal, struct sp_err *err)
{
	if (journal->failed)
		return sp_fail(err, SP_E_UNAVAILABLE, "%s: a write failed before; open it again",
		    journal->path);
	if (journal->dirty && fdatasync(journal->fd) < 0) {
		journal->failed = true;
		return sp_fail_errno(err, "%s: fdatasync", journal->path);
	}
	journal->dirty = false;
	return 0;
}

int sp_journal_use(struct sp_journal *journal, const char *jti, int64_t expires_at, int64_t now,
    struct sp_err *err)
{
	int bad = sp_journal_put(journal, jti, expires_at, now, err);

	return bad ? bad : sp_journal_commit(journal, err);
}
