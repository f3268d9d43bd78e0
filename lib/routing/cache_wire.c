/* Questions to the cache, in both directions. */
#include "routing/cache_wire.h"

#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

static const char *const KINDS[] = {
    [SP_QUESTION_GET] = "get",
    [SP_QUESTION_REJECT] = "reject",
    [SP_QUESTION_RENEW] = "renew",
    [SP_QUESTION_DROP] = "drop",
    [SP_QUESTION_STATS] = "stats",
    [SP_QUESTION_DUMP] = "dump",
};

/* The fields of every kind, and which kinds have them. */
#define BIT(kind) (1u << (kind))
#define GET       BIT(SP_QUESTION_GET)
#define REJECT    BIT(SP_QUESTION_REJECT)
#define RENEW     BIT(SP_QUESTION_RENEW)
#define DROP      BIT(SP_QUESTION_DROP)
#define DUMP      BIT(SP_QUESTION_DUMP)

enum field { ASK, CALLER, SANDBOX, OP, PORT, PROTOCOL, CREDENTIAL, REJECTED, POSITION, FIELDS };

static const struct {
	const char *name;
	enum sp_json_kind kind;
	unsigned required, optional;
} FIELD_TABLE[FIELDS] = {
    [ASK] = {"ask", SP_JSON_STRING, ~0u, 0},
    [CALLER] = {"caller", SP_JSON_STRING, GET | REJECT | RENEW, DROP},
    [SANDBOX] = {"sandbox", SP_JSON_STRING, GET | REJECT | RENEW, DROP},
    [OP] = {"op", SP_JSON_STRING, 0, GET},
    [PORT] = {"port", SP_JSON_INTEGER, 0, GET},
    [PROTOCOL] = {"protocol", SP_JSON_STRING, 0, GET},
    [CREDENTIAL] = {"credential", SP_JSON_STRING, 0, GET | RENEW},
    [REJECTED] = {"rejected", SP_JSON_OBJECT, REJECT, 0},
    [POSITION] = {"position", SP_JSON_INTEGER, 0, DUMP},
};

static int take_kind(const json_t *object, enum sp_question_kind *ret, struct sp_err *err)
{
	const char *name = json_string_value(json_object_get(object, "ask"));

	for (unsigned i = 0; name && i < SP_COUNT(KINDS); i++)
		if (strcmp(KINDS[i], name) == 0) {
			*ret = (enum sp_question_kind)i;
			return 0;
		}
	return sp_fail(err, SP_E_BAD_RECORD,
	    "question: `ask` is none of get, reject, renew, drop, stats, dump");
}

static int take_fields(
    const json_t *object, enum sp_question_kind kind, const json_t **values, struct sp_err *err)
{
	struct sp_json_field fields[FIELDS];
	size_t count = 0;

	for (size_t i = 0; i < FIELDS; i++) {
		bool required = FIELD_TABLE[i].required & BIT(kind);
		values[i] = NULL;
		if (required || FIELD_TABLE[i].optional & BIT(kind))
			fields[count++] = (struct sp_json_field){
			    FIELD_TABLE[i].name, FIELD_TABLE[i].kind, !required, &values[i]};
	}
	return sp_json_take(object, "question", fields, count, err);
}

static int take_caller(const char *caller, struct sp_question *question, struct sp_err *err)
{
	if (!sp_caller_valid(caller))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "question: `caller` is neither uid:N nor token:NAME");
	memcpy(question->caller, caller, strlen(caller) + 1);
	return 0;
}

static int take_sandbox(const char *sandbox, struct sp_question *question, struct sp_err *err)
{
	bool valid = question->kind == SP_QUESTION_DROP ? sp_sandbox_pattern_valid(sandbox)
							: sp_id_valid(sandbox);

	if (!valid)
		return sp_fail(err, SP_E_BAD_RECORD, "question: `sandbox` is no id");
	memcpy(question->sandbox, sandbox, strlen(sandbox) + 1);
	return 0;
}

static int take_op(const json_t **values, struct sp_question *question, struct sp_err *err)
{
	json_int_t port = json_integer_value(values[PORT]);
	enum sp_protocol protocol;

	question->protocol = -1;
	if (values[OP]) {
		question->op = sp_op_find(json_string_value(values[OP]));
		if (!question->op)
			return sp_fail(err, SP_E_BAD_RECORD, "question: `op` is no operation");
	}
	if (values[PORT]) {
		if (port < 1 || port > 65535)
			return sp_fail(err, SP_E_BAD_RECORD, "question: `port` is no port");
		question->port = (int)port;
	}
	if (values[PROTOCOL]) {
		if (!sp_protocol_parse(json_string_value(values[PROTOCOL]), &protocol))
			return sp_fail(err, SP_E_BAD_RECORD, "question: `protocol` is none");
		question->protocol = (int)protocol;
	}
	return 0;
}

static int take_credential(const json_t *value, struct sp_question *question, struct sp_err *err)
{
	size_t size = 0;

	question->has_credential = value != NULL;
	if (value && (!sp_base64_decode(json_string_value(value), json_string_length(value), true,
			  question->credential, sizeof(question->credential), &size) ||
			 size != sizeof(question->credential)))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "question: `credential` is not %d bytes in base64url", SP_CREDENTIAL_SIZE);
	return 0;
}

static int take_position(const json_t *value, struct sp_question *question, struct sp_err *err)
{
	question->position = json_integer_value(value);
	return question->position < 0
		   ? sp_fail(err, SP_E_BAD_RECORD, "question: `position` is below 0")
		   : 0;
}

int sp_question_parse(const char *line, size_t size, struct sp_question *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	const json_t *values[FIELDS] = {NULL};
	struct sp_question question = {0};
	int bad = sp_json_parse(line, size, &object, err);

	if (!bad)
		bad = take_kind(object, &question.kind, err);
	if (!bad)
		bad = take_fields(object, question.kind, values, err);
	if (!bad && values[CALLER])
		bad = take_caller(json_string_value(values[CALLER]), &question, err);
	if (!bad && values[SANDBOX])
		bad = take_sandbox(json_string_value(values[SANDBOX]), &question, err);
	if (!bad)
		bad = take_op(values, &question, err);
	if (!bad)
		bad = take_credential(values[CREDENTIAL], &question, err);
	if (!bad)
		bad = take_position(values[POSITION], &question, err);
	if (!bad && values[REJECTED])
		bad = sp_route_parse(values[REJECTED], &question.rejected, err);
	if (!bad)
		*ret = question;
	return bad;
}

static void put_text(struct sp_out *out, const char *name, const char *value)
{
	if (!value || !value[0])
		return;
	sp_out_text(out, name);
	sp_out_string(out, value, strlen(value));
}

static void put_number(struct sp_out *out, const char *name, int64_t value)
{
	if (value == 0)
		return;
	sp_out_text(out, name);
	sp_out_integer(out, value);
}

static void put_credential(const struct sp_question *question, struct sp_out *out)
{
	char text[64];

	if (!question->has_credential)
		return;
	sp_base64_encode(
	    question->credential, sizeof(question->credential), true, text, sizeof(text));
	put_text(out, ",\"credential\":", text);
}

static void put_rejected(const struct sp_question *question, struct sp_out *out)
{
	char text[SP_ROUTE_TEXT_SIZE];

	if (question->kind != SP_QUESTION_REJECT)
		return;
	sp_out_text(out, ",\"rejected\":");
	sp_out_put(out, text, sp_route_text(&question->rejected, text));
}

void sp_question_put(const struct sp_question *question, struct sp_out *out)
{
	bool ported = question->kind == SP_QUESTION_GET && question->protocol >= 0;

	put_text(out, "{\"ask\":", KINDS[question->kind]);
	put_text(out, ",\"caller\":", question->caller);
	put_text(out, ",\"sandbox\":", question->sandbox);
	put_text(out, ",\"op\":", question->op ? question->op->name : NULL);
	put_credential(question, out);
	put_number(out, ",\"port\":", question->port);
	put_text(out, ",\"protocol\":",
	    ported ? sp_protocol_name((enum sp_protocol)question->protocol) : NULL);
	put_rejected(question, out);
	put_number(out, ",\"position\":", question->position);
	sp_out_put(out, "}", 1);
}

char *sp_question_text(const struct sp_question *question)
{
	struct sp_out out = {.room = SP_QUESTION_MAX};
	char *text = malloc(SP_QUESTION_MAX + 1);

	if (!text)
		return NULL;
	out.at = text;
	sp_question_put(question, &out);
	text[out.used] = '\0';
	return text;
}

struct sp_cache_ask sp_question_ask(const struct sp_question *question)
{
	static const enum sp_cache_kind kinds[] = {[SP_QUESTION_GET] = SP_CACHE_GET,
	    [SP_QUESTION_REJECT] = SP_CACHE_REJECT,
	    [SP_QUESTION_RENEW] = SP_CACHE_RENEW};

	return (struct sp_cache_ask){.kind = kinds[question->kind],
	    .caller = question->caller,
	    .credential = question->has_credential ? question->credential : NULL,
	    .sandbox = question->sandbox,
	    .op = question->op,
	    .port = question->port,
	    .protocol = question->protocol,
	    .rejected = &question->rejected};
}
