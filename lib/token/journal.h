/*
 * The journal of used jtis (02-capability, Verification 8 and 9): single-use across restarts and
 * kill -9. One process holds its lock. Append and fdatasync; a torn tail is ignored.
 */
#ifndef SP_TOKEN_JOURNAL_H
#define SP_TOKEN_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct sp_journal;

/* At most so many entries; a journal full of live ones refuses further uses (SP_E_UNAVAILABLE)
 * until some have expired. Some 50 bytes of memory and 64 on disk each. */
#define SP_JOURNAL_ENTRIES_MAX (1u << 20)

/*
 * Opens or creates `directory`/journal (the directory too, 0700) under `directory`/journal.lock;
 * SP_E_CONFLICT when another process holds it. Entries past `expires_at` + SP_SKEW_MAX go when
 * the file is full, and only then: what they protect from is judged at sp_journal_floor, which
 * never falls below the time at which any of them went. A file that is no journal, or whose header
 * is damaged, is SP_E_UNAVAILABLE: it says when it may be taken away.
 */
int sp_journal_open(const char *directory, struct sp_journal **ret, struct sp_err *err);
void sp_journal_close(struct sp_journal *journal);

/* Step 8: is it in? */
bool sp_journal_used(const struct sp_journal *journal, const char *jti);

/* Step 9: durably in, right before the operation passes. SP_E_CONFLICT: it was in. Any other
 * failure: `unavailable`, do not pass. A failed write or sync is final: every later use fails too,
 * until the journal is opened again, for nobody knows any more what is on the disk. */
int sp_journal_use(struct sp_journal *journal, const char *jti, int64_t expires_at, int64_t now,
    struct sp_err *err);

/* The same in two steps, so that many share one sync: in, but not durably (it is `used` from here
 * on), and the sync, after which all put before may pass. */
int sp_journal_put(struct sp_journal *journal, const char *jti, int64_t expires_at, int64_t now,
    struct sp_err *err);
int sp_journal_commit(struct sp_journal *journal, struct sp_err *err);

/* The latest acceptance time: single-use verification uses max(now, this), so that a clock set back
 * opens no window. */
int64_t sp_journal_floor(const struct sp_journal *journal);

#endif
