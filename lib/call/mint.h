/*
 * The stage `mint`: routed -> minted (02-capability, Minting), with the key at hand or by a signer
 * that is asked.
 */
#ifndef SP_CALL_MINT_H
#define SP_CALL_MINT_H

#include <jansson.h>
#include "net/audit.h"
#include "record/request.h"
#include "token/mint.h"

#define SP_SIGNER_HOP "signer" /* as the signer calls itself in refusals and audit lines */

/* How long an answer of a signer is waited for. */
#define SP_SIGNER_TIMEOUT_MS 5000

/* May this record be minted? 1: yes, *ret_request is set; 0: it is done and passes through; else
 * SP_E_BAD_RECORD. */
int sp_mint_stage_take(const json_t *record, struct sp_request *ret_request, struct sp_err *err);

/*
 * One record with the key at hand: routed becomes minted (`record` itself) or refused, done passes
 * through, SP_E_BAD_RECORD is said of anything else. One audit line for each; `audit` may be NULL.
 * *ret is a new reference.
 */
int sp_mint_stage_sign(struct sp_minter *minter, struct sp_audit *audit, json_t *record,
    json_t **ret, struct sp_err *err);

/* The same of a usual line, without a tree: a routed record that can be minted. True: the minted
 * record has been added to `out`. False: not judged, nothing has been done. */
bool sp_mint_stage_quick(struct sp_minter *minter, struct sp_audit *audit, const char *line,
    size_t size, struct sp_out *out);

/*
 * What a signer is asked: the record with only those args that a capability is made from, so that
 * no file's content goes there. Heap; NULL: out of memory.
 */
char *sp_mint_stage_question(const json_t *record, const struct sp_request *request);

/* What becomes of a record by the signer's answer, of which only the token or the refusal is
 * believed. A new reference, NULL: out of memory. */
json_t *sp_mint_stage_finish(json_t *record, const char *line, size_t size);

/* ... when the signer did not answer: `words` say why. */
json_t *sp_mint_stage_unanswered(const json_t *record, const char *words);

#endif
