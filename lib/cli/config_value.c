/* Values of space.ini, in and out of their fields. */
#include <pwd.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/config_keys.h"

/* All texts are one of three sizes. */
size_t sp_config_room(const struct sp_config_key *key)
{
	if (key->kind == SP_CONFIG_ID)
		return SP_ID_MAX + 1;
	if (key->kind == SP_CONFIG_LEVEL)
		return sizeof(((struct sp_config *)NULL)->min_level);
	return key->kind == SP_CONFIG_PATH ? PATH_MAX : SP_CONFIG_TEXT_MAX;
}

static bool set_uid(const char *word, uid_t *ret)
{
	int64_t number;
	const struct passwd *entry;

	if (sp_number_parse(word, 0, UINT32_MAX - 1, &number)) {
		*ret = (uid_t)number;
		return true;
	}
	entry = getpwnam(word);
	if (entry)
		*ret = entry->pw_uid;
	return entry != NULL;
}

static const char *set_uids(const char *value, struct sp_uid_list *list)
{
	char words[SP_CONFIG_LINE_MAX + 1];
	char *rest = words;

	(void)snprintf(words, sizeof(words), "%s", value);
	list->count = 0;
	for (char *word; (word = strsep(&rest, ", \t")) != NULL;) {
		if (!*word)
			continue;
		if (list->count == SP_CONFIG_UIDS_MAX)
			return "more than 16 uids";
		if (!set_uid(word, &list->uids[list->count++]))
			return "neither a uid nor the name of a user here";
	}
	return NULL;
}

static const char *set_ports(const char *value, struct sp_config *config)
{
	char words[SP_CONFIG_LINE_MAX + 1];
	char *rest = words;
	int64_t port;

	(void)snprintf(words, sizeof(words), "%s", value);
	config->deny_ports.count = 0;
	for (char *word; (word = strsep(&rest, ", \t")) != NULL;) {
		if (!*word)
			continue;
		if (config->deny_ports.count == SP_CONFIG_PORTS_MAX)
			return "more than 64 ports";
		if (!sp_number_parse(word, 1, 65535, &port))
			return "not a port (1 to 65535)";
		config->deny_ports.ports[config->deny_ports.count++] = (uint16_t)port;
	}
	return NULL;
}

/* Seconds with up to three decimals, kept as milliseconds. */
static bool millis_parse(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	size_t length = strcspn(text, ".");
	size_t places = text[length] ? strspn(text + length + 1, "0123456789") : 0;
	char whole[16];
	int64_t seconds, parts = 0;

	if (length >= sizeof(whole))
		return false;
	(void)snprintf(whole, sizeof(whole), "%.*s", (int)length, text);
	if (text[length] && (places < 1 || places > 3 || text[length + 1 + places]))
		return false;
	for (size_t i = 0; i < 3; i++)
		parts = parts * 10 + (i < places ? text[length + 1 + i] - '0' : 0);
	if (!sp_number_parse(whole, 0, 1000000, &seconds))
		return false;
	*ret = seconds * 1000 + parts;
	return *ret >= min && *ret <= max;
}

/* One or two words of the form of a PASERK public key; whether they are keys shows when they are
 * used. */
static bool are_roots(const char *value)
{
	unsigned words = 0;

	for (const char *at = value + strspn(value, " \t"); *at; at += strspn(at, " \t")) {
		size_t length = strcspn(at, " \t");
		if (length != 53 || strncmp(at, "k4.public.", 10) != 0)
			return false;
		words++;
		at += length;
	}
	return words <= 2;
}

/* The backend looks closer when it is opened. */
static bool is_registry(const char *value)
{
	static const char *const forms[] = {"sqlite:/", "etcd:http://", "etcd:https://"};

	for (size_t i = 0; i < SP_COUNT(forms); i++)
		if (strncmp(value, forms[i], strlen(forms[i])) == 0)
			return true;
	return false;
}

static const char *set_text(const struct sp_config_key *key, const char *value, char *field)
{
	/* Empty means "none" where that is the default, and nothing elsewhere. */
	if (!*value && key->fallback[0])
		return "empty";
	if (strlen(value) >= sp_config_room(key))
		return "too long";
	if (key->kind == SP_CONFIG_ID && *value && !sp_id_valid(value))
		return "not a name ([A-Za-z0-9][A-Za-z0-9._-]{0,127})";
	if (key->kind == SP_CONFIG_PATH && *value && *value != '/')
		return "not an absolute path";
	if (key->kind == SP_CONFIG_LEVEL && strcmp(value, "full") != 0 &&
	    strcmp(value, "pidfd") != 0 && strcmp(value, "launch-pidfd") != 0)
		return "none of full, pidfd, launch-pidfd";
	if (key->kind == SP_CONFIG_ROOTS && !are_roots(value))
		return "not one or two k4.public keys";
	if (key->kind == SP_CONFIG_REGISTRY && *value && !is_registry(value))
		return "neither sqlite: and an absolute path nor etcd:http[s]://...";
	memcpy(field, value, strlen(value) + 1);
	return NULL;
}

const char *sp_config_set(
    const struct sp_config_key *key, const char *value, struct sp_config *config)
{
	void *field = (char *)config + key->offset;

	switch (key->kind) {
	case SP_CONFIG_ID:
	case SP_CONFIG_TEXT:
	case SP_CONFIG_PATH:
	case SP_CONFIG_LEVEL:
	case SP_CONFIG_ROOTS:
	case SP_CONFIG_REGISTRY:
		return set_text(key, value, field);
	case SP_CONFIG_NUMBER:
		return sp_number_parse(value, key->min, key->max, field)
			   ? NULL
			   : "not a whole number in its range";
	case SP_CONFIG_MILLIS:
		return millis_parse(value, key->min, key->max, field)
			   ? NULL
			   : "not a number of seconds in its range";
	case SP_CONFIG_BOOL:
		*(bool *)field = strcmp(value, "yes") == 0;
		return *(bool *)field || strcmp(value, "no") == 0 ? NULL : "neither yes nor no";
	case SP_CONFIG_UIDS:
		return set_uids(value, field);
	case SP_CONFIG_PORTS:
		return set_ports(value, config);
	}
	return "of no known kind";
}

static void format_uids(const struct sp_uid_list *list, char *text, size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < list->count && used < room; i++)
		used += (size_t)snprintf(
		    text + used, room - used, "%s%u", i ? " " : "", (unsigned)list->uids[i]);
}

static void format_ports(const struct sp_config *config, char *text, size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < config->deny_ports.count && used < room; i++)
		used += (size_t)snprintf(
		    text + used, room - used, "%s%u", i ? " " : "", config->deny_ports.ports[i]);
}

void sp_config_format(
    const struct sp_config_key *key, const struct sp_config *config, char *text, size_t room)
{
	const void *field = (const char *)config + key->offset;

	switch (key->kind) {
	case SP_CONFIG_NUMBER:
		(void)snprintf(text, room, "%lld", (long long)*(const int64_t *)field);
		break;
	case SP_CONFIG_MILLIS: {
		int64_t ms = *(const int64_t *)field;
		(void)snprintf(
		    text, room, "%lld.%03lld", (long long)(ms / 1000), (long long)(ms % 1000));
		break;
	}
	case SP_CONFIG_BOOL:
		(void)snprintf(text, room, "%s", *(const bool *)field ? "yes" : "no");
		break;
	case SP_CONFIG_UIDS:
		format_uids(field, text, room);
		break;
	case SP_CONFIG_PORTS:
		format_ports(config, text, room);
		break;
	case SP_CONFIG_ID:
	case SP_CONFIG_TEXT:
	case SP_CONFIG_PATH:
	case SP_CONFIG_LEVEL:
	case SP_CONFIG_ROOTS:
	case SP_CONFIG_REGISTRY:
		(void)snprintf(text, room, "%s", (const char *)field);
		break;
	}
}
