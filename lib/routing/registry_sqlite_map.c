/*
 * SQLite maps the file itself, but lets the mapping go whenever another process has committed, for
 * systems where a file that was cut short and has grown again is not what is mapped any more: each
 * page then costs a fault anew, more than reading it would have. On Linux a shared mapping shows
 * the file as it is. So its release is held back here, in front of SQLite's own functions for the
 * file, until the file has become another size.
 */
#include "routing/registry_sqlite_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAP_MAX "PRAGMA mmap_size = 2147418112" /* all that SQLite knows how to map */
#define LARGE   ((size_t)4 << 20)               /* more than lies near a processor */
#define LINE    64                              /* of its cache */

static LIST_HEAD(, sp_sqlite_map) maps;
static sqlite3_io_methods methods;         /* SQLite's, but for ours */
static const sqlite3_io_methods *original; /* NULL: none seen yet */
static struct sigaction before;

static struct sp_sqlite_map *map_of(const sqlite3_file *file)
{
	struct sp_sqlite_map *map;

	for (map = LIST_FIRST(&maps); map && map->file != file; map = LIST_NEXT(map, link))
		;
	return map;
}

static int64_t file_size(sqlite3_file *file)
{
	sqlite3_int64 size;

	return original->xFileSize(file, &size) == SQLITE_OK ? size : 0;
}

/* All of it at once: a search in it would wait for one line after the other. */
static void send_for(const char *page, int size)
{
	for (int at = 0; at < size; at += LINE)
		__builtin_prefetch(page + at);
}

static int on_fetch(sqlite3_file *file, sqlite3_int64 offset, int size, void **ret)
{
	int code = original->xFetch(file, offset, size, ret);
	struct sp_sqlite_map *map = map_of(file);
	char *start;

	if (code != SQLITE_OK || !*ret || !map)
		return code;
	start = (char *)*ret - offset;
	if (start != map->start) {
		map->size = (size_t)file_size(file);
		map->start = start;
		map->times++;
	}
	if (map->size > LARGE)
		send_for(*ret, size);
	return code;
}

/* Pages behind what is mapped are read: too many of them, and it is mapped again. */
static bool is_outgrown(const struct sp_sqlite_map *map)
{
	size_t size = (size_t)file_size(map->file);

	return size < map->size || size - map->size > map->size / 8;
}

/* `page` NULL: let all of it go. */
static int on_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page)
{
	struct sp_sqlite_map *map = page ? NULL : map_of(file);

	if (map && map->start && !is_outgrown(map))
		return SQLITE_OK;
	if (map)
		map->start = NULL;
	return original->xUnfetch(file, offset, page);
}

/* As a reader of the file would have been told of an error, but later: see `torn`. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	uintptr_t page_size = (uintptr_t)getpagesize(), at = (uintptr_t)info->si_addr;
	void *page = (void *)(at - at % page_size);
	struct sp_sqlite_map *map;
	int saved = errno;

	(void)context;
	for (map = LIST_FIRST(&maps); map; map = LIST_NEXT(map, link))
		if (map->start && at - (uintptr_t)map->start < map->size &&
		    mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			0) != MAP_FAILED) {
			map->torn = 1;
			errno = saved;
			return;
		}
	/* None of ours: it comes again, as if nobody had listened. */
	(void)sigaction(number, &before, NULL);
}

static void listen_to_bus_errors(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGBUS, &action, &before);
}

/* Ours in front of the file's own functions. */
static bool step_between(sqlite3_file *file)
{
	if (!original && file->pMethods && file->pMethods->iVersion >= 3 &&
	    file->pMethods->xFetch) {
		original = file->pMethods;
		methods = *original;
		methods.xFetch = on_fetch;
		methods.xUnfetch = on_unfetch;
	}
	if (!original || file->pMethods != original)
		return false;
	file->pMethods = &methods;
	return true;
}

void sp_sqlite_map_begin(struct sp_sqlite_map *map, sqlite3 *db)
{
	sqlite3_file *file = NULL;

	*map = (struct sp_sqlite_map){0};
	if (sp_sql.file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
	    !file || !step_between(file))
		return;
	map->file = file;
	if (LIST_EMPTY(&maps))
		listen_to_bus_errors();
	LIST_INSERT_HEAD(&maps, map, link);
	(void)sp_sql.exec(db, MAP_MAX, NULL, NULL, NULL);
}

void sp_sqlite_map_end(struct sp_sqlite_map *map)
{
	if (!map->file)
		return;
	LIST_REMOVE(map, link);
	map->file = NULL;
	map->start = NULL;
	if (LIST_EMPTY(&maps))
		(void)sigaction(SIGBUS, &before, NULL);
}
