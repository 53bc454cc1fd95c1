/*
 * worker_kernels.h - the family "test": kernels that add, fail, wait to be let
 * go, and compute for long, for tests of daemon/worker (worker_rig.h).
 */
#ifndef TFD_TESTS_SUPPORT_WORKER_KERNELS_H
#define TFD_TESTS_SUPPORT_WORKER_KERNELS_H

#include "common/base/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/runtime.h"

#include <string.h>

/* Kernels of TestHold wait here until wrig_let_go(). */
extern struct tfd_kctx *wrig_held[64];             /* atomic */
extern int wrig_held_count;                        /* atomic */
extern int wrig_cancelled_count;                   /* atomic */
extern int wrig_runs;                              /* atomic: of TestCount */
extern int wrig_threads_at_once, wrig_threads_max; /* atomic: in TestSpin */

float wrig_float_at(const struct tfd_tensor *t);

enum tfd_code wrig_put(struct tfd_kctx *k, enum tfd_dtype dtype, double v,
                       struct tfd_status *st);

struct wrig_hold {
    struct tfd_cancel cancel; /* one step at a time */
    struct tfd_kctx *k;
};

/* Waits until `at` + 1 kernels have been held. */
struct tfd_kctx *wrig_wait_held(int at);

/* Finishes a held kernel with its input; false when it was cancelled. */
bool wrig_let_go(struct tfd_kctx *k);

extern const struct tfd_family wrig_family;

#endif
