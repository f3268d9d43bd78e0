/* The verbs of spacecap. */
#ifndef SP_SPACECAP_VERBS_H
#define SP_SPACECAP_VERBS_H

#include "cli/cli.h"

int spacecap_agent(struct sp_cli *cli);
int spacecap_bundle_build(struct sp_cli *cli);
int spacecap_bundle_install(struct sp_cli *cli);
int spacecap_bundle_list(struct sp_cli *cli);
int spacecap_bundle_revoke(struct sp_cli *cli);
int spacecap_bundle_verify(struct sp_cli *cli);
int spacecap_inspect(struct sp_cli *cli);
int spacecap_keygen(struct sp_cli *cli);
int spacecap_mint(struct sp_cli *cli);
int spacecap_pubkey(struct sp_cli *cli);
int spacecap_verify(struct sp_cli *cli);

#endif
