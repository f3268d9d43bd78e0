/* Matching of grants: patterns, operations, ports, time. */
#include "routing/grants.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"

#define PORT_CONNECT "port.connect"

static const struct {
	const char *prefix;
	enum sp_principal_kind kind;
} PRINCIPALS[] = {
    {"uid:", SP_PRINCIPAL_UID}, {"user:", SP_PRINCIPAL_USER}, {"token:", SP_PRINCIPAL_TOKEN}};

bool sp_principal_parse(const char *text, enum sp_principal_kind *ret_kind)
{
	for (size_t i = 0; i < SP_COUNT(PRINCIPALS); i++) {
		size_t length = strlen(PRINCIPALS[i].prefix);
		int64_t number;
		if (strncmp(text, PRINCIPALS[i].prefix, length) != 0)
			continue;
		/* (uid_t)-1 is no user to the kernel. */
		if (PRINCIPALS[i].kind == SP_PRINCIPAL_UID
			? !sp_number_parse(text + length, 0, UINT32_MAX - 1, &number)
			: !sp_id_valid(text + length))
			return false;
		*ret_kind = PRINCIPALS[i].kind;
		return true;
	}
	return false;
}

bool sp_caller_valid(const char *text)
{
	enum sp_principal_kind kind;

	return sp_principal_parse(text, &kind) && kind != SP_PRINCIPAL_USER;
}

bool sp_port_range_parse(const char *text, struct sp_port_range *ret)
{
	char low[8] = "", high[8] = "";
	struct sp_port_range range;
	const char *slash = strchr(text, '/'), *dash = strchr(text, '-');
	size_t first, second;
	int64_t from, to;

	if (!slash || !sp_protocol_parse(slash + 1, &range.protocol))
		return false;
	if (!dash || dash > slash)
		dash = slash;
	first = (size_t)(dash - text);
	second = dash == slash ? first : (size_t)(slash - dash) - 1;
	if (first >= sizeof(low) || second >= sizeof(high))
		return false;
	memcpy(low, text, first);
	memcpy(high, dash == slash ? text : dash + 1, second);
	if (!sp_number_parse(low, 1, 65535, &from) || !sp_number_parse(high, from, 65535, &to))
		return false;
	range.low = (uint16_t)from;
	range.high = (uint16_t)to;
	*ret = range;
	return true;
}

void sp_port_range_format(const struct sp_port_range *range, char text[SP_PORT_RANGE_SIZE])
{
	if (range->low == range->high)
		(void)snprintf(text, SP_PORT_RANGE_SIZE, "%u/%s", range->low,
		    sp_protocol_name(range->protocol));
	else
		(void)snprintf(text, SP_PORT_RANGE_SIZE, "%u-%u/%s", range->low, range->high,
		    sp_protocol_name(range->protocol));
}

bool sp_sandbox_pattern_valid(const char *pattern)
{
	char id[SP_ID_MAX + 2];
	size_t length = strlen(pattern);

	if (length == 0 || length > SP_ID_MAX)
		return false;
	/* With a letter for each wildcard it must be an id. */
	for (size_t i = 0; i <= length; i++)
		id[i] = (char)(pattern[i] == '*' || pattern[i] == '?' ? 'x' : pattern[i]);
	return sp_id_valid(id);
}

bool sp_sandbox_pattern_is_glob(const char *pattern)
{
	return strpbrk(pattern, "*?") != NULL;
}

bool sp_sandbox_matches(const char *pattern, const char *sandbox)
{
	const char *star = NULL, *resume = NULL;

	/* Only the last star is ever tried again: quadratic at worst, on at most 128 bytes. */
	while (*sandbox) {
		if (*pattern == '*') {
			star = ++pattern;
			resume = sandbox;
		} else if (*pattern == '?' || *pattern == *sandbox) {
			pattern++;
			sandbox++;
		} else if (star) {
			pattern = star;
			sandbox = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static bool has_op(const struct sp_rights *rights, const char *entry)
{
	for (unsigned i = 0; i < rights->op_count; i++)
		if (strcmp(rights->ops[i], entry) == 0)
			return true;
	return false;
}

static bool has_port(const struct sp_rights *rights, const struct sp_port_range *range)
{
	for (unsigned i = 0; i < rights->port_count; i++)
		if (rights->ports[i].low == range->low && rights->ports[i].high == range->high &&
		    rights->ports[i].protocol == range->protocol)
			return true;
	return false;
}

static int add_entry(struct sp_rights *rights, const char *entry, struct sp_err *err)
{
	if (has_op(rights, entry))
		return 0;
	if (rights->op_count == SP_ACCESS_MAX || strlen(entry) > SP_ACCESS_ENTRY_MAX)
		return sp_fail(err, SP_E_USAGE, "more than %d operations", SP_ACCESS_MAX);
	memcpy(rights->ops[rights->op_count++], entry, strlen(entry) + 1);
	return 0;
}

int sp_rights_add_op(struct sp_rights *rights, const char *entry, struct sp_err *err)
{
	if (!sp_access_entry_valid(entry))
		return sp_fail(err, SP_E_USAGE, "`%.64s` is no operation or family", entry);
	if (sp_access_entry_covers(entry, PORT_CONNECT, true))
		return sp_fail(err, SP_E_USAGE,
		    "`%.64s` is granted by its ports alone: --ports 8080/http", entry);
	return add_entry(rights, entry, err);
}

int sp_rights_add_port(
    struct sp_rights *rights, const struct sp_port_range *range, struct sp_err *err)
{
	int bad;

	if (has_port(rights, range))
		return 0;
	if (rights->port_count == SP_GRANT_PORTS_MAX)
		return sp_fail(err, SP_E_USAGE, "more than %d port ranges", SP_GRANT_PORTS_MAX);
	bad = add_entry(rights, PORT_CONNECT, err);
	if (!bad)
		rights->ports[rights->port_count++] = *range;
	return bad;
}

void sp_rights_merge(struct sp_rights *rights, const struct sp_rights *more)
{
	for (unsigned i = 0; i < more->op_count; i++)
		if (strcmp(more->ops[i], PORT_CONNECT) != 0)
			(void)add_entry(rights, more->ops[i], NULL);
	for (unsigned i = 0; i < more->port_count; i++)
		(void)sp_rights_add_port(rights, &more->ports[i], NULL);
}

bool sp_rights_cover(const struct sp_rights *rights, const struct sp_op *op)
{
	for (unsigned i = 0; i < rights->op_count; i++)
		if (sp_access_entry_covers(rights->ops[i], op->name, true))
			return true;
	return false;
}

bool sp_ports_cover(const struct sp_port_range *ports, unsigned count, int port, int protocol)
{
	for (unsigned i = 0; i < count; i++)
		if (port >= ports[i].low && port <= ports[i].high &&
		    protocol == (int)ports[i].protocol)
			return true;
	return false;
}

void sp_authorization_add(struct sp_authorization *authorization, const struct sp_grant *grant,
    const char *sandbox, int64_t now)
{
	if (!sp_sandbox_matches(grant->sandbox, sandbox))
		return;
	if (grant->until != 0 && grant->until <= now)
		return;
	sp_rights_merge(&authorization->rights, &grant->rights);
	if (grant->until != 0 && (authorization->until == 0 || grant->until < authorization->until))
		authorization->until = grant->until;
}
