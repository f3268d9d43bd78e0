/* spacebridge guest: spaced-guest, the agent in the guest (04-bridge). */
#include "guest/agent.h"

#include <limits.h>
#include <stdio.h>
#include "cli/cli.h"
#include "record/reason.h"
#include "spacebridge/verbs.h"

int verb_guest(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct sp_agent_config agent;
	struct sp_err err = {0};
	char port[32];
	int64_t cid;

	if (!config || sp_cli_number(cli, "cid", 0, 3, UINT32_MAX - 1, &cid) < 0)
		return SP_EXIT_USAGE;
	(void)snprintf(port, sizeof(port), "vsock:%lld", (long long)config->guest_port);
	agent = (struct sp_agent_config){
	    .listen = sp_cli_text(cli, "listen"),
	    .root = sp_cli_text(cli, "root"),
	    .cid = (uint32_t)cid,
	    .key = sp_cli_text(cli, "key"),
	    .audit = sp_cli_text(cli, "audit"),
	    .tasks_max = (unsigned)config->max_sessions,
	    .tree = {config->max_tree_mib * 1024 * 1024, config->max_tree_entries},
	    .port = (uint16_t)config->guest_port,
	    .half_close = (double)config->half_close_timeout,
	};
	if (!agent.listen)
		agent.listen = port;
	if (!agent.audit && config->audit_file[0])
		agent.audit = config->audit_file;
	if (!agent.root)
		agent.root = config->guest_root;
	return sp_agent_run(&agent, &err) < 0 ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
