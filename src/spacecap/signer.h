/* What minting verbs share: a signer from flags and configuration. */
#ifndef SP_SPACECAP_SIGNER_H
#define SP_SPACECAP_SIGNER_H

#include "cli/cli.h"
#include "client/trail.h"
#include "token/mint.h"

/* From -k, --passphrase-file, --realm, --iss, --ttl and what the configuration has for them. */
int spacecap_minter_load(
    struct sp_cli *cli, const struct sp_config *config, struct sp_minter **ret, struct sp_err *err);

/* The parts of mint. */
int spacecap_mint_agent(struct sp_cli *cli);
int spacecap_mint_flags(struct sp_cli *cli, const struct sp_config *config);

#endif
