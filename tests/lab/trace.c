/* A trace: JSON Lines, an event each, times in whole milliseconds. */
#include "lab.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "record/json.h"

enum field { AT, EVENT, SANDBOX, EXECUTION, WORKER, ENTRY, ID, CAUSE, WATCH, FIELDS };
#define BIT(field) (1u << (field))

static const struct {
	const char *name;
	enum sp_json_kind kind;
	int64_t max; /* of an integer */
} FIELD[FIELDS] = {
    [AT] = {"at", SP_JSON_INTEGER, INT32_MAX},
    [EVENT] = {"event", SP_JSON_STRING, 0},
    [SANDBOX] = {"sandbox", SP_JSON_INTEGER, SANDBOXES - 1},
    [EXECUTION] = {"execution", SP_JSON_INTEGER, EXECUTIONS - 1},
    [WORKER] = {"worker", SP_JSON_INTEGER, WORKERS - 1},
    [ENTRY] = {"entry", SP_JSON_INTEGER, ENTRIES - 1},
    [ID] = {"id", SP_JSON_INTEGER, PENDING - 1},
    [CAUSE] = {"cause", SP_JSON_STRING, 0},
    [WATCH] = {"watch", SP_JSON_BOOL, 0},
};

#define OF_EXECUTION (BIT(SANDBOX) | BIT(EXECUTION))
#define OF_REQUEST   (BIT(SANDBOX) | BIT(ENTRY) | BIT(ID))

static const struct {
	const char *name;
	unsigned fields; /* besides `at` and `event` */
} EVENTS[] = {
    [EVENT_ENTRY] = {"entry", BIT(ENTRY) | BIT(WATCH)},
    [EVENT_FENCE] = {"fence", OF_EXECUTION},
    [EVENT_INSTALL] = {"install", OF_EXECUTION | BIT(WORKER) | BIT(CAUSE)},
    [EVENT_PUBLISH] = {"publish", OF_EXECUTION},
    [EVENT_RETIRE] = {"retire", OF_EXECUTION},
    [EVENT_STOP] = {"stop", OF_EXECUTION},
    [EVENT_SEND] = {"send", OF_REQUEST},
    [EVENT_ARRIVE] = {"arrive", OF_REQUEST},
    [EVENT_OPEN] = {"open", OF_REQUEST},
    [EVENT_MOVE] = {"move", OF_REQUEST},
};

static const char *const CAUSE_NAMES[CAUSES] = {"start", "in-place", "moved", "unreached"};

static _Noreturn void wrong(unsigned line, const char *what, const char *why)
{
	(void)fprintf(stderr, "lab: line %u: %s%s\n", line, what, why);
	exit(3);
}

static unsigned find(const char *const *names, size_t stride, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(*(const char *const *)(const void *)((const char *)names + i * stride),
			name) == 0)
			return (unsigned)i;
	return (unsigned)count;
}

static int number(const json_t *const *values, enum field field, unsigned line)
{
	json_int_t value = values[field] ? json_integer_value(values[field]) : 0;

	if (value < 0 || value > FIELD[field].max)
		wrong(line, FIELD[field].name, " is out of range");
	return (int)value;
}

static void take(const json_t *object, unsigned line, const json_t *values[FIELDS])
{
	struct sp_json_field fields[FIELDS];
	struct sp_err err = {0};

	for (unsigned i = 0; i < FIELDS; i++)
		fields[i] = (struct sp_json_field){
		    FIELD[i].name, FIELD[i].kind, i != AT && i != EVENT, &values[i]};
	if (sp_json_take(object, "event", fields, FIELDS, &err))
		wrong(line, err.message, "");
}

static void check_fields(const json_t *const *values, enum event_kind kind, unsigned line)
{
	for (unsigned i = SANDBOX; i < FIELDS; i++)
		if (!!values[i] != !!(EVENTS[kind].fields & BIT(i)))
			wrong(line, FIELD[i].name,
			    values[i] ? " does not belong there" : " is missing");
}

void trace_parse(const char *text, size_t size, unsigned line, struct event *ret)
{
	const json_t *values[FIELDS] = {0};
	sp_auto_json json_t *object = NULL;
	struct sp_err err = {0};
	unsigned kind, cause = CAUSE_START;

	if (sp_json_parse(text, size, &object, &err))
		wrong(line, err.message, "");
	take(object, line, values);
	kind = find(
	    &EVENTS[0].name, sizeof(EVENTS[0]), SP_COUNT(EVENTS), json_string_value(values[EVENT]));
	if (kind == SP_COUNT(EVENTS))
		wrong(line, json_string_value(values[EVENT]), ": no such event");
	check_fields(values, (enum event_kind)kind, line);
	if (values[CAUSE])
		cause = find(
		    CAUSE_NAMES, sizeof(CAUSE_NAMES[0]), CAUSES, json_string_value(values[CAUSE]));
	if (cause == CAUSES)
		wrong(line, json_string_value(values[CAUSE]), ": no such cause");
	*ret = (struct event){number(values, AT, line), (enum event_kind)kind,
	    number(values, SANDBOX, line), number(values, EXECUTION, line),
	    number(values, WORKER, line), number(values, ENTRY, line), number(values, ID, line),
	    (enum cause)cause, json_is_true(values[WATCH])};
}

void trace_print(const struct event *event)
{
	const int numbers[FIELDS] = {[SANDBOX] = event->sandbox,
	    [EXECUTION] = event->execution,
	    [WORKER] = event->worker,
	    [ENTRY] = event->entry,
	    [ID] = event->id};

	(void)printf("{\"at\":%" PRId64 ",\"event\":\"%s\"", event->at, EVENTS[event->kind].name);
	for (unsigned i = SANDBOX; i < FIELDS; i++) {
		if (!(EVENTS[event->kind].fields & BIT(i)))
			continue;
		if (i == CAUSE)
			(void)printf(",\"cause\":\"%s\"", CAUSE_NAMES[event->cause]);
		else if (i == WATCH)
			(void)printf(",\"watch\":%s", event->watch ? "true" : "false");
		else
			(void)printf(",\"%s\":%d", FIELD[i].name, numbers[i]);
	}
	(void)puts("}");
}
