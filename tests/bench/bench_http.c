/*
 * POST /v1/ops: a ping by `spacestream serve`, with a real cache, its own signatures and a manager
 * that answers at once, beside nginx in front of a Unix socket that does, too; and beside the same
 * path by `spacerouted call`, which is the entry of the Unix socket.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include "base/util.h"
#include "socket.h"

enum { WARM = 200, SLICE = 300, MANY = 32, MANY_SLICE = 1984, LINES = 10000, ROUNDS = 5 };

#define PING "{\"op\":\"ping\",\"sandbox\":\"s-42\",\"args\":{}}"
/* As long as what the manager says. */
#define PONG "{\"status\":\"ok\",\"result\":{\"op\":\"ping\",\"args\":{}}}\n"

static char directory[] = "/tmp/bench-http-XXXXXX";
static char token[256];
static pid_t own;

static const char *path_of(const char *name)
{
	static char path[8][96];
	static unsigned next;
	char *at = path[next++ % SP_COUNT(path)];

	(void)snprintf(at, sizeof(path[0]), "%s/%s", directory, name);
	return at;
}

static void clean(void)
{
	char command[96];

	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (getpid() == own && system(command) != 0)
		(void)fprintf(stderr, "bench_http: %s stays\n", directory);
}

static void set_up(void)
{
	char command[96];
	FILE *out;

	own = getpid();
	if (!mkdtemp(directory))
		exit(1);
	(void)atexit(clean);
	(void)snprintf(command, sizeof(command), "tests/bench/http.sh %s", directory);
	out = popen(command, "re");
	if (!out || !fgets(token, sizeof(token), out) || pclose(out) != 0)
		exit(1);
	token[strcspn(token, "\n")] = '\0';
	(void)setenv("SPACE_CONFIG", path_of("space.ini"), 1);
}

/* --- the servers --- */

/* The least that a server behind nginx can do: a connection at a time is not enough for it. */
static void answer_all(int listener)
{
	char answer[256];
	int size = snprintf(answer, sizeof(answer),
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n" PONG,
	    strlen(PONG));
	struct pollfd fds[128] = {{.fd = listener, .events = POLLIN}};
	nfds_t count = 1;
	char bytes[8192];

	for (;;) {
		(void)poll(fds, count, -1);
		for (nfds_t i = 1; i < count; i++) {
			if (!fds[i].revents)
				continue;
			if (read(fds[i].fd, bytes, sizeof(bytes)) > 0) {
				(void)sp_write_all(fds[i].fd, answer, (size_t)size, 1000);
				continue;
			}
			(void)close(fds[i].fd);
			fds[i--] = fds[--count];
		}
		if (fds[0].revents && count < SP_COUNT(fds))
			fds[count++] =
			    (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
	}
}

static pid_t start_backend(const char *path)
{
	int listener = -1;
	pid_t pid;

	bench_must(sp_unix_listen(path, 0666, &listener, NULL));
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		bench_pin(BENCH_SERVER_CPU);
		answer_all(listener);
	}
	(void)close(listener);
	return pid;
}

static void wait_for(const char *path)
{
	(void)close(bench_reach(path));
}

static pid_t start_front(void)
{
	char listen[128];
	pid_t pid;

	(void)snprintf(listen, sizeof(listen), "unix:%s", path_of("front"));
	(void)bench_start((const char *const[]){
	    "build/fixtures/bridge", "--listen", path_of("manager"), "--greeting", "", NULL});
	(void)bench_start((const char *const[]){"build/bin/spacerouted", "serve", NULL});
	wait_for(path_of("manager"));
	wait_for(path_of("run/cache.sock"));
	pid = bench_start(
	    (const char *const[]){"build/bin/spacestream", "serve", "--listen", listen, NULL});
	wait_for(path_of("front"));
	return pid;
}

/* Its worker, which does the work; -1: there is no nginx. */
static pid_t start_nginx(void)
{
	char command[128];
	FILE *out;
	pid_t pid;
	int worker = -1;

	if (!bench_has("nginx"))
		return -1;
	(void)start_backend(path_of("backend"));
	pid = bench_start((const char *const[]){"nginx", "-p", path_of("nginx"), "-e",
	    path_of("nginx/error"), "-c", path_of("nginx.conf"), NULL});
	wait_for(path_of("nginx.sock"));
	(void)snprintf(command, sizeof(command), "pgrep -P %d", (int)pid);
	out = popen(command, "re");
	if (!out || fscanf(out, "%d", &worker) != 1)
		bench_must(-ECHILD);
	(void)pclose(out);
	return worker;
}

/* --- requests --- */

static struct bench_peer peer_of(const char *path, pid_t server, const char *question)
{
	static char answer[65536];
	struct bench_peer peer = {.fd = bench_reach(path),
	    .server = server,
	    .question = question,
	    .question_size = strlen(question)};

	peer.answer_size = bench_ask(peer.fd, question, peer.question_size, answer, sizeof(answer));
	if (!strstr(answer, PONG)) {
		(void)fprintf(stderr, "bench_http: %s\n", answer);
		exit(1);
	}
	(void)bench_rate(&peer, WARM, 1);
	return peer;
}

/* Requests a second, one at a time on each of so many connections. */
static double rate(const struct bench_peer *peers, int connections, int rounds)
{
	int64_t start = bench_now_ns();

	for (int i = 0; i < rounds; i += connections) {
		for (int k = 0; k < connections; k++)
			bench_must(sp_write_all(
			    peers[k].fd, peers[k].question, peers[k].question_size, 10000));
		for (int k = 0; k < connections; k++)
			bench_read(peers[k].fd, peers[k].answer_size);
	}
	return (double)rounds * 1e9 / (double)(bench_now_ns() - start);
}

/* In turns. The one passes on; the other asks the cache, signs, and reads the answer. */
static void race(const char *name, const struct bench_peer *ours, const struct bench_peer *theirs,
    int connections, int rounds)
{
	static const char peer[] = "nginx, which only passes on";
	int64_t our_rate[BENCH_SLICES], their_rate[BENCH_SLICES];
	double our_cpu = -bench_cpu(ours->server), their_cpu = -bench_cpu(theirs->server);
	double answers = (double)rounds * BENCH_SLICES / 1e6;
	char cost[96];

	for (int i = 0; i < BENCH_SLICES; i++) {
		our_rate[i] = (int64_t)rate(ours, connections, rounds);
		their_rate[i] = (int64_t)rate(theirs, connections, rounds);
	}
	our_cpu += bench_cpu(ours->server);
	their_cpu += bench_cpu(theirs->server);
	(void)snprintf(cost, sizeof(cost), "%s: CPU of the entry", name);
	bench_put(name, (double)bench_percentile(our_rate, BENCH_SLICES, 50), "/s", peer,
	    (double)bench_percentile(their_rate, BENCH_SLICES, 50), ">=", 0.4);
	bench_put(cost, our_cpu / answers, "us", peer, their_cpu / answers, "<=", 3);
}

/* --- lines --- */

/* A filter, on this core, between two pipes. */
static pid_t start_filter(char *const *arguments, int cpu, int in[2], int out[2])
{
	pid_t pid;

	bench_must(pipe2(in, O_CLOEXEC));
	bench_must(pipe2(out, O_CLOEXEC));
	pid = fork();
	if (pid != 0)
		return pid;
	bench_pin(cpu);
	(void)dup2(in[0], STDIN_FILENO);
	(void)dup2(out[1], STDOUT_FILENO);
	(void)execvp(arguments[0], arguments);
	_exit(127);
}

/* Lines a second: it reads them, and writes as many. */
static double lines_rate(char *const *arguments, int cpu)
{
	int in[2], out[2], count = 0;
	int64_t start = bench_now_ns();
	pid_t pid = start_filter(arguments, cpu, in, out), writer;
	char line[4096];
	FILE *answers;

	writer = fork();
	if (writer == 0) {
		FILE *asked = fdopen(in[1], "w");
		for (int i = 0; i < LINES; i++)
			(void)fputs(PING "\n", asked);
		(void)fclose(asked);
		_exit(0);
	}
	(void)close(in[0]);
	(void)close(in[1]);
	(void)close(out[1]);
	answers = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), answers))
		count += strcmp(line, PONG) == 0;
	(void)fclose(answers);
	(void)waitpid(writer, NULL, 0);
	(void)waitpid(pid, NULL, 0);
	if (count != LINES) {
		(void)fprintf(stderr, "bench_http: %d of %d answers\n", count, LINES);
		exit(1);
	}
	return (double)LINES * 1e9 / (double)(bench_now_ns() - start);
}

/* curl is the client of the one, and costs something, too. */
static void race_lines(void)
{
	char header[320], *curl[] = {"curl", "-sSN", "--no-progress-meter", "--unix-socket",
			      (char *)(uintptr_t)path_of("front"), "-H", header, "-H",
			      "Content-Type: application/x-ndjson", "-X", "POST", "-T", ".",
			      "http://x/v1/ops?window=64", NULL};
	char *call[] = {"build/bin/spacerouted", "call", "--window", "64", NULL};
	int64_t ours[ROUNDS], theirs[ROUNDS];

	(void)snprintf(header, sizeof(header), "Authorization: Bearer %s", token);
	for (int i = 0; i < ROUNDS; i++) {
		ours[i] = (int64_t)lines_rate(curl, BENCH_CLIENT_CPU);
		theirs[i] = (int64_t)lines_rate(call, BENCH_SERVER_CPU);
	}
	bench_put("POST /v1/ops of 10,000 lines, 64 in flight, by curl",
	    (double)bench_percentile(ours, ROUNDS, 50), "/s", "spacerouted call",
	    (double)bench_percentile(theirs, ROUNDS, 50), ">=", 0.7);
}

int main(void)
{
	static struct bench_peer ours[MANY], theirs[MANY];
	char ask_us[1024];
	pid_t front, nginx;

	(void)setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", 1);
	set_up();
	bench_pin(BENCH_CLIENT_CPU);
	front = start_front();
	nginx = start_nginx();
	(void)snprintf(ask_us, sizeof(ask_us),
	    "POST /v1/ops HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	    "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n" PING,
	    token, strlen(PING));
	for (int i = 0; nginx > 0 && i < MANY; i++) {
		ours[i] = peer_of(path_of("front"), front, ask_us);
		theirs[i] = peer_of(path_of("nginx.sock"), nginx, ask_us);
	}
	if (nginx > 0) {
		race("POST /v1/ops, one at a time", ours, theirs, 1, SLICE);
		race("POST /v1/ops, 32 connections", ours, theirs, MANY, MANY_SLICE);
	}
	race_lines();
	return 0;
}
