/* Lines of spaceid compare: judged without a tree, and by one; what is written of either. */
#include "agree.h"
#include "spaceid/judge.c"
/* The same question by another name. */
#define take_installed quick_installed
#define take_use       quick_use
#include "spaceid/judge_quick.c"

static void agree_answer(
    const char *line, size_t size, json_t *record, const struct sp_comparison *result)
{
	char *text = malloc(size + 1024), *slow;
	struct sp_out out = {.at = text, .room = size + 1024};

	AGREE(spaceid_add_result(record, result) == 0);
	slow = sp_json_text(record);
	sp_out_put(&out, line, size - 1);
	spaceid_put_result(result, &out);
	sp_out_text(&out, "}");
	AGREE(slow && strlen(slow) == out.used && memcmp(slow, text, out.used) == 0);
	free(slow);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = agree_line(data, size);
	struct comparison quick, slow;
	json_t *record = NULL;

	if (spaceid_judge_quick(line, size, NULL, &quick)) {
		AGREE(sp_json_parse(line, size, &record, NULL) == 0);
		AGREE(spaceid_judge(record, NULL, &slow, NULL) == 0);
		AGREE(quick.has_installed == slow.has_installed && quick.use == slow.use);
		AGREE(quick.retired == slow.retired);
		AGREE(memcmp(&quick.selected, &slow.selected, sizeof(quick.selected)) == 0);
		AGREE(memcmp(&quick.installed, &slow.installed, sizeof(quick.installed)) == 0);
		AGREE(quick.result.reason == slow.result.reason);
		AGREE(quick.result.decision == slow.result.decision);
		AGREE(quick.result.behind == slow.result.behind);
		AGREE(quick.result.has_differs == slow.result.has_differs);
		AGREE(quick.result.differs == slow.result.differs);
		agree_answer(line, size, record, &quick.result);
	}
	json_decref(record);
	free(line);
	return 0;
}
