/* One row an operation. Everything that depends on the operation is asked here. */
#include "record/op.h"

#include <string.h>
#include "base/util.h"

#define CONTROL SP_PURPOSE_CONTROL
#define ATTACH  SP_PURPOSE_ATTACH
#define PORT    SP_PURPOSE_SERVICE_PORT
#define MANAGE  SP_PURPOSE_MANAGE

static const struct sp_op OPS[] = {
    /* name, purpose, stream, single-use, rebuilt, retried unsent, retried sent, resync */
    {"ping", CONTROL, false, false, true, true, true, false},
    {"guest.info", CONTROL, false, false, true, true, true, false},
    {"file.read", CONTROL, false, false, true, true, true, false},
    {"file.stat", CONTROL, false, false, true, true, true, false},
    {"file.list", CONTROL, false, false, true, true, true, false},
    {"file.write", CONTROL, false, false, true, true, false, false},
    {"file.mkdir", CONTROL, false, false, true, true, false, false},
    {"file.rename", CONTROL, false, false, true, true, false, false},
    {"file.remove", CONTROL, false, false, true, true, false, false},
    {"file.chmod", CONTROL, false, false, true, true, false, false},
    {"tree.get", CONTROL, true, false, true, true, false, false},
    {"tree.put", CONTROL, true, false, true, true, false, false},
    {"file.watch", CONTROL, true, false, true, true, true, true},
    {"exec.run", CONTROL, false, true, true, true, false, false},
    {"exec.start", CONTROL, false, true, true, true, false, false},
    {"terminal.open", CONTROL, false, true, true, true, false, false},
    {"exec.list", CONTROL, false, false, true, true, true, false},
    {"exec.signal", CONTROL, false, true, false, false, false, false},
    {"terminal.resize", CONTROL, false, true, false, false, false, false},
    {"exec.attach", ATTACH, true, true, true, true, true, false},
    {"port.connect", PORT, true, true, true, true, false, false},
    {"lease.status", MANAGE, false, false, false, true, true, false},
    {"lease.list", MANAGE, false, false, false, true, true, false},
    {"lease.cancel", MANAGE, false, false, false, true, true, false},
};

static const struct {
	const char *name, *audience;
} PURPOSES[SP_PURPOSE_COUNT] = {
    [CONTROL] = {"control", "sbx-manager"},
    [ATTACH] = {"attach", "sbx-manager"},
    [PORT] = {"service-port", "netgtw"},
    [MANAGE] = {"manage", "sbx-manager"},
};

static const char *const PROTOCOLS[SP_PROTOCOL_COUNT] = {
    [SP_PROTOCOL_TCP] = "tcp",
    [SP_PROTOCOL_HTTP] = "http",
    [SP_PROTOCOL_WEBSOCKET] = "websocket",
    [SP_PROTOCOL_TLS] = "tls",
};

const struct sp_op *sp_op_at(size_t index)
{
	return index < SP_COUNT(OPS) ? &OPS[index] : NULL;
}

const struct sp_op *sp_op_find(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(OPS); i++)
		if (OPS[i].name[0] == name[0] && strcmp(OPS[i].name, name) == 0)
			return &OPS[i];
	return NULL;
}

const char *sp_purpose_name(enum sp_purpose purpose)
{
	return PURPOSES[purpose].name;
}

const char *sp_purpose_audience(enum sp_purpose purpose)
{
	return PURPOSES[purpose].audience;
}

bool sp_purpose_parse(const char *name, enum sp_purpose *ret_purpose)
{
	for (enum sp_purpose i = 0; i < SP_PURPOSE_COUNT; i++)
		if (strcmp(PURPOSES[i].name, name) == 0) {
			*ret_purpose = i;
			return true;
		}
	return false;
}

const char *sp_protocol_name(enum sp_protocol protocol)
{
	return PROTOCOLS[protocol];
}

bool sp_protocol_parse(const char *name, enum sp_protocol *ret_protocol)
{
	for (enum sp_protocol i = 0; i < SP_PROTOCOL_COUNT; i++)
		if (strcmp(PROTOCOLS[i], name) == 0) {
			*ret_protocol = i;
			return true;
		}
	return false;
}

/* The length of `file.` in `file.*`, or 0 when the entry is no family. */
static size_t family_prefix(const char *entry)
{
	size_t length = strlen(entry);

	return length > 2 && strcmp(entry + length - 2, ".*") == 0 ? length - 1 : 0;
}

bool sp_access_entry_valid(const char *entry)
{
	size_t prefix = family_prefix(entry);

	if (!prefix)
		return sp_op_find(entry) != NULL;
	for (size_t i = 0; i < SP_COUNT(OPS); i++)
		if (strncmp(OPS[i].name, entry, prefix) == 0)
			return true;
	return false;
}

bool sp_access_entry_covers_op(
    const char *entry, const struct sp_op *op, bool family_covers_single_use)
{
	size_t prefix;

	if (entry[0] != op->name[0])
		return false;
	prefix = family_prefix(entry);
	if (!prefix)
		return strcmp(entry, op->name) == 0;
	return strncmp(entry, op->name, prefix) == 0 &&
	       (family_covers_single_use || !op->single_use);
}

bool sp_access_entry_covers(const char *entry, const char *op, bool family_covers_single_use)
{
	const struct sp_op *row = sp_op_find(op);

	return row && sp_access_entry_covers_op(entry, row, family_covers_single_use);
}
