/*
 * agent: the signer as a server. Whoever may ask is part of the control plane, so the peer's uid is
 * checked before a line of it is looked at; the key never leaves locked memory, and no other
 * process of this user can read it out (PR_SET_DUMPABLE).
 */
#include "spacecap/signer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/util.h"
#include "call/mint.h"
#include "net/conn.h"
#include "net/service.h"
#include "net/unix.h"
#include "record/json.h"
#include "record/result.h"
#include "spacecap/verbs.h"

#define CONNECTIONS_MAX 256
#define IDLE_LIMIT      300. /* seconds; a client that is cut connects again for its next question */

struct agent {
	struct sp_cli *cli;
	struct sp_service *service;
	struct sp_minter *minter;
	struct sp_audit *audit;
	struct sp_uid_list allow;
	unsigned open, strangers;
	bool stopping;
	struct peer *peers;
	const char *files[3]; /* what is watched: key, passphrase (or NULL), configuration */
	struct stat seen[3];
};

struct peer {
	struct agent *agent;
	struct sp_conn *conn;
	struct peer *next, **back;
	bool allowed;
	uid_t uid;
	size_t lines;
};

static void put(struct peer *peer, json_t *answer)
{
	sp_auto_free char *text = answer ? sp_json_text(answer) : NULL;

	if (!text || sp_conn_put(peer->conn, text, strlen(text)) < 0)
		sp_conn_close(peer->conn, false);
	else if (sp_conn_full(peer->conn))
		sp_conn_pause(peer->conn);
	json_decref(answer);
}

/* One answer, so that the other side knows why, and the end. */
static void turn_away(struct peer *peer)
{
	char note[64], caller[32];
	const struct sp_audit_line line = {.role = SP_SIGNER_HOP,
	    .caller = caller,
	    .reason = SP_REASON_UNAUTHORIZED,
	    .note = note};

	(void)snprintf(caller, sizeof(caller), "uid:%u", (unsigned)peer->uid);
	(void)snprintf(
	    note, sizeof(note), "uid %u is not in [signer] allow_uids", (unsigned)peer->uid);
	sp_audit_write(peer->agent->audit, &line);
	put(peer, sp_result_refused(NULL, SP_REASON_UNAUTHORIZED, SP_BEHIND_NONE, SP_SIGNER_HOP));
	sp_conn_pause(peer->conn);
	sp_conn_close(peer->conn, true);
}

static json_t *answer_to(struct agent *agent, const char *line, size_t size, size_t number)
{
	sp_auto_json json_t *record = NULL;
	struct sp_err err = {0};
	json_t *answer = NULL;
	int bad = sp_json_parse(line, size, &record, &err);

	if (!bad)
		bad = sp_mint_stage_sign(agent->minter, agent->audit, record, &answer, &err);
	if (bad == SP_E_BAD_RECORD)
		return sp_result_bad_record(NULL, number, err.message);
	return bad ? sp_result_error(NULL, SP_ERROR_INTERNAL, false, err.message) : answer;
}

static void on_line(struct sp_conn *conn, char *line, size_t size, void *context)
{
	struct peer *peer = context;

	(void)conn;
	peer->lines++;
	if (peer->allowed)
		put(peer, answer_to(peer->agent, line, size, peer->lines));
	else if (peer->lines == 1)
		turn_away(peer);
}

static void on_too_long(struct sp_conn *conn, void *context)
{
	struct peer *peer = context;

	(void)conn;
	peer->lines++;
	if (peer->allowed)
		put(peer, sp_result_bad_record(NULL, peer->lines, "line longer than 256 KiB"));
	else if (peer->lines == 1)
		turn_away(peer);
}

static void on_end(struct sp_conn *conn, void *context)
{
	(void)context;
	sp_conn_close(conn, true);
}

static void on_drain(struct sp_conn *conn, void *context)
{
	(void)context;
	sp_conn_resume(conn);
}

static void on_close(struct sp_conn *conn, int code, void *context)
{
	struct peer *peer = context;
	struct agent *agent = peer->agent;

	(void)conn;
	(void)code;
	*peer->back = peer->next;
	if (peer->next)
		peer->next->back = peer->back;
	agent->strangers -= !peer->allowed;
	free(peer);
	sp_service_release(agent->service);
	agent->open--;
	if (agent->stopping && agent->open == 0)
		sp_service_exit(agent->service);
}

static const struct sp_conn_handlers HANDLERS = {.on_line = on_line,
    .on_too_long = on_too_long,
    .on_end = on_end,
    .on_close = on_close,
    .on_drain = on_drain};

static void on_accept(void *context, int fd)
{
	struct agent *agent = context;
	struct peer *peer = calloc(1, sizeof(*peer));
	struct ucred credentials = {.uid = (uid_t)-1};

	if (!peer || sp_unix_peer(fd, &credentials) < 0 ||
	    sp_conn_new(sp_service_loop(agent->service), fd, &HANDLERS, peer, &peer->conn) < 0) {
		free(peer);
		(void)close(fd);
		sp_service_release(agent->service);
		return;
	}
	peer->agent = agent;
	peer->uid = credentials.uid;
	peer->allowed = sp_uid_list_allows(&agent->allow, credentials.uid);
	peer->next = agent->peers;
	peer->back = &agent->peers;
	if (peer->next)
		peer->next->back = &peer->next;
	agent->peers = peer;
	agent->open++;
	sp_conn_idle_limit(peer->conn, peer->allowed ? IDLE_LIMIT : SP_STRANGER_LIMIT);
	if (!peer->allowed && agent->strangers++ >= SP_STRANGERS_MAX)
		sp_conn_close(peer->conn, false);
}

/* Questions are answered as they come: there is nothing in flight but answers to be written. */
static void on_stop(void *context)
{
	struct agent *agent = context;

	agent->stopping = true;
	for (struct peer *peer = agent->peers; peer; peer = peer->next)
		sp_conn_close(peer->conn, true);
	if (agent->open == 0)
		sp_service_exit(agent->service);
}

/* Has one of the files changed since the last look? */
static bool look_at_files(struct agent *agent)
{
	bool changed = false;

	for (size_t i = 0; i < SP_COUNT(agent->files); i++) {
		struct stat now = {0}, *seen = &agent->seen[i];
		if (agent->files[i] && stat(agent->files[i], &now) < 0)
			memset(&now, 0, sizeof(now));
		changed |= now.st_ino != seen->st_ino || now.st_dev != seen->st_dev ||
			   now.st_size != seen->st_size ||
			   memcmp(&now.st_mtim, &seen->st_mtim, sizeof(now.st_mtim)) != 0 ||
			   memcmp(&now.st_ctim, &seen->st_ctim, sizeof(now.st_ctim)) != 0;
		*seen = now;
	}
	return changed;
}

static int load_again(struct agent *agent, struct sp_minter **ret_minter,
    struct sp_uid_list *ret_allow, struct sp_err *err)
{
	sp_auto_free struct sp_config *config = calloc(1, sizeof(*config));
	int bad = config ? sp_cli_config_again(agent->cli, config, err)
			 : sp_fail(err, -ENOMEM, "out of memory");

	if (!bad)
		bad = spacecap_minter_load(agent->cli, config, ret_minter, err);
	if (!bad)
		*ret_allow = config->signer_allow;
	return bad;
}

/* What cannot be loaded leaves what was loaded before, and is said. */
static void reload(void *context)
{
	struct agent *agent = context;
	struct sp_minter *minter = NULL;
	struct sp_err err = {0};

	look_at_files(agent);
	(void)sp_audit_reopen(agent->audit, NULL);
	if (load_again(agent, &minter, &agent->allow, &err) < 0) {
		(void)sp_err_prefix(&err, err.code, "reload failed, the key before stays in use");
		(void)sp_cli_fail(agent->cli, &err);
		return;
	}
	sp_minter_free(agent->minter);
	agent->minter = minter;
	for (struct peer *peer = agent->peers; peer; peer = peer->next)
		peer->allowed = sp_uid_list_allows(&agent->allow, peer->uid);
}

/* Other files of the directory change too, and opening a sealed key takes a second. */
static void on_file_event(void *context)
{
	if (look_at_files(context))
		reload(context);
}

static int set_up(struct agent *agent, const struct sp_config *config, struct sp_err *err)
{
	const char *path = sp_cli_text(agent->cli, "listen"), *key = sp_cli_text(agent->cli, "key");
	int bad;

	agent->allow = config->signer_allow;
	agent->files[0] = key ? key : config->keys_secret;
	agent->files[1] = sp_cli_text(agent->cli, "passphrase-file");
	agent->files[2] = sp_cli_config_path(agent->cli);
	/* Looked at before they are read: what changes meanwhile is read again. */
	(void)look_at_files(agent);
	bad = spacecap_minter_load(agent->cli, config, &agent->minter, err);
	if (!bad)
		bad = sp_trail_file(agent->cli, config, &agent->audit, err);
	/* A server's decisions are always written down somewhere. */
	if (!bad && !agent->audit)
		bad = sp_audit_open(NULL, &agent->audit, err);
	if (!bad)
		bad = sp_service_new(&agent->service, err);
	if (bad)
		return bad;
	sp_audit_attach(agent->audit, sp_service_loop(agent->service));
	sp_service_on_stop(agent->service, on_stop, agent);
	for (size_t i = 0; i < SP_COUNT(agent->files) && !bad; i++)
		if (agent->files[i])
			bad = sp_service_on_change(
			    agent->service, agent->files[i], on_file_event, agent, err);
	if (!bad)
		bad = sp_service_on_change(agent->service, NULL, reload, agent, err);
	return bad ? bad
		   : sp_service_listen(agent->service, path ? path : config->signer_socket, 0660,
			 CONNECTIONS_MAX, on_accept, agent, err);
}

int spacecap_agent(struct sp_cli *cli)
{
	const struct sp_config *config = sp_cli_config(cli);
	struct agent agent = {.cli = cli};
	struct sp_err err = {0};
	int bad;

	if (!config)
		return SP_EXIT_USAGE;
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		bad = sp_fail_errno(&err, "PR_SET_DUMPABLE");
	else
		bad = set_up(&agent, config, &err);
	if (!bad)
		bad = sp_service_run(agent.service, &err);
	sp_service_free(agent.service);
	sp_audit_close(agent.audit);
	sp_minter_free(agent.minter);
	return bad ? sp_cli_fail(cli, &err) : SP_EXIT_DONE;
}
