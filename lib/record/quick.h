/*
 * Values of closed records out of a quick look (record/scan.h): what their slow readers would find,
 * or false, "let them say": what *ret has is then void. A member that is NULL is missing: false.
 * Pure.
 */
#ifndef SP_RECORD_QUICK_H
#define SP_RECORD_QUICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/op.h"
#include "record/route.h"
#include "record/scan.h"

/* The members of a closed object that is a member's value. */
bool sp_quick_object(const struct sp_scan_member *member, struct sp_scan_member *members,
    unsigned room, unsigned *ret_count);

/* A string without escapes, with a NUL; `room` counts that. */
bool sp_quick_text(const struct sp_scan_member *member, char *ret, size_t room);
bool sp_quick_id(const struct sp_scan_member *member, char ret[SP_ID_MAX + 1]);
bool sp_quick_time(const struct sp_scan_member *member, int64_t *ret_seconds);
bool sp_quick_integer(const struct sp_scan_member *member, int64_t *ret);

/* A request's `id`: a string of 1 to SP_REQUEST_ID_MAX bytes. NULL is well: it is optional. */
bool sp_quick_request_id(const struct sp_scan_member *member);

/* An array of access entries, at most SP_ACCESS_MAX (record/op.h). */
bool sp_quick_access(const struct sp_scan_member *member,
    char ret[SP_ACCESS_MAX][SP_ACCESS_TEXT_SIZE], unsigned *ret_count);

bool sp_quick_route(const struct sp_scan_member *member, struct sp_route *ret);

/* `{sandbox, route}` exactly. */
bool sp_quick_identity(const struct sp_scan_member *member, struct sp_identity *ret);

#endif
