/* Route/execution identity: the values that select one execution, and their JSON (01-records,
 * Identity). Pure. */
#ifndef SP_RECORD_ROUTE_H
#define SP_RECORD_ROUTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "record/out.h"

enum sp_substrate { SP_SUBSTRATE_KUBERNETES, SP_SUBSTRATE_HOST };

struct sp_route {
	int64_t execution; /* >= 1 */
	int64_t attempt;   /* >= 1 */
	enum sp_substrate substrate;
	char worker[SP_ID_MAX + 1];
	char pod_uid[37]; /* empty on `host` */
	char activation[SP_ID_MAX + 1];
};

struct sp_identity {
	char sandbox[SP_ID_MAX + 1];
	struct sp_route route;
};

/* Closed: an unknown or missing field, or a value out of its form, is SP_E_BAD_RECORD. */
int sp_route_parse(const json_t *object, struct sp_route *ret, struct sp_err *err);

/* `{sandbox, route}` exactly. */
int sp_identity_parse(const json_t *object, struct sp_identity *ret, struct sp_err *err);

/* Copies a valid id (base/text.h) into a field of SP_ID_MAX + 1 bytes; SP_E_BAD_RECORD names
 * `what`. */
int sp_id_copy(const char *text, const char *what, char ret[SP_ID_MAX + 1], struct sp_err *err);

/* A new reference; NULL when out of memory. Fields in the order of 01-records. */
json_t *sp_route_json(const struct sp_route *route);

/* The route's JSON as sp_route_json and sp_json_text give it, without the allocations. Its length.
 */
#define SP_ROUTE_TEXT_SIZE 512
size_t sp_route_text(const struct sp_route *route, char text[SP_ROUTE_TEXT_SIZE]);

/* The same of a route that is kept in another form: its parts, without NUL. */
struct sp_route_parts {
	int64_t execution, attempt;
	enum sp_substrate substrate;
	const char *worker, *pod_uid, *activation;
	size_t worker_size, pod_uid_size, activation_size;
};
void sp_route_put(const struct sp_route_parts *parts, struct sp_out *out);

/* "kubernetes" or "host". */
const char *sp_substrate_name(enum sp_substrate substrate);

/* Equality in every field. */
bool sp_route_equal(const struct sp_route *a, const struct sp_route *b);

#endif
