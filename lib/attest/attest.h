/*
 * Kernel evidence (04-bridge): enrolling a process and its listener, and proving that the process
 * behind a connection is the recorded one. Checks live in a table (attest/checks.c); each has a
 * name, a reason, and what it expected and saw. Everything here is for one thread.
 */
#ifndef SP_ATTEST_ATTEST_H
#define SP_ATTEST_ATTEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"
#include "record/reason.h"

enum sp_level { SP_LEVEL_NONE, SP_LEVEL_LAUNCH_PIDFD, SP_LEVEL_PIDFD, SP_LEVEL_FULL };

/* What this kernel and our privileges allow, probed once. */
enum sp_level sp_level_probe(void);
const char *sp_level_name(enum sp_level level);            /* "none" for SP_LEVEL_NONE */
bool sp_level_parse(const char *name, enum sp_level *ret); /* false for "none" */

struct sp_sight;

enum sp_role { SP_ROLE_BRIDGE, SP_ROLE_VMM };

/* What is enrolled. Everything is borrowed for the call. */
struct sp_enroll {
	enum sp_role role;
	pid_t pid;
	/* Where it listens; its directory's symlinks are resolved here. NULL: evidence to be shown,
	 * not fit for a record. */
	const char *path;
	/* vmm only */
	int64_t cid;     /* 0: what the VMM's API says */
	const char *api; /* API socket; NULL: none */
};

/* Takes evidence of a live process and its listener: the `bridge` or `vmm` object of a runtime
 * record (attest/evidence.h), a new reference. SP_E_DENIED: what was asked for is not so;
 * SP_E_UNAVAILABLE: the kernel, or a missing right, keeps it from being known. */
int sp_evidence_enroll(const struct sp_enroll *what, json_t **ret, struct sp_err *err);

/* One check of a report. Texts are owned by the report. */
struct sp_check {
	const char *name; /* static */
	bool ok;
	enum sp_reason reason; /* when it is not */
	char *expected, *seen;
	int64_t microseconds;
};

/* Starts as {0}. Checks stand in the order in which they were made; the last one is the one that
 * failed, if any did. */
struct sp_report {
	struct sp_check *checks;
	unsigned count;
	/* The caller's two, by role: where is left what was seen over a connection to each
	 * (attest/sight.h). NULL: nobody asks. */
	struct sp_sight *sights;
	/* Only the row that failed is wanted: what passed is not put into words, which costs more
	 * than most checks do. Stays when it is done. */
	bool failed_only;
};
void sp_report_done(struct sp_report *report);

/* Adds a check made elsewhere, such as the guest's hello ("guest-hello"). Copies the texts, keeps
 * the name. SP_REASON_NONE: it passed. A NULL report is fine; out of memory loses the row. */
void sp_report_add(struct sp_report *report, const char *name, enum sp_reason reason,
    const char *expected, const char *seen, int64_t microseconds);

/* "listener-owner: peer-held: expected ..., seen ...": the failed check in one line for an audit
 * note. Empty when none failed. */
void sp_report_words(const struct sp_report *report, char *text, size_t room);

/* {"decision","reason","level","checks":[{"name","ok","expected","seen"}]}; no `reason` on match. A
 * new reference, NULL when out of memory. */
json_t *sp_report_json(const struct sp_report *report, enum sp_reason reason, enum sp_level level);

/* From now on this process's connections are made from a network namespace that holds nothing else,
 * where it may make one (CAP_SYS_ADMIN): then look-ups cost the same however many Unix sockets
 * there are. Not for a bridge, whose connections the manager looks up in the namespace it is seen
 * in. */
void sp_attest_private(void);

/*
 * For a bridge, before its first socket: the whole process moves into a network namespace that
 * holds nothing else, where it may (CAP_SYS_ADMIN), so that its connections are found at once too.
 * Whatever is in another one than process 1 already stays there: somebody has seen to it. Sockets
 * at paths are reached from there as before.
 */
void sp_attest_apart(void);

/* A proven, or still to be proven, connection with its pins (pidfd, procfs directory, mm pin). */
struct sp_attestation;

/*
 * Steps 1 to 3: the path, the connection made through its descriptor, credentials, the pinned
 * process, its executable. `report` may be NULL. SP_REASON_NONE and *ret, or the first failing
 * reason. An address nobody listens on is SP_REASON_LISTENER_REPLACED; evidence that is NULL or
 * malformed is SP_REASON_EVIDENCE_UNAVAILABLE. SP_REASON_NONE with *ret NULL: the peer's backlog is
 * full, nothing is wrong with it: `overloaded`. (All functions below take NULL and fail on it.)
 */
enum sp_reason sp_attest_open(enum sp_role role, const json_t *evidence, enum sp_level min_level,
    struct sp_report *report, struct sp_attestation **ret);

/* The non-blocking connected descriptor; stays the attestation's. */
int sp_attest_fd(const struct sp_attestation *attestation);
/* Readable once the process has exited: for the event loop. */
int sp_attest_pidfd(const struct sp_attestation *attestation);
/* Inode of our end of the connection (sockfs). */
uint32_t sp_attest_inode(const struct sp_attestation *attestation);
/* The process's descriptor of the other end, once that is proven; -1 before. */
int sp_attest_number(const struct sp_attestation *attestation);
/* Which one it says that is: where to look first. */
void sp_attest_hint(struct sp_attestation *attestation, int number);
/* The recorded CID of a VMM's guest. */
uint32_t sp_attest_cid(const struct sp_attestation *attestation);

/*
 * Steps 5 and 6, once the peer has proved by a byte of its own that it accepted: peer socket and
 * its owner. A peer that has not accepted is SP_REASON_LISTENER_REPLACED; of one that has closed
 * its end nothing can be known any more: SP_REASON_EVIDENCE_UNAVAILABLE, and sp_attest_ended is
 * true, which is `transport` rather than a denial. (So a server that says why it refuses leaves its
 * end open until the other has closed.)
 */
enum sp_reason sp_attest_accepted(struct sp_attestation *attestation, struct sp_report *report);

/*
 * While the connection lives, once it has been accepted: is the peer socket still among the
 * process's descriptors? It cannot become another one, so nothing else is looked up (about 2 us).
 * Of one that has ended, ended is told by sp_attest_ended, and no reason given.
 */
enum sp_reason sp_attest_held(struct sp_attestation *attestation, struct sp_report *report);

/* Has the peer closed its end altogether? */
bool sp_attest_ended(const struct sp_attestation *attestation);

/* Step 8, right before the first byte; cheap enough to be asked again while the connection lives
 * (about 2 us). */
enum sp_reason sp_attest_alive(struct sp_attestation *attestation, struct sp_report *report);

/*
 * Many connections to one process: from here on both look at it through the pins of `other`, which
 * stay open until the last of them is closed; `attestation` closes its own. False: they are of
 * different processes, or it has ended, or there is no memory: nothing has changed.
 */
bool sp_attest_share(struct sp_attestation *attestation, struct sp_attestation *other);

void sp_attest_close(struct sp_attestation *attestation);

/* Every check of steps 1 to 8 that needs no connection. */
enum sp_reason sp_attest_inspect(
    enum sp_role role, const json_t *evidence, enum sp_level min_level, struct sp_report *report);

/*
 * The VMM's own word, from its API socket, attested in the same way: its guest's CID and its VSOCK
 * path are the recorded ones. Waits for the answer, `timeout_ms` at most. Evidence without an API
 * socket passes without a row.
 */
enum sp_reason sp_attest_config(
    const json_t *vmm, enum sp_level min_level, int timeout_ms, struct sp_report *report);

/* What a bridge says of its connection to the VMM: believed only as a place to look. */
struct sp_onward {
	int fd; /* its descriptor */
	uint32_t inode;
	int vmm_fd; /* the VMM's descriptor of the other end */
};

/* What became of that connection meanwhile. */
enum sp_onward_end {
	SP_ONWARD_STANDS,
	SP_ONWARD_ENDED, /* the bridge had it, and it has ended */
	SP_ONWARD_GONE,  /* nobody has such a socket: it has ended, or the bridge made it up */
};

/*
 * The connection behind the bridge ends in the recorded VMM's hands. The reasons
 * are those of the VMM's own checks; SP_REASON_LISTENER_OWNER also when the bridge holds no such
 * socket there. *ret_end (may be NULL): of one that has ended nothing can be known any more, as of
 * sp_attest_accepted, which is `transport` rather than a denial.
 */
enum sp_reason sp_attest_onward(struct sp_attestation *bridge, const struct sp_onward *onward,
    const json_t *vmm, enum sp_level min_level, struct sp_report *report,
    enum sp_onward_end *ret_end);

/*
 * The same with the VMM looked at before its bridge has told where: what can be known by then is,
 * and its pins are held, while the bridge is at work. NULL: there is nothing to go on with, and
 * sp_attest_onward says why. sp_attest_onward_end takes `begun`, which must not be NULL.
 */
struct sp_attestation *sp_attest_onward_begin(const json_t *vmm, enum sp_level min_level);
enum sp_reason sp_attest_onward_end(struct sp_attestation *begun, struct sp_attestation *bridge,
    const struct sp_onward *onward, struct sp_report *report, enum sp_onward_end *ret_end);

/*
 * The reverse direction: the peer of an accepted connection is a live process of one of these uids
 * (SP_REASON_PEER_CREDENTIALS) running the file at this path, compared by device and inode
 * (SP_REASON_BRIDGE_EXECUTABLE). SP_REASON_BRIDGE_PROCESS: it has exited, or called exec meanwhile.
 */
enum sp_reason sp_attest_client(
    int fd, const uid_t *uids, unsigned count, const char *executable, struct sp_report *report);

#endif
