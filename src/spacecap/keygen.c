/* keygen: a new signing key, and what is public of it on standard output. */
#include "spacecap/verbs.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include "base/util.h"
#include "record/reason.h"
#include "token/signing_key.h"

int spacecap_keygen(struct sp_cli *cli)
{
	sp_auto_signing_key struct sp_signing_key *key = NULL;
	char public[SP_PASERK_PUBLIC_SIZE];
	struct sp_err err = {0};
	int bad = sp_signing_key_new(&key, &err);

	if (!bad)
		bad = sp_signing_key_save(
		    key, sp_cli_text(cli, "out"), sp_cli_text(cli, "passphrase-file"), &err);
	if (!bad)
		bad = sp_paserk_public_write(
		    sp_signing_key_public(key), SP_PUBLIC_KEY_SIZE, public, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	if (sp_cli_json(cli))
		return sp_cli_put_json(cli, json_pack("{ssssss}", "file", sp_cli_text(cli, "out"),
						"public", public, "id", sp_signing_key_id(key)));
	(void)printf(
	    "secret key in %s\n%s\n%s\n", sp_cli_text(cli, "out"), public, sp_signing_key_id(key));
	return SP_EXIT_DONE;
}
