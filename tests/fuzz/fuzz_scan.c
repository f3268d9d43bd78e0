/* The quick look at a line and jansson: what it takes, jansson takes; what it calls compact, the
 * writer writes so. */
#include "agree.h"
#include "base/limits.h"
#include "record/json.h"
#include "record/scan.h"

#define ROOM 32

static void agree_members(
    const json_t *record, const struct sp_scan_member *members, unsigned count)
{
	unsigned i = 0;
	const char *name;
	json_t *value;

	AGREE(count == json_object_size(record));
	json_object_foreach((json_t *)(uintptr_t)record, name, value)
	{
		const struct sp_scan_member *member = &members[i++];
		json_t *again = json_loadb(
		    member->value, member->size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
		AGREE(member->name_size == strlen(name));
		AGREE(memcmp(member->name, name, member->name_size) == 0);
		AGREE(again && json_equal(again, value));
		AGREE(member->kind == *member->value);
		if (member->plain) {
			AGREE(json_is_string(value));
			AGREE(json_string_length(value) == member->size - 2);
			AGREE(memcmp(json_string_value(value), member->value + 1,
				  member->size - 2) == 0);
		}
		json_decref(again);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sp_scan_member members[ROOM], compact[ROOM]; /* their padding, too, is 0 */
	char *line = agree_line(data, size), *text;
	json_t *record = NULL;
	unsigned count = 0, compact_count = 0;
	bool taken = sp_json_scan(line, size, members, ROOM, &count);
	bool as_written = sp_json_scan_compact(line, size, compact, ROOM, &compact_count);
	int bad = sp_json_parse(line, size, &record, NULL);

	if (taken) {
		AGREE(bad == 0);
		agree_members(record, members, count);
	}
	if (as_written) {
		AGREE(taken && count == compact_count);
		AGREE(memcmp(members, compact, count * sizeof(*members)) == 0);
		text = sp_json_text(record);
		AGREE(text && strlen(text) == size && memcmp(text, line, size) == 0);
		free(text);
	}
	json_decref(record);
	free(line);
	return 0;
}
