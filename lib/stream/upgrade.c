/* Openings: three fields of a head, one more of a page's, and a hash. */
#include "stream/upgrade.h"

#include <arpa/inet.h>
#include <sha1.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/base64.h"
#include "base/text.h"

#define KEY_SIZE  16
#define HOST_SIZE 256 /* of a Host, with its NUL */

static int bad(struct sp_err *err, const char *words)
{
	return sp_fail(err, SP_E_BAD_RECORD, "%s", words);
}

static bool is(const char *text, size_t size, const char *word)
{
	return size == strlen(word) && memcmp(text, word, size) == 0;
}

/* --- the answer to a key --- */

static void make_accept(const char *key, size_t size, char ret[29])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
	uint8_t digest[SHA1_DIGEST_LENGTH];
	SHA1_CTX hash;

	SHA1Init(&hash);
	SHA1Update(&hash, (const uint8_t *)key, size);
	SHA1Update(&hash, (const uint8_t *)guid, sizeof(guid) - 1);
	SHA1Final(digest, &hash);
	sp_base64_encode_public(digest, sizeof(digest), false, ret, 29);
}

static int take_key(const struct sp_head *head, struct sp_upgrade *ret, struct sp_err *err)
{
	const struct sp_head_field *key;
	unsigned char bytes[KEY_SIZE];
	size_t size = 0;
	int code = sp_head_one(head, "Sec-WebSocket-Key", &key, err);

	if (code)
		return code;
	if (!key ||
	    !sp_base64_decode_public(
		key->value, key->value_size, false, bytes, sizeof(bytes), &size) ||
	    size != sizeof(bytes))
		return bad(err, "Sec-WebSocket-Key: not 16 bytes in base64");
	make_accept(key->value, key->value_size, ret->accept);
	return 0;
}

/* --- subprotocols --- */

static int take_token(const char *item, size_t size, struct sp_upgrade *ret, struct sp_err *err)
{
	size_t prefix = strlen(SP_UPGRADE_BEARER), got = 0;

	if (ret->token[0])
		return bad(err, "Sec-WebSocket-Protocol: a second bearer.");
	if (!sp_base64_decode_public(
		item + prefix, size - prefix, true, ret->token, SP_UPGRADE_TOKEN_MAX, &got) ||
	    got == 0 || memchr(ret->token, '\0', got)) {
		ret->token[0] = '\0';
		return bad(err, "Sec-WebSocket-Protocol: bearer. is not followed by base64url");
	}
	ret->token[got] = '\0';
	return 0;
}

bool sp_upgrade_is_bearer(const char *item, size_t size)
{
	size_t prefix = strlen(SP_UPGRADE_BEARER);

	return size > prefix && memcmp(item, SP_UPGRADE_BEARER, prefix) == 0;
}

bool sp_upgrade_is_ours(const char *item, size_t size)
{
	return is(item, size, SP_UPGRADE_PROTOCOL);
}

static int take_protocols(
    const struct sp_head_field *field, bool *offered, struct sp_upgrade *ret, struct sp_err *err)
{
	const char *at = field->value, *item;
	size_t size;
	int code = 0;

	while (!code && at && sp_head_item(&at, field->value + field->value_size, &item, &size)) {
		*offered = true;
		if (sp_upgrade_is_bearer(item, size))
			code = take_token(item, size, ret, err);
		else
			ret->protocol |= sp_upgrade_is_ours(item, size);
	}
	return code;
}

static int take_offers(
    const struct sp_head *head, bool *offered, struct sp_upgrade *ret, struct sp_err *err)
{
	int code = 0;

	*offered = false;
	for (unsigned i = 0; !code && i < head->count; i++)
		if (sp_head_named(&head->fields[i], "Sec-WebSocket-Protocol"))
			code = take_protocols(&head->fields[i], offered, ret, err);
	return code;
}

int sp_upgrade_offers(const struct sp_head *head, struct sp_upgrade *ret, struct sp_err *err)
{
	bool offered;

	memset(ret, 0, sizeof(*ret));
	return take_offers(head, &offered, ret, err);
}

/* --- a head --- */

static int read_all(const struct sp_head *head, struct sp_upgrade *ret,
    enum sp_upgrade_fault *ret_fault, struct sp_err *err)
{
	const struct sp_head_field *version;
	bool offered;
	int code;

	*ret_fault = SP_UPGRADE_NONE;
	if (!head->websocket)
		return bad(err, "this is for WebSocket");
	*ret_fault = SP_UPGRADE_BAD;
	code = sp_head_one(head, "Sec-WebSocket-Version", &version, err);
	if (code)
		return code;
	if (!version || !is(version->value, version->value_size, SP_UPGRADE_VERSION)) {
		*ret_fault = SP_UPGRADE_UNKNOWN;
		return bad(err, "Sec-WebSocket-Version: not 13");
	}
	code = take_key(head, ret, err);
	if (!code)
		code = take_offers(head, &offered, ret, err);
	/* Whoever offers some takes no connection without one of them. */
	if (!code && offered && !ret->protocol)
		code = bad(err, "Sec-WebSocket-Protocol: " SP_UPGRADE_PROTOCOL " is not offered");
	return code;
}

int sp_upgrade_read(const struct sp_head *head, struct sp_upgrade *ret,
    enum sp_upgrade_fault *ret_fault, struct sp_err *err)
{
	memset(ret, 0, sizeof(*ret));
	return read_all(head, ret, ret_fault, err);
}

size_t sp_upgrade_print(const struct sp_upgrade *upgrade, char ret_text[SP_UPGRADE_ANSWER_MAX])
{
	int n = snprintf(ret_text, SP_UPGRADE_ANSWER_MAX,
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	    "Sec-WebSocket-Accept: %s\r\n%s\r\n",
	    upgrade->accept,
	    upgrade->protocol ? "Sec-WebSocket-Protocol: " SP_UPGRADE_PROTOCOL "\r\n" : "");

	return (size_t)n;
}

/* --- origins --- */

/* A port, or none. */
static bool is_port(const char *text)
{
	return !*text ||
	       (*text == ':' && text[1] && strspn(text + 1, "0123456789") == strlen(text + 1));
}

/* What cannot be made to mean another machine: an address, or localhost. */
static bool is_fixed(const char *host)
{
	struct in6_addr room;
	char text[HOST_SIZE];
	bool is_six = host[0] == '[';
	size_t size = strcspn(host + is_six, is_six ? "]" : ":");

	(void)snprintf(text, sizeof(text), "%.*s", (int)size, host + is_six);
	if (is_six)
		return host[1 + size] == ']' && is_port(host + size + 2) &&
		       inet_pton(AF_INET6, text, &room) == 1;
	return is_port(host + size) &&
	       (strcasecmp(text, "localhost") == 0 || inet_pton(AF_INET, text, &room) == 1);
}

static bool is_own(const char *origin, size_t size, const char *host, bool tls)
{
	char own[HOST_SIZE + 8];
	int n = snprintf(own, sizeof(own), "%s://%s", tls ? "https" : "http", host);

	return is_fixed(host) && size == (size_t)n && strncasecmp(origin, own, size) == 0;
}

static bool is_listed(const char *origin, size_t size, const char *list)
{
	const char *at = list, *item;
	size_t item_size;

	while (at && sp_head_item(&at, list + strlen(list), &item, &item_size))
		if (item_size == size && strncasecmp(item, origin, size) == 0)
			return true;
	return false;
}

int sp_upgrade_origin(const struct sp_head *head, bool tls, const char *allowed, bool *ret_allowed,
    struct sp_err *err)
{
	const struct sp_head_field *origin, *host;
	char text[HOST_SIZE] = "";
	int code = sp_head_one(head, "Origin", &origin, err);

	if (!code)
		code = sp_head_one(head, "Host", &host, err);
	if (code)
		return code;
	if (host && host->value_size < sizeof(text))
		(void)snprintf(text, sizeof(text), "%.*s", (int)host->value_size, host->value);
	*ret_allowed = !origin || is_listed(origin->value, origin->value_size, allowed) ||
		       is_own(origin->value, origin->value_size, text, tls);
	return 0;
}

static bool is_origin(const char *text, size_t size)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-:[]";
	size_t scheme = size > 8 && strncasecmp(text, "https://", 8) == 0  ? 8
			: size > 7 && strncasecmp(text, "http://", 7) == 0 ? 7
									   : 0;

	return scheme > 0 && strspn(text + scheme, allowed) >= size - scheme;
}

bool sp_upgrade_origins_valid(const char *list)
{
	const char *at = list, *item;
	size_t size, count = 0;

	for (; sp_head_item(&at, list + strlen(list), &item, &size); count++)
		if (!is_origin(item, size))
			return false;
	return count > 0;
}
