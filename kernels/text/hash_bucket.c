/*
 * hash_bucket.c - StringToHashBucketFast, StringToHashBucketStrong and
 * StringToHashBucket: the bucket of a string, by three hashes.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/text/fingerprint.h"
#include "kernels/text/keyed_hash.h"

#define STRING_COST_NS 20
#define STRINGS_BETWEEN_LOOKS 4096

struct bucket;
typedef uint64_t hash_fn(const struct bucket *b, struct tfd_str s);

struct bucket {
    hash_fn *hash;
    uint64_t count;
    uint64_t key[2]; /* of the strong hash */
};

/* ---- The hashes ---------------------------------------------------------- */

static uint64_t hash_fast(const struct bucket *b, struct tfd_str s)
{
    (void)b;
    return tfd_fingerprint_of(s);
}

static uint64_t hash_old(const struct bucket *b, struct tfd_str s)
{
    (void)b;
    return tfd_keyed_hash_64(s);
}

static uint64_t hash_strong(const struct bucket *b, struct tfd_str s)
{
    return tfd_keyed_hash_sip(b->key, s);
}

/* ---- Buckets ------------------------------------------------------------- */

static enum tfd_code read_count(const struct tfd_prepare *p, struct bucket *b,
                                struct tfd_status *st)
{
    int64_t count;

    TFD_TRY(tfd_node_int(p->node, "num_buckets", &count, st));
    if (count < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_buckets must be at least 1, got %lld",
                        (long long)count);
    b->count = (uint64_t)count;
    return TFD_OK;
}

static enum tfd_code fast_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct bucket *b = state;

    b->hash = hash_fast;
    return read_count(p, b, st);
}

static enum tfd_code old_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct bucket *b = state;

    b->hash = hash_old;
    return read_count(p, b, st);
}

static enum tfd_code strong_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct bucket *b = state;
    int64_t key[2];
    int count = 0;

    b->hash = hash_strong;
    TFD_TRY(read_count(p, b, st));
    if (tfd_node_ints(p->node, "key", key, 2, &count, st) != TFD_OK ||
        count != 2) {
        tfd_status_clear(st);
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Key must have 2 elements");
    }
    b->key[0] = (uint64_t)key[0];
    b->key[1] = (uint64_t)key[1];
    return TFD_OK;
}

static void bucket_range(void *arg, int64_t begin, int64_t end)
{
    struct tfd_kctx *k = arg;
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    const struct bucket *b = k->state;
    int64_t *y = tfd_tensor_data(&k->out[0]);

    for (int64_t i = begin; i < end; i++) {
        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        y[i] = (int64_t)(b->hash(b, tfd_tstring_view(&x[i])) % b->count);
    }
}

static enum tfd_code bucket_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &k->in[0].shape, st));
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), STRING_COST_NS,
                      bucket_range, k);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define BUCKET(op, input, attributes)                                       \
    {                                                                       \
        .name = op, .inputs = input ": string", .outputs = "output: int64", \
        .attrs = attributes, .shape = tfd_shape_like_first,                 \
        .flags = TFD_OP_NO_GRADIENT,                                        \
    }

static const struct tfd_opdef ops[] = {
    BUCKET("StringToHashBucketFast", "input", "num_buckets: int >= 1"),
    BUCKET("StringToHashBucketStrong", "input",
           "num_buckets: int >= 1; key: list(int)"),
    BUCKET("StringToHashBucket", "string_tensor", "num_buckets: int >= 1"),
};

#define BUCKET_KERNEL(op, name)                                   \
    TFD_KERNEL_ANY(op, bucket_compute, .prepare = name##_prepare, \
                   .state_size = sizeof(struct bucket))

static const struct tfd_kernel kernels[] = {
    BUCKET_KERNEL("StringToHashBucketFast", fast),
    BUCKET_KERNEL("StringToHashBucketStrong", strong),
    BUCKET_KERNEL("StringToHashBucket", old),
};

const struct tfd_family tfd_family_hash_bucket = {
    .name = "hash_bucket",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
