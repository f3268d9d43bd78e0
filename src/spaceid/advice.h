/* What an operator does about a decision: words, and the one command to run. */
#ifndef SPACEID_ADVICE_H
#define SPACEID_ADVICE_H

#include "base/limits.h"
#include "record/compare.h"
#include "record/reason.h"

struct advice {
	const char *words;             /* static */
	char command[SP_ID_MAX + 128]; /* ready for a shell; "": nothing to run */
};

/* `sandbox` is a valid id, or NULL where it is not known: then the command has S in its place. */
struct advice spaceid_advice(const char *sandbox, enum sp_reason reason, enum sp_behind behind);
struct advice spaceid_error_advice(const char *sandbox, enum sp_error_kind error);

#endif
