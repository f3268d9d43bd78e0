/* What a check expected and saw, as text, written only when somebody wants to know. */
#ifndef SP_ATTEST_REPORT_H
#define SP_ATTEST_REPORT_H

#include "attest/attest.h"

#define SP_WORDS_MAX 512

/* NULL stands for "nobody asks": then nothing is formatted. */
struct sp_words {
	char expected[SP_WORDS_MAX], seen[SP_WORDS_MAX];
};

void sp_words_expect(struct sp_words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sp_words_see(struct sp_words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
