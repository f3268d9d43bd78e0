/* Requests in each state: exactly its fields, nothing believed by chance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/json.h"
#include "record/request.h"

#define ASKED "\"op\":\"file.read\",\"sandbox\":\"s-42\",\"args\":{\"path\":\"/x\"}"
#define ID    "\"id\":\"1\","
#define ROUTE                                                                                      \
	"{\"execution\":7,\"worker\":\"w\",\"substrate\":\"host\",\"activation\":\"a\","           \
	"\"attempt\":1}"
#define ADDED                                                                                      \
	",\"caller\":\"uid:0\",\"route\":" ROUTE ",\"endpoint\":\"unix:/m\","                      \
	"\"access\":[\"file.*\",\"ping\"],\"authorized_until\":\"2026-11-29T15:36:07Z\","          \
	"\"attempted\":1"
#define CAP ",\"cap\":\"v4.public.x\""

static json_t *parsed(const char *text)
{
	json_t *value = NULL;
	struct sp_err err = {0};

	if (sp_json_parse(text, strlen(text), &value, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return value;
}

enum form { F_ASKED, F_ROUTED, F_MINTED, F_WIRE, F_GUEST, FORMS };

static int parse(const json_t *record, enum form form, struct sp_request *ret, struct sp_err *err)
{
	static const enum sp_state states[] = {SP_STATE_ASKED, SP_STATE_ROUTED, SP_STATE_MINTED};

	if (form == F_WIRE)
		return sp_request_parse_wire(record, ret, err);
	if (form == F_GUEST)
		return sp_request_parse_guest(record, ret, err);
	return sp_request_parse(record, states[form], ret, err);
}

static const char *const WHOLE[FORMS] = {
    [F_ASKED] = "{" ID ASKED "}",
    [F_ROUTED] = "{" ID ASKED ADDED "}",
    [F_MINTED] = "{" ID ASKED ADDED CAP "}",
    [F_WIRE] = "{" ID ASKED CAP "}",
    [F_GUEST] = "{" ID ASKED "}",
};

static void each_form_is_taken_by_itself_alone(void **state)
{
	(void)state;
	for (enum form text = 0; text < FORMS; text++)
		for (enum form form = 0; form < FORMS; form++) {
			sp_auto_json json_t *record = parsed(WHOLE[text]);
			struct sp_request request = {0};
			bool same = strcmp(WHOLE[text], WHOLE[form]) == 0;
			int bad = parse(record, form, &request, NULL);
			if (bad != (same ? 0 : SP_E_BAD_RECORD) || (bad && request.op))
				fail_msg("%s as %d: %d", WHOLE[text], (int)form, bad);
		}
}

static void an_id_may_be_missing_before_the_wire_only(void **state)
{
	static const char *const without[FORMS] = {"{" ASKED "}", "{" ASKED ADDED "}",
	    "{" ASKED ADDED CAP "}", "{" ASKED CAP "}", "{" ASKED "}"};

	(void)state;
	for (enum form form = 0; form < FORMS; form++) {
		sp_auto_json json_t *record = parsed(without[form]);
		struct sp_request request = {.id = "untouched"};
		struct sp_err err = {0};
		int bad = parse(record, form, &request, &err);
		assert_int_equal(bad, form >= F_WIRE ? SP_E_BAD_RECORD : 0);
		if (bad)
			assert_string_equal(err.message, "request: `id` is missing");
		else
			assert_null(request.id);
	}
}

static void a_view_shows_every_field(void **state)
{
	sp_auto_json json_t *record = parsed(WHOLE[F_MINTED]);
	struct sp_request request;

	(void)state;
	assert_int_equal(sp_request_parse(record, SP_STATE_MINTED, &request, NULL), 0);
	assert_string_equal(request.id, "1");
	assert_ptr_equal(request.op, sp_op_find("file.read"));
	assert_string_equal(request.sandbox, "s-42");
	assert_ptr_equal(request.args, json_object_get(record, "args"));
	assert_string_equal(request.caller, "uid:0");
	assert_int_equal(request.route.execution, 7);
	assert_ptr_equal(request.route_json, json_object_get(record, "route"));
	assert_string_equal(request.endpoint, "unix:/m");
	assert_int_equal(json_array_size(request.access), 2);
	assert_int_equal(request.authorized_until, 1795966567);
	assert_int_equal(request.attempted, 1);
	assert_string_equal(request.cap, "v4.public.x");
}

static void what_a_caller_must_not_write_is_refused_as_asked(void **state)
{
	static const char *const extra[] = {"caller", "route", "endpoint", "access",
	    "authorized_until", "attempted", "cap", "status", "request", "decision", "Op", "owner"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(extra); i++) {
		char text[256], words[128];
		struct sp_request request = {0};
		struct sp_err err = {0};
		(void)snprintf(text, sizeof(text), "{" ID ASKED ",\"%s\":1}", extra[i]);
		sp_auto_json json_t *record = parsed(text);
		assert_int_equal(
		    sp_request_parse(record, SP_STATE_ASKED, &request, &err), SP_E_BAD_RECORD);
		(void)snprintf(words, sizeof(words), "request: unknown field `%s`", extra[i]);
		assert_string_equal(err.message, words);
	}
}

static void fields_out_of_their_form(void **state)
{
	static const struct {
		enum form form;
		const char *text, *words;
	} cases[] = {
	    {F_ASKED, "{}", "request: `op` is missing"},
	    {F_ASKED, "{\"op\":\"ping\",\"args\":{}}", "request: `sandbox` is missing"},
	    {F_ASKED, "{\"op\":\"ping\",\"sandbox\":\"s\"}", "request: `args` is missing"},
	    {F_ASKED, "{\"op\":\"ping\",\"sandbox\":\"s\",\"args\":[]}",
		"request: `args` is not an object"},
	    {F_ASKED, "{\"id\":7,\"op\":\"ping\",\"sandbox\":\"s\",\"args\":{}}",
		"request: `id` is not a string"},
	    {F_ASKED, "{\"id\":null,\"op\":\"ping\",\"sandbox\":\"s\",\"args\":{}}",
		"request: `id` is not a string"},
	    {F_ASKED, "{\"id\":\"\",\"op\":\"ping\",\"sandbox\":\"s\",\"args\":{}}",
		"request: `id` is not of 1 to 128 bytes"},
	    {F_ASKED, "{\"op\":\"pong\",\"sandbox\":\"s\",\"args\":{}}",
		"request: unknown operation `pong`"},
	    {F_ASKED, "{\"op\":\"guest.rekey\",\"sandbox\":\"s\",\"args\":{}}",
		"request: unknown operation `guest.rekey`"},
	    {F_ASKED, "{\"op\":\"ping\",\"sandbox\":\"../s\",\"args\":{}}",
		"request: `sandbox` is no id"},
	    {F_ASKED, "{\"op\":\"ping\",\"sandbox\":\"\",\"args\":{}}",
		"request: `sandbox` is no id"},
	    {F_ROUTED,
		"{" ASKED ",\"caller\":\"\",\"route\":" ROUTE ",\"endpoint\":\"e\",\"access\":[],"
		"\"authorized_until\":\"2026-11-29T15:36:07Z\",\"attempted\":1}",
		"request: `caller` is empty"},
	    {F_ROUTED,
		"{" ASKED ",\"caller\":\"c\",\"route\":{},\"endpoint\":\"e\",\"access\":[],"
		"\"authorized_until\":\"2026-11-29T15:36:07Z\",\"attempted\":1}",
		"route: `execution` is missing"},
	    {F_ROUTED,
		"{" ASKED ",\"caller\":\"c\",\"route\":" ROUTE ",\"endpoint\":\"e\",\"access\":[],"
		"\"authorized_until\":\"2026-02-30T15:36:07Z\",\"attempted\":1}",
		"request: `authorized_until` is no time"},
	    {F_ROUTED,
		"{" ASKED ",\"caller\":\"c\",\"route\":" ROUTE ",\"endpoint\":\"e\",\"access\":[],"
		"\"authorized_until\":\"2026-11-29T15:36:07Z\",\"attempted\":3}",
		"request: `attempted` is neither 1 nor 2"},
	    {F_ROUTED,
		"{" ASKED ",\"caller\":\"c\",\"route\":" ROUTE
		",\"endpoint\":\"e\",\"access\":[\"ping\",\"*\"],"
		"\"authorized_until\":\"2026-11-29T15:36:07Z\",\"attempted\":1}",
		"request: `access` names no operation at 1"},
	    {F_ROUTED,
		"{" ASKED ",\"caller\":\"c\",\"route\":" ROUTE ",\"endpoint\":\"e\",\"access\":[7],"
		"\"authorized_until\":\"2026-11-29T15:36:07Z\",\"attempted\":1}",
		"request: `access` names no operation at 0"},
	    {F_WIRE, "{" ID ASKED "}", "request: `cap` is missing"},
	    {F_WIRE, "{" ID ASKED ",\"cap\":7}", "request: `cap` is not a string"},
	    {F_WIRE, "{" ID ASKED CAP ",\"caller\":\"c\"}", "request: unknown field `caller`"},
	    {F_GUEST, "{" ID ASKED CAP "}", "request: unknown field `cap`"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		sp_auto_json json_t *record = parsed(cases[i].text);
		struct sp_request request = {0};
		struct sp_err err = {0};
		assert_int_equal(parse(record, cases[i].form, &request, &err), SP_E_BAD_RECORD);
		assert_string_equal(err.message, cases[i].words);
		assert_null(request.op);
	}
}

static json_t *asked_with_id(size_t length)
{
	char id[SP_REQUEST_ID_MAX + 2];

	memset(id, 'i', length);
	id[length] = '\0';
	return json_pack("{ss ss ss s{}}", "id", id, "op", "ping", "sandbox", "s", "args");
}

static void bounds_are_exact(void **state)
{
	sp_auto_json json_t *longest = asked_with_id(SP_REQUEST_ID_MAX);
	sp_auto_json json_t *longer = asked_with_id(SP_REQUEST_ID_MAX + 1);
	sp_auto_json json_t *routed = parsed(WHOLE[F_ROUTED]);
	json_t *access = json_object_get(routed, "access");
	struct sp_request request;

	(void)state;
	assert_int_equal(sp_request_parse(longest, SP_STATE_ASKED, &request, NULL), 0);
	assert_int_equal(sp_request_parse(longer, SP_STATE_ASKED, &request, NULL), SP_E_BAD_RECORD);
	while (json_array_size(access) < SP_ACCESS_MAX)
		assert_int_equal(json_array_append_new(access, json_string("ping")), 0);
	assert_int_equal(sp_request_parse(routed, SP_STATE_ROUTED, &request, NULL), 0);
	assert_int_equal(json_array_append_new(access, json_string("ping")), 0);
	assert_int_equal(
	    sp_request_parse(routed, SP_STATE_ROUTED, &request, NULL), SP_E_BAD_RECORD);
}

static void the_state_is_told_by_fields(void **state)
{
	static const struct {
		const char *text;
		enum sp_state state;
	} cases[] = {
	    {"{}", SP_STATE_ASKED},
	    {"{" ASKED "}", SP_STATE_ASKED},
	    {"{" ASKED ADDED "}", SP_STATE_ROUTED},
	    {"{" ASKED ADDED CAP "}", SP_STATE_MINTED},
	    {"{\"status\":\"ok\",\"result\":{}}", SP_STATE_DONE},
	    {"{\"status\":\"refused\",\"request\":{" ASKED ADDED "}}", SP_STATE_DONE},
	    {"{\"status\":1,\"cap\":\"x\",\"route\":{}}", SP_STATE_DONE},
	};
	struct sp_request request;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		sp_auto_json json_t *record = parsed(cases[i].text);
		assert_int_equal(sp_request_state(record), cases[i].state);
		assert_int_equal(
		    sp_request_parse(record, SP_STATE_DONE, &request, NULL), SP_E_BAD_RECORD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_form_is_taken_by_itself_alone),
	    cmocka_unit_test(an_id_may_be_missing_before_the_wire_only),
	    cmocka_unit_test(a_view_shows_every_field),
	    cmocka_unit_test(what_a_caller_must_not_write_is_refused_as_asked),
	    cmocka_unit_test(fields_out_of_their_form),
	    cmocka_unit_test(bounds_are_exact),
	    cmocka_unit_test(the_state_is_told_by_fields),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
