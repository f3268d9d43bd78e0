/* The functions behind the rows of the table of checks (attest/checks.c): expected against seen,
 * whether it was seen now or lies in an archive. Pure. */
#ifndef SP_ATTEST_JUDGE_H
#define SP_ATTEST_JUDGE_H

#include "attest/evidence.h"
#include "attest/report.h"
#include "attest/sight.h"

enum sp_verdict {
	SP_VERDICT_RIGHT,
	SP_VERDICT_WRONG,   /* the row's reason */
	SP_VERDICT_UNKNOWN, /* the kernel, or a missing right, keeps it from being known */
};

/* What is recorded, and what was seen. */
struct sp_case {
	enum sp_role role;
	enum sp_level min_level;
	struct sp_evidence evidence;      /* its texts are borrowed */
	const struct sp_listener *target; /* which of its listeners this is about */
	struct sp_sight sight;
};

/* `words` may be NULL. The row's part of the sight has been seen. */
typedef enum sp_verdict sp_judge_fn(const struct sp_case *judged, struct sp_words *words);

/* judge_socket.c */
sp_judge_fn sp_judge_path, sp_judge_connect, sp_judge_credentials, sp_judge_peer_process;
sp_judge_fn sp_judge_peer_socket, sp_judge_peer_held, sp_judge_listener;

/* judge_process.c */
sp_judge_fn sp_judge_level, sp_judge_boot, sp_judge_process, sp_judge_start, sp_judge_namespaces,
    sp_judge_tracer, sp_judge_executable, sp_judge_alive, sp_judge_image;

/* Only its times differ from the recorded ones: the bytes of the file decide. */
bool sp_judge_needs_bytes(const struct sp_executable *recorded, const struct sp_executable *seen);

/* What a negative code of a look-up means: gone or not there is WRONG, a missing right or facility
 * UNKNOWN. Sets what was seen. */
enum sp_verdict sp_judge_code(int code, struct sp_words *words);

#endif
