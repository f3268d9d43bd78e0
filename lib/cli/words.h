/* Prose for people on a terminal. */
#ifndef SP_CLI_WORDS_H
#define SP_CLI_WORDS_H

#include <stdio.h>

/* "label: text" over as many lines as `width` calls for (0: one), those after the first set in
 * below the text. Control characters are shown as '?'. */
void sp_words_print(FILE *out, const char *label, const char *text, unsigned width);

/* The same without a label, from column `indent` on, where the cursor is already. */
void sp_words_flow(FILE *out, const char *text, unsigned indent, unsigned width);

/* One command for a shell, set in by `indent`: where it is longer than `width` it goes on in a next
 * line behind a backslash, never inside quotes, so that it can be copied as it stands. */
void sp_words_command(FILE *out, const char *command, unsigned indent, unsigned width);

#endif
