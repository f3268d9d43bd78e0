/* The operations on sessions that are no streams. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include "base/signal.h"
#include "base/text.h"
#include "base/util.h"
#include "guest/session_inner.h"
#include "guest/value.h"
#include "record/json.h"

static int give(json_t *made, json_t **ret, struct sp_err *err)
{
	if (!made)
		return sp_fail(err, -ENOMEM, "out of memory");
	*ret = made;
	return 0;
}

static int start(struct sp_sessions *sessions, const json_t *args, enum sp_exec_form form,
    json_t **ret, struct sp_err *err)
{
	struct sp_session *session;
	int bad = sp_session_start(sessions, args, form, &session, err);

	return bad ? bad : give(json_pack("{s:s}", "session", session->id), ret, err);
}

int sp_session_op_start(
    struct sp_sessions *sessions, const json_t *args, json_t **ret, struct sp_err *err)
{
	return start(sessions, args, SP_EXEC_SESSION, ret, err);
}

int sp_session_op_terminal(
    struct sp_sessions *sessions, const json_t *args, json_t **ret, struct sp_err *err)
{
	return start(sessions, args, SP_EXEC_TERMINAL, ret, err);
}

static json_t *session_json(const struct sp_session *session)
{
	char started[SP_TIME_SIZE], text[SP_FRAME_CONTROL_MAX];
	sp_auto_json json_t *json = NULL, *how = NULL;
	struct sp_status status;

	sp_time_format(session->started, started);
	json = json_pack("{s:s, s:s, s:b, s:s, s:b}", "session", session->id, "program",
	    session->program, "terminal", (int)session->terminal, "started", started, "attached",
	    session->listener != NULL);
	if (!session->exited)
		return sp_steal(&json);
	status = sp_status_of_wait(session->wait_status);
	if (sp_json_parse(text, sp_status_print(&status, text), &how, NULL) ||
	    json_object_update(json, how))
		return NULL;
	return sp_steal(&json);
}

/* Each takes less than this in the answer's line. */
#define SESSION_FRAME (256 + 6 * SP_SESSION_PROGRAM_MAX)

int sp_session_op_list(
    struct sp_sessions *sessions, const json_t *args, json_t **ret, struct sp_err *err)
{
	sp_auto_json json_t *list = json_array();
	size_t room = (SP_LINE_MAX - SP_ANSWER_FRAME) / SESSION_FRAME;
	struct sp_session *session;
	int bad = sp_json_take(args, "args", NULL, 0, err);

	if (bad)
		return bad;
	TAILQ_FOREACH(session, &sessions->list, entry)
	{
		if (json_array_size(list) == room)
			break;
		if (json_array_append_new(list, session_json(session)))
			return sp_fail(err, -ENOMEM, "out of memory");
	}
	return give(
	    json_pack("{s:O, s:b}", "sessions", list, "truncated", session != NULL), ret, err);
}

static int find(
    struct sp_sessions *sessions, const json_t *id, struct sp_session **ret, struct sp_err *err)
{
	*ret = sp_session_find(sessions, json_string_value(id));
	return *ret ? 0 : sp_fail(err, -ENOENT, "no such session");
}

static int take_signal(const json_t *name, int *ret, struct sp_err *err)
{
	if (sp_signal_parse(json_string_value(name), ret))
		return 0;
	return sp_fail(err, SP_E_BAD_RECORD, "signal: `%.32s` is none", json_string_value(name));
}

/* The command's own process group; on a terminal also the one in front, which a shell with job
 * control keeps apart. */
static int send_signal(const struct sp_session *session, int number)
{
	pid_t front = session->terminal ? tcgetpgrp(session->in) : -1;

	if (front > 1 && front != session->pid)
		(void)kill(-front, number);
	return kill(-session->pid, number) < 0 ? -errno : 0;
}

int sp_session_op_signal(
    struct sp_sessions *sessions, const json_t *args, json_t **ret, struct sp_err *err)
{
	const json_t *id, *name;
	const struct sp_json_field fields[] = {
	    {"session", SP_JSON_STRING, false, &id},
	    {"signal", SP_JSON_STRING, false, &name},
	};
	struct sp_session *session;
	int number, bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = take_signal(name, &number, err)) ||
	    (bad = find(sessions, id, &session, err)))
		return bad;
	bad = session->exited ? -ESRCH : send_signal(session, number);
	if (bad)
		return sp_fail(err, bad, "signal: %s", sp_code_text(bad));
	return give(json_object(), ret, err);
}

int sp_session_op_resize(
    struct sp_sessions *sessions, const json_t *args, json_t **ret, struct sp_err *err)
{
	const json_t *id, *rows, *cols;
	const struct sp_json_field fields[] = {
	    {"session", SP_JSON_STRING, false, &id},
	    {"rows", SP_JSON_INTEGER, false, &rows},
	    {"cols", SP_JSON_INTEGER, false, &cols},
	};
	sp_auto_json json_t *size = NULL;
	struct sp_session *session;
	int bad = sp_json_take(args, "args", fields, SP_COUNT(fields), err);

	if (bad || (bad = find(sessions, id, &session, err)))
		return bad;
	size = json_pack("{s:O, s:O}", "rows", rows, "cols", cols);
	bad = size ? sp_session_resize(session, size, err) : sp_fail(err, -ENOMEM, "out of memory");
	return bad ? bad : give(json_object(), ret, err);
}
