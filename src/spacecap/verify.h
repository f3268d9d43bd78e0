/* What the two faces of verify share. */
#ifndef SP_SPACECAP_VERIFY_H
#define SP_SPACECAP_VERIFY_H

#include <stdint.h>
#include "cli/cli.h"
#include "token/capability.h"
#include "token/keyring.h"

struct spacecap_verifier {
	const char *source, *realm, *roots; /* borrowed */
	struct sp_keyring *keys;
	int64_t at, skew; /* at -1: the clock */
};

/* From --keys, --root, --realm, --at, --skew and the configuration. An error has been told: an exit
 * code. */
int spacecap_verifier_load(
    struct sp_cli *cli, const struct sp_config *config, struct spacecap_verifier *ret);

/* The time to judge by. */
int64_t spacecap_verifier_now(const struct spacecap_verifier *verifier);

/* One token from the command line, and records from standard input. */
int spacecap_verify_token(struct sp_cli *cli, const struct spacecap_verifier *verifier);
int spacecap_verify_filter(
    struct sp_cli *cli, struct spacecap_verifier *verifier /* its keys go */);

#endif
