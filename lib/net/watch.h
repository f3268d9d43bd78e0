/* Tells, on a libev loop, when a path may have changed: inotify as a hint, whoever is told looks
 * for himself. A user has few inotify instances (128 by default), and a worker has more bridges
 * than that: where there is none left, the path is looked at instead. */
#ifndef SP_NET_WATCH_H
#define SP_NET_WATCH_H

#include <ev.h>
#include "base/err.h"

struct sp_watch;

/*
 * `path` is a file or directory, or a symlink to one; it, and directories above it, may be absent
 * yet, replaced, or symlinks that are swapped. `changed` is called within 100 ms of a change of the
 * path, of anything in its directory, or in itself when it is one; a burst of changes makes one
 * call. What changes behind a symlink that the path's symlink points to is not seen. Where it is
 * looked at, nor is what changes in a neighbour that keeps its name and place.
 */
int sp_watch_new(struct ev_loop *loop, const char *path, void (*changed)(void *context),
    void *context, struct sp_watch **ret, struct sp_err *err);
void sp_watch_free(struct sp_watch *watch);

#endif
