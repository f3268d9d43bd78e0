/* The greeting line between bridge and manager, in both directions, from one set of rules. */
#include "bridge/greeting.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/route.h"

bool sp_greeting_reason_valid(enum sp_reason reason)
{
	return reason == SP_REASON_RETIRED || reason == SP_REASON_ABSENT ||
	       (reason >= SP_REASON_PEER_CREDENTIALS && reason < SP_REASON_COUNT);
}

bool sp_greeting_error_valid(enum sp_error_kind kind)
{
	return kind == SP_ERROR_TRANSPORT || kind == SP_ERROR_TIMEOUT ||
	       kind == SP_ERROR_OVERLOADED || kind == SP_ERROR_UNAVAILABLE;
}

static bool descriptor_valid(int64_t number)
{
	return number >= 0 && number <= INT_MAX;
}

static bool ready_valid(const struct sp_greeting *greeting)
{
	return sp_id_valid(greeting->sandbox) && greeting->execution >= 1 && greeting->epoch >= 1 &&
	       greeting->vsock_inode >= 1 && greeting->vsock_fd >= 0 &&
	       descriptor_valid(greeting->fd) && descriptor_valid(greeting->vmm_fd);
}

bool sp_greeting_onward(const struct sp_greeting *greeting, struct sp_onward *ret)
{
	if (greeting->vsock_inode > UINT32_MAX || greeting->vsock_fd > INT_MAX)
		return false;
	*ret = (struct sp_onward){.fd = (int)greeting->vsock_fd,
	    .inode = (uint32_t)greeting->vsock_inode,
	    .vmm_fd = (int)greeting->vmm_fd};
	return true;
}

static int parse_ready(const json_t *object, struct sp_greeting *greeting, struct sp_err *err)
{
	const json_t *sandbox, *level, *execution, *epoch, *inode;
	const json_t *fd, *vsock_fd, *vmm_fd;
	const struct sp_json_field fields[] = {
	    {"bridge", SP_JSON_STRING, false, NULL},
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"execution", SP_JSON_INTEGER, false, &execution},
	    {"epoch", SP_JSON_INTEGER, false, &epoch},
	    {"level", SP_JSON_STRING, false, &level},
	    {"fd", SP_JSON_INTEGER, false, &fd},
	    {"vsock_inode", SP_JSON_INTEGER, false, &inode},
	    {"vsock_fd", SP_JSON_INTEGER, false, &vsock_fd},
	    {"vmm_fd", SP_JSON_INTEGER, false, &vmm_fd},
	};
	int bad = sp_json_take(object, "greeting", fields, SP_COUNT(fields), err);

	if (bad || (bad = sp_id_copy(sp_json_string(sandbox), "sandbox", greeting->sandbox, err)))
		return bad;
	greeting->execution = json_integer_value(execution);
	greeting->epoch = json_integer_value(epoch);
	greeting->vsock_inode = json_integer_value(inode);
	greeting->fd = json_integer_value(fd);
	greeting->vsock_fd = json_integer_value(vsock_fd);
	greeting->vmm_fd = json_integer_value(vmm_fd);
	if (!sp_level_parse(sp_json_string(level), &greeting->level) || !ready_valid(greeting))
		return sp_fail(err, SP_E_BAD_RECORD, "greeting: a value out of its bounds");
	return 0;
}

static int parse_refused(const json_t *object, struct sp_greeting *greeting, struct sp_err *err)
{
	const json_t *reason;
	const struct sp_json_field fields[] = {
	    {"bridge", SP_JSON_STRING, false, NULL},
	    {"reason", SP_JSON_STRING, false, &reason},
	};
	int bad = sp_json_take(object, "greeting", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if ((!sp_reason_parse("deny", sp_json_string(reason), &greeting->reason) &&
		!sp_reason_parse("refresh-route", sp_json_string(reason), &greeting->reason)) ||
	    !sp_greeting_reason_valid(greeting->reason))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "greeting: a reason that a bridge cannot give");
	return 0;
}

static int parse_error(const json_t *object, struct sp_greeting *greeting, struct sp_err *err)
{
	const json_t *error, *message;
	const struct sp_json_field fields[] = {
	    {"bridge", SP_JSON_STRING, false, NULL},
	    {"error", SP_JSON_STRING, false, &error},
	    {"message", SP_JSON_STRING, false, &message},
	};
	int bad = sp_json_take(object, "greeting", fields, SP_COUNT(fields), err);

	if (bad)
		return bad;
	if (!sp_error_parse(sp_json_string(error), &greeting->error) ||
	    !sp_greeting_error_valid(greeting->error))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "greeting: an error that a bridge cannot give");
	if (json_string_length(message) >= sizeof(greeting->message))
		return sp_fail(err, SP_E_BAD_RECORD, "greeting: the message is too long");
	memcpy(greeting->message, sp_json_string(message), json_string_length(message) + 1);
	return 0;
}

int sp_greeting_parse(const char *line, size_t size, struct sp_greeting *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	struct sp_greeting greeting = {.reason = SP_REASON_NONE};
	const char *kind;
	int bad;

	if (size >= SP_GREETING_MAX)
		return sp_fail(
		    err, SP_E_BAD_RECORD, "greeting: longer than %d bytes", SP_GREETING_MAX - 1);
	bad = sp_json_parse(line, size, &object, err);
	if (bad)
		return sp_err_prefix(err, bad, "greeting");
	kind = json_string_value(json_object_get(object, "bridge"));
	if (kind && strcmp(kind, "ready") == 0) {
		greeting.kind = SP_GREETING_READY;
		bad = parse_ready(object, &greeting, err);
	} else if (kind && strcmp(kind, "refused") == 0) {
		greeting.kind = SP_GREETING_REFUSED;
		bad = parse_refused(object, &greeting, err);
	} else if (kind && strcmp(kind, "error") == 0) {
		greeting.kind = SP_GREETING_ERROR;
		bad = parse_error(object, &greeting, err);
	} else {
		bad = sp_fail(
		    err, SP_E_BAD_RECORD, "greeting: `bridge` is not ready, refused or error");
	}
	if (bad)
		return bad;
	*ret = greeting;
	return 0;
}

/* A message may quote a path, and jansson refuses what is not UTF-8. */
static json_t *message_json(const char *message)
{
	char clean[SP_ERR_MAX];
	size_t size = strnlen(message, sizeof(clean) - 1);

	memcpy(clean, message, size);
	clean[size] = '\0';
	sp_text_printable(clean);
	return json_string(clean);
}

static json_t *greeting_json(const struct sp_greeting *greeting)
{
	switch (greeting->kind) {
	case SP_GREETING_READY:
		if (!ready_valid(greeting) || !sp_level_name(greeting->level))
			return NULL;
		return json_pack("{s:s, s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I}", "bridge", "ready",
		    "sandbox", greeting->sandbox, "execution", (json_int_t)greeting->execution,
		    "epoch", (json_int_t)greeting->epoch, "level", sp_level_name(greeting->level),
		    "fd", (json_int_t)greeting->fd, "vsock_inode",
		    (json_int_t)greeting->vsock_inode, "vsock_fd", (json_int_t)greeting->vsock_fd,
		    "vmm_fd", (json_int_t)greeting->vmm_fd);
	case SP_GREETING_REFUSED:
		if (!sp_greeting_reason_valid(greeting->reason))
			return NULL;
		return json_pack(
		    "{s:s, s:s}", "bridge", "refused", "reason", sp_reason_name(greeting->reason));
	case SP_GREETING_ERROR:
		if (!sp_greeting_error_valid(greeting->error))
			return NULL;
		return json_pack("{s:s, s:s, s:o}", "bridge", "error", "error",
		    sp_error_name(greeting->error), "message", message_json(greeting->message));
	}
	return NULL;
}

int sp_greeting_print(
    const struct sp_greeting *greeting, char ret_line[SP_GREETING_MAX], size_t *ret_size)
{
	sp_auto_json json_t *object = greeting_json(greeting);
	size_t size;

	if (!object)
		return -EINVAL;
	size = json_dumpb(object, ret_line, SP_GREETING_MAX - 1, JSON_COMPACT);
	if (size == 0 || size >= SP_GREETING_MAX)
		return -EINVAL;
	ret_line[size] = '\0';
	*ret_size = size;
	return 0;
}
