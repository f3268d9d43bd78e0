/* Asking a VMM for its configuration, over a connection that is attested like any other. */
#include "attest/config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "attest/checks.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

static const char REQUEST[] = "GET /vm/config HTTP/1.1\r\nHost: localhost\r\n"
			      "Accept: application/json\r\n\r\n";

/* Value of Content-Length in the head, which ends before `end`. */
static int content_length(const char *answer, const char *end, size_t *ret)
{
	static const char name[] = "\r\ncontent-length:";
	const char *at = answer;
	char digits[12];
	int64_t length;
	size_t size;

	while (at < end && strncasecmp(at, name, sizeof(name) - 1) != 0)
		at++;
	if (at >= end)
		return SP_E_BAD_RECORD;
	at += sizeof(name) - 1;
	at += strspn(at, " ");
	size = strspn(at, "0123456789");
	if (size == 0 || size >= sizeof(digits))
		return SP_E_BAD_RECORD;
	memcpy(digits, at, size);
	digits[size] = '\0';
	if (!sp_number_parse(digits, 1, SP_CONFIG_ANSWER_MAX, &length))
		return SP_E_BAD_RECORD;
	*ret = (size_t)length;
	return 0;
}

static int parse_body(const char *body, size_t size, struct sp_vmm_config *ret, struct sp_err *err)
{
	sp_auto_json json_t *config = NULL;
	const json_t *vsock, *cid, *path;
	int bad = sp_json_parse(body, size, &config, err);

	if (bad)
		return sp_err_prefix(err, bad, "the VMM's configuration");
	vsock = json_object_get(config, "vsock");
	cid = json_object_get(vsock, "guest_cid");
	path = json_object_get(vsock, "uds_path");
	if (!json_is_integer(cid) || !json_is_string(path) || json_integer_value(cid) < 3 ||
	    json_integer_value(cid) > UINT32_MAX || json_string_length(path) == 0 ||
	    json_string_length(path) >= sizeof(ret->uds_path))
		return sp_fail(err, SP_E_BAD_RECORD,
		    "the VMM's configuration has no vsock with guest_cid and uds_path");
	ret->cid = json_integer_value(cid);
	memcpy(ret->uds_path, json_string_value(path), json_string_length(path) + 1);
	return 0;
}

int sp_vmm_config_parse(
    const char *answer, size_t size, struct sp_vmm_config *ret, struct sp_err *err)
{
	const char *end = memmem(answer, size, "\r\n\r\n", 4);
	size_t length, head;

	if (!end)
		return -EAGAIN;
	if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0)
		return sp_fail(err, SP_E_BAD_RECORD, "the VMM answered `%.*s` to GET /vm/config",
		    (int)(strcspn(answer, "\r\n") < 64 ? strcspn(answer, "\r\n") : 64), answer);
	if (content_length(answer, end, &length))
		return sp_fail(err, SP_E_BAD_RECORD, "the VMM's answer has no usable length");
	head = (size_t)(end - answer) + 4;
	if (size < head + length)
		return -EAGAIN;
	return parse_body(end + 4, length, ret, err);
}

static int receive_into(char answer[SP_CONFIG_ANSWER_MAX + 1], int fd, int timeout_ms,
    struct sp_vmm_config *ret, struct sp_err *err)
{
	int64_t deadline = sp_monotonic_ms() + timeout_ms;
	size_t size = 0;

	for (;;) {
		int64_t left = deadline - sp_monotonic_ms();
		int ready = sp_poll_one(fd, POLLIN, left > 0 ? (int)left : 0);
		ssize_t n = ready < 0
				? ready
				: sp_read_some(fd, answer + size, SP_CONFIG_ANSWER_MAX - size);
		if (n == -EAGAIN)
			continue;
		if (n <= 0)
			return sp_fail(err, n ? (int)n : SP_E_CLOSED, "no answer of the VMM: %s",
			    sp_code_text(n ? (int)n : SP_E_CLOSED));
		size += (size_t)n;
		answer[size] = '\0';
		int bad = sp_vmm_config_parse(answer, size, ret, err);
		if (bad != -EAGAIN)
			return bad;
		if (size == SP_CONFIG_ANSWER_MAX)
			return sp_fail(err, SP_E_TOO_LARGE, "the VMM's answer is too large");
	}
}

static int receive(int fd, int timeout_ms, struct sp_vmm_config *ret, struct sp_err *err)
{
	char *answer = malloc(SP_CONFIG_ANSWER_MAX + 1);
	int bad = answer ? receive_into(answer, fd, timeout_ms, ret, err)
			 : sp_fail(err, -ENOMEM, "out of memory");

	free(answer);
	return bad;
}

enum sp_reason sp_vmm_config_exchange(struct sp_attestation *attestation, int timeout_ms,
    struct sp_vmm_config *ret, struct sp_report *report, struct sp_err *err)
{
	enum sp_reason reason;
	int bad = sp_write_all(attestation->fd, REQUEST, sizeof(REQUEST) - 1, timeout_ms);

	if (bad)
		bad = sp_fail(err, bad, "the VMM's API socket: %s", sp_code_text(bad));
	else
		bad = receive(attestation->fd, timeout_ms, ret, err);
	/* Who says nothing has perhaps not even accepted: that is no sign of another listener. */
	if (bad == SP_E_TIMEOUT)
		return SP_REASON_EVIDENCE_UNAVAILABLE;
	/* Even a wrong answer proves that somebody accepted: who it was is said first. */
	reason = sp_checks_run(attestation, SP_PHASE_ACCEPTED | SP_PHASE_ALIVE, true, report);
	if (reason != SP_REASON_NONE)
		return reason;
	return bad ? SP_REASON_EVIDENCE_UNAVAILABLE : SP_REASON_NONE;
}

int sp_vmm_config_ask(const struct sp_evidence *evidence, int timeout_ms, struct sp_vmm_config *ret,
    struct sp_err *err)
{
	sp_auto_json json_t *object = NULL;
	struct sp_evidence whole = *evidence;
	struct sp_report report = {0};
	struct sp_attestation *attestation;
	enum sp_reason reason = SP_REASON_EVIDENCE_UNAVAILABLE;
	struct sp_err why = {0};
	char words[SP_ERR_MAX];

	whole.cid = 3; /* not known yet, and not looked at here */
	object = sp_evidence_json(SP_ROLE_VMM, &whole);
	attestation = sp_attestation_new(SP_ROLE_VMM, object, sp_level_probe(), &report);
	if (attestation) {
		attestation->judged.target = &attestation->judged.evidence.api;
		reason = sp_attestation_open(attestation, &report);
		if (reason == SP_REASON_NONE && attestation->judged.sight.connection.busy)
			reason = SP_REASON_EVIDENCE_UNAVAILABLE;
		else if (reason == SP_REASON_NONE)
			reason =
			    sp_vmm_config_exchange(attestation, timeout_ms, ret, &report, &why);
		sp_attest_close(attestation);
	}
	sp_report_words(&report, words, sizeof(words));
	sp_report_done(&report);
	if (reason == SP_REASON_NONE)
		return 0;
	return sp_fail(err,
	    reason == SP_REASON_EVIDENCE_UNAVAILABLE ? SP_E_UNAVAILABLE : SP_E_DENIED,
	    "the VMM's API socket: %s",
	    words[0]         ? words
	    : why.message[0] ? why.message
			     : "busy");
}

int sp_vmm_config_leads(
    const struct sp_process *process, const char *uds_path, const struct sp_listener *listener)
{
	char path[PATH_MAX];
	struct stat info;
	int n =
	    snprintf(path, sizeof(path), "%s/%s", uds_path[0] == '/' ? "root" : "cwd", uds_path);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	if (fstatat(process->directory, path, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	return info.st_dev == listener->dev && info.st_ino == listener->ino;
}

static enum sp_reason judge_config(const struct sp_attestation *attestation,
    const struct sp_vmm_config *config, struct sp_report *report)
{
	const struct sp_evidence *evidence = &attestation->judged.evidence;
	char expected[32], seen[32];
	enum sp_reason reason = SP_REASON_NONE;
	int leads;

	(void)snprintf(expected, sizeof(expected), "cid %u", evidence->cid);
	(void)snprintf(seen, sizeof(seen), "cid %lld", (long long)config->cid);
	if (config->cid != evidence->cid)
		reason = SP_REASON_GUEST_IDENTITY;
	sp_report_add(report, "vmm-cid", reason, expected, seen, 0);
	if (reason != SP_REASON_NONE)
		return reason;
	leads = sp_vmm_config_leads(&attestation->process, config->uds_path, &evidence->listener);
	if (leads < 0)
		reason = SP_REASON_EVIDENCE_UNAVAILABLE;
	else if (leads == 0 || strcmp(config->uds_path, evidence->uds_path) != 0)
		reason = SP_REASON_LISTENER_OWNER;
	sp_report_add(report, "vmm-uds-path", reason, evidence->uds_path, config->uds_path, 0);
	return reason;
}

static enum sp_reason check_config(
    struct sp_attestation *attestation, int timeout_ms, struct sp_report *report)
{
	struct sp_vmm_config config;
	struct sp_err why = {0};
	int64_t start = sp_monotonic_us();
	enum sp_reason reason;

	attestation->judged.target = &attestation->judged.evidence.api;
	reason = sp_attestation_open(attestation, report);
	if (reason == SP_REASON_NONE && attestation->judged.sight.connection.busy)
		reason = SP_REASON_EVIDENCE_UNAVAILABLE;
	else if (reason == SP_REASON_NONE)
		reason = sp_vmm_config_exchange(attestation, timeout_ms, &config, report, &why);
	if (reason == SP_REASON_EVIDENCE_UNAVAILABLE && why.message[0])
		sp_report_add(report, "vmm-config", reason, "an answer to GET /vm/config",
		    why.message, sp_monotonic_us() - start);
	return reason == SP_REASON_NONE ? judge_config(attestation, &config, report) : reason;
}

enum sp_reason sp_attest_config(
    const json_t *vmm, enum sp_level min_level, int timeout_ms, struct sp_report *report)
{
	struct sp_attestation *attestation =
	    sp_attestation_new(SP_ROLE_VMM, vmm, min_level, report);
	enum sp_reason reason = SP_REASON_NONE;

	if (!attestation)
		return SP_REASON_EVIDENCE_UNAVAILABLE;
	if (attestation->judged.evidence.api.path)
		reason = check_config(attestation, timeout_ms, report);
	sp_attest_close(attestation);
	return reason;
}
