/* How much each caller has in flight. */
#include <stdlib.h>
#include <string.h>
#include "spacestream/serve.h"

static struct caller *find(struct server *server, const struct sp_who *who)
{
	struct callers *bucket = &server->callers[who->credential[0] % SERVE_BUCKETS];
	struct caller *caller;

	LIST_FOREACH(caller, bucket, link)
	if (memcmp(caller->credential, who->credential, sizeof(caller->credential)) == 0)
		return caller;
	caller = calloc(1, sizeof(*caller));
	if (caller) {
		memcpy(caller->credential, who->credential, sizeof(caller->credential));
		LIST_INSERT_HEAD(bucket, caller, link);
	}
	return caller;
}

bool caller_take(struct server *server, const struct sp_who *who, struct caller **ret)
{
	struct caller *caller = find(server, who);

	if (!caller || caller->flying >= server->inflight)
		return false;
	caller->flying++;
	server->flying++;
	*ret = caller;
	return true;
}

static void let_go(struct caller *caller)
{
	if (caller->flying > 0 || caller->streams > 0)
		return;
	LIST_REMOVE(caller, link);
	free(caller);
}

void caller_leave(struct server *server, struct caller *caller)
{
	server->flying--;
	caller->flying--;
	let_go(caller);
}

bool caller_take_stream(struct server *server, const struct sp_who *who, struct caller **ret)
{
	struct caller *caller = find(server, who);

	if (!caller || caller->streams >= server->open)
		return false;
	caller->streams++;
	server->streams++;
	*ret = caller;
	return true;
}

void caller_leave_stream(struct server *server, struct caller *caller)
{
	server->streams--;
	caller->streams--;
	let_go(caller);
}
