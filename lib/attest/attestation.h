/* The inside of an attestation, for the files of lib/attest. */
#ifndef SP_ATTEST_ATTESTATION_H
#define SP_ATTEST_ATTESTATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "attest/attest.h"
#include "attest/corner.h"
#include "attest/evidence.h"
#include "attest/judge.h"
#include "attest/proc.h"

struct sp_attestation {
	struct sp_case judged;
	json_t *object;           /* the evidence's texts live in it */
	int file;                 /* the socket's file, O_PATH */
	int fd;                   /* our end; -1: no connection is made */
	int netlink;              /* finds our end and its peer; borrowed */
	struct sp_corner *corner; /* that our end lives in; NULL: none */
	int peer_pidfd;           /* of who listens, by SO_PEERPIDFD, until it is pinned */
	struct sp_process process;
	struct sp_pins *pins; /* whose those are, when they are shared; NULL: ours alone */
};

struct sp_pins {
	unsigned references;
	struct sp_process process;
};

/* Nothing judged and nothing open; NULL when out of memory. */
struct sp_attestation *sp_attestation_blank(
    enum sp_role role, const json_t *object, enum sp_level min_level);

/* Parsed and with nothing open; NULL with a row that says why. */
struct sp_attestation *sp_attestation_new(
    enum sp_role role, const json_t *object, enum sp_level min_level, struct sp_report *report);

/* Steps 1 to 3 on its target. */
enum sp_reason sp_attestation_open(struct sp_attestation *attestation, struct sp_report *report);

#endif
