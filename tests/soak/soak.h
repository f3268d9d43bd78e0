/*
 * The driver of the soak: real daemons, hundreds of sandboxes, and what befalls them, by a trace.
 * It writes down what it did and what it was answered (history.c); whether that was right is judged
 * by another program (judge/), which shares nothing with this one or with the tools.
 *
 *   process.c  daemons that are waited for, tools that are run, both with a limit
 *   life.c     one incarnation: guest, VMM, bridge; its record and its route
 *   deeds.c    what events do        events.c  threads that do them, when their time has come
 *   ops.c      operations: what the n-th is, what an answer says
 *   client.c   filters that carry operations, in order        late.c  those that are held back
 *   stream.c   streams whose bytes come back     port.c  the service behind some of them
 */
#ifndef SOAK_SOAK_H
#define SOAK_SOAK_H

#include <ev.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "trace.h"

#define TTL_SECONDS                                                                                \
	10 /* of a capability; world.ini of tests/soak/run says the same of its skew               \
	    */
#define SKEW_SECONDS 3
#define TOOL_MAX     (256u * 1024u) /* bytes of a tool's output */
#define NAME_MAX_    48

/* A server. pid 0: none. */
struct daemon {
	pid_t pid;
	char name[NAME_MAX_];
};

/* One incarnation of a sandbox; its processes outlive its record where a worker was not told. */
struct life {
	unsigned guest; /* the number of its guest; 0: none */
	unsigned worker;
	int64_t execution;
	int attempt;
	struct daemon agent, vmm, host;
	char *record; /* as installed; heap */
};

enum state { IDLE, UP, PAUSED, RETIRED };

struct sandbox {
	pthread_mutex_t lock;
	unsigned number;
	char name[16];
	enum state state;
	int64_t execution; /* the highest that was ever used */
	struct life now, left;
	char owner[32];
	int64_t window; /* since when it is paused or retired */
};

struct worker {
	pthread_mutex_t lock;
	struct daemon manager;
	int skew;
	int64_t broken; /* since when its clock is; 0: it is not */
};

extern struct soak {
	const char *directory;
	struct trace trace;
	struct sandbox *sandboxes;
	struct worker workers[WORKERS];
	struct gateway {
		pthread_mutex_t lock;
		struct daemon daemon;
	} gateways[GATEWAYS][WORKERS];
	unsigned port; /* of the service in every guest */
	pthread_mutex_t control;
	struct daemon cache, signer;
	unsigned key; /* the signer's, from 1 */
	struct ev_loop *loop;
	const char *faketime; /* libfaketime; NULL: clocks stay right */
	const char *lack;     /* tests/preload/lack; NULL: every bridge has all */
	uint64_t answered;    /* operations; the soak's time */
} soak;

/* Ends the program: the soak itself does not work. */
void die(const char *what, const char *why) __attribute__((noreturn));

/* history.c: lines of the history, by any thread. Times are microseconds since the start. */
void history_open(const char *path);
void history_close(void);
int64_t now_us(void);
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A time in which something may fail by what we do; scope: of a sandbox, worker, or everybody. */
void note_window(int64_t begin, char scope, unsigned number, const char *what);

/* process.c */
#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
/* Returns once it is ready; `env`: more of the environment, may be NULL. False: it ended or said
 * nothing for two minutes. */
bool daemon_start(
    struct daemon *daemon, const char *name, const char *const argv[], const char *const env[]);
/* Returns once it has gone. One that had ended by itself is noted as a fault. */
void daemon_end(struct daemon *daemon, int signal);
void daemon_signal(const struct daemon *daemon, int signal);
/* Runs a tool on `input` (may be NULL); *ret_out (may be NULL; heap) is what it wrote, with a NUL.
 * Killed after `kill_us` if that is not negative. Its exit code; -9: killed by us. */
int tool(const char *const argv[], const char *input, int64_t kill_us, char **ret_out);
/* A filter in a session of its own, with pipes that do not block. */
pid_t filter_start(const char *name, const char *const argv[], int *ret_in, int *ret_out);
void pause_us(int64_t us);
/* In soak.directory; in a buffer of this thread that the 32nd call from now uses again, those of
 * tool() too. */
const char *path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* life.c. What changes a record or a route is done until it is done; by `salt` it may be killed the
 * first time. */
const char *worker_ini(unsigned worker);
char worker_letter(unsigned worker);
void sandbox_init(struct sandbox *sandbox, unsigned number);
/* A new guest with its VMM; one that goes on from `snapshot` (may be NULL) has its key. */
void life_boot(struct sandbox *sandbox, struct life *life, const struct life *snapshot);
void life_bridge(struct sandbox *sandbox, struct life *life);
/* Enrolls and installs. False: the guest does not take its key any more. */
bool life_install(
    struct sandbox *sandbox, struct life *life, const struct life *snapshot, uint64_t salt);
void life_publish(struct sandbox *sandbox, const struct life *life, uint64_t salt);
void life_withdraw(struct sandbox *sandbox, const struct life *life, uint64_t salt);
void life_retire(struct sandbox *sandbox, const struct life *life, uint64_t salt);
void life_fence(struct sandbox *sandbox, const struct life *life, bool cut);
void life_agent(struct life *life);           /* the guest's agent, started anew */
void life_end(struct life *life, int signal); /* its processes */
/* A route as JSON, in a buffer as of path(). */
const char *route_text(const struct sandbox *sandbox, const struct life *life);
int publish_once(const struct sandbox *sandbox, const struct life *life);

/* world.c: what is not a sandbox. */
void world_start(void);
void world_end(void);
void manager_start(unsigned worker);
void cache_start(bool watch);
void signer_start(void);
unsigned gateway_sandbox(unsigned gateway);
void gateway_start(unsigned gateway, unsigned worker);
void rotate(void);

/* deeds.c */
void deed(const struct event *event);
void sandbox_activate(struct sandbox *sandbox);

/* events.c */
void events_start(void);
/* So many operations have been answered: what is due begins. */
void events_advance(uint64_t answered);
bool events_behind(void); /* more is due than is being done */
bool events_done(void);   /* nothing is due, and nothing being done */

/* ops.c */
enum op_kind { OP_WRITE, OP_READ, OP_RUN, OP_PING };
enum op_way { WAY_CALL, WAY_PIPELINE, WAY_LATE };
struct op {
	uint64_t number;
	enum op_kind kind;
	enum op_way way;
	unsigned sandbox, principal, caller, copies;
	uint64_t delay; /* of WAY_LATE, in operations */
	unsigned forgery;
	const char *must; /* be refused, and why; "-": need not */
};
enum { FORGE_NOTHING, FORGE_SANDBOX, FORGE_TOKEN, FORGE_WORKER, FORGE_OP, FORGERIES };
extern const char OP_LETTERS[];
void op_make(uint64_t number, struct op *ret);
/* What is asked, a line with its LF; its size. */
size_t op_asked(const struct op *op, char *line, size_t room);
/* What an answer says, as the history has it. `id` is what it must bear. */
void op_outcome(enum op_kind kind, const char *line, const char *id, char *ret, size_t room);

/* client.c */
void clients_start(void);
void clients_issue(void); /* as many as may be */
bool clients_done(void);
void clients_stop(void);
void caller_kill(unsigned caller); /* by any thread */
uint64_t clients_issued(void);

/* late.c: all on the loop. `minted` is called once, with the minted record or with NULL. */
typedef void minted_fn(void *context, const char *line);
typedef void sent_fn(void *context, const char *line);
void late_start(void);
void late_mint(const char *asked, size_t size, minted_fn *minted, void *context);
void late_send(unsigned sender, const char *line, size_t size, sent_fn *sent, void *context);
void late_issue(const struct op *op);
bool late_full(void);
void late_advance(void); /* sends what has been held long enough */
bool late_done(void);
void late_stop(void);

/* What a minted record says. False: it is none (an answer). */
struct minted {
	int64_t execution, iat, exp;
	int attempt;
	unsigned worker, key;
};
bool minted_parse(const char *line, struct minted *ret);
unsigned key_of(const char *kid); /* 0: none of ours */

/* port.c: sends back what it gets, on a port of the loopback, which is every guest's. */
void port_start(void);

/* stream.c */
void streams_start(void);
void streams_drain(void); /* nothing new is sent; what is out comes back */
bool streams_done(void);
void streams_stop(void);

#endif
