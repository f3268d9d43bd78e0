/* Columns as wide as their widest cell, the widest column cut first when a line would not fit. */
#include "cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/text.h"

#define COLUMNS_MAX 12
#define GAP         2
#define NARROWEST   6 /* what still says something; with the rest below it, less */
#define NARROWER    3
#define ROOMY       20 /* what a longer cell is given before others are left out for it: a time */

struct row {
	enum sp_tone tone;
	char *cells[COLUMNS_MAX];
};

struct sp_table {
	unsigned columns;
	bool wraps;
	size_t count, room;
	struct row *rows; /* the first holds the headings, until it is written */
	FILE *out;        /* of a list; NULL: sp_table_print's */
	bool color, begun;
	unsigned limit, kept, shown; /* of its columns: at least, and once begun */
	unsigned widths[COLUMNS_MAX];
};

static const char *const TONES[] = {
    [SP_TONE_PLAIN] = "",
    [SP_TONE_GOOD] = "\033[32m",
    [SP_TONE_WARN] = "\033[33m",
    [SP_TONE_BAD] = "\033[31m",
    [SP_TONE_DIM] = "\033[2m",
    [SP_TONE_HEAD] = "\033[1m",
};

static char *clean_copy(const char *text)
{
	char *copy = strdup(text ? text : "-");

	if (copy)
		sp_text_printable(copy);
	return copy;
}

/* Characters, not bytes: continuation bytes of UTF-8 take no place. */
static unsigned width_of(const char *text)
{
	unsigned width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static int add_row(struct sp_table *table, enum sp_tone tone, const char *const *cells)
{
	struct row *row;

	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 32;
		struct row *larger = realloc(table->rows, room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		table->rows = larger;
		table->room = room;
	}
	row = &table->rows[table->count];
	*row = (struct row){.tone = tone};
	table->count++;
	for (unsigned i = 0; i < table->columns; i++) {
		row->cells[i] = clean_copy(cells[i]);
		if (!row->cells[i])
			return -ENOMEM;
	}
	return 0;
}

struct sp_table *sp_table_new(const char *const *headings)
{
	struct sp_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	while (headings[table->columns] && table->columns < COLUMNS_MAX)
		table->columns++;
	table->kept = table->shown = table->columns;
	if (add_row(table, SP_TONE_HEAD, headings) < 0) {
		sp_table_free(table);
		return NULL;
	}
	return table;
}

static void drop_rows(struct sp_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		for (unsigned c = 0; c < table->columns; c++)
			free(table->rows[i].cells[c]);
	table->count = 0;
}

void sp_table_free(struct sp_table *table)
{
	if (table)
		drop_rows(table);
	if (table)
		free(table->rows);
	free(table);
}

static unsigned widest_cell(const struct sp_table *table, unsigned column)
{
	unsigned widest = 0;

	for (size_t i = 0; i < table->count; i++) {
		const char *cell = table->rows[i].cells[column];
		unsigned width = cell ? width_of(cell) : 0;
		widest = width > widest ? width : widest;
	}
	return widest;
}

/* How many columns there is room for, each as wide as it is, or ROOMY, or its heading. */
static unsigned columns_shown(const struct sp_table *table, const unsigned *widths, unsigned limit)
{
	unsigned total = 0;

	for (unsigned c = 0; c < table->columns; c++) {
		unsigned heading = width_of(table->rows[0].cells[c]);
		unsigned room = heading > ROOMY ? heading : ROOMY;
		total += (widths[c] < room ? widths[c] : room) + (c ? GAP : 0);
		if (limit && total > limit && c >= table->kept)
			return c;
	}
	return table->columns;
}

/* What a column is not made narrower than while another can be: torn apart a time is hard to read.
 */
static unsigned narrowest(const struct sp_table *table, unsigned column)
{
	int64_t seconds;

	for (size_t i = 0; i < table->count; i++) {
		const char *cell = table->rows[i].cells[column];
		if (cell && sp_time_parse(cell, &seconds))
			return SP_TIME_SIZE - 1;
	}
	return table->wraps ? NARROWER : NARROWEST;
}

/* The widest of those that are wider than they must be; `columns` when none is. */
static unsigned widest_of(const unsigned *widths, const unsigned *floors, unsigned columns)
{
	unsigned widest = columns;

	for (unsigned c = 0; c < columns; c++)
		if (widths[c] > floors[c] && (widest == columns || widths[c] > widths[widest]))
			widest = c;
	return widest;
}

/* The widths for the first rows, which begin with the headings; returns how many columns. */
static unsigned fit(const struct sp_table *table, unsigned *widths, unsigned limit)
{
	unsigned total = 0, shown, widest, floors[COLUMNS_MAX];

	for (unsigned c = 0; c < table->columns; c++) {
		widths[c] = widest_cell(table, c);
		floors[c] = narrowest(table, c);
	}
	shown = columns_shown(table, widths, limit);
	for (unsigned c = 0; c < shown; c++)
		total += widths[c] + (c ? GAP : 0);
	while (limit && total > limit) {
		widest = widest_of(widths, floors, shown);
		if (widest == shown) {
			/* In so little room not even that can be heeded. */
			for (unsigned c = 0; c < shown; c++)
				floors[c] = table->wraps ? NARROWER : NARROWEST;
			widest = widest_of(widths, floors, shown);
		}
		if (widest == shown)
			break;
		widths[widest]--;
		total--;
	}
	return shown;
}

void sp_table_wrap(struct sp_table *table)
{
	table->wraps = true;
}

/* The end of the part of `text` that fits: whole when it does, else before the last space, or
 * behind the last place where it may well be parted, unless that is too far at the front. */
static const char *part_of(const char *text, unsigned width)
{
	const char *at = text, *space = NULL, *other = NULL;

	/* A column that was empty while the widths were made must come to an end all the same. */
	width = width ? width : 1;
	for (unsigned taken = 0; *at && taken < width; taken++) {
		do
			at++;
		while (((unsigned char)*at & 0xc0) == 0x80);
		if (*at == ' ' && taken > width / 4)
			space = at;
		if (strchr(",-/:", at[-1]) && taken > width / 2)
			other = at;
	}
	if (!*at)
		return at;
	return space ? space : other ? other : at;
}

static void pad(FILE *out, unsigned width, bool last)
{
	(void)fprintf(out, "%*s", last ? 0 : (int)width, "");
}

/* One line of a row; moves each cell on behind what was printed. True when more is left. */
static bool print_parts(
    const struct sp_table *table, FILE *out, const char **rest, const unsigned *widths)
{
	bool more = false;

	for (unsigned c = 0; c < table->shown; c++) {
		const char *end = part_of(rest[c], widths[c]);
		bool last = c + 1 == table->shown;
		unsigned shown = 0;
		for (const char *at = rest[c]; at < end; at++) {
			shown += ((unsigned char)*at & 0xc0) != 0x80;
			(void)fputc(*at, out);
		}
		pad(out, widths[c] - shown + GAP, last);
		rest[c] = end + strspn(end, " ");
		more |= *rest[c] != '\0';
	}
	return more;
}

static void print_wrapped(
    const struct sp_table *table, FILE *out, const struct row *row, const unsigned *widths)
{
	const char *rest[COLUMNS_MAX];

	for (unsigned c = 0; c < table->shown; c++)
		rest[c] = row->cells[c] ? row->cells[c] : "-";
	while (print_parts(table, out, rest, widths))
		(void)fputc('\n', out);
}

static void print_cell(FILE *out, const char *text, unsigned width, bool last)
{
	unsigned have = width_of(text);
	unsigned shown = 0;

	if (have <= width) {
		(void)fputs(text, out);
		pad(out, width - have, last);
		return;
	}
	for (; *text && shown < width - 1; shown++) {
		do
			(void)fputc(*text++, out);
		while (((unsigned char)*text & 0xc0) == 0x80);
	}
	(void)fputs("…", out);
}

static void print_cut(
    const struct sp_table *table, FILE *out, const struct row *row, const unsigned *widths)
{
	for (unsigned c = 0; c < table->shown; c++) {
		bool last = c + 1 == table->shown;
		print_cell(out, row->cells[c] ? row->cells[c] : "-", widths[c], last);
		pad(out, GAP, last);
	}
}

static void print_row(const struct sp_table *table, FILE *out, const struct row *row, bool color,
    const unsigned *fitted, unsigned limit)
{
	bool toned = color && row->tone != SP_TONE_PLAIN;
	unsigned widths[COLUMNS_MAX] = {0};

	/* Where nothing has to fit, what came too late for the widths is shown whole all the same.
	 */
	for (unsigned c = 0; c < table->shown; c++) {
		unsigned own = limit || !row->cells[c] ? 0 : width_of(row->cells[c]);
		widths[c] = own > fitted[c] ? own : fitted[c];
	}
	(void)fputs(toned ? TONES[row->tone] : "", out);
	(table->wraps ? print_wrapped : print_cut)(table, out, row, widths);
	(void)fputs(toned ? "\033[0m\n" : "\n", out);
}

void sp_table_keep(struct sp_table *table, unsigned kept)
{
	table->kept = kept;
}

int sp_table_print(struct sp_table *table, FILE *out, bool color, unsigned width)
{
	unsigned widths[COLUMNS_MAX] = {0};

	table->shown = fit(table, widths, width);
	for (size_t i = 0; i < table->count; i++)
		print_row(table, out, &table->rows[i], color, widths, width);
	return ferror(out) ? -EIO : 0;
}

void sp_table_stream(struct sp_table *table, unsigned kept, FILE *out, bool color, unsigned width)
{
	sp_table_keep(table, kept);
	table->wraps = true;
	table->out = out;
	table->color = color;
	table->limit = width;
}

int sp_table_finish(struct sp_table *table)
{
	if (!table)
		return 0;
	if (!table->begun)
		table->shown = fit(table, table->widths, table->limit);
	table->begun = true;
	for (size_t i = 0; i < table->count; i++)
		print_row(
		    table, table->out, &table->rows[i], table->color, table->widths, table->limit);
	drop_rows(table);
	return ferror(table->out) ? -EIO : 0;
}

int sp_table_add(struct sp_table *table, enum sp_tone tone, const char *const *cells)
{
	int bad = add_row(table, tone, cells);

	if (!bad && table->out && (table->begun || table->count > SP_TABLE_HELD))
		bad = sp_table_finish(table);
	return bad;
}

unsigned sp_table_width(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void sp_tone_print(FILE *out, bool color, enum sp_tone tone, const char *text)
{
	bool toned = color && tone != SP_TONE_PLAIN;

	(void)fprintf(out, "%s%s%s", toned ? TONES[tone] : "", text, toned ? "\033[0m" : "");
}
