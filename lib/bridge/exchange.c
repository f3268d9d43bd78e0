/* Questions to the guest's agent and its answers, byte by byte no further than their lines. */
#include "bridge/exchange.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include "base/io.h"

int sp_short_line_take(int fd, struct sp_short_line *line)
{
	size_t room = sizeof(line->text) - line->size;
	char *at = line->text + line->size, *lf;
	ssize_t n = recv(fd, at, room, MSG_PEEK | MSG_DONTWAIT);
	size_t used;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return SP_E_CLOSED;
	lf = memchr(at, '\n', (size_t)n);
	used = lf ? (size_t)(lf - at) + 1 : (size_t)n;
	if (recv(fd, at, used, MSG_DONTWAIT) != (ssize_t)used)
		return -EIO;
	line->size += used;
	if (!lf)
		return line->size == sizeof(line->text) ? SP_E_TOO_LARGE : 0;
	*lf = '\0';
	line->size--;
	return 1;
}

static int read_answer(int fd, struct sp_short_line *line, int timeout_ms)
{
	int64_t deadline = sp_monotonic_ms() + timeout_ms;

	for (;;) {
		int64_t left = deadline - sp_monotonic_ms();
		int code = sp_poll_one(fd, POLLIN, left > 0 ? (int)left : 0);
		if (code < 0)
			return code;
		code = sp_short_line_take(fd, line);
		if (code)
			return code < 0 ? code : 0;
	}
}

static int exchange(int fd, const struct sp_hello_ask *ask, const uint8_t mac[SP_HELLO_SIZE],
    int timeout_ms, struct sp_err *err)
{
	struct sp_short_line answer = {.size = 0};
	char line[SP_HELLO_LINE_MAX + 1];
	size_t size = sp_hello_ask_print(ask, line);
	int code;

	if (size == 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	line[size++] = '\n';
	code = sp_write_all(fd, line, size, timeout_ms);
	sodium_memzero(line, sizeof(line));
	if (!code)
		code = read_answer(fd, &answer, timeout_ms);
	if (code)
		return sp_fail(err, code, "the guest's agent: %s", sp_code_text(code));
	return sp_hello_answer_check(answer.text, answer.size, ask->kind, mac, err);
}

int sp_hello_exchange(int fd, const uint8_t key[SP_GUEST_KEY_SIZE],
    const struct sp_guest_name *name, const struct sp_guest_link *link, int timeout_ms,
    struct sp_err *err)
{
	struct sp_hello_ask ask = {.kind = SP_HELLO_HELLO};
	uint8_t mac[SP_HELLO_SIZE];

	randombytes_buf(ask.nonce, sizeof(ask.nonce));
	sp_hello_mac(key, name, link, ask.nonce, mac);
	return exchange(fd, &ask, mac, timeout_ms, err);
}

int sp_rekey_exchange(int fd, const uint8_t *current, const uint8_t key[SP_GUEST_KEY_SIZE],
    const struct sp_guest_name *name, const struct sp_guest_link *link, int timeout_ms,
    struct sp_err *err)
{
	struct sp_hello_ask ask = {
	    .kind = SP_HELLO_REKEY, .name = *name, .has_mac = current != NULL};
	uint8_t mac[SP_HELLO_SIZE];
	int bad;

	memcpy(ask.key, key, sizeof(ask.key));
	if (current)
		sp_rekey_ask_mac(current, &ask, link, ask.mac);
	sp_rekey_answer_mac(key, name, link, mac);
	bad = exchange(fd, &ask, mac, timeout_ms, err);
	sodium_memzero(&ask, sizeof(ask));
	return bad;
}
