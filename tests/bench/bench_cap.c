/*
 * spacecap mint and verify as filters beside bare libsodium over the same bytes, on one core. Every
 * record names another sandbox, so that no capability is reused; then the same with one sandbox,
 * where all but the first are. Processor time, user and system, of the whole process: others on the
 * machine do not count. The best of twenty interleaved runs.
 */
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"
#include "token/paseto.h"
#include "token/signing_key.h"

#define RECORDS 4000
#define RUNS    20

extern char **environ;

static char directory[] = "/tmp/space-bench-XXXXXX";

static const char *in_directory(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, PATH_MAX, "%s/%s", directory, name);
	return path;
}

static void stop(const char *what)
{
	(void)fprintf(stderr, "bench_cap: %s\n", what);
	exit(1);
}

static void write_routed(const char *name, unsigned sandboxes)
{
	FILE *file = fopen(in_directory(name), "w");

	if (!file)
		stop("cannot write");
	for (unsigned i = 0; i < RECORDS; i++)
		(void)fprintf(file,
		    "{\"id\":\"r%u\",\"op\":\"file.read\",\"sandbox\":\"s-%u\",\"args\":{\"path\":"
		    "\"/etc/"
		    "hostname\"},\"caller\":\"uid:1000\",\"route\":{\"execution\":7,\"worker\":"
		    "\"worker-a\",\"substrate\":\"kubernetes\",\"pod_uid\":\"0b9f6a2e-0c1d-4e2f-"
		    "8a3b-"
		    "5c6d7e8f9a0b\",\"activation\":\"act-19\",\"attempt\":1},\"endpoint\":\"unix:/"
		    "run/"
		    "space/"
		    "manager.sock\",\"access\":[\"file.read\",\"exec.*\"],\"authorized_until\":"
		    "\"2999-01-01T00:00:00Z\",\"attempted\":1}\n",
		    i, i % sandboxes);
	if (fclose(file) != 0)
		stop("cannot write");
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* Processor seconds of one run of a filter. */
static double run_filter(char *const *argv, const char *in, const char *out)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	int status = 0;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in, O_RDONLY, 0);
	(void)posix_spawn_file_actions_addopen(
	    &actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0 ||
	    wait4(pid, &status, 0, &usage) != pid || status != 0)
		stop("a filter failed");
	(void)posix_spawn_file_actions_destroy(&actions);
	return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

static void keep_best(double *best, double rate)
{
	*best = rate > *best ? rate : *best;
}

static double processor_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What is signed of the first token in a file of minted records: as many bytes as its message,
 * footer and lengths have. */
static size_t signed_bytes(const char *path)
{
	static char line[65536];
	struct sp_paseto parts;
	FILE *file = fopen(path, "r");
	char *token;
	size_t size;

	if (!file || !fgets(line, sizeof(line), file) || !(token = strstr(line, "v4.public.")))
		stop("no token");
	(void)fclose(file);
	size = strcspn(token, "\"");
	if (!sp_paseto_split(token, size, &parts))
		stop("no token");
	return 8 * 5 + strlen(SP_PASETO_HEADER) + parts.message_size + parts.footer_size +
	       strlen("space.cap.v1:space");
}

struct rates {
	double minted, reused, verified, sign, check;
};

static void bare_rates(size_t size, struct rates *best)
{
	unsigned char public[32], secret[64], signature[64], *bytes = calloc(1, size);
	double start = processor_now();

	if (!bytes)
		stop("out of memory");
	(void)crypto_sign_keypair(public, secret);
	for (unsigned i = 0; i < RECORDS; i++) {
		memcpy(bytes, &i, sizeof(i));
		(void)crypto_sign_detached(signature, NULL, bytes, size, secret);
	}
	keep_best(&best->sign, RECORDS / (processor_now() - start));
	start = processor_now();
	for (unsigned i = 0; i < RECORDS; i++)
		if (crypto_sign_verify_detached(signature, bytes, size, public) != 0)
			stop("a signature that does not verify");
	keep_best(&best->check, RECORDS / (processor_now() - start));
	free(bytes);
}

static void make_keys(void)
{
	struct sp_signing_key *key = NULL;
	char public[SP_PASERK_PUBLIC_SIZE];
	FILE *file = fopen(in_directory("public"), "w");

	if (!file || sp_signing_key_new(&key, NULL) < 0 ||
	    sp_signing_key_save(key, in_directory("secret"), NULL, NULL) < 0 ||
	    sp_paserk_public_write(sp_signing_key_public(key), 32, public, NULL) < 0)
		stop("cannot make keys");
	(void)fprintf(file, "%s\n", public);
	(void)fclose(file);
	sp_signing_key_free(key);
}

int main(void)
{
	char secret[PATH_MAX], public[PATH_MAX], remove[PATH_MAX + 16];
	char *mint[] = {"build/bin/spacecap", "mint", "-k", secret, NULL};
	char *verify[] = {"build/bin/spacecap", "verify", "--keys", public, NULL};
	struct rates best = {0};

	if (sodium_init() < 0 || !mkdtemp(directory) ||
	    setenv("SPACE_CONFIG", "tests/fixtures/empty.ini", 1))
		stop("cannot start");
	make_keys();
	(void)snprintf(secret, sizeof(secret), "%s", in_directory("secret"));
	(void)snprintf(public, sizeof(public), "%s", in_directory("public"));
	write_routed("distinct", RECORDS);
	write_routed("same", 1);
	for (int run = 0; run < RUNS; run++) {
		keep_best(&best.minted,
		    RECORDS / run_filter(mint, in_directory("distinct"), in_directory("minted")));
		keep_best(&best.verified,
		    RECORDS / run_filter(verify, in_directory("minted"), "/dev/null"));
		keep_best(
		    &best.reused, RECORDS / run_filter(mint, in_directory("same"), "/dev/null"));
		bare_rates(signed_bytes(in_directory("minted")), &best);
	}
	bench_put("spacecap mint, each another sandbox", best.minted, "1/s", "libsodium sign",
	    best.sign, ">=", 0.4);
	bench_put("spacecap mint, one sandbox (reused)", best.reused, "1/s", "libsodium sign",
	    best.sign, ">=", 0.4);
	bench_put(
	    "spacecap verify", best.verified, "1/s", "libsodium verify", best.check, ">=", 0.55);
	(void)snprintf(remove, sizeof(remove), "rm -r %s", directory);
	return system(remove) == 0 ? 0 : 1;
}
