/* One JSON object for people: a row for each field, "route.worker  worker-a". */
#ifndef SP_CLI_FIELDS_H
#define SP_CLI_FIELDS_H

#include <jansson.h>
#include "cli/cli.h"

/* `name` heads the left column. Objects are taken apart down to `depth` of them; what is deeper,
 * and lists, are shown as JSON. An exit code, told. */
int sp_cli_fields(struct sp_cli *cli, const char *name, const json_t *object, unsigned depth);

#endif
