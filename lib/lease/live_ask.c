/* The asking side: every socket of the directory, one after the other. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/io.h"
#include "base/util.h"
#include "lease/live.h"
#include "net/unix.h"
#include "record/json.h"
#include "record/lines.h"

#define SUFFIX ".sock"

struct asking {
	char *question;
	int timeout_ms;
	sp_lease_each_fn *each;
	void *context;
	bool stopped; /* by `each` */
};

static int take_line(const struct asking *asking, const char *line, size_t size)
{
	json_t *answer = NULL;
	int bad = sp_json_parse(line, size, &answer, NULL);

	return bad ? bad : asking->each(asking->context, answer);
}

static int read_answers(struct asking *asking, int fd, struct sp_line_reader *reader)
{
	int64_t until = sp_monotonic_ms() + asking->timeout_ms;
	char *line;
	size_t size;
	int got;

	while ((got = sp_line_next(reader, &line, &size)) != 0) {
		if (got == -EAGAIN) {
			int64_t left = until - sp_monotonic_ms();
			got = left > 0 ? sp_poll_one(fd, POLLIN, (int)left) : SP_E_TIMEOUT;
		} else if (got == 1) {
			got = take_line(asking, line, size);
			asking->stopped = got < 0;
			until = sp_monotonic_ms() + asking->timeout_ms;
		}
		if (got < 0)
			return got;
	}
	return 0;
}

static int ask_one(struct asking *asking, const char *path)
{
	struct sp_line_reader reader;
	sp_auto_fd int fd = -1;
	int bad = sp_unix_connect(path, asking->timeout_ms, &fd, NULL);

	if (bad == -ECONNREFUSED) {
		(void)unlink(path);
		return 0;
	}
	if (bad)
		return bad == -ENOENT ? 0 : bad;
	bad = sp_write_all(fd, asking->question, strlen(asking->question), asking->timeout_ms);
	if (!bad)
		bad = sp_line_reader_init(&reader, fd, SP_LINE_MAX);
	if (bad)
		return bad;
	bad = read_answers(asking, fd, &reader);
	sp_line_reader_done(&reader);
	return bad;
}

static bool is_socket_name(const char *name)
{
	size_t length = strlen(name), suffix = strlen(SUFFIX);

	return name[0] != '.' && length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

static void close_listing(DIR **listing)
{
	if (*listing)
		(void)closedir(*listing);
}

static int ask_all(struct asking *asking, const char *directory, struct sp_err *err)
{
	sp_cleanup(close_listing) DIR *listing = opendir(directory);
	const struct dirent *entry;
	int worst = 0;

	if (!listing)
		return errno == ENOENT ? 0 : sp_fail_errno(err, "%s", directory);
	while (!asking->stopped && (entry = readdir(listing))) {
		char path[PATH_MAX + NAME_MAX + 2];
		int bad;
		if (!is_socket_name(entry->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		bad = ask_one(asking, path);
		if (asking->stopped)
			return bad;
		if (bad)
			worst = sp_fail(err, SP_E_UNAVAILABLE, "%s: no answer: %s", path,
			    bad == SP_E_TIMEOUT ? "it does not answer (stopped?)"
						: sp_code_text(bad));
	}
	return worst;
}

int sp_lease_live_ask(const char *run_dir, json_t *question, int timeout_ms, sp_lease_each_fn *each,
    void *context, struct sp_err *err)
{
	struct asking asking = {.timeout_ms = timeout_ms, .each = each, .context = context};
	sp_auto_free char *text = sp_json_text(question);
	sp_auto_free char *line = NULL;
	char directory[PATH_MAX];
	int n = snprintf(directory, sizeof(directory), "%s/" SP_LIVE_DIRECTORY, run_dir);

	if (n < 0 || (size_t)n >= sizeof(directory) - NAME_MAX)
		return sp_fail(err, -ENAMETOOLONG, "%s: path too long", run_dir);
	if (!text || asprintf(&line, "%s\n", text) < 0)
		return sp_fail(err, -ENOMEM, "out of memory");
	asking.question = line;
	return ask_all(&asking, directory, err);
}
