/* spaced-guest: the agent alone, linked without any shared library, for guests that have nothing
 * else of ours. The same server as `spacebridge guest`, without configuration file. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "guest/agent.h"

#define MIB (1024LL * 1024)

#define USAGE                                                                                      \
	"usage: spaced-guest [--listen vsock:PORT|unix:PATH] [--root DIR] [--cid N]\n"             \
	"                    [--key FILE] [--max-sessions N] [--max-tree-mib N]\n"                 \
	"                    [--max-tree-entries N]\n"                                             \
	"The agent in the guest; see spaced-guest-static(1).\n"

static int usage_error(const char *words)
{
	(void)fprintf(stderr, "spaced-guest: %s\n" USAGE, words);
	return 2;
}

static int run(struct sp_agent_config *config)
{
	struct sp_err err = {0};
	int64_t port;
	int bad;

	if (strncmp(config->listen, "vsock:", 6) == 0 &&
	    sp_number_parse(config->listen + 6, 1, UINT16_MAX, &port))
		config->port = (uint16_t)port;
	bad = sp_agent_run(config, &err);

	if (bad)
		(void)fprintf(stderr, "spaced-guest: %s\n", err.message);
	return sp_code_exit(bad);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"listen", required_argument, NULL, 'l'},
	    {"root", required_argument, NULL, 'r'},
	    {"key", required_argument, NULL, 'k'},
	    {"cid", required_argument, NULL, 'c'},
	    {"max-sessions", required_argument, NULL, 'm'},
	    {"max-tree-mib", required_argument, NULL, 't'},
	    {"max-tree-entries", required_argument, NULL, 'e'},
	    {"help", no_argument, NULL, 'h'},
	    {"version", no_argument, NULL, 'V'},
	    {0},
	};
	struct sp_agent_config config = {
	    .listen = "vsock:5005",
	    .root = "/",
	    .tasks_max = 64,
	    .tree = {16384 * MIB, 1000000},
	    .port = 5005,
	    .half_close = 60,
	};
	int64_t number = 0;
	int option;

	while ((option = getopt_long(argc, argv, "l:r:k:hV", options, NULL)) != -1) {
		if (option == 'l')
			config.listen = optarg;
		else if (option == 'r')
			config.root = optarg;
		else if (option == 'k')
			config.key = optarg;
		else if (option == 'c' && sp_number_parse(optarg, 3, UINT32_MAX - 1, &number))
			config.cid = (uint32_t)number;
		else if (option == 'm' && sp_number_parse(optarg, 1, 4096, &number))
			config.tasks_max = (unsigned)number;
		else if (option == 't' && sp_number_parse(optarg, 1, 1048576, &number))
			config.tree.bytes = number * MIB;
		else if (option == 'e' && sp_number_parse(optarg, 1, 100000000, &number))
			config.tree.entries = number;
		else if (option == 'h' || option == 'V')
			return fputs(option == 'h' ? USAGE : "spaced-guest " SP_VERSION "\n",
				   stdout) < 0 ||
			       fflush(stdout) != 0;
		else
			return usage_error("a wrong option or value");
	}
	return optind < argc ? usage_error("takes no arguments") : run(&config);
}
