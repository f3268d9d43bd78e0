/* space.ini (09-files): one table of keys with defaults and bounds, read strictly. */
#ifndef SP_CLI_CONFIG_H
#define SP_CLI_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "base/err.h"

#define SP_CONFIG_KEYS_MAX  64
#define SP_CONFIG_UIDS_MAX  16
#define SP_CONFIG_PORTS_MAX 64
#define SP_CONFIG_TEXT_MAX  1024

/* uids of a list key; count 0: the default said in space.ini(5). */
struct sp_uid_list {
	unsigned count;
	uid_t uids[SP_CONFIG_UIDS_MAX];
};

/* Of a list whose default is this process's own uid. */
bool sp_uid_list_allows(const struct sp_uid_list *list, uid_t uid);

struct sp_config {
	/* [space] */
	char realm[SP_ID_MAX + 1], name[SP_ID_MAX + 1],
	    worker[SP_ID_MAX + 1]; /* worker "": not set */
	char state_dir[PATH_MAX], run_dir[PATH_MAX];
	/* [keys] */
	char keys_secret[PATH_MAX], keys_bundle[PATH_MAX], keys_url[SP_CONFIG_TEXT_MAX],
	    keys_root[SP_CONFIG_TEXT_MAX];
	int64_t max_skew; /* seconds */
	/* [signer] */
	char signer_socket[PATH_MAX];
	struct sp_uid_list signer_allow;
	/* [registry] */
	char registry_url[SP_CONFIG_TEXT_MAX];
	int64_t registry_timeout_ms;
	char registry_tls_ca[PATH_MAX], registry_tls_cert[PATH_MAX], registry_tls_key[PATH_MAX];
	/* [cache] */
	char cache_socket[PATH_MAX];
	struct sp_uid_list cache_allow;
	int64_t session_ttl; /* seconds */
	int64_t max_entries;
	/* [manager] */
	char manager_socket[PATH_MAX];
	struct sp_uid_list manager_uid;   /* who the manager may be, for its clients */
	struct sp_uid_list manager_allow; /* whom the manager serves */
	int64_t max_inflight;             /* requests a connection */
	int64_t manager_timeout_ms;
	/* [bridge] */
	char min_level[16]; /* full, pidfd, launch-pidfd */
	int64_t connect_timeout_ms;
	char manager_exe[PATH_MAX]; /* what may connect to the bridge; "": our own executable */
	struct sp_uid_list bridge_manager_uid;
	/* [guest] */
	int64_t guest_port;
	char guest_root[PATH_MAX];
	int64_t max_sessions;
	int64_t max_tree_mib, max_tree_entries;
	/* [gateway] */
	char gateway_listen[SP_CONFIG_TEXT_MAX];
	bool gateway_http;
	struct sp_uid_list gateway_uid; /* who the gateways are, for the manager */
	char gateway_exe[PATH_MAX];     /* what they run; "": our own executable */
	char tls_cert[PATH_MAX], tls_key[PATH_MAX];
	struct {
		unsigned count;
		uint16_t ports[SP_CONFIG_PORTS_MAX];
	} deny_ports;
	int64_t half_close_timeout; /* seconds */
	int64_t max_streams;
	/* [streams] */
	int64_t cut_timeout_ms;   /* `cut_timeout`, seconds in the file with up to 3 decimals */
	int64_t reattach_timeout; /* seconds */
	/* [audit] */
	char audit_file[PATH_MAX]; /* "": stderr */
	/* Which keys the file gave, by row of the table. */
	bool from_file[SP_CONFIG_KEYS_MAX];
};

enum sp_config_source { SP_CONFIG_DEFAULT, SP_CONFIG_FILE, SP_CONFIG_DERIVED };

/*
 * Defaults, then `path` (NULL or missing with `optional`: defaults alone), then what derives from
 * others (sockets under run_dir, keys and registry under state_dir). SP_E_CONFIG names file, line,
 * section and key.
 */
int sp_config_load(const char *path, bool optional, struct sp_config *ret, struct sp_err *err);

/* Walks the table: section, key, value in force as text, where it came from. NULL section past the
 * end. For `TOOL config` and space.ini(5)'s test. */
struct sp_config_row {
	const char *section, *key, *unit, *help;
	enum sp_config_source source;
	char value[PATH_MAX];
};
bool sp_config_row(const struct sp_config *config, unsigned index, struct sp_config_row *ret);

#endif
