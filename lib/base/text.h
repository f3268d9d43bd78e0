/* Small formats: ids, UUIDs, RFC 3339 times, base64, and the host:port numbers. Pure. */
#ifndef SP_BASE_TEXT_H
#define SP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_TIME_SIZE 21 /* "2026-11-29T15:36:07Z" and its NUL */

/* [A-Za-z0-9][A-Za-z0-9._-]{0,127} */
bool sp_id_valid(const char *text);

/* Lower-case 8-4-4-4-12 hexadecimal. */
bool sp_uuid_valid(const char *text);

/* Seconds since the epoch of a real date in UTC, exactly in the form above (years 1970 to 9999).
 * False otherwise. */
bool sp_time_parse(const char *text, int64_t *ret_seconds);

/* The reverse, for 0 <= seconds <= 253402300799; others are clamped. */
void sp_time_format(int64_t seconds, char text[SP_TIME_SIZE]);

/* CLOCK_REALTIME in whole seconds. The only clock of day: called by tools and servers, never by a
 * decision. */
int64_t sp_time_now(void);

/* A whole decimal number without sign, leading zeros or anything after, within [min, max]. */
bool sp_number_parse(const char *text, int64_t min, int64_t max, int64_t *ret_number);

/*
 * Strict base64: no white space, no stray bits. `url`: the URL alphabet without padding (PASETO,
 * PASERK, jti); else the standard alphabet with padding (`data`). False when it is not that or does
 * not fit into `room`.
 */
bool sp_base64_decode(
    const char *text, size_t length, bool url, void *room_for_bytes, size_t room, size_t *ret_size);

/* Bytes that sp_base64_encode writes for `size`, its NUL included. */
size_t sp_base64_room(size_t size, bool url);
void sp_base64_encode(const void *bytes, size_t size, bool url, char *text, size_t room);

/* Valid UTF-8 without NUL over exactly `size` bytes: no overlong form, no surrogate, nothing above
 * U+10FFFF. */
bool sp_utf8_valid(const void *bytes, size_t size);

/* Replaces, in place, control characters (C0, DEL, C1) and bytes that are no UTF-8, each with '?':
 * what is left moves no cursor and is a JSON string. */
void sp_text_printable(char *text);

/* Optimal string alignment distance, for "did you mean". Bounded to words of 63 bytes; more counts
 * as 64. */
unsigned sp_word_distance(const char *a, const char *b);

#endif
