/*
 * hash_bucket.c - StringToHashBucketFast: the bucket of a string, by its
 * fingerprint.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/text/fingerprint.h"

#define STRING_COST_NS 20
#define STRINGS_BETWEEN_LOOKS 4096

static enum tfd_code bucket_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    int64_t *buckets = state;

    TFD_TRY(tfd_node_int(p->node, "num_buckets", buckets, st));
    return *buckets >= 1 ? TFD_OK
                         : tfd_fail(st, TFD_INVALID_ARGUMENT,
                                    "num_buckets must be at least 1, got %lld",
                                    (long long)*buckets);
}

static void bucket_range(void *arg, int64_t begin, int64_t end)
{
    struct tfd_kctx *k = arg;
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    uint64_t buckets = (uint64_t) * (const int64_t *)k->state;
    int64_t *y = tfd_tensor_data(&k->out[0]);

    for (int64_t i = begin; i < end; i++) {
        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        y[i] = (int64_t)(tfd_fingerprint_of(tfd_tstring_view(&x[i])) % buckets);
    }
}

static enum tfd_code bucket_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &k->in[0].shape, st));
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), STRING_COST_NS,
                      bucket_range, k);
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "StringToHashBucketFast",
        .inputs = "input: string",
        .outputs = "output: int64",
        .attrs = "num_buckets: int >= 1",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("StringToHashBucketFast", bucket_compute,
                   .prepare = bucket_prepare, .state_size = sizeof(int64_t)),
};

const struct tfd_family tfd_family_hash_bucket = {
    .name = "hash_bucket",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
