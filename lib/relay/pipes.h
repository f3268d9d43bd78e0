/* Pipes for splice(2): taken when a stream has become bulk, given back when it has not. A user's
 * pipes share one budget of the kernel's (pipe-user-pages-soft). Inside lib/relay only. */
#ifndef SP_RELAY_PIPES_H
#define SP_RELAY_PIPES_H

#include <stdbool.h>

/* False: there is none to be had now; bytes are copied then. */
bool sp_pipe_take(int ret_pipe[2]);

/* `clean`: empty, fit for another stream. Sets both to -1. */
void sp_pipe_give(int pipe[2], bool clean);

#endif
