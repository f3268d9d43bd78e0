/* The official PASETO and PASERK vectors: read from ../shared/vectors/paseto, which is no part of
 * this tree. Where they are missing the test says so, and fails when REQUIRE_ALL is set. */
#ifndef SP_TESTS_UNIT_VECTORS_H
#define SP_TESTS_UNIT_VECTORS_H

#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "record/json.h"

#define VECTORS_DIRECTORY "../shared/vectors/paseto/"

/* The `tests` array of a file, owned by *ret_file. Ends the test when there is none. */
static inline json_t *vectors_load(const char *name, json_t **ret_file)
{
	char path[256];
	struct sp_err err = {0};

	(void)snprintf(path, sizeof(path), "%s%s", VECTORS_DIRECTORY, name);
	if (sp_json_read_file(AT_FDCWD, path, 1u << 20, ret_file, &err) < 0) {
		if (getenv("REQUIRE_ALL"))
			fail_msg("REQUIRE_ALL: %s is missing: %s", path, err.message);
		print_message("%s is missing\n", path);
		skip();
	}
	assert_true(json_is_array(json_object_get(*ret_file, "tests")));
	return json_object_get(*ret_file, "tests");
}

static inline const char *vector_text(const json_t *vector, const char *name)
{
	return json_string_value(json_object_get(vector, name));
}

/* Bytes of a hexadecimal member; 0 when it is null, absent or no hexadecimal. */
static inline size_t vector_bytes(
    const json_t *vector, const char *name, unsigned char *ret, size_t room)
{
	const char *hex = vector_text(vector, name), *end = NULL;
	size_t size = 0;

	if (!hex || sodium_hex2bin(ret, room, hex, strlen(hex), NULL, &size, &end) != 0 || *end)
		return 0;
	return size;
}

#endif
