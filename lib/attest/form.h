/*
 * Structs in and out of closed JSON objects by one table (as those of attest/evidence.h, which says
 * why some numbers are text). Pure.
 */
#ifndef SP_ATTEST_FORM_H
#define SP_ATTEST_FORM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "attest/attest.h"
#include "base/err.h"
#include "record/json.h"

/* How one value is written: reading takes exactly what writing gives. */
struct sp_form {
	enum sp_json_kind kind;
	bool (*read)(const json_t *value, void *at);
	json_t *(*write)(const void *at);
};

/* Numbers: uint32_t, int >= 0, uint64_t up to SP_INT_MAX. */
extern const struct sp_form SP_FORM_U32, SP_FORM_INT, SP_FORM_SIZE;
/* Text of a uint64_t, dev_t ("MAJOR:MINOR"), struct sp_instant ("SECONDS.NANOSECONDS"), mode_t
 * ("0660"). */
extern const struct sp_form SP_FORM_U64, SP_FORM_DEVICE, SP_FORM_INSTANT, SP_FORM_MODE;
/* const char *, borrowed from the object: not empty; SP_FORM_PATH: and absolute. */
extern const struct sp_form SP_FORM_TEXT, SP_FORM_PATH;
/* char[37]; uint8_t[SP_EXECUTABLE_HASH] in hexadecimal; bool. */
extern const struct sp_form SP_FORM_BOOT, SP_FORM_HASH, SP_FORM_BOOL;

struct sp_form_field {
	const char *name;
	const struct sp_form *form; /* NULL: an object of `inner` fields */
	size_t offset;
	const struct sp_form_field *inner;
	bool optional; /* absent: its first bytes are zero */
	bool vmm;      /* not in a `bridge` */
};

#define SP_FORM_FIELDS_MAX 16 /* of one table, which ends with a field without a name */

/* Reads `object` into the struct at `at`, which starts as zeros. `what` names the object in
 * messages. SP_E_BAD_RECORD names the first thing wrong. */
int sp_form_parse(enum sp_role role, const json_t *object, const char *what,
    const struct sp_form_field *table, char *at, struct sp_err *err);

/* A new reference; NULL when out of memory or when a text is no UTF-8. */
json_t *sp_form_print(enum sp_role role, const struct sp_form_field *table, const char *at);

#endif
