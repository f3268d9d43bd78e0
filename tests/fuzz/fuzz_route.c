/*
 * The stage `route` without a tree and by one: an asked line and, behind a LF, the cache's answer.
 * The same question is asked, and the same routed line comes of it.
 */
#include "agree.h"
#include "base/text.h"
#include "call/route.h"
#include "record/json.h"

static const struct sp_who WHO = {.caller = "uid:1000"};

static void agree_question(const struct sp_out *quick, json_t *record, size_t size)
{
	struct sp_question question;
	json_t *answer = NULL;
	char *slow;

	AGREE(sp_route_stage_ask(record, size, &WHO, &question, &answer, NULL) == 0);
	slow = sp_question_text(&question);
	AGREE(slow && strlen(slow) == quick->used && memcmp(slow, quick->at, quick->used) == 0);
	free(slow);
}

static void agree_routed(const char *line, size_t size, json_t *record,
    const struct sp_reply_pieces *pieces, const struct sp_reply *reply, size_t reply_size)
{
	size_t room = size + reply_size + SP_ROUTED_MORE;
	char *text = malloc(room), *slow;
	struct sp_out out = {.at = text, .room = room};
	json_t *routed = sp_route_stage_finish(record, &WHO, reply);

	AGREE(text && routed);
	sp_out_put(&out, line, size - 1);
	sp_route_stage_put(&WHO, pieces, &out);
	slow = sp_json_text(routed);
	AGREE(slow && out.used <= out.room && strlen(slow) == out.used);
	AGREE(memcmp(slow, text, out.used) == 0);
	free(slow);
	free(text);
	json_decref(routed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *lf = memchr(data, '\n', size);
	size_t asked_size = lf ? (size_t)(lf - data) : size;
	size_t reply_size = lf ? size - asked_size - 1 : 0;
	char *asked = agree_line(data, asked_size);
	char *reply_line = agree_line(lf ? lf + 1 : data, reply_size);
	char text[SP_QUESTION_MAX];
	struct sp_out question = {.at = text, .room = sizeof(text)};
	struct sp_reply_pieces pieces;
	struct sp_reply reply = {.routed = false};
	json_t *record = NULL;
	bool asked_quickly = sp_route_stage_quick(asked, asked_size, &WHO, &question);
	bool answered_quickly = sp_reply_quick(reply_line, reply_size, &pieces);

	if (asked_quickly) {
		AGREE(question.used <= question.room);
		AGREE(sp_json_parse(asked, asked_size, &record, NULL) == 0);
		agree_question(&question, record, asked_size);
	}
	if (answered_quickly) {
		AGREE(sp_reply_parse(reply_line, reply_size, &reply, NULL) == 0);
		AGREE(reply.routed && reply.access);
	}
	if (asked_quickly && answered_quickly)
		agree_routed(asked, asked_size, record, &pieces, &reply, reply_size);
	sp_reply_done(&reply);
	json_decref(record);
	free(asked);
	free(reply_line);
	return 0;
}
