/* Linear probing; nothing is ever removed singly. */
#include "token/jti_set.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 1024

_Static_assert(
    sizeof(((struct sp_jti_set *)0)->secret) == crypto_shorthash_KEYBYTES, "SipHash key");

int sp_jti_set_init(struct sp_jti_set *set)
{
	*set = (struct sp_jti_set){.room = ROOM_MIN};
	set->places = calloc(set->room, sizeof(*set->places));
	randombytes_buf(set->secret, sizeof(set->secret));
	return set->places ? 0 : -ENOMEM;
}

void sp_jti_set_done(struct sp_jti_set *set)
{
	free(set->places);
	*set = (struct sp_jti_set){.places = NULL};
}

/* Where it is, or the empty place where it would be. */
static struct sp_jti *place_of(const struct sp_jti_set *set, const unsigned char *jti)
{
	uint64_t hash;
	unsigned char digest[crypto_shorthash_BYTES];

	(void)crypto_shorthash(digest, jti, SP_JTI_BYTES, set->secret);
	memcpy(&hash, digest, sizeof(hash));
	for (size_t i = (size_t)hash & (set->room - 1);; i = (i + 1) & (set->room - 1)) {
		struct sp_jti *place = &set->places[i];
		if (place->expires_at == 0 || memcmp(place->bytes, jti, SP_JTI_BYTES) == 0)
			return place;
	}
}

bool sp_jti_set_has(const struct sp_jti_set *set, const unsigned char jti[SP_JTI_BYTES])
{
	return place_of(set, jti)->expires_at != 0;
}

/* Into a table of `room` places, without those that expired by `limit`. */
static int rebuild(struct sp_jti_set *set, size_t room, int64_t limit)
{
	struct sp_jti_set larger = {.room = room, .places = calloc(room, sizeof(*larger.places))};

	if (!larger.places)
		return -ENOMEM;
	memcpy(larger.secret, set->secret, sizeof(larger.secret));
	for (size_t i = 0; i < set->room; i++)
		if (set->places[i].expires_at > limit) {
			*place_of(&larger, set->places[i].bytes) = set->places[i];
			larger.count++;
		}
	free(set->places);
	*set = larger;
	return 0;
}

int sp_jti_set_add(
    struct sp_jti_set *set, const unsigned char jti[SP_JTI_BYTES], int64_t expires_at)
{
	struct sp_jti *place;

	if ((set->count + 1) * 2 > set->room) {
		int bad = rebuild(set, set->room * 2, 0);
		if (bad)
			return bad;
	}
	place = place_of(set, jti);
	if (place->expires_at != 0)
		return 0;
	memcpy(place->bytes, jti, SP_JTI_BYTES);
	place->expires_at = expires_at;
	set->count++;
	return 0;
}

size_t sp_jti_set_live(const struct sp_jti_set *set, int64_t limit)
{
	size_t live = 0;

	for (size_t i = 0; i < set->room; i++)
		live += set->places[i].expires_at > limit;
	return live;
}

int sp_jti_set_keep(struct sp_jti_set *set, int64_t limit)
{
	size_t live = limit > 0 ? sp_jti_set_live(set, limit) : set->count;
	size_t room = ROOM_MIN;

	while (room < (live + 1) * 2)
		room *= 2;
	return rebuild(set, room, limit > 0 ? limit : 0);
}
