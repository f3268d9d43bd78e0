/*
 * Time limits of a loop that writes to a blocking output. While that is full nothing is listened
 * to, and what came meanwhile, or was not even written yet, is nobody else's fault: the limits of
 * what is under way then begin anew. Timers of these limits have EV_MINPRI, so that what is at hand
 * is taken first.
 */
#ifndef SP_NET_HELDUP_H
#define SP_NET_HELDUP_H

#include <stdbool.h>
#include <stdint.h>

#define SP_HELD_UP_MS 50 /* later than that a timer is not by itself */

/* Was nothing listened to for a while? By a timer that was to fire at `due`. */
static inline bool sp_held_up(int64_t due, int64_t now)
{
	return now - due > SP_HELD_UP_MS;
}

#endif
