/*
 * base64 of what is no secret: the same strict forms as in base/text.h, by tables and several times
 * as fast. For keys and passwords take those there, which spend the same time whatever the bytes.
 */
#ifndef SP_BASE_BASE64_H
#define SP_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* As sp_base64_decode. `room_for_bytes` may have been written to on failure. */
bool sp_base64_decode_public(
    const char *text, size_t length, bool url, void *room_for_bytes, size_t room, size_t *ret_size);

/* As sp_base64_encode: `room` is at least sp_base64_room(size, url). */
void sp_base64_encode_public(const void *bytes, size_t size, bool url, char *text, size_t room);

#endif
