/* One operation: what was asked, on its way, and its answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"
#include "spacestream/serve.h"

void op_free(struct op *op)
{
	struct web *web = op->web;

	if (op->call)
		sp_call_cancel(op->call);
	if (op->caller)
		caller_leave(web->server, op->caller);
	TAILQ_REMOVE(&web->ops, op, entry);
	web->op_count--;
	free(op->text);
	free(op);
}

static void answer_text(
    struct op *op, char *text /* stolen */, size_t size, enum serve_outcome outcome)
{
	op->web->server->outcomes[outcome]++;
	op->text = text;
	op->size = size;
	op->status = outcome_status(outcome);
	if (!text)
		op->web->broken = true;
}

static void answer(struct op *op, json_t *record /* stolen */)
{
	char *text = record ? sp_json_text(record) : NULL;

	answer_text(op, text, text ? strlen(text) : 0,
	    text ? outcome_of(record) : SERVE_ERROR + SP_ERROR_INTERNAL);
	json_decref(record);
}

static void ended(void *context, const struct sp_call_end *end)
{
	struct op *op = context;

	op->call = NULL;
	if (end->bad) {
		/* As the filters say it: by its line, as ids may be repeated. */
		json_decref(end->record);
		answer(op, sp_result_bad_record(NULL, op->number, end->bad));
	} else if (end->record) {
		answer(op, end->record);
	} else {
		answer_text(op, end->text, end->size, SERVE_OK);
	}
	web_advance(op->web);
}

static void overloaded(struct op *op, const json_t *record, int status, const char *words)
{
	const char *id = json_string_value(json_object_get(record, "id"));

	if (id && strlen(id) > SP_REQUEST_ID_MAX)
		id = NULL;
	answer(op, sp_result_error(id, SP_ERROR_OVERLOADED, false, words));
	op->status = status;
}

static int start(struct op *op, const char *line, size_t size, struct sp_err *err)
{
	struct server *server = op->web->server;
	sp_auto_json json_t *record = NULL;
	int bad = line ? sp_json_parse(line, size, &record, err)
		       : sp_fail(err, SP_E_BAD_RECORD, "line longer than 256 KiB");

	if (bad)
		return bad;
	if (server->flying + server->streams >= SP_WINDOW_MAX) {
		overloaded(op, record, 503, "too many requests are in flight here");
		return 0;
	}
	if (!caller_take(server, &op->web->who, &op->caller)) {
		overloaded(op, record, 429, "too many requests of this caller are in flight");
		return 0;
	}
	return sp_call_start(
	    server->setup.path, &op->web->who, record, size, ended, op, &op->call, err);
}

int op_begin(struct web *web, const char *line, size_t size, size_t number)
{
	struct op *op = calloc(1, sizeof(*op));
	struct sp_err err = {0};
	int bad;

	if (!op)
		return -ENOMEM;
	op->web = web;
	op->number = number;
	TAILQ_INSERT_TAIL(&web->ops, op, entry);
	web->op_count++;
	bad = start(op, line, size, &err);
	if (bad == SP_E_BAD_RECORD) {
		answer(op, sp_result_bad_record(NULL, number, err.message));
		return 0;
	}
	return bad;
}
