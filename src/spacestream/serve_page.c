/* The page with a terminal: its files are in this program, and xterm.js, which is not ours, in a
 * directory. They are the same for everybody, so no token is asked for. */
#include "spacestream/serve_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/util.h"
#include "spacestream/embedded.h"
#include "spacestream/serve.h"

#define XTERM_DEFAULT "/usr/share/space-tools/xterm"
#define XTERM_MAX     (4u * 1024u * 1024u)
#define PIECE         (32u * 1024u) /* bytes of a file that wait for a client */

/* Nothing but what comes from here, and no page of another site around it. xterm.js makes style
 * elements of its own. */
#define POLICY                                                                                     \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' "        \
	"'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action "        \
	"'none'; "                                                                                 \
	"frame-ancestors 'none'\r\n"

EMBEDDED(page_index_html, "page/index.html");
EMBEDDED(page_page_js, "page/page.js");
EMBEDDED(page_page_css, "page/page.css");

static const struct {
	const char *name, *type;
	const char *start, *end;
} OURS[] = {
    {"", "text/html; charset=utf-8", page_index_html, page_index_html_end},
    {"page.js", "text/javascript; charset=utf-8", page_page_js, page_page_js_end},
    {"page.css", "text/css; charset=utf-8", page_page_css, page_page_css_end},
};

static const struct {
	const char *name, *type;
} THEIRS[] = {
    {"xterm.js", "text/javascript; charset=utf-8"},
    {"xterm.css", "text/css; charset=utf-8"},
    {"addon-fit.js", "text/javascript; charset=utf-8"},
};

struct page {
	struct {
		char *text; /* heap */
		size_t size;
	} theirs[SP_COUNT(THEIRS)];
};

int page_new(const char *xterm, struct page **ret, struct sp_err *err)
{
	const char *directory = xterm ? xterm : XTERM_DEFAULT;
	struct page *page = calloc(1, sizeof(*page));
	char path[4096];

	if (!page)
		return -ENOMEM;
	*ret = page;
	if (!xterm && access(directory, F_OK) < 0)
		return 0;
	for (unsigned i = 0; i < SP_COUNT(THEIRS); i++) {
		int bad;

		(void)snprintf(path, sizeof(path), "%s/%s", directory, THEIRS[i].name);
		bad = sp_file_read(AT_FDCWD, path, 0, XTERM_MAX, &page->theirs[i].text,
		    &page->theirs[i].size, err);
		if (bad)
			return sp_err_prefix(err, bad, "`make xterm` gets what belongs there");
	}
	return 0;
}

void page_free(struct page *page)
{
	if (!page)
		return;
	for (unsigned i = 0; i < SP_COUNT(THEIRS); i++)
		free(page->theirs[i].text);
	free(page);
}

/* --- serving --- */

/* A file that goes out piece by piece, as the client takes it. */
struct sending {
	const char *next, *end;
};

static bool send_step(struct web *web)
{
	struct sending *sending = web->state;
	size_t left = (size_t)(sending->end - sending->next);

	if (left == 0) {
		web_next(web);
		return true;
	}
	if (web->out_end - web->out_start >= PIECE)
		return false;
	web_put(web, sending->next, left < PIECE ? left : PIECE);
	sending->next += left < PIECE ? left : PIECE;
	return true;
}

static bool send_reads(const struct web *web)
{
	(void)web;
	return false;
}

static double send_limit(const struct web *web)
{
	(void)web;
	return 0;
}

static bool send_late(struct web *web)
{
	(void)web;
	return false;
}

static void send_end(struct web *web)
{
	free(sp_steal(&web->state));
}

static const struct web_work SENDING = {.step = send_step,
    .reads = send_reads,
    .limit = send_limit,
    .late = send_late,
    .end = send_end};

static void give(struct web *web, const char *type, const char *start, const char *end)
{
	struct sending *sending = calloc(1, sizeof(*sending));

	if (!sending) {
		web->broken = true;
		return;
	}
	sending->next = web->no_body ? end : start;
	sending->end = end;
	web->state = sending;
	web->work = &SENDING;
	web->phase = WEB_WORK;
	web_answer_head(web, 200, type, POLICY, (size_t)(end - start));
}

static bool is_named(const struct sp_target_part *part, const char *name)
{
	size_t size = strlen(name);

	return part->size == size && (size == 0 || memcmp(part->text, name, size) == 0);
}

void serve_page(void *context, const struct sp_asked *asked)
{
	struct web *web = context;
	const struct page *page = web->server->page;
	const struct sp_target_part *part = &asked->parts[0];

	for (unsigned i = 0; i < SP_COUNT(OURS); i++)
		if (is_named(part, OURS[i].name)) {
			give(web, OURS[i].type, OURS[i].start, OURS[i].end);
			return;
		}
	for (unsigned i = 0; i < SP_COUNT(THEIRS); i++)
		if (is_named(part, THEIRS[i].name) && page->theirs[i].text) {
			const char *text = page->theirs[i].text;

			give(web, THEIRS[i].type, text, text + page->theirs[i].size);
			return;
		}
	web_fail(web, 404, SP_ERROR_BAD_RECORD, "there is nothing here");
}
