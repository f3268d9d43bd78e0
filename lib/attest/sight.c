/* Sights in and out of JSON: a table of parts, each with the table of its fields. */
#include "attest/sight.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "attest/form.h"
#include "base/util.h"
#include "record/json.h"

#define AT(member)     offsetof(struct sp_sight, member)
#define IN(kind, name) offsetof(struct kind, name)

static bool read_word(const json_t *value, const char *const *words, uint32_t count, uint32_t *ret)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(words[i], json_string_value(value)) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static const char *const KINDS[] = {
    [SP_FILE_OTHER] = "other", [SP_FILE_SOCKET] = "socket", [SP_FILE_SYMLINK] = "symlink"};

static bool read_kind(const json_t *value, void *at)
{
	return read_word(value, KINDS, SP_COUNT(KINDS), at);
}

static json_t *write_kind(const void *at)
{
	return json_string(KINDS[*(const uint32_t *)at]);
}

static const char *const STATES[] = {[SP_SOCKET_OTHER] = "other",
    [SP_SOCKET_ESTABLISHED] = "established",
    [SP_SOCKET_LISTENING] = "listening"};

static bool read_state(const json_t *value, void *at)
{
	uint32_t state;

	if (!read_word(value, STATES, SP_COUNT(STATES), &state))
		return false;
	*(enum sp_socket_state *)at = (enum sp_socket_state)state;
	return true;
}

static json_t *write_state(const void *at)
{
	return json_string(STATES[*(const enum sp_socket_state *)at]);
}

static const struct sp_form KIND = {SP_JSON_STRING, read_kind, write_kind};
static const struct sp_form STATE = {SP_JSON_STRING, read_state, write_state};

static const struct sp_form_field FILE_FIELDS[] = {
    {.name = "kind", .form = &KIND, .offset = AT(file.kind)},
    {.name = "dev", .form = &SP_FORM_DEVICE, .offset = AT(file.dev)},
    {.name = "ino", .form = &SP_FORM_U64, .offset = AT(file.ino)},
    {.name = "uid", .form = &SP_FORM_U32, .offset = AT(file.uid)},
    {.name = "mode", .form = &SP_FORM_MODE, .offset = AT(file.mode)},
    {.name = "links", .form = &SP_FORM_U32, .offset = AT(file.links)},
    {0},
};

static const struct sp_form_field PROCESS[] = {
    {.name = "pid", .form = &SP_FORM_INT, .offset = AT(process.pid)},
    {.name = "pidfs", .form = &SP_FORM_U64, .offset = AT(process.pidfs), .optional = true},
    {0},
};

static const struct sp_form_field NONE[] = {{0}};

static const struct sp_form_field NAMESPACES[] = {
    {.name = "net", .form = &SP_FORM_SIZE, .offset = AT(namespaces.all.net)},
    {.name = "mnt", .form = &SP_FORM_SIZE, .offset = AT(namespaces.all.mnt)},
    {.name = "pid", .form = &SP_FORM_SIZE, .offset = AT(namespaces.all.pid)},
    {.name = "user", .form = &SP_FORM_SIZE, .offset = AT(namespaces.all.user)},
    {0},
};

static const struct sp_form_field TRACER[] = {
    {.name = "pid", .form = &SP_FORM_INT, .offset = AT(tracer.pid)},
    {0},
};

static const struct sp_form_field EXECUTABLE[] = {
    {.name = "dev", .form = &SP_FORM_DEVICE, .offset = AT(executable.tuple.dev)},
    {.name = "ino", .form = &SP_FORM_U64, .offset = AT(executable.tuple.ino)},
    {.name = "size", .form = &SP_FORM_SIZE, .offset = AT(executable.tuple.size)},
    {.name = "mtime", .form = &SP_FORM_INSTANT, .offset = AT(executable.tuple.mtime)},
    {.name = "ctime", .form = &SP_FORM_INSTANT, .offset = AT(executable.tuple.ctime)},
    {0},
};

static const struct sp_form_field BYTES[] = {
    {.name = "blake2b", .form = &SP_FORM_HASH, .offset = AT(bytes.hash)},
    {0},
};

/* A row of sock_diag. */
static const struct sp_form_field SOCKET[] = {
    {.name = "inode", .form = &SP_FORM_U32, .offset = IN(sp_socket, inode)},
    {.name = "cookie", .form = &SP_FORM_U64, .offset = IN(sp_socket, cookie)},
    {.name = "state", .form = &STATE, .offset = IN(sp_socket, state)},
    {.name = "stream", .form = &SP_FORM_BOOL, .offset = IN(sp_socket, stream)},
    {.name = "peer", .form = &SP_FORM_U32, .offset = IN(sp_socket, peer)},
    {.name = "has_file", .form = &SP_FORM_BOOL, .offset = IN(sp_socket, has_file)},
    {.name = "file_dev", .form = &SP_FORM_U32, .offset = IN(sp_socket, file_device)},
    {.name = "file_ino", .form = &SP_FORM_U32, .offset = IN(sp_socket, file_inode)},
    {.name = "has_uid", .form = &SP_FORM_BOOL, .offset = IN(sp_socket, has_uid)},
    {.name = "uid", .form = &SP_FORM_U32, .offset = IN(sp_socket, uid)},
    {0},
};

static const struct sp_form_field LISTENER[] = {
    {.name = "fd", .form = &SP_FORM_INT, .offset = AT(listener.number)},
    {.name = "socket", .inner = SOCKET, .offset = AT(listener.socket)},
    {0},
};

static const struct sp_form_field CONNECTION[] = {
    {.name = "busy", .form = &SP_FORM_BOOL, .offset = AT(connection.busy)},
    {0},
};

static const struct sp_form_field CREDENTIALS[] = {
    {.name = "pid", .form = &SP_FORM_INT, .offset = AT(credentials.pid)},
    {.name = "uid", .form = &SP_FORM_U32, .offset = AT(credentials.uid)},
    {.name = "gid", .form = &SP_FORM_U32, .offset = AT(credentials.gid)},
    {0},
};

static const struct sp_form_field PEER_PROCESS[] = {
    {.name = "pidfs", .form = &SP_FORM_U64, .offset = AT(peer_process.pidfs)},
    {0},
};

static const struct sp_form_field OWN[] = {
    {.name = "inode", .form = &SP_FORM_U32, .offset = AT(own.inode)},
    {.name = "ended", .form = &SP_FORM_BOOL, .offset = AT(own.ended)},
    {.name = "socket", .inner = SOCKET, .offset = AT(own.socket)},
    {0},
};

static const struct sp_form_field PEER[] = {
    {.name = "socket", .inner = SOCKET, .offset = AT(peer.socket)},
    {0},
};

static const struct sp_form_field HELD[] = {
    {.name = "fd", .form = &SP_FORM_INT, .offset = AT(held.number)},
    {0},
};

static const struct part {
	const char *name;
	size_t code; /* where it lies */
	const struct sp_form_field *fields;
	bool connection; /* absent when nobody connected */
} PARTS[] = {
    {"file", AT(file.code), FILE_FIELDS, false},
    {"process", AT(process.code), PROCESS, false},
    {"start", AT(start.code), NONE, false},
    {"namespaces", AT(namespaces.code), NAMESPACES, false},
    {"tracer", AT(tracer.code), TRACER, false},
    {"executable", AT(executable.code), EXECUTABLE, false},
    {"executable_bytes", AT(bytes.code), BYTES, false},
    {"listener", AT(listener.code), LISTENER, false},
    {"connection", AT(connection.code), CONNECTION, true},
    {"credentials", AT(credentials.code), CREDENTIALS, true},
    {"peer_process", AT(peer_process.code), PEER_PROCESS, true},
    {"own_socket", AT(own.code), OWN, true},
    {"peer_socket", AT(peer.code), PEER, true},
    {"held", AT(held.code), HELD, true},
};

/* What a look may meet and a judge tells apart; any other is told as EIO. */
static const struct {
	const char *name;
	int code;
} ERRORS[] = {
    {"EIO", -EIO},
    {"ESRCH", -ESRCH},
    {"ENOENT", -ENOENT},
    {"ENOTDIR", -ENOTDIR},
    {"ELOOP", -ELOOP},
    {"EACCES", -EACCES},
    {"EPERM", -EPERM},
    {"ENODATA", -ENODATA},
    {"ECONNREFUSED", -ECONNREFUSED},
    {"EPROTOTYPE", -EPROTOTYPE},
    {"EPROTO", -EPROTO},
    {"E2BIG", -E2BIG},
    {"EAGAIN", -EAGAIN},
    {"EMFILE", -EMFILE},
    {"ENOMEM", -ENOMEM},
};

static const char *error_name(int code)
{
	for (size_t i = 0; i < SP_COUNT(ERRORS); i++)
		if (ERRORS[i].code == code)
			return ERRORS[i].name;
	return ERRORS[0].name;
}

static int parse_error(const json_t *error, const char *what, int *ret, struct sp_err *err)
{
	for (size_t i = 0; i < SP_COUNT(ERRORS) && json_is_string(error); i++)
		if (strcmp(ERRORS[i].name, json_string_value(error)) == 0) {
			*ret = ERRORS[i].code;
			return 0;
		}
	return sp_fail(err, SP_E_BAD_RECORD, "%s: `error` is not of its form", what);
}

void sp_sight_init(struct sp_sight *sight)
{
	*sight = (struct sp_sight){.held.number = -1};
	for (size_t i = 0; i < SP_COUNT(PARTS); i++)
		*(int *)((char *)sight + PARTS[i].code) = SP_UNSEEN;
	sight->level.code = sight->boot.code = SP_UNSEEN;
	sight->alive.code = sight->image.code = SP_UNSEEN;
}

static json_t *print_part(const struct part *part, const struct sp_sight *sight, int code)
{
	if (code)
		return json_pack("{ss}", "error", error_name(code));
	return sp_form_print(SP_ROLE_VMM, part->fields, (const char *)sight);
}

json_t *sp_sight_json(const struct sp_sight *sight)
{
	sp_auto_json json_t *object = json_object();

	for (size_t i = 0; i < SP_COUNT(PARTS); i++) {
		int code = *(const int *)((const char *)sight + PARTS[i].code);
		if (code == SP_UNSEEN && PARTS[i].connection)
			continue;
		if (json_object_set_new(object, PARTS[i].name, print_part(&PARTS[i], sight, code)) <
		    0)
			return NULL;
	}
	return sp_steal(&object);
}

static int parse_part(
    const struct part *part, const json_t *value, struct sp_sight *sight, struct sp_err *err)
{
	int *code = (int *)((char *)sight + part->code);
	const json_t *error = json_object_get(value, "error");

	if (error && json_object_size(value) == 1)
		return parse_error(error, part->name, code, err);
	*code = 0;
	return sp_form_parse(SP_ROLE_VMM, value, part->name, part->fields, (char *)sight, err);
}

int sp_sight_parse(const json_t *object, struct sp_sight *ret, struct sp_err *err)
{
	struct sp_json_field fields[SP_COUNT(PARTS)];
	const json_t *values[SP_COUNT(PARTS)] = {0};
	struct sp_sight sight;
	int bad;

	sp_sight_init(&sight);
	for (size_t i = 0; i < SP_COUNT(PARTS); i++)
		fields[i] = (struct sp_json_field){
		    PARTS[i].name, SP_JSON_OBJECT, PARTS[i].connection, &values[i]};
	bad = sp_json_take(object, "seen", fields, SP_COUNT(PARTS), err);
	for (size_t i = 0; i < SP_COUNT(PARTS) && !bad; i++)
		if (values[i])
			bad = parse_part(&PARTS[i], values[i], &sight, err);
	if (!bad)
		*ret = sight;
	return bad;
}
