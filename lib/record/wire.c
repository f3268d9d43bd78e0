/* Usual lines are read by the quick look alone; what it leaves, jansson reads. */
#include "record/wire.h"

#include <errno.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/scan.h"
#include "record/span.h"

enum { ID, OP, SANDBOX, ARGS, CAP, FIELDS };

static const char *const NAMES[FIELDS] = {"id", "op", "sandbox", "args", "cap"};

/* Each field once and none besides: the scan has seen to "once". */
static bool take_fields(
    const struct sp_scan_member *members, unsigned count, const struct sp_scan_member **fields)
{
	if (count != FIELDS)
		return false;
	for (unsigned i = 0; i < FIELDS; i++) {
		fields[i] = sp_scan_find(members, count, NAMES[i]);
		if (!fields[i] || (i == ARGS ? fields[i]->kind != '{'
					     : fields[i]->kind != '"' || !fields[i]->plain))
			return false;
	}
	return true;
}

/* A plain string of the line, ended in place: its closing quote is no longer needed. */
static const char *end_in_place(char *line, const struct sp_scan_member *member)
{
	size_t offset = (size_t)(member->value - line);

	line[offset + member->size - 1] = '\0';
	return member->value + 1;
}

/* Values that look right; the id is copied with its quotes before they are ended in place. */
static bool values_valid(const struct sp_scan_member **fields, const struct sp_op **ret_op)
{
	char op[32], sandbox[SP_ID_MAX + 1];
	size_t id = fields[ID]->size - 2, op_size = fields[OP]->size - 2,
	       sandbox_size = fields[SANDBOX]->size - 2;

	if (id < 1 || id > SP_REQUEST_ID_MAX || op_size >= sizeof(op) ||
	    sandbox_size >= sizeof(sandbox))
		return false;
	memcpy(op, fields[OP]->value + 1, op_size);
	op[op_size] = '\0';
	memcpy(sandbox, fields[SANDBOX]->value + 1, sandbox_size);
	sandbox[sandbox_size] = '\0';
	*ret_op = sp_op_find(op);
	return *ret_op && sp_id_valid(sandbox);
}

static bool read_quick(char *line, size_t size, struct sp_wire *wire)
{
	struct sp_scan_member members[FIELDS];
	const struct sp_scan_member *fields[FIELDS];
	unsigned count;

	if (!sp_json_scan(line, size, members, FIELDS, &count) ||
	    !take_fields(members, count, fields) || !values_valid(fields, &wire->request.op))
		return false;
	wire->owned_id = strndup(fields[ID]->value, fields[ID]->size);
	if (!wire->owned_id)
		return false;
	wire->id = wire->owned_id;
	wire->id_size = fields[ID]->size;
	wire->args = fields[ARGS]->value;
	wire->args_size = fields[ARGS]->size;
	wire->request.id = end_in_place(line, fields[ID]);
	wire->request.sandbox = end_in_place(line, fields[SANDBOX]);
	wire->request.cap = end_in_place(line, fields[CAP]);
	return true;
}

/* The bytes of a member as they were written, or anew when its name was written in an odd way. */
static int take_text(const char *line, size_t size, const char *name, const json_t *value,
    const char **ret, size_t *ret_size, char **ret_owned)
{
	if (sp_json_span(line, size, name, ret, ret_size))
		return 0;
	*ret_owned = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!*ret_owned)
		return -ENOMEM;
	*ret = *ret_owned;
	*ret_size = strlen(*ret_owned);
	return 0;
}

static int read_slowly(const char *line, size_t size, struct sp_wire *wire, struct sp_err *err)
{
	int bad = sp_json_parse(line, size, &wire->record, err);

	if (!bad)
		bad = sp_request_parse_wire(wire->record, &wire->request, err);
	if (bad)
		return bad;
	if (take_text(line, size, "id", json_object_get(wire->record, "id"), &wire->id,
		&wire->id_size, &wire->owned_id) < 0 ||
	    take_text(line, size, "args", wire->request.args, &wire->args, &wire->args_size,
		&wire->owned_args) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	wire->request.args = NULL;
	return 0;
}

int sp_wire_read(char *line, size_t size, struct sp_wire *ret, struct sp_err *err)
{
	struct sp_wire wire = {0};
	int bad = 0;

	if (!read_quick(line, size, &wire))
		bad = read_slowly(line, size, &wire, err);
	if (bad)
		sp_wire_done(&wire);
	else
		*ret = wire;
	return bad;
}

void sp_wire_done(struct sp_wire *wire)
{
	json_decref(wire->record);
	free(wire->owned_id);
	free(wire->owned_args);
	*wire = (struct sp_wire){0};
}
