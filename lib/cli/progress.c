/* How far long work is, on one line of standard error that goes away again. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include "base/util.h"
#include "base/io.h"
#include "cli/internal.h"

#define FIRST_MS 1000 /* what is done before needs no telling */
#define EVERY_MS 100

static bool wanted(const struct sp_cli *cli, bool flows)
{
	return isatty(STDERR_FILENO) && !sp_cli_quiet(cli) && !(flows && isatty(STDOUT_FILENO));
}

static bool due(struct sp_cli *cli, bool flows)
{
	struct sp_cli_progress *progress = &cli->progress;
	int64_t now;

	if (!progress->asked) {
		progress->asked = true;
		progress->wanted = wanted(cli, flows);
		progress->next_ms = sp_monotonic_ms() + FIRST_MS;
	}
	if (!progress->wanted)
		return false;
	now = sp_monotonic_ms();
	if (now < progress->next_ms)
		return false;
	progress->next_ms = now + EVERY_MS;
	return true;
}

static void show(struct sp_cli *cli, const char *words)
{
	struct sp_cli_progress *progress = &cli->progress;
	int width = fprintf(stderr, "\r%s: %s: %s", cli->tool->name, cli->verb->name, words) - 1;

	if (width > 0 && width < progress->width)
		(void)fprintf(stderr, "%*s", progress->width - width, "");
	progress->width = width > progress->width ? width : progress->width;
}

void sp_cli_progress(struct sp_cli *cli, int64_t count, const char *unit, bool flows)
{
	char words[64];

	if (!due(cli, flows))
		return;
	(void)snprintf(words, sizeof(words), "%" PRId64 " %s", count, unit);
	show(cli, words);
}

void sp_cli_progress_bytes(struct sp_cli *cli, uint64_t bytes, bool flows)
{
	char words[64];

	if (!due(cli, flows))
		return;
	(void)snprintf(words, sizeof(words), "%.1f MiB", (double)bytes / (1024 * 1024));
	show(cli, words);
}

void sp_cli_progress_words(struct sp_cli *cli, const char *words)
{
	if (due(cli, false))
		show(cli, words);
}

void sp_cli_progress_end(const struct sp_cli *cli)
{
	struct sp_cli *mutable = (struct sp_cli *)(uintptr_t)cli;

	if (cli->progress.width > 0)
		(void)fprintf(stderr, "\r%*s\r", cli->progress.width, "");
	mutable->progress.width = 0;
}
