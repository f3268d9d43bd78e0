/* A record's history for people: a line a change. */
#include "spaceid/history.h"

#include <stdio.h>
#include <unistd.h>
#include "base/util.h"
#include "cli/words.h"
#include "record/reason.h"
#include "spaceid/verbs.h"

static void put_value(FILE *out, const json_t *value)
{
	if (json_is_integer(value))
		(void)fprintf(out, "%lld", (long long)json_integer_value(value));
	else
		(void)fputs(value ? json_string_value(value) : "none", out);
}

static void put_values(FILE *out, const json_t *from, const json_t *to)
{
	const char *name, *between = "";
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)to, name, value)
	{
		(void)fprintf(out, "%s%s ", between, name);
		if (json_is_object(from)) {
			put_value(out, json_object_get(from, name));
			(void)fputs(" -> ", out);
		}
		put_value(out, value);
		between = ", ";
	}
	json_object_foreach((json_t *)(uintptr_t)from, name, value)
	{
		if (json_object_get(to, name))
			continue;
		(void)fprintf(out, "%s%s ", between, name);
		put_value(out, value);
		(void)fputs(" -> none", out);
		between = ", ";
	}
}

char *spaceid_history_words(const json_t *entry)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_values(out, json_object_get(entry, "from"), json_object_get(entry, "to"));
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int add(struct sp_table *table, const json_t *entry)
{
	sp_auto_free char *words = spaceid_history_words(entry);
	char epoch[24];
	const char *cells[] = {json_string_value(json_object_get(entry, "at")), epoch,
	    json_string_value(json_object_get(entry, "effect")), words};

	(void)snprintf(epoch, sizeof(epoch), "%lld",
	    (long long)json_integer_value(json_object_get(entry, "epoch")));
	return words ? sp_table_add(table, SP_TONE_PLAIN, cells) : -1;
}

int spaceid_history_print(struct sp_cli *cli, const json_t *history)
{
	static const char *const headings[] = {"at", "epoch", "effect", "what changed", NULL};
	struct sp_table *table = sp_table_new(headings);
	int bad = table ? 0 : -1;

	for (size_t i = json_array_size(history); !bad && i > 0; i--)
		bad = add(table, json_array_get(history, i - 1));
	if (!bad) {
		sp_table_wrap(table);
		bad =
		    sp_table_print(table, stdout, sp_cli_color(cli), sp_table_width(STDOUT_FILENO));
	}
	sp_table_free(table);
	return bad ? SP_EXIT_FAILED : SP_EXIT_DONE;
}

void spaceid_history_last(const json_t *history)
{
	size_t count = json_array_size(history);
	const json_t *entry = json_array_get(history, count ? count - 1 : 0);
	sp_auto_free char *words = spaceid_history_words(entry);
	char text[2048];

	if (count == 0) {
		(void)printf("last change: not kept (an older version wrote this record)\n");
		return;
	}
	(void)snprintf(text, sizeof(text), "%s at %s%s%s",
	    json_string_value(json_object_get(entry, "effect")),
	    json_string_value(json_object_get(entry, "at")),
	    json_is_object(json_object_get(entry, "from")) ? ": " : "",
	    json_is_object(json_object_get(entry, "from")) && words ? words : "");
	sp_words_print(stdout, "last change", text, sp_table_width(STDOUT_FILENO));
}
