/*
 * verify as a filter: each record is verified for what its own `op` and `args` ask for (steps 1 to
 * 6, and that the record's sandbox is the token's), and goes on with `claims`, or is refused.
 */
#include "spacecap/verify.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "record/filter.h"
#include "record/quick.h"
#include "record/request.h"
#include "record/result.h"

#define HOP           "spacecap"
#define LOOK_EVERY_US 50000 /* receivers notice new keys within 100 ms */
#define QUICK_MEMBERS 16    /* a record has no more */

/* What one thread of the filter has to itself. */
struct job {
	struct spacecap_verifier verifier;
	int64_t looked; /* at the keys, monotonic */
};

/* What an open filter's keys become when the bundle goes away or is damaged: none. */
static void renew_keys(struct job *job)
{
	struct spacecap_verifier *verifier = &job->verifier;
	int64_t now = sp_monotonic_us();
	struct sp_keyring *keys;

	if (now - job->looked < LOOK_EVERY_US)
		return;
	job->looked = now;
	if (!sp_keyring_stale(verifier->keys))
		return;
	if (sp_keyring_load(verifier->source, verifier->realm, verifier->roots, &keys, NULL) < 0 &&
	    sp_keyring_empty(&keys) < 0)
		return;
	sp_keyring_free(verifier->keys);
	verifier->keys = keys;
}

static int use_of_args(
    const json_t *args, const struct sp_op *op, struct sp_cap_use *use, struct sp_err *err)
{
	const char *protocol = json_string_value(json_object_get(args, "protocol"));
	json_int_t port = json_integer_value(json_object_get(args, "port"));
	enum sp_protocol parsed;

	if (op->purpose == SP_PURPOSE_ATTACH) {
		use->session = json_string_value(json_object_get(args, "session"));
		return use->session ? 0
				    : sp_fail(err, SP_E_BAD_RECORD, "args: `session` is missing");
	}
	if (op->purpose != SP_PURPOSE_SERVICE_PORT)
		return 0;
	if (port < 1 || port > 65535)
		return sp_fail(err, SP_E_BAD_RECORD, "args: `port` is not within 1 to 65535");
	if (!protocol || !sp_protocol_parse(protocol, &parsed))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "args: `protocol` is none of tcp, http, websocket, tls");
	use->port = (int)port;
	use->protocol = (int)parsed;
	return 0;
}

static int use_of_record(const json_t *record, struct sp_cap_use *ret, struct sp_err *err)
{
	const char *name = json_string_value(json_object_get(record, "op"));
	const struct sp_op *op = name ? sp_op_find(name) : NULL;
	struct sp_cap_use use = {.protocol = -1};
	int bad;

	if (!op)
		return sp_fail(err, SP_E_BAD_RECORD, "`op` is missing or no operation");
	use.purpose = op->purpose;
	use.op = op->name;
	bad = use_of_args(json_object_get(record, "args"), op, &use, err);
	if (!bad)
		*ret = use;
	return bad;
}

static enum sp_reason judge(const struct job *job, const char *token, size_t size,
    const struct sp_cap_use *use, struct sp_claims *claims)
{
	const struct spacecap_verifier *verifier = &job->verifier;

	return sp_capability_verify(token, size, verifier->keys, verifier->realm, use,
	    spacecap_verifier_now(verifier), verifier->skew, claims);
}

static bool other_sandbox(const json_t *record, const struct sp_claims *claims)
{
	const json_t *sandbox = json_object_get(record, "sandbox");

	return sandbox && (!json_is_string(sandbox) ||
			      strcmp(json_string_value(sandbox), claims->identity.sandbox) != 0);
}

static int answer(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	const json_t *token = json_object_get(record, "cap");
	struct job *job = context;
	struct sp_claims claims;
	struct sp_cap_use use;
	enum sp_reason reason = SP_REASON_MALFORMED;
	int bad = 0;

	if (sp_request_state(record) == SP_STATE_DONE) {
		bad = sp_result_check(record, true, NULL, err);
		if (!bad)
			*ret = json_incref(record);
		return bad;
	}
	if (json_is_string(token)) {
		bad = use_of_record(record, &use, err);
		if (bad)
			return bad;
		renew_keys(job);
		reason =
		    judge(job, json_string_value(token), json_string_length(token), &use, &claims);
		if (reason == SP_REASON_NONE && other_sandbox(record, &claims))
			reason = SP_REASON_SANDBOX;
	}
	if (reason != SP_REASON_NONE)
		*ret = sp_result_refused(
		    json_string_value(json_object_get(record, "id")), reason, SP_BEHIND_NONE, HOP);
	else if (json_object_set_new(record, "claims", sp_claims_json(&claims)) == 0)
		*ret = json_incref(record);
	return *ret ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

/* The members of a usual record that are looked at. */
struct quick {
	const struct sp_scan_member *id, *sandbox, *cap;
	const struct sp_op *op;
};

/* Operations whose use depends on their arguments are left to the slow way, and what is odd. */
static bool take_quick(const struct sp_scan_member *members, unsigned count, struct quick *ret)
{
	char op[SP_ACCESS_TEXT_SIZE];

	if (sp_scan_find(members, count, "status") || sp_scan_find(members, count, "claims") ||
	    !sp_quick_text(sp_scan_find(members, count, "op"), op, sizeof(op)))
		return false;
	ret->op = sp_op_find(op);
	ret->id = sp_scan_find(members, count, "id");
	ret->sandbox = sp_scan_find(members, count, "sandbox");
	ret->cap = sp_scan_find(members, count, "cap");
	return ret->op &&
	       (ret->op->purpose == SP_PURPOSE_CONTROL || ret->op->purpose == SP_PURPOSE_MANAGE) &&
	       (!ret->id || ret->id->kind == '"') && ret->sandbox && ret->sandbox->kind == '"' &&
	       ret->sandbox->plain && ret->cap && ret->cap->kind == '"' && ret->cap->plain;
}

static bool answer_quickly(
    void *context, const char *line, size_t size, struct sp_out *out, int *ret_exit)
{
	struct sp_scan_member members[QUICK_MEMBERS];
	struct quick quick;
	struct job *job = context;
	struct sp_claims claims;
	enum sp_reason reason;
	unsigned count;

	if (!sp_json_scan_compact(line, size, members, QUICK_MEMBERS, &count) ||
	    !take_quick(members, count, &quick))
		return false;
	renew_keys(job);
	reason = judge(job, quick.cap->value + 1, quick.cap->size - 2,
	    &(struct sp_cap_use){quick.op->purpose, quick.op->name, .protocol = -1}, &claims);
	if (reason == SP_REASON_NONE && !sp_scan_is(quick.sandbox, claims.identity.sandbox))
		reason = SP_REASON_SANDBOX;
	*ret_exit = sp_reason_exit(reason);
	if (reason != SP_REASON_NONE) {
		sp_result_refused_put(quick.id ? quick.id->value : NULL,
		    quick.id ? quick.id->size : 0, reason, SP_BEHIND_NONE, HOP, out);
		return true;
	}
	sp_out_put(out, line, size - 1);
	sp_out_text(out, ",\"claims\":");
	sp_claims_put(&claims, out);
	sp_out_put(out, "}", 1);
	return true;
}

/* Keys for each thread, as each looks for new ones by itself; the first has those that are there.
 */
static int prepare(
    struct spacecap_verifier *verifier, struct job *jobs, unsigned count, struct sp_err *err)
{
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		jobs[i] = (struct job){.verifier = *verifier, .looked = sp_monotonic_us()};
		verifier->keys = NULL;
	}
	for (unsigned i = 1; i < count && !bad; i++)
		bad = sp_keyring_load(verifier->source, verifier->realm, verifier->roots,
		    &jobs[i].verifier.keys, err);
	return bad;
}

int spacecap_verify_filter(struct sp_cli *cli, struct spacecap_verifier *verifier)
{
	static const char *const options[] = {"purpose", "op", "session", "port", "protocol", NULL};
	struct job jobs[SP_JOBS_MAX];
	void *contexts[SP_JOBS_MAX];
	struct sp_filter filter = {.quick = answer_quickly, .answer = answer, .contexts = contexts};
	struct sp_err err = {0};
	int exit_code = SP_EXIT_DONE, bad;

	for (size_t i = 0; options[i]; i++)
		if (sp_cli_text(cli, options[i]))
			return sp_cli_usage(cli,
			    "--%s goes with one TOKEN; records say themselves what they are for",
			    options[i]);
	if (sp_cli_jobs(cli, &filter.jobs) < 0)
		return SP_EXIT_USAGE;
	for (unsigned i = 0; i < filter.jobs; i++)
		contexts[i] = &jobs[i];
	bad = prepare(verifier, jobs, filter.jobs, &err);
	if (!bad)
		bad = sp_filter_run_jobs(STDIN_FILENO, STDOUT_FILENO, &filter, &exit_code, &err);
	for (unsigned i = 0; i < filter.jobs; i++)
		sp_keyring_free(jobs[i].verifier.keys);
	return bad ? sp_cli_fail(cli, &err) : exit_code;
}
