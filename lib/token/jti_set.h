/* A set of 128-bit token ids with their expiry: open addressing, hashed with a secret so that
 * nobody can choose collisions. */
#ifndef SP_TOKEN_JTI_SET_H
#define SP_TOKEN_JTI_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_JTI_BYTES 16

struct sp_jti {
	unsigned char bytes[SP_JTI_BYTES];
	int64_t expires_at; /* 0: an empty place */
};

struct sp_jti_set {
	struct sp_jti *places;
	size_t room, count; /* room: a power of two, at least twice count */
	unsigned char secret[16];
};

/* -ENOMEM or 0. */
int sp_jti_set_init(struct sp_jti_set *set);
void sp_jti_set_done(struct sp_jti_set *set);

bool sp_jti_set_has(const struct sp_jti_set *set, const unsigned char jti[SP_JTI_BYTES]);

/* `expires_at` above 0. Adding one that is in changes nothing. -ENOMEM or 0. */
int sp_jti_set_add(
    struct sp_jti_set *set, const unsigned char jti[SP_JTI_BYTES], int64_t expires_at);

/* How many expire after `limit`. */
size_t sp_jti_set_live(const struct sp_jti_set *set, int64_t limit);

/* Keeps those that expire after `limit`. -ENOMEM (nothing changed) or 0. */
int sp_jti_set_keep(struct sp_jti_set *set, int64_t limit);

#endif
