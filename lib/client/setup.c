/* From a command line to a path. */
#include "client/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/io.h"
#include "base/util.h"
#include "token/signing_key.h"

#define GRACE_MS 1000 /* so that a server's own word on a time limit comes first */

static int take_signer(struct sp_cli *cli, const struct sp_config *config,
    struct sp_client_setup *setup, struct sp_err *err)
{
	const char *key = sp_cli_text(cli, "key");
	const char *passphrase = sp_cli_text(cli, "passphrase-file");
	struct sp_signing_key *signing;
	int bad;

	if (sp_cli_text(cli, "agent"))
		return key || passphrase ? sp_fail(err, SP_E_USAGE,
					       "--key and --passphrase-file are the signer's own: "
					       "not with --agent")
					 : 0;
	bad = sp_signing_key_load(key ? key : config->keys_secret, passphrase, &signing, err);
	if (bad == -ENOENT && !key)
		return sp_fail(err, bad, SP_NO_SECRET_KEY, err->message);
	if (!bad)
		bad = sp_minter_new(
		    signing, config->realm, config->name, SP_CAP_LIFE_MAX, &setup->minter, err);
	if (!bad && config->audit_file[0])
		bad = sp_audit_open(config->audit_file, &setup->audit, err);
	return bad;
}

static void take_limits(const struct sp_config *config, struct sp_path_options *options)
{
	options->cache_timeout_ms = (int)config->registry_timeout_ms + GRACE_MS;
	options->manager_uids = config->manager_uid.uids;
	options->manager_uid_count = config->manager_uid.count;
	options->manager_timeout_ms = (int)config->manager_timeout_ms + GRACE_MS;
}

static int set_up(
    struct sp_cli *cli, bool no_streams, struct sp_client_setup *setup, struct sp_err *err)
{
	const struct sp_config *config = sp_cli_config(cli);
	const char *cache = sp_cli_text(cli, "cache");
	int bad;

	if (!config)
		return sp_fail(err, SP_E_CONFIG, "no configuration");
	(void)signal(SIGPIPE, SIG_IGN);
	setup->loop = ev_default_loop(EVFLAG_AUTO);
	if (!setup->loop)
		return sp_fail(err, SP_E_UNAVAILABLE, "no event loop on this system");
	bad = take_signer(cli, config, setup, err);
	if (bad)
		return bad;
	struct sp_path_options options = {.loop = setup->loop,
	    .cache_socket = cache ? cache : config->cache_socket,
	    .signer_socket = sp_cli_text(cli, "agent"),
	    .minter = setup->minter,
	    .audit = setup->audit,
	    .no_streams = no_streams};
	take_limits(config, &options);
	return sp_path_new(&options, &setup->path, err);
}

int sp_client_setup_init(struct sp_cli *cli, struct sp_client_setup *setup, struct sp_err *err)
{
	const char *token = sp_cli_text(cli, "token-file");
	int bad = 0;

	if (token)
		bad = sp_who_token(token, &setup->who, err);
	else
		sp_who_self(&setup->who);
	return bad ? bad : set_up(cli, false, setup, err);
}

int sp_client_setup_lines(struct sp_cli *cli, struct sp_client_setup *setup, struct sp_err *err)
{
	return set_up(cli, true, setup, err);
}

int sp_client_setup_again(struct sp_cli *cli, struct sp_client_setup *setup, struct sp_err *err)
{
	sp_auto_free struct sp_config *config = calloc(1, sizeof(*config));
	struct sp_path_options options = {.loop = NULL};
	int bad =
	    config ? sp_cli_config_again(cli, config, err) : sp_fail(err, -ENOMEM, "out of memory");

	if (bad)
		return bad;
	take_limits(config, &options);
	sp_path_limits(setup->path, &options);
	free(setup->again);
	setup->again = sp_steal(&config);
	return 0;
}

void sp_client_setup_done(struct sp_client_setup *setup)
{
	sp_path_free(setup->path);
	sp_audit_close(setup->audit);
	sp_minter_free(setup->minter);
	free(setup->again);
}

static int own(int fd, const char *what, int *ret, struct sp_err *err)
{
	sp_auto_fd int mine = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int bad = mine < 0 ? -errno : sp_descriptor_unblock(mine);

	if (bad)
		return sp_fail(err, bad, "%s: %s", what, sp_code_text(bad));
	*ret = sp_steal_fd(&mine);
	return 0;
}

int sp_client_ends(bool input, int *ret_in, int *ret_out, int *ret_err, struct sp_err *err)
{
	sp_auto_fd int in = -1, out = -1, error = -1, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int bad = null < 0 ? sp_fail_errno(err, "/dev/null") : 0;

	if (!bad)
		bad = own(input ? STDIN_FILENO : null, "standard input", &in, err);
	if (!bad)
		bad = own(STDOUT_FILENO, "standard output", &out, err);
	if (!bad)
		bad = own(STDERR_FILENO, "standard error", &error, err);
	if (bad)
		return bad;
	if (dup2(null, STDOUT_FILENO) < 0)
		return sp_fail_errno(err, "/dev/null");
	*ret_in = sp_steal_fd(&in);
	*ret_out = sp_steal_fd(&out);
	*ret_err = sp_steal_fd(&error);
	return 0;
}
