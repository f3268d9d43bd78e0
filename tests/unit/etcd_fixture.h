/* An etcd of the test's own: started with its data in a scratch directory, on an address of its own
 * in 127.0.0.0/8, ended with the test. */
#ifndef TESTS_UNIT_ETCD_FIXTURE_H
#define TESTS_UNIT_ETCD_FIXTURE_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "routing/registry.h"

static pid_t etcd_pid;
static char etcd_endpoint[64];

/* Is it there at all? */
static inline bool etcd_is_installed(void)
{
	return access("/usr/bin/etcd", X_OK) == 0 || access("/usr/local/bin/etcd", X_OK) == 0;
}

static inline void etcd_exec(const char *directory)
{
	char peer[80], cluster[96];

	(void)snprintf(
	    peer, sizeof(peer), "%.*s:2380", (int)strlen(etcd_endpoint) - 5, etcd_endpoint);
	(void)snprintf(cluster, sizeof(cluster), "default=%s", peer);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		_exit(126);
	(void)execlp("etcd", "etcd", "--data-dir", directory, "--unsafe-no-fsync", "--logger",
	    "zap", "--listen-client-urls", etcd_endpoint, "--advertise-client-urls", etcd_endpoint,
	    "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
	    cluster, (char *)NULL);
	_exit(127);
}

/* Returns once it answers. */
static inline int etcd_begin(const char *directory)
{
	const struct sp_registry_options options = {.timeout_ms = 1000, .create = true};
	unsigned pid = (unsigned)getpid();
	char url[96];

	(void)snprintf(etcd_endpoint, sizeof(etcd_endpoint), "http://127.%u.%u.%u:2379",
	    251 + pid % 4, 1 + pid / 4 % 250, 1 + pid / 1000 % 250);
	(void)snprintf(url, sizeof(url), "etcd:%s/ready", etcd_endpoint);
	etcd_pid = fork();
	if (etcd_pid == 0)
		etcd_exec(directory);
	for (int i = 0; etcd_pid > 0 && i < 300; i++) {
		struct sp_registry *registry;
		if (waitpid(etcd_pid, NULL, WNOHANG) != 0)
			return -1;
		if (sp_registry_open(url, &options, &registry, NULL) == 0) {
			sp_registry_close(registry);
			return 0;
		}
		(void)usleep(20000);
	}
	return -1;
}

static inline void etcd_end(void)
{
	if (etcd_pid <= 0)
		return;
	(void)kill(etcd_pid, SIGKILL);
	(void)waitpid(etcd_pid, NULL, 0);
	etcd_pid = 0;
}

#endif
