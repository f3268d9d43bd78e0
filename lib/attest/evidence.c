/* The table of what evidence consists of, and what it must not leave open. */
#include "attest/evidence.h"

#include <stddef.h>
#include "attest/form.h"
#include "base/limits.h"
#include "base/util.h"

#define AT(type, member) offsetof(struct type, member)

static const struct sp_form_field NAMESPACES[] = {
    {.name = "net", .form = &SP_FORM_SIZE, .offset = AT(sp_namespaces, net)},
    {.name = "mnt", .form = &SP_FORM_SIZE, .offset = AT(sp_namespaces, mnt)},
    {.name = "pid", .form = &SP_FORM_SIZE, .offset = AT(sp_namespaces, pid)},
    {.name = "user", .form = &SP_FORM_SIZE, .offset = AT(sp_namespaces, user)},
    {0},
};

/* Offsets within struct sp_evidence: path and hash stand beside the tuple. */
static const struct sp_form_field EXECUTABLE[] = {
    {.name = "path", .form = &SP_FORM_TEXT, .offset = AT(sp_evidence, executable_path)},
    {.name = "dev", .form = &SP_FORM_DEVICE, .offset = AT(sp_evidence, executable.dev)},
    {.name = "ino", .form = &SP_FORM_U64, .offset = AT(sp_evidence, executable.ino)},
    {.name = "size", .form = &SP_FORM_SIZE, .offset = AT(sp_evidence, executable.size)},
    {.name = "mtime", .form = &SP_FORM_INSTANT, .offset = AT(sp_evidence, executable.mtime)},
    {.name = "ctime", .form = &SP_FORM_INSTANT, .offset = AT(sp_evidence, executable.ctime)},
    {.name = "blake2b", .form = &SP_FORM_HASH, .offset = AT(sp_evidence, hash)},
    {0},
};

static const struct sp_form_field LISTENER[] = {
    {.name = "path", .form = &SP_FORM_PATH, .offset = AT(sp_listener, path)},
    {.name = "dev", .form = &SP_FORM_DEVICE, .offset = AT(sp_listener, dev)},
    {.name = "ino", .form = &SP_FORM_U64, .offset = AT(sp_listener, ino)},
    {.name = "uid", .form = &SP_FORM_U32, .offset = AT(sp_listener, uid)},
    {.name = "mode", .form = &SP_FORM_MODE, .offset = AT(sp_listener, mode)},
    {.name = "socket", .form = &SP_FORM_U32, .offset = AT(sp_listener, socket)},
    {.name = "cookie", .form = &SP_FORM_U64, .offset = AT(sp_listener, cookie)},
    {.name = "file_dev", .form = &SP_FORM_U32, .offset = AT(sp_listener, file_device)},
    {.name = "file_ino", .form = &SP_FORM_U32, .offset = AT(sp_listener, file_inode)},
    {.name = "fd", .form = &SP_FORM_INT, .offset = AT(sp_listener, fd)},
    {0},
};

static const struct sp_form_field EVIDENCE[] = {
    {.name = "boot_id", .form = &SP_FORM_BOOT, .offset = AT(sp_evidence, boot_id)},
    {.name = "pid", .form = &SP_FORM_INT, .offset = AT(sp_evidence, pid)},
    {.name = "pidfs", .form = &SP_FORM_U64, .offset = AT(sp_evidence, pidfs), .optional = true},
    {.name = "start_time", .form = &SP_FORM_U64, .offset = AT(sp_evidence, start_time)},
    {.name = "start_stack", .form = &SP_FORM_U64, .offset = AT(sp_evidence, start_stack)},
    {.name = "uid", .form = &SP_FORM_U32, .offset = AT(sp_evidence, uid)},
    {.name = "gid", .form = &SP_FORM_U32, .offset = AT(sp_evidence, gid)},
    {.name = "namespaces", .inner = NAMESPACES, .offset = AT(sp_evidence, namespaces)},
    {.name = "cgroup", .form = &SP_FORM_PATH, .offset = AT(sp_evidence, cgroup)},
    {.name = "executable", .inner = EXECUTABLE, .offset = 0},
    /* Optional when shown of a process that was not said to listen; a record must have it. */
    {.name = "listener", .inner = LISTENER, .offset = AT(sp_evidence, listener), .optional = true},
    {.name = "cid", .form = &SP_FORM_U32, .offset = AT(sp_evidence, cid), .vmm = true},
    {.name = "uds_path", .form = &SP_FORM_TEXT, .offset = AT(sp_evidence, uds_path), .vmm = true},
    {.name = "api",
	.inner = LISTENER,
	.offset = AT(sp_evidence, api),
	.optional = true,
	.vmm = true},
    {0},
};

_Static_assert(SP_COUNT(EVIDENCE) <= SP_FORM_FIELDS_MAX && SP_COUNT(LISTENER) <= SP_FORM_FIELDS_MAX,
    "every table fits");

/* What forms cannot say: zeros that would mean "absent", or match anything. */
static int check(
    enum sp_role role, const struct sp_evidence *evidence, bool has_pidfs, struct sp_err *err)
{
	const char *what = role == SP_ROLE_VMM ? "vmm" : "bridge";

	if (evidence->pid < 1 || evidence->start_time == 0 || evidence->start_stack == 0 ||
	    (has_pidfs && evidence->pidfs == 0))
		return sp_fail(err, SP_E_BAD_RECORD, "%s: names no process", what);
	if (!evidence->listener.path || evidence->listener.socket == 0 ||
	    evidence->listener.cookie == 0 ||
	    (evidence->api.path && (evidence->api.socket == 0 || evidence->api.cookie == 0)))
		return sp_fail(err, SP_E_BAD_RECORD, "%s: names no socket", what);
	if (role == SP_ROLE_VMM && evidence->cid < 3)
		return sp_fail(err, SP_E_BAD_RECORD, "%s: `cid` is below 3", what);
	return 0;
}

int sp_evidence_parse(
    enum sp_role role, const json_t *object, struct sp_evidence *ret, struct sp_err *err)
{
	struct sp_evidence evidence = {0};
	int bad = sp_form_parse(
	    role, object, role == SP_ROLE_VMM ? "vmm" : "bridge", EVIDENCE, (char *)&evidence, err);

	if (!bad)
		bad = check(role, &evidence, json_object_get(object, "pidfs") != NULL, err);
	if (!bad)
		*ret = evidence;
	return bad;
}

json_t *sp_evidence_json(enum sp_role role, const struct sp_evidence *evidence)
{
	return sp_form_print(role, EVIDENCE, (const char *)evidence);
}
