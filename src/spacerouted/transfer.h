/*
 * The lines between `export` and `import`, in this order:
 *
 *   {"kind":"registry","version":1,"revision":N}
 *   {"kind":"route", ...}      as `list` prints it
 *   {"kind":"grant", ...}      as `grants` prints it; of a token:NAME with "credential", the
 *                              BLAKE2b-256 of its bearer token in base64url
 *   {"kind":"end","routes":N,"grants":N}
 */
#ifndef SPACEROUTED_TRANSFER_H
#define SPACEROUTED_TRANSFER_H

#include "spacerouted/verbs.h"

#define TRANSFER_VERSION   1
#define TRANSFER_BEGIN     "registry"
#define TRANSFER_ROUTE     "route"
#define TRANSFER_GRANT     "grant"
#define TRANSFER_END       "end"
#define TRANSFER_HASH_SIZE 44 /* of a credential in base64url, with its NUL */

#endif
