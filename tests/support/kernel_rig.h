/*
 * kernel_rig.h - one operation, run on its own, from a table of texts:
 *
 *     {"AddV2", "", {"float[2] 1 2", "float[] 3"}, {"float[2] 4 5"}},
 *     {"Cast", "DstT=int32", {"float[3] 1.9 -1.9 nan"}, {"int32[3] 1 -1 ..."}},
 *     {"AddV2", "", {"float[2] 1 2", "float[3] 1 2 3"},
 *      {"!INVALID_ARGUMENT Incompatible shapes: [2] vs. [3]"}},
 *
 * A tensor is type[shape] and its values, repeated from the first when there
 * are fewer than elements.  A complex value is re,im.  An expected text that
 * begins with '!' is a code and a part of the message.
 *
 * A case is run through the registry as the worker does it (definition, shape
 * function, checks, prepare, compute), with inputs that have other readers and
 * with inputs that may be overwritten, and with loops whole and in pieces out
 * of order.  All must give the same; the shape function must agree with the
 * result.
 */
#ifndef TFD_TESTS_SUPPORT_KERNEL_RIG_H
#define TFD_TESTS_SUPPORT_KERNEL_RIG_H

#include "common/base/half.h"
#include "common/base/str.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/registry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KRIG_IN_MAX 8
#define KRIG_OUT_MAX 4
#define KRIG_ATTR_MAX 8

struct krig_case {
    const char *op, *attrs;
    const char *in[KRIG_IN_MAX];
    const char *out[KRIG_OUT_MAX];
};

enum krig_mode {
    KRIG_SHARED = 0,
    KRIG_SOLE = 1,
    KRIG_PIECES = 2,
    KRIG_ALL = 4
};

struct krig {
    struct tfd_registry registry;
    struct tfd_status st;
    struct tfd_graph *graph;
    struct tfd_node *node;
    const struct tfd_kernel *kernel;
    void *state;
    struct tfd_tensor in[KRIG_IN_MAX], shared[KRIG_IN_MAX], out[KRIG_OUT_MAX];
    struct tfd_shape inferred[KRIG_OUT_MAX];
    int in_count;
};

extern struct krig krig;
extern bool krig_in_pieces;

/* In place of the runtime's: thirds, the last first.  Each test defines them
 * itself: in the archive they would take the place of the runtime's in tests
 * that have no kernel_rig. */
#ifndef KRIG_ARCHIVED
void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    int64_t third = krig_in_pieces ? n / 3 : 0;

    (void)k;
    (void)cost;
    fn(arg, 2 * third, n);
    if (third) {
        fn(arg, 0, third);
        fn(arg, third, 2 * third);
    }
}

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    tfd_kctx_parallel(k, n, bytes, fn, arg);
}

void tfd_kctx_parallel_turns(struct tfd_kctx *k, int64_t n,
                             const struct tfd_stream *s, tfd_range_fn *fn,
                             void *arg)
{
    tfd_kctx_parallel(k, n, s->cost > 0 ? s->cost : s->moved, fn, arg);
}
#endif

int krig_setup(void **state);

int krig_teardown(void **state);

/* ---- Texts to tensors ---------------------------------------------------- */

void krig_put_number(enum tfd_dtype t, void *data, int64_t i, double re,
                     double im, int64_t whole);

struct tfd_tensor krig_tensor(const char *text);

/* ---- Comparing ----------------------------------------------------------- */

double krig_number(const struct tfd_tensor *t, int64_t i, int part);

bool krig_near(double a, double b, double tolerance);

void krig_compare(const char *label, const struct tfd_tensor *a,
                  const struct tfd_tensor *b);

/* ---- Running ------------------------------------------------------------- */

enum tfd_code krig_compute(void);

void krig_end(void);

/* Runs c on krig.in; the outputs are in krig.out until krig_end(). */
enum tfd_code krig_run(const struct krig_case *c, int mode);

void krig_check(const struct krig_case *c);

#define KRIG_CHECK(cases)                                              \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof((cases)[0]); i_++) \
    krig_check(&(cases)[i_])

#endif
