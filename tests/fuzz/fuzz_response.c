/*
 * What a service in a guest may answer: read, and its heads written anew for a client. How the
 * bytes are cut makes no difference; and what is written is one head, framed as it was read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "stream/response.h"

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

struct seen {
	struct sp_response_form form;
	bool to_head, nested;
	struct sp_response_head last;
	uint64_t sum;
	size_t body, heads;
};

static void add(struct seen *seen, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		seen->sum = (seen->sum ^ (unsigned char)bytes[i]) * 1099511628211u;
}

static bool take_body(void *context, const char *bytes, size_t size)
{
	struct seen *seen = context;

	add(seen, bytes, size);
	seen->body += size;
	return true;
}

static bool take_head(void *context, const struct sp_response_head *head);
static const struct sp_response_handlers HANDLERS = {.head = take_head, .body = take_body};

/* What is written is read as the same. */
static void read_again(
    const struct seen *seen, const struct sp_response_head *head, const char *text, size_t size)
{
	struct sp_response *response = malloc(sizeof(*response));
	struct seen again = {.to_head = seen->to_head, .nested = true};

	must(response != NULL);
	sp_response_init(response, seen->to_head, head->status == 101, &HANDLERS, &again);
	must(sp_response_read(response, text, size) == size);
	must(again.heads == 1 && again.last.status == head->status);
	must(again.last.is_bare == head->is_bare);
	if (!head->is_bare)
		must(
		    again.last.has_length == head->has_length && again.last.length == head->length);
	free(response);
}

static bool take_head(void *context, const struct sp_response_head *head)
{
	struct seen *seen = context;
	char *text;
	size_t size;

	seen->heads++;
	seen->last = *head;
	if (seen->nested)
		return true;
	text = malloc(SP_RESPONSE_PRINT_MAX);
	must(text != NULL);
	size = sp_response_print(head, &seen->form, text, SP_RESPONSE_PRINT_MAX);
	add(seen, text, size);
	if (size > 0 && size < SP_HEAD_MAX && head->count + 4 < SP_HEAD_FIELDS)
		read_again(seen, head, text, size);
	free(text);
	return size > 0;
}

static enum sp_response_state read_all(
    uint8_t how, const char *bytes, size_t size, size_t step, struct seen *ret, size_t *ret_used)
{
	struct sp_response *response = malloc(sizeof(*response));
	enum sp_response_state state;
	size_t at = 0;

	must(response != NULL);
	*ret = (struct seen){
	    .form = {.old = how & 1, .keep_alive = how & 2, .prefix = how & 4 ? "/p" : ""},
	    .to_head = how & 8};
	sp_response_init(response, how & 8, how & 16, &HANDLERS, ret);
	while (at < size && response->state <= SP_RESPONSE_BODY) {
		size_t n = size - at < step ? size - at : step;
		size_t used = sp_response_read(response, bytes + at, n);
		must(used <= n && (used == n || response->state > SP_RESPONSE_BODY));
		at += used;
	}
	sp_response_end(response);
	state = response->state;
	free(response);
	*ret_used = at;
	return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data + 1;
	struct seen whole, cut;
	size_t used, again;
	enum sp_response_state state;

	if (size == 0)
		return 0;
	state = read_all(data[0], bytes, size - 1, size, &whole, &used);
	for (size_t step = 1; step <= 97; step += 32) {
		/* A head is looked for anew with each piece. */
		if (size / step > 2048)
			continue;
		must(read_all(data[0], bytes, size - 1, step, &cut, &again) == state);
		if (state != SP_RESPONSE_BAD)
			must(whole.sum == cut.sum && whole.body == cut.body &&
			     whole.heads == cut.heads && used == again);
	}
	return 0;
}
