/* Answers as words. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "client/attachment.h"
#include "record/reason.h"
#include "record/result.h"

static const char *text_of(const json_t *record, const char *name)
{
	const char *text = json_string_value(json_object_get(record, name));

	return text ? text : "";
}

static void error_words(const json_t *record, char *words)
{
	const json_t *sent = json_object_get(record, "sent");
	const char *number = text_of(record, "errno");

	(void)snprintf(words, SP_ERR_MAX, "%s%s%s%s: %s", text_of(record, "error"),
	    json_is_false(sent) ? " (not sent)"
	    : sent              ? " (perhaps sent)"
				: "",
	    *number ? " " : "", number, text_of(record, "message"));
}

int sp_attachment_words(const struct sp_call_end *end, char *words)
{
	const json_t *record = end->record;
	const char *status = text_of(record, "status"), *behind = text_of(record, "behind");

	if (!record) {
		(void)snprintf(words, SP_ERR_MAX, "%s", end->text ? "ok" : "out of memory");
		return end->text ? SP_EXIT_DONE : SP_EXIT_FAILED;
	}
	if (strcmp(status, "refused") == 0)
		(void)snprintf(words, SP_ERR_MAX, "refused by %s: %s: %s%s%s%s",
		    text_of(record, "hop"), text_of(record, "decision"), text_of(record, "reason"),
		    *behind ? " (behind: " : "", behind, *behind ? ")" : "");
	else if (strcmp(status, "error") == 0)
		error_words(record, words);
	else
		(void)snprintf(words, SP_ERR_MAX, "%s", status);
	sp_text_printable(words);
	return sp_record_exit(record);
}
