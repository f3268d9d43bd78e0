/*
 * What a stranger may send to an entry over HTTP: a head, a body behind it, and in the head a
 * target with its query. Besides what the sanitizers see: how the bytes are cut makes no
 * difference, and what goes on is read again as what was admitted, without the token.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/text.h"
#include "base/util.h"
#include "stream/body.h"
#include "stream/head.h"
#include "stream/target.h"

#define CUT_MAX 256 /* of heads that are tried at every length: that is quadratic */

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

/* --- heads --- */

static void find_by_bytes(const char *bytes, size_t size, ssize_t whole)
{
	ssize_t found = 0;

	for (size_t n = 0; n <= size && n <= CUT_MAX && found == 0; n++)
		found = sp_head_find(bytes, n, NULL);
	if (size <= CUT_MAX || found != 0)
		must(found == whole || (found < 0 && whole < 0));
}

static bool has(const struct sp_head *head, const char *name)
{
	const struct sp_head_field *field = NULL;

	return sp_head_one(head, name, &field, NULL) < 0 || field;
}

static bool same(const char *a, size_t a_size, const char *b, size_t b_size)
{
	return a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

static void print(const struct sp_head *head, size_t size, bool upgrade)
{
	size_t room = size + SP_HEAD_ADDED, printed;
	char *text = malloc(room);
	struct sp_head again;

	must(text != NULL);
	printed = sp_head_print(head, upgrade, text, room);
	must(printed <= room);
	/* Longer than a head may be it is nobody's. */
	if (printed < SP_HEAD_MAX) {
		must(sp_head_find(text, printed, NULL) == (ssize_t)printed);
		must(sp_head_parse(text, printed, &again, NULL) == 0);
		must(again.method == head->method && again.old == head->old);
		must(again.chunked == head->chunked && again.has_length == head->has_length);
		must(again.websocket == (upgrade && head->websocket));
		must(same(again.target, again.target_size, head->target, head->target_size));
		must(!again.token && !has(&again, "Authorization"));
	}
	free(text);
}

/* --- bodies --- */

struct sum {
	uint64_t value;
	size_t size;
};

static bool take(void *context, const char *bytes, size_t size)
{
	struct sum *sum = context;

	for (size_t i = 0; i < size; i++)
		sum->value = (sum->value ^ (unsigned char)bytes[i]) * 1099511628211u;
	sum->size += size;
	return true;
}

/* So many bytes at a time. */
static size_t read_body(const char *head, size_t head_size, const char *bytes, size_t size,
    size_t step, struct sum *ret, struct sp_body *body)
{
	size_t at = 0;

	*ret = (struct sum){.size = 0};
	sp_body_begin(body, head, head_size, take, ret);
	while (at < size && !body->done && !body->bad) {
		size_t n = size - at < step ? size - at : step;
		size_t used = sp_body_read(body, bytes + at, n);
		must(used == n || body->done || body->bad);
		at += used;
	}
	return at;
}

static void try_body(const char *head, size_t head_size, const char *bytes, size_t size)
{
	struct sp_body whole, cut;
	struct sum one, other;
	size_t used = read_body(head, head_size, bytes, size, size ? size : 1, &one, &whole);

	must(one.size <= used);
	for (size_t step = 1; step <= 7; step += 3) {
		size_t again = read_body(head, head_size, bytes, size, step, &other, &cut);
		must(whole.done == cut.done && whole.bad == cut.bad);
		if (whole.bad)
			continue;
		must(used == again && one.size == other.size && one.value == other.value);
	}
}

/* --- targets --- */

static void nothing(void *context, const struct sp_asked *asked)
{
	(void)context;
	(void)asked;
}

static const struct sp_target_row ROWS[] = {
    {"/", SP_METHOD(GET), nothing},
    {"/v1/ops", SP_METHOD(POST), nothing},
    {"/v1/sandboxes/{id}/tree", SP_METHOD(GET) | SP_METHOD(PUT), nothing},
    {"/v1/sandboxes/{id}/sessions/{session}/attach", SP_METHOD(GET), nothing},
    {"/v1/sandboxes/{id}/ports/{port}/*", ~(uint64_t)0, nothing},
};

static void try_target(const struct sp_head *head, size_t size)
{
	struct sp_asked asked;
	uint64_t allowed;
	char path[64], window[8], id[SP_ID_MAX + 1], names[128];
	struct sp_target_value values[] = {{.name = "path", .text = path, .room = sizeof(path)},
	    {.name = "window", .text = window, .room = sizeof(window)}};
	const struct sp_target_row *row =
	    sp_target_find(ROWS, SP_COUNT(ROWS), head, size, &asked, &allowed);

	must(!row || row->methods & (uint64_t)1 << head->method);
	sp_target_methods(allowed, " or ", names, sizeof(names));
	for (size_t i = 0; row && i < SP_TARGET_PARTS; i++)
		if (asked.parts[i].text && sp_target_id(&asked.parts[i], id))
			must(sp_id_valid(id));
	if (sp_target_query(&asked, values, SP_COUNT(values), NULL) == 0)
		for (size_t i = 0; i < SP_COUNT(values); i++)
			must(!values[i].given || strlen(values[i].text) < values[i].room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	ssize_t found = sp_head_find(bytes, size, NULL);
	struct sp_head head;

	find_by_bytes(bytes, size, found);
	if (found <= 0 || sp_head_parse(bytes, (size_t)found, &head, NULL) < 0)
		return 0;
	print(&head, (size_t)found, false);
	print(&head, (size_t)found, true);
	try_target(&head, (size_t)found);
	try_body(bytes, (size_t)found, bytes + found, size - (size_t)found);
	return 0;
}
