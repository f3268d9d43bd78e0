/* The agent's life: its descriptors, its socket, its end. */
#include "guest/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "guest/client.h"
#include "guest/path.h"

static void on_accept(void *context, int fd)
{
	sp_client_new(context, fd);
}

void sp_agent_settle(struct sp_agent *agent)
{
	if (agent->stopping && !agent->clients && !agent->streams)
		sp_service_exit(agent->service);
}

static void on_stop(void *context)
{
	struct sp_agent *agent = context;

	agent->stopping = true;
	sp_agent_settle(agent);
	sp_stream_stop_all(agent);
	for (struct sp_client *client = agent->clients; client; client = client->next) {
		sp_conn_pause(client->conn);
		sp_client_settle(client);
	}
}

/* SIGHUP, after log rotation. Where that fails, the old file goes on. */
static void on_hangup(void *context)
{
	struct sp_agent *agent = context;

	(void)sp_audit_reopen(agent->audit, NULL);
}

/* 0, 1 and 2 are the commands' own: whatever the agent opens must lie above them. */
static int occupy_standard_descriptors(struct sp_err *err)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return sp_fail_errno(err, "/dev/null");
	} while (fd <= STDERR_FILENO);
	(void)close(fd);
	return 0;
}

static const char *key_file(const struct sp_agent_config *config)
{
	if (config->key)
		return config->key;
	return strncmp(config->listen, "vsock:", 6) == 0 ? SP_AGENT_KEY : NULL;
}

static void agent_done(struct sp_agent *agent)
{
	sp_task_kill_all(agent);
	sp_sessions_free(agent->sessions);
	sp_service_free(agent->service);
	sp_audit_close(agent->audit);
	sp_guest_self_free(agent->self);
	sp_fd_close(&agent->root);
}

int sp_agent_run(const struct sp_agent_config *config, struct sp_err *err)
{
	sp_cleanup(agent_done) struct sp_agent agent = {.root = -1,
	    .cid = config->cid,
	    .tasks_max = config->tasks_max,
	    .own_port = config->port,
	    .tree_limits = config->tree,
	    .half_close = config->half_close};
	int bad = occupy_standard_descriptors(err);

	if (bad || (bad = sp_root_open(config->root, &agent.root, err)) ||
	    (bad = sp_audit_open(config->audit, &agent.audit, err)) ||
	    (bad = sp_guest_self_new(key_file(config), &agent.self, err)) ||
	    (bad = sp_service_new(&agent.service, err)))
		return bad;
	/* A file over a limit is an answer, not the agent's end. */
	(void)signal(SIGXFSZ, SIG_IGN);
	/* Commands keep the limit that the agent was given: programs exist that cannot live with a
	 * high one. */
	sp_descriptors_raise(&agent.files);
	agent.loop = sp_service_loop(agent.service);
	sp_audit_attach(agent.audit, agent.loop);
	agent.sessions = sp_sessions_new(agent.loop, agent.root, &agent.files, config->tasks_max);
	if (!agent.sessions)
		return sp_fail(err, -ENOMEM, "out of memory");
	bad = sp_guest_listen(
	    agent.service, config->listen, SP_AGENT_CONNECTIONS, on_accept, &agent, err);
	if (!bad)
		bad = sp_service_on_change(agent.service, NULL, on_hangup, &agent, err);
	if (bad)
		return bad;
	sp_service_on_stop(agent.service, on_stop, &agent);
	return sp_service_run(agent.service, err);
}
