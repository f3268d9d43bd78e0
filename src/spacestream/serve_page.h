/* The page of the entry over HTTP: a terminal in a browser. */
#ifndef SP_SPACESTREAM_SERVE_PAGE_H
#define SP_SPACESTREAM_SERVE_PAGE_H

#include "base/err.h"
#include "stream/target.h"

struct page;

/*
 * Reads xterm.js, xterm.css and addon-fit.js from the directory `xterm`; where it is NULL from the
 * usual one, if that is there. A page without them shows terminals as plain text. *ret is the
 * caller's, page_free, also after an error.
 */
int page_new(const char *xterm, struct page **ret, struct sp_err *err);
void page_free(struct page *page); /* NULL is fine */

/* Handler (sp_target_fn) of `/` and `/page/{name}`. */
void serve_page(void *context, const struct sp_asked *asked);

#endif
