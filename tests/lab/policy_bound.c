/* The rule of this toolkit, by its own functions: the cache's, the admission's, the lease's and the
 * clock's. */
#include "lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "admit/admit.h"
#include "lease/rules.h"
#include "routing/cache.h"
#include "store/record.h"

#define CALLER      "uid:1000"
#define SESSION_TTL 900
#define LIFE        120
#define SKEW        15
#define ORIGIN      1000000 /* of the wall clock, in seconds */

struct bound {
	struct sp_cache *caches[ENTRIES];
	struct sp_record records[WORKERS][SANDBOXES];
	struct sp_claims *minted;     /* by request */
	struct sp_lease_terms *terms; /* by stream */
	int64_t revisions[SANDBOXES];
};

static int64_t seconds(int64_t at)
{
	return ORIGIN + at / 1000;
}

static struct sp_identity identity_of(const struct world *world, int sandbox, int execution)
{
	struct sp_identity identity = {
	    .route = {.execution = execution, .attempt = 1, .substrate = SP_SUBSTRATE_HOST}};
	int worker = world->sandboxes[sandbox].executions[execution].worker;

	(void)snprintf(identity.sandbox, sizeof(identity.sandbox), "s-%d", sandbox);
	(void)snprintf(identity.route.worker, sizeof(identity.route.worker), "w-%d", worker);
	(void)snprintf(
	    identity.route.activation, sizeof(identity.route.activation), "a-%d", execution);
	return identity;
}

static struct sp_placement placement_of(
    const struct bound *bound, const struct world *world, int sandbox)
{
	int published = world->sandboxes[sandbox].published;
	struct sp_placement placement = {.route = identity_of(world, sandbox, published).route,
	    .revision = bound->revisions[sandbox]};

	(void)snprintf(
	    placement.endpoint, sizeof(placement.endpoint), "unix:/run/%s", placement.route.worker);
	return placement;
}

static void end(void *state)
{
	struct bound *bound = state;

	for (int i = 0; i < ENTRIES; i++)
		sp_cache_free(bound->caches[i]);
	free(bound->minted);
	free(bound->terms);
	free(bound);
}

static void *begin(void)
{
	static const unsigned char key[SP_CACHE_KEY_SIZE] = "the lab's cache";
	struct bound *bound = calloc(1, sizeof(*bound));

	if (!bound)
		return NULL;
	bound->minted = calloc(PENDING, sizeof(*bound->minted));
	bound->terms = calloc(PENDING, sizeof(*bound->terms));
	for (int i = 0; i < ENTRIES; i++)
		if (!bound->minted || !bound->terms ||
		    sp_cache_new(SANDBOXES, SESSION_TTL, key, &bound->caches[i]))
			abort();
	return bound;
}

/* --- what the worker and the entries come to know --- */

static void install(struct bound *bound, const struct world *world, const struct event *event)
{
	struct sp_record *record = &bound->records[event->worker][event->sandbox];

	*record =
	    (struct sp_record){.identity = identity_of(world, event->sandbox, event->execution),
		.epoch = record->epoch + 1,
		.version = record->version + 1};
}

static void fence(struct bound *bound, const struct world *world, const struct event *event)
{
	const struct execution *execution =
	    &world->sandboxes[event->sandbox].executions[event->execution];
	struct sp_record *record = &bound->records[execution->worker][event->sandbox];

	record->version++;
	record->fenced_at = seconds(event->at);
	record->cut_version = record->version;
}

static void retire(struct bound *bound, const struct world *world, const struct event *event)
{
	const struct execution *execution =
	    &world->sandboxes[event->sandbox].executions[event->execution];
	struct sp_record *record = &bound->records[execution->worker][event->sandbox];

	if (record->identity.route.execution != event->execution)
		return;
	record->retired = true;
	record->epoch++;
	record->version++;
}

static void tell(struct bound *bound, const struct world *world, int entry, int sandbox)
{
	struct sp_placement placement = placement_of(bound, world, sandbox);

	(void)sp_cache_offer(bound->caches[entry],
	    identity_of(world, sandbox, world->sandboxes[sandbox].published).sandbox, &placement);
}

static void publish(struct bound *bound, const struct world *world, const struct event *event)
{
	bound->revisions[event->sandbox]++;
	for (int i = 0; i < ENTRIES; i++)
		if (world->watches[i])
			tell(bound, world, i, event->sandbox);
}

/* A watch that is back goes on where it stopped. */
static void catch_up(struct bound *bound, const struct world *world, const struct event *event)
{
	for (int sandbox = 0; sandbox < SANDBOXES && event->watch; sandbox++)
		if (world->sandboxes[sandbox].published)
			tell(bound, world, event->entry, sandbox);
}

static void learn(void *state, const struct world *world, const struct event *event)
{
	if (event->kind == EVENT_INSTALL)
		install(state, world, event);
	else if (event->kind == EVENT_FENCE)
		fence(state, world, event);
	else if (event->kind == EVENT_RETIRE)
		retire(state, world, event);
	else if (event->kind == EVENT_PUBLISH)
		publish(state, world, event);
	else if (event->kind == EVENT_ENTRY)
		catch_up(state, world, event);
}

/* --- resolving and minting --- */

struct asked {
	struct sp_cache_ask ask;
	int execution; /* of the answer; 0: none */
};

static void note(struct asked *asked, const struct sp_cache_answer *answer)
{
	if (!answer->placement ||
	    sscanf(answer->placement, "\"route\":{\"execution\":%d", &asked->execution) != 1)
		asked->execution = 0;
}

static void on_answer(void *context, struct sp_cache_ask *ask, const struct sp_cache_answer *answer)
{
	(void)context;
	note((struct asked *)(void *)((char *)ask - offsetof(struct asked, ask)), answer);
}

/* The registry answers at once. */
static int ask(struct bound *bound, const struct world *world, const struct event *event,
    const struct sp_route *rejected)
{
	struct sp_cache *cache = bound->caches[event->entry];
	struct sp_cache_time now = {.wall = seconds(event->at), .monotonic = event->at + 1};
	struct sp_identity identity =
	    identity_of(world, event->sandbox, world->sandboxes[event->sandbox].published);
	struct asked asked = {.ask = {.kind = rejected ? SP_CACHE_REJECT : SP_CACHE_GET,
				  .caller = CALLER,
				  .sandbox = identity.sandbox,
				  .rejected = rejected}};
	struct sp_lookup lookup = {.available = true,
	    .routed = world->sandboxes[event->sandbox].published > 0,
	    .placement = placement_of(bound, world, event->sandbox)};
	struct sp_flight *flight = NULL;
	struct sp_cache_answer answer;
	enum sp_cache_step step = sp_cache_take(cache, &asked.ask, now, &answer, &flight);

	if (sp_rights_add_op(&lookup.authorization.rights, "file.read", NULL))
		abort();
	if (step == SP_CACHE_ANSWERED)
		note(&asked, &answer);
	while (step == SP_CACHE_LOOK)
		step = sp_cache_looked(cache, flight, &lookup, now, on_answer, NULL);
	return asked.execution;
}

static void mint(
    struct sp_claims *claims, const struct world *world, const struct event *event, int execution)
{
	*claims = (struct sp_claims){.identity = identity_of(world, event->sandbox, execution),
	    .issued_at = seconds(event->at),
	    .not_before = seconds(event->at),
	    .expires_at = seconds(event->at) + LIFE};
}

static int send(void *state, const struct world *world, const struct event *event)
{
	struct bound *bound = state;
	int execution = ask(bound, world, event, NULL);

	if (execution)
		mint(&bound->minted[event->id], world, event, execution);
	return execution;
}

/* --- admission --- */

/* What the worker that the capability was sent to says, by the operation's clock. */
static enum sp_reason admitted(const struct bound *bound, const struct world *world,
    const struct event *event, const struct sp_claims *claims)
{
	int execution = (int)claims->identity.route.execution;
	int worker = world->sandboxes[event->sandbox].executions[execution].worker;
	const struct sp_record *record = &bound->records[worker][event->sandbox];
	struct sp_admit_question question = {.claims = claims,
	    .sandbox = claims->identity.sandbox,
	    .record = record->epoch ? record : NULL,
	    .use = SP_USE_OPEN};
	enum sp_reason reason = sp_claims_clock(claims, seconds(event->at), SKEW);

	return reason ? reason : sp_admit(&question).reason;
}

static struct delivery reach(const struct world *world, const struct event *event, int execution)
{
	bool runs = world->sandboxes[event->sandbox].executions[execution].runs;

	return (struct delivery){execution, runs ? execution : 0};
}

static void open_stream(
    struct bound *bound, const struct world *world, const struct event *event, int execution)
{
	int worker = world->sandboxes[event->sandbox].executions[execution].worker;
	const struct sp_record *record = &bound->records[worker][event->sandbox];

	bound->terms[event->id] = (struct sp_lease_terms){SP_LEASE_CONTROL,
	    identity_of(world, event->sandbox, execution), record->epoch, record->version};
}

static struct delivery arrive(
    void *state, const struct world *world, const struct event *event, int resolved)
{
	struct bound *bound = state;
	struct sp_claims *claims = &bound->minted[event->id];
	enum sp_reason reason = resolved ? admitted(bound, world, event, claims) : SP_REASON_ABSENT;
	struct sp_route rejected = claims->identity.route;

	if (resolved && sp_reason_decision(reason) == SP_REFRESH_ROUTE) {
		resolved = ask(bound, world, event, &rejected);
		if (resolved && resolved != rejected.execution) {
			mint(claims, world, event, resolved);
			reason = admitted(bound, world, event, claims);
		}
	}
	if (reason || !resolved)
		return (struct delivery){resolved, 0};
	if (event->kind == EVENT_OPEN)
		open_stream(bound, world, event, resolved);
	return reach(world, event, resolved);
}

static bool move(void *state, const struct world *world, const struct event *event, int execution)
{
	struct bound *bound = state;
	const struct execution *there = &world->sandboxes[event->sandbox].executions[execution];
	const struct sp_record *record = &bound->records[there->worker][event->sandbox];
	enum sp_reason reason;

	return there->runs && sp_lease_judge(&bound->terms[event->id], record, SP_BETWEEN_NOTHING,
				  &reason) != SP_LEASE_CUT;
}

const struct policy POLICY_EXECUTION_BOUND = {
    "execution-bound", begin, end, learn, send, arrive, move};
