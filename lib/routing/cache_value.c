/* The values entries share, and their text in answers. */
#include "routing/cache_table.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

/* The worker, then the endpoint as a JSON string; its size, 0: it is no UTF-8. */
#define PLACE_TEXT_MAX (SP_ID_MAX + 2 * SP_ENDPOINT_MAX + 2)
static size_t place_text(const struct sp_placement *placement, char text[PLACE_TEXT_MAX])
{
	struct sp_out out = {.at = text, .room = PLACE_TEXT_MAX};
	size_t endpoint = strlen(placement->endpoint);

	if (!sp_utf8_valid(placement->endpoint, endpoint))
		return 0;
	sp_out_text(&out, placement->route.worker);
	sp_out_string(&out, placement->endpoint, endpoint);
	return out.used <= out.room ? out.used : 0;
}

/* The one there is, or a new one; a reference of the caller's. */
static struct sp_cached_place *place_of(
    struct sp_cache_table *table, const struct sp_placement *placement)
{
	char text[PLACE_TEXT_MAX];
	size_t size = place_text(placement, text), worker = strlen(placement->route.worker);
	struct iovec parts = {text, size};
	struct sp_cached_places *bucket =
	    &table->places[sp_cache_table_digest(table, &parts, 1).word[0] % table->place_buckets];
	struct sp_cached_place *place;

	if (size == 0)
		return NULL;
	for (place = LIST_FIRST(bucket); place; place = LIST_NEXT(place, link))
		if (place->worker_size == worker && place->endpoint_size == size - worker &&
		    memcmp(place->text, text, size) == 0) {
			place->references++;
			return place;
		}
	place = malloc(sizeof(*place) + size);
	if (!place)
		return NULL;
	place->references = 1;
	place->worker_size = (uint16_t)worker;
	place->endpoint_size = (uint16_t)(size - worker);
	memcpy(place->text, text, size);
	LIST_INSERT_HEAD(bucket, place, link);
	return place;
}

static void release_place(struct sp_cached_place *place)
{
	if (--place->references > 0)
		return;
	LIST_REMOVE(place, link);
	free(place);
}

size_t sp_cached_placement_room(const struct sp_placement *placement)
{
	return strlen(placement->route.pod_uid) + strlen(placement->route.activation);
}

bool sp_cached_placement_init(struct sp_cache_table *table, const struct sp_placement *placement,
    char *text, struct sp_cached_placement *ret)
{
	const struct sp_route *route = &placement->route;
	size_t pod_uid = strlen(route->pod_uid), activation = strlen(route->activation);
	struct sp_cached_place *place = place_of(table, placement);

	if (!place)
		return false;
	memcpy(text, route->pod_uid, pod_uid);
	memcpy(text + pod_uid, route->activation, activation);
	*ret = (struct sp_cached_placement){.execution = route->execution,
	    .attempt = route->attempt,
	    .revision = placement->revision,
	    .place = place,
	    .text = text,
	    .substrate = (uint8_t)route->substrate,
	    .pod_uid_size = (uint8_t)pod_uid,
	    .activation_size = (uint8_t)activation};
	return true;
}

void sp_cached_placement_done(struct sp_cached_placement *placement)
{
	release_place(placement->place);
}

static struct sp_route_parts parts_of(const struct sp_cached_placement *placement)
{
	return (struct sp_route_parts){.execution = placement->execution,
	    .attempt = placement->attempt,
	    .substrate = (enum sp_substrate)placement->substrate,
	    .worker = placement->place->text,
	    .worker_size = placement->place->worker_size,
	    .pod_uid = placement->text,
	    .pod_uid_size = placement->pod_uid_size,
	    .activation = placement->text + placement->pod_uid_size,
	    .activation_size = placement->activation_size};
}

size_t sp_cached_placement_text(
    const struct sp_cached_placement *placement, char text[SP_CACHED_TEXT_SIZE])
{
	const struct sp_route_parts parts = parts_of(placement);
	const struct sp_cached_place *place = placement->place;
	struct sp_out out = {.at = text, .room = SP_CACHED_TEXT_SIZE};

	sp_out_text(&out, "\"route\":");
	sp_route_put(&parts, &out);
	sp_out_text(&out, ",\"endpoint\":");
	sp_out_put(&out, place->text + place->worker_size, place->endpoint_size);
	sp_out_text(&out, ",\"revision\":");
	sp_out_integer(&out, placement->revision);
	return out.used;
}

static bool is_text(const char *kept, size_t size, const char *text)
{
	return strlen(text) == size && memcmp(kept, text, size) == 0;
}

bool sp_cached_placement_is(
    const struct sp_cached_placement *placement, const struct sp_route *route)
{
	const struct sp_route_parts parts = parts_of(placement);

	return parts.execution == route->execution && parts.attempt == route->attempt &&
	       parts.substrate == route->substrate &&
	       is_text(parts.worker, parts.worker_size, route->worker) &&
	       is_text(parts.pod_uid, parts.pod_uid_size, route->pod_uid) &&
	       is_text(parts.activation, parts.activation_size, route->activation);
}

static uint64_t ops_of(const struct sp_rights *rights)
{
	uint64_t bits = 0;
	const struct sp_op *op;

	for (unsigned i = 0; (op = sp_op_at(i)); i++)
		bits |= (uint64_t)sp_rights_cover(rights, op) << i;
	return bits;
}

static char *rights_text(const struct sp_rights *rights)
{
	sp_auto_json json_t *both = json_pack(
	    "{soso}", "access", sp_rights_ops_json(rights), "ports", sp_rights_ports_json(rights));

	return both ? sp_json_text(both) : NULL;
}

struct sp_cached_rights *sp_cached_rights_new(const struct sp_rights *rights)
{
	sp_auto_free char *text = rights_text(rights);
	size_t size = text ? strlen(text) - 2 : 0, ports = rights->port_count;
	size_t ports_at = (size + sizeof(*rights->ports)) & ~(sizeof(*rights->ports) - 1);
	struct sp_cached_rights *made =
	    text ? malloc(sizeof(*made) + ports_at + ports * sizeof(*rights->ports)) : NULL;

	if (!made)
		return NULL;
	*made = (struct sp_cached_rights){
	    .references = 1, .ops = ops_of(rights), .port_count = rights->port_count, .size = size};
	memcpy(made->text, text + 1, size); /* without the braces */
	made->text[size] = '\0';
	made->ports = (struct sp_port_range *)(void *)(made->text + ports_at);
	memcpy(made->ports, rights->ports, ports * sizeof(*rights->ports));
	return made;
}

struct sp_cached_rights *sp_cached_rights_hold(struct sp_cached_rights *rights)
{
	rights->references++;
	return rights;
}

void sp_cached_rights_release(struct sp_cached_rights *rights)
{
	if (rights && --rights->references == 0)
		free(rights);
}

bool sp_cached_rights_equal(const struct sp_cached_rights *a, const struct sp_cached_rights *b)
{
	return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

static size_t row_of(const struct sp_op *op)
{
	return (size_t)(op - sp_op_at(0));
}

bool sp_cached_rights_allow(
    const struct sp_cached_rights *rights, const struct sp_op *op, int port, int protocol)
{
	if (!op)
		return true;
	if (!(rights->ops >> row_of(op) & 1))
		return false;
	return op->purpose != SP_PURPOSE_SERVICE_PORT ||
	       sp_ports_cover(rights->ports, rights->port_count, port, protocol);
}
