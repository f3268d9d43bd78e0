/* Two outputs share one line: each is text where that fits, else base64, else cut. */
#include "guest/exec_result.h"

#include <string.h>
#include <sys/wait.h>
#include "base/signal.h"
#include "base/text.h"
#include "base/util.h"
#include "guest/exec.h"
#include "guest/value.h"
#include "record/json.h"

/* An output that was cut may end in the middle of a character: that piece is not worth making
 * base64 of the whole. */
static size_t whole_characters(const char *bytes, size_t size)
{
	for (size_t drop = 1; drop <= 3 && drop < size; drop++)
		if (sp_utf8_valid(bytes, size - drop))
			return size - drop;
	return size;
}

/* What it takes as base64, at the least; *size is lowered until that fits. */
static size_t as_data(size_t *size, size_t room)
{
	if (sp_base64_room(*size, false) > room)
		*size = room / 4 * 3 - 3;
	return sp_base64_room(*size, false);
}

static json_t *output_json(const struct sp_output *output, size_t size, size_t room, size_t *used)
{
	json_t *object = json_object();
	bool cut = output->cut || size < output->size;

	if (cut && !sp_utf8_valid(output->bytes, size))
		size = whole_characters(output->bytes, size);
	if (!object || sp_value_put(object, "text", output->bytes, size, room)) {
		json_decref(object);
		return NULL;
	}
	*used = json_object_get(object, "text") ? sp_text_escaped(output->bytes, size)
						: sp_base64_room(size, false);
	return object;
}

static int put_status(json_t *object, int status)
{
	char name[SP_SIGNAL_NAME_SIZE];

	if (WIFEXITED(status))
		return json_object_set_new(object, "exit", json_integer(WEXITSTATUS(status)));
	sp_signal_name(WTERMSIG(status), name);
	return json_object_set_new(object, "signal", json_string(name));
}

json_t *sp_exec_result(
    int status, const struct sp_output *out, const struct sp_output *err, bool timed_out)
{
	sp_auto_json json_t *object = json_object();
	size_t room = SP_LINE_MAX - SP_ANSWER_FRAME, used = 0;
	size_t out_size = out->size, err_size = err->size;
	json_t *value;

	(void)as_data(&out_size, sp_base64_room(SP_EXEC_LIMIT_MAX, false));
	if (!object || put_status(object, status))
		return NULL;
	value = output_json(out, out_size,
	    room - as_data(&err_size, room - sp_base64_room(out_size, false)), &used);
	if (json_object_set_new(object, "stdout", value))
		return NULL;
	value = output_json(err, err_size, room - used, &used);
	if (json_object_set_new(object, "stderr", value) ||
	    json_object_set_new(object, "truncated",
		json_boolean(
		    out->cut || err->cut || out_size < out->size || err_size < err->size)) ||
	    (timed_out && json_object_set_new(object, "timed_out", json_true())))
		return NULL;
	return sp_steal(&object);
}
