/* Lines and macs of hello and rekey, for both sides. */
#include "bridge/hello.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"
#include "record/route.h"

#define CODED_SIZE 44 /* 32 bytes in base64url, and a NUL */

void sp_guest_name_of(const struct sp_record *record, struct sp_guest_name *ret)
{
	const char *id = json_string_value(json_object_get(record->guest, "id"));

	*ret = (struct sp_guest_name){.execution = record->identity.route.execution};
	memcpy(ret->sandbox, record->identity.sandbox, sizeof(ret->sandbox));
	if (id)
		(void)sp_id_copy(id, "id", ret->id, NULL);
}

static void add(crypto_generichash_state *state, const void *bytes, size_t size)
{
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)((uint64_t)size >> (8 * i));
	(void)crypto_generichash_update(state, length, sizeof(length));
	(void)crypto_generichash_update(state, bytes, size);
}

static void add_number(crypto_generichash_state *state, uint64_t number, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	add(state, bytes, size);
}

static void begin(
    crypto_generichash_state *state, const uint8_t key[SP_GUEST_KEY_SIZE], const char *domain)
{
	(void)crypto_generichash_init(state, key, SP_GUEST_KEY_SIZE, SP_HELLO_SIZE);
	add(state, domain, strlen(domain));
}

/* What all macs have in common comes last. */
static void end(crypto_generichash_state *state, const struct sp_guest_name *name,
    const struct sp_guest_link *link, uint8_t ret_mac[SP_HELLO_SIZE])
{
	add(state, name->sandbox, strlen(name->sandbox));
	add_number(state, (uint64_t)name->execution, 8);
	add(state, name->id, strlen(name->id));
	add_number(state, link->cid, 4);
	add_number(state, link->port, 4);
	(void)crypto_generichash_final(state, ret_mac, SP_HELLO_SIZE);
	sodium_memzero(state, sizeof(*state));
}

void sp_hello_mac(const uint8_t key[SP_GUEST_KEY_SIZE], const struct sp_guest_name *name,
    const struct sp_guest_link *link, const uint8_t nonce[SP_HELLO_SIZE],
    uint8_t ret_mac[SP_HELLO_SIZE])
{
	crypto_generichash_state state;

	begin(&state, key, "space.guest.hello.v1");
	add(&state, nonce, SP_HELLO_SIZE);
	end(&state, name, link, ret_mac);
}

void sp_rekey_ask_mac(const uint8_t key[SP_GUEST_KEY_SIZE], const struct sp_hello_ask *ask,
    const struct sp_guest_link *link, uint8_t ret_mac[SP_HELLO_SIZE])
{
	crypto_generichash_state state;

	begin(&state, key, "space.guest.rekey.v1");
	add(&state, ask->key, SP_GUEST_KEY_SIZE);
	end(&state, &ask->name, link, ret_mac);
}

void sp_rekey_answer_mac(const uint8_t key[SP_GUEST_KEY_SIZE], const struct sp_guest_name *name,
    const struct sp_guest_link *link, uint8_t ret_mac[SP_HELLO_SIZE])
{
	crypto_generichash_state state;

	begin(&state, key, "space.guest.rekeyed.v1");
	end(&state, name, link, ret_mac);
}

static int take_bytes(
    const json_t *value, const char *what, uint8_t ret_bytes[SP_HELLO_SIZE], struct sp_err *err)
{
	uint8_t bytes[SP_HELLO_SIZE];
	size_t size;

	if (!sp_base64_decode(json_string_value(value), json_string_length(value), true, bytes,
		sizeof(bytes), &size) ||
	    size != sizeof(bytes))
		return sp_fail(
		    err, SP_E_BAD_RECORD, "%s: not %d bytes in base64url", what, SP_HELLO_SIZE);
	memcpy(ret_bytes, bytes, sizeof(bytes));
	sodium_memzero(bytes, sizeof(bytes));
	return 0;
}

static const char *coded(const uint8_t bytes[SP_HELLO_SIZE], char text[CODED_SIZE])
{
	sp_base64_encode(bytes, SP_HELLO_SIZE, true, text, CODED_SIZE);
	return text;
}

bool sp_hello_meant(const char *line, size_t size)
{
	static const char start[] = "{\"guest\":";

	return size >= sizeof(start) - 1 && memcmp(line, start, sizeof(start) - 1) == 0;
}

static int parse_hello(const json_t *object, struct sp_hello_ask *ask, struct sp_err *err)
{
	const json_t *nonce;
	const struct sp_json_field fields[] = {
	    {"guest", SP_JSON_STRING, false, NULL},
	    {"nonce", SP_JSON_STRING, false, &nonce},
	};
	int bad = sp_json_take(object, "hello", fields, SP_COUNT(fields), err);

	ask->kind = SP_HELLO_HELLO;
	return bad ? bad : take_bytes(nonce, "nonce", ask->nonce, err);
}

static int parse_rekey(const json_t *object, struct sp_hello_ask *ask, struct sp_err *err)
{
	const json_t *sandbox, *execution, *id, *key, *proof;
	const struct sp_json_field fields[] = {
	    {"guest", SP_JSON_STRING, false, NULL},
	    {"sandbox", SP_JSON_STRING, false, &sandbox},
	    {"execution", SP_JSON_INTEGER, false, &execution},
	    {"id", SP_JSON_STRING, false, &id},
	    {"key", SP_JSON_STRING, false, &key},
	    {"mac", SP_JSON_STRING, true, &proof},
	};
	int bad = sp_json_take(object, "rekey", fields, SP_COUNT(fields), err);

	ask->kind = SP_HELLO_REKEY;
	if (bad || (bad = take_bytes(key, "key", ask->key, err)) ||
	    (proof && (bad = take_bytes(proof, "mac", ask->mac, err))) ||
	    (bad = sp_id_copy(sp_json_string(sandbox), "sandbox", ask->name.sandbox, err)) ||
	    (bad = sp_id_copy(sp_json_string(id), "id", ask->name.id, err)))
		return bad;
	ask->has_mac = proof != NULL;
	ask->name.execution = json_integer_value(execution);
	if (ask->name.execution < 1)
		return sp_fail(err, SP_E_BAD_RECORD, "rekey: `execution` is below 1");
	return 0;
}

int sp_hello_ask_parse(const char *line, size_t size, struct sp_hello_ask *ret, struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	struct sp_hello_ask ask = {.has_mac = false};
	const char *kind;
	int bad;

	if (size >= SP_HELLO_LINE_MAX)
		return sp_fail(err, SP_E_BAD_RECORD, "longer than %d bytes", SP_HELLO_LINE_MAX - 1);
	bad = sp_json_parse(line, size, &object, err);
	if (bad)
		return bad;
	kind = json_string_value(json_object_get(object, "guest"));
	if (kind && strcmp(kind, "hello") == 0)
		bad = parse_hello(object, &ask, err);
	else if (kind && strcmp(kind, "rekey") == 0)
		bad = parse_rekey(object, &ask, err);
	else
		bad = sp_fail(err, SP_E_BAD_RECORD, "`guest` is neither hello nor rekey");
	if (!bad)
		*ret = ask;
	sodium_memzero(&ask, sizeof(ask));
	return bad;
}

/* `object` is stolen. */
static size_t print(json_t *object, char ret_line[SP_HELLO_LINE_MAX])
{
	size_t size =
	    object ? json_dumpb(object, ret_line, SP_HELLO_LINE_MAX - 1, JSON_COMPACT) : 0;

	json_decref(object);
	if (size >= SP_HELLO_LINE_MAX)
		size = 0;
	ret_line[size] = '\0';
	return size;
}

size_t sp_hello_ask_print(const struct sp_hello_ask *ask, char ret_line[SP_HELLO_LINE_MAX])
{
	char first[CODED_SIZE], second[CODED_SIZE];
	size_t size;

	if (ask->kind == SP_HELLO_HELLO)
		return print(
		    json_pack("{s:s, s:s}", "guest", "hello", "nonce", coded(ask->nonce, first)),
		    ret_line);
	size = print(json_pack("{s:s, s:s, s:I, s:s, s:s, s:s*}", "guest", "rekey", "sandbox",
			 ask->name.sandbox, "execution", (json_int_t)ask->name.execution, "id",
			 ask->name.id, "key", coded(ask->key, first), "mac",
			 ask->has_mac ? coded(ask->mac, second) : NULL),
	    ret_line);
	sodium_memzero(first, sizeof(first));
	return size;
}

size_t sp_hello_answer_print(
    enum sp_hello_kind kind, const uint8_t bytes[SP_HELLO_SIZE], char ret_line[SP_HELLO_LINE_MAX])
{
	char text[CODED_SIZE];

	return print(json_pack("{s:s, s:s}", "guest", kind == SP_HELLO_REKEY ? "rekey" : "hello",
			 "mac", coded(bytes, text)),
	    ret_line);
}

size_t sp_hello_error_print(const char *words, char ret_line[SP_HELLO_LINE_MAX])
{
	char message[256];

	(void)snprintf(message, sizeof(message), "%s", words);
	sp_text_printable(message);
	return print(json_pack("{s:s, s:s}", "guest", "error", "message", message), ret_line);
}

/* What a guest gives as its reason is for people; it may say anything. */
static int guests_words(const json_t *object, struct sp_err *err)
{
	const json_t *message;
	const struct sp_json_field fields[] = {
	    {"guest", SP_JSON_STRING, false, NULL},
	    {"message", SP_JSON_STRING, false, &message},
	};
	int bad = sp_json_take(object, "the guest's answer", fields, SP_COUNT(fields), err);

	return bad ? bad
		   : sp_fail(err, SP_E_DENIED, "the guest says: %.200s", sp_json_string(message));
}

int sp_hello_answer_check(const char *line, size_t size, enum sp_hello_kind kind,
    const uint8_t bytes[SP_HELLO_SIZE], struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	const json_t *said, *value;
	uint8_t seen[SP_HELLO_SIZE];
	const struct sp_json_field fields[] = {
	    {"guest", SP_JSON_STRING, false, &said},
	    {"mac", SP_JSON_STRING, false, &value},
	};
	int bad = sp_json_parse(line, size, &object, err);

	if (bad)
		return sp_err_prefix(err, bad, "the guest's answer");
	said = json_object_get(object, "guest");
	if (json_is_string(said) && strcmp(json_string_value(said), "error") == 0)
		return guests_words(object, err);
	bad = sp_json_take(object, "the guest's answer", fields, SP_COUNT(fields), err);
	if (!bad &&
	    strcmp(json_string_value(said), kind == SP_HELLO_REKEY ? "rekey" : "hello") != 0)
		bad = sp_fail(err, SP_E_BAD_RECORD, "the guest's answer: not to what was asked");
	if (!bad)
		bad = take_bytes(value, "the guest's answer: mac", seen, err);
	if (bad)
		return bad;
	if (sodium_memcmp(seen, bytes, SP_HELLO_SIZE) != 0)
		return sp_fail(err, SP_E_DENIED,
		    "the guest's proof is not one of the enrolled key, sandbox, execution, CID and "
		    "this connection");
	return 0;
}
