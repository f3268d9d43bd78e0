/*
 * What the cluster is asked without waiting for it: lookups, each with a few others at once, and
 * one watch. registry_etcd_wait.c carries the requests, registry_etcd_lookup.c asks and answers,
 * registry_etcd_watch.c reads what has changed. Not for others.
 */
#ifndef SP_ROUTING_REGISTRY_ETCD_WAIT_H
#define SP_ROUTING_REGISTRY_ETCD_WAIT_H

#include <sys/queue.h>
#include "routing/registry_etcd.h"

#define SP_ETCD_LANES         16    /* lookups on the wire at once */
#define SP_ETCD_QUEUE_MAX     65536 /* lookups that wait for a lane */
#define SP_ETCD_WATCH_LIFE_MS 5000  /* a watch is opened anew: a member that hangs is left */
#define SP_ETCD_RETRY_MS      500   /* between two rounds over all members */

/* One lookup; its request is made when it is its turn. */
struct sp_etcd_wait {
	TAILQ_ENTRY(sp_etcd_wait) link;
	sp_registry_looked_fn *looked;
	void *context;
	int64_t deadline; /* monotonic, milliseconds */
	int64_t now;      /* seconds: for grants that end */
	unsigned tries;   /* members asked */
	bool authorize, has_credential;
	unsigned char credential[SP_CREDENTIAL_SIZE];
	char *caller; /* behind the sandbox */
	char sandbox[];
};

struct sp_etcd_lane {
	CURL *easy;
	struct sp_etcd_wait *wait; /* NULL: free */
	char *body;
	unsigned endpoint;
	struct sp_etcd_gathered gathered;
};

struct sp_etcd_watch {
	CURL *easy;
	char *body; /* NULL: not open */
	bool created;
	unsigned endpoint, failures; /* failures: since it was created last */
	int timer;
	struct sp_etcd_stream stream;
};

struct sp_etcd_waits {
	struct sp_etcd *etcd;
	CURLM *multi;
	int epoll, timer; /* epoll: libcurl's sockets and both timers; timer: libcurl's */
	struct sp_etcd_lane lanes[SP_ETCD_LANES];
	TAILQ_HEAD(sp_etcd_queue, sp_etcd_wait) queue;
	unsigned queued;
	struct sp_etcd_watch watch;
};

/* The etcd's waits, made on first use; NULL: out of memory or descriptors. */
struct sp_etcd_waits *sp_etcd_waits(struct sp_etcd *etcd);

/* Puts a lookup on a lane, or into the queue. It may be finished on return. */
void sp_etcd_ask(struct sp_etcd *etcd, struct sp_etcd_wait *wait);

/* Sets a timer off in so many milliseconds. */
void sp_etcd_timer_set(int timer, int64_t ms);

/* The request of a lookup; heap. And its answer (NULL: none came), told; frees the wait. */
char *sp_etcd_wait_text(const struct sp_etcd *etcd, const struct sp_etcd_wait *wait);
void sp_etcd_wait_finish(struct sp_etcd *etcd, struct sp_etcd_wait *wait, const json_t *answer);

/* The watch: opened where it is not, ended by libcurl, its timer gone off, its messages told. */
void sp_etcd_watch_open(struct sp_etcd_waits *waits);
void sp_etcd_watch_ended(struct sp_etcd_waits *waits);
void sp_etcd_watch_tick(struct sp_etcd_waits *waits);
void sp_etcd_watch_read(
    struct sp_etcd_waits *waits, const struct sp_registry_changes *changes, void *context);
void sp_etcd_watch_close(struct sp_etcd_waits *waits);

#endif
