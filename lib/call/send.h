/*
 * The stage `send`: minted -> done (04-bridge, Client side); what may go to a manager, and where
 * that is. call/endpoint.h carries it there. Pure.
 */
#ifndef SP_CALL_SEND_H
#define SP_CALL_SEND_H

#include <jansson.h>
#include <stdbool.h>
#include "record/request.h"

/* May this minted record be sent? *ret_path is its manager's socket, borrowed from the record.
 * `streams`: stream operations may, too. SP_E_BAD_RECORD. */
int sp_send_stage_take(const json_t *record, bool streams, struct sp_request *ret_request,
    const char **ret_path, struct sp_err *err);

#endif
