/*
 * A record that somebody took away, or broke, by hand: the page does not tell. Once a second it is
 * seen whether the directory changed, and if so the records of what is open are read again, a few
 * at a time.
 */
#include <errno.h>
#include <sys/stat.h>
#include "base/io.h"
#include "lease/inner.h"

#define LOOK_MS      1000
#define READS_A_LOOK 4

static bool has_changed(struct sp_lease_set *set)
{
	struct stat info;
	bool changed;

	if (stat(sp_store_path(set->options.store), &info) < 0)
		return true;
	changed = info.st_mtim.tv_sec != set->modified.tv_sec ||
		  info.st_mtim.tv_nsec != set->modified.tv_nsec;
	set->modified = info.st_mtim;
	return changed;
}

static bool is_gone(struct sp_lease_set *set, const char *sandbox)
{
	struct sp_record record;
	int bad = sp_store_read(set->options.store, sandbox, &record, NULL);

	if (!bad)
		sp_record_done(&record);
	/* Out of descriptors or memory says nothing about the record. */
	return bad == SP_E_ABSENT || bad == SP_E_BAD_RECORD || bad == -EACCES || bad == -EIO ||
	       bad == -ENOENT || bad == -ELOOP;
}

/* All leases of one sandbox, of which `first` is the first. */
static void read_one(struct sp_lease_set *set, const struct sp_lease *first)
{
	uint32_t index = first->ref.index;
	bool gone = is_gone(set, first->terms.identity.sandbox);
	struct sp_lease *lease, *next;

	for (lease = TAILQ_FIRST(&set->open); lease; lease = next) {
		next = TAILQ_NEXT(lease, entry);
		if (lease->ref.index != index)
			continue;
		lease->unread = false;
		if (gone)
			sp_lease_doom(lease, SP_LEASE_WAS_CUT, SP_REASON_ABSENT,
			    "the record was taken away, or cannot be read");
	}
}

void sp_lease_files_check(struct sp_lease_set *set)
{
	int64_t now = sp_monotonic_ms();
	struct sp_lease *lease;

	if (now - set->looked_ms >= LOOK_MS) {
		set->looked_ms = now;
		if (has_changed(set)) {
			set->unread = true;
			TAILQ_FOREACH(lease, &set->open, entry)
			lease->unread = true;
		}
	}
	for (int reads = 0; set->unread && reads < READS_A_LOOK; reads++) {
		TAILQ_FOREACH(lease, &set->open, entry)
		if (lease->unread)
			break;
		if (lease)
			read_one(set, lease);
		else
			set->unread = false;
	}
}
