/* libcurl's sockets and timer behind one descriptor, and the lookups on their lanes. */
#include "routing/registry_etcd_wait.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include "base/io.h"
#include "base/util.h"

#define EVENTS 32

void sp_etcd_timer_set(int timer, int64_t ms)
{
	/* 0 would switch it off. */
	struct itimerspec when = {
	    .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};

	if (ms == 0)
		when.it_value.tv_nsec = 1;
	if (ms < 0)
		when.it_value = (struct timespec){0};
	(void)timerfd_settime(timer, 0, &when, NULL);
}

static int on_timer(CURLM *multi, long ms, void *context)
{
	struct sp_etcd_waits *waits = context;

	(void)multi;
	sp_etcd_timer_set(waits->timer, ms);
	return 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *unused)
{
	struct sp_etcd_waits *waits = context;
	struct epoll_event event = {.data.fd = fd};

	(void)easy;
	(void)unused;
	if (what == CURL_POLL_REMOVE) {
		(void)epoll_ctl(waits->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	event.events =
	    (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
	if (epoll_ctl(waits->epoll, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
		return epoll_ctl(waits->epoll, EPOLL_CTL_ADD, fd, &event);
	return 0;
}

static int new_timer(int epoll)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = timer};

	if (timer >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) < 0)
		sp_fd_close(&timer);
	return timer;
}

static bool set_up(struct sp_etcd_waits *waits)
{
	curl_socket_callback socket = on_socket;
	curl_multi_timer_callback timer = on_timer;

	waits->epoll = epoll_create1(EPOLL_CLOEXEC);
	waits->timer = new_timer(waits->epoll);
	waits->watch.timer = new_timer(waits->epoll);
	waits->multi = sp_curl.multi_init();
	waits->watch.easy = sp_curl.easy_init();
	if (waits->timer < 0 || waits->watch.timer < 0 || !waits->multi || !waits->watch.easy)
		return false;
	for (unsigned i = 0; i < SP_ETCD_LANES; i++) {
		waits->lanes[i].easy = sp_curl.easy_init();
		if (!waits->lanes[i].easy)
			return false;
		(void)sp_curl.easy_setopt(waits->lanes[i].easy, CURLOPT_PRIVATE, &waits->lanes[i]);
	}
	(void)sp_curl.multi_setopt(waits->multi, CURLMOPT_SOCKETFUNCTION, socket);
	(void)sp_curl.multi_setopt(waits->multi, CURLMOPT_SOCKETDATA, waits);
	(void)sp_curl.multi_setopt(waits->multi, CURLMOPT_TIMERFUNCTION, timer);
	(void)sp_curl.multi_setopt(waits->multi, CURLMOPT_TIMERDATA, waits);
	return true;
}

struct sp_etcd_waits *sp_etcd_waits(struct sp_etcd *etcd)
{
	struct sp_etcd_waits *waits = etcd->waits;

	if (waits)
		return waits;
	waits = calloc(1, sizeof(*waits));
	if (!waits)
		return NULL;
	waits->etcd = etcd;
	waits->watch.stream.max = SP_ETCD_ANSWER_MAX;
	waits->watch.endpoint = etcd->endpoint;
	TAILQ_INIT(&waits->queue);
	etcd->waits = waits;
	if (set_up(waits))
		return waits;
	sp_etcd_waits_free(etcd);
	return NULL;
}

/* Lookups that nobody has answered are forgotten: whoever asked goes with the registry. */
void sp_etcd_waits_free(struct sp_etcd *etcd)
{
	struct sp_etcd_waits *waits = sp_steal(&etcd->waits);
	struct sp_etcd_wait *wait;

	if (!waits)
		return;
	sp_etcd_watch_close(waits);
	if (waits->watch.easy)
		sp_curl.easy_cleanup(waits->watch.easy);
	for (unsigned i = 0; i < SP_ETCD_LANES; i++) {
		struct sp_etcd_lane *lane = &waits->lanes[i];
		if (lane->wait)
			(void)sp_curl.multi_remove_handle(waits->multi, lane->easy);
		if (lane->easy)
			sp_curl.easy_cleanup(lane->easy);
		sp_etcd_gathered_done(&lane->gathered);
		free(lane->body);
		free(lane->wait);
	}
	while ((wait = TAILQ_FIRST(&waits->queue))) {
		TAILQ_REMOVE(&waits->queue, wait, link);
		free(wait);
	}
	if (waits->multi)
		(void)sp_curl.multi_cleanup(waits->multi);
	sp_fd_close(&waits->watch.timer);
	sp_fd_close(&waits->timer);
	sp_fd_close(&waits->epoll);
	free(waits);
}

/* Asks the next member, with its share of the time that is left. */
static bool start(struct sp_etcd_waits *waits, struct sp_etcd_lane *lane)
{
	struct sp_etcd *etcd = waits->etcd;
	struct sp_etcd_wait *wait = lane->wait;
	int64_t left = wait->deadline - sp_monotonic_ms();

	if (wait->tries == etcd->endpoint_count || left <= 0)
		return false;
	if (!lane->body)
		lane->body = sp_etcd_wait_text(etcd, wait);
	if (!lane->body)
		return false;
	lane->endpoint = (etcd->endpoint + wait->tries) % etcd->endpoint_count;
	left /= (int64_t)(etcd->endpoint_count - wait->tries);
	wait->tries++;
	sp_etcd_gather(lane->easy, &lane->gathered);
	sp_etcd_prepare(
	    etcd, lane->easy, lane->endpoint, "/v3/kv/txn", lane->body, left > 1 ? (int)left : 1);
	return sp_curl.multi_add_handle(waits->multi, lane->easy) == CURLM_OK;
}

static void finish(struct sp_etcd_waits *waits, struct sp_etcd_lane *lane, const json_t *answer)
{
	struct sp_etcd_wait *wait = sp_steal(&lane->wait);

	free(lane->body);
	lane->body = NULL;
	sp_etcd_wait_finish(waits->etcd, wait, answer);
}

static void serve_queue(struct sp_etcd_waits *waits)
{
	for (unsigned i = 0; i < SP_ETCD_LANES; i++) {
		struct sp_etcd_lane *lane = &waits->lanes[i];
		/* Whoever is told may ask again at once, and find the lane free. */
		while (!lane->wait && (lane->wait = TAILQ_FIRST(&waits->queue))) {
			TAILQ_REMOVE(&waits->queue, lane->wait, link);
			waits->queued--;
			if (!start(waits, lane))
				finish(waits, lane, NULL);
		}
	}
}

static void lane_ended(struct sp_etcd_waits *waits, struct sp_etcd_lane *lane, CURLcode code)
{
	struct sp_etcd *etcd = waits->etcd;
	json_t *answer = NULL;
	bool elsewhere;
	int bad = sp_etcd_outcome(
	    etcd, lane->easy, code, lane->endpoint, &lane->gathered, &answer, &elsewhere, NULL);

	sp_etcd_gathered_done(&lane->gathered);
	if (bad && elsewhere && start(waits, lane))
		return;
	/* The others need not try the one that is gone first. */
	if (!bad && lane->endpoint != etcd->endpoint)
		etcd->endpoint = lane->endpoint;
	finish(waits, lane, answer);
	json_decref(answer);
}

static void reap(struct sp_etcd_waits *waits)
{
	CURLMsg *message;
	int left;

	while ((message = sp_curl.multi_info_read(waits->multi, &left))) {
		CURL *easy = message->easy_handle;
		CURLcode code = message->data.result;
		struct sp_etcd_lane *lane = NULL;
		if (message->msg != CURLMSG_DONE)
			continue;
		(void)sp_curl.easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&lane);
		if (!lane) {
			sp_etcd_watch_ended(waits);
			continue;
		}
		(void)sp_curl.multi_remove_handle(waits->multi, easy);
		lane_ended(waits, lane, code);
	}
}

static void act(struct sp_etcd_waits *waits, const struct epoll_event *event)
{
	int fd = event->data.fd, running, flags = 0;
	uint64_t times;

	if (fd == waits->watch.timer) {
		if (read(fd, &times, sizeof(times)) > 0)
			sp_etcd_watch_tick(waits);
		return;
	}
	if (fd == waits->timer) {
		(void)!read(fd, &times, sizeof(times));
		fd = CURL_SOCKET_TIMEOUT;
	} else {
		flags |= event->events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0;
		flags |= event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
		flags |= event->events & EPOLLERR ? CURL_CSELECT_ERR : 0;
	}
	(void)sp_curl.multi_socket_action(waits->multi, fd, flags, &running);
}

void sp_etcd_ask(struct sp_etcd *etcd, struct sp_etcd_wait *wait)
{
	struct sp_etcd_waits *waits = sp_etcd_waits(etcd);

	if (!waits || waits->queued == SP_ETCD_QUEUE_MAX) {
		sp_etcd_wait_finish(etcd, wait, NULL);
		return;
	}
	TAILQ_INSERT_TAIL(&waits->queue, wait, link);
	waits->queued++;
	serve_queue(waits);
}

int sp_etcd_descriptor(struct sp_registry *registry)
{
	struct sp_etcd_waits *waits = sp_etcd_waits((struct sp_etcd *)registry);

	return waits ? waits->epoll : -1;
}

int sp_etcd_poll(
    struct sp_registry *registry, const struct sp_registry_changes *changes, void *context)
{
	struct sp_etcd_waits *waits = sp_etcd_waits((struct sp_etcd *)registry);
	struct epoll_event events[EVENTS];
	int count;

	if (!waits)
		return -ENOMEM;
	sp_etcd_watch_open(waits);
	count = epoll_wait(waits->epoll, events, EVENTS, 0);
	for (int i = 0; i < count; i++)
		act(waits, &events[i]);
	/* What has been taken away first: an answer that was read before it is void then. */
	sp_etcd_watch_read(waits, changes, context);
	reap(waits);
	serve_queue(waits);
	return waits->watch.created ? 0 : SP_E_UNAVAILABLE;
}
