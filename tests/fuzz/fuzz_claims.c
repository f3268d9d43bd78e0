/* Claims without a tree and with one, in both directions. */
#include "agree.h"
#include "record/json.h"
#include "token/claims_quick.h"

/* As text without a tree, and by one. */
static void agree_text(const struct sp_claims *claims)
{
	char text[16384];
	struct sp_out out = {.at = text, .room = sizeof(text)};
	json_t *object = sp_claims_json(claims);
	char *slow = object ? sp_json_text(object) : NULL;

	sp_claims_put(claims, &out);
	AGREE(slow && out.used <= out.room && strlen(slow) == out.used);
	AGREE(memcmp(slow, text, out.used) == 0);
	free(slow);
	json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sp_claims quick, slow;
	char *line = agree_line(data, size);
	bool taken = sp_claims_quick(line, size, &quick);
	int bad = sp_claims_read(line, size, &slow, NULL);

	if (taken) {
		AGREE(bad == 0);
		/* Both set what there is and leave the rest zero. */
		AGREE(memcmp(&quick, &slow, sizeof(quick)) == 0);
	}
	if (!bad)
		agree_text(&slow);
	free(line);
	return 0;
}
