/*
 * The questions that make nearly all of a cache's work, read byte for byte in the one shape that
 * sp_question_text gives them, without a tree. Whatever else comes, right or wrong, is not judged
 * here.
 */
#include <string.h>
#include "base/text.h"
#include "record/reading.h"
#include "routing/cache_wire.h"

static bool take_key(struct sp_reading *reading, struct sp_question *question)
{
	return sp_reading_word(reading, question->caller, sizeof(question->caller)) &&
	       sp_caller_valid(question->caller) && sp_reading_skip(reading, ",\"sandbox\":\"") &&
	       sp_reading_id(reading, question->sandbox);
}

static bool take_op(struct sp_reading *reading, struct sp_question *question)
{
	char name[SP_ACCESS_ENTRY_MAX + 1];

	if (!sp_reading_skip(reading, ",\"op\":\""))
		return true;
	if (!sp_reading_word(reading, name, sizeof(name)))
		return false;
	question->op = sp_op_find(name);
	return question->op != NULL;
}

static bool take_credential(struct sp_reading *reading, struct sp_question *question)
{
	char text[64];
	size_t size;

	if (!sp_reading_skip(reading, ",\"credential\":\""))
		return true;
	question->has_credential = true;
	return sp_reading_word(reading, text, sizeof(text)) &&
	       sp_base64_decode(text, strlen(text), true, question->credential,
		   sizeof(question->credential), &size) &&
	       size == sizeof(question->credential);
}

bool sp_question_quick(const char *line, size_t size, struct sp_question *ret)
{
	struct sp_reading reading = {line, line + size};
	bool taken = false;

	*ret = (struct sp_question){.protocol = -1};
	if (sp_reading_skip(&reading, "{\"ask\":\"get\",\"caller\":\"")) {
		ret->kind = SP_QUESTION_GET;
		taken = take_key(&reading, ret) && take_op(&reading, ret) &&
			take_credential(&reading, ret);
	} else if (sp_reading_skip(&reading, "{\"ask\":\"reject\",\"caller\":\"")) {
		ret->kind = SP_QUESTION_REJECT;
		taken = take_key(&reading, ret) && sp_reading_skip(&reading, ",\"rejected\":") &&
			sp_reading_route(&reading, &ret->rejected);
	}
	return taken && sp_reading_skip(&reading, "}") && reading.at == reading.end;
}
