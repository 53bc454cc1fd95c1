/*
 * random_stream.c - reads seeds and keys.
 */
#include "kernels/random/random_stream.h"

#include "kernels/core/check.h"

enum tfd_code tfd_random_stream_init(const struct tfd_prepare *p,
                                     struct tfd_philox_source *s,
                                     struct tfd_status *st)
{
    int64_t seed, seed2;

    TFD_TRY(tfd_node_int(p->node, "seed", &seed, st));
    TFD_TRY(tfd_node_int(p->node, "seed2", &seed2, st));
    return tfd_philox_source_init(s, seed, seed2, st);
}

enum tfd_code tfd_random_stream_prepare(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st)
{
    return tfd_random_stream_init(p, state, st);
}

/* ---- Seeds --------------------------------------------------------------- */

#define SCRAMBLE_KEY (UINT64_C(0x02461e29) << 32 | 0x3ec8f720)

enum tfd_code tfd_random_seeds(const struct tfd_kctx *k, int arg,
                               struct tfd_philox *g, struct tfd_status *st)
{
    const struct tfd_tensor *seeds = &k->in[arg];
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_philox scramble;
    uint64_t first, second;
    uint32_t mix[4];

    if (seeds->dtype != TFD_INT32 && seeds->dtype != TFD_INT64)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid seed type: %s",
                        tfd_dtype_name((int)seeds->dtype));
    if (seeds->shape.rank != 1 || seeds->shape.dim[0] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "seed must have shape [2], not %s",
                        tfd_shape_text(&seeds->shape, text));
    first = (uint64_t)tfd_check_int_at(seeds, 0);
    second = (uint64_t)tfd_check_int_at(seeds, 1);
    scramble = tfd_philox_of(SCRAMBLE_KEY, second);
    scramble.counter[0] = (uint32_t)first;
    scramble.counter[1] = (uint32_t)(first >> 32);
    tfd_philox_next(&scramble, mix);
    *g = tfd_philox_of(mix[0] | (uint64_t)mix[1] << 32,
                       mix[2] | (uint64_t)mix[3] << 32);
    return TFD_OK;
}

/* ---- Keys ---------------------------------------------------------------- */

#define COUNTER_WORDS 2

/* TensorFlow takes the number of the algorithm for the least length, and so
 * reads behind a counter of fewer than `words`. */
static enum tfd_code check_counter(const struct tfd_tensor *counter,
                                   int64_t algorithm, int words,
                                   struct tfd_status *st)
{
    const struct tfd_shape *s = &counter->shape;
    int64_t least =
        algorithm == TFD_RANDOM_AUTO ? TFD_RANDOM_PHILOX : algorithm;
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank == 1 && s->dim[0] >= least)
        least = words;
    if (s->rank != 1 || s->dim[0] < least)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "counter must be a vector with length at least %lld; "
                        "got shape: %s. (Note that batched counters are not "
                        "supported yet.)",
                        (long long)least, tfd_shape_text(s, text));
    return TFD_OK;
}

static enum tfd_code check_shapes(const struct tfd_tensor *key,
                                  const struct tfd_tensor *counter,
                                  const struct tfd_tensor *algorithm, int words,
                                  struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (algorithm->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input 3 (0-based) must have shape [], not %s",
                        tfd_shape_text(&algorithm->shape, text));
    if (key->shape.rank != 1 || key->shape.dim[0] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "key must have shape [1], not %s. (Note that batched "
                        "keys are not supported yet.)",
                        tfd_shape_text(&key->shape, text));
    return check_counter(counter, tfd_check_int_at(algorithm, 0), words, st);
}

enum tfd_code tfd_random_key_check(const struct tfd_kctx *k, int arg,
                                   int64_t outputs, struct tfd_status *st)
{
    int64_t algorithm;

    TFD_TRY(check_shapes(&k->in[arg], &k->in[arg + 1], &k->in[arg + 2],
                         COUNTER_WORDS, st));
    algorithm = tfd_check_int_at(&k->in[arg + 2], 0);
    if ((outputs > 0 || algorithm < 0 || algorithm > TFD_RANDOM_AUTO) &&
        algorithm != TFD_RANDOM_PHILOX && algorithm != TFD_RANDOM_AUTO)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unsupported algorithm id: %lld", (long long)algorithm);
    return TFD_OK;
}

enum tfd_code tfd_random_key_check_philox(const struct tfd_kctx *k, int arg,
                                          struct tfd_status *st)
{
    int64_t algorithm;

    TFD_TRY(check_shapes(&k->in[arg], &k->in[arg + 1], &k->in[arg + 2], 1, st));
    algorithm = tfd_check_int_at(&k->in[arg + 2], 0);
    if (algorithm != TFD_RANDOM_PHILOX && algorithm != TFD_RANDOM_AUTO)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unsupported algorithm id: %lld", (long long)algorithm);
    return TFD_OK;
}
