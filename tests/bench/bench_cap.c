/*
 * spacecap mint and verify as filters beside bare libsodium over the same bytes: on one core by
 * processor time, user and system, of the whole process, so that others on the machine do not
 * count; on two (--jobs 2) by the clock, beside two processes of bare libsodium. Every record names
 * another sandbox, so that no capability is reused; then the same with one sandbox, where all but
 * the first are. Medians of interleaved runs.
 */
#include <sodium.h>
#include "filter.h"
#include "token/paseto.h"
#include "token/signing_key.h"

#define RECORDS 20000
#define RUNS    9

static char directory[] = "/tmp/space-bench-XXXXXX";

static char secret[64], public_keys[64], distinct[64], same[64], minted[64];

static void name_files(void)
{
	(void)snprintf(secret, sizeof(secret), "%s/secret", directory);
	(void)snprintf(public_keys, sizeof(public_keys), "%s/public", directory);
	(void)snprintf(distinct, sizeof(distinct), "%s/distinct", directory);
	(void)snprintf(same, sizeof(same), "%s/same", directory);
	(void)snprintf(minted, sizeof(minted), "%s/minted", directory);
}

static void write_routed(const char *name, unsigned sandboxes)
{
	FILE *file = fopen(name, "w");

	if (!file)
		bench_fail("cannot write");
	for (unsigned i = 0; i < RECORDS; i++)
		(void)fprintf(file,
		    "{\"id\":\"r%u\",\"op\":\"file.read\",\"sandbox\":\"s-%u\",\"args\":{\"path\":"
		    "\"/etc/hostname\"},\"caller\":\"uid:1000\",\"route\":{\"execution\":7,"
		    "\"worker\":\"worker-a\",\"substrate\":\"kubernetes\",\"pod_uid\":"
		    "\"0b9f6a2e-0c1d-4e2f-8a3b-5c6d7e8f9a0b\",\"activation\":\"act-19\","
		    "\"attempt\":1},\"endpoint\":\"unix:/run/space/manager.sock\",\"access\":["
		    "\"file.read\",\"exec.*\"],\"authorized_until\":\"2999-01-01T00:00:00Z\","
		    "\"attempted\":1}\n",
		    i, i % sandboxes);
	if (fclose(file) != 0)
		bench_fail("cannot write");
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
		bench_fail("no token");
	(void)fclose(file);
	size = strcspn(token, "\"");
	if (!sp_paseto_split(token, size, &parts))
		bench_fail("no token");
	return 8 * 5 + strlen(SP_PASETO_HEADER) + parts.message_size + parts.footer_size +
	       strlen("space.cap.v1:space");
}

/* As many bytes as the records' tokens have, and keys for them. */
struct bare {
	unsigned char public[32], secret[64], signature[64];
	size_t size;
	unsigned char *bytes;
};

static void sign(void *context, unsigned part, unsigned parts)
{
	struct bare *bare = context;
	unsigned char signature[64];

	for (unsigned i = part; i < RECORDS; i += parts) {
		memcpy(bare->bytes, &i, sizeof(i));
		(void)crypto_sign_detached(signature, NULL, bare->bytes, bare->size, bare->secret);
	}
}

static void check(void *context, unsigned part, unsigned parts)
{
	struct bare *bare = context;

	for (unsigned i = part; i < RECORDS; i += parts)
		if (crypto_sign_verify_detached(
			bare->signature, bare->bytes, bare->size, bare->public) != 0)
			_exit(1);
}

static void make_bare(size_t size, struct bare *bare)
{
	bare->size = size;
	bare->bytes = calloc(1, size);
	if (!bare->bytes)
		bench_fail("out of memory");
	(void)crypto_sign_keypair(bare->public, bare->secret);
	(void)crypto_sign_detached(bare->signature, NULL, bare->bytes, bare->size, bare->secret);
}

static void make_keys(void)
{
	struct sp_signing_key *key = NULL;
	char public[SP_PASERK_PUBLIC_SIZE];
	FILE *file = fopen(public_keys, "w");

	if (!file || sp_signing_key_new(&key, NULL) < 0 ||
	    sp_signing_key_save(key, secret, NULL, NULL) < 0 ||
	    sp_paserk_public_write(sp_signing_key_public(key), 32, public, NULL) < 0)
		bench_fail("cannot make keys");
	(void)fprintf(file, "%s\n", public);
	(void)fclose(file);
	sp_signing_key_free(key);
}

struct rates {
	double minted[RUNS], reused[RUNS], verified[RUNS], sign[RUNS], check[RUNS];
};

/* On one core: by processor time. */
static void measure_one(struct bare *bare)
{
	char *mint[] = {"build/bin/spacecap", "mint", "-k", secret, NULL};
	char *verify[] = {"build/bin/spacecap", "verify", "--keys", public_keys, NULL};
	static struct rates rates;

	for (int i = 0; i < RUNS; i++) {
		rates.minted[i] = RECORDS / bench_filter(mint, distinct, minted, 0).processor;
		rates.sign[i] = RECORDS / bench_alone(sign, bare, 1).processor;
		rates.reused[i] = RECORDS / bench_filter(mint, same, "/dev/null", 0).processor;
		rates.verified[i] =
		    RECORDS / bench_filter(verify, minted, "/dev/null", 0).processor;
		rates.check[i] = RECORDS / bench_alone(check, bare, 1).processor;
	}
	bench_put_pairs("spacecap mint, each another sandbox", rates.minted, "1/s",
	    "libsodium sign", rates.sign, RUNS, ">=", 0.75);
	bench_put_pairs("spacecap verify", rates.verified, "1/s", "libsodium verify", rates.check,
	    RUNS, ">=", 0.85);
	bench_put_pairs("spacecap mint, one sandbox (reused)", rates.reused, "1/s",
	    "libsodium sign", rates.sign, RUNS, ">=", 1);
}

/* On two: by the clock, beside two processes. "Near twice": nine tenths of what one core must do.
 */
static void measure_two(struct bare *bare)
{
	char *mint[] = {"build/bin/spacecap", "mint", "--jobs", "2", "-k", secret, NULL};
	char *verify[] = {
	    "build/bin/spacecap", "verify", "--jobs", "2", "--keys", public_keys, NULL};
	static struct rates rates;

	for (int i = 0; i < RUNS; i++) {
		rates.minted[i] = RECORDS / bench_filter(mint, distinct, minted, 0).wall;
		rates.sign[i] = RECORDS / bench_alone(sign, bare, 2).wall;
		rates.verified[i] = RECORDS / bench_filter(verify, minted, "/dev/null", 0).wall;
		rates.check[i] = RECORDS / bench_alone(check, bare, 2).wall;
	}
	bench_put_pairs("spacecap mint --jobs 2", rates.minted, "1/s",
	    "libsodium sign in two processes", rates.sign, RUNS, ">=", 0.675);
	bench_put_pairs("spacecap verify --jobs 2", rates.verified, "1/s",
	    "libsodium verify in two processes", rates.check, RUNS, ">=", 0.765);
}

int main(void)
{
	char *first[] = {"build/bin/spacecap", "mint", "-k", secret, NULL};
	char remove[64];
	struct bare bare;

	if (sodium_init() < 0 || !mkdtemp(directory) ||
	    setenv("SPACE_CONFIG", "tests/fixtures/empty.ini", 1))
		bench_fail("cannot start");
	name_files();
	make_keys();
	write_routed(distinct, RECORDS);
	write_routed(same, 1);
	(void)bench_filter(first, distinct, minted, 0);
	make_bare(signed_bytes(minted), &bare);
	measure_one(&bare);
	measure_two(&bare);
	(void)snprintf(remove, sizeof(remove), "rm -r %s", directory);
	return system(remove) == 0 ? 0 : 1;
}
