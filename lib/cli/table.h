/* Tables for people: columns fitted to 80, colour by meaning, nothing but plain text when there is
 * no terminal. */
#ifndef SP_CLI_TABLE_H
#define SP_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum sp_tone { SP_TONE_PLAIN, SP_TONE_GOOD, SP_TONE_WARN, SP_TONE_BAD, SP_TONE_DIM, SP_TONE_HEAD };

struct sp_table;

/* `headings` is NULL-terminated. NULL when out of memory. */
struct sp_table *sp_table_new(const char *const *headings);
void sp_table_free(struct sp_table *table);

/* One row: as many cells as headings (a NULL cell shows as "-"). Copies. Control characters are
 * shown as '?'. */
int sp_table_add(struct sp_table *table, enum sp_tone tone, const char *const *cells);

/* Cells that do not fit go on below themselves instead of being cut: for what must be read whole.
 */
void sp_table_wrap(struct sp_table *table);

/* Columns behind the first `kept` are left out, the last first, where they have no room. */
void sp_table_keep(struct sp_table *table, unsigned kept);

/* Pads columns; the widest is cut with an ellipsis so that lines fit `width` (0: no limit). */
int sp_table_print(struct sp_table *table, FILE *out, bool color, unsigned width);

/* For lists of any length: cells wrap, columns behind the first `kept` are left out, the last
 * first, where they have no room, and once SP_TABLE_HELD rows are there they go to `out`, and each
 * further one at once, in columns as wide as those rows had them: memory is bounded.
 * sp_table_finish writes what is left. */
#define SP_TABLE_HELD 1000
void sp_table_stream(struct sp_table *table, unsigned kept, FILE *out, bool color, unsigned width);
int sp_table_finish(struct sp_table *table); /* -EIO: `out` has failed; NULL is fine */

/* The columns of the terminal that `fd` is (80 when it does not say); 0 when it is none: what is
 * read by programs is not cut. */
unsigned sp_table_width(int fd);

/* One word in its tone; plain without colour. */
void sp_tone_print(FILE *out, bool color, enum sp_tone tone, const char *text);

#endif
