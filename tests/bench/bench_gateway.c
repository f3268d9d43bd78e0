/*
 * The gateway on the way from a TCP client to a service in the guest: bulk both ways and round
 * trips, beside socat and HAProxy (where it is installed) in its place in the same run. Behind each
 * of them are the same stand-in for a VMM and the same agent; through the others the client asks
 * the agent, and frames, itself. Then what an idle stream of the gateway takes.
 */
#include "bench_hop.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include "base/io.h"
#include "stream/frame.h"

#define ROUNDS     3
#define BULK_NS    400000000
#define TRIPS_NS   300000000
#define MESSAGE    64
#define IDLE_COUNT 100
#define CHUNK      (SP_FRAME_HEADER + 49152)

/* How a client gets to its stream. */
struct way {
	struct hop hop;
	bool frames;
	uint16_t port; /* where it listens */
	double back_bulk, back_capacity;
};

static uint16_t service_port;
static int service;
static FILE *lines; /* first lines for the gateway, each good once */

static int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0)
		give_up("socket");
	return fd;
}

/* A port that is free now; listened at, or left to somebody. */
static uint16_t take_port(int *ret_listener)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	int fd = tcp_socket();

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) < 0 ||
	    (ret_listener && listen(fd, 64) < 0))
		give_up("port");
	if (ret_listener)
		*ret_listener = fd;
	else
		(void)close(fd);
	return ntohs(at.sin_port);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};

	for (int tries = 0; tries < 1000; tries++) {
		int fd = tcp_socket();
		if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
			return fd;
		(void)close(fd);
		(void)poll(NULL, 0, 10); /* a program that cannot say that it listens */
	}
	give_up("nobody listens");
	return -1;
}

static void say(int fd, const char *text)
{
	if (sp_write_all(fd, text, strlen(text), 5000))
		give_up("write");
}

/* A line that begins so. */
static void hear(int fd, const char *begin)
{
	char line[512] = "";

	for (size_t n = 0; n + 1 < sizeof(line) && !strchr(line, '\n'); n++)
		if (sp_read_exact(fd, line + n, 1, 10000))
			give_up("no answer");
	if (!strstr(line, begin))
		give_up(line);
}

static int accept_service(void)
{
	int fd, yes = 1;

	if (sp_poll_one(service, POLLIN, 10000) < 0 || (fd = accept(service, NULL, NULL)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0)
		give_up("the service was not reached");
	return fd;
}

static void join(struct way *way)
{
	char line[8192];

	way->hop.front = connect_to(way->port);
	if (!way->frames) {
		if (!fgets(line, sizeof(line), lines))
			give_up("no first lines are left");
		say(way->hop.front, line);
	} else {
		(void)snprintf(line, sizeof(line),
		    "{\"id\":\"1\",\"op\":\"port.connect\",\"sandbox\":\"s-42\",\"args\":{\"port\":"
		    "%u,\"protocol\":\"tcp\"}}\n",
		    service_port);
		say(way->hop.front, "CONNECT 5005\n");
		hear(way->hop.front, "OK ");
		say(way->hop.front, line);
	}
	hear(way->hop.front, "\"status\":\"open\"");
	way->hop.back = accept_service();
}

/* What is sent again and again: raw, or one frame. Returns where it begins. */
static const char *chunk(bool frames, size_t *ret_size)
{
	static char bytes[CHUNK];

	sp_frame_header(SP_FRAME_INPUT, CHUNK - SP_FRAME_HEADER, (unsigned char *)bytes);
	*ret_size = frames ? CHUNK : CHUNK - SP_FRAME_HEADER;
	return frames ? bytes : bytes + SP_FRAME_HEADER;
}

/* Frames whole, so that the next measurement begins between two. */
static void drain(int to, const char *bytes, size_t size, size_t at, int from)
{
	char seen[65536];

	while (at > 0 && at < size) {
		ssize_t n = sp_write_some(to, bytes + at, size - at);
		at += n > 0 ? (size_t)n : 0;
		(void)sp_read_some(from, seen, sizeof(seen));
	}
	while (sp_poll_one(from, POLLIN, 200) > 0 && sp_read_some(from, seen, sizeof(seen)) > 0)
		;
}

static double bulk(const struct way *way, bool in, double *ret_capacity)
{
	static char seen[256 * 1024];
	int to = in ? way->hop.front : way->hop.back, from = in ? way->hop.back : way->hop.front;
	size_t size, at = 0;
	const char *bytes = chunk(way->frames && in, &size);
	int64_t start = bench_now_ns(), now = start;
	double used = cpu_seconds(way->hop.pid);
	uint64_t count = 0;

	unblock(to, true);
	unblock(from, true);
	while (now - start < BULK_NS) {
		struct pollfd ends[] = {{to, POLLOUT, 0}, {from, POLLIN, 0}};
		ssize_t n;
		(void)poll(ends, 2, 1000);
		n = sp_write_some(to, bytes + at, size - at);
		at = n > 0 ? (at + (size_t)n) % size : at;
		while ((n = sp_read_some(from, seen, sizeof(seen))) > 0)
			count += (uint64_t)n;
		now = bench_now_ns();
	}
	*ret_capacity = (double)count / (cpu_seconds(way->hop.pid) - used);
	drain(to, bytes, size, at, from);
	return (double)count * 1e9 / (double)(now - start);
}

static void pass(int from, int to, bool frames_put, bool frames_taken)
{
	char bytes[SP_FRAME_HEADER + MESSAGE] = {0};
	size_t before = frames_put ? 0 : SP_FRAME_HEADER,
	       behind = frames_taken ? 0 : SP_FRAME_HEADER;

	sp_frame_header(SP_FRAME_INPUT, MESSAGE, (unsigned char *)bytes);
	if (sp_write_all(from, bytes + before, sizeof(bytes) - before, 2000) ||
	    sp_read_exact(to, bytes + behind, sizeof(bytes) - behind, 2000))
		give_up("a message was lost");
}

static double trips(const struct way *way, double *ret_capacity)
{
	int64_t start = bench_now_ns(), now = start;
	double used = cpu_seconds(way->hop.pid);
	uint64_t count = 0;

	unblock(way->hop.front, false);
	unblock(way->hop.back, false);
	for (; now - start < TRIPS_NS; now = bench_now_ns(), count++) {
		pass(way->hop.front, way->hop.back, way->frames, false);
		pass(way->hop.back, way->hop.front, false, way->frames);
	}
	*ret_capacity = (double)count / (cpu_seconds(way->hop.pid) - used);
	return (double)count * 1e9 / (double)(now - start);
}

static void measure(struct way *way)
{
	double capacity;

	join(way);
	keep_best(&way->hop.trips, trips(way, &capacity));
	keep_best(&way->hop.trips_capacity, capacity);
	keep_best(&way->hop.bulk, bulk(way, true, &capacity));
	keep_best(&way->hop.bulk_capacity, capacity);
	keep_best(&way->back_bulk, bulk(way, false, &capacity));
	keep_best(&way->back_capacity, capacity);
	(void)close(way->hop.front);
	(void)close(way->hop.back);
}

static void compare(const struct way *ours, const struct way *peer)
{
	const char *name = peer->hop.name;

	bench_put("gateway bulk to the guest", ours->hop.bulk / 1e6, "MB/s", name,
	    peer->hop.bulk / 1e6, ">=", 1);
	bench_put("gateway bulk to the guest a CPU second", ours->hop.bulk_capacity / 1e6, "MB",
	    name, peer->hop.bulk_capacity / 1e6, ">=", 1);
	bench_put("gateway bulk from the guest", ours->back_bulk / 1e6, "MB/s", name,
	    peer->back_bulk / 1e6, ">=", 1);
	bench_put("gateway bulk from the guest a CPU second", ours->back_capacity / 1e6, "MB", name,
	    peer->back_capacity / 1e6, ">=", 1);
	bench_put(
	    "gateway 64-byte round trips", ours->hop.trips, "1/s", name, peer->hop.trips, ">=", 1);
	bench_put("gateway 64-byte round trips a CPU second", ours->hop.trips_capacity, "", name,
	    peer->hop.trips_capacity, ">=", 1);
}

/* --- an idle stream --- */

static long resident_kib(pid_t pid)
{
	char path[64];
	FILE *file;
	long pages = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		give_up("statm");
	(void)fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long descriptors(pid_t pid)
{
	char path[64];
	DIR *list;
	long count = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	list = opendir(path);
	while (list && readdir(list))
		count++;
	if (!list)
		give_up("descriptors");
	(void)closedir(list);
	return count;
}

static void measure_idle(struct way *way)
{
	long kib, count;

	join(way); /* what is taken once */
	pass(way->hop.front, way->hop.back, false, false);
	kib = resident_kib(way->hop.pid);
	count = descriptors(way->hop.pid);
	for (int i = 0; i < IDLE_COUNT; i++) {
		join(way);
		pass(way->hop.front, way->hop.back, false, false);
	}
	bench_put("gateway idle stream", (double)(resident_kib(way->hop.pid) - kib) / IDLE_COUNT,
	    "KiB", NULL, 0, "<=", 16);
	bench_put("gateway idle stream", (double)(descriptors(way->hop.pid) - count) / IDLE_COUNT,
	    "descriptors", NULL, 0, "<=", 2.5);
}

/* --- what is measured --- */

static void start_gateway(struct way *way)
{
	char command[256];
	FILE *file;

	way->port = take_port(NULL);
	(void)snprintf(command, sizeof(command),
	    "tests/bench/path.sh gateway %s 127.0.0.1:%u %u %d", directory, way->port, service_port,
	    ROUNDS + IDLE_COUNT + 1);
	lines = popen(command, "re");
	if (!lines)
		give_up("path.sh");
	/* It prints the first one once the gateway is ready. */
	(void)ungetc(fgetc(lines), lines);
	file = fopen(place("gateway.pid"), "re");
	if (!file || fscanf(file, "%d", &way->hop.pid) != 1)
		give_up("gateway.pid");
	(void)fclose(file);
}

static void start_socat(struct way *way)
{
	char listen[96], back[96];
	char *argv[] = {"socat", listen, back, NULL};

	way->port = take_port(NULL);
	(void)snprintf(listen, sizeof(listen), "TCP-LISTEN:%u,bind=127.0.0.1,nodelay", way->port);
	(void)snprintf(back, sizeof(back), "UNIX-CONNECT:%s/run/v.sock", directory);
	way->hop.pid = run(argv);
}

static void start_haproxy(struct way *way)
{
	char text[1024];
	char *argv[] = {"haproxy", "-db", "-f", (char *)(uintptr_t)place("haproxy.cfg"), NULL};

	way->port = take_port(NULL);
	(void)snprintf(text, sizeof(text),
	    "global\n  nbthread 1\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client "
	    "60s\n  timeout server 60s\nlisten hop\n  bind 127.0.0.1:%u\n  server one "
	    "unix@%s/run/v.sock\n",
	    way->port, directory);
	write_file("haproxy.cfg", text);
	way->hop.pid = run(argv);
}

static int path_sh(const char *verb)
{
	char command[128];

	(void)snprintf(
	    command, sizeof(command), "tests/bench/path.sh %s %s >/dev/null", verb, directory);
	return system(command);
}

int main(void)
{
	struct way gateway = {.hop = {.name = "gateway"}};
	struct way socat = {.hop = {.name = "socat"}, .frames = true};
	struct way haproxy = {.hop = {.name = "haproxy"}, .frames = true};
	bool has_socat = bench_has("socat"), has_haproxy = bench_has("haproxy");

	(void)signal(SIGPIPE, SIG_IGN);
	strcpy(directory, "/tmp/space-bench-XXXXXX");
	if (!mkdtemp(directory) || path_sh("up") != 0)
		give_up("path.sh up");
	service_port = take_port(&service);
	start_gateway(&gateway);
	pin(0);
	for (int i = 0; i < ROUNDS; i++) {
		measure(&gateway);
		if (has_socat) {
			start_socat(&socat);
			measure(&socat);
			hop_end(socat.hop.pid);
		}
		if (has_haproxy) {
			start_haproxy(&haproxy);
			measure(&haproxy);
			hop_end(haproxy.hop.pid);
		}
	}
	if (has_socat)
		compare(&gateway, &socat);
	if (has_haproxy)
		compare(&gateway, &haproxy);
	measure_idle(&gateway);
	(void)pclose(lines);
	return path_sh("down") == 0 ? 0 : 1;
}
