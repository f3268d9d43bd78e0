/* spacerouted: the table of its verbs. */
#include "cli/route_flags.h"
#include "client/setup.h"
#include "spacerouted/verbs.h"

#define END                                                                                        \
	{                                                                                          \
		0                                                                                  \
	}
#define REGISTRY                                                                                   \
	{                                                                                          \
		"registry", 0, SP_OPTION_TEXT, "URL",                                              \
		    "sqlite:/path or etcd:https://host:port,... (default: [registry] url)", NULL,  \
		    false                                                                          \
	}
#define CACHE                                                                                      \
	{                                                                                          \
		"cache", 0, SP_OPTION_FILE, "SOCKET",                                              \
		    "where the route cache listens (default: [cache] socket)", NULL, false         \
	}
#define SANDBOX                                                                                    \
	{                                                                                          \
		"sandbox", 's', SP_OPTION_SANDBOX, "ID", "the sandbox", NULL, true                 \
	}
#define CALLER                                                                                     \
	{                                                                                          \
		"caller", 0, SP_OPTION_TEXT, "WHO", "the caller: uid:N or token:NAME", NULL, true  \
	}
#define TOKEN                                                                                      \
	{                                                                                          \
		"token-file", 0, SP_OPTION_FILE, "FILE", "the caller's bearer token, 0600", NULL,  \
		    false                                                                          \
	}
#define PEER                                                                                       \
	{                                                                                          \
		"peer", 0, SP_OPTION_FLAG, NULL,                                                   \
		    "the caller is the peer of standard input, a Unix socket", NULL, false         \
	}
#define WINDOW                                                                                     \
	{                                                                                          \
		"window", 'w', SP_OPTION_NUMBER, "N", "records in flight (default: 1)", NULL,      \
		    false                                                                          \
	}

static const struct sp_option PUBLISH[] = {REGISTRY, SP_TRAIL_FLAG,
    {"sandbox", 's', SP_OPTION_SANDBOX, "ID", "one route from flags: its sandbox", NULL, false},
    SP_ROUTE_FLAGS,
    {"endpoint", 0, SP_OPTION_TEXT, "unix:PATH", "... where its worker's manager listens", NULL,
	false},
    {"if-rev", 0, SP_OPTION_NUMBER, "N",
	"only if the sandbox's revision is N (0: nothing published yet)", NULL, false},
    END};
static const struct sp_option RETIRE[] = {REGISTRY, SP_TRAIL_FLAG, SANDBOX,
    {"execution", 0, SP_OPTION_NUMBER, "N", "only if this is the current one", NULL, true}, END};
static const struct sp_option READ[] = {REGISTRY, END};
static const struct sp_option IMPORT[] = {REGISTRY, SP_TRAIL_FLAG, END};
static const struct sp_option WATCH[] = {REGISTRY,
    {"from", 0, SP_OPTION_NUMBER, "N", "what has changed since this revision too", NULL, false},
    END};
static const struct sp_option GRANT[] = {REGISTRY, SP_TRAIL_FLAG,
    {"principal", 'p', SP_OPTION_TEXT, "WHO", "uid:N, user:NAME or token:NAME", NULL, true},
    {"sandbox", 's', SP_OPTION_SANDBOX, "PATTERN", "a sandbox, or a pattern with * and ?", NULL,
	true},
    {"ops", 0, SP_OPTION_TEXT, "OP,OP", "operations (file.read) and families (file.*)", NULL,
	false},
    {"ports", 0, SP_OPTION_TEXT, "PORT/PROTOCOL,...",
	"what port.connect may reach: 8080/http, 8000-8099/tcp", NULL, false},
    {"until", 0, SP_OPTION_TIME, "TIME", "the grant ends then (default: never)", NULL, false},
    {"token-file", 0, SP_OPTION_FILE, "FILE",
	"token:NAME: its bearer token; made, 0600, where there is no such file", NULL, false},
    {"rotate", 0, SP_OPTION_FLAG, NULL, "let this token take the place of the one before", NULL,
	false},
    END};
static const struct sp_option REVOKE[] = {REGISTRY, SP_TRAIL_FLAG,
    {"principal", 'p', SP_OPTION_TEXT, "WHO", "whose grants, as they were granted", NULL, true},
    {"sandbox", 's', SP_OPTION_SANDBOX, "PATTERN",
	"only the grant of exactly this sandbox or pattern (default: all)", NULL, false},
    END};
static const struct sp_option GRANTS[] = {REGISTRY,
    {"principal", 'p', SP_OPTION_TEXT, "WHO", "only this principal's", NULL, false},
    {"sandbox", 's', SP_OPTION_SANDBOX, "ID", "only those that cover this sandbox", NULL, false},
    END};
static const struct sp_option SERVE[] = {
    {"listen", 'l', SP_OPTION_FILE, "SOCKET", "where it listens (default: [cache] socket)", NULL,
	false},
    REGISTRY,
    {"audit", 0, SP_OPTION_FILE, "FILE", "audit lines go there (default: [audit] file)", NULL,
	false},
    {"warm", 0, SP_OPTION_FLAG, NULL, "begin with what everybody who has grants would ask for",
	NULL, false},
    {"no-watch", 0, SP_OPTION_FLAG, NULL,
	"do not follow the registry's routes: an old one stays until it is rejected", NULL, false},
    END};
static const struct sp_option CACHE_GET[] = {CACHE, CALLER, SANDBOX,
    {"op", 0, SP_OPTION_TEXT, "OP", "the operation that is to be done", NULL, false},
    {"port", 0, SP_OPTION_NUMBER, "N", "port.connect: its port", NULL, false},
    {"protocol", 0, SP_OPTION_CHOICE, "NAME", "port.connect: its protocol",
	"tcp|http|websocket|tls", false},
    TOKEN, END};
static const struct sp_option CACHE_REJECT[] = {CACHE, CALLER, SANDBOX, SP_ROUTE_FLAGS, END};
static const struct sp_option CACHE_RENEW[] = {CACHE, CALLER, SANDBOX, TOKEN, END};
static const struct sp_option CACHE_DROP[] = {CACHE,
    {"caller", 0, SP_OPTION_TEXT, "WHO", "entries of this caller", NULL, false},
    {"sandbox", 's', SP_OPTION_SANDBOX, "PATTERN", "entries of this sandbox or pattern", NULL,
	false},
    {"all", 0, SP_OPTION_FLAG, NULL, "every entry", NULL, false}, END};
static const struct sp_option CACHE_ANY[] = {CACHE, END};
static const struct sp_option CACHE_STATS[] = {CACHE,
    {"prometheus", 0, SP_OPTION_FLAG, NULL, "in Prometheus's text format", NULL, false}, END};
static const struct sp_option ROUTE[] = {CACHE, PEER, TOKEN, WINDOW, SP_CLI_JOBS, END};
static const struct sp_option REPAIR[] = {CACHE, WINDOW, END};
static const struct sp_option CALL[] = {PEER, SP_CLIENT_FLAGS, WINDOW, END};

static const struct sp_verb VERBS[] = {
    {"publish", NULL, 0, 0,
	"publish routes: {sandbox, route, endpoint} lines in; or one from flags", PUBLISH,
	"spacerouted publish --sandbox s-42 --execution 7 --worker worker-a --substrate host "
	"--activation act-19 --attempt 1 --endpoint unix:/run/space/manager.sock\n"
	"jq -c '{sandbox,route,endpoint}' routes.jsonl | spacerouted publish\n",
	spacerouted_publish},
    {"retire", NULL, 0, 0, "take a sandbox's current route away, by its execution", RETIRE,
	"spacerouted retire --sandbox s-42 --execution 7\n"
	"spacerouted retire -s s-42 --execution 7 --audit /var/log/space/audit.jsonl\n",
	spacerouted_retire},
    {"resolve", "SANDBOX", 1, 1, "print a sandbox's current route and endpoint", READ,
	"spacerouted resolve s-42\n"
	"spacerouted resolve s-42 -o json | jq .route.execution\n",
	spacerouted_resolve},
    {"list", NULL, 0, 0, "list all routes, retired ones too", READ,
	"spacerouted list\nspacerouted list -o json | jq -r 'select(.state==\"active\").sandbox'\n",
	spacerouted_list},
    {"watch", NULL, 0, 0, "print each change of a route when it happens", WATCH,
	"spacerouted watch\nspacerouted watch --from 4711\n", spacerouted_watch},
    {"export", NULL, 0, 0, "print the whole registry as lines for import", READ,
	"spacerouted export >registry.jsonl\n"
	"spacerouted export --registry sqlite:/var/lib/space/registry.db | gzip "
	">registry.jsonl.gz\n",
	spacerouted_export},
    {"import", NULL, 0, 0, "take up what export printed of another registry", IMPORT,
	"spacerouted export --registry sqlite:/var/lib/space/registry.db | spacerouted import "
	"--registry etcd:https://etcd-1:2379,etcd-2:2379,etcd-3:2379\n"
	"spacerouted import <registry.jsonl\n",
	spacerouted_import},
    {"grant", NULL, 0, 0, "let a principal do operations in sandboxes", GRANT,
	"spacerouted grant -p user:alice -s 's-*' --ops 'file.*,exec.run'\n"
	"spacerouted grant -p token:ci -s s-42 --ops ping --ports 8080/http --token-file "
	"ci.token\n",
	spacerouted_grant},
    {"revoke", NULL, 0, 0, "take grants away", REVOKE,
	"spacerouted revoke -p user:alice -s 's-*'\nspacerouted revoke -p token:ci\n",
	spacerouted_revoke},
    {"grants", NULL, 0, 0, "list grants", GRANTS,
	"spacerouted grants\nspacerouted grants -s s-42\n", spacerouted_grants},
    {"serve", NULL, 0, 0, "serve the route cache", SERVE,
	"spacerouted serve --listen /run/space/cache.sock\n"
	"spacerouted serve --warm --audit /var/log/space/cache.jsonl\n",
	spacerouted_serve},
    {"cache get", NULL, 0, 0, "ask the cache for a caller's route", CACHE_GET,
	"spacerouted cache get --caller uid:1000 -s s-42 --op file.read\n"
	"spacerouted cache get --caller token:ci -s s-42 --token-file ci.token\n",
	spacerouted_cache_get},
    {"cache reject", NULL, 0, 0, "tell the cache of a route that was refused", CACHE_REJECT,
	"spacerouted cache reject --caller uid:1000 -s s-42 --execution 7 --worker worker-a "
	"--substrate host --activation act-19 --attempt 1\n"
	"spacerouted cache reject --caller token:ci -s s-42 --execution 7 --worker worker-a "
	"--substrate host --activation act-19 --attempt 2\n",
	spacerouted_cache_reject},
    {"cache renew", NULL, 0, 0, "authorize a caller anew; his entry lasts from now", CACHE_RENEW,
	"spacerouted cache renew --caller uid:1000 -s s-42\n"
	"spacerouted cache renew --caller token:ci -s s-42 --token-file ci.token\n",
	spacerouted_cache_renew},
    {"cache drop", NULL, 0, 0, "forget entries", CACHE_DROP,
	"spacerouted cache drop -s s-42\nspacerouted cache drop --caller uid:1000\n",
	spacerouted_cache_drop},
    {"cache stats", NULL, 0, 0, "print the cache's counters", CACHE_STATS,
	"spacerouted cache stats\nspacerouted cache stats --prometheus\n", spacerouted_cache_stats},
    {"cache dump", NULL, 0, 0, "print the cache's entries", CACHE_ANY,
	"spacerouted cache dump\n"
	"spacerouted cache dump -o json | jq -r .caller | sort | uniq -c\n",
	spacerouted_cache_dump},
    {"route", NULL, 0, 0, "authorize and resolve: asked records in, routed records out", ROUTE,
	"spacerouted route | spacecap mint | spacebridge send\n"
	"spacerouted route --token-file ci.token --window 32 <asked.jsonl\n",
	spacerouted_route},
    {"repair", NULL, 0, 0, "make the one second attempt: done records in, routed ones out", REPAIR,
	"... | spacebridge send --keep-request | spacerouted repair | spacecap mint | spacebridge "
	"send\n"
	"spacerouted repair --window 32 <done.jsonl\n",
	spacerouted_repair},
    {"call", NULL, 0, 0, "the whole path in one process: asked records in, answers out", CALL,
	"spacerouted call <asked.jsonl\n"
	"spacerouted call --token-file ci.token --agent /run/space/signer.sock --window 64 "
	"<asked.jsonl\n",
	spacerouted_call},
    END};

static const struct sp_tool TOOL = {"spacerouted", "registry, cache and repair of routes", VERBS};

int main(int argc, char **argv)
{
	return sp_cli_main(&TOOL, argc, argv);
}
