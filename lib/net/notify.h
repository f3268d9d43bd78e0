/* The service manager's notification socket (sd_notify(3)): a datagram of a few bytes, no library
 * needed. */
#ifndef SP_NET_NOTIFY_H
#define SP_NET_NOTIFY_H

/* Sends `state` ("READY=1") to $NOTIFY_SOCKET, a path or an abstract name after '@'. Without one,
 * or when nobody reads: nothing. */
void sp_notify(const char *state);

/* Says that the configuration is being read again; READY=1 says that this has ended. */
void sp_notify_reloading(void);

/* How often the service manager wants to hear WATCHDOG=1 from this process ($WATCHDOG_USEC,
 * $WATCHDOG_PID), in seconds; 0: not at all. */
double sp_notify_watchdog(void);

#endif
