/* glibc's table of names, in both directions. */
#include "base/signal.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"

void sp_signal_name(int number, char ret_name[SP_SIGNAL_NAME_SIZE])
{
	const char *name = sigabbrev_np(number);

	if (name)
		(void)snprintf(ret_name, SP_SIGNAL_NAME_SIZE, "SIG%s", name);
	else
		(void)snprintf(ret_name, SP_SIGNAL_NAME_SIZE, "SIG%d", number);
}

bool sp_signal_parse(const char *name, int *ret_number)
{
	const char *rest = strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
	int64_t number;

	for (int i = 1; i <= SIGRTMAX; i++) {
		const char *known = sigabbrev_np(i);
		if (known && strcmp(known, rest) == 0) {
			*ret_number = i;
			return true;
		}
	}
	if (rest == name || !sp_number_parse(rest, 1, SIGRTMAX, &number) ||
	    sigabbrev_np((int)number))
		return false;
	*ret_number = (int)number;
	return true;
}
