/* Arguments taken apart and results put together, for every operation in the same way. */
#include "guest/value.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"

static int from_data(
    const json_t *data, const char *what, char **ret_bytes, size_t *ret_size, struct sp_err *err)
{
	size_t length = json_string_length(data), room = length / 4 * 3 + 1, size;
	char *bytes = malloc(room);

	if (!bytes)
		return sp_fail(err, -ENOMEM, "out of memory");
	if (!sp_base64_decode(json_string_value(data), length, false, bytes, room - 1, &size)) {
		free(bytes);
		return sp_fail(err, SP_E_BAD_RECORD, "%s: not base64", what);
	}
	bytes[size] = '\0';
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

int sp_value_bytes(const json_t *text, const json_t *data, const char *what, char **ret_bytes,
    size_t *ret_size, struct sp_err *err)
{
	size_t size;
	char *bytes;

	if (!text == !data)
		return sp_fail(err, SP_E_BAD_RECORD, "%s: give it either as text or as data", what);
	if (data)
		return from_data(data, what, ret_bytes, ret_size, err);
	size = json_string_length(text);
	bytes = malloc(size + 1);
	if (!bytes)
		return sp_fail(err, -ENOMEM, "out of memory");
	memcpy(bytes, json_string_value(text), size + 1);
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

static int check_path(const char *bytes, size_t size, const char *what, struct sp_err *err)
{
	if (size == 0 || memchr(bytes, '\0', size))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "%s: %s", what, size ? "holds a NUL" : "empty");
	if (size >= PATH_MAX)
		return sp_fail(err, -ENAMETOOLONG, "%s: longer than %d bytes", what, PATH_MAX - 1);
	return 0;
}

int sp_value_path(const json_t *text, const json_t *data, const char *what, char ret_path[PATH_MAX],
    struct sp_err *err)
{
	char *bytes;
	size_t size;
	int bad = sp_value_bytes(text, data, what, &bytes, &size, err);

	if (bad)
		return bad;
	bad = check_path(bytes, size, what, err);
	if (!bad)
		memcpy(ret_path, bytes, size + 1);
	free(bytes);
	return bad;
}

static bool parse_octal(const char *text, json_int_t *ret)
{
	size_t length = strlen(text);
	json_int_t value = 0;

	if (length < 1 || length > 5 || (length == 5 && text[0] != '0'))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '7')
			return false;
		value = value * 8 + (*text - '0');
	}
	*ret = value;
	return true;
}

int sp_value_mode(const json_t *mode, mode_t *ret, struct sp_err *err)
{
	json_int_t value = -1;

	if (!mode)
		return 0;
	if (json_is_integer(mode))
		value = json_integer_value(mode);
	else if (!json_is_string(mode) || !parse_octal(json_string_value(mode), &value))
		value = -1;
	if (value < 0 || value > 07777)
		return sp_fail(err, SP_E_BAD_RECORD,
		    "mode: neither an octal string such as \"0644\" nor a number up to 4095");
	*ret = (mode_t)value;
	return 0;
}

int sp_value_number(const json_t *number, const char *what, int64_t min, int64_t max, int64_t *ret,
    struct sp_err *err)
{
	if (!number)
		return 0;
	if (json_integer_value(number) < min || json_integer_value(number) > max)
		return sp_fail(err, SP_E_BAD_RECORD, "%s: not within %lld and %lld", what,
		    (long long)min, (long long)max);
	*ret = json_integer_value(number);
	return 0;
}

size_t sp_text_escaped(const char *bytes, size_t size)
{
	/* What each byte takes besides itself: \u001f has six, \n two. */
	static const uint8_t more[256] = {5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 5, 1, 1, 5, 5, 5, 5, 5,
	    5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, ['"'] = 1, ['\\'] = 1};
	size_t total = 2;

	for (size_t i = 0; i < size; i++)
		total += 1u + more[(unsigned char)bytes[i]];
	return total;
}

int sp_value_put(json_t *object, const char *key, const char *bytes, size_t size, size_t room)
{
	sp_auto_free char *coded = NULL;
	char data_key[32];
	json_t *value;

	if (sp_utf8_valid(bytes, size) && sp_text_escaped(bytes, size) <= room)
		return json_object_set_new(object, key, json_stringn_nocheck(bytes, size)) ? -ENOMEM
											   : 0;
	coded = malloc(sp_base64_room(size, false));
	if (!coded)
		return -ENOMEM;
	sp_base64_encode(bytes, size, false, coded, sp_base64_room(size, false));
	value = json_stringn_nocheck(coded, strlen(coded));
	if (strcmp(key, "text") == 0)
		return json_object_set_new(object, "data", value) ? -ENOMEM : 0;
	(void)snprintf(data_key, sizeof(data_key), "%s_data", key);
	return json_object_set_new(object, data_key, value) ? -ENOMEM : 0;
}

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return "char-device";
	default:
		return "block-device";
	}
}

int sp_value_put_stat(json_t *object, const struct stat *info)
{
	char mode[8], mtime[SP_TIME_SIZE];

	(void)snprintf(mode, sizeof(mode), "%04o", (unsigned)(info->st_mode & 07777));
	sp_time_format(info->st_mtim.tv_sec, mtime);
	if (json_object_set_new(object, "type", json_string(type_name(info->st_mode))) ||
	    json_object_set_new(object, "size", json_integer(info->st_size)) ||
	    json_object_set_new(object, "mode", json_string(mode)) ||
	    json_object_set_new(object, "mtime", json_string(mtime)))
		return -ENOMEM;
	return 0;
}
