/* Prose, broken at spaces. */
#include "cli/words.h"

#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"

#define NARROWEST 20

static unsigned width_of(const char *text, size_t size)
{
	unsigned width = 0;

	for (size_t i = 0; i < size; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

void sp_words_flow(FILE *out, const char *text, unsigned indent, unsigned width)
{
	sp_auto_free char *copy = strdup(text);
	unsigned at = indent;
	const char *word = copy;

	if (!copy)
		return;
	sp_text_printable(copy);
	while (*word) {
		size_t size = strcspn(word, " ");
		unsigned long_as = width_of(word, size);
		if (width >= indent + NARROWEST && at > indent && at + 1 + long_as > width) {
			(void)fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			(void)fputc(' ', out);
			at++;
		}
		(void)fwrite(word, 1, size, out);
		at += long_as;
		word += size + strspn(word + size, " ");
	}
	(void)fputc('\n', out);
}

void sp_words_print(FILE *out, const char *label, const char *text, unsigned width)
{
	(void)fprintf(out, "%s: ", label);
	sp_words_flow(out, text, (unsigned)strlen(label) + 2, width);
}

/* The end of the part of a command that is to stand on one line: before the last option or pipe, or
 * else the last space outside quotes, that leaves room for what continues it; else the whole. */
static const char *command_part(const char *at, const char *end, unsigned room)
{
	const char *space = NULL, *good = NULL;
	unsigned shown = 0;
	char quote = 0;

	for (; at < end; at++) {
		if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? 0 : *at;
		else if (*at == ' ' && !quote && (shown + 2 <= room || !space)) {
			space = at;
			if (at[1] == '-' || at[1] == '|')
				good = at;
		}
		shown += ((unsigned char)*at & 0xc0) != 0x80;
	}
	return shown <= room ? end : good ? good : space ? space : end;
}

void sp_words_command(FILE *out, const char *command, unsigned indent, unsigned width)
{
	const char *end = command + strlen(command);
	unsigned set_in = indent;

	while (command < end) {
		unsigned room = width > set_in + NARROWEST ? width - set_in : NARROWEST;
		const char *part = command_part(command, end, room);
		(void)fprintf(out, "%*s%.*s%s\n", (int)set_in, "", (int)(part - command), command,
		    part < end ? " \\" : "");
		command = part + strspn(part, " ");
		set_in = indent + 4;
	}
}
