/* What was probably meant by a section or key that there is not. */
#include "cli/config_keys.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"

#define NEAR 2 /* letters off */

/* The section or key that is nearest to a word; NULL: none is near. `section` NULL: sections. */
static const char *nearest(const char *word, const char *section)
{
	const struct sp_config_key *key;
	const char *best = NULL;
	unsigned least = NEAR + 1;

	for (unsigned i = 0; (key = sp_config_key_at(i)); i++) {
		const char *name = section ? key->name : key->section;
		unsigned off;
		if (section && strcmp(key->section, section) != 0)
			continue;
		off = sp_word_distance(word, name);
		if (off < least) {
			least = off;
			best = name;
		}
	}
	return best;
}

void sp_config_hint_key(const char *section, const char *name, char *words, size_t room)
{
	const char *near = nearest(name, section);
	const struct sp_config_key *key;

	if (near) {
		(void)snprintf(words, room, "no such key; did you mean `%s`?", near);
		return;
	}
	for (unsigned i = 0; (key = sp_config_key_at(i)); i++)
		if (strcmp(key->name, name) == 0) {
			(void)snprintf(
			    words, room, "no such key; it belongs to [%s]", key->section);
			return;
		}
	(void)snprintf(words, room, "no such key; space.ini(5) lists them");
}

void sp_config_hint_section(const char *line, size_t length, char *words, size_t room)
{
	char name[32];
	const char *near;

	while (length > 0 && strchr("[ ", *line)) {
		line++;
		length--;
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)(length < 31 ? length : 31), line);
	name[strcspn(name, "] ;")] = '\0';
	near = nearest(name, NULL);
	if (near)
		(void)snprintf(words, room, "no such section; did you mean [%s]?", near);
	else
		(void)snprintf(words, room, "no such section; space.ini(5) lists them");
}

bool sp_config_has_section(const char *name)
{
	const struct sp_config_key *key;

	for (unsigned i = 0; (key = sp_config_key_at(i)); i++)
		if (strcmp(key->section, name) == 0)
			return true;
	return false;
}
