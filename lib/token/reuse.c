/* Sets of four places; within a set the oldest goes first. */
#include "token/reuse.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"

#define WAYS   4
#define ROUND  256 /* bytes */
#define DIGEST sizeof(((struct sp_reuse_key *)NULL)->digest)

struct place {
	unsigned char digest[DIGEST];
	int64_t issued_at, expires_at;
	char jti[SP_JTI_SIZE];
	size_t size, room;
	char *token; /* NULL: empty */
};

struct sp_reuse {
	size_t sets;
	unsigned char secret[32];
	struct place places[];
};

int sp_reuse_new(size_t entries, struct sp_reuse **ret)
{
	struct sp_reuse *reuse = calloc(1, sizeof(*reuse) + entries * sizeof(reuse->places[0]));

	if (!reuse)
		return -ENOMEM;
	reuse->sets = entries / WAYS;
	randombytes_buf(reuse->secret, sizeof(reuse->secret));
	*ret = reuse;
	return 0;
}

void sp_reuse_free(struct sp_reuse *reuse)
{
	for (size_t i = 0; reuse && i < reuse->sets * WAYS; i++)
		free(reuse->places[i].token);
	free(reuse);
}

/* Texts without NUL, each with its NUL: no two lists of them give the same bytes. */
static void add_text(crypto_generichash_state *state, const char *text)
{
	(void)crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

static void add_number(crypto_generichash_state *state, int64_t number)
{
	(void)crypto_generichash_update(state, (const unsigned char *)&number, sizeof(number));
}

void sp_reuse_key(
    const struct sp_reuse *reuse, const struct sp_claims *claims, struct sp_reuse_key *ret)
{
	const struct sp_route *route = &claims->identity.route;
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, reuse->secret, sizeof(reuse->secret), DIGEST);
	add_text(&state, claims->caller);
	add_text(&state, claims->identity.sandbox);
	add_number(&state, route->execution);
	add_number(&state, route->attempt);
	add_number(&state, route->substrate);
	add_text(&state, route->worker);
	add_text(&state, route->pod_uid);
	add_text(&state, route->activation);
	add_number(&state, claims->purpose);
	for (unsigned i = 0; i < claims->access_count; i++)
		add_text(&state, claims->access[i]);
	(void)crypto_generichash_final(&state, ret->digest, DIGEST);
}

static struct place *set_of(struct sp_reuse *reuse, const unsigned char digest[DIGEST])
{
	uint64_t number;

	memcpy(&number, digest, sizeof(number));
	return &reuse->places[(size_t)(number % reuse->sets) * WAYS];
}

static struct place *find(struct place *set, const unsigned char digest[DIGEST])
{
	for (size_t i = 0; i < WAYS; i++)
		if (set[i].token && memcmp(set[i].digest, digest, DIGEST) == 0)
			return &set[i];
	return NULL;
}

const char *sp_reuse_find(struct sp_reuse *reuse, const struct sp_reuse_key *key, int64_t now,
    int64_t until, size_t *ret_size, const char **ret_jti)
{
	const struct place *place = find(set_of(reuse, key->digest), key->digest);

	/* A clock that was set back makes no token younger: then mint anew. */
	if (!place || now < place->issued_at || place->expires_at > until ||
	    (now - place->issued_at) * 2 >= place->expires_at - place->issued_at)
		return NULL;
	*ret_size = place->size;
	*ret_jti = place->jti;
	return place->token;
}

/* Its own place, an empty one, or that of the oldest. */
static struct place *place_for(struct place *set, const unsigned char digest[DIGEST])
{
	struct place *place = find(set, digest);

	for (size_t i = 0; i < WAYS && !place; i++)
		if (!set[i].token)
			place = &set[i];
	if (place)
		return place;
	place = set;
	for (size_t i = 1; i < WAYS; i++)
		if (set[i].issued_at < place->issued_at)
			place = &set[i];
	return place;
}

/* Tokens are of much the same size: the next one has room where the one before was. */
static bool make_room(struct place *place, size_t size)
{
	size_t room = (size + ROUND) / ROUND * ROUND;

	if (place->room >= room)
		return true;
	free(place->token);
	place->token = malloc(room);
	place->room = place->token ? room : 0;
	return place->token != NULL;
}

void sp_reuse_put(struct sp_reuse *reuse, const struct sp_reuse_key *key,
    const struct sp_claims *claims, const char *token, size_t size)
{
	struct place *place = place_for(set_of(reuse, key->digest), key->digest);

	if (!make_room(place, size))
		return;
	memcpy(place->token, token, size);
	place->token[size] = '\0';
	place->size = size;
	place->issued_at = claims->issued_at;
	place->expires_at = claims->expires_at;
	memcpy(place->digest, key->digest, DIGEST);
	memcpy(place->jti, claims->jti, SP_JTI_SIZE);
}
