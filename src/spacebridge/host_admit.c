/* A passage from its acceptance to its greeting: every check, in the order of 04-bridge, none of
 * them waiting for anything but the loop. */
#include "spacebridge/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"
#include "base/util.h"
#include "spacebridge/audited.h"

#define RETRY      0.001
#define PART_LIMIT 1. /* seconds */

static void audit(
    const struct passage *passage, enum sp_reason reason, const char *error, const char *note)
{
	struct sp_audit_installed installed;
	struct sp_audit_line line = {
	    .role = HOST_ROLE,
	    .sandbox = passage->host->sandbox,
	    .reason = reason,
	    .error = error,
	    .selected = passage->epoch ? &passage->identity.route : NULL,
	    .installed =
		audited_installed(passage->host->store, passage->host->sandbox, reason, &installed),
	    .epoch = passage->epoch,
	    .microseconds = sp_monotonic_us() - passage->started_us,
	    .note = note && *note ? note : NULL,
	};

	sp_audit_write(passage->host->audit, &line);
}

/* One write: the socket is fresh, its buffer empty. Whoever does not take even that gets an end
 * without words. */
static int greet(struct passage *passage, const struct sp_greeting *greeting)
{
	char line[SP_GREETING_MAX];
	size_t size;
	int bad = sp_greeting_print(greeting, line, &size);

	if (bad)
		return bad;
	line[size++] = '\n';
	return sp_write_all(passage->client, line, size, 0);
}

static void on_parted(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	passage_free(watcher->data);
}

static void on_part_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	passage_free(watcher->data);
}

/* The manager looks at who holds this connection before it believes a word: the end is told, but
 * the descriptor is kept until the manager has ended too. */
static void part(struct passage *passage)
{
	struct ev_loop *loop = passage->host->loop;

	ev_timer_stop(loop, &passage->limit);
	ev_timer_stop(loop, &passage->retry);
	approach_stop(&passage->approach);
	if (passage->lease)
		sp_lease_close(passage->lease, "refused");
	passage->lease = NULL;
	(void)shutdown(passage->client, SHUT_WR);
	ev_io_set(&passage->parted, passage->client, EV_READ);
	ev_io_start(loop, &passage->parted);
	ev_timer_init(&passage->limit, on_part_limit, PART_LIMIT, 0.);
	ev_timer_start(loop, &passage->limit);
}

void passage_refuse(struct passage *passage, enum sp_reason reason, const struct sp_report *report)
{
	struct sp_greeting greeting = {.kind = SP_GREETING_REFUSED, .reason = reason};
	char words[SP_ERR_MAX] = "";

	if (report)
		sp_report_words(report, words, sizeof(words));
	(void)greet(passage, &greeting);
	audit(passage, reason, NULL, words);
	part(passage);
}

void passage_fail(struct passage *passage, enum sp_error_kind error, const char *words)
{
	struct sp_greeting greeting = {.kind = SP_GREETING_ERROR, .error = error};

	(void)snprintf(greeting.message, sizeof(greeting.message), "%s", words);
	(void)greet(passage, &greeting);
	audit(passage, SP_REASON_NONE, sp_error_name(error), words);
	part(passage);
}

static void finish_report(struct sp_report *report)
{
	sp_report_done(report);
}

/* The record is another one than the VMM was proven against. */
static void replaced(struct passage *passage, enum sp_reason reason)
{
	if (sp_greeting_reason_valid(reason))
		passage_refuse(passage, reason, NULL);
	else
		passage_fail(passage, SP_ERROR_TRANSPORT,
		    "the record of this sandbox changed while its VMM was being checked");
}

void passage_admit(struct passage *passage)
{
	sp_cleanup(finish_report) struct sp_report report = {.failed_only = true};
	struct sp_greeting greeting = {
	    .kind = SP_GREETING_READY,
	    .execution = passage->identity.route.execution,
	    .epoch = passage->epoch,
	    .level = sp_level_probe(),
	    .fd = passage->client,
	    .vsock_inode = sp_attest_inode(passage->approach.attestation),
	    .vsock_fd = approach_fd(&passage->approach),
	    .vmm_fd = sp_attest_number(passage->approach.attestation),
	};
	enum sp_reason reason = sp_attest_alive(passage->approach.attestation, &report);
	struct sp_err err = {0};
	int bad;

	if (reason) {
		passage_refuse(passage, reason, &report);
		return;
	}
	bad = passage_lease(passage, &reason, &err);
	if (bad) {
		if (bad == -EAGAIN)
			ev_timer_start(passage->host->loop, &passage->retry);
		else if (bad == SP_E_CONFLICT)
			replaced(passage, reason);
		else
			passage_fail(passage, SP_ERROR_UNAVAILABLE, err.message);
		return;
	}
	memcpy(greeting.sandbox, passage->identity.sandbox, sizeof(greeting.sandbox));
	if (greet(passage, &greeting)) {
		passage_fail(passage, SP_ERROR_TRANSPORT, "the manager takes no greeting");
		return;
	}
	audit(passage, SP_REASON_NONE, NULL, sp_level_name(greeting.level));
	passage_relay(passage);
}

/* The record in force. */
static int take_record(struct passage *passage, const struct sp_record **ret, struct sp_err *err)
{
	struct host *host = passage->host;
	const struct sp_record *record;
	int bad = sp_store_current(host->store, host->sandbox, &record, err);

	if (bad)
		return bad;
	passage->identity = record->identity;
	passage->epoch = record->epoch;
	passage->version = record->version;
	*ret = record;
	return 0;
}

static void begin(struct passage *passage)
{
	const struct sp_record *record = NULL;
	struct sp_err err = {0};
	int bad = take_record(passage, &record, &err);

	if (bad == -EAGAIN)
		ev_timer_start(passage->host->loop, &passage->retry);
	else if (bad == SP_E_ABSENT)
		passage_refuse(passage, SP_REASON_ABSENT, NULL);
	else if (bad)
		passage_fail(passage, SP_ERROR_UNAVAILABLE, err.message);
	else if (record->retired)
		passage_refuse(passage, SP_REASON_RETIRED, NULL);
	else
		approach_start(&passage->approach, record);
}

static void on_retry(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct passage *passage = watcher->data;

	(void)loop;
	(void)events;
	if (passage->approach.attestation)
		passage_admit(passage);
	else
		begin(passage);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct passage *passage = watcher->data;

	(void)loop;
	(void)events;
	passage_fail(passage, SP_ERROR_TIMEOUT, approach_overdue(&passage->approach));
}

static void on_proven(void *context)
{
	passage_admit(context);
}

static void on_refused(enum sp_reason reason, const struct sp_report *report, void *context)
{
	passage_refuse(context, reason, report);
}

static void on_failed(enum sp_error_kind error, const char *words, void *context)
{
	passage_fail(context, error, words);
}

static void check_client(struct passage *passage)
{
	struct host *host = passage->host;
	sp_cleanup(finish_report) struct sp_report report = {.failed_only = true};
	enum sp_reason reason = sp_attest_client(
	    passage->client, host->manager.uids, host->manager.count, host->manager_exe, &report);

	if (reason)
		passage_refuse(passage, reason, &report);
	else if (host->count > SP_VMM_CONNECTIONS)
		passage_fail(
		    passage, SP_ERROR_OVERLOADED, "the VMM serves no more than 1023 connections");
	else
		begin(passage);
}

void host_accept(void *context, int fd)
{
	static const struct approach_handlers handlers = {
	    .proven = on_proven,
	    .refused = on_refused,
	    .failed = on_failed,
	    .lost = passage_lost,
	    .second = passage_second,
	};
	struct host *host = context;
	struct passage *passage = calloc(1, sizeof(*passage));

	if (!passage) {
		(void)close(fd);
		sp_service_release(host->service);
		return;
	}
	passage->host = host;
	passage->client = fd;
	passage->started_us = sp_monotonic_us();
	approach_init(&passage->approach, &host->approach, &handlers, passage);
	ev_init(&passage->parted, on_parted);
	ev_timer_init(
	    &passage->limit, on_limit, (double)host->config.connect_timeout_ms / 1000., 0.);
	ev_timer_init(&passage->retry, on_retry, RETRY, 0.);
	passage->parted.data = passage->limit.data = passage->retry.data = passage;
	TAILQ_INSERT_TAIL(&host->passages, passage, entry);
	host->count++;
	ev_now_update(host->loop);
	ev_timer_start(host->loop, &passage->limit);
	check_client(passage);
}

void passage_free(struct passage *passage)
{
	struct host *host = passage->host;

	sp_relay_free(passage->relay);
	if (passage->lease)
		sp_lease_close(passage->lease, "the bridge ends it");
	ev_io_stop(host->loop, &passage->parted);
	ev_timer_stop(host->loop, &passage->limit);
	ev_timer_stop(host->loop, &passage->retry);
	approach_stop(&passage->approach);
	sp_fd_close(&passage->client);
	TAILQ_REMOVE(&host->passages, passage, entry);
	host->count--;
	free(passage);
	sp_service_release(host->service);
}
