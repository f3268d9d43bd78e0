/* spacebridge sockets: what is at the paths of Unix sockets, without a connection that somebody
 * would notice. */
#include <jansson.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include "base/text.h"
#include "base/util.h"
#include "cli/table.h"
#include "record/reason.h"
#include "spacebridge/sockets.h"
#include "spacebridge/verbs.h"

static const char *const STATES[] = {
    [SOCKET_SERVED] = "served",
    [SOCKET_STALE] = "stale",
    [SOCKET_ABSENT] = "absent",
    [SOCKET_HIDDEN] = "hidden",
    [SOCKET_OTHER] = "no-socket",
};

/*
 * A datagram socket finds out whether there is a socket behind the file, in whatever network
 * namespace, and is then told that it is of another type: a server never sees it.
 */
static enum socket_state knock(int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	sp_auto_fd int knocking = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", fd);
	if (knocking < 0 || connect(knocking, (struct sockaddr *)&address, sizeof(address)) == 0)
		return knocking < 0 ? SOCKET_HIDDEN : SOCKET_SERVED;
	if (errno == ECONNREFUSED)
		return SOCKET_STALE;
	return errno == EPROTOTYPE ? SOCKET_SERVED : SOCKET_HIDDEN;
}

static void look(struct socket_seen *seen, int directory, const char *name)
{
	sp_auto_fd int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	seen->state = SOCKET_HIDDEN;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		seen->state = SOCKET_ABSENT;
	if (fd < 0 || fstat(fd, &seen->file) < 0)
		return;
	seen->has_file = true;
	seen->state = S_ISSOCK(seen->file.st_mode) ? knock(fd) : SOCKET_OTHER;
}

static struct socket_seen *append(struct socket_list *list, const char *directory, const char *name)
{
	struct socket_seen *seen;

	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		void *more = reallocarray(list->seen, room, sizeof(*list->seen));
		if (!more)
			return NULL;
		list->seen = more;
		list->room = room;
	}
	seen = &list->seen[list->count];
	*seen = (struct socket_seen){0};
	if (asprintf(
		&seen->path, "%s%s%s", directory ? directory : "", directory ? "/" : "", name) < 0)
		return NULL;
	list->count++;
	return seen;
}

/* The sockets of a directory; what else lies there is nobody's question. */
static int take_directory(struct socket_list *list, const char *path, DIR *listing)
{
	const struct dirent *entry;

	while ((entry = readdir(listing))) {
		struct socket_seen seen = {0}, *kept;

		if (entry->d_type != DT_SOCK && entry->d_type != DT_UNKNOWN)
			continue;
		look(&seen, dirfd(listing), entry->d_name);
		if (seen.state == SOCKET_ABSENT || seen.state == SOCKET_OTHER)
			continue;
		if (list->count >= SOCKETS_MAX)
			return -E2BIG;
		kept = append(list, path, entry->d_name);
		if (!kept)
			return -ENOMEM;
		seen.path = kept->path;
		*kept = seen;
	}
	return 0;
}

static int take(struct socket_list *list, const char *path)
{
	struct socket_seen *seen;
	struct stat info;
	DIR *listing;
	int bad;

	if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && (listing = opendir(path))) {
		bad = take_directory(list, path, listing);
		(void)closedir(listing);
		return bad;
	}
	if (list->count >= SOCKETS_MAX)
		return -E2BIG;
	seen = append(list, NULL, path);
	if (!seen)
		return -ENOMEM;
	look(seen, AT_FDCWD, path);
	/* A directory comes here that could not be opened. */
	if (seen->has_file && S_ISDIR(seen->file.st_mode))
		seen->state = SOCKET_HIDDEN;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct socket_seen *)a)->path, ((const struct socket_seen *)b)->path);
}

static json_t *seen_json(const struct socket_seen *seen)
{
	json_t *line = json_pack("{ss ss}", "path", seen->path, "state", STATES[seen->state]);
	char mode[8];
	int bad = 0;

	if (!line)
		return NULL;
	if (seen->has_file) {
		(void)snprintf(mode, sizeof(mode), "%04o", (unsigned)seen->file.st_mode & 07777);
		bad |=
		    json_object_set_new(line, "ino", json_integer((json_int_t)seen->file.st_ino));
		bad |= json_object_set_new(line, "mode", json_string(mode));
		bad |= json_object_set_new(line, "owner", json_integer(seen->file.st_uid));
	}
	if (seen->has_uid)
		bad |= json_object_set_new(line, "uid", json_integer(seen->uid));
	if (seen->pid)
		bad |= json_object_set_new(line, "pid", json_integer(seen->pid));
	if (!bad)
		return line;
	json_decref(line);
	return NULL;
}

static int add_row(struct sp_table *table, const struct socket_seen *seen)
{
	char mode[8] = "", uid[24] = "", pid[24] = "";
	const char *cells[] = {STATES[seen->state], mode, uid, pid, seen->path};

	if (seen->has_file)
		(void)snprintf(mode, sizeof(mode), "%04o", (unsigned)seen->file.st_mode & 07777);
	if (seen->has_uid)
		(void)snprintf(uid, sizeof(uid), "%lu", (unsigned long)seen->uid);
	if (seen->pid)
		(void)snprintf(pid, sizeof(pid), "%ld", (long)seen->pid);
	return sp_table_add(
	    table, seen->state == SOCKET_SERVED ? SP_TONE_GOOD : SP_TONE_WARN, cells);
}

static int show(struct sp_cli *cli, const struct socket_list *list)
{
	static const char *const headings[] = {"state", "mode", "uid", "pid", "path", NULL};
	struct sp_table *table;
	int bad = sp_cli_table(cli, headings, 5, &table);

	for (size_t i = 0; i < list->count && !bad; i++)
		bad = table ? add_row(table, &list->seen[i])
			    : sp_cli_put_json(cli, seen_json(&list->seen[i]));
	if (!bad)
		bad = sp_table_finish(table);
	sp_table_free(table);
	return bad ? SP_EXIT_FAILED : SP_EXIT_DONE;
}

static void list_done(struct socket_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->seen[i].path);
	free(list->seen);
}

int verb_sockets(struct sp_cli *cli)
{
	sp_cleanup(list_done) struct socket_list list = {0};
	struct sp_err err = {0};
	int bad;

	for (size_t i = 0; i < sp_cli_count(cli); i++) {
		bad = take(&list, sp_cli_argument(cli, i));
		if (bad) {
			(void)sp_fail(
			    &err, bad, "%s: %s", sp_cli_argument(cli, i), sp_code_text(bad));
			return sp_cli_fail(cli, &err);
		}
	}
	sockets_who(&list);
	if (list.count)
		qsort(list.seen, list.count, sizeof(*list.seen), by_path);
	/* After the look: whatever a name is, it is told as text. */
	for (size_t i = 0; i < list.count; i++)
		sp_text_printable(list.seen[i].path);
	return show(cli, &list);
}
