/*
 * http.h - one page of a server, by HTTP/1.1 GET on a connection of its own.
 *
 * The whole of it, from the name to the last byte, has one time limit; a body
 * has a size limit, and a head TFD_HTTP_HEAD_SIZE_MAX.  The body ends where the
 * connection does, or at Content-Length.
 *
 * Threads: any.  Blocks.
 */
#ifndef TFD_TOOLS_CTL_HTTP_H
#define TFD_TOOLS_CTL_HTTP_H

#include "common/base/str.h"

/* NOT_FOUND for a page that there is not; UNAVAILABLE where nobody answers,
 * DEADLINE_EXCEEDED where the time is up (timeout_ms 0: never), UNIMPLEMENTED
 * where no HTTP/1 is spoken, RESOURCE_EXHAUSTED for what is too large.  *body
 * is to be freed in every case. */
enum tfd_code tfd_ctl_http_get(const char *address, const char *path,
                               int64_t timeout_ms, size_t body_max,
                               struct tfd_bytes *body,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
