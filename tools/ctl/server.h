/*
 * server.h - the server that a verb asks: which one, calls to it, a session.
 *
 * Calls are gRPC, which tfd and TensorFlow's own servers speak.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_SERVER_H
#define TFD_TOOLS_CTL_SERVER_H

#include "tools/ctl/report.h"

#include "client/session/remote.h"

struct tfd_ctl_server {
    struct tfd_ctl *ctl;
    char address[TFD_ADDRESS_SIZE_MAX]; /* "host:port" */
    struct tfd_backend *backend;
};

/* Reads --target, or what stands for it; an exit code other than TFD_CTL_DONE
 * after a line that says why. */
int tfd_ctl_server_find(struct tfd_ctl *c, char address[TFD_ADDRESS_SIZE_MAX]);

/* Nobody has been called yet.  Closed in every case. */
int tfd_ctl_server_open(struct tfd_ctl *c, struct tfd_ctl_server *s);
/* The session, if the backend has one, is closed too. */
void tfd_ctl_server_close(struct tfd_ctl_server *s);

/* Sends request, a message without tensors, and copies the answer into *out
 * (which may be NULL).  wait_ms: how long to wait for a server that is not
 * there. */
enum tfd_code tfd_ctl_server_call(struct tfd_ctl_server *s,
                                  enum tfd_method_number method,
                                  struct tfd_str request, int64_t wait_ms,
                                  struct tfd_bytes *out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* Whether somebody is there who answers; else the exit code, after a line. */
int tfd_ctl_server_greet(struct tfd_ctl_server *s);

#endif
