/* spacerouted cache ...: one question each to the cache. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "cli/fields.h"
#include "cli/route_flags.h"
#include "cli/table.h"
#include "net/caller.h"
#include "record/json.h"
#include "record/reason.h"
#include "routing/bearer.h"
#include "spacerouted/verbs.h"

/* The answer, a new reference. 0, or the exit code, told. */
static int ask(struct sp_cli *cli, const struct sp_question *question, json_t **ret)
{
	const struct sp_config *config = sp_cli_config(cli);
	sp_auto_free char *text = sp_question_text(question);
	sp_auto_free char *line = NULL;
	struct sp_err err = {0};
	int bad;

	if (!config)
		return SP_EXIT_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	bad = text ? sp_call_once(spacerouted_socket(cli, config),
			 (int)config->registry_timeout_ms + 1000, text, strlen(text), &line, &err)
		   : sp_fail(&err, -ENOMEM, "out of memory");
	if (bad == -ENOENT || bad == -ECONNREFUSED)
		bad = sp_fail(
		    &err, bad, "%s; no cache serves there (spacerouted serve)", err.message);
	if (!bad)
		bad = sp_json_parse(line, strlen(line), ret, &err);
	return bad ? sp_cli_fail(cli, &err) : 0;
}

/* 11 for a refusal, 1 for an error and for what is not there. */
static int exit_of(const json_t *answer)
{
	const char *status = json_string_value(json_object_get(answer, "status"));

	if (status && strcmp(status, "refused") == 0)
		return SP_EXIT_DENY;
	return status && strcmp(status, "ok") == 0 ? SP_EXIT_DONE : SP_EXIT_FAILED;
}

static int put_answer(struct sp_cli *cli, json_t *answer)
{
	return sp_cli_json(cli) ? sp_cli_put_json(cli, json_incref(answer))
				: sp_cli_fields(cli, "field", answer, 2);
}

static int ask_and_print(struct sp_cli *cli, const struct sp_question *question)
{
	sp_auto_json json_t *answer = NULL;
	const char *effect;
	int bad = ask(cli, question, &answer), exit;

	if (bad)
		return bad;
	exit = exit_of(answer);
	effect = json_string_value(json_object_get(answer, "effect"));
	if (effect && strcmp(effect, "gone") == 0 && question->kind != SP_QUESTION_REJECT)
		exit = SP_EXIT_FAILED;
	return put_answer(cli, answer) ? SP_EXIT_FAILED : exit;
}

static int take_caller(struct sp_cli *cli, struct sp_question *question)
{
	const char *caller = sp_cli_text(cli, "caller");

	if (!caller)
		return 0;
	if (!sp_caller_valid(caller))
		return sp_cli_usage(
		    cli, "--caller: `%.140s` is neither uid:N nor token:NAME", caller);
	memcpy(question->caller, caller, strlen(caller) + 1);
	return 0;
}

static int take_key(struct sp_cli *cli, struct sp_question *question)
{
	const char *sandbox;

	question->protocol = -1;
	if (spacerouted_id(cli, "sandbox", &sandbox))
		return SP_EXIT_USAGE;
	memcpy(question->sandbox, sandbox, strlen(sandbox) + 1);
	return take_caller(cli, question);
}

static int take_credential(struct sp_cli *cli, struct sp_question *question)
{
	const char *path = sp_cli_text(cli, "token-file");
	struct sp_bearer bearer;
	struct sp_err err = {0};

	if (!path)
		return 0;
	if (sp_bearer_read(path, &bearer, &err) < 0)
		return sp_cli_fail(cli, &err);
	question->has_credential = true;
	memcpy(question->credential, bearer.credential, sizeof(bearer.credential));
	return 0;
}

static int take_op(struct sp_cli *cli, struct sp_question *question)
{
	const char *op = sp_cli_text(cli, "op"), *protocol = sp_cli_text(cli, "protocol");
	enum sp_protocol number;
	int64_t port;

	question->op = op ? sp_op_find(op) : NULL;
	if (op && !question->op)
		return sp_cli_usage(cli, "--op: `%.64s` is no operation", op);
	if (sp_cli_number(cli, "port", 0, 1, 65535, &port))
		return SP_EXIT_USAGE;
	question->port = (int)port;
	if (protocol && sp_protocol_parse(protocol, &number))
		question->protocol = (int)number;
	return 0;
}

int spacerouted_cache_get(struct sp_cli *cli)
{
	struct sp_question question = {.kind = SP_QUESTION_GET};
	int bad = take_key(cli, &question);

	if (!bad)
		bad = take_op(cli, &question);
	if (!bad)
		bad = take_credential(cli, &question);
	return bad ? bad : ask_and_print(cli, &question);
}

int spacerouted_cache_reject(struct sp_cli *cli)
{
	struct sp_question question = {.kind = SP_QUESTION_REJECT};
	struct sp_err err = {0};
	int bad = take_key(cli, &question);

	if (!bad && sp_cli_route(cli, &question.rejected, &err) < 0)
		bad = sp_cli_usage(cli, "%s", err.message);
	return bad ? bad : ask_and_print(cli, &question);
}

int spacerouted_cache_renew(struct sp_cli *cli)
{
	struct sp_question question = {.kind = SP_QUESTION_RENEW};
	int bad = take_key(cli, &question);

	if (!bad)
		bad = take_credential(cli, &question);
	return bad ? bad : ask_and_print(cli, &question);
}

int spacerouted_cache_drop(struct sp_cli *cli)
{
	struct sp_question question = {.kind = SP_QUESTION_DROP, .protocol = -1};
	const char *pattern = sp_cli_text(cli, "sandbox");
	bool all = sp_cli_flag(cli, "all"), some = pattern || sp_cli_text(cli, "caller");

	if (all == some)
		return sp_cli_usage(cli, "say which: --caller, --sandbox or both; or --all");
	if (pattern && !sp_sandbox_pattern_valid(pattern))
		return sp_cli_usage(
		    cli, "--sandbox: `%.140s` is no id and no pattern of one", pattern);
	if (pattern)
		memcpy(question.sandbox, pattern, strlen(pattern) + 1);
	if (take_caller(cli, &question))
		return SP_EXIT_USAGE;
	return ask_and_print(cli, &question);
}

/* `entries` goes up and down, all others only up. */
static int stats_as_prometheus(const json_t *counters)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)counters, name, value)
	{
		bool gauge = strcmp(name, "entries") == 0;
		const char *total = gauge ? "" : "_total";
		(void)printf("# TYPE space_cache_%s%s %s\nspace_cache_%s%s %lld\n", name, total,
		    gauge ? "gauge" : "counter", name, total, (long long)json_integer_value(value));
	}
	return SP_EXIT_DONE;
}

int spacerouted_cache_stats(struct sp_cli *cli)
{
	const struct sp_question question = {.kind = SP_QUESTION_STATS, .protocol = -1};
	sp_auto_json json_t *answer = NULL;
	json_t *counters;
	int bad = ask(cli, &question, &answer);

	if (bad)
		return bad;
	counters = json_object_get(answer, "counters");
	if (!counters)
		return put_answer(cli, answer) ? SP_EXIT_FAILED : exit_of(answer);
	if (sp_cli_flag(cli, "prometheus"))
		return stats_as_prometheus(counters);
	return sp_cli_json(cli) ? sp_cli_put_json(cli, json_incref(counters))
				: sp_cli_fields(cli, "counter", counters, 1);
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static int dump_row(struct sp_table *table, const json_t *entry)
{
	const json_t *route = json_object_get(entry, "route");
	char execution[24], revision[24];
	const char *cells[] = {text_of(entry, "caller"), text_of(entry, "sandbox"), execution,
	    text_of(route, "worker"), text_of(entry, "expires"), revision,
	    text_of(entry, "endpoint")};

	(void)snprintf(execution, sizeof(execution), "%lld",
	    (long long)json_integer_value(json_object_get(route, "execution")));
	(void)snprintf(revision, sizeof(revision), "%lld",
	    (long long)json_integer_value(json_object_get(entry, "revision")));
	return sp_table_add(table, SP_TONE_PLAIN, cells);
}

static int dump_part(struct sp_cli *cli, struct sp_table *table, const json_t *entries)
{
	json_t *entry;
	size_t index;

	json_array_foreach(entries, index, entry)
	{
		if (table ? dump_row(table, entry) < 0
			  : sp_cli_put_json(cli, json_incref(entry)) != 0)
			return SP_EXIT_FAILED;
	}
	return 0;
}

int spacerouted_cache_dump(struct sp_cli *cli)
{
	static const char *const headings[] = {
	    "caller", "sandbox", "execution", "worker", "expires", "revision", "endpoint", NULL};
	struct sp_question question = {.kind = SP_QUESTION_DUMP, .protocol = -1};
	struct sp_table *table;
	int bad = sp_cli_table(cli, headings, 4, &table);

	if (bad)
		return bad;
	do {
		sp_auto_json json_t *answer = NULL;
		bad = ask(cli, &question, &answer);
		if (!bad && !json_object_get(answer, "entries"))
			bad = put_answer(cli, answer) ? SP_EXIT_FAILED : exit_of(answer);
		if (!bad)
			bad = dump_part(cli, table, json_object_get(answer, "entries"));
		question.position = json_integer_value(json_object_get(answer, "position"));
	} while (!bad && question.position);
	if (!bad && sp_table_finish(table) < 0)
		bad = SP_EXIT_FAILED;
	sp_table_free(table);
	return bad;
}
