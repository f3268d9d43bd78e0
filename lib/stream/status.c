/* Statuses to JSON and back. */
#include "stream/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "base/signal.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/result.h"

#define SIGNAL_EXIT 128 /* as a shell has it */

struct sp_status sp_status_of_wait(int status)
{
	struct sp_status made = {.kind = SP_STATUS_EXIT};

	if (WIFEXITED(status)) {
		made.number = WEXITSTATUS(status);
	} else {
		made.kind = SP_STATUS_SIGNAL;
		sp_signal_name(WTERMSIG(status), made.name);
	}
	return made;
}

struct sp_status sp_status_of_error(int code, const char *message)
{
	static const struct {
		int code;
		enum sp_error_kind kind;
	} kinds[] = {
	    {SP_E_BAD_RECORD, SP_ERROR_BAD_RECORD},
	    {SP_E_TIMEOUT, SP_ERROR_TIMEOUT},
	    {SP_E_UNAVAILABLE, SP_ERROR_UNAVAILABLE},
	    {SP_E_TOO_LARGE, SP_ERROR_TOO_LARGE},
	};
	struct sp_status made = {.kind = SP_STATUS_ERROR, .error = SP_ERROR_OP};

	for (size_t i = 0; i < SP_COUNT(kinds); i++)
		if (kinds[i].code == code)
			made.error = kinds[i].kind;
	if (made.error == SP_ERROR_OP)
		(void)snprintf(made.name, sizeof(made.name), "%s",
		    sp_errno_name(code < 0 && code > -4096 ? -code : EIO));
	(void)snprintf(made.message, sizeof(made.message), "%s",
	    message && *message ? message : sp_code_text(code));
	sp_text_printable(made.message);
	return made;
}

static json_t *status_json(const struct sp_status *status)
{
	json_t *json = NULL;

	if (status->kind == SP_STATUS_SIGNAL)
		return json_pack("{s:s}", "signal", status->name);
	if (status->kind == SP_STATUS_ERROR)
		return json_pack("{s:s, s:s*, s:s}", "error", sp_error_name(status->error), "errno",
		    status->error == SP_ERROR_OP ? status->name : NULL, "message", status->message);
	json = json_pack("{s:i}", "exit", status->number);
	if (json && status->counted &&
	    (json_object_set_new(json, "entries", json_integer(status->entries)) ||
		json_object_set_new(json, "bytes", json_integer(status->bytes)))) {
		json_decref(json);
		return NULL;
	}
	return json;
}

size_t sp_status_print(const struct sp_status *status, char ret_text[SP_FRAME_CONTROL_MAX])
{
	sp_auto_json json_t *json = status_json(status);
	size_t size = json ? sp_json_write(json, ret_text, SP_FRAME_CONTROL_MAX) : 0;

	return size <= SP_FRAME_CONTROL_MAX ? size : 0;
}

static int take_error(const json_t *json, struct sp_status *status, struct sp_err *err)
{
	const char *kind = json_string_value(json_object_get(json, "error"));
	const char *name = json_string_value(json_object_get(json, "errno"));
	const char *message = json_string_value(json_object_get(json, "message"));

	if (!kind || !sp_error_parse(kind, &status->error))
		return sp_fail(err, SP_E_BAD_RECORD, "status: neither exit, signal nor error");
	status->kind = SP_STATUS_ERROR;
	(void)snprintf(status->name, sizeof(status->name), "%s", name ? name : "");
	(void)snprintf(status->message, sizeof(status->message), "%s", message ? message : "");
	sp_text_printable(status->name);
	sp_text_printable(status->message);
	return 0;
}

static int take_exit(const json_t *json, struct sp_status *status, struct sp_err *err)
{
	json_int_t number = json_integer_value(json_object_get(json, "exit"));
	const json_t *entries = json_object_get(json, "entries");
	const json_t *bytes = json_object_get(json, "bytes");

	if (number < 0 || number > 255)
		return sp_fail(err, SP_E_BAD_RECORD, "status: exit is not within 0 and 255");
	status->kind = SP_STATUS_EXIT;
	status->number = (int)number;
	status->counted = json_is_integer(entries) && json_is_integer(bytes);
	status->entries = json_integer_value(entries);
	status->bytes = json_integer_value(bytes);
	return 0;
}

static int take_signal(const char *name, struct sp_status *status, struct sp_err *err)
{
	int number;

	if (!sp_signal_parse(name, &number))
		return sp_fail(err, SP_E_BAD_RECORD, "status: no signal of this name");
	status->kind = SP_STATUS_SIGNAL;
	sp_signal_name(number, status->name);
	return 0;
}

int sp_status_parse(const char *text, size_t size, struct sp_status *ret, struct sp_err *err)
{
	sp_auto_json json_t *json = NULL;
	struct sp_status status = {.kind = SP_STATUS_ERROR};
	const json_t *signal;
	int bad = sp_json_parse(text, size, &json, err);

	if (bad)
		return sp_err_prefix(err, bad, "status");
	signal = json_object_get(json, "signal");
	if (json_is_integer(json_object_get(json, "exit")))
		bad = take_exit(json, &status, err);
	else if (json_is_string(signal))
		bad = take_signal(json_string_value(signal), &status, err);
	else
		bad = take_error(json, &status, err);
	if (!bad)
		*ret = status;
	return bad;
}

int sp_status_exit(const struct sp_status *status)
{
	int number;

	if (status->kind == SP_STATUS_EXIT)
		return status->number;
	if (status->kind == SP_STATUS_SIGNAL)
		return sp_signal_parse(status->name, &number) ? SIGNAL_EXIT + number
							      : SP_EXIT_FAILED;
	return sp_error_exit(status->error);
}
