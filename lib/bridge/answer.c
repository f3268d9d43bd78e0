/* One reader for both hops; what differs is whom it comes from. */
#include "bridge/answer.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"
#include "record/scan.h"
#include "record/span.h"

#define NUMBER_SIZE 17 /* digits of 2^53 - 1, and a NUL */

static int take_number(const char *text, uint64_t *ret)
{
	int64_t number;

	if (!sp_number_parse(text, 1, SP_INT_MAX, &number))
		return SP_E_BAD_RECORD;
	*ret = (uint64_t)number;
	return 0;
}

/* The usual answer, {"id","status":"ok","result":{}}, without a tree. */
static bool read_quick(const char *line, size_t size, struct sp_answer *answer)
{
	struct sp_scan_member members[3];
	const struct sp_scan_member *id, *status, *result;
	char number[NUMBER_SIZE];
	unsigned count;

	if (!sp_json_scan(line, size, members, SP_COUNT(members), &count) || count != 3)
		return false;
	id = sp_scan_find(members, count, "id");
	status = sp_scan_find(members, count, "status");
	result = sp_scan_find(members, count, "result");
	if (!id || !status || !result || !id->plain || id->size - 2 >= sizeof(number) ||
	    !sp_scan_is(status, "ok") || result->kind != '{')
		return false;
	memcpy(number, id->value + 1, id->size - 2);
	number[id->size - 2] = '\0';
	answer->result = result->value;
	answer->result_size = result->size;
	return take_number(number, &answer->number) == 0;
}

static int read_slowly(const char *line, size_t size, struct sp_answer *answer, struct sp_err *err)
{
	const char *id;
	int bad = sp_json_parse(line, size, &answer->record, err);

	if (bad)
		return sp_err_prefix(err, bad, "answer");
	id = json_string_value(json_object_get(answer->record, "id"));
	if (!id || take_number(id, &answer->number))
		return sp_fail(err, SP_E_BAD_RECORD, "answer: `id` is no number of a request");
	return 0;
}

int sp_answer_read(const char *line, size_t size, struct sp_answer *ret, struct sp_err *err)
{
	struct sp_answer answer = {0};
	int bad = 0;

	if (!read_quick(line, size, &answer)) {
		answer = (struct sp_answer){0};
		bad = read_slowly(line, size, &answer, err);
	}
	if (bad)
		sp_answer_done(&answer);
	else
		*ret = answer;
	return bad;
}

void sp_answer_done(struct sp_answer *answer)
{
	json_decref(answer->record);
	*answer = (struct sp_answer){0};
}

static bool is(const json_t *record, const char *name, const char *value)
{
	const char *text = json_string_value(json_object_get(record, name));

	return text && strcmp(text, value) == 0;
}

int sp_answer_of_guest(const struct sp_answer *answer, struct sp_err *err)
{
	const json_t *record = answer->record;
	int bad = record ? sp_result_check(record, false, NULL, err) : 0;

	if (bad || !record)
		return bad;
	if (!is(record, "status", "ok") &&
	    !(is(record, "status", "error") && is(record, "error", "op")))
		return sp_fail(err, SP_E_BAD_RECORD, "answer: not for a guest to say");
	return 0;
}

bool sp_answer_of_stream(const struct sp_answer *answer, int64_t *ret_from)
{
	const json_t *from = json_object_get(answer->record, "from");
	int64_t position = from ? json_integer_value(from) : -1;

	if (!answer->record || !is(answer->record, "status", "open") ||
	    json_object_size(answer->record) != (from ? 3 : 2) ||
	    (from && (!json_is_integer(from) || position < 0)))
		return false;
	if (ret_from)
		*ret_from = position;
	return true;
}

int sp_answer_of_manager(const struct sp_answer *answer, struct sp_err *err)
{
	const json_t *record = answer->record;
	int bad = record ? sp_result_check(record, false, NULL, err) : 0;

	if (bad || !record)
		return bad;
	if (is(record, "status", "open"))
		return sp_fail(err, SP_E_BAD_RECORD, "answer: `open` where no stream was asked");
	return 0;
}

bool sp_answer_is_open(const struct sp_answer *answer)
{
	return answer->record && sp_result_check(answer->record, false, NULL, NULL) == 0 &&
	       is(answer->record, "status", "open");
}

bool sp_answer_is_ok(const struct sp_answer *answer)
{
	return !answer->record || is(answer->record, "status", "ok");
}

static char *splice_result(const struct sp_answer *answer, const char *id, size_t *ret_size)
{
	static const char before[] = "\"status\":\"ok\",\"result\":";
	size_t id_size = id ? strlen(id) : 0;
	size_t room = 8 + id_size + sizeof(before) + answer->result_size + 2;
	char *text = malloc(room), *at = text;

	if (!text)
		return NULL;
	*at++ = '{';
	if (id) {
		at = mempcpy(at, "\"id\":", 5);
		at = mempcpy(at, id, id_size);
		*at++ = ',';
	}
	at = mempcpy(at, before, sizeof(before) - 1);
	at = mempcpy(at, answer->result, answer->result_size);
	*at++ = '}';
	*at = '\0';
	*ret_size = (size_t)(at - text);
	return text;
}

char *sp_answer_under(const struct sp_answer *answer, const char *id, size_t *ret_size)
{
	sp_auto_json json_t *record = NULL, *name = NULL;
	char *text;

	if (!answer->record)
		return splice_result(answer, id, ret_size);
	record = json_copy(answer->record);
	name = id ? json_loads(id, JSON_DECODE_ANY, NULL) : NULL;
	if (!record || (id && json_object_set(record, "id", name) < 0))
		return NULL;
	if (!id)
		(void)json_object_del(record, "id");
	text = sp_json_text(record);
	if (text)
		*ret_size = strlen(text);
	return text;
}
