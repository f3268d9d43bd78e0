/* The keys of space.ini and the values they may have. Not for others than config*.c. */
#ifndef SP_CLI_CONFIG_KEYS_H
#define SP_CLI_CONFIG_KEYS_H

#include <stddef.h>
#include "cli/config.h"

enum sp_config_kind {
	SP_CONFIG_ID,
	SP_CONFIG_TEXT,
	SP_CONFIG_PATH,
	SP_CONFIG_NUMBER,
	SP_CONFIG_MILLIS, /* seconds in the file, milliseconds in the field */
	SP_CONFIG_BOOL,
	SP_CONFIG_UIDS,
	SP_CONFIG_PORTS,
	SP_CONFIG_LEVEL,
	SP_CONFIG_ROOTS,
	SP_CONFIG_REGISTRY,
};

struct sp_config_key {
	const char *section, *name;
	enum sp_config_kind kind;
	size_t offset;        /* of the field in struct sp_config */
	const char *fallback; /* "@run/x", "@state/x": under run_dir or state_dir */
	int64_t min, max;
	const char *unit, *help;
};

/* The n-th key, 0 first; NULL past the last. */
const struct sp_config_key *sp_config_key_at(unsigned index);

/* Room of a text field. */
size_t sp_config_room(const struct sp_config_key *key);

/* Sets the field. NULL, or what is wrong with the value. */
const char *sp_config_set(
    const struct sp_config_key *key, const char *value, struct sp_config *config);

/* The field as it would stand in the file. */
void sp_config_format(
    const struct sp_config_key *key, const struct sp_config *config, char *text, size_t room);

#define SP_CONFIG_HINT_MAX 96

/* Why there is no such key in the section, or no such section as a line has it, and what was
 * probably meant. */
void sp_config_hint_key(const char *section, const char *name, char *words, size_t room);
void sp_config_hint_section(const char *line, size_t length, char *words, size_t room);

bool sp_config_has_section(const char *name);

#endif
