/*
 * random_shuffle.c - RandomShuffle and StatelessShuffle: the rows of a tensor
 * in another order; RandomIndexShuffle: where numbers go (index_shuffle.h).
 *
 * Fisher and Yates: position i gets one of those from i on, the remainder of a
 * number of 32 bits divided by how many there are.  The stream, the node's or
 * that of a key (random_stream.h), is used up by four rows a block.
 *
 * Rows of one number change places themselves; of longer ones their numbers do,
 * and the rows are gathered by them.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/random/index_shuffle.h"
#include "kernels/random/random_number.h"
#include "kernels/random/random_stream.h"
#include "kernels/layout/rows.h"

#include <string.h>

/* ---- The permutation ----------------------------------------------------- */

/* So many places are drawn, and fetched from memory, before they are used. */
#define AHEAD 64

typedef void shuffle_fn(void *rows, int64_t n, struct tfd_philox g);

#define SHUFFLE(T)                                                      \
    static void shuffle_##T(void *rows, int64_t n, struct tfd_philox g) \
    {                                                                   \
        struct tfd_random_draw draw = tfd_random_draw_of(g);            \
        int64_t other[AHEAD];                                           \
        T *x = rows;                                                    \
                                                                        \
        for (int64_t i = 0; i + 1 < n && !tfd_halted(); i += AHEAD) {   \
            int count = n - 1 - i < AHEAD ? (int)(n - 1 - i) : AHEAD;   \
                                                                        \
            for (int a = 0; a < count; a++) {                           \
                uint32_t left = (uint32_t)(n - i - a);                  \
                                                                        \
                other[a] = i + a + tfd_random_draw32(&draw) % left;     \
                __builtin_prefetch(&x[other[a]], 1);                    \
            }                                                           \
            for (int a = 0; a < count; a++) {                           \
                T row = x[i + a];                                       \
                                                                        \
                x[i + a] = x[other[a]];                                 \
                x[other[a]] = row;                                      \
            }                                                           \
        }                                                               \
    }

SHUFFLE(uint8_t)
SHUFFLE(uint16_t)
SHUFFLE(uint32_t)
SHUFFLE(uint64_t)

/* For rows of `size` bytes; NULL where there is none. */
static shuffle_fn *shuffler_of(size_t size)
{
    static shuffle_fn *const shufflers[] = {[1] = shuffle_uint8_t,
                                            [2] = shuffle_uint16_t,
                                            [4] = shuffle_uint32_t,
                                            [8] = shuffle_uint64_t};

    return size < sizeof(shufflers) / sizeof(shufflers[0]) ? shufflers[size]
                                                           : NULL;
}

/* ---- Short rows ---------------------------------------------------------- */

static enum tfd_code shuffle_rows(struct tfd_kctx *k, shuffle_fn *shuffle,
                                  struct tfd_philox g, struct tfd_status *st)
{
    struct tfd_tensor x = k->in[0];
    int64_t rows = x.shape.dim[0];
    const void *from = tfd_tensor_data(&x);
    void *y;

    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    y = tfd_tensor_data(&k->out[0]);
    if (y != from)
        TFD_TRY(tfd_elements_copy(x.dtype, y, from,
                                  tfd_shape_elements(&x.shape), st));
    shuffle(y, rows, g);
    return TFD_OK;
}

/* ---- Rows by their numbers ----------------------------------------------- */

struct job {
    const struct tfd_tensor *x;
    void *y;
    const void *order; /* INT32, or INT64 where that is too small */
    enum tfd_dtype index;
    size_t size;
};

static void gather_range(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;

    tfd_rows_gather(j->size, j->index)(
        (char *)j->y + (size_t)begin * j->size, tfd_tensor_data(j->x), j->size,
        (const char *)j->order + (size_t)begin * tfd_dtype_size(j->index),
        end - begin);
}

static int64_t order_at(const struct job *j, int64_t i)
{
    return j->index == TFD_INT32 ? ((const int32_t *)j->order)[i]
                                 : ((const int64_t *)j->order)[i];
}

static enum tfd_code gather_rows(struct tfd_kctx *k, struct job *j,
                                 struct tfd_status *st)
{
    int64_t rows = j->x->shape.dim[0], size = tfd_tensor_elements(j->x) / rows;
    enum tfd_dtype dtype = j->x->dtype;

    TFD_TRY(tfd_kctx_output(k, 0, dtype, &j->x->shape, st));
    j->y = tfd_tensor_data(&k->out[0]);
    if (tfd_dtype_is_pod(dtype)) {
        tfd_kctx_parallel(k, rows, tfd_rows_cost(j->size), gather_range, j);
        return TFD_OK;
    }
    for (int64_t i = 0; i < rows; i++)
        TFD_TRY(tfd_elements_copy(
            dtype, tfd_element_at(j->y, dtype, i * size),
            tfd_element_of(tfd_tensor_data(j->x), dtype, order_at(j, i) * size),
            size, st));
    return TFD_OK;
}

static void permute(void *order, enum tfd_dtype index, int64_t rows,
                    struct tfd_philox g)
{
    int32_t *medium = order;
    int64_t *large = order;

    for (int64_t i = 0; index == TFD_INT32 && i < rows; i++)
        medium[i] = (int32_t)i;
    for (int64_t i = 0; index == TFD_INT64 && i < rows; i++)
        large[i] = i;
    shuffler_of(tfd_dtype_size(index))(order, rows, g);
}

static enum tfd_code shuffle_numbers(struct tfd_kctx *k, size_t size,
                                     struct tfd_philox g, struct tfd_status *st)
{
    int64_t rows = k->in[0].shape.dim[0];
    struct job j = {.x = &k->in[0], .size = size};
    struct tfd_buffer *order;
    enum tfd_code code;

    j.index = rows <= INT32_MAX ? TFD_INT32 : TFD_INT64;
    order = tfd_buffer_new((size_t)rows * tfd_dtype_size(j.index));
    if (!order)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when shuffling %lld rows", (long long)rows);
    permute(order->data, j.index, rows, g);
    j.order = order->data;
    code = gather_rows(k, &j, st);
    tfd_buffer_unref(order);
    return code;
}

static int64_t rows_of(const struct tfd_tensor *t)
{
    return t->shape.rank ? t->shape.dim[0] : 1;
}

/* Whether one order of the rows is as good as another. */
static bool is_settled(const struct tfd_tensor *t)
{
    return tfd_tensor_elements(t) <= 1 || rows_of(t) <= 1;
}

static enum tfd_code shuffle_by(struct tfd_kctx *k, struct tfd_philox g,
                                struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;
    int64_t rows = shape.dim[0];
    shuffle_fn *shuffle = NULL;
    size_t size;

    if (rows > UINT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "value has %lld rows; at most %lld can be shuffled",
                        (long long)rows, (long long)UINT32_MAX);
    size = (size_t)(tfd_shape_elements(&shape) / rows) *
           tfd_dtype_size(k->in[0].dtype);
    if (tfd_dtype_is_pod(k->in[0].dtype))
        shuffle = shuffler_of(size);
    return shuffle ? shuffle_rows(k, shuffle, g, st)
                   : shuffle_numbers(k, size, g, st);
}

static enum tfd_code shuffle_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];

    if (is_settled(x)) {
        tfd_kctx_output_alias(k, 0, 0, &x->shape);
        return TFD_OK;
    }
    return shuffle_by(
        k, tfd_philox_reserve_blocks(k->state, ((uint64_t)rows_of(x) + 2) / 4),
        st);
}

static enum tfd_code keyed_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];

    TFD_TRY(tfd_random_key_check(k, 1, rows_of(x), st));
    if (is_settled(x)) {
        tfd_kctx_output_alias(k, 0, 0, &x->shape);
        return TFD_OK;
    }
    return shuffle_by(k,
                      tfd_random_keyed(tfd_tensor_data(&k->in[1]),
                                       tfd_tensor_data(&k->in[2])),
                      st);
}

/* ---- RandomIndexShuffle -------------------------------------------------- */

struct places {
    const struct tfd_tensor *index, *seed, *largest;
    struct tfd_tensor *out;
    int rounds;
};

/* With fewer, or an odd number, TensorFlow reads a key that is not there, and
 * may never come to an end. */
#define ROUNDS_MIN 4

static enum tfd_code rounds_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    int64_t rounds;

    TFD_TRY(tfd_node_int(p->node, "rounds", &rounds, st));
    if (rounds < ROUNDS_MIN || rounds > TFD_INDEX_SHUFFLE_ROUNDS_MAX ||
        rounds % 2 != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "rounds must be even and in [%d, %d], got %lld",
                        ROUNDS_MIN, TFD_INDEX_SHUFFLE_ROUNDS_MAX,
                        (long long)rounds);
    *(int *)state = (int)rounds;
    return TFD_OK;
}

/* What has a sign is extended by it. */
static uint64_t whole_at(const struct tfd_tensor *t, int64_t i)
{
    const void *x = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_INT32:
        return (uint64_t)(int64_t)((const int32_t *)x)[i];
    case TFD_UINT32:
        return ((const uint32_t *)x)[i];
    default:
        return ((const uint64_t *)x)[i];
    }
}

/* Element i, or the only one. */
static uint64_t place_at(const struct tfd_tensor *t, int64_t i)
{
    return whole_at(t, tfd_tensor_elements(t) == 1 ? 0 : i);
}

static enum tfd_code check_place(const struct places *p, int64_t i,
                                 struct tfd_status *st)
{
    uint64_t index = place_at(p->index, i), largest = place_at(p->largest, i);
    bool sign = p->index->dtype == TFD_INT32 || p->index->dtype == TFD_INT64;

    if (sign && (int64_t)index < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "index must be >= 0 but was %lld", (long long)index);
    if (sign && (int64_t)largest < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_index must be >= 0 but was %lld",
                        (long long)largest);
    if (index > largest)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_index must be >= index, but %llu < %llu",
                        (unsigned long long)largest, (unsigned long long)index);
    return TFD_OK;
}

static enum tfd_code run_places(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    const struct places *p = arg;
    bool each = p->seed->shape.rank == 2;
    void *y = tfd_tensor_data(p->out);

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        uint32_t key[3];
        uint64_t to;

        TFD_TRY(check_place(p, i, st));
        for (int64_t j = 0; j < 3; j++)
            key[j] = (uint32_t)whole_at(p->seed, (each ? 3 * i : 0) + j);
        to = tfd_index_shuffle(place_at(p->index, i), key,
                               place_at(p->largest, i), p->rounds);
        if (tfd_dtype_size(p->out->dtype) == sizeof(uint32_t))
            ((uint32_t *)y)[i] = (uint32_t)to;
        else
            ((uint64_t *)y)[i] = to;
    }
    return TFD_OK;
}

static int64_t larger_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A scalar, or a vector of so many. */
static bool is_fitting(const struct tfd_shape *s, int64_t count)
{
    return s->rank == 0 || (s->rank == 1 && s->dim[0] == count);
}

/* How many numbers there are: what is given once holds for all. */
static int64_t count_places(const struct places *p)
{
    const struct tfd_shape *seed = &p->seed->shape;
    int64_t count = 1;

    if (p->index->shape.rank == 1)
        count = larger_of(count, p->index->shape.dim[0]);
    if (seed->rank == 2)
        count = larger_of(count, seed->dim[0]);
    if (p->largest->shape.rank == 1)
        count = larger_of(count, p->largest->shape.dim[0]);
    return count;
}

static enum tfd_code check_places(const struct places *p, int64_t count,
                                  struct tfd_status *st)
{
    const struct tfd_shape *seed = &p->seed->shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (!is_fitting(&p->index->shape, count)) /* in TensorFlow's spelling */
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Index bust be a scalar or vector.");
    if (!(seed->rank == 1 && seed->dim[0] == 3) &&
        !(seed->rank == 2 && seed->dim[0] == count && seed->dim[1] == 3))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Seed must be a vector of size [3] or a matrix of size "
                        "[%lld, 3] but got %s.",
                        (long long)count, tfd_shape_text(seed, text));
    if (!is_fitting(&p->largest->shape, count))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Maxval must be a scalar or a vector of the same size "
                        "as index but got %s",
                        tfd_shape_text(&p->largest->shape, text));
    return TFD_OK;
}

#define PLACE_NS 1000 /* where a block is not much larger than the numbers */

static enum tfd_code places_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct places p = {.index = &k->in[0],
                       .seed = &k->in[1],
                       .largest = &k->in[2],
                       .out = &k->out[0],
                       .rounds = *(const int *)k->state};
    struct tfd_shape shape = {0, {0}};
    int64_t count = count_places(&p);

    TFD_TRY(check_places(&p, count, st));
    if (p.index->shape.rank == 1 || p.seed->shape.rank == 2 ||
        p.largest->shape.rank == 1)
        TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, p.index->dtype, &shape, st));
    return tfd_kctx_try(k, count, PLACE_NS, run_places, &p, st);
}

static enum tfd_code places_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    if (s->in[0].rank == 0 && s->in[1].rank == 1 && s->in[2].rank == 0)
        s->out[0] = (struct tfd_shape){0, {0}};
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "RandomShuffle",
        .inputs = "value: T",
        .outputs = "output: T",
        .attrs = "seed: int = 0; seed2: int = 0; T: type",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "RandomIndexShuffle",
        .inputs = "index: dtype, seed: Tseed, max_index: dtype",
        .outputs = "output: dtype",
        .attrs = "rounds: int = 4; dtype: {int32, uint32, int64, uint64}; "
                 "Tseed: {int32, uint32, int64, uint64}",
        .key = "dtype",
        .shape = places_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StatelessShuffle",
        .inputs = "value: T, key: uint64, counter: uint64, alg: int32",
        .outputs = "output: T",
        .attrs = "T: type",
        .shape = tfd_shape_like_first,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RandomShuffle", shuffle_compute,
                   .prepare = tfd_random_stream_prepare,
                   .state_size = sizeof(struct tfd_philox_source),
                   .flags = TFD_KERNEL_SHARED),
    TFD_KERNEL_ANY("StatelessShuffle", keyed_compute),
    TFD_KERNEL_ANY("RandomIndexShuffle", places_compute,
                   .prepare = rounds_prepare, .state_size = sizeof(int)),
};

const struct tfd_family tfd_family_random_shuffle = {
    .name = "random_shuffle",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
