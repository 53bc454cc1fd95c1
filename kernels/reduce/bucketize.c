/*
 * bucketize.c - Bucketize: the number of boundaries that are not above a value.
 */
#include "kernels/reduce/bucketize.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <stdlib.h>

struct row {
    const struct tfd_bucketize *buckets;
    const void *x;
    int32_t *y;
};

/* F: the type that C's arithmetic has for both, in which TensorFlow compares;
 * what is no number is above all. */
#define BUCKETIZE(name, T, F)                                           \
    static void bucketize_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                   \
        const struct row *r = arg;                                      \
        const float *boundary = r->buckets->boundary;                   \
        const T *x = r->x;                                              \
                                                                        \
        for (int64_t i = begin; i < end; i++) {                         \
            int low = 0, high = r->buckets->count;                      \
                                                                        \
            while (low < high) {                                        \
                int middle = low + (high - low) / 2;                    \
                                                                        \
                if ((F)x[i] < boundary[middle])                         \
                    high = middle;                                      \
                else                                                    \
                    low = middle + 1;                                   \
            }                                                           \
            r->y[i] = low;                                              \
        }                                                               \
    }

BUCKETIZE(INT32, int32_t, float)
BUCKETIZE(INT64, int64_t, float)
BUCKETIZE(FLOAT, float, float)
BUCKETIZE(DOUBLE, double, double)

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

/* Nanoseconds: a search in some dozens of boundaries. */
#define COST 8

static enum tfd_code compute_buckets(struct tfd_kctx *k, struct tfd_status *st)
{
    struct row r = {.buckets = k->state, .x = tfd_tensor_data(&k->in[0])};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &k->in[0].shape, st));
    r.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), COST, k->kernel->range,
                      &r);
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
