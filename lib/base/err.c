/* The one place where codes get words and exit codes. */
#include "base/err.h"

#undef sp_fail
#undef sp_fail_errno
#undef sp_err_prefix

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"

static const struct {
	int code, exit;
	const char *text;
} CODES[] = {
    {SP_E_USAGE, 2, "wrong usage"},
    {SP_E_CONFIG, 2, "wrong configuration"},
    {SP_E_BAD_RECORD, 3, "bad record"},
    {SP_E_BAD_KEY, 3, "bad key"},
    {SP_E_BAD_ARCHIVE, 3, "bad archive"},
    {SP_E_CONFLICT, 14, "conflict"},
    {SP_E_TIMEOUT, 1, "timed out"},
    {SP_E_CLOSED, 1, "closed by the other side"},
    {SP_E_TOO_LARGE, 3, "too large"},
    {SP_E_ABSENT, 1, "absent"},
    {SP_E_DENIED, 11, "denied"},
    {SP_E_UNAVAILABLE, 1, "unavailable"},
};

const char *sp_code_text(int code)
{
	for (size_t i = 0; i < sizeof(CODES) / sizeof(*CODES); i++)
		if (CODES[i].code == code)
			return CODES[i].text;
	return code < 0 ? strerror(-code) : "done";
}

int sp_code_exit(int code)
{
	for (size_t i = 0; i < sizeof(CODES) / sizeof(*CODES); i++)
		if (CODES[i].code == code)
			return CODES[i].exit;
	return code < 0 ? 1 : 0;
}

/* Aside first: the words may quote the very message that is replaced. What outsiders sent and what
 * was cut in the middle is made harmless: it goes to terminals and into JSON. */
static void set_message(struct sp_err *err, int code, const char *format, va_list words)
{
	char message[SP_ERR_MAX];

	(void)vsnprintf(message, sizeof(message), format, words);
	sp_text_printable(message);
	err->code = code;
	memcpy(err->message, message, sizeof(message));
}

static void append(struct sp_err *err, const char *words)
{
	size_t used = strlen(err->message);

	(void)snprintf(err->message + used, sizeof(err->message) - used, ": %s", words);
	sp_text_printable(err->message);
}

int sp_fail(struct sp_err *err, int code, const char *format, ...)
{
	va_list words;

	if (!err)
		return code;
	va_start(words, format);
	set_message(err, code, format, words);
	va_end(words);
	return code;
}

int sp_fail_errno(struct sp_err *err, const char *format, ...)
{
	int saved = errno ? errno : EIO;
	va_list words;

	if (!err)
		return -saved;
	va_start(words, format);
	set_message(err, -saved, format, words);
	va_end(words);
	append(err, strerror(saved));
	return -saved;
}

int sp_err_prefix(struct sp_err *err, int code, const char *format, ...)
{
	char kept[SP_ERR_MAX];
	va_list words;

	if (!err)
		return code;
	memcpy(kept, err->message, sizeof(kept));
	va_start(words, format);
	/* A callee that failed without words must not turn into success here. */
	set_message(err, err->code ? err->code : code, format, words);
	va_end(words);
	append(err, kept[0] ? kept : sp_code_text(err->code));
	return err->code;
}
