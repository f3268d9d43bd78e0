/* What a command's end looks like in JSON, within one line. Pure. */
#ifndef SP_GUEST_EXEC_RESULT_H
#define SP_GUEST_EXEC_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct sp_output {
	char *bytes; /* heap; owned by whoever made it */
	size_t size, room;
	bool cut; /* there was more */
};

/*
 * {exit|signal, stdout, stderr, truncated}, and `timed_out` where that was the cause. `status` as
 * from wait(2). Both outputs fit into an answer's line, whatever they hold; where not all of it
 * fits, standard error is cut. NULL: out of memory.
 */
json_t *sp_exec_result(
    int status, const struct sp_output *out, const struct sp_output *err, bool timed_out);

#endif
