/*
 * own_name.h - finds the address to listen on, and waits where the name of this
 * task does not resolve yet: in Kubernetes, and while a host boots, a name
 * comes seconds after the process.
 *
 * Threads: the main thread; SIGTERM and SIGINT are handled here while it waits,
 * and as before afterwards.
 */
#ifndef TFD_DAEMON_OWN_NAME_H
#define TFD_DAEMON_OWN_NAME_H

#include "config/bind.h"

/*
 * As tfd_bind_resolve(), but a name that does not resolve is asked for again,
 * ever more slowly, for wait_ms (0: for ever), and the log says so once.
 * waiting(), which may be NULL, is called then with what is waited for.
 *
 * UNAVAILABLE: the time is over.  CANCELLED: SIGTERM or SIGINT came.
 */
enum tfd_code tfd_own_name_find(const char *bind, const char *own, int32_t port,
                                int64_t wait_ms,
                                void (*waiting)(void *ctx, const char *why),
                                void *ctx, struct tfd_bind *out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
