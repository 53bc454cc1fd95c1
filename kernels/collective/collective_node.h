/*
 * collective_node.h - what the kernels of all versions of a collective read
 * from their nodes, and how they begin.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_COLLECTIVE_NODE_H
#define TFD_KERNELS_COLLECTIVE_NODE_H

#include "kernels/collective/collective_state.h"

/* T and timeout_seconds. */
enum tfd_code tfd_collective_read(const struct tfd_prepare *p,
                                  struct tfd_collective_state *s,
                                  struct tfd_status *st) TFD_MUST_USE;
/* How values are combined; final_attr may be NULL: no division. */
enum tfd_code tfd_collective_read_merge(const struct tfd_prepare *p,
                                        const char *merge_attr,
                                        const char *final_attr,
                                        struct tfd_collective_state *s,
                                        struct tfd_status *st) TFD_MUST_USE;
/* The shape of a gather among so many members that have `in` each. */
enum tfd_code tfd_collective_gathered(const struct tfd_tensor *in, int32_t size,
                                      struct tfd_shape *out,
                                      struct tfd_status *st) TFD_MUST_USE;
/* tfd_collective_start(), if st is OK; else k fails. */
void tfd_collective_begin(struct tfd_kctx *k,
                          const struct tfd_collective_spec *spec,
                          tfd_collective_run_fn *run,
                          const struct tfd_status *st);

#endif
