/* Questions to the cache: read without a tree and by one, and written again. */
#include "agree.h"
#include "record/json.h"
#include "routing/cache_wire.h"

static void agree_fields(const struct sp_question *quick, const struct sp_question *slow)
{
	AGREE(quick->kind == slow->kind && quick->op == slow->op);
	AGREE(strcmp(quick->caller, slow->caller) == 0);
	AGREE(strcmp(quick->sandbox, slow->sandbox) == 0);
	AGREE(quick->has_credential == slow->has_credential);
	AGREE(memcmp(quick->credential, slow->credential, sizeof(quick->credential)) == 0);
	AGREE(quick->port == slow->port && quick->position == slow->position);
	if (slow->kind == SP_QUESTION_REJECT)
		AGREE(sp_route_equal(&quick->rejected, &slow->rejected));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = agree_line(data, size), *text;
	struct sp_question quick, slow, again;
	bool taken = sp_question_quick(line, size, &quick);
	int bad = sp_question_parse(line, size, &slow, NULL);

	if (taken) {
		AGREE(bad == 0);
		agree_fields(&quick, &slow);
	}
	if (!bad) {
		text = sp_question_text(&slow);
		AGREE(text && strlen(text) < SP_QUESTION_MAX);
		AGREE(sp_question_parse(text, strlen(text), &again, NULL) == 0);
		agree_fields(&again, &slow);
		AGREE(!taken || (strlen(text) == size && memcmp(text, line, size) == 0));
		free(text);
	}
	free(line);
	return 0;
}
