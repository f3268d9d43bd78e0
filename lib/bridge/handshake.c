/* The two lines of the VSOCK handshake. */
#include "bridge/handshake.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"

size_t sp_handshake_ask(uint32_t port, char ret_line[SP_HANDSHAKE_ASK_MAX])
{
	return (size_t)snprintf(ret_line, SP_HANDSHAKE_ASK_MAX, "CONNECT %u\n", (unsigned)port);
}

enum sp_handshake sp_handshake_read(
    const char *bytes, size_t size, size_t *ret_used, uint32_t *ret_port)
{
	char digits[SP_HANDSHAKE_ANSWER_MAX];
	const char *end;
	int64_t port;
	size_t length;

	if (size == 0)
		return SP_HANDSHAKE_WAIT;
	if (size > SP_HANDSHAKE_ANSWER_MAX)
		size = SP_HANDSHAKE_ANSWER_MAX;
	end = memchr(bytes, '\n', size);
	if (!end || end - bytes < 4 || memcmp(bytes, "OK ", 3) != 0)
		return SP_HANDSHAKE_BAD;
	length = (size_t)(end - bytes) - 3;
	memcpy(digits, bytes + 3, length);
	digits[length] = '\0';
	if (strlen(digits) != length || !sp_number_parse(digits, 0, UINT32_MAX, &port))
		return SP_HANDSHAKE_BAD;
	*ret_used = (size_t)(end - bytes) + 1;
	*ret_port = (uint32_t)port;
	return SP_HANDSHAKE_OK;
}
