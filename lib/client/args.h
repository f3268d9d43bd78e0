/* Arguments of operations as people and URLs give them. */
#ifndef SP_CLIENT_ARGS_H
#define SP_CLIENT_ARGS_H

#include <jansson.h>

/* {"path":TEXT}, or {"path_data":BASE64} where a path is no UTF-8 (07-operations). A new reference;
 * NULL: out of memory. */
json_t *sp_args_path(const char *path);

#endif
