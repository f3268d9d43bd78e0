/* What is minted from a routed record: read without a tree, and by one. */
#include "agree.h"
#include "record/json.h"
#include "token/order.h"

static int read_slowly(const char *line, size_t size, struct sp_order *ret)
{
	struct sp_request request;
	json_t *record = NULL;
	int bad = sp_json_parse(line, size, &record, NULL);

	if (!bad)
		bad = sp_request_state(record) == SP_STATE_ROUTED
			  ? sp_request_parse(record, SP_STATE_ROUTED, &request, NULL)
			  : SP_E_BAD_RECORD;
	if (!bad)
		bad = sp_order_read(&request, ret, NULL);
	json_decref(record);
	return bad;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sp_order quick, slow;
	char *line = agree_line(data, size);

	if (sp_order_quick(line, size, &quick)) {
		AGREE(read_slowly(line, size, &slow) == 0);
		AGREE(memcmp(&quick, &slow, sizeof(quick)) == 0);
	}
	free(line);
	return 0;
}
