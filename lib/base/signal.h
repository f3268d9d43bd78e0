/* Signals by name, as operations name them. Pure. */
#ifndef SP_BASE_SIGNAL_H
#define SP_BASE_SIGNAL_H

#include <stdbool.h>

#define SP_SIGNAL_NAME_SIZE 16

/* "SIGTERM"; "SIG34" for one without a name. */
void sp_signal_name(int number, char ret_name[SP_SIGNAL_NAME_SIZE]);

/* A name of the above form that this system has, also without its SIG. False otherwise. */
bool sp_signal_parse(const char *name, int *ret_number);

#endif
