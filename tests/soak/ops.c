/* Operations: the n-th of a seed is always the same, and every guest's answer says whose it is. */
#include "soak.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"

#define LOG_SHIFT 24 /* life.c */
#define ENTRY     16 /* bytes of a guest's log */

const char OP_LETTERS[] = "WRXP";

/* How long one is held back, in operations: most not long, few beyond the life of a capability. */
static uint64_t delay_of(uint64_t number)
{
	unsigned kind = (unsigned)(number % 20);

	number >>= 8;
	if (kind < 10)
		return number % 200;
	if (kind < 16)
		return number % 5000;
	return number % (kind < 19 ? 30000 : 120000);
}

static enum op_kind kind_of(enum op_way way, unsigned number)
{
	if (way == WAY_LATE)
		return number < 40 ? OP_WRITE : number < 75 ? OP_READ : OP_RUN;
	return number < 50 ? OP_WRITE : number < 93 ? OP_READ : number < 96 ? OP_RUN : OP_PING;
}

static const char *const MUST[FORGERIES] = {"-", "sandbox", "token", "worker", "op"};

void op_make(uint64_t number, struct op *ret)
{
	uint64_t a = soak_mix(soak.trace.seed ^ 0x736f616b, 2 * number),
		 b = soak_mix(soak.trace.seed ^ 0x736f616b, 2 * number + 1);
	unsigned way = (unsigned)(a % 100);

	*ret = (struct op){.number = number, .must = "-", .copies = 1};
	ret->way = way < 4 ? WAY_PIPELINE : way < 16 ? WAY_LATE : WAY_CALL;
	ret->sandbox = (unsigned)((a >> 8) % soak.trace.sandboxes);
	ret->kind = kind_of(ret->way, (unsigned)((a >> 32) % 100));
	ret->principal = ret->way == WAY_CALL && a >> 63;
	ret->caller = ret->sandbox % 3 + 3 * ret->principal;
	if (ret->principal && ret->sandbox % 16 == 5)
		ret->must = "unauthorized";
	if (ret->way != WAY_LATE)
		return;
	ret->delay = delay_of(b >> 16);
	/* What may be used more than once may run more than once: that is no fault. */
	if (ret->kind != OP_WRITE)
		ret->copies = 1 + (unsigned)(b % 3);
	if ((b >> 8) % 8 == 0)
		ret->forgery = 1 + (unsigned)((b >> 12) % (FORGERIES - 1));
	if (ret->forgery == FORGE_OP && ret->kind != OP_WRITE)
		ret->forgery = FORGE_SANDBOX;
	ret->must = MUST[ret->forgery];
}

size_t op_asked(const struct op *op, char *line, size_t room)
{
	char args[256];
	int n;

	if (op->kind == OP_WRITE)
		(void)snprintf(args, sizeof(args),
		    "\"op\":\"file.write\",\"args\":{\"path\":\"/"
		    "log\",\"append\":true,\"create\":false,"
		    "\"text\":\"%015" PRIu64 "\\n\"}",
		    op->number);
	else if (op->kind == OP_READ)
		(void)snprintf(
		    args, sizeof(args), "\"op\":\"file.read\",\"args\":{\"path\":\"/id\"}");
	else if (op->kind == OP_RUN)
		(void)snprintf(args, sizeof(args),
		    "\"op\":\"exec.run\",\"args\":{\"argv\":[\"/bin/sh\",\"-c\",\"echo %015" PRIu64
		    " >>log && read -r all <id && echo \\\"$all\\\"\"],\"cwd\":\"/\"}",
		    op->number);
	else
		(void)snprintf(args, sizeof(args), "\"op\":\"ping\",\"args\":{}");
	n = snprintf(line, room, "{\"id\":\"n%" PRIu64 "\",\"sandbox\":\"%s\",%s}\n", op->number,
	    soak.sandboxes[op->sandbox].name, args);
	return (size_t)n;
}

static const char *text_at(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* Whose identity a text is: sandbox, execution, guest. */
static void say_text(const char *text, char *ret, size_t room)
{
	char name[32];
	int64_t execution;
	unsigned guest;

	if (sscanf(text, "%31s %" SCNd64 " %u", name, &execution, &guest) == 3)
		(void)snprintf(ret, room, "ok %u -", guest);
}

static void say_size(int64_t size, char *ret, size_t room)
{
	int64_t base = (size - 1) >> LOG_SHIFT, at = size - (base << LOG_SHIFT);

	if (size > 0 && at % ENTRY == 0)
		(void)snprintf(ret, room, "ok %" PRId64 " %" PRId64, base, at / ENTRY - 1);
}

static void say_ok(enum op_kind kind, const json_t *result, char *ret, size_t room)
{
	(void)snprintf(ret, room, "odd");
	if (kind == OP_PING)
		(void)snprintf(ret, room, "ok - -");
	else if (kind == OP_READ)
		say_text(text_at(result, "text"), ret, room);
	else if (kind == OP_RUN)
		say_text(text_at(json_object_get(result, "stdout"), "text"), ret, room);
	else
		say_size(json_integer_value(json_object_get(result, "size")), ret, room);
}

void op_outcome(enum op_kind kind, const char *line, const char *id, char *ret, size_t room)
{
	sp_auto_json json_t *answer = json_loads(line, 0, NULL);
	const char *status = text_at(answer, "status");
	const json_t *sent = json_object_get(answer, "sent");

	(void)snprintf(ret, room, "odd");
	if (strcmp(text_at(answer, "id"), id) != 0)
		return;
	if (strcmp(status, "ok") == 0)
		say_ok(kind, json_object_get(answer, "result"), ret, room);
	else if (strcmp(status, "refused") == 0)
		(void)snprintf(ret, room, "refused %s %s", text_at(answer, "decision"),
		    text_at(answer, "reason"));
	else if (strcmp(status, "error") == 0)
		(void)snprintf(ret, room, "error %s %s", text_at(answer, "error"),
		    !sent                ? "-"
		    : json_is_true(sent) ? "1"
					 : "0");
}
