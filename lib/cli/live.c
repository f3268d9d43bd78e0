/* Rows in the order of their last change, those that never did behind them in the order they came.
 */
#include "cli/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/internal.h"

struct row {
	TAILQ_ENTRY(row) entry;
	enum sp_tone tone;
	int64_t when;
	char *cells[SP_LIVE_CELLS];
};

struct sp_live {
	struct sp_cli *cli;
	struct sp_screen screen;
	char title[160], note[SP_ERR_MAX];
	const char *of;
	const char *const *headings;
	unsigned columns, kept;
	TAILQ_HEAD(rows, row) rows;
	size_t held; /* rows here */
	bool more;   /* there are others, that there was no room for */
	bool dirty, over;
	int signal;
};

static void row_free(struct row *row)
{
	for (unsigned c = 0; row && c < SP_LIVE_CELLS; c++)
		free(row->cells[c]);
	free(row);
}

static struct row *row_new(enum sp_tone tone, const char *const *cells, unsigned columns)
{
	struct row *row = calloc(1, sizeof(*row));

	for (unsigned c = 0; row && c < columns; c++) {
		row->cells[c] = strdup(cells[c] ? cells[c] : "-");
		if (!row->cells[c]) {
			row_free(row);
			return NULL;
		}
	}
	if (row)
		row->tone = tone;
	return row;
}

static void take_out(struct sp_live *live, struct row *row)
{
	TAILQ_REMOVE(&live->rows, row, entry);
	row_free(row);
	live->held--;
}

static struct row *find(struct sp_live *live, const char *name)
{
	struct row *row;

	TAILQ_FOREACH(row, &live->rows, entry)
	if (strcmp(row->cells[0], name) == 0)
		return row;
	return NULL;
}

int sp_cli_live(struct sp_cli *cli, const char *title, const char *of, const char *const *headings,
    unsigned kept, struct sp_live **ret)
{
	struct sp_err err = {0};
	struct sp_live *live;
	int bad;

	*ret = NULL;
	if (sp_cli_json(cli) || !sp_screen_possible())
		return 0;
	live = calloc(1, sizeof(*live));
	if (!live) {
		(void)sp_fail(&err, -ENOMEM, "out of memory");
		return sp_cli_fail(cli, &err);
	}
	live->cli = cli;
	live->of = of;
	live->headings = headings;
	live->kept = kept;
	while (headings[live->columns] && live->columns < SP_LIVE_CELLS)
		live->columns++;
	(void)snprintf(live->title, sizeof(live->title), "%s", title);
	TAILQ_INIT(&live->rows);
	live->dirty = true;
	bad = sp_screen_enter(&live->screen, &err);
	if (bad) {
		free(live);
		return sp_cli_fail(cli, &err);
	}
	cli->screen = &live->screen;
	*ret = live;
	return 0;
}

/* Behind those that changed at that time or later. */
static void put_in_order(struct sp_live *live, struct row *row)
{
	struct row *at = TAILQ_LAST(&live->rows, rows);

	while (at && at->when < row->when)
		at = TAILQ_PREV(at, rows, entry);
	if (at)
		TAILQ_INSERT_AFTER(&live->rows, at, row, entry);
	else
		TAILQ_INSERT_HEAD(&live->rows, row, entry);
}

int sp_live_put(
    struct sp_live *live, enum sp_tone tone, const char *const *cells, int64_t when, bool changed)
{
	struct row *row, *old = changed ? find(live, cells[0]) : NULL;

	live->dirty = true;
	if (old)
		take_out(live, old);
	if (live->held == SP_LIVE_ROWS) {
		struct row *last = TAILQ_LAST(&live->rows, rows);
		live->more = true;
		if (!changed && when <= last->when)
			return 0;
		take_out(live, last);
	}
	row = row_new(tone, cells, live->columns);
	if (!row)
		return -ENOMEM;
	row->when = when;
	if (changed)
		TAILQ_INSERT_HEAD(&live->rows, row, entry);
	else
		put_in_order(live, row);
	live->held++;
	return 0;
}

void sp_live_drop(struct sp_live *live, const char *name)
{
	struct row *row = find(live, name);

	if (row)
		take_out(live, row);
	live->dirty = true;
}

void sp_live_clear(struct sp_live *live)
{
	struct row *row;

	while ((row = TAILQ_FIRST(&live->rows)))
		take_out(live, row);
	live->more = false;
	live->dirty = true;
}

void sp_live_note(struct sp_live *live, const char *words)
{
	(void)snprintf(live->note, sizeof(live->note), "%s", words ? words : "");
	sp_text_printable(live->note);
	live->dirty = true;
}

void sp_live_fds(const struct sp_live *live, struct pollfd ret_fds[SP_SCREEN_FDS])
{
	sp_screen_fds(&live->screen, ret_fds);
}

static void print_line(FILE *out, bool color, enum sp_tone tone, const char *words)
{
	sp_tone_print(out, color, tone, words);
	(void)fputc('\n', out);
}

/* How many rows there is room for in so many lines; the last says how many there is none for. */
static size_t rows_shown(const struct sp_live *live, size_t lines)
{
	if (live->held <= lines && !live->more)
		return live->held;
	return lines == 0 ? 0 : lines - 1 < live->held ? lines - 1 : live->held;
}

static void print_rows(struct sp_live *live, FILE *out, bool color, unsigned columns, size_t shown)
{
	struct sp_table *table = sp_table_new(live->headings);
	struct row *row = TAILQ_FIRST(&live->rows);

	if (!table)
		return;
	for (size_t n = 0; n < shown; n++, row = TAILQ_NEXT(row, entry))
		(void)sp_table_add(table, row->tone, (const char *const *)row->cells);
	sp_table_keep(table, live->kept);
	(void)sp_table_print(table, out, color, columns);
	sp_table_free(table);
}

/* For a terminal of this size; at the end what is left behind, without what only the screen has. */
static void print_view(struct sp_live *live, FILE *out, unsigned columns, unsigned lines, bool last)
{
	bool color = sp_cli_color(live->cli);
	size_t head = 1U + !last + (live->note[0] != '\0');
	size_t shown = rows_shown(live, lines > head ? lines - head : 0);
	char words[96];

	if (!last)
		print_line(out, color, SP_TONE_DIM, live->title);
	if (live->note[0])
		print_line(out, color, SP_TONE_WARN, live->note);
	print_rows(live, out, color, columns, shown);
	if (live->held == 0)
		(void)snprintf(words, sizeof(words), "no %s", live->of);
	else
		(void)snprintf(words, sizeof(words), "… %s%zu more %s", live->more ? "over " : "",
		    live->held - shown, live->of);
	if (live->held == 0 || live->more || shown < live->held)
		print_line(out, color, SP_TONE_DIM, words);
}

/* The text of print_view, heap; NULL when out of memory. */
static char *view(struct sp_live *live, bool last)
{
	unsigned columns, rows;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	sp_screen_size(&columns, &rows);
	print_view(live, out, columns, rows, last);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

bool sp_live_over(struct sp_live *live)
{
	/* Something had to be said, and the terminal was given back for that. */
	if (live->over || !live->screen.inside)
		return true;
	switch (sp_screen_look(&live->screen, &live->signal)) {
	case SP_SCREEN_QUIT:
	case SP_SCREEN_SIGNAL:
		live->over = true;
		break;
	case SP_SCREEN_REDRAW:
		live->dirty = true;
		break;
	case SP_SCREEN_NOTHING:
		break;
	}
	return live->over;
}

bool sp_live_show(struct sp_live *live)
{
	sp_auto_free char *text = NULL;

	if (sp_live_over(live))
		return true;
	if (!live->dirty)
		return false;
	live->dirty = false;
	text = view(live, false);
	return !text || !sp_screen_draw(text);
}

int sp_live_end(struct sp_live *live, int exit_code)
{
	sp_auto_free char *text = NULL;
	int by;

	if (!live)
		return exit_code;
	text = view(live, true);
	by = live->signal;
	live->cli->screen = NULL;
	sp_screen_leave(&live->screen);
	if (text)
		(void)fputs(text, stdout);
	sp_live_clear(live);
	free(live);
	if (by) {
		(void)fflush(stdout);
		(void)raise(by);
	}
	return exit_code;
}
