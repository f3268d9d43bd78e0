/* Routes and identities: closed, in their forms, and the same after the round trip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/json.h"
#include "record/route.h"

#define UID     "0b9f1c2d-3e4f-5061-7283-94a5b6c7d8e9"
#define KUBE    "\"substrate\":\"kubernetes\",\"pod_uid\":\"" UID "\","
#define HEAD    "{\"execution\":7,\"worker\":\"worker-a\","
#define TAIL    "\"activation\":\"act-19\",\"attempt\":1}"
#define ROUTE   HEAD KUBE TAIL
#define ON_HOST HEAD "\"substrate\":\"host\"," TAIL

static json_t *parsed(const char *text)
{
	json_t *value = NULL;
	struct sp_err err = {0};

	if (sp_json_parse(text, strlen(text), &value, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return value;
}

static void a_route_survives_the_round_trip(void **state)
{
	static const char *const texts[] = {ROUTE, ON_HOST,
	    "{\"execution\":9007199254740991,\"worker\":\"w\",\"substrate\":\"host\","
	    "\"activation\":\"a\",\"attempt\":9007199254740991}"};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		sp_auto_json json_t *object = parsed(texts[i]), *back = NULL;
		sp_auto_free char *text = NULL;
		struct sp_route route;
		assert_int_equal(sp_route_parse(object, &route, NULL), 0);
		back = sp_route_json(&route);
		text = sp_json_text(back);
		assert_string_equal(text, texts[i]);
	}
}

static void a_route_is_taken_apart(void **state)
{
	sp_auto_json json_t *object = parsed(ROUTE), *host = parsed(ON_HOST);
	struct sp_route route;

	(void)state;
	assert_int_equal(sp_route_parse(object, &route, NULL), 0);
	assert_int_equal(route.execution, 7);
	assert_int_equal(route.attempt, 1);
	assert_int_equal(route.substrate, SP_SUBSTRATE_KUBERNETES);
	assert_string_equal(route.worker, "worker-a");
	assert_string_equal(route.pod_uid, UID);
	assert_string_equal(route.activation, "act-19");
	assert_int_equal(sp_route_parse(host, &route, NULL), 0);
	assert_int_equal(route.substrate, SP_SUBSTRATE_HOST);
	assert_string_equal(route.pod_uid, "");
}

static void whatever_is_not_exactly_a_route_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
	    {"{}", "route: `execution` is missing"},
	    {"{\"execution\":7," KUBE TAIL, "route: `worker` is missing"},
	    {HEAD TAIL, "route: `substrate` is missing"},
	    {HEAD KUBE "\"attempt\":1}", "route: `activation` is missing"},
	    {HEAD KUBE "\"activation\":\"a\"}", "route: `attempt` is missing"},
	    {HEAD KUBE "\"owner\":\"x\"," TAIL, "route: unknown field `owner`"},
	    {HEAD KUBE "\"Attempt\":1," TAIL, "route: unknown field `Attempt`"},
	    {HEAD "\"substrate\":\"kubernetes\"," TAIL,
		"route: `pod_uid` is missing on kubernetes"},
	    {HEAD "\"substrate\":\"host\",\"pod_uid\":\"" UID "\"," TAIL,
		"route: `pod_uid` on substrate host"},
	    {HEAD "\"substrate\":\"vm\"," TAIL,
		"route: `substrate` is neither kubernetes nor host"},
	    {HEAD "\"substrate\":\"Host\"," TAIL,
		"route: `substrate` is neither kubernetes nor host"},
	    {HEAD "\"substrate\":\"kubernetes\",\"pod_uid\":\"\"," TAIL,
		"route: `pod_uid` is no lower-case UUID"},
	    {HEAD "\"substrate\":\"kubernetes\",\"pod_uid\":"
		  "\"0B9F1C2D-3E4F-5061-7283-94A5B6C7D8E9\"," TAIL,
		"route: `pod_uid` is no lower-case UUID"},
	    {HEAD "\"substrate\":\"kubernetes\",\"pod_uid\":null," TAIL,
		"route: `pod_uid` is not a string"},
	    {"{\"execution\":0,\"worker\":\"w\"," KUBE TAIL, "route: `execution` is below 1"},
	    {"{\"execution\":-7,\"worker\":\"w\"," KUBE TAIL, "route: `execution` is below 1"},
	    {"{\"execution\":\"7\",\"worker\":\"w\"," KUBE TAIL,
		"route: `execution` is not a whole number"},
	    {HEAD KUBE "\"activation\":\"a\",\"attempt\":0}", "route: `attempt` is below 1"},
	    {"{\"execution\":7,\"worker\":\"\"," KUBE TAIL,
		"route: `worker`: `` is no id ([A-Za-z0-9][A-Za-z0-9._-]{0,127})"},
	    {"{\"execution\":7,\"worker\":\"a/b\"," KUBE TAIL,
		"route: `worker`: `a/b` is no id ([A-Za-z0-9][A-Za-z0-9._-]{0,127})"},
	    {HEAD KUBE "\"activation\":\"a b\",\"attempt\":1}",
		"route: `activation`: `a b` is no id ([A-Za-z0-9][A-Za-z0-9._-]{0,127})"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		sp_auto_json json_t *object = parsed(cases[i].text);
		struct sp_route route = {.execution = 77};
		struct sp_err err = {0};
		assert_int_equal(sp_route_parse(object, &route, &err), SP_E_BAD_RECORD);
		assert_string_equal(err.message, cases[i].words);
		assert_int_equal(route.execution, 77);
	}
}

static void an_identity_is_sandbox_and_route(void **state)
{
	static const struct {
		const char *text, *words; /* NULL: taken */
	} cases[] = {
	    {"{\"sandbox\":\"s-42\",\"route\":" ROUTE "}", NULL},
	    {"{\"route\":" ROUTE "}", "identity: `sandbox` is missing"},
	    {"{\"sandbox\":\"s-42\"}", "identity: `route` is missing"},
	    {"{\"sandbox\":\"s-42\",\"route\":" ROUTE ",\"state\":\"active\"}",
		"identity: unknown field `state`"},
	    {"{\"sandbox\":\"../x\",\"route\":" ROUTE "}",
		"`sandbox`: `../x` is no id ([A-Za-z0-9][A-Za-z0-9._-]{0,127})"},
	    {"{\"sandbox\":\"s-42\",\"route\":{}}", "route: `execution` is missing"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		sp_auto_json json_t *object = parsed(cases[i].text);
		struct sp_identity identity = {0};
		struct sp_err err = {0};
		int bad = sp_identity_parse(object, &identity, &err);
		assert_int_equal(bad, cases[i].words ? SP_E_BAD_RECORD : 0);
		assert_string_equal(err.message, cases[i].words ? cases[i].words : "");
		assert_string_equal(identity.sandbox, cases[i].words ? "" : "s-42");
	}
}

static void the_longest_ids_fit(void **state)
{
	char id[SP_ID_MAX + 2], copy[SP_ID_MAX + 1] = "untouched", text[1024];
	struct sp_route route;

	(void)state;
	memset(id, 'x', sizeof(id));
	id[SP_ID_MAX] = '\0';
	assert_int_equal(sp_id_copy(id, "worker", copy, NULL), 0);
	assert_string_equal(copy, id);
	(void)snprintf(text, sizeof(text),
	    "{\"execution\":7,\"worker\":\"%s\"," KUBE "\"activation\":\"%s\",\"attempt\":1}", id,
	    id);
	sp_auto_json json_t *object = parsed(text), *back = NULL;
	sp_auto_free char *written = NULL;
	assert_int_equal(sp_route_parse(object, &route, NULL), 0);
	back = sp_route_json(&route);
	written = sp_json_text(back);
	assert_string_equal(written, text);
	id[SP_ID_MAX] = 'x';
	id[SP_ID_MAX + 1] = '\0';
	(void)strcpy(copy, "untouched");
	assert_int_equal(sp_id_copy(id, "worker", copy, NULL), SP_E_BAD_RECORD);
	assert_string_equal(copy, "untouched");
}

static void equality_sees_every_field(void **state)
{
	static const char *const others[] = {
	    "{\"execution\":8,\"worker\":\"worker-a\"," KUBE TAIL,
	    "{\"execution\":7,\"worker\":\"worker-b\"," KUBE TAIL,
	    HEAD "\"substrate\":\"kubernetes\",\"pod_uid\":"
		 "\"0b9f1c2d-3e4f-5061-7283-94a5b6c7d8e0\"," TAIL,
	    HEAD KUBE "\"activation\":\"act-20\",\"attempt\":1}",
	    HEAD KUBE "\"activation\":\"act-19\",\"attempt\":2}",
	    ON_HOST,
	};
	sp_auto_json json_t *object = parsed(ROUTE);
	struct sp_route route, other;

	(void)state;
	assert_int_equal(sp_route_parse(object, &route, NULL), 0);
	assert_true(sp_route_equal(&route, &route));
	for (size_t i = 0; i < SP_COUNT(others); i++) {
		sp_auto_json json_t *different = parsed(others[i]);
		assert_int_equal(sp_route_parse(different, &other, NULL), 0);
		assert_false(sp_route_equal(&route, &other));
		assert_false(sp_route_equal(&other, &route));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_route_survives_the_round_trip),
	    cmocka_unit_test(a_route_is_taken_apart),
	    cmocka_unit_test(whatever_is_not_exactly_a_route_is_refused),
	    cmocka_unit_test(an_identity_is_sandbox_and_route),
	    cmocka_unit_test(the_longest_ids_fit),
	    cmocka_unit_test(equality_sees_every_field),
	};

	return cmocka_run_group_tests_name("route", tests, NULL, NULL);
}
