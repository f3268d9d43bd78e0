/* What the agent's files share: the agent, its connections, and requests that take their time. */
#ifndef SP_GUEST_CLIENT_H
#define SP_GUEST_CLIENT_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/resource.h>
#include "base/limits.h"
#include "guest/exec.h"
#include "guest/file.h"
#include "guest/listen.h"
#include "guest/self.h"
#include "guest/session.h"
#include "guest/stream.h"
#include "guest/tree.h"
#include "net/audit.h"
#include "net/conn.h"
#include "net/service.h"

#define SP_AGENT_CONNECTIONS (SP_VMM_CONNECTIONS + 1)

struct sp_client;

struct sp_agent {
	struct sp_service *service;
	struct ev_loop *loop;
	int root;
	struct sp_guest_self *self;
	struct sp_audit *audit;
	uint32_t cid;        /* ours, as configured; 0: each connection's own */
	struct rlimit files; /* what commands get: ours before it was raised */
	unsigned tasks, tasks_max;
	double half_close; /* seconds */
	uint16_t own_port; /* that port.connect refuses */
	struct sp_tree_limits tree_limits;
	struct sp_client *clients;
	struct sp_stream *streams;
	struct sp_sessions *sessions;
	struct sp_task *all_tasks;
	bool stopping;
};

/* An answer that a slow reader has no room for yet. */
struct sp_waiting {
	struct sp_waiting *next;
	size_t size;
	char line[];
};

struct sp_client {
	struct sp_agent *agent;
	struct sp_client *next, **at;
	struct sp_conn *conn;
	struct sp_guest_peer peer;
	unsigned tasks;
	bool begun; /* its first line has come */
	bool asked; /* its first request has come */
	bool ended; /* the peer has ended its direction; what is in flight is still answered */
	ev_timer hangup;
	struct sp_waiting *waiting, **waiting_end;
};

/* A request in flight. */
struct sp_task {
	struct sp_agent *agent;
	struct sp_client *client; /* NULL: the connection has ended, nobody waits */
	struct sp_task *next, **at;
	struct sp_exec *exec;
	struct sp_removal *removal;
	ev_timer step;
	char id[SP_REQUEST_ID_MAX + 1];
};

/* Takes `fd`. */
void sp_client_new(struct sp_agent *agent, int fd);

/* Ends the connection once nothing of it is in flight, if its peer or the agent has come to an end.
 */
void sp_client_settle(struct sp_client *client);

/* The error that an answer gives for a code, with its words. A new reference; NULL: out of memory.
 */
json_t *sp_guest_error(const char *id, int code, const struct sp_err *err);

/* Ends the loop once the agent is stopping and nobody is connected any more. */
void sp_agent_settle(struct sp_agent *agent);

/* Sends one answer: `result` (stolen) when code is 0, else an op error. */
void sp_client_answer(
    struct sp_client *client, const char *id, int code, json_t *result, const struct sp_err *err);

/* Starts exec.run or file.remove. The answer comes by sp_client_answer, at once or later. */
void sp_task_start(struct sp_client *client, const char *id, bool exec, const json_t *args);

/* Is a request with this id in flight on the connection? */
bool sp_task_find(const struct sp_client *client, const char *id);

/* The connection has ended: what still runs for it is ended too. */
void sp_task_forsake(struct sp_client *client);

/* Ends every command; for the agent's own end. */
void sp_task_kill_all(struct sp_agent *agent);

#endif
