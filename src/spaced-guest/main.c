/* spaced-guest: the agent alone, linked without any shared library, for guests that have nothing
 * else of ours. The same server as `spacebridge guest`, without configuration file. */
#include <archive.h>
#include <ev.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <sodium/version.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "guest/agent.h"
#include "record/reason.h"
#include "spaced-guest/options.h"

#define NAME "spaced-guest-static"

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
		(void)fprintf(stderr, NAME ": %s\n", err.message);
	return sp_code_exit(bad);
}

/* No other program can tell what is inside this one. */
static void say_libraries(void)
{
	(void)printf("glibc: %s\nlibsodium: %s\njansson: %s\nlibev: %d.%d\n",
	    gnu_get_libc_version(), sodium_version_string(), jansson_version_str(),
	    ev_version_major(), ev_version_minor());
	(void)printf("libarchive: %d.%d.%d\n", ARCHIVE_VERSION_NUMBER / 1000000,
	    ARCHIVE_VERSION_NUMBER / 1000 % 1000, ARCHIVE_VERSION_NUMBER % 1000);
}

static int say(enum guest_wanted wanted)
{
	if (wanted == GUEST_HELP)
		guest_help(stdout);
	else
		(void)puts(NAME " " SP_VERSION);
	if (wanted == GUEST_LIBRARIES)
		say_libraries();
	return ferror(stdout) || fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
	struct sp_agent_config config = {
	    .listen = "vsock:5005",
	    .root = "/",
	    .tasks_max = 64,
	    .tree = {16384 * 1024LL * 1024, 1000000},
	    .port = 5005,
	    .half_close = 60,
	};
	enum guest_wanted wanted;
	struct sp_err err = {0};

	if (guest_options(argc, argv, &config, &wanted, &err) < 0) {
		sp_text_printable(err.message);
		(void)fprintf(stderr, NAME ": %s\ntry: " NAME " --help\n", err.message);
		return SP_EXIT_USAGE;
	}
	return wanted == GUEST_SERVE ? run(&config) : say(wanted);
}
