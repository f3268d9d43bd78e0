/* What the targets that hold a quick reader against the slow one share. A disagreement aborts. */
#ifndef SP_FUZZ_AGREE_H
#define SP_FUZZ_AGREE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AGREE(condition)                                                                           \
	do                                                                                         \
		if (!(condition)) {                                                                \
			(void)fprintf(stderr, "%s:%d: the two disagree: %s\n", __FILE__, __LINE__, \
			    #condition);                                                           \
			abort();                                                                   \
		}                                                                                  \
	while (0)

/* A heap copy of exactly this size, with a NUL behind it as lines have: a byte read beyond is
 * noticed. */
static inline char *agree_line(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);

	if (!line)
		abort();
	if (size > 0)
		memcpy(line, data, size);
	line[size] = '\0';
	return line;
}

#endif
