/*
 * How much longer than /bin/true a one-shot verb takes, start to end, and its memory: medians of
 * interleaved runs. And what the guest's agent is: how large, and what it takes when nothing is
 * asked.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "bench.h"
#include "net/unix.h"

#define RUNS  300
#define AGENT "build/bin/spaced-guest-static"

extern char **environ;

static char directory[] = "/tmp/bench-startup-XXXXXX";

static void stop(const char *what)
{
	(void)fprintf(stderr, "bench_startup: %s\n", what);
	exit(1);
}

static pid_t start(char *const *argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		stop(argv[0]);
	(void)posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* Nanoseconds; *ret_kib keeps the most memory that it ever had. */
static int64_t run_once(char *const *argv, int expected, long *ret_kib)
{
	int64_t begin = bench_now_ns();
	pid_t pid = start(argv);
	struct rusage usage;
	int status = 0;

	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != expected)
		stop(argv[0]);
	if (usage.ru_maxrss > *ret_kib)
		*ret_kib = usage.ru_maxrss;
	return bench_now_ns() - begin;
}

/* One of each tool: what is done by hand, or by a script, in one breath. */
static const struct verb {
	const char *name;
	const char *arguments[8];
	int expected;
} VERBS[] = {
    {"spacecap pubkey", {"pubkey", "key"}, 0},
    {"spaceid show", {"show", "s-42"}, 0},
    {"spaceid compare", {"compare"}, 0},
    {"spacebridge attest --level", {"attest", "--level"}, 0},
    {"spacebridge send", {"send"}, 0},
    {"spacestream list", {"list"}, 0},
    {"spacerouted resolve", {"resolve", "s-42"}, 0},
};

static void measure_verb(const struct verb *verb)
{
	static int64_t base[RUNS], runs[RUNS];
	char tool[64], path[512], name[96], here[256];
	char *nothing[] = {"/bin/true", NULL};
	char *argv[10] = {path};
	long kib = 0, none = 0;

	(void)snprintf(tool, sizeof(tool), "%.*s", (int)strcspn(verb->name, " "), verb->name);
	if (!getcwd(here, sizeof(here)))
		stop("getcwd");
	(void)snprintf(path, sizeof(path), "%s/build/bin/%s", here, tool);
	for (size_t i = 0; verb->arguments[i]; i++)
		argv[i + 1] = (char *)(uintptr_t)verb->arguments[i];
	if (chdir(directory) < 0)
		stop(directory);
	for (size_t i = 0; i < RUNS; i++) {
		base[i] = run_once(nothing, 0, &none);
		runs[i] = run_once(argv, verb->expected, &kib);
	}
	if (chdir(here) < 0)
		stop(here);
	(void)snprintf(name, sizeof(name), "%s, start to end, over /bin/true", verb->name);
	bench_put(name,
	    (double)(bench_percentile(runs, RUNS, 50) - bench_percentile(base, RUNS, 50)) / 1000.,
	    "us", NULL, 0, "<=", 1000);
	(void)snprintf(name, sizeof(name), "%s: memory", verb->name);
	bench_put(name, (double)kib / 1024, "MiB", NULL, 0, "<=", 6);
}

/* A key, a record and a route for the verbs to look at. */
static void set_up(void)
{
	char command[2048];

	(void)snprintf(command, sizeof(command),
	    "set -eu; PATH=$PWD/build/bin:$PATH; cd %s; mkdir run;"
	    "printf '[space]\\nworker = w\\nstate_dir = %%s/state\\nrun_dir = %%s/run\\n' %s %s "
	    ">space.ini;"
	    "export SPACE_CONFIG=%s/space.ini; spacecap keygen -o key;"
	    "route='{\"execution\":7,\"worker\":\"w\",\"substrate\":\"host\",\"activation\":\"a\","
	    "\"attempt\":1}';"
	    "echo '{\"sandbox\":\"s-42\",\"owner\":\"op-1\",\"route\":'\"$route\"'}' | spaceid "
	    "install;"
	    "echo "
	    "'{\"sandbox\":\"s-42\",\"endpoint\":\"unix:/run/space/"
	    "manager.sock\",\"route\":'\"$route\"'}' |"
	    "spacerouted publish",
	    directory, directory, directory, directory);
	(void)fflush(stdout);
	if (system(command) != 0)
		stop("cannot be set up");
	(void)snprintf(command, sizeof(command), "%s/space.ini", directory);
	(void)setenv("SPACE_CONFIG", command, 1);
}

static long resident_kib(pid_t pid)
{
	char path[64];
	long pages = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		stop(path);
	(void)fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* As it is installed: without symbols. It has answered, and then idles. */
static void measure_agent(void)
{
	static const char ask[] =
	    "{\"id\":\"1\",\"op\":\"guest.info\",\"sandbox\":\"s-42\",\"args\":{}}\n";
	char stripped[96], sock[96], at[112], line[4096];
	char *strip[] = {"/usr/bin/strip", "-o", stripped, AGENT, NULL};
	char *agent[] = {stripped, "--listen", at, "--root", directory, "--cid", "42", NULL};
	struct stat info;
	long none = 0;
	pid_t pid;
	int fd = -1;

	(void)snprintf(stripped, sizeof(stripped), "%s/agent", directory);
	(void)snprintf(sock, sizeof(sock), "%s/agent.sock", directory);
	(void)snprintf(at, sizeof(at), "unix:%s", sock);
	if (access(AGENT, X_OK) < 0)
		return;
	(void)run_once(strip, 0, &none);
	if (stat(stripped, &info) < 0)
		stop(stripped);
	bench_put("spaced-guest-static, as installed", (double)info.st_size / 1048576, "MiB", NULL,
	    0, "<=", 2);
	pid = start(agent);
	for (int i = 0; i < 5000 && sp_unix_connect(sock, 1000, &fd, NULL) < 0; i++)
		(void)usleep(1000);
	if (fd < 0 || sp_write_all(fd, ask, sizeof(ask) - 1, 5000) ||
	    sp_poll_one(fd, 1 /* POLLIN */, 5000) < 0 || sp_read_some(fd, line, sizeof(line)) <= 0)
		stop("the agent does not answer");
	bench_put("spaced-guest-static, resident when idle", (double)resident_kib(pid) / 1024,
	    "MiB", NULL, 0, "<=", 3);
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(directory))
		return 1;
	set_up();
	for (size_t i = 0; i < sizeof(VERBS) / sizeof(VERBS[0]); i++)
		measure_verb(&VERBS[i]);
	measure_agent();
	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) == 0 ? 0 : 1;
}
