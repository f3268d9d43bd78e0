/*
 * The file operations of 07-operations, each within a root (guest/path.h). Each takes the closed
 * `args` of its operation and gives its `result` as a new reference. Codes: 0, SP_E_BAD_RECORD for
 * args that are wrong (answered as EINVAL), or -errno; always with words.
 */
#ifndef SP_GUEST_FILE_H
#define SP_GUEST_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include "base/err.h"

typedef int sp_file_op_fn(int root, const json_t *args, json_t **ret, struct sp_err *err);

sp_file_op_fn sp_file_op_read;
sp_file_op_fn sp_file_op_write;
sp_file_op_fn sp_file_op_stat;
sp_file_op_fn sp_file_op_list;
sp_file_op_fn sp_file_op_mkdir;
sp_file_op_fn sp_file_op_rename;
sp_file_op_fn sp_file_op_chmod;

#define SP_FILE_LIST_MAX   4096 /* entries of one file.list; the line's bound may come first */
#define SP_FILE_WALK_DEPTH 256  /* directories below one another in list and remove */

/* file.remove may have much to do, so it is done in steps. */
struct sp_removal;

/* Checks args and takes away what takes one call. *ret is NULL when that was all, else go on with
 * sp_removal_step. */
int sp_removal_new(int root, const json_t *args, struct sp_removal **ret, struct sp_err *err);

/* Takes away up to `entries` more. 1: all done, 0: call again, or -errno. */
int sp_removal_step(struct sp_removal *removal, unsigned entries, struct sp_err *err);
void sp_removal_free(struct sp_removal *removal);

#endif
