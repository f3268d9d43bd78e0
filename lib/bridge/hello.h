/*
 * The bridge's own messages to the guest's agent (04-bridge, Verify 7 and Record): the hello, by
 * which the guest proves that it is the one that was enrolled, and the rekey, which makes it so.
 * One line each, the first on a connection from CID 2; after a hello the connection is for
 * requests. Pure but for the random numbers.
 *
 *   {"guest":"hello","nonce":N}                                       bridge to guest
 *   {"guest":"hello","mac":M}                                         guest to bridge
 *   {"guest":"rekey","sandbox":S,"execution":E,"id":I,"key":K}        bridge to guest, once a boot
 *   {"guest":"rekey","sandbox":S,"execution":E,"id":I,"key":K,"mac":M}     under the current key
 *   {"guest":"rekey","mac":M}                                         guest to bridge
 *   {"guest":"error","message":W}                                     guest to bridge, words only
 *
 * Binary values are 32 bytes in base64url. A mac is BLAKE2b-256, keyed, over a sequence of parts,
 * each behind its length as 64 bits little-endian:
 *   hello            "space.guest.hello.v1", nonce, sandbox, execution, id, cid, port
 *   rekey, asking    "space.guest.rekey.v1", key, sandbox, execution, id, cid, port (current key)
 *   rekey, answering "space.guest.rekeyed.v1", sandbox, execution, id, cid, port (the new key)
 * with execution as 64, cid (the guest's) and port (the host's, the number in OK) as 32 bits
 * little-endian.
 */
#ifndef SP_BRIDGE_HELLO_H
#define SP_BRIDGE_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "store/guestkey.h"
#include "store/record.h"

#define SP_HELLO_SIZE     32   /* nonce and mac */
#define SP_HELLO_LINE_MAX 1024 /* without its LF, and a NUL */

/* Whom a guest takes itself for, since its last rekey. */
struct sp_guest_name {
	char sandbox[SP_ID_MAX + 1];
	int64_t execution;
	char id[SP_ID_MAX + 1];
};

/* What a runtime record has of its guest; an empty id when it has none. */
void sp_guest_name_of(const struct sp_record *record, struct sp_guest_name *ret);

/* Between whom: the guest's CID and the host's port of one connection. */
struct sp_guest_link {
	uint32_t cid, port;
};

enum sp_hello_kind { SP_HELLO_HELLO, SP_HELLO_REKEY };

/* What a bridge asks. */
struct sp_hello_ask {
	enum sp_hello_kind kind;
	uint8_t nonce[SP_HELLO_SIZE]; /* hello */
	/* rekey */
	struct sp_guest_name name;
	uint8_t key[SP_GUEST_KEY_SIZE];
	bool has_mac;
	uint8_t mac[SP_HELLO_SIZE];
};

/* Does a first line mean to be such a message? Then it is judged as one. */
bool sp_hello_meant(const char *line, size_t size);

/* Closed. SP_E_BAD_RECORD with words. Wipe *ret after use: it may hold a key. */
int sp_hello_ask_parse(const char *line, size_t size, struct sp_hello_ask *ret, struct sp_err *err);

/* Without LF; the size, 0 when out of memory. Wipe the line after use. */
size_t sp_hello_ask_print(const struct sp_hello_ask *ask, char ret_line[SP_HELLO_LINE_MAX]);

/* The guest's answer, and its failure. */
size_t sp_hello_answer_print(
    enum sp_hello_kind kind, const uint8_t mac[SP_HELLO_SIZE], char ret_line[SP_HELLO_LINE_MAX]);
size_t sp_hello_error_print(const char *words, char ret_line[SP_HELLO_LINE_MAX]);

/*
 * The bridge's judgement of an answer: is it that mac? Compared in constant time. SP_E_DENIED: the
 * wrong mac, or the guest says why it has none; SP_E_BAD_RECORD: no answer of this kind at all.
 */
int sp_hello_answer_check(const char *line, size_t size, enum sp_hello_kind kind,
    const uint8_t mac[SP_HELLO_SIZE], struct sp_err *err);

void sp_hello_mac(const uint8_t key[SP_GUEST_KEY_SIZE], const struct sp_guest_name *name,
    const struct sp_guest_link *link, const uint8_t nonce[SP_HELLO_SIZE],
    uint8_t ret_mac[SP_HELLO_SIZE]);

/* `key` is the guest's current one, `ask` brings the new. */
void sp_rekey_ask_mac(const uint8_t key[SP_GUEST_KEY_SIZE], const struct sp_hello_ask *ask,
    const struct sp_guest_link *link, uint8_t ret_mac[SP_HELLO_SIZE]);

/* `key` is the new one. */
void sp_rekey_answer_mac(const uint8_t key[SP_GUEST_KEY_SIZE], const struct sp_guest_name *name,
    const struct sp_guest_link *link, uint8_t ret_mac[SP_HELLO_SIZE]);

#endif
