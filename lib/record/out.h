/*
 * Text put together in a room of the caller's, with a count of what it would need: nothing is
 * written beyond the room, and what was written is of use only while `used` is not above it. Pure.
 */
#ifndef SP_RECORD_OUT_H
#define SP_RECORD_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sp_out {
	char *at;
	size_t room, used;
};

static inline void sp_out_put(struct sp_out *out, const char *bytes, size_t size)
{
	if (size > 0 && out->used <= out->room && size <= out->room - out->used)
		memcpy(out->at + out->used, bytes, size);
	out->used += size;
}

static inline void sp_out_text(struct sp_out *out, const char *text)
{
	sp_out_put(out, text, strlen(text));
}

/* In decimal. */
void sp_out_integer(struct sp_out *out, int64_t value);

/* As a JSON string, with quotes and the escapes it needs; valid UTF-8. */
void sp_out_string(struct sp_out *out, const char *text, size_t size);

#endif
