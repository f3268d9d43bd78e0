/*
 * Operations on the manager's own leases (07-operations), for whoever may manage the sandbox. They
 * see no lease of another sandbox.
 *
 *   lease.status {"lease":ID}                 the lease, open or ended not long ago
 *   lease.list   {}                           {"leases":[...],"truncated":B}
 *   lease.cancel {"lease":ID} or {"all":true} {"cancelled":N}
 *
 * ID may be the beginning of one that no other lease of the sandbox shares.
 */
#include <errno.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"
#include "spacebridge/forward.h"

static void answer(struct request *request, json_t *result /* stolen */)
{
	request_audit(request, SP_REASON_NONE, NULL, NULL);
	client_put_json(request->client, sp_result_ok(request->id, result));
	request_done(request);
}

static void op_error(struct request *request, int number, const char *words)
{
	request_audit(request, SP_REASON_NONE, sp_error_name(SP_ERROR_OP), words);
	client_put_json(request->client, sp_result_op_error(request->id, number, words));
	request_done(request);
}

static bool find(struct request *request, const char *id, const struct sp_lease **ret)
{
	int bad = sp_lease_find(request->client->forward->leases, request->sandbox, id, ret);

	if (bad == SP_E_CONFLICT)
		op_error(request, ENOTUNIQ, "more than one lease begins so");
	else if (bad)
		op_error(request, ENOENT, "this manager knows no such lease of this sandbox");
	return !bad;
}

static void status(struct request *request, const char *id)
{
	const struct sp_lease *lease;

	if (find(request, id, &lease))
		answer(request, sp_lease_json(lease));
}

static int add(void *context, json_t *lease)
{
	json_t *leases = context;

	if (json_array_size(leases) < FORWARD_LISTED_MAX)
		return json_array_append_new(leases, lease) < 0 ? -ENOMEM : 0;
	json_decref(lease);
	return SP_E_TOO_LARGE;
}

static void list(struct request *request)
{
	json_t *leases = json_array();
	int got = sp_lease_walk(request->client->forward->leases, request->sandbox, add, leases);

	answer(request, json_pack("{sosb}", "leases", leases, "truncated", got < 0));
}

static void cancel(struct request *request, const char *id)
{
	const struct sp_lease *lease = NULL;

	if (!id || find(request, id, &lease))
		answer(request, json_pack("{si}", "cancelled",
				    (int)sp_lease_cancel(request->client->forward->leases,
					request->sandbox, lease ? sp_lease_id(lease) : NULL)));
}

void forward_manage(struct request *request)
{
	const json_t *id_json = NULL, *all = NULL;
	const struct sp_json_field fields[] = {
	    {"lease", SP_JSON_STRING, true, &id_json}, {"all", SP_JSON_BOOL, true, &all}};
	const char *name = request->op->name, *id;
	struct sp_err err = {0};
	int bad = sp_json_take(request->args, "args", fields, SP_COUNT(fields), &err);

	id = sp_json_string(id_json);
	if (bad || (id && !*id))
		op_error(request, EINVAL, bad ? err.message : "args: `lease` is empty");
	else if (strcmp(name, "lease.list") == 0 && !id && !all)
		list(request);
	else if (strcmp(name, "lease.status") == 0 && id && !all)
		status(request, id);
	else if (strcmp(name, "lease.cancel") == 0 && (!id != !json_is_true(all)))
		cancel(request, id);
	else
		op_error(request, EINVAL, "args: `lease` says which one, or `all` to cancel all");
}
