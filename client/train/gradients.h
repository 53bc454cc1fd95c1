/*
 * gradients.h - adds to a program's graph the operations that compute the
 * derivatives of some of its outputs; kernels/core/gradient_walk.h does the
 * work.
 *
 * Threads: the graph's lock is held.
 */
#ifndef TFD_CLIENT_GRADIENTS_H
#define TFD_CLIENT_GRADIENTS_H

#include "client/c_api/capi.h"
#include "kernels/core/gradient_walk.h"

/* The host in the request is made here.  On failure the graph is as it was. */
enum tfd_code tfd_gradients_add(TF_Graph *g, struct tfd_gradients *r,
                                struct tfd_status *st) TFD_MUST_USE;

/* "gradients", or "gradients_1" ... where that is taken. */
enum tfd_code tfd_gradients_prefix(const TF_Graph *g, struct tfd_bytes *out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* A node that has this name, or one that begins with it and a slash; NULL. */
const struct tfd_node *tfd_gradients_prefix_user(const TF_Graph *g,
                                                 struct tfd_str prefix);

#endif
