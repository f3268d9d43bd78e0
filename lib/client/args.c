/* Arguments from text. */
#include "client/args.h"

#include <stdlib.h>
#include <string.h>
#include "base/base64.h"
#include "base/text.h"
#include "base/util.h"

json_t *sp_args_path(const char *path)
{
	size_t size = strlen(path), room = sp_base64_room(size, false);
	sp_auto_free char *data = NULL;

	if (sp_utf8_valid(path, size))
		return json_pack("{s:s}", "path", path);
	data = malloc(room);
	if (!data)
		return NULL;
	sp_base64_encode_public(path, size, false, data, room);
	return json_pack("{s:s}", "path_data", data);
}
