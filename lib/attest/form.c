/* JSON objects by table: each field has a form, and a form reads exactly what it writes. */
#include "attest/form.h"

#include <inttypes.h>
#include <limits.h>
#include <sodium/utils.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "attest/executable.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

static bool read_integer(const json_t *value, int64_t min, int64_t max, int64_t *ret)
{
	*ret = json_integer_value(value);
	return *ret >= min && *ret <= max;
}

static bool read_u32(const json_t *value, void *at)
{
	int64_t number;

	if (!read_integer(value, 0, UINT32_MAX, &number))
		return false;
	*(uint32_t *)at = (uint32_t)number;
	return true;
}

static json_t *write_u32(const void *at)
{
	return json_integer(*(const uint32_t *)at);
}

static bool read_int(const json_t *value, void *at)
{
	int64_t number;

	if (!read_integer(value, 0, INT32_MAX, &number))
		return false;
	*(int *)at = (int)number;
	return true;
}

static json_t *write_int(const void *at)
{
	return json_integer(*(const int *)at);
}

static bool read_size(const json_t *value, void *at)
{
	int64_t number;

	if (!read_integer(value, 0, SP_INT_MAX, &number))
		return false;
	*(uint64_t *)at = (uint64_t)number;
	return true;
}

static json_t *write_size(const void *at)
{
	return json_integer((json_int_t) * (const uint64_t *)at);
}

/* Decimal text without sign or leading zeros, up to 2^64 - 1. */
static bool read_u64(const json_t *value, void *at)
{
	const char *text = json_string_value(value);
	uint64_t number = 0;

	if (text[0] == '\0' || (text[0] == '0' && text[1]))
		return false;
	for (; *text; text++)
		if (*text < '0' || *text > '9' ||
		    __builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return false;
	*(uint64_t *)at = number;
	return true;
}

/* A short text of figures and marks: json_sprintf formats twice, allocates, and looks for UTF-8. */
__attribute__((format(printf, 1, 2))) static json_t *figures(const char *format, ...)
{
	char text[64];
	va_list values;

	va_start(values, format);
	(void)vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	return json_string_nocheck(text);
}

static json_t *write_u64(const void *at)
{
	return figures("%" PRIu64, *(const uint64_t *)at);
}

/* "A:B" or "A.B": the text before and after `mark`. False when the first part does not fit. */
static bool split(const char *text, char mark, char *first, size_t room, const char **ret_second)
{
	const char *at = strchr(text, mark);

	if (!at || (size_t)(at - text) >= room)
		return false;
	memcpy(first, text, (size_t)(at - text));
	first[at - text] = '\0';
	*ret_second = at + 1;
	return true;
}

static bool read_device(const json_t *value, void *at)
{
	const char *second;
	char first[16];
	int64_t high, low;

	if (!split(json_string_value(value), ':', first, sizeof(first), &second) ||
	    !sp_number_parse(first, 0, UINT32_MAX, &high) ||
	    !sp_number_parse(second, 0, UINT32_MAX, &low))
		return false;
	*(dev_t *)at = makedev((unsigned)high, (unsigned)low);
	return true;
}

static json_t *write_device(const void *at)
{
	dev_t device = *(const dev_t *)at;

	return figures("%u:%u", major(device), minor(device));
}

static bool read_instant(const json_t *value, void *at)
{
	struct sp_instant time = {0};
	const char *fraction;
	char whole[24];
	bool before;

	if (!split(json_string_value(value), '.', whole, sizeof(whole), &fraction) ||
	    strlen(fraction) != 9 || strspn(fraction, "0123456789") != 9)
		return false;
	for (; *fraction; fraction++)
		time.nanoseconds = time.nanoseconds * 10 + (uint32_t)(*fraction - '0');
	before = whole[0] == '-'; /* a file's time may lie before 1970 */
	if (!sp_number_parse(whole + before, before, SP_INT_MAX, &time.seconds))
		return false;
	time.seconds = before ? -time.seconds : time.seconds;
	*(struct sp_instant *)at = time;
	return true;
}

static json_t *write_instant(const void *at)
{
	const struct sp_instant *time = at;

	return figures("%" PRId64 ".%09" PRIu32, time->seconds, time->nanoseconds);
}

static bool read_mode(const json_t *value, void *at)
{
	const char *text = json_string_value(value);
	mode_t mode = 0;

	if (strlen(text) != 4 || strspn(text, "01234567") != 4)
		return false;
	for (; *text; text++)
		mode = mode * 8 + (mode_t)(*text - '0');
	*(mode_t *)at = mode;
	return true;
}

static json_t *write_mode(const void *at)
{
	return figures("%04o", (unsigned)*(const mode_t *)at);
}

static bool read_text(const json_t *value, void *at)
{
	const char *text = json_string_value(value);

	if (text[0] == '\0' || strlen(text) >= PATH_MAX)
		return false;
	*(const char **)at = text;
	return true;
}

static bool read_path(const json_t *value, void *at)
{
	return json_string_value(value)[0] == '/' && read_text(value, at);
}

static json_t *write_text(const void *at)
{
	return json_string(*(const char *const *)at);
}

static bool read_boot(const json_t *value, void *at)
{
	const char *text = json_string_value(value);

	if (!sp_uuid_valid(text))
		return false;
	memcpy(at, text, 37);
	return true;
}

static json_t *write_boot(const void *at)
{
	return json_string(at);
}

static bool read_hash(const json_t *value, void *at)
{
	const char *text = json_string_value(value);
	size_t size;

	/* sodium takes capitals too; one hash has one text. */
	return strlen(text) == (size_t)2 * SP_EXECUTABLE_HASH &&
	       strspn(text, "0123456789abcdef") == strlen(text) &&
	       sodium_hex2bin(at, SP_EXECUTABLE_HASH, text, strlen(text), NULL, &size, NULL) == 0;
}

static json_t *write_hash(const void *at)
{
	char text[2 * SP_EXECUTABLE_HASH + 1];

	(void)sodium_bin2hex(text, sizeof(text), at, SP_EXECUTABLE_HASH);
	return json_string(text);
}

static bool read_bool(const json_t *value, void *at)
{
	*(bool *)at = json_is_true(value);
	return true;
}

static json_t *write_bool(const void *at)
{
	return json_boolean(*(const bool *)at);
}

const struct sp_form SP_FORM_U32 = {SP_JSON_INTEGER, read_u32, write_u32};
const struct sp_form SP_FORM_INT = {SP_JSON_INTEGER, read_int, write_int};
const struct sp_form SP_FORM_SIZE = {SP_JSON_INTEGER, read_size, write_size};
const struct sp_form SP_FORM_U64 = {SP_JSON_STRING, read_u64, write_u64};
const struct sp_form SP_FORM_DEVICE = {SP_JSON_STRING, read_device, write_device};
const struct sp_form SP_FORM_INSTANT = {SP_JSON_STRING, read_instant, write_instant};
const struct sp_form SP_FORM_MODE = {SP_JSON_STRING, read_mode, write_mode};
const struct sp_form SP_FORM_TEXT = {SP_JSON_STRING, read_text, write_text};
const struct sp_form SP_FORM_PATH = {SP_JSON_STRING, read_path, write_text};
const struct sp_form SP_FORM_BOOT = {SP_JSON_STRING, read_boot, write_boot};
const struct sp_form SP_FORM_BOOL = {SP_JSON_BOOL, read_bool, write_bool};
const struct sp_form SP_FORM_HASH = {SP_JSON_STRING, read_hash, write_hash};

static bool belongs(const struct sp_form_field *field, enum sp_role role)
{
	return !field->vmm || role == SP_ROLE_VMM;
}

int sp_form_parse(enum sp_role role, const json_t *object, const char *what,
    const struct sp_form_field *table, char *at, struct sp_err *err)
{
	struct sp_json_field fields[SP_FORM_FIELDS_MAX] = {0};
	const json_t *values[SP_FORM_FIELDS_MAX];
	const struct sp_form_field *of[SP_FORM_FIELDS_MAX];
	size_t count = 0;
	int bad;

	for (; table->name; table++)
		if (belongs(table, role)) {
			of[count] = table;
			fields[count] = (struct sp_json_field){table->name,
			    table->form ? table->form->kind : SP_JSON_OBJECT, table->optional,
			    &values[count]};
			count++;
		}
	bad = sp_json_take(object, what, fields, count, err);
	for (size_t i = 0; i < count && !bad; i++) {
		if (!values[i])
			continue;
		const struct sp_form *form = of[i]->form;
		if (!form)
			bad = sp_form_parse(
			    role, values[i], of[i]->name, of[i]->inner, at + of[i]->offset, err);
		else if (!form->read(values[i], at + of[i]->offset))
			bad = sp_fail(
			    err, SP_E_BAD_RECORD, "%s: `%s` is not of its form", what, of[i]->name);
	}
	return bad;
}

static bool is_absent(const struct sp_form_field *field, const char *at)
{
	static const char zeros[sizeof(void *)];

	_Static_assert(sizeof(zeros) == sizeof(uint64_t), "pidfs is judged whole");
	return field->optional && memcmp(at, zeros, sizeof(zeros)) == 0;
}

json_t *sp_form_print(enum sp_role role, const struct sp_form_field *table, const char *at)
{
	sp_auto_json json_t *object = json_object();

	for (; table->name; table++) {
		const char *place = at + table->offset;
		if (!belongs(table, role) || is_absent(table, place))
			continue;
		if (json_object_set_new(object, table->name,
			table->form ? table->form->write(place)
				    : sp_form_print(role, table->inner, place)) < 0)
			return NULL;
	}
	return sp_steal(&object);
}
