/* Trees: tar out, tar in. */
#include <limits.h>
#include <string.h>
#include "base/util.h"
#include "client/args.h"
#include "record/result.h"
#include "spacestream/serve_transfer.h"

#define TAR "application/x-tar"

static void begin_answer(struct transfer *transfer)
{
	if (!transfer->begun)
		web_answer_chunks(transfer->web, TAR);
	transfer->begun = true;
}

static void take_output(struct transfer *transfer, const char *bytes, size_t size)
{
	begin_answer(transfer);
	web_answer_chunk(transfer->web, bytes, size);
}

static void end_get(struct transfer *transfer)
{
	struct web *web = transfer->web;

	if (!transfer_succeeded(transfer)) {
		transfer_answer(transfer, 0, transfer_record(transfer));
		return;
	}
	begin_answer(transfer);
	web->server->outcomes[SERVE_OK]++;
	web_answer_end(web);
	web_next(web);
}

static void no_output(struct transfer *transfer, const char *bytes, size_t size)
{
	(void)transfer;
	(void)bytes;
	(void)size;
}

static void end_put(struct transfer *transfer)
{
	const struct sp_status *status = &transfer->status;

	if (transfer_succeeded(transfer))
		transfer_answer(transfer, 0,
		    sp_result_ok(
			NULL, json_pack("{s:I, s:I}", "entries", (json_int_t)status->entries,
				  "bytes", (json_int_t)status->bytes)));
	else
		transfer_answer(transfer, 0, transfer_record(transfer));
}

static const struct transfer_kind GET = {.op = "tree.get", .output = take_output, .over = end_get};
static const struct transfer_kind PUT = {
    .op = "tree.put", .ends_input = true, .output = no_output, .over = end_put};

static int take_query(const struct sp_asked *asked, json_t **ret, struct sp_err *err)
{
	char text[PATH_MAX];
	struct sp_target_value path = {.name = "path", .text = text, .room = sizeof(text)};
	int bad = sp_target_query(asked, &path, 1, err);

	if (!bad && !path.given)
		bad = sp_fail(err, SP_E_BAD_RECORD, "query: path= is missing");
	if (!bad)
		*ret = sp_args_path(text);
	return bad;
}

static void serve(struct web *web, const struct sp_asked *asked, const struct transfer_kind *kind)
{
	char sandbox[SP_ID_MAX + 1];
	struct transfer *transfer;
	struct sp_err err = {0};
	bool expects = false;
	json_t *args = NULL;

	if (!sp_target_id(&asked->parts[0], sandbox)) {
		web_fail(web, 404, SP_ERROR_BAD_RECORD, "there is nothing here");
		return;
	}
	if (!web_take_caller(web, asked->head) || !web_take_expectation(web, asked->head, &expects))
		return;
	/* Chunks alone show whether an answer is whole. */
	if (kind == &GET && asked->head->old) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, "a tree is for HTTP/1.1");
		return;
	}
	if (take_query(asked, &args, &err) < 0) {
		web_fail(web, 400, SP_ERROR_BAD_RECORD, err.message);
		return;
	}
	transfer = transfer_begin(web, kind, asked, sandbox, args, NULL);
	if (!transfer)
		return;
	transfer->expects = expects;
	transfer->input_over = kind == &GET;
}

void serve_tree_get(void *context, const struct sp_asked *asked)
{
	serve(context, asked, &GET);
}

void serve_tree_put(void *context, const struct sp_asked *asked)
{
	serve(context, asked, &PUT);
}
