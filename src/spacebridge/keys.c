/* A receiver's keyring: loaded at the start and whenever the installed bundle changes. */
#include "spacebridge/keys.h"

#include <stdio.h>
#include <string.h>
#include "base/util.h"

#define RETRY     0.05 /* seconds */
#define TRIES_MAX 20
#define REMEMBER  4096 /* verified tokens */

static void tell(const struct keys *keys, const char *words)
{
	(void)fprintf(stderr, "spacebridge: %s: keys: %s\n", keys->verb, words);
}

static void install(struct keys *keys, struct sp_keyring *ring)
{
	sp_keyring_free(keys->ring);
	keys->ring = ring;
	sp_memory_forget(keys->memory);
}

static void install_empty(struct keys *keys)
{
	struct sp_keyring *empty;

	/* Without memory for a new one the old one would stay: end instead, a supervisor starts us
	 * again. */
	if (sp_keyring_empty(&empty) < 0) {
		tell(keys, "out of memory");
		sp_service_exit(keys->service);
		return;
	}
	install(keys, empty);
}

static int load(struct keys *keys, struct sp_err *err)
{
	struct sp_keyring *ring;
	int bad = sp_keyring_load(keys->source, keys->realm, keys->roots, &ring, err);

	if (!bad)
		install(keys, ring);
	return bad;
}

/* A bundle in the middle of being replaced is no reason to refuse everybody; one that stays broken
 * is. */
static void reload(struct keys *keys)
{
	struct sp_err err = {0};
	int bad = load(keys, &err);

	if (!bad) {
		keys->tries = 0;
		ev_timer_stop(sp_service_loop(keys->service), &keys->retry);
		return;
	}
	if (keys->tries++ < TRIES_MAX) {
		ev_timer_again(sp_service_loop(keys->service), &keys->retry);
		return;
	}
	ev_timer_stop(sp_service_loop(keys->service), &keys->retry);
	keys->tries = 0;
	tell(keys, err.message);
	tell(keys, "no key is trusted until a good bundle is installed (spacecap bundle install)");
	install_empty(keys);
}

static void on_retry(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	reload(watcher->data);
}

void keys_changed(void *context)
{
	struct keys *keys = context;

	keys->tries = 0;
	reload(keys);
}

int keys_open(struct keys *keys, struct sp_err *err)
{
	bool is_key = strncmp(keys->source, "k4.public.", 10) == 0;
	struct sp_err why = {0};
	int bad;

	ev_timer_init(&keys->retry, on_retry, RETRY, RETRY);
	keys->retry.data = keys;
	if (sp_memory_new(REMEMBER, &keys->memory) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	/* Watched before it is read, so that no change falls between. */
	bad = sp_service_on_change(
	    keys->service, is_key ? NULL : keys->source, keys_changed, keys, err);
	if (bad)
		return bad;
	bad = load(keys, &why);
	if (bad == SP_E_CONFIG || (bad && is_key)) {
		if (err)
			*err = why;
		return bad;
	}
	if (bad) {
		tell(keys, why.message);
		tell(keys,
		    "no key is trusted until a bundle is installed (spacecap bundle install)");
		install_empty(keys);
	}
	return 0;
}

void keys_close(struct keys *keys)
{
	sp_memory_free(keys->memory);
	sp_keyring_free(keys->ring);
}
