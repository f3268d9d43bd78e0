/* The table of the agent's operations, and those that concern the agent itself. */
#include "guest/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

static int ping(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	json_t *object;
	int bad = sp_json_take(args, "args", NULL, 0, err);

	(void)root;
	if (bad)
		return bad;
	object = json_object();
	if (!object)
		return sp_fail(err, -ENOMEM, "out of memory");
	*ret = object;
	return 0;
}

/* Changes with every boot, and only then: tells a resumed guest from a fresh one. */
static void read_boot_id(char boot[37])
{
	sp_auto_free char *text = NULL;
	size_t size;

	boot[0] = '\0';
	if (sp_file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 0, 64, &text, &size, NULL))
		return;
	text[strcspn(text, "\n")] = '\0';
	if (sp_uuid_valid(text))
		memcpy(boot, text, 37);
}

static int info(int root, const json_t *args, json_t **ret, struct sp_err *err)
{
	struct utsname name;
	char boot[37];
	json_t *object;
	int bad = sp_json_take(args, "args", NULL, 0, err);

	(void)root;
	if (bad)
		return bad;
	if (uname(&name) < 0)
		return sp_fail_errno(err, "uname");
	read_boot_id(boot);
	object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s*}", "agent", SP_VERSION, "system",
	    name.sysname, "kernel", name.release, "machine", name.machine, "hostname",
	    name.nodename, "boot_id", boot[0] ? boot : NULL);
	if (!object)
		return sp_fail(err, -ENOMEM, "out of memory");
	*ret = object;
	return 0;
}

#define DIRECT(function)  .kind = SP_GUEST_OP_DIRECT, .direct = (function)
#define SESSION(function) .kind = SP_GUEST_OP_SESSION, .session = (function)
#define STREAM(row)       .kind = SP_GUEST_OP_STREAM, .stream = &(row)

static const struct sp_guest_op TABLE[] = {
    {"ping", DIRECT(ping)},
    {"guest.info", DIRECT(info)},
    {"file.read", DIRECT(sp_file_op_read)},
    {"file.write", DIRECT(sp_file_op_write)},
    {"file.stat", DIRECT(sp_file_op_stat)},
    {"file.list", DIRECT(sp_file_op_list)},
    {"file.mkdir", DIRECT(sp_file_op_mkdir)},
    {"file.rename", DIRECT(sp_file_op_rename)},
    {"file.chmod", DIRECT(sp_file_op_chmod)},
    {"file.remove", .kind = SP_GUEST_OP_REMOVE},
    {"file.watch", STREAM(sp_stream_watch)},
    {"exec.run", .kind = SP_GUEST_OP_EXEC},
    {"exec.start", SESSION(sp_session_op_start)},
    {"exec.list", SESSION(sp_session_op_list)},
    {"exec.signal", SESSION(sp_session_op_signal)},
    {"exec.attach", STREAM(sp_stream_attach)},
    {"terminal.open", SESSION(sp_session_op_terminal)},
    {"terminal.resize", SESSION(sp_session_op_resize)},
    {"port.connect", STREAM(sp_stream_port)},
    {"tree.get", STREAM(sp_stream_tree_get)},
    {"tree.put", STREAM(sp_stream_tree_put)},
};

const struct sp_guest_op *sp_guest_op_find(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(TABLE); i++)
		if (strcmp(TABLE[i].name, name) == 0)
			return &TABLE[i];
	return NULL;
}
