/* pubkey: the public half of a key, or its id, as one line. */
#include "spacecap/verbs.h"

#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/util.h"
#include "record/reason.h"
#include "token/signing_key.h"

static int read_public(struct sp_cli *cli, unsigned char *ret, struct sp_err *err)
{
	const char *path = sp_cli_argument(cli, 0),
		   *passphrase = sp_cli_text(cli, "passphrase-file");
	char *text;
	int bad;

	if (strcmp(path, "-") != 0)
		return sp_public_key_load(path, passphrase, ret, err);
	bad = sp_cli_secret(cli, path, SP_KEY_FILE_MAX, &text, err);
	if (bad)
		return bad;
	bad = sp_public_key_parse(text, passphrase, ret, err);
	sp_secret_free(text, strlen(text));
	return bad;
}

int spacecap_pubkey(struct sp_cli *cli)
{
	unsigned char public[SP_PUBLIC_KEY_SIZE];
	char text[SP_PASERK_PUBLIC_SIZE], kid[SP_KID_SIZE];
	struct sp_err err = {0};
	int bad = read_public(cli, public, &err);

	if (!bad)
		bad = sp_paserk_public_write(public, sizeof(public), text, &err);
	if (!bad)
		bad = sp_paserk_id(public, sizeof(public), kid, &err);
	if (bad)
		return sp_cli_fail(cli, &err);
	(void)printf("%s\n", sp_cli_flag(cli, "id") ? kid : text);
	return SP_EXIT_DONE;
}
