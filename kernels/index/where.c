/*
 * where.c - Where: the places of the elements that are not zero.
 *
 * Two passes over chunks of the input, which threads share.  The first makes a
 * bit of every element and counts the set ones of each chunk; then it is known
 * how large the output is and where each chunk's part of it begins, and the
 * second writes the places of the set bits.  It reads the bits alone: what the
 * first has counted is what is written.
 */
#include "common/base/alloc.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/outputs.h"
#include "kernels/vector/simd.h"

#include <string.h>

#define WORD 64        /* elements in a word of bits */
#define CHUNK_WORDS 64 /* words in a chunk */
#define CHUNK (WORD * CHUNK_WORDS)

struct job {
    const void *x;
    int64_t n;
    uint64_t *bits;  /* CHUNK_WORDS for every chunk */
    int64_t *starts; /* the first row of each chunk, and the end */
    const struct tfd_shape *shape;
    int64_t *y;
};

/* ---- The first pass ------------------------------------------------------ */

/* Eight bytes of 0 or 1 as bits: the product brings that of byte i to bit
 * 56 + i, and no two of its summands meet. */
static inline uint64_t eight_bits(const uint8_t *truth)
{
    uint64_t bytes;

    memcpy(&bytes, truth, sizeof(bytes));
    return bytes * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t word_of(const uint8_t *truth)
{
    uint64_t word = 0;

    for (int i = 0; i < WORD; i += 8)
        word |= eight_bits(truth + i) << i;
    return word;
}

/* T: an unsigned type of the element's size; v(x): not zero where the element
 * is not.  starts[c + 1] becomes the count of chunk c. */
#define COUNT(name, T, v)                                                \
    static inline __attribute__((always_inline))                         \
    uint64_t word_##name(const T *x, int64_t n)                          \
    {                                                                    \
        _Alignas(WORD) uint8_t truth[WORD] = {0};                        \
                                                                         \
        if (n >= WORD)                                                   \
            for (int i = 0; i < WORD; i++)                               \
                truth[i] = v(x[i]) != 0;                                 \
        else                                                             \
            for (int i = 0; i < n; i++)                                  \
                truth[i] = v(x[i]) != 0;                                 \
        return word_of(truth);                                           \
    }                                                                    \
                                                                         \
    TFD_SIMD_LOOP(count_##name)                                          \
    {                                                                    \
        const struct job *j = arg;                                       \
        const T *x = j->x;                                               \
                                                                         \
        for (int64_t c = begin; c < end; c++) {                          \
            int64_t found = 0;                                           \
                                                                         \
            for (int64_t w = c * CHUNK_WORDS;                            \
                 w < (c + 1) * CHUNK_WORDS && w * WORD < j->n; w++) {    \
                j->bits[w] = word_##name(x + w * WORD, j->n - w * WORD); \
                found += __builtin_popcountll(j->bits[w]);               \
            }                                                            \
            j->starts[c + 1] = found;                                    \
        }                                                                \
    }                                                                    \
    TFD_SIMD_CLONES(count_##name)

struct two {
    uint64_t re, im;
};

/* -0.0 is zero. */
#define WHOLE(x) (x)
#define UNSIGNED16(x) ((x)&0x7fff)
#define UNSIGNED32(x) ((x)&0x7fffffff)
#define UNSIGNED64(x) ((x)&INT64_MAX)
#define UNSIGNED32X2(x) ((x)&UINT64_C(0x7fffffff7fffffff))
#define UNSIGNED64X2(x) (((x).re | (x).im) & INT64_MAX)

COUNT(byte, uint8_t, WHOLE)
COUNT(short, uint16_t, WHOLE)
COUNT(int, uint32_t, WHOLE)
COUNT(long, uint64_t, WHOLE)
COUNT(half, uint16_t, UNSIGNED16)
COUNT(float, uint32_t, UNSIGNED32)
COUNT(double, uint64_t, UNSIGNED64)
COUNT(complex64, uint64_t, UNSIGNED32X2)
COUNT(complex128, struct two, UNSIGNED64X2)

/* ---- The second pass ----------------------------------------------------- */

static int64_t *write_vector(int64_t *y, uint64_t word, int64_t first)
{
    for (; word; word &= word - 1)
        *y++ = first + __builtin_ctzll(word);
    return y;
}

/* A row of the input's last dimension. */
struct row {
    int64_t begin, end;
    int64_t at[TFD_RANK_MAX]; /* in the dimensions before */
};

/* Makes it the row of element i, which is at or after its end. */
static void row_find(struct row *r, const struct tfd_shape *shape, int64_t i)
{
    int last = shape->rank - 1;
    int64_t columns = shape->dim[last], left;

    if (i - r->end < columns && r->end > 0) { /* the next one */
        r->begin = r->end;
        for (int d = last - 1; d >= 0 && ++r->at[d] == shape->dim[d]; d--)
            r->at[d] = 0;
    } else {
        left = i / columns;
        r->begin = left * columns;
        for (int d = last - 1; d >= 0; d--) {
            r->at[d] = left % shape->dim[d];
            left /= shape->dim[d];
        }
    }
    r->end = r->begin + columns;
}

static int64_t *write_rows(int64_t *y, uint64_t word, int64_t first,
                           const struct tfd_shape *shape, struct row *r)
{
    int last = shape->rank - 1;

    for (; word; word &= word - 1) {
        int64_t i = first + __builtin_ctzll(word);

        if (i >= r->end)
            row_find(r, shape, i);
        for (int d = 0; d < last; d++)
            y[d] = r->at[d];
        y[last] = i - r->begin;
        y += last + 1;
    }
    return y;
}

/* The same of a matrix: the bits of a row at once. */
static int64_t *write_matrix(int64_t *y, uint64_t word, int64_t first,
                             const struct tfd_shape *shape, struct row *r)
{
    while (word) {
        const int64_t i = first + __builtin_ctzll(word);
        int64_t left, at;
        uint64_t bits;

        if (i >= r->end)
            row_find(r, shape, i);
        left = r->end - first;
        at = r->at[0];
        bits = left < WORD ? word & ((UINT64_C(1) << left) - 1) : word;
        word ^= bits;
        for (; bits; bits &= bits - 1, y += 2) {
            y[0] = at;
            y[1] = first - r->begin + __builtin_ctzll(bits);
        }
    }
    return y;
}

static void write_chunks(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;
    int rank = j->shape->rank;

    for (int64_t c = begin; c < end; c++) {
        struct row row = {0};
        int64_t *y;

        /* There are no bits where the counting was told to stop, either. */
        if (j->starts[c] == j->starts[c + 1])
            continue;
        y = j->y + j->starts[c] * rank;
        for (int64_t w = c * CHUNK_WORDS;
             w < (c + 1) * CHUNK_WORDS && w * WORD < j->n; w++)
            y = rank == 1 ? write_vector(y, j->bits[w], w * WORD)
                : rank == 2
                    ? write_matrix(y, j->bits[w], w * WORD, j->shape, &row)
                    : write_rows(y, j->bits[w], w * WORD, j->shape, &row);
    }
}

/* ---- The operation ------------------------------------------------------- */

enum tfd_code tfd_where_check(const struct tfd_kctx *k, struct tfd_status *st)
{
    if (k->in[0].shape.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "WhereOp : Unhandled input dimensions: 0");
    return TFD_OK;
}

static int per_chunk(int64_t bytes, int64_t chunks)
{
    return (int)(bytes / (chunks ? chunks : 1)) + 1;
}

static enum tfd_code run_where(struct tfd_kctx *k, struct job *j,
                               int64_t chunks, struct tfd_status *st)
{
    int64_t size = (int64_t)tfd_dtype_size(k->in[0].dtype);
    struct tfd_shape out = {2, {0, j->shape->rank}};

    tfd_kctx_parallel_bytes(k, chunks, per_chunk(j->n * size, chunks),
                            k->kernel->range, j);
    for (int64_t c = 0; c < chunks; c++)
        j->starts[c + 1] += j->starts[c];
    out.dim[0] = j->starts[chunks];
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &out, st));
    j->y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel_bytes(
        k, chunks,
        per_chunk(out.dim[0] * out.dim[1] * (int64_t)sizeof(*j->y) + j->n,
                  chunks),
        write_chunks, j);
    return TFD_OK;
}

static enum tfd_code where_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct job j = {.shape = &k->in[0].shape};
    struct tfd_buffer *memory;
    enum tfd_code code;
    int64_t chunks;

    TFD_TRY(tfd_where_check(k, st));
    j.x = tfd_tensor_data(&k->in[0]);
    j.n = tfd_tensor_elements(&k->in[0]);
    chunks = (j.n + CHUNK - 1) / CHUNK;
    memory = tfd_buffer_new((size_t)(chunks * (CHUNK_WORDS + 1) + 1) *
                            sizeof(uint64_t));
    if (!memory)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when looking for the places of %lld elements",
                        (long long)j.n);
    j.starts = memory->data;
    j.bits = (uint64_t *)(j.starts + chunks + 1);
    memset(j.starts, 0, (size_t)(chunks + 1) * sizeof(*j.starts));
    code = run_where(k, &j, chunks, st);
    tfd_buffer_unref(memory);
    return code;
}

static enum tfd_code where_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0].rank = 2;
    s->out[0].dim[0] = TFD_DIM_UNKNOWN;
    s->out[0].dim[1] =
        s->in[0].rank == TFD_RANK_UNKNOWN ? TFD_DIM_UNKNOWN : s->in[0].rank;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Where",
        .inputs = "input: T",
        .outputs = "index: int64",
        .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, "
                 "int64, qint8, quint8, qint32, bfloat16, qint16, quint16, "
                 "uint16, complex128, half, uint32, uint64, bool} = DT_BOOL",
        .shape = where_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define WHERE(dtype, loop) \
    TFD_KERNEL("Where", dtype, where_compute, count_##loop)

static const struct tfd_kernel kernels[] = {
    WHERE(BOOL, byte),           WHERE(UINT8, byte),
    WHERE(INT8, byte),           WHERE(QUINT8, byte),
    WHERE(QINT8, byte),          WHERE(UINT16, short),
    WHERE(INT16, short),         WHERE(QUINT16, short),
    WHERE(QINT16, short),        WHERE(UINT32, int),
    WHERE(INT32, int),           WHERE(QINT32, int),
    WHERE(UINT64, long),         WHERE(INT64, long),
    WHERE(HALF, half),           WHERE(BFLOAT16, half),
    WHERE(FLOAT, float),         WHERE(DOUBLE, double),
    WHERE(COMPLEX64, complex64), WHERE(COMPLEX128, complex128),
};

const struct tfd_family tfd_family_where = {
    .name = "where",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
