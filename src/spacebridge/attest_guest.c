/*
 * spacebridge attest --enroll, the guest: a fresh id and key, handed over by guest.rekey through
 * the VMM that was just enrolled.
 *
 * The id follows from the activation and the VMM's process, so that a repeated enrollment finds the
 * key that it made before: an answer that was lost leaves no guest behind that nobody can rekey.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include "attest/evidence.h"
#include "base/util.h"
#include "bridge/exchange.h"
#include "record/json.h"
#include "spacebridge/attest.h"

#define ID_BYTES    16
#define CURRENT_MAX (SP_GUEST_TRIED_MAX + 3)

struct enrollment {
	struct attest_target target;
	uint8_t key[SP_GUEST_KEY_SIZE];
	bool made; /* the key's file is of this call */
	/* what the guest's key may be now, in the order in which it is tried */
	uint8_t current[CURRENT_MAX][SP_GUEST_KEY_SIZE];
	unsigned count;
	/* the guest's ids, as the keys' keeper has them */
	char tried[SP_GUEST_TRIED_MAX + 1][SP_ID_MAX + 1];
	unsigned tried_count;
};

static void enrollment_done(struct enrollment *enrollment)
{
	sodium_memzero(enrollment, sizeof(*enrollment));
}

static void close_attestation(struct sp_attestation **attestation)
{
	sp_attest_close(*attestation);
}

static int make_id(
    const json_t *record, const struct sp_route *route, char id[SP_ID_MAX + 1], struct sp_err *err)
{
	json_t *vmm = json_object_get(record, "vmm");
	sp_auto_json json_t *whole = json_pack("{s:o, s:O, s:O*, s:O*, s:O*, s:O*}", "route",
	    sp_route_json(route), "sandbox", json_object_get(record, "sandbox"), "boot_id",
	    json_object_get(vmm, "boot_id"), "pid", json_object_get(vmm, "pid"), "pidfs",
	    json_object_get(vmm, "pidfs"), "start_time", json_object_get(vmm, "start_time"));
	sp_auto_free char *text = whole ? sp_json_text(whole) : NULL;
	uint8_t hash[ID_BYTES];

	if (!text)
		return sp_fail(err, -ENOMEM, "out of memory");
	(void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)text, strlen(text), NULL, 0);
	(void)sodium_bin2hex(id, SP_ID_MAX + 1, hash, sizeof(hash));
	return 0;
}

static int take_name(const json_t *record, struct sp_guest_name *ret, struct sp_err *err)
{
	const char *sandbox = json_string_value(json_object_get(record, "sandbox"));
	struct sp_guest_name name;
	struct sp_route route;
	int bad;

	if (!sandbox)
		return sp_fail(err, SP_E_BAD_RECORD, "record: `sandbox` is missing");
	bad = sp_id_copy(sandbox, "sandbox", name.sandbox, err);
	if (!bad)
		bad = sp_route_parse(json_object_get(record, "route"), &route, err);
	if (!bad)
		bad = make_id(record, &route, name.id, err);
	if (bad)
		return bad;
	name.execution = route.execution;
	*ret = name;
	return 0;
}

static uint8_t *next_current(struct enrollment *enrollment)
{
	return enrollment->current[enrollment->count];
}

/* The key of another id, if it is here. */
static void add_key_of(struct enrollment *enrollment, const char *id)
{
	const struct attest_target *target = &enrollment->target;

	if (id[0] && strcmp(id, target->guest.id) != 0 && enrollment->count < CURRENT_MAX &&
	    sp_guest_key_read(target->records, id, next_current(enrollment), NULL) == 0)
		enrollment->count++;
}

/* The key of an earlier try, else a new one, in a file that the bridge's uid may read. */
static int take_key(struct enrollment *enrollment, const json_t *record, struct sp_err *err)
{
	const char *records = enrollment->target.records, *id = enrollment->target.guest.id;
	const json_t *uid = json_object_get(json_object_get(record, "bridge"), "uid");
	uid_t reader = uid ? (uid_t)json_integer_value(uid) : (uid_t)-1;
	struct sp_store *store;
	int bad = sp_store_open(records, SP_STORE_CREATE, &store, err);

	if (bad)
		return bad;
	sp_store_close(store);
	bad = sp_guest_key_read(records, id, enrollment->key, err);

	if (!bad) {
		memcpy(next_current(enrollment), enrollment->key, SP_GUEST_KEY_SIZE);
		enrollment->count++;
		return 0;
	}
	if (bad != SP_E_ABSENT)
		return bad;
	randombytes_buf(enrollment->key, sizeof(enrollment->key));
	bad = sp_guest_key_create(records, id, reader, enrollment->key, err);
	enrollment->made = !bad;
	return bad;
}

/* Keys that the guest may have from before: of the snapshot, of the record in force here, of
 * enrollments that led to no record. */
static int take_current(struct enrollment *enrollment, struct sp_cli *cli, struct sp_err *err)
{
	const char *file = sp_cli_text(cli, "guest-key");
	const struct attest_target *target = &enrollment->target;
	struct sp_record installed = {0};
	struct sp_guest_name name;
	int bad = file ? sp_guest_key_load(file, next_current(enrollment), err) : 0;

	if (!bad)
		bad = sp_guest_tried_read(target->records, target->guest.sandbox, enrollment->tried,
		    &enrollment->tried_count, err);
	if (bad)
		return bad;
	enrollment->count += file != NULL;
	for (unsigned i = 0; i < enrollment->tried_count; i++)
		add_key_of(enrollment, enrollment->tried[i]);
	if (attest_read_record(target->records, target->guest.sandbox, &installed, NULL))
		return 0;
	sp_guest_name_of(&installed, &name);
	add_key_of(enrollment, name.id);
	sp_record_done(&installed);
	return 0;
}

/* Said before the guest may have the key: the new id, in front of those before it. */
static int note_tried(struct enrollment *enrollment, struct sp_err *err)
{
	const struct attest_target *target = &enrollment->target;
	unsigned kept = 0;

	for (unsigned i = 0; i < enrollment->tried_count; i++)
		if (strcmp(enrollment->tried[i], target->guest.id) != 0)
			memmove(enrollment->tried[kept++], enrollment->tried[i], SP_ID_MAX + 1);
	memmove(enrollment->tried[1], enrollment->tried[0], kept * sizeof(enrollment->tried[0]));
	memcpy(enrollment->tried[0], target->guest.id, SP_ID_MAX + 1);
	return sp_guest_tried_write(
	    target->records, target->guest.sandbox, enrollment->tried, kept + 1, err);
}

static int reach(const struct attest_target *target, struct sp_attestation **ret,
    uint32_t *ret_port, struct sp_err *err)
{
	struct sp_report report = {0};
	enum sp_reason reason = attest_reach_guest(target, &report, ret, ret_port);
	char words[SP_ERR_MAX];

	sp_report_words(&report, words, sizeof(words));
	sp_report_done(&report);
	return reason ? sp_fail(err, SP_E_UNAVAILABLE, "%s", words) : 0;
}

/* One connection, one try. */
static int rekey(const struct enrollment *enrollment, const uint8_t *current, struct sp_err *err)
{
	sp_cleanup(close_attestation) struct sp_attestation *vmm = NULL;
	const struct attest_target *target = &enrollment->target;
	struct sp_guest_link link;
	int bad = reach(target, &vmm, &link.port, err);

	if (bad)
		return bad;
	link.cid = sp_attest_cid(vmm);
	if (sp_attest_alive(vmm, NULL) != SP_REASON_NONE)
		return sp_fail(err, SP_E_DENIED, "the VMM changed while it was enrolled");
	return sp_rekey_exchange(sp_attest_fd(vmm), current, enrollment->key, &target->guest, &link,
	    target->timeout_ms, err);
}

static int hand_over(struct enrollment *enrollment, struct sp_err *err)
{
	const struct attest_target *target = &enrollment->target;
	int bad = note_tried(enrollment, err);

	if (bad)
		return bad;
	bad = SP_E_DENIED;
	for (unsigned i = 0; i < enrollment->count && bad == SP_E_DENIED; i++)
		bad = rekey(enrollment, enrollment->current[i], err);
	if (bad == SP_E_DENIED)
		bad = rekey(enrollment, NULL, err);
	if (bad == SP_E_DENIED)
		return sp_err_prefix(
		    err, bad, "the guest takes no key from us (--guest-key names the one it has)");
	/* It has proved that it has this one: whatever was tried before is past. */
	return bad ? bad
		   : sp_guest_tried_write(
			 target->records, target->guest.sandbox, enrollment->tried, 1, err);
}

int attest_enroll_guest(struct sp_cli *cli, json_t *record, struct sp_err *err)
{
	const struct sp_config *config = sp_cli_config(cli);
	sp_cleanup(enrollment_done) struct enrollment enrollment = {.count = 0};
	struct attest_target *target = &enrollment.target;
	char records[PATH_MAX];
	int bad;

	if (!config || attest_min_level(cli, &target->min_level))
		return sp_fail(err, SP_E_CONFIG, "no configuration");
	if (sodium_init() < 0)
		return sp_fail(err, SP_E_UNAVAILABLE, "no random numbers");
	target->vmm = json_object_get(record, "vmm");
	target->port = (uint32_t)config->guest_port;
	target->timeout_ms = (int)config->connect_timeout_ms;
	target->records = records;
	bad = attest_records(cli, records, err);
	if (!bad)
		bad = take_name(record, &target->guest, err);
	if (!bad)
		bad = take_key(&enrollment, record, err);
	if (!bad)
		bad = take_current(&enrollment, cli, err);
	if (!bad)
		bad = hand_over(&enrollment, err);
	if (bad == SP_E_DENIED && enrollment.made)
		(void)sp_guest_key_remove(records, target->guest.id, NULL);
	if (!bad &&
	    json_object_set_new(record, "guest", json_pack("{s:s}", "id", target->guest.id)) < 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	return bad ? sp_err_prefix(err, bad, "guest") : 0;
}
