/*
 * What is taken away of one process, to be judged later and elsewhere: a sight of it, and what the
 * kernel showed as text. Nothing secret: neither its environment nor its command line, no memory.
 */
#ifndef SP_ATTEST_CAPTURE_H
#define SP_ATTEST_CAPTURE_H

#include <jansson.h>
#include "attest/attest.h"
#include "attest/sight.h"

/* /proc/<pid>/stat, status and cgroup as they are, and what its descriptors are: lines "5
 * socket:[8112]", the first SP_CAPTURE_LINES of them. */
enum sp_capture_text {
	SP_CAPTURE_STAT,
	SP_CAPTURE_STATUS,
	SP_CAPTURE_CGROUP,
	SP_CAPTURE_DESCRIPTORS,
	SP_CAPTURE_TEXTS
};

/* "stat", ... */
const char *sp_capture_name(enum sp_capture_text text);

/* Starts as {0}. */
struct sp_capture {
	json_t *seen;                  /* attest/sight.h */
	char *texts[SP_CAPTURE_TEXTS]; /* heap; NULL: it could not be read */
};
void sp_capture_done(struct sp_capture *capture);

/*
 * Looks at everything about the process that `object` is evidence of, whatever it finds; only the
 * pid has to be in it. `connected` is what was seen over a connection (NULL, or nothing seen: there
 * was none). What was seen of a process that has ended or called exec meanwhile is "it has exited".
 * SP_E_BAD_RECORD: there is no pid; -ENOMEM.
 */
int sp_capture_take(enum sp_role role, const json_t *object, const struct sp_sight *connected,
    struct sp_capture *ret, struct sp_err *err);

/* Where and under which rule a capture was taken. */
struct sp_capture_place {
	enum sp_level level, min_level;
	char boot_id[37]; /* "": unreadable */
};

/*
 * Judges a capture by the checks that were made then (attest/checks.h), without those that are of
 * the moment, and those of a connection that was not made. `object` is the recorded evidence, NULL
 * when there is none. `stat` is the text, NULL when it was not read. 0 and *ret; SP_E_BAD_RECORD:
 * the capture is not of its form. Pure.
 */
int sp_capture_judge(enum sp_role role, const json_t *object, const json_t *seen, const char *stat,
    const struct sp_capture_place *place, struct sp_report *report, enum sp_reason *ret,
    struct sp_err *err);

#endif
