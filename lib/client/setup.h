/* What a client verb needs to call anything: who asks, and where cache, signer and key are; from
 * options that all of them have. */
#ifndef SP_CLIENT_SETUP_H
#define SP_CLIENT_SETUP_H

#include <ev.h>
#include "call/call.h"
#include "cli/cli.h"

/* What is said where the configuration's signing key is not there, behind the error's own words. */
#define SP_NO_SECRET_KEY "%s ([keys] secret; --key names another, spacecap keygen makes one)"

/* Rows of an option table; SP_PATH_FLAGS where who asks is told otherwise. */
#define SP_CLIENT_FLAGS                                                                            \
	{"token-file", 0, SP_OPTION_FILE, "FILE",                                                  \
	    "ask as the owner of this bearer token (default: as our own uid)", NULL, false},       \
	    SP_PATH_FLAGS
#define SP_PATH_FLAGS                                                                              \
	{"agent", 0, SP_OPTION_FILE, "SOCK",                                                       \
	    "ask this signer for capabilities, instead of holding the key", NULL, false},          \
	    {"key", 'k', SP_OPTION_FILE, "FILE", "the signing key (default: [keys] secret)", NULL, \
		false},                                                                            \
	    {"passphrase-file", 0, SP_OPTION_FILE, "FILE", "the key's passphrase", NULL, false},   \
	{                                                                                          \
		"cache", 0, SP_OPTION_FILE, "SOCK",                                                \
		    "where the route cache listens (default: [cache] socket)", NULL, false         \
	}

struct sp_client_setup {
	struct ev_loop *loop;
	struct sp_who who;
	struct sp_path *path;
	struct sp_minter *minter;
	struct sp_audit *audit;
	struct sp_config *again; /* heap: what was read again last; NULL: nothing was */
};

/* From those options and the configuration. SIGPIPE is ignored from here on. Takes zeroed memory;
 * for sp_client_setup_done in any case. */
int sp_client_setup_init(struct sp_cli *cli, struct sp_client_setup *setup, struct sp_err *err);

/* The same for calls that are answered by lines, without streams; who asks is known already, and
 * --token-file not looked at. */
int sp_client_setup_lines(struct sp_cli *cli, struct sp_client_setup *setup, struct sp_err *err);

/*
 * A server's: the configuration read again, from which uids and time limits are taken (those of
 * [manager], [registry] timeout_ms); sockets, key, realm and audit file are those of the start. On
 * failure what was stays in use.
 */
int sp_client_setup_again(struct sp_cli *cli, struct sp_client_setup *setup, struct sp_err *err);

void sp_client_setup_done(struct sp_client_setup *setup);

/*
 * Our standard input, output and error as descriptors of their own that do not block. Without
 * `input` ours is left alone, and what is given has ended. From here on
 * descriptor 1 is /dev/null, so that whoever reads our output sees its end when the stream's comes.
 */
int sp_client_ends(bool input, int *ret_in, int *ret_out, int *ret_err, struct sp_err *err);

#endif
