/* Step 7 of the verification: the guest proves that it is the one that was enrolled, on this very
 * connection. */
#include "spacebridge/approach.h"

#include <sodium.h>
#include "base/io.h"
#include "base/util.h"

static void deny(struct approach *approach, enum sp_reason reason, const char *expected,
    const struct sp_err *err)
{
	struct sp_report report = {.failed_only = true};

	sp_report_add(&report, "guest-hello", reason, expected, err->message,
	    sp_monotonic_us() - approach->started_us);
	approach_refuse(approach, reason, &report);
	sp_report_done(&report);
}

static void judge(struct approach *approach)
{
	struct sp_err err = {0};
	int bad = sp_hello_answer_check(
	    approach->hello.text, approach->hello.size, SP_HELLO_HELLO, approach->proof, &err);

	if (bad)
		deny(approach, SP_REASON_GUEST_IDENTITY, "the enrolled guest's proof", &err);
	else
		approach->handlers->proven(approach->context);
}

static void on_answer(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct approach *approach = watcher->data;
	struct sp_err err = {0};
	int code = sp_short_line_take(approach_fd(approach), &approach->hello);

	(void)events;
	if (code == 0)
		return;
	ev_io_stop(loop, &approach->answer);
	if (code == 1) {
		judge(approach);
	} else if (code == SP_E_TOO_LARGE) {
		(void)sp_fail(&err, code, "a line that does not end");
		deny(approach, SP_REASON_GUEST_IDENTITY, "the enrolled guest's proof", &err);
	} else {
		approach_fail(approach, SP_ERROR_TRANSPORT,
		    "the connection to the guest ended behind OK: does its agent run?");
	}
}

static int ask(struct approach *approach, const uint8_t key[SP_GUEST_KEY_SIZE])
{
	struct sp_hello_ask hello = {.kind = SP_HELLO_HELLO};
	struct sp_guest_link link = {sp_attest_cid(approach->attestation), approach->port};
	char line[SP_HELLO_LINE_MAX + 1];
	size_t size;

	randombytes_buf(hello.nonce, sizeof(hello.nonce));
	sp_hello_mac(key, &approach->guest, &link, hello.nonce, approach->proof);
	size = sp_hello_ask_print(&hello, line);
	line[size++] = '\n';
	return sp_write_all(approach_fd(approach), line, size, 0);
}

void approach_hello(struct approach *approach)
{
	uint8_t key[SP_GUEST_KEY_SIZE];
	struct sp_err err = {0};
	int bad;

	if (approach->guest.id[0])
		bad = sp_guest_key_read(approach->options->records, approach->guest.id, key, &err);
	else
		bad = sp_fail(&err, SP_E_ABSENT,
		    "no guest is enrolled in this record: attest --enroll with --record does it");
	if (bad) {
		deny(approach, SP_REASON_EVIDENCE_UNAVAILABLE, "the enrolled guest's key", &err);
		return;
	}
	bad = ask(approach, key);
	sodium_memzero(key, sizeof(key));
	if (bad) {
		approach_fail(approach, SP_ERROR_TRANSPORT, "the guest takes no hello");
		return;
	}
	ev_set_cb(&approach->answer, on_answer);
	ev_io_start(approach->options->loop, &approach->answer);
}
