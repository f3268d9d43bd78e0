/* An audit line as text. Inside lib/net only. */
#ifndef SP_NET_AUDIT_LINE_H
#define SP_NET_AUDIT_LINE_H

#include "net/audit.h"
#include "record/out.h"

struct sp_audit_text {
	struct sp_out out;
	bool bad; /* a string is no UTF-8 */
};

/* The whole line with its LF. `repeated` 0: left out. */
void sp_audit_line_put(struct sp_audit_text *text, const struct sp_audit_line *line,
    unsigned long repeated, const char *now);

#endif
