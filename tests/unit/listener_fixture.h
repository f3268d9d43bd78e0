/* A server on a Unix socket, its evidence as a bridge's and as a VMM's, and attestations of it. */
#ifndef TESTS_UNIT_LISTENER_FIXTURE_H
#define TESTS_UNIT_LISTENER_FIXTURE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attest/attest.h"
#include "base/io.h"

#define BACKLOG 64

static char directory[] = "/tmp/test_checks.XXXXXX";
static char path[64];
static pid_t server;
static json_t *bridge, *vmm;

static inline void serve(int ready)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), one;
	char byte;

	(void)strcpy(name.sun_path, path);
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, BACKLOG) < 0)
		_exit(1);
	if (write(ready, "x", 1) < 0)
		_exit(1);
	(void)signal(SIGPIPE, SIG_IGN);
	while ((one = accept(fd, NULL, NULL)) >= 0) {
		/* Many are closed unread by the other side: that is its right. */
		if (write(one, "x", 1) == 1)
			while (read(one, &byte, 1) > 0)
				;
		(void)close(one);
	}
	_exit(0);
}

static inline json_t *enroll(enum sp_role role)
{
	struct sp_enroll what = {.role = role, .pid = server, .path = path, .cid = 42};
	struct sp_err err = {0};
	json_t *object = NULL;

	if (sp_evidence_enroll(&what, &object, &err))
		fail_msg("enroll: %s", err.message);
	return object;
}

static inline int start(void **unused)
{
	int ready[2];
	char byte;

	(void)unused;
	sp_attest_private();
	assert_non_null(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/s", directory);
	assert_int_equal(pipe(ready), 0);
	server = fork();
	if (server == 0)
		serve(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	bridge = enroll(SP_ROLE_BRIDGE);
	vmm = enroll(SP_ROLE_VMM);
	return 0;
}

static inline int finish(void **unused)
{
	(void)unused;
	json_decref(bridge);
	json_decref(vmm);
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	(void)unlink(path);
	(void)rmdir(directory);
	return 0;
}

/* Every step on one connection, as a server would take them. */
static inline enum sp_reason attest(
    enum sp_role role, const json_t *evidence, enum sp_level level, struct sp_report *report)
{
	struct sp_attestation *made = NULL;
	enum sp_reason reason = sp_attest_open(role, evidence, level, report, &made);
	char byte;

	if (reason == SP_REASON_NONE) {
		assert_non_null(made);
		assert_int_equal(sp_read_exact(sp_attest_fd(made), &byte, 1, 5000), 0);
		reason = sp_attest_accepted(made, report);
	}
	if (reason == SP_REASON_NONE)
		reason = sp_attest_alive(made, report);
	sp_attest_close(made);
	return reason;
}

#endif
