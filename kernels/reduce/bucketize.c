/*
 * bucketize.c - Bucketize: the number of boundaries that are not above a value.
 */
#include "kernels/reduce/bucketize.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/vector/simd.h"

#include <stdlib.h>

struct row {
    const struct tfd_bucketize *buckets;
    const void *x;
    int32_t *y;
};

/* Up to so many boundaries are all compared with each value: no branch, and
 * vectors. */
#define ALL_MAX 48
#define BLOCK 512 /* values whose counts stay in the nearest cache */

/* F: the type that C's arithmetic has for both, in which TensorFlow compares;
 * what is no number is above all. */
#define IS_BELOW(F, x, boundary) (!((F)(x) < (boundary)))

/* Halves what is left without a branch: which way it goes nobody foresees. */
#define SEARCH(name, T, F)                                                     \
    static void search_##name(const struct row *r, int64_t begin, int64_t end) \
    {                                                                          \
        const float *boundary = r->buckets->boundary;                          \
        const T *x = r->x;                                                     \
                                                                               \
        for (int64_t i = begin; i < end; i++) {                                \
            int32_t low = 0;                                                   \
                                                                               \
            for (int32_t n = r->buckets->count; n > 0; n /= 2) {               \
                const int32_t half = n - n / 2;                                \
                                                                               \
                low += half * IS_BELOW(F, x[i], boundary[low + half - 1]);     \
            }                                                                  \
            r->y[i] = low;                                                     \
        }                                                                      \
    }

#define COMPARE_ALL(name, T, F)                                             \
    TFD_SIMD_LOOP(compare_##name)                                           \
    {                                                                       \
        const struct row *r = arg;                                          \
        const int count = r->buckets->count;                                \
        const T *x = r->x;                                                  \
        int32_t *y = r->y;                                                  \
                                                                            \
        for (int64_t to; begin < end; begin = to) {                         \
            const float *b = r->buckets->boundary;                          \
            int left = count;                                               \
                                                                            \
            to = end - begin < BLOCK ? end : begin + BLOCK;                 \
            for (int64_t i = begin; i < to; i++)                            \
                y[i] = 0;                                                   \
            for (; left >= 4; left -= 4, b += 4) {                          \
                const F b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];         \
                                                                            \
                for (int64_t i = begin; i < to; i++)                        \
                    y[i] += IS_BELOW(F, x[i], b0) + IS_BELOW(F, x[i], b1) + \
                            IS_BELOW(F, x[i], b2) + IS_BELOW(F, x[i], b3);  \
            }                                                               \
            for (; left > 0; left--, b++) {                                 \
                const F b0 = b[0];                                          \
                                                                            \
                for (int64_t i = begin; i < to; i++)                        \
                    y[i] += IS_BELOW(F, x[i], b0);                          \
            }                                                               \
        }                                                                   \
    }                                                                       \
    TFD_SIMD_CLONES_WIDE(compare_##name)

#define BUCKETIZED(X)        \
    X(INT32, int32_t, float) \
    X(INT64, int64_t, float) \
    X(FLOAT, float, float)   \
    X(DOUBLE, double, double)

BUCKETIZED(SEARCH)
BUCKETIZED(COMPARE_ALL)

#define BUCKETIZE(name, T, F)                                           \
    static void bucketize_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                   \
        const struct row *r = arg;                                      \
                                                                        \
        if (r->buckets->count > ALL_MAX)                                \
            search_##name(arg, begin, end);                             \
        else                                                            \
            compare_##name(arg, begin, end);                            \
    }

BUCKETIZED(BUCKETIZE)

void tfd_bucketize_release(void *state)
{
    struct tfd_bucketize *b = state;

    free(b->boundary);
    b->boundary = NULL;
}

static enum tfd_code read_boundaries(const struct tfd_node *n,
                                     struct tfd_bucketize *b, int max,
                                     struct tfd_status *st)
{
    TFD_TRY(tfd_node_floats(n, "boundaries", b->boundary, max, &b->count, st));
    for (int i = 1; i < b->count; i++)
        if (b->boundary[i] < b->boundary[i - 1])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected sorted boundaries");
    return TFD_OK;
}

enum tfd_code tfd_bucketize_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_bucketize *b = state;
    struct tfd_str value = {0};
    int max;
    enum tfd_code rc;

    /* A number takes four bytes of the attribute at least. */
    tfd_node_attr(p->node, "boundaries", &value);
    if (value.size / sizeof(float) > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "too many boundaries");
    max = (int)(value.size / sizeof(float));
    b->boundary = calloc((size_t)max + 1, sizeof(float));
    if (!b->boundary)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %d boundaries", max);
    rc = read_boundaries(p->node, b, max, st);
    if (rc != TFD_OK)
        tfd_bucketize_release(b);
    return rc;
}

/* Nanoseconds: a search; or some comparisons of vectors. */
#define SEARCH_NS 8
#define COMPARE_NS 1

static enum tfd_code compute_buckets(struct tfd_kctx *k, struct tfd_status *st)
{
    struct row r = {.buckets = k->state, .x = tfd_tensor_data(&k->in[0])};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &k->in[0].shape, st));
    r.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]),
                      r.buckets->count > ALL_MAX ? SEARCH_NS : COMPARE_NS,
                      k->kernel->range, &r);
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Bucketize",
        .inputs = "input: T",
        .outputs = "output: int32",
        .attrs = "T: {int32, int64, float, double}; boundaries: list(float)",
        .shape = tfd_shape_same,
    },
};

#define ROW(name)                                                             \
    TFD_KERNEL("Bucketize", name, compute_buckets, .range = bucketize_##name, \
               .prepare = tfd_bucketize_prepare,                              \
               .release = tfd_bucketize_release,                              \
               .state_size = sizeof(struct tfd_bucketize))

static const struct tfd_kernel kernels[] = {
    ROW(INT32),
    ROW(INT64),
    ROW(FLOAT),
    ROW(DOUBLE),
};

const struct tfd_family tfd_family_bucketize = {
    .name = "bucketize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
