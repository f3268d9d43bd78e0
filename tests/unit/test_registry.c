/* The registry through its interface, on both backends: what one handle changes, another one sees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/util.h"
#include "routing/bearer.h"
#include "routing/registry.h"
#include "routing/registry_sqlite.h"
#include "etcd_fixture.h"
#include "scratch.h"

static char path[PATH_MAX + 32], url[PATH_MAX + 64];
static bool on_etcd; /* else SQLite */
static unsigned prefixes;
static struct sp_registry *writer, *reader;
static const struct sp_registry_options MAKE = {.timeout_ms = 2000, .create = true};
/* As the cache looks. */
static const struct sp_registry_options LOOK = {.timeout_ms = 2000, .mapped = true};

static int begin(void **state)
{
	(void)state;
	if (on_etcd)
		(void)snprintf(url, sizeof(url), "etcd:%s/t%u", etcd_endpoint, prefixes++);
	if (sp_registry_open(url, &MAKE, &writer, NULL) < 0)
		return -1;
	return sp_registry_open(url, &LOOK, &reader, NULL);
}

static int end(void **state)
{
	char side[PATH_MAX + 40];

	(void)state;
	sp_registry_close(writer);
	sp_registry_close(reader);
	writer = reader = NULL;
	(void)unlink(path);
	(void)snprintf(side, sizeof(side), "%s-wal", path);
	(void)unlink(side);
	(void)snprintf(side, sizeof(side), "%s-shm", path);
	(void)unlink(side);
	return 0;
}

static enum sp_publish_effect publish(const char *sandbox, int64_t execution, int64_t *revision)
{
	struct sp_publication wanted = {.endpoint = "unix:/m"};
	enum sp_publish_effect effect = SP_PUBLISH_CONFLICT;

	(void)snprintf(wanted.identity.sandbox, sizeof(wanted.identity.sandbox), "%s", sandbox);
	wanted.identity.route = (struct sp_route){.execution = execution,
	    .attempt = 1,
	    .substrate = SP_SUBSTRATE_KUBERNETES,
	    .worker = "w",
	    .pod_uid = "0b9fa1c2-1111-2222-3333-444455556666",
	    .activation = "a"};
	assert_int_equal(sp_registry_publish(writer, &wanted, &effect, revision, NULL), 0);
	return effect;
}

static int grant_with(const char *principal, const char *pattern, const char *op,
    const unsigned char *credential, enum sp_grant_manner manner)
{
	struct sp_grant grant = {0};
	enum sp_grant_effect effect;
	int64_t revision;

	(void)snprintf(grant.principal, sizeof(grant.principal), "%s", principal);
	(void)snprintf(grant.subject, sizeof(grant.subject), "%s", principal);
	(void)snprintf(grant.sandbox, sizeof(grant.sandbox), "%s", pattern);
	assert_int_equal(sp_rights_add_op(&grant.rights, op, NULL), 0);
	return sp_registry_grant(writer, &grant, credential, manner, &effect, &revision, NULL);
}

static unsigned take_away(const char *principal, const char *pattern)
{
	unsigned count = 99;

	assert_int_equal(sp_registry_revoke(writer, principal, pattern, &count, NULL), 0);
	return count;
}

static struct {
	bool done;
	struct sp_lookup lookup;
} looked;

static void keep(void *context, const struct sp_lookup *lookup)
{
	(void)context;
	looked.done = true;
	looked.lookup = *lookup;
}

static void on_nothing(void *context, const char *subject, const char *pattern)
{
	(void)context;
	(void)subject;
	(void)pattern;
}

/* Until the registry has something to say, or it is time to look. */
static void wait_for_reader(void)
{
	struct pollfd one = {.fd = sp_registry_descriptor(reader), .events = POLLIN};

	if (one.fd >= 0)
		assert_true(poll(&one, 1, 10000) > 0);
}

static struct sp_lookup lookup_as(
    const char *caller, const unsigned char *credential, const char *sandbox)
{
	const struct sp_flight_question question = {caller, credential, sandbox, true};
	static const struct sp_registry_changes changes = {.revoked = on_nothing};

	looked.done = false;
	sp_registry_lookup(reader, &question, 1000, keep, NULL);
	while (!looked.done) {
		wait_for_reader();
		(void)sp_registry_poll(reader, &changes, NULL);
	}
	return looked.lookup;
}

static unsigned rights_of(const char *caller, const unsigned char *credential)
{
	return lookup_as(caller, credential, "s-1").authorization.rights.op_count;
}

static void a_revision_only_rises_and_a_tombstone_keeps_its_execution(void **state)
{
	int64_t revision = 0;
	struct sp_placement placement;
	enum sp_publish_effect effect;

	(void)state;
	assert_int_equal(publish("s", 7, &revision), SP_PUBLISH_REPLACED);
	assert_int_equal(revision, 1);
	assert_int_equal(publish("s", 7, &revision), SP_PUBLISH_NONE);
	assert_int_equal(revision, 1);
	assert_int_equal(publish("t", 1, &revision), SP_PUBLISH_REPLACED);
	assert_int_equal(revision, 2);
	assert_int_equal(publish("s", 6, &revision), SP_PUBLISH_CONFLICT);
	assert_int_equal(sp_registry_retire(writer, "s", 7, &effect, &revision, NULL), 0);
	assert_int_equal(effect, SP_PUBLISH_RETIRED);
	assert_int_equal(revision, 3);
	assert_int_equal(sp_registry_resolve(reader, "s", &placement, NULL), 0);
	assert_true(placement.retired);
	assert_int_equal(placement.route.execution, 7);
	assert_string_equal(placement.route.pod_uid, "0b9fa1c2-1111-2222-3333-444455556666");
	assert_false(lookup_as("uid:1", NULL, "s").routed);
	assert_int_equal(publish("s", 7, &revision), SP_PUBLISH_CONFLICT);
	assert_int_equal(publish("s", 8, &revision), SP_PUBLISH_REPLACED);
	assert_int_equal(revision, 4);
	assert_true(lookup_as("uid:1", NULL, "s").routed);
	assert_int_equal(sp_registry_resolve(reader, "u", &placement, NULL), SP_E_ABSENT);
}

static void a_caller_has_the_rights_of_his_own_and_of_his_globs(void **state)
{
	(void)state;
	assert_int_equal(grant_with("uid:1", "s-1", "ping", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(grant_with("uid:1", "s-*", "file.*", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(grant_with("uid:1", "t-*", "exec.*", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(grant_with("uid:11", "*", "exec.*", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(rights_of("uid:1", NULL), 2);
	assert_int_equal(rights_of("uid:2", NULL), 0);
	assert_int_equal(take_away("uid:1", "s-?"), 0); /* patterns are named, not matched */
	assert_int_equal(take_away("uid:1", "s-*"), 1);
	assert_int_equal(rights_of("uid:1", NULL), 1);
	assert_int_equal(take_away("uid:1", NULL), 2);
	assert_int_equal(rights_of("uid:1", NULL), 0);
	assert_int_equal(rights_of("uid:11", NULL), 1);
}

static void a_token_counts_with_its_secret_only(void **state)
{
	char text[SP_BEARER_SIZE];
	struct sp_bearer one, two;

	(void)state;
	sp_bearer_make("ci", text);
	assert_int_equal(sp_bearer_parse(text, &one, NULL), 0);
	assert_string_equal(one.name, "ci");
	sp_bearer_make("ci", text);
	assert_int_equal(sp_bearer_parse(text, &two, NULL), 0);
	assert_int_equal(grant_with("token:ci", "*", "ping", NULL, SP_GRANT_PUTS), SP_E_ABSENT);
	assert_int_equal(grant_with("token:ci", "*", "ping", one.credential, SP_GRANT_PUTS), 0);
	assert_int_equal(rights_of("token:ci", one.credential), 1);
	assert_int_equal(rights_of("token:ci", two.credential), 0);
	assert_int_equal(rights_of("token:ci", NULL), 0);
	assert_int_equal(grant_with("token:ci", "s-1", "file.*", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(
	    grant_with("token:ci", "*", "ping", two.credential, SP_GRANT_PUTS), SP_E_CONFLICT);
	assert_int_equal(rights_of("token:ci", one.credential), 2);
	assert_int_equal(grant_with("token:ci", "*", "ping", two.credential, SP_GRANT_ROTATES), 0);
	assert_int_equal(rights_of("token:ci", one.credential), 0);
	assert_int_equal(rights_of("token:ci", two.credential), 2);
	/* It ends with the last of its grants. */
	assert_int_equal(take_away("token:ci", "s-1"), 1);
	assert_int_equal(rights_of("token:ci", two.credential), 1);
	assert_int_equal(take_away("token:ci", NULL), 1);
	assert_int_equal(grant_with("token:ci", "*", "ping", NULL, SP_GRANT_PUTS), SP_E_ABSENT);
}

static void a_bearer_token_has_one_form(void **state)
{
	static const char *const rows[] = {"", "space-token:", "space-token:ci",
	    "space-token:ci:", "space-token::AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "space-token:a b:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "space-token:ci:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB", /* stray bits */
	    "space-token:ci:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "Space-token:ci:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
	struct sp_bearer bearer;

	(void)state;
	assert_int_equal(
	    sp_bearer_parse(
		"space-token:ci:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &bearer, NULL),
	    0);
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		assert_int_equal(sp_bearer_parse(rows[i], &bearer, NULL), SP_E_BAD_KEY);
}

static struct {
	unsigned count;
	bool all;
	char subject[32], pattern[32];
} told;

static void on_revoked(void *context, const char *subject, const char *pattern)
{
	(void)context;
	told.count++;
	told.all |= !subject && !pattern;
	(void)snprintf(told.subject, sizeof(told.subject), "%s", subject ? subject : "");
	(void)snprintf(told.pattern, sizeof(told.pattern), "%s", pattern ? pattern : "");
}

static const struct sp_registry_changes REVOKED = {.revoked = on_revoked};

static struct {
	bool marked;
	int64_t mark;
	unsigned count;
	struct sp_placement last;
	char sandbox[32];
} routed;

static void on_routed(void *context, const char *sandbox, const struct sp_placement *placement)
{
	(void)context;
	if (strcmp(sandbox, "mark") == 0) {
		routed.marked |= placement->route.execution == routed.mark;
		return;
	}
	routed.count++;
	routed.last = *placement;
	(void)snprintf(routed.sandbox, sizeof(routed.sandbox), "%s", sandbox);
}

/* Everything that was changed before is told, then the mark; or that nobody knows. Returns how many
 * revocations were. */
static unsigned poll_once(void)
{
	static const struct sp_registry_changes changes = {
	    .revoked = on_revoked, .routed = on_routed};
	static int64_t mark;
	int64_t revision;

	memset(&told, 0, sizeof(told));
	memset(&routed, 0, sizeof(routed));
	routed.mark = ++mark;
	assert_int_equal(publish("mark", routed.mark, &revision), SP_PUBLISH_REPLACED);
	while (!routed.marked && !told.all) {
		(void)sp_registry_poll(reader, &changes, NULL);
		if (!routed.marked && !told.all)
			wait_for_reader();
	}
	return told.count;
}

static void what_is_taken_away_is_told_once_and_what_is_added_is_not(void **state)
{
	int64_t revision;

	(void)state;
	assert_int_equal(grant_with("uid:1", "s-*", "file.*", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(grant_with("uid:2", "s-*", "file.*", NULL, SP_GRANT_PUTS), 0);
	(void)publish("s-1", 7, &revision);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(take_away("uid:1", NULL), 1);
	assert_int_equal(poll_once(), 1);
	assert_string_equal(told.subject, "uid:1");
	assert_string_equal(told.pattern, "s-*");
	assert_int_equal(poll_once(), 0);
	/* A grant that replaces another one may have less in it. */
	assert_int_equal(grant_with("uid:2", "s-*", "file.*", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(grant_with("uid:2", "s-*", "file.read", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(poll_once(), 1);
	assert_string_equal(told.subject, "uid:2");
}

static void each_change_of_a_route_is_told_with_what_it_became(void **state)
{
	int64_t revision, first;
	enum sp_publish_effect effect;

	(void)state;
	(void)publish("s-1", 7, &first);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(routed.count, 1);
	assert_string_equal(routed.sandbox, "s-1");
	assert_int_equal(routed.last.route.execution, 7);
	assert_int_equal(routed.last.revision, first);
	(void)publish("s-1", 7, &revision);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(routed.count, 0);
	assert_int_equal(sp_registry_retire(writer, "s-1", 7, &effect, &revision, NULL), 0);
	assert_int_equal(poll_once(), 0);
	assert_true(routed.last.retired);
	assert_int_equal(routed.last.revision, revision);
}

static void a_poll_resumes_from_a_revision_or_says_that_it_cannot(void **state)
{
	int64_t first, second;

	(void)state;
	(void)publish("s-1", 7, &first);
	(void)publish("s-2", 7, &second);
	sp_registry_resume(reader, first);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(routed.count, 1);
	assert_string_equal(routed.sandbox, "s-2");
	sp_registry_close(reader);
	assert_int_equal(sp_registry_open(url, &LOOK, &reader, NULL), 0);
	/* It was never there yet. */
	sp_registry_resume(reader, 1000);
	assert_true(poll_once() > 0);
	assert_true(told.all);
}

static void revisions_rise_above_what_is_imported(void **state)
{
	struct sp_placement placement;
	int64_t revision, raised, before, now;

	(void)state;
	(void)publish("s-1", 7, &before);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(sp_registry_raise(writer, 1000000, NULL), 0);
	(void)publish("s-1", 8, &raised);
	assert_true(raised > 1000000);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(routed.last.revision, raised);
	assert_int_equal(sp_registry_raise(writer, 5, NULL), 0);
	(void)publish("s-1", 9, &revision);
	assert_true(revision > raised && revision < raised + 10);
	assert_int_equal(sp_registry_resolve(reader, "s-1", &placement, NULL), 0);
	assert_int_equal(placement.revision, revision);
	assert_int_equal(sp_registry_snapshot_begin(reader, &now, NULL), 0);
	assert_true(now >= revision);
	sp_registry_snapshot_end(reader);
}

static int count_one(void *context, const char *sandbox, const struct sp_placement *placement)
{
	(void)sandbox;
	(void)placement;
	if (++*(unsigned *)context == 1) {
		int64_t revision;
		(void)publish("zz-late", 1, &revision);
	}
	return 0;
}

/* More than one page of etcd's. */
static void a_list_is_one_instant_however_long(void **state)
{
	/* More than two pages of etcd. */
	const unsigned many = strncmp(url, "etcd:", 5) == 0 ? 5100 : 1100;
	unsigned count = 0;
	int64_t revision;

	(void)state;
	for (unsigned i = 0; i < many; i++) {
		char sandbox[16];
		(void)snprintf(sandbox, sizeof(sandbox), "s-%u", i);
		(void)publish(sandbox, 1, &revision);
	}
	assert_int_equal(sp_registry_list(reader, count_one, &count, NULL), 0);
	assert_int_equal(count, many);
	count = 1;
	assert_int_equal(sp_registry_list(reader, count_one, &count, NULL), 0);
	assert_int_equal(count, many + 2);
}

/* More than one transaction of etcd's takes. */
static void many_grants_of_one_principal_go_together(void **state)
{
	char text[SP_BEARER_SIZE];
	struct sp_bearer bearer;

	(void)state;
	sp_bearer_make("ci", text);
	assert_int_equal(sp_bearer_parse(text, &bearer, NULL), 0);
	for (unsigned i = 0; i < 100; i++) {
		char pattern[16];
		(void)snprintf(pattern, sizeof(pattern), "s-%u", i);
		assert_int_equal(grant_with("token:ci", pattern, "ping",
				     i ? NULL : bearer.credential, SP_GRANT_PUTS),
		    0);
	}
	assert_int_equal(rights_of("token:ci", bearer.credential), 1);
	assert_int_equal(take_away("token:ci", NULL), 100);
	assert_int_equal(rights_of("token:ci", bearer.credential), 0);
	assert_int_equal(grant_with("token:ci", "*", "ping", NULL, SP_GRANT_PUTS), SP_E_ABSENT);
}

static void more_revocations_than_are_kept_concern_everything(void **state)
{
	(void)state;
	assert_int_equal(poll_once(), 0);
	for (int i = 0; i < 1002; i++) {
		assert_int_equal(
		    grant_with("uid:1", "s", i % 2 ? "ping" : "file.*", NULL, SP_GRANT_PUTS), 0);
	}
	assert_int_equal(poll_once(), 1);
	assert_true(told.all);
	assert_int_equal(take_away("uid:1", NULL), 1);
	assert_int_equal(poll_once(), 1);
	assert_false(told.all);
}

/* 0, or why there is no route of it for others. */
static int seen_by_others(const char *sandbox)
{
	struct sp_placement placement;

	return sp_registry_resolve(reader, sandbox, &placement, NULL);
}

static void more_changes_than_are_kept_are_said_to_be_lost(void **state)
{
	int64_t first, revision;

	(void)state;
	(void)publish("s-1", 7, &first);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(routed.count, 1);
	/* As if so many had been made: the next one finds the first out of reach. */
	assert_int_equal(sp_registry_raise(writer, 1000000 - 1, NULL), 0);
	(void)publish("s-1", 8, &revision);
	assert_int_equal(revision, 1000000);
	assert_int_equal(poll_once(), 1);
	assert_true(told.all);
	assert_int_equal(poll_once(), 0);
	(void)publish("s-1", 9, &revision);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(routed.count, 1);
	assert_int_equal(routed.last.revision, revision);
	sp_registry_close(reader);
	/* Whoever starts from then knows that he has missed some, and whoever starts later not. */
	assert_int_equal(sp_registry_open(url, &LOOK, &reader, NULL), 0);
	sp_registry_resume(reader, 1000000 - SP_SQLITE_CHANGES - 1);
	assert_int_equal(poll_once(), 1);
	assert_true(told.all);
	sp_registry_close(reader);
	assert_int_equal(sp_registry_open(url, &LOOK, &reader, NULL), 0);
	sp_registry_resume(reader, 1000000 - SP_SQLITE_CHANGES);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(routed.count, 2);
}

/* Many pages, moved into the file while it is mapped. */
static void a_mapped_file_shows_what_others_write_while_it_grows(void **state)
{
	const struct sp_sqlite_map *map = &((struct sp_sqlite *)reader)->map;
	struct stat info;
	unsigned times;
	char sandbox[32];
	int64_t revision;

	(void)state;
	sp_registry_gather(writer);
	for (int i = 0; i < 6000; i++) {
		struct sp_placement placement;
		(void)snprintf(sandbox, sizeof(sandbox), "s-%d", i * 7919 % 4000);
		(void)publish(sandbox, 1 + i, &revision);
		if (i % 50 != 49)
			continue;
		assert_int_equal(sp_registry_settle(writer, NULL), 0);
		sp_registry_tidy(writer);
		assert_int_equal(sp_registry_resolve(reader, sandbox, &placement, NULL), 0);
		assert_int_equal(placement.route.execution, 1 + i);
		(void)snprintf(sandbox, sizeof(sandbox), "s-%d", i / 2 * 7919 % 4000);
		assert_int_equal(sp_registry_resolve(reader, sandbox, &placement, NULL), 0);
	}
	/* It was mapped anew as it grew, */
	assert_int_equal(stat(path, &info), 0);
	assert_true((size_t)info.st_size <= map->size + map->size / 8);
	/* and not for each commit of another, which would cost a fault a page. */
	times = map->times;
	assert_true(times > 1 && times < 30);
	(void)publish("s-1", 7000, &revision);
	assert_int_equal(sp_registry_settle(writer, NULL), 0);
	assert_int_equal(seen_by_others("s-2"), 0);
	assert_int_equal(map->times, times);
}

/* The whole of it in memory, to be put back. */
static char *read_file(size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	char *all = malloc(4 << 20);

	assert_non_null(file);
	assert_non_null(all);
	*ret_size = fread(all, 1, 4 << 20, file);
	(void)fclose(file);
	return all;
}

/* One whose row goes on in pages of its own, where zeros would only make it shorter. */
static void publish_long(const char *sandbox)
{
	struct sp_publication wanted = {.endpoint = "unix:/"};
	enum sp_publish_effect effect;
	int64_t revision;

	memset(wanted.endpoint + 6, 'x', 1000);
	(void)snprintf(wanted.identity.sandbox, sizeof(wanted.identity.sandbox), "%s", sandbox);
	wanted.identity.route = (struct sp_route){.execution = 7,
	    .attempt = 1,
	    .substrate = SP_SUBSTRATE_HOST,
	    .worker = "w",
	    .activation = "a"};
	assert_int_equal(sp_registry_publish(writer, &wanted, &effect, &revision, NULL), 0);
}

/* All but so many of its first bytes are gone, and then back. */
static void without_the_rest(const char *all, size_t size, size_t kept)
{
	FILE *file;

	assert_int_equal(truncate(path, (off_t)kept), 0);
	assert_false(lookup_as("uid:1", NULL, "t-long").available);
	assert_int_equal(seen_by_others("t-long"), SP_E_UNAVAILABLE);
	file = fopen(path, "r+");
	assert_non_null(file);
	assert_int_equal(fwrite(all, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	/* What it read meanwhile is not believed. */
	assert_false(lookup_as("uid:1", NULL, "s-2").available);
	memset(&told, 0, sizeof(told));
	assert_int_equal(sp_registry_poll(reader, &REVOKED, NULL), 0);
	assert_true(told.all);
	assert_true(lookup_as("uid:1", NULL, "t-long").routed);
	assert_int_equal(strlen(looked.lookup.placement.endpoint), 1006);
}

static void a_mapped_file_that_is_cut_short_is_unavailable_until_it_is_whole(void **state)
{
	sp_auto_free char *all = NULL;
	char sandbox[32];
	int64_t revision;
	size_t size;

	(void)state;
	sp_registry_gather(writer);
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(sandbox, sizeof(sandbox), "s-%d", i);
		(void)publish(sandbox, 7, &revision);
	}
	publish_long("t-long");
	assert_int_equal(grant_with("uid:1", "*", "ping", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(sp_registry_settle(writer, NULL), 0);
	/* Whoever closes last moves all of it into the file. */
	sp_registry_close(reader);
	sp_registry_close(writer);
	writer = NULL;
	assert_int_equal(sp_registry_open(url, &LOOK, &reader, NULL), 0);
	/* And a change after that says how long the file is to be. */
	assert_int_equal(sp_registry_open(url, &MAKE, &writer, NULL), 0);
	(void)publish("s-0", 8, &revision);
	assert_int_equal(sp_registry_poll(reader, &REVOKED, NULL), 0);
	assert_true(lookup_as("uid:1", NULL, "t-long").routed);
	all = read_file(&size);
	without_the_rest(all, size, 4096);
	without_the_rest(all, size, size - 2 * 4096);
}

static void changes_made_together_hold_together(void **state)
{
	int64_t revision = 0;
	unsigned char hash[SP_CREDENTIAL_SIZE] = {1};

	(void)state;
	sp_registry_gather(writer);
	assert_int_equal(sp_registry_settle(writer, NULL), 0);
	assert_int_equal(publish("s-1", 7, &revision), SP_PUBLISH_REPLACED);
	/* One that fails takes none of the others with it. */
	assert_int_equal(grant_with("token:a", "s-1", "ping", NULL, SP_GRANT_PUTS), SP_E_ABSENT);
	assert_int_equal(grant_with("token:a", "s-1", "ping", hash, SP_GRANT_PUTS), 0);
	assert_int_equal(publish("s-2", 7, &revision), SP_PUBLISH_REPLACED);
	assert_int_equal(seen_by_others("s-1"), SP_E_ABSENT);
	assert_int_equal(sp_registry_settle(writer, NULL), 0);
	assert_int_equal(seen_by_others("s-1"), 0);
	assert_int_equal(seen_by_others("s-2"), 0);
	assert_int_equal(revision, 3);
}

/* As SQLite itself does when a disk fails in the middle. */
static void changes_made_together_are_lost_together_and_that_is_said(void **state)
{
	struct sp_publication wanted = {.endpoint = "unix:/m"};
	enum sp_publish_effect effect;
	int64_t revision = 0;

	(void)state;
	sp_registry_gather(writer);
	assert_int_equal(publish("s-1", 7, &revision), SP_PUBLISH_REPLACED);
	assert_int_equal(sp_sqlite_run((struct sp_sqlite *)writer, SP_SQL_ROLLBACK, NULL), 0);
	(void)snprintf(wanted.identity.sandbox, sizeof(wanted.identity.sandbox), "s-2");
	assert_int_equal(
	    sp_registry_publish(writer, &wanted, &effect, &revision, NULL), SP_E_UNAVAILABLE);
	assert_int_equal(sp_registry_settle(writer, NULL), SP_E_UNAVAILABLE);
	assert_int_equal(seen_by_others("s-1"), SP_E_ABSENT);
	assert_int_equal(publish("s-3", 7, &revision), SP_PUBLISH_REPLACED);
	assert_int_equal(sp_registry_settle(writer, NULL), 0);
	assert_int_equal(seen_by_others("s-3"), 0);
}

static void a_file_that_went_is_unavailable_and_another_one_makes_nothing_certain(void **state)
{
	char aside[PATH_MAX + 40];

	(void)state;
	(void)snprintf(aside, sizeof(aside), "%s.aside", path);
	assert_int_equal(grant_with("uid:1", "*", "ping", NULL, SP_GRANT_PUTS), 0);
	assert_int_equal(poll_once(), 0);
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(sp_registry_poll(reader, &REVOKED, NULL), SP_E_UNAVAILABLE);
	assert_false(lookup_as("uid:1", NULL, "s").available);
	assert_int_equal(rename(aside, path), 0);
	assert_int_equal(sp_registry_poll(reader, &REVOKED, NULL), 0);
	assert_true(told.all);
	assert_true(lookup_as("uid:1", NULL, "s").available);
}

static void what_is_no_registry_is_refused(void **state)
{
	struct sp_registry *other = NULL;
	FILE *file;

	(void)state;
	assert_int_equal(sp_registry_open("sqlite:relative", &MAKE, &other, NULL), SP_E_CONFIG);
	assert_int_equal(sp_registry_open("redis:/x", &MAKE, &other, NULL), SP_E_CONFIG);
	assert_int_equal(sp_registry_open("nonsense", &MAKE, &other, NULL), SP_E_CONFIG);
	assert_int_equal(sp_registry_open(url, &LOOK, &other, NULL), SP_E_ABSENT);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sp_registry_open(url, &MAKE, &other, NULL), SP_E_CONFIG);
	assert_int_equal(unlink(path), 0);
	file = fopen(path, "w");
	for (int i = 0; i < 4096; i++)
		(void)fputs("no database", file);
	(void)fclose(file);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(sp_registry_open(url, &MAKE, &other, NULL), SP_E_UNAVAILABLE);
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(sp_registry_open(url, &MAKE, &other, NULL), SP_E_CONFIG);
	assert_null(other);
}

static void an_url_of_etcd_is_read_strictly(void **state)
{
	static const char *const rows[] = {"etcd:", "etcd:/x", "etcd:http://", "etcd:http://host",
	    "etcd:http://host:0", "etcd:http://host:65536", "etcd:http://user:word@host:2379",
	    "etcd:http://host:2379,", "etcd:http://a:1,https://b:2", "etcd:ftp://host:21",
	    "etcd:http://host:2379/a b", "etcd:http://host:2379/a//", "etcd:http://[::1]",
	    "etcd:http://host:2379?x"};
	struct sp_registry *other = NULL;
	struct sp_err err;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		if (sp_registry_open(rows[i], &LOOK, &other, NULL) != SP_E_CONFIG)
			fail_msg("%s", rows[i]);
	/* The others are tried before it is given up. */
	assert_int_equal(sp_registry_open("etcd:http://127.0.0.1:1,http://127.0.0.1:2,[::1]:3/x/y",
			     &LOOK, &other, &err),
	    SP_E_UNAVAILABLE);
	assert_string_equal(
	    err.message, "registry etcd:http://[::1]:3: Couldn't connect to server");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define SHARED                                                                                     \
	TEST(a_revision_only_rises_and_a_tombstone_keeps_its_execution),                           \
	    TEST(a_caller_has_the_rights_of_his_own_and_of_his_globs),                             \
	    TEST(a_token_counts_with_its_secret_only),                                             \
	    TEST(what_is_taken_away_is_told_once_and_what_is_added_is_not),                        \
	    TEST(each_change_of_a_route_is_told_with_what_it_became),                              \
	    TEST(a_poll_resumes_from_a_revision_or_says_that_it_cannot),                           \
	    TEST(revisions_rise_above_what_is_imported), TEST(a_list_is_one_instant_however_long), \
	    TEST(many_grants_of_one_principal_go_together)

static void etcd_is_there(void **state)
{
	(void)state;
	if (!etcd_is_installed()) {
		(void)fputs("etcd is missing\n", stderr);
		skip();
	}
}

static int run_etcd(void)
{
	static const struct CMUnitTest missing[] = {cmocka_unit_test(etcd_is_there)};
	const struct CMUnitTest tests[] = {
	    SHARED, cmocka_unit_test(an_url_of_etcd_is_read_strictly)};
	char data[PATH_MAX + 32];
	int failed;

	if (!etcd_is_installed())
		return cmocka_run_group_tests_name("registry in etcd", missing, NULL, NULL);
	(void)snprintf(data, sizeof(data), "%s/etcd", scratch);
	if (etcd_begin(data) < 0) {
		(void)fputs("etcd does not start\n", stderr);
		return 1;
	}
	on_etcd = true;
	failed = cmocka_run_group_tests_name("registry in etcd", tests, NULL, NULL);
	etcd_end();
	return failed;
}

static int run_sqlite(void)
{
	const struct CMUnitTest tests[] = {
	    SHARED,
	    cmocka_unit_test(a_bearer_token_has_one_form),
	    TEST(more_revocations_than_are_kept_concern_everything),
	    TEST(more_changes_than_are_kept_are_said_to_be_lost),
	    TEST(a_mapped_file_shows_what_others_write_while_it_grows),
	    TEST(a_mapped_file_that_is_cut_short_is_unavailable_until_it_is_whole),
	    TEST(changes_made_together_hold_together),
	    TEST(changes_made_together_are_lost_together_and_that_is_said),
	    TEST(a_file_that_went_is_unavailable_and_another_one_makes_nothing_certain),
	    cmocka_unit_test_teardown(what_is_no_registry_is_refused, end),
	};

	(void)snprintf(path, sizeof(path), "%s/registry.db", scratch);
	(void)snprintf(url, sizeof(url), "sqlite:%s", path);
	return cmocka_run_group_tests_name("registry in SQLite", tests, NULL, NULL);
}

int main(void)
{
	int failed;

	(void)alarm(120);
	if (sodium_init() < 0 || scratch_make(NULL) < 0)
		return 1;
	failed = run_sqlite() + run_etcd();
	(void)scratch_remove(NULL);
	return failed;
}
