/* Requests to the gateway, and its answers taken apart. */
#include "routing/etcd_message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/base64.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

#define BASE64_ROOM (((SP_ETCD_KEY_MAX + 2) / 3) * 4 + 1)

struct sp_etcd_key sp_etcd_key_of(const char *format, ...)
{
	struct sp_etcd_key key;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(key.text, sizeof(key.text), format, arguments);
	va_end(arguments);
	key.size = n < 0 ? 0 : (size_t)n < sizeof(key.text) ? (size_t)n : SP_ETCD_KEY_MAX;
	return key;
}

static json_t *key_json(const struct sp_etcd_key *key)
{
	char text[BASE64_ROOM];

	sp_base64_encode_public(key->text, key->size, false, text, sizeof(text));
	return json_string(text);
}

/* The first key behind all those of a prefix. */
static json_t *end_json(const struct sp_etcd_key *prefix)
{
	struct sp_etcd_key end = *prefix;

	end.text[end.size - 1]++;
	return key_json(&end);
}

static json_t *number_json(int64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%lld", (long long)number);
	return json_string(text);
}

void sp_etcd_transaction_init(struct sp_etcd_transaction *transaction)
{
	*transaction = (struct sp_etcd_transaction){
	    .compare = json_array(), .success = json_array(), .failure = json_array()};
	transaction->failed =
	    !transaction->compare || !transaction->success || !transaction->failure;
}

void sp_etcd_transaction_done(struct sp_etcd_transaction *transaction)
{
	sp_json_release(&transaction->compare);
	sp_json_release(&transaction->success);
	sp_json_release(&transaction->failure);
}

static void add(struct sp_etcd_transaction *transaction, json_t *array, json_t *object)
{
	if (transaction->failed || json_array_append_new(array, object) < 0)
		transaction->failed = true;
}

void sp_etcd_compare(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key, int64_t modified)
{
	add(transaction, transaction->compare,
	    json_pack("{ssssso so}", "target", "MOD", "result", "EQUAL", "key", key_json(key),
		"mod_revision", number_json(modified)));
}

void sp_etcd_compare_prefix(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *prefix, int64_t revision)
{
	add(transaction, transaction->compare,
	    json_pack("{sssssososo}", "target", "MOD", "result", "LESS", "key", key_json(prefix),
		"range_end", end_json(prefix), "mod_revision", number_json(revision + 1)));
}

static void add_range(struct sp_etcd_transaction *transaction, json_t *array, json_t *range)
{
	add(transaction, array, json_pack("{so}", "request_range", range));
}

void sp_etcd_range(struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key)
{
	add_range(transaction, transaction->success, json_pack("{so}", "key", key_json(key)));
}

void sp_etcd_else_range(struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key)
{
	add_range(transaction, transaction->failure, json_pack("{so}", "key", key_json(key)));
}

void sp_etcd_range_prefix(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *prefix, unsigned limit)
{
	add_range(transaction, transaction->success,
	    json_pack("{sososo}", "key", key_json(prefix), "range_end", end_json(prefix), "limit",
		number_json(limit)));
}

void sp_etcd_put(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key, const char *value)
{
	size_t size = value ? strlen(value) : 0, room = sp_base64_room(size, false);
	sp_auto_free char *text = value ? malloc(room) : NULL;

	if (text)
		sp_base64_encode_public(value, size, false, text, room);
	else
		transaction->failed = true;
	add(transaction, transaction->success,
	    json_pack("{s{soss*}}", "request_put", "key", key_json(key), "value", text));
}

void sp_etcd_delete(struct sp_etcd_transaction *transaction, const struct sp_etcd_key *key)
{
	add(transaction, transaction->success,
	    json_pack("{s{so}}", "request_delete_range", "key", key_json(key)));
}

void sp_etcd_delete_prefix(
    struct sp_etcd_transaction *transaction, const struct sp_etcd_key *prefix)
{
	add(transaction, transaction->success,
	    json_pack("{s{soso}}", "request_delete_range", "key", key_json(prefix), "range_end",
		end_json(prefix)));
}

static char *text_of(json_t *object)
{
	sp_auto_json json_t *owned = object;

	return owned ? sp_json_text(owned) : NULL;
}

char *sp_etcd_transaction_text(const struct sp_etcd_transaction *transaction)
{
	return transaction->failed
		   ? NULL
		   : text_of(json_pack("{sOsOsO}", "compare", transaction->compare, "success",
			 transaction->success, "failure", transaction->failure));
}

char *sp_etcd_page_text(const struct sp_etcd_key *prefix, const struct sp_etcd_key *after,
    unsigned limit, int64_t revision)
{
	struct sp_etcd_key first = after ? *after : *prefix;

	/* The next key there can be. */
	if (after && first.size < SP_ETCD_KEY_MAX)
		first.text[first.size++] = '\0';
	return text_of(json_pack("{sosososo}", "key", key_json(&first), "range_end",
	    end_json(prefix), "limit", number_json(limit), "revision", number_json(revision)));
}

char *sp_etcd_watch_text(const struct sp_etcd_key *prefix, int64_t revision)
{
	return text_of(json_pack("{s{sososo sbsb}}", "create_request", "key", key_json(prefix),
	    "range_end", end_json(prefix), "start_revision", number_json(revision),
	    "progress_notify", 1, "fragment", 1));
}

int64_t sp_etcd_number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	int64_t number;

	if (json_is_integer(value))
		return json_integer_value(value);
	return json_is_string(value) &&
		       sp_number_parse(json_string_value(value), 0, INT64_MAX, &number)
		   ? number
		   : 0;
}

int64_t sp_etcd_revision(const json_t *answer)
{
	return sp_etcd_number(json_object_get(answer, "header"), "revision");
}

static const json_t *range_of(const json_t *answer, unsigned index)
{
	return json_object_get(
	    json_array_get(json_object_get(answer, "responses"), index), "response_range");
}

const json_t *sp_etcd_found(const json_t *answer, unsigned index)
{
	return json_object_get(range_of(answer, index), "kvs");
}

bool sp_etcd_found_more(const json_t *answer, unsigned index)
{
	return json_is_true(json_object_get(range_of(answer, index), "more"));
}

int64_t sp_etcd_found_count(const json_t *answer, unsigned index)
{
	return sp_etcd_number(range_of(answer, index), "count");
}

static bool take_key(const json_t *value, struct sp_etcd_key *key)
{
	if (!json_is_string(value) ||
	    !sp_base64_decode_public(json_string_value(value), json_string_length(value), false,
		key->text, SP_ETCD_KEY_MAX, &key->size))
		return false;
	key->text[key->size] = '\0';
	return true;
}

int sp_etcd_pair_take(const json_t *object, struct sp_etcd_pair *ret)
{
	const json_t *value = json_object_get(object, "value");
	size_t length = json_is_string(value) ? json_string_length(value) : 0;
	struct sp_etcd_pair pair = {.created = sp_etcd_number(object, "create_revision"),
	    .modified = sp_etcd_number(object, "mod_revision"),
	    .version = sp_etcd_number(object, "version")};

	if (!take_key(json_object_get(object, "key"), &pair.key))
		return SP_E_BAD_RECORD;
	pair.value = malloc(length + 1);
	if (!pair.value)
		return -ENOMEM;
	if (length > 0 && !sp_base64_decode_public(json_string_value(value), length, false,
			      pair.value, length, &pair.size)) {
		free(pair.value);
		return SP_E_BAD_RECORD;
	}
	pair.value[pair.size] = '\0';
	*ret = pair;
	return 0;
}

void sp_etcd_pair_done(struct sp_etcd_pair *pair)
{
	free(pair->value);
	pair->value = NULL;
}
