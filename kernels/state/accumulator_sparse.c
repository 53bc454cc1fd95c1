/*
 * accumulator_sparse.c - accumulators of some rows of a tensor: see
 * accumulator_core.h.
 *
 * A gradient is a vector of indices, which ascend, and a row of values for
 * each.  Two are merged like sorted lists; rows of one index are added.
 * Nothing is checked about the order, as in TensorFlow: rows that are out of
 * it come out more than once.
 */
#include "kernels/state/accumulator_core.h"

#include <string.h>

enum { INDICES = 2, VALUES = 3, SHAPE = 4 }; /* inputs */

/* ---- What may come in ---------------------------------------------------- */

static enum tfd_code check_parts(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *indices = &k->in[INDICES].shape;
    const struct tfd_shape *values = &k->in[VALUES].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (indices->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input indices should be vector but received shape: %s",
                        tfd_shape_text(indices, text));
    if (values->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Values cannot be 0-dimensional.");
    if (values->dim[0] != indices->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected %lld non-empty input values, got %lld",
                        (long long)indices->dim[0], (long long)values->dim[0]);
    return TFD_OK;
}

/* The shape the gradient says it has. */
static enum tfd_code check_told(const struct tfd_shape *want,
                                const struct tfd_tensor *told,
                                struct tfd_status *st)
{
    const int64_t *dim = tfd_tensor_data(told);
    int64_t rank = tfd_tensor_elements(told);

    if (want->rank > rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape mismatch: expected shape rank at least %d, got "
                        "%lld",
                        want->rank, (long long)rank);
    for (int i = 0; i < want->rank; i++)
        if (want->dim[i] >= 0 && want->dim[i] != dim[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape mismatch: expected shape dim %d to be %lld, "
                            "got %lld",
                            i, (long long)want->dim[i], (long long)dim[i]);
    return TFD_OK;
}

static enum tfd_code check_sparse_indices(const struct tfd_shape *want,
                                          const struct tfd_tensor *indices,
                                          struct tfd_status *st)
{
    const int64_t *index = tfd_tensor_data(indices);
    int64_t n = tfd_tensor_elements(indices);

    if (want->rank < 1 || want->dim[0] < 0)
        return TFD_OK;
    for (int64_t i = 0; i < n; i++)
        if (index[i] >= want->dim[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape mismatch: index of slice %lld exceeded "
                            "limits of shape; index is %lld exceeded %lld",
                            (long long)i, (long long)index[i],
                            (long long)want->dim[0]);
    return TFD_OK;
}

static enum tfd_code check_dims(const struct tfd_shape *want, int rank,
                                const struct tfd_shape *values,
                                struct tfd_status *st)
{
    for (int i = 1; i < rank; i++)
        if (want->dim[i] >= 0 && want->dim[i] != values->dim[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape mismatch: expected values dim %d to be "
                            "%lld, got %lld",
                            i, (long long)want->dim[i],
                            (long long)values->dim[i]);
    return TFD_OK;
}

static enum tfd_code check_values(const struct tfd_accumulator *a,
                                  const struct tfd_shape *values,
                                  struct tfd_status *st)
{
    const struct tfd_shape *sum = &a->sum.values.shape;

    if (a->sum.count > 0) {
        if (sum->rank != values->rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape mismatch: expected values rank %d, got %d",
                            sum->rank, values->rank);
        return check_dims(sum, sum->rank, values, st);
    }
    if (a->spec.shape.rank > values->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape mismatch: expected values rank at least %d, got "
                        "%d",
                        a->spec.shape.rank, values->rank);
    return check_dims(&a->spec.shape, a->spec.shape.rank, values, st);
}

static enum tfd_code check_sparse(const struct tfd_accumulator *a,
                                  const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    TFD_TRY(check_parts(k, st));
    if (*(const bool *)k->state) /* has_known_shape */
        TFD_TRY(check_told(&a->spec.shape, &k->in[SHAPE], st));
    TFD_TRY(check_sparse_indices(&a->spec.shape, &k->in[INDICES], st));
    return check_values(a, &k->in[VALUES].shape, st);
}

/* ---- Merging ------------------------------------------------------------- */

/* One of the two lists. */
struct side {
    const int64_t *index;
    const int32_t *count; /* NULL: 1 each */
    const char *values;
    int64_t n;
};

struct merge {
    struct side sum, gradient;
    int64_t *index; /* NULL: only the rows are counted */
    int32_t *count;
    char *values;
    int64_t row_elements;
    size_t row_size;
    tfd_range_fn *add;
};

static void put_row(struct merge *m, int64_t at, const struct side *s,
                    int64_t i)
{
    m->index[at] = s->index[i];
    m->count[at] = s->count ? s->count[i] : 1;
    if (m->row_size)
        memcpy(m->values + (size_t)at * m->row_size,
               s->values + (size_t)i * m->row_size, m->row_size);
}

static void add_rows(struct merge *m, int64_t at, int64_t i, int64_t j)
{
    struct tfd_accumulate_add job = {m->gradient.values +
                                         (size_t)j * m->row_size,
                                     m->sum.values + (size_t)i * m->row_size,
                                     m->values + (size_t)at * m->row_size};

    m->index[at] = m->sum.index[i];
    m->count[at] = m->sum.count[i] + 1;
    if (m->row_size)
        m->add(&job, 0, m->row_elements);
}

/* Rows of the result; they are written when there is a place for them. */
static int64_t merge_rows(struct merge *m)
{
    int64_t i = 0, j = 0, at = 0;

    while (i < m->sum.n || j < m->gradient.n) {
        bool only_sum =
            j == m->gradient.n ||
            (i < m->sum.n && m->sum.index[i] < m->gradient.index[j]);
        bool only_gradient =
            !only_sum &&
            (i == m->sum.n || m->sum.index[i] > m->gradient.index[j]);

        if (m->index) {
            if (only_sum)
                put_row(m, at, &m->sum, i);
            else if (only_gradient)
                put_row(m, at, &m->gradient, j);
            else
                add_rows(m, at, i, j);
        }
        at++;
        i += !only_gradient;
        j += !only_sum;
    }
    return at;
}

static enum tfd_code new_parts(struct tfd_accumulated *s,
                               const struct tfd_tensor *like, int64_t rows,
                               struct tfd_status *st)
{
    const struct tfd_shape vector = {1, {rows}};
    struct tfd_shape shape;
    int64_t dim[TFD_RANK_MAX] = {rows};

    memcpy(dim + 1, like->shape.dim + 1,
           (size_t)(like->shape.rank - 1) * sizeof(dim[0]));
    TFD_TRY(tfd_shape_make(&shape, dim, like->shape.rank, st));
    TFD_TRY(tfd_tensor_new(&s->values, like->dtype, &shape, st));
    TFD_TRY(tfd_tensor_new(&s->indices, TFD_INT64, &vector, st));
    return tfd_tensor_new(&s->counts, TFD_INT32, &vector, st);
}

static int64_t row_elements(const struct tfd_shape *values)
{
    int64_t n = 1;

    for (int i = 1; i < values->rank; i++)
        n *= values->dim[i];
    return n;
}

static enum tfd_code add_to_sum(struct tfd_accumulator *a, struct tfd_kctx *k,
                                struct tfd_status *st)
{
    const struct tfd_tensor *values = &k->in[VALUES];
    struct tfd_accumulated *sum = &a->sum;
    struct tfd_accumulated y = {.count = sum->count};
    struct merge m = {.sum = {tfd_tensor_data(&sum->indices),
                              tfd_tensor_data(&sum->counts),
                              tfd_tensor_data(&sum->values),
                              tfd_tensor_elements(&sum->indices)},
                      .gradient = {tfd_tensor_data(&k->in[INDICES]), NULL,
                                   tfd_tensor_data(values),
                                   tfd_tensor_elements(&k->in[INDICES])},
                      .row_elements = row_elements(&values->shape),
                      .add = tfd_accumulate_add_fn(values->dtype)};

    if (new_parts(&y, values, merge_rows(&m), st) != TFD_OK) {
        tfd_accumulated_clear(&y);
        return TFD_RESOURCE_EXHAUSTED;
    }
    m.index = tfd_tensor_data(&y.indices);
    m.count = tfd_tensor_data(&y.counts);
    m.values = tfd_tensor_data(&y.values);
    m.row_size = (size_t)m.row_elements * tfd_dtype_size(values->dtype);
    (void)merge_rows(&m);
    tfd_accumulated_clear(sum);
    *sum = y;
    return TFD_OK;
}

static enum tfd_code add_sparse(struct tfd_accumulator *a, struct tfd_kctx *k,
                                struct tfd_status *st)
{
    const struct tfd_tensor *indices = &k->in[INDICES];
    int64_t n = tfd_tensor_elements(indices);
    int32_t *count;

    if (a->sum.count > 0)
        return add_to_sum(a, k, st);
    TFD_TRY(tfd_tensor_new(&a->sum.counts, TFD_INT32, &indices->shape, st));
    count = tfd_tensor_data(&a->sum.counts);
    for (int64_t i = 0; i < n; i++)
        count[i] = 1;
    a->sum.indices = tfd_tensor_ref(indices);
    a->sum.values = tfd_tensor_ref(&k->in[VALUES]);
    return TFD_OK;
}

/* ---- Out again ----------------------------------------------------------- */

static void average(struct tfd_accumulated *taken)
{
    tfd_range_fn *divide = tfd_accumulate_divide_fn(taken->values.dtype);
    const int32_t *count = tfd_tensor_data(&taken->counts);
    int64_t n = row_elements(&taken->values.shape);
    size_t size = (size_t)n * tfd_dtype_size(taken->values.dtype);
    char *values = tfd_tensor_data(&taken->values);

    if (!values)
        return;
    for (int64_t i = 0; i < tfd_tensor_elements(&taken->counts); i++) {
        struct tfd_accumulate_divide job = {values + (size_t)i * size,
                                            count[i]};

        if (count[i] > 1)
            divide(&job, 0, n);
    }
}

/* The first dimension is the one declared; how many rows there are says nothing
 * about it. */
static enum tfd_code put_shape(const struct tfd_accumulator *a,
                               const struct tfd_shape *values,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_shape vector = {1, {values->rank}};
    int64_t *dim;

    TFD_TRY(tfd_tensor_new(out, TFD_INT64, &vector, st));
    dim = tfd_tensor_data(out);
    memcpy(dim, values->dim, (size_t)values->rank * sizeof(*dim));
    dim[0] = a->spec.shape.rank > 0 ? a->spec.shape.dim[0] : -1;
    return TFD_OK;
}

static enum tfd_code hand_out(const struct tfd_accumulator *a,
                              struct tfd_accumulated *taken, struct tfd_kctx *k,
                              struct tfd_status *st)
{
    TFD_TRY(put_shape(a, &taken->values.shape, &k->out[2], st));
    /* More than one have been merged, so the values are our own. */
    if (a->spec.mean && taken->count > 1)
        average(taken);
    k->out[0] = tfd_tensor_ref(&taken->indices);
    k->out[1] = tfd_tensor_ref(&taken->values);
    return TFD_OK;
}

const struct tfd_accumulator_kind tfd_accumulator_sparse = {
    .name = "sparse",
    .check = check_sparse,
    .add = add_sparse,
    .hand_out = hand_out,
};
