/*
 * spaced-host: one for each activation. Each connection of the manager becomes a passage: its
 * client checked, the VMM attested, one greeting line answered, and then bytes both ways for as
 * long as the record stays what it was and the VMM what was recorded.
 */
#ifndef SP_SPACEBRIDGE_HOST_H
#define SP_SPACEBRIDGE_HOST_H

#include <ev.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "bridge/greeting.h"
#include "cli/cli.h"
#include "lease/lease.h"
#include "lease/live.h"
#include "net/audit.h"
#include "net/service.h"
#include "relay/relay.h"
#include "spacebridge/approach.h"
#include "store/store.h"

#define HOST_ROLE "spaced-host"

struct host;

struct passage {
	TAILQ_ENTRY(passage) entry;
	struct host *host;
	int client; /* the manager's connection */
	int64_t started_us;
	/* the record that it belongs to; epoch 0: none yet */
	struct sp_identity identity;
	int64_t epoch, version;
	struct approach approach; /* to the guest */
	ev_io parted;             /* the manager has ended, after a refusal */
	ev_timer limit;           /* of the admission */
	ev_timer retry;           /* while a change of the record is under way */
	/* once the greeting has gone */
	struct sp_lease *lease;
	struct sp_relay *relay;
};
TAILQ_HEAD(passages, passage);

struct host {
	struct sp_service *service;
	struct ev_loop *loop;
	struct sp_store *store;
	struct sp_holder *holder;
	struct sp_audit *audit;
	struct sp_cli *cli;
	struct sp_config config; /* as it says now */
	const char *sandbox, *manager_exe;
	char records[PATH_MAX + 16]; /* where they are */
	struct sp_uid_list manager;
	struct approach_options approach;
	struct approach_set watched;
	struct sp_lease_set *leases;
	struct sp_lease_live *live;
	struct passages passages;
	unsigned count;
	bool stopping;
};

/* Takes `fd`. */
void host_accept(void *context, int fd);

/* Ends a passage before its greeting: says why to the manager and in the audit. `report` may be
 * NULL. */
void passage_refuse(struct passage *passage, enum sp_reason reason, const struct sp_report *report);
void passage_fail(struct passage *passage, enum sp_error_kind error, const char *words);

/* The last look of all, and then the word. */
void passage_admit(struct passage *passage);

/* Frees it; nothing is said. */
void passage_free(struct passage *passage);

/*
 * Opens the passage's lease on the record that the VMM was proven against. 0; -EAGAIN: a change is
 * under way; SP_E_CONFLICT: *ret is why it must end; another code: err says why.
 */
int passage_lease(struct passage *passage, enum sp_reason *ret, struct sp_err *err);

/* The greeting has been said: moves bytes from now on. It may end within the call. */
void passage_relay(struct passage *passage);

/* (approach_handlers) */
void passage_lost(enum sp_reason reason, const char *words, void *context);
void passage_second(void *context);

#endif
