/*
 * matrix_band.c - a band of matrices, and diagonals of whole tensors:
 *
 *     MatrixBandPart Diag DiagPart
 *
 * Diag takes a tensor for the diagonal of one that has its dimensions twice.
 */
#include "common/thread/halt.h"
#include "common/base/min.h"
#include "kernels/array/matrix_band.h"

#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/layout/lines.h"

#include <string.h>

/* ---- MatrixBandPart ------------------------------------------------------ */

static enum tfd_code check_width(int64_t width, int64_t size, const char *what,
                                 struct tfd_status *st)
{
    if (width > size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s (%lld) got: %lld", what,
                        (long long)size, (long long)width);
    return TFD_OK;
}

#define FAR_ROW_MIN 1024 /* bytes */
#define LINE_SIZE 64
/* Bytes that are cleared at once, and stay in a core's cache meanwhile. */
#define CLEAR_SIZE (256 << 10)
#define NARROW 8 /* a band of at most such a part of its rows */

/* Zeros of a result that no cache keeps: past the caches, as memset() does it
 * only where they are a last cache's size and more. */
static void clear_far(char *y, int64_t size)
{
    static const _Alignas(64) char zeros[TFD_LINES_SIZE];

    for (int64_t at = 0, n; at < size; at += n) {
        n = TFD_LINES_SIZE - (int64_t)((uintptr_t)(y + at) % LINE_SIZE);
        n = tfd_min(size - at, n);
        tfd_lines_put(y + at, zeros, n);
    }
}

struct band_job {
    struct tfd_matrix_band b;
    size_t size; /* of an element */
    const char *x;
    char *y; /* may be x */
};

/* Where the band begins and ends in a row: bytes. */
static inline void find_band(const struct band_job *j, int64_t row,
                             size_t *from, size_t *to)
{
    const struct tfd_matrix_band *b = &j->b;
    const int64_t i = row % b->rows;
    const int64_t first = b->lower < 0 ? 0 : tfd_max(0, i - b->lower);
    const int64_t stop =
        b->upper < 0 ? b->columns : tfd_min(b->columns, i + b->upper + 1);

    *from = (size_t)tfd_min(first, b->columns) * j->size;
    *to = (size_t)tfd_max(stop, 0) * j->size;
    *to = *to > *from ? *to : *from;
}

/* Rows [begin, end) of all matrices: the band as it is in x, zero elsewhere.
 * What lies outside of the band is not read. */
static inline __attribute__((always_inline)) void
clear_beside_band(const struct band_job *j, int64_t begin, int64_t end,
                  bool far)
{
    const size_t bytes = (size_t)j->b.columns * j->size;

    for (int64_t row = begin; row < end && !tfd_halted(); row++) {
        char *y = j->y + (size_t)row * bytes;
        size_t from, to;

        find_band(j, row, &from, &to);
        if (far)
            clear_far(y, (int64_t)from);
        else
            memset(y, 0, from);
        if (y != j->x + (size_t)row * bytes)
            memcpy(y + from, j->x + (size_t)row * bytes + from, to - from);
        if (far)
            clear_far(y + to, (int64_t)(bytes - to));
        else
            memset(y + to, 0, bytes - to);
    }
}

static void band_rows(void *arg, int64_t begin, int64_t end)
{
    clear_beside_band(arg, begin, end, false);
}

static void band_rows_far(void *arg, int64_t begin, int64_t end)
{
    clear_beside_band(arg, begin, end, true);
    tfd_lines_end();
}

/* Bands that are a small part of their rows: many rows are cleared at once,
 * which no processor does better row by row, and then get their bands. */
static void band_rows_narrow(void *arg, int64_t begin, int64_t end)
{
    const struct band_job *j = arg;
    const size_t bytes = (size_t)j->b.columns * j->size;
    const int64_t many = CLEAR_SIZE / (int64_t)bytes;

    for (int64_t n; begin < end && !tfd_halted(); begin += n) {
        n = tfd_min(many, end - begin);
        memset(j->y + (size_t)begin * bytes, 0, (size_t)n * bytes);
        for (int64_t row = begin; row < begin + n; row++) {
            size_t from, to;

            find_band(j, row, &from, &to);
            memcpy(j->y + (size_t)row * bytes + from,
                   j->x + (size_t)row * bytes + from, to - from);
        }
    }
}

/* How the rows are made: the result may be the input, and then what is in the
 * band has to stay. */
static tfd_range_fn *loop_for_rows(const struct band_job *j, int64_t size)
{
    const struct tfd_matrix_band *b = &j->b;
    const int64_t bytes = b->columns * (int64_t)j->size;

    if (j->y != j->x && b->lower >= 0 && b->upper >= 0 &&
        b->lower + b->upper < b->columns / NARROW && bytes <= CLEAR_SIZE)
        return band_rows_narrow;
    return bytes >= FAR_ROW_MIN && tfd_lines_worth(size, 0) ? band_rows_far
                                                            : band_rows;
}

enum tfd_code tfd_matrix_band_read(const struct tfd_kctx *k,
                                   struct tfd_matrix_band *b,
                                   struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;

    TFD_TRY(tfd_check_int(k, 1, &b->lower, st));
    TFD_TRY(tfd_check_int(k, 2, &b->upper, st));
    b->rows = s->dim[s->rank - 2];
    b->columns = s->dim[s->rank - 1];
    TFD_TRY(check_width(b->lower, b->rows,
                        "num_lower must be negative or less or equal to "
                        "number of rows",
                        st));
    return check_width(b->upper, b->columns,
                       "num_upper must be negative or less or equal to "
                       "number of columns",
                       st);
}

/* As TensorFlow sees it, which passes its input on then. */
static bool is_all(const struct tfd_matrix_band *b)
{
    return (b->lower < 0 || b->lower == b->rows) &&
           (b->upper < 0 || b->upper == b->columns);
}

static enum tfd_code band_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const struct tfd_shape *s = &x->shape;
    const int64_t n = tfd_tensor_elements(x);
    struct band_job j = {.size = tfd_dtype_size(x->dtype)};
    int64_t bytes;

    TFD_TRY(tfd_matrix_band_read(k, &j.b, st));
    if (is_all(&j.b)) {
        struct tfd_shape same = *s;

        tfd_kctx_output_alias(k, 0, 0, &same);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (n == 0)
        return TFD_OK;
    j.x = tfd_tensor_data(x);
    j.y = tfd_tensor_data(&k->out[0]);
    bytes = tfd_min(INT32_MAX, 2 * j.b.columns * (int64_t)j.size);
    tfd_kctx_parallel_bytes(k, n / j.b.columns, (int)bytes,
                            loop_for_rows(&j, n * (int64_t)j.size), &j);
    return TFD_OK;
}

/* ---- Diag, DiagPart ------------------------------------------------------ */

/* The dimensions of s, and once more. */
static enum tfd_code twice(const struct tfd_shape *s, struct tfd_shape *out,
                           struct tfd_status *st)
{
    int64_t dim[2 * TFD_RANK_MAX];

    for (int i = 0; i < s->rank; i++)
        dim[i] = dim[s->rank + i] = s->dim[i];
    return tfd_shape_make_partial(out, dim, 2 * s->rank, st);
}

/* Copies `n` elements that lie `from` and `to` elements apart. */
static void copy_apart(enum tfd_dtype dtype, int64_t n, void *y, int64_t to,
                       const void *x, int64_t from)
{
    const size_t size = tfd_dtype_size(dtype);

    for (int64_t i = 0; i < n && !tfd_halted(); i++)
        memcpy(tfd_element_at(y, dtype, i * to),
               tfd_element_of(x, dtype, i * from), size);
}

enum tfd_code tfd_matrix_diag_shape(const struct tfd_kctx *k,
                                    struct tfd_shape *out,
                                    struct tfd_status *st)
{
    TFD_TRY(twice(&k->in[0].shape, out, st));
    return tfd_shape_make(out, out->dim, out->rank, st);
}

static enum tfd_code diag_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const int64_t n = tfd_tensor_elements(x);
    struct tfd_shape out;
    void *y;

    TFD_TRY(tfd_matrix_diag_shape(k, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    y = tfd_tensor_data(&k->out[0]);
    tfd_elements_zero(x->dtype, y, n * n);
    copy_apart(x->dtype, n, y, n + 1, tfd_tensor_data(x), 1);
    return TFD_OK;
}

/* The first half of a shape whose second half is the same. */
static enum tfd_code half_of(const struct tfd_shape *s, struct tfd_shape *out,
                             struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    const int half = s->rank / 2;

    if (s->rank % 2 != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The rank of the tensor should be even "
                        "and positive, got shape %s",
                        tfd_shape_text(s, text));
    for (int i = 0; i < half; i++)
        if (s->dim[i] != s->dim[half + i] && s->dim[i] != TFD_DIM_UNKNOWN &&
            s->dim[half + i] != TFD_DIM_UNKNOWN)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid shape %s: dimensions %d and %d do not "
                            "match.",
                            tfd_shape_text(s, text), i, half + i);
    *out = *s;
    out->rank = s->rank / 2;
    for (int i = 0; i < out->rank; i++)
        if (out->dim[i] == TFD_DIM_UNKNOWN)
            out->dim[i] = s->dim[out->rank + i];
    return TFD_OK;
}

enum tfd_code tfd_matrix_diag_part_shape(const struct tfd_kctx *k,
                                         struct tfd_shape *out,
                                         struct tfd_status *st)
{
    return half_of(&k->in[0].shape, out, st);
}

static enum tfd_code part_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape out;
    int64_t n;

    TFD_TRY(tfd_matrix_diag_part_shape(k, &out, st));
    n = tfd_shape_elements(&out);
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    copy_apart(x->dtype, n, tfd_tensor_data(&k->out[0]), 1, tfd_tensor_data(x),
               n + 1);
    return TFD_OK;
}

/* ---- Shapes and gradients ------------------------------------------------ */

static enum tfd_code diag_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    return twice(&s->in[0], &s->out[0], st);
}

static enum tfd_code part_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (s->in[0].rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input must have even and non-zero rank, input rank "
                        "is 0");
    return half_of(&s->in[0], &s->out[0], st);
}

static enum tfd_code band_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    const struct tfd_edge in[] = {g->dy[0], g->x[1], g->x[2]};

    return tfd_grad_emit(g, "MatrixBandPart", in, 3, &g->dx[0], st);
}

static enum tfd_code diag_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return tfd_grad_emit(g, "DiagPart", &g->dy[0], 1, &g->dx[0], st);
}

static enum tfd_code part_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return tfd_grad_emit(g, "Diag", &g->dy[0], 1, &g->dx[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

#define NUMBERS \
    "{bfloat16, half, float, double, int32, int64, complex64, complex128}"

#define BAND_CHECKS                                                       \
    "input: rank>=2 'input must be at least 2-dim, received shape: %s'; " \
    "num_lower: scalar 'num_lower must be scalar, got shape %s'; "        \
    "num_upper: scalar 'num_upper must be scalar, got shape %s'"

static const struct tfd_opdef ops[] = {
    {
        .name = "MatrixBandPart",
        .inputs = "input: T, num_lower: Tindex, num_upper: Tindex",
        .outputs = "band: T",
        .attrs = "T: type; Tindex: {int32, int64} = DT_INT64",
        .checks = BAND_CHECKS,
        .shape = tfd_shape_like_first,
        .grad = band_gradient,
    },
    {
        .name = "BatchMatrixBandPart", /* before GraphDef's version 14 */
        .inputs = "input: T, num_lower: int64, num_upper: int64",
        .outputs = "band: T",
        .attrs = "T: type",
        .checks = BAND_CHECKS,
        .shape = tfd_shape_like_first,
    },
    {
        .name = "Diag",
        .inputs = "diagonal: T",
        .outputs = "output: T",
        .attrs = "T: " NUMBERS,
        .checks = "diagonal: rank>=1 'Input must be at least rank 1, got %d'",
        .shape = diag_shape,
        .grad = diag_gradient,
    },
    {
        .name = "DiagPart",
        .inputs = "input: T",
        .outputs = "diagonal: T",
        .attrs = "T: " NUMBERS,
        .shape = part_shape,
        .grad = part_gradient,
    },
};

#define BAND(type, number, T)                         \
    TFD_KERNEL("MatrixBandPart", type, band_compute), \
        TFD_KERNEL("BatchMatrixBandPart", type, band_compute),
#define DIAG(type, number, T)               \
    TFD_KERNEL("Diag", type, diag_compute), \
        TFD_KERNEL("DiagPart", type, part_compute),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(BAND) TFD_HALF_DTYPES(BAND) TFD_COMPLEX_DTYPES(BAND)
        BAND(BOOL, 10, tfd_bool) TFD_FLOAT_DTYPES(DIAG) TFD_COMPLEX_DTYPES(DIAG)
            DIAG(HALF, 19, tfd_half) DIAG(INT32, 3, int32_t)
                DIAG(INT64, 9, int64_t)};

const struct tfd_family tfd_family_matrix_band = {
    .name = "matrix_band",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
