/* Taking a capture: pinned first, then every look there is, and last the pins again. */
#include "attest/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attest/attestation.h"
#include "attest/look.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/util.h"

#define TEXT_MAX                                                                                   \
	4096 /* what stat, status and cgroup have at the most, by proc(5) and the kernel's page */

static const char *const NAMES[] = {[SP_CAPTURE_STAT] = "stat",
    [SP_CAPTURE_STATUS] = "status",
    [SP_CAPTURE_CGROUP] = "cgroup",
    [SP_CAPTURE_DESCRIPTORS] = "descriptors"};

const char *sp_capture_name(enum sp_capture_text text)
{
	return NAMES[text];
}

void sp_capture_done(struct sp_capture *capture)
{
	json_decref(capture->seen);
	for (unsigned i = 0; i < SP_CAPTURE_TEXTS; i++)
		free(capture->texts[i]);
	*capture = (struct sp_capture){0};
}

static int print_descriptor(FILE *out, int directory, const char *number)
{
	char link[PATH_MAX];
	ssize_t size = readlinkat(directory, number, link, sizeof(link) - 1);

	/* One closed meanwhile is none. */
	if (size < 0)
		return 0;
	link[size] = '\0';
	sp_text_printable(link);
	return fprintf(out, "%s %s\n", number, link) < 0 ? -ENOMEM : 0;
}

static int print_descriptors(FILE *out, DIR *all)
{
	struct dirent *entry;
	unsigned count = 0;
	int bad = 0;

	while (!bad && (entry = readdir(all))) {
		if (entry->d_name[0] == '.')
			continue;
		if (ftell(out) > (long)SP_CAPTURE_TEXT_MAX || count++ == SP_CAPTURE_LINES)
			return fputs("... and more\n", out) < 0 ? -ENOMEM : 0;
		bad = print_descriptor(out, dirfd(all), entry->d_name);
	}
	return bad;
}

/* NULL: they cannot be read. */
static char *read_descriptors(const struct sp_process *process)
{
	int fd = openat(process->directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	char *text = NULL;
	size_t size;
	FILE *out = all ? open_memstream(&text, &size) : NULL;
	int bad = out ? print_descriptors(out, all) : -errno;

	if (out && fclose(out) != 0)
		bad = -ENOMEM;
	if (all)
		(void)closedir(all);
	else
		sp_fd_close(&fd);
	if (!bad)
		return text;
	free(text);
	return NULL;
}

static void read_texts(const struct sp_process *process, char *texts[SP_CAPTURE_TEXTS])
{
	char text[TEXT_MAX];

	for (unsigned i = SP_CAPTURE_STAT; i <= SP_CAPTURE_CGROUP; i++)
		if (sp_process_read_text(process, NAMES[i], text, sizeof(text)) == 0)
			texts[i] = strdup(text);
	texts[SP_CAPTURE_DESCRIPTORS] = read_descriptors(process);
}

/* Without its process nothing else about it can be known, and for the same reason. */
static void spread_code(struct sp_sight *sight)
{
	int code = sight->process.code;

	sight->start.code = code;
	sight->namespaces.code = code;
	sight->tracer.code = code;
	sight->executable.code = code;
	sight->bytes.code = code;
	sight->listener.code = code;
}

static void look_at_process(struct sp_attestation *attestation)
{
	struct sp_sight *sight = &attestation->judged.sight;

	sp_look_start(attestation);
	sp_look_namespaces(attestation);
	sp_look_tracer(attestation);
	sp_look_executable(attestation);
	if (sight->executable.code)
		sight->bytes.code = sight->executable.code;
	else
		sp_look_bytes(attestation);
	sight->listener.code = -ENOENT;
	if (attestation->judged.target->socket) {
		sp_look_listener(attestation);
		sp_look_listener_row(attestation);
	}
}

/* The parts that a connection filled in. */
static void add_connection(struct sp_sight *sight, const struct sp_sight *connected)
{
	sight->connection = connected->connection;
	sight->credentials = connected->credentials;
	sight->peer_process = connected->peer_process;
	sight->own = connected->own;
	sight->peer = connected->peer;
	sight->held = connected->held;
}

static void look_at_all(struct sp_attestation *attestation, char *texts[SP_CAPTURE_TEXTS])
{
	struct sp_sight *sight = &attestation->judged.sight;

	sight->file.code = -ENOENT;
	if (attestation->judged.target->path)
		sp_look_path(attestation);
	sp_look_process(attestation);
	if (!sight->process.code) {
		look_at_process(attestation);
		read_texts(&attestation->process, texts);
		if (sp_process_same_image(&attestation->process) != 1 ||
		    !sp_process_alive(&attestation->process))
			sight->process.code = -ESRCH;
	}
	if (sight->process.code)
		spread_code(sight);
}

int sp_capture_take(enum sp_role role, const json_t *object, const struct sp_sight *connected,
    struct sp_capture *ret, struct sp_err *err)
{
	struct sp_attestation *attestation = sp_attestation_blank(role, object, SP_LEVEL_NONE);
	struct sp_capture capture = {0};
	json_int_t pid = json_integer_value(json_object_get(object, "pid"));
	int bad = attestation ? 0 : sp_fail(err, -ENOMEM, "out of memory");

	if (!bad && sp_evidence_parse(role, object, &attestation->judged.evidence, NULL) < 0) {
		attestation->judged.evidence = (struct sp_evidence){.pid = (pid_t)pid};
		if (pid < 1 || pid > INT32_MAX)
			bad = sp_fail(err, SP_E_BAD_RECORD, "the evidence names no process");
	}
	if (!bad) {
		look_at_all(attestation, capture.texts);
		if (connected)
			add_connection(&attestation->judged.sight, connected);
		capture.seen = sp_sight_json(&attestation->judged.sight);
		if (!capture.seen)
			bad = sp_fail(err, -ENOMEM, "out of memory");
	}
	sp_attest_close(attestation);
	if (bad)
		sp_capture_done(&capture);
	else
		*ret = capture;
	return bad;
}
