/* Flags through the parser of routes, which knows what a route must have. */
#include "cli/route_flags.h"

#include <errno.h>
#include "base/limits.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

static const char *const NAMES[] = {
    "execution", "worker", "substrate", "pod-uid", "activation", "attempt"};

bool sp_cli_has_route(const struct sp_cli *cli)
{
	for (size_t i = 0; i < SP_COUNT(NAMES); i++)
		if (sp_cli_text(cli, NAMES[i]))
			return true;
	return false;
}

/* A number that was not given leaves its member out. */
static int take_number(const struct sp_cli *cli, const char *name, json_t **ret, struct sp_err *err)
{
	const char *text = sp_cli_text(cli, name);
	int64_t value;

	*ret = NULL;
	if (!text)
		return 0;
	if (!sp_number_parse(text, 1, SP_INT_MAX, &value))
		return sp_fail(err, SP_E_USAGE,
		    "--%s: `%.32s` is not a whole number from 1 to %lld", name, text, SP_INT_MAX);
	*ret = json_integer(value);
	return *ret ? 0 : sp_fail(err, -ENOMEM, "out of memory");
}

int sp_cli_route(const struct sp_cli *cli, struct sp_route *ret, struct sp_err *err)
{
	sp_auto_json json_t *execution = NULL, *attempt = NULL, *object = NULL;
	struct sp_err why = {0};
	int bad = take_number(cli, "execution", &execution, err);

	if (!bad)
		bad = take_number(cli, "attempt", &attempt, err);
	if (bad)
		return bad;
	object = json_pack("{sO* ss* ss* ss* ss* sO*}", "execution", execution, "worker",
	    sp_cli_text(cli, "worker"), "substrate", sp_cli_text(cli, "substrate"), "pod_uid",
	    sp_cli_text(cli, "pod-uid"), "activation", sp_cli_text(cli, "activation"), "attempt",
	    attempt);
	if (!object)
		return sp_fail(err, SP_E_USAGE, "route: a flag is no valid UTF-8");
	return sp_route_parse(object, ret, &why) < 0 ? sp_fail(err, SP_E_USAGE, "%s", why.message)
						     : 0;
}
