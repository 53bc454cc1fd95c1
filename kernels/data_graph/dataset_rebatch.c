/*
 * dataset_rebatch.c - RebatchDataset and V2: batches of the input divided anew,
 * each into a share for every replica, or all of them, as one long row of
 * elements, into batches of given sizes.
 */
#include "kernels/core/element.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct rebatch {
    struct tfd_dataset dataset;
    int64_t replicas;        /* 0: by sizes */
    struct tfd_tensor sizes; /* a vector, or a scalar; not empty */
    bool drop_remainder;
};

struct rebatch_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *batch; /* of the input: what is left of it */
    int64_t rows, row;        /* in all, and the first that is left */
    int64_t part;             /* of the batch; or number of the next size */
    bool is_over;             /* the input is */
};

static void rebatch_release(struct tfd_dataset *d)
{
    tfd_tensor_unref(&((struct rebatch *)d)->sizes);
}

static enum tfd_code rebatch_begin(struct tfd_data_iterator *it,
                                   struct tfd_status *st)
{
    struct rebatch_iterator *i = (struct rebatch_iterator *)it;

    i->batch = tfd_data_element_new(it->dataset->count, st);
    return i->batch ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static void rebatch_end(struct tfd_data_iterator *it)
{
    struct rebatch_iterator *i = (struct rebatch_iterator *)it;

    tfd_data_element_drop(i->batch, it->dataset->count);
    free(i->batch);
}

/* ---- Rows ---------------------------------------------------------------- */

static int64_t row_size(const struct tfd_tensor *t)
{
    int64_t size = 1;

    for (int i = 1; i < t->shape.rank; i++)
        size *= t->shape.dim[i];
    return size;
}

/* Rows [first, first + count) of `from` to row `at` of `to`. */
static enum tfd_code copy_rows(const struct tfd_tensor *from, int64_t first,
                               int64_t count, struct tfd_tensor *to, int64_t at,
                               struct tfd_status *st)
{
    int64_t size = row_size(from);

    if (size * count == 0)
        return TFD_OK;
    return tfd_elements_copy(
        from->dtype,
        tfd_element_at(tfd_tensor_data(to), from->dtype, at * size),
        tfd_element_of(tfd_tensor_data(from), from->dtype, first * size),
        size * count, st);
}

static enum tfd_code new_rows(const struct tfd_tensor *like, int64_t count,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_shape shape;
    int64_t dim[TFD_RANK_MAX];

    for (int i = 0; i < like->shape.rank; i++)
        dim[i] = i ? like->shape.dim[i] : count;
    TFD_TRY(tfd_shape_make(&shape, dim, like->shape.rank, st));
    return tfd_tensor_new(out, like->dtype, &shape, st);
}

/* The next batch of the input.  One that is no batch is gone. */
static enum tfd_code read_batch(struct rebatch_iterator *i, bool *end,
                                struct tfd_status *st)
{
    int32_t count = i->iterator.dataset->count;

    tfd_data_element_drop(i->batch, count);
    i->rows = i->row = 0;
    TFD_TRY(tfd_data_next(i->iterator.input, i->batch, end, st));
    if (*end)
        i->is_over = true;
    return TFD_OK;
}

/* ---- For replicas -------------------------------------------------------- */

static enum tfd_code check_dimensions(const struct rebatch_iterator *i,
                                      struct tfd_status *st)
{
    for (int32_t c = 0; c < i->iterator.dataset->count; c++)
        if (i->batch[c].shape.rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Cannot rebatch dataset: All components must have "
                            "at least one dimension. Perhaps your input "
                            "dataset is not batched? Component %d is scalar.",
                            c);
    return TFD_OK;
}

/* Part number `part` of each component, which are of sizes of their own. */
static enum tfd_code give_part(struct rebatch_iterator *i,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    const struct rebatch *r = (const struct rebatch *)i->iterator.dataset;

    for (int32_t c = 0; c < r->dataset.count; c++) {
        const struct tfd_tensor *t = &i->batch[c];
        int64_t rows = t->shape.dim[0];
        int64_t size = rows / r->replicas + (rows % r->replicas != 0);
        int64_t first =
            size == 0 || i->part > rows / size ? rows : i->part * size;
        int64_t count = rows - first < size ? rows - first : size;

        TFD_TRY(new_rows(t, count, &out[c], st));
        TFD_TRY(copy_rows(t, first, count, &out[c], 0, st));
    }
    i->part++;
    return TFD_OK;
}

static enum tfd_code split_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct rebatch_iterator *i = (struct rebatch_iterator *)it;
    const struct rebatch *r = (const struct rebatch *)it->dataset;

    *end = i->is_over;
    if (*end)
        return TFD_OK;
    if (!i->rows || i->part == r->replicas) {
        TFD_TRY(read_batch(i, end, st));
        if (*end)
            return TFD_OK;
        TFD_TRY(check_dimensions(i, st));
        i->rows = 1; /* there is a batch */
        i->part = 0;
    }
    return give_part(i, out, st);
}

/* ---- By sizes ------------------------------------------------------------ */

static enum tfd_code check_batch(const struct rebatch_iterator *i,
                                 struct tfd_status *st)
{
    for (int32_t c = 0; c < i->iterator.dataset->count; c++) {
        const struct tfd_shape *s = &i->batch[c].shape;

        if (s->rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input element must have a non-scalar value in "
                            "each component.");
        if (s->dim[0] != i->batch[0].shape.dim[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input element must have the same batch size in "
                            "each component. Component 0 had size %lld but "
                            "component %d had size, %lld.",
                            (long long)i->batch[0].shape.dim[0], c,
                            (long long)s->dim[0]);
    }
    return TFD_OK;
}

/* A batch of which something is left, unless the input is over. */
static enum tfd_code have_rows(struct rebatch_iterator *i,
                               struct tfd_status *st)
{
    bool end = false;

    while (!i->is_over && i->row >= i->rows) {
        TFD_TRY(read_batch(i, &end, st));
        if (end)
            return TFD_OK;
        TFD_TRY(check_batch(i, st));
        i->rows = i->iterator.dataset->count ? i->batch[0].shape.dim[0] : 1;
    }
    return TFD_OK;
}

/* What is left of batches, one after the other, up to `size` rows. */
struct pieces {
    struct tfd_tensor *tensors; /* `count` elements */
    int64_t *first, *rows;      /* of each, what of it is wanted */
    int64_t count, capacity, total;
};

static void drop_pieces(struct pieces *p, int32_t width)
{
    tfd_data_element_drop(p->tensors, (int32_t)p->count * width);
    free(p->tensors);
    free(p->first);
    free(p->rows);
}

static enum tfd_code more_pieces(struct pieces *p, int32_t width,
                                 struct tfd_status *st)
{
    int64_t capacity = p->capacity ? 2 * p->capacity : 4;
    size_t numbers = (size_t)capacity * sizeof(int64_t);
    void *tensors, *first, *rows;

    if (p->count < p->capacity)
        return TFD_OK;
    if (capacity > INT32_MAX / (width + 1))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a batch of more than %lld batches",
                        (long long)p->count);
    tensors = realloc(p->tensors, (size_t)capacity * (size_t)(width + 1) *
                                      sizeof(struct tfd_tensor));
    p->tensors = tensors ? tensors : p->tensors;
    first = realloc(p->first, numbers);
    p->first = first ? first : p->first;
    rows = realloc(p->rows, numbers);
    p->rows = rows ? rows : p->rows;
    if (!tensors || !first || !rows)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batch");
    p->capacity = capacity;
    return TFD_OK;
}

static enum tfd_code take_piece(struct rebatch_iterator *i, int64_t wanted,
                                struct pieces *p, struct tfd_status *st)
{
    int32_t width = i->iterator.dataset->count;
    int64_t left = i->rows - i->row;

    TFD_TRY(more_pieces(p, width, st));
    for (int32_t c = 0; c < width; c++)
        p->tensors[p->count * width + c] = tfd_tensor_ref(&i->batch[c]);
    p->first[p->count] = i->row;
    p->rows[p->count] = left < wanted ? left : wanted;
    i->row += p->rows[p->count];
    p->total += p->rows[p->count++];
    return TFD_OK;
}

static enum tfd_code same_rows(const struct tfd_tensor *a,
                               const struct tfd_tensor *b,
                               struct tfd_status *st)
{
    char from[TFD_SHAPE_TEXT_MAX], to[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape s = b->shape;

    s.dim[0] = a->shape.dim[0];
    if (a->dtype == b->dtype && tfd_shape_equal(&a->shape, &s))
        return TFD_OK;
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "MaybeMoveContiguousSlices cannot perform copy: source and "
                    "dst shapes arenot compatible. Source shape: %s, dst "
                    "shape: %s",
                    tfd_shape_text(&b->shape, from),
                    tfd_shape_text(&a->shape, to));
}

static enum tfd_code join_pieces(const struct pieces *p, int32_t width,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    for (int32_t c = 0; c < width; c++) {
        int64_t at = 0;

        TFD_TRY(new_rows(&p->tensors[c], p->total, &out[c], st));
        for (int64_t i = 0; i < p->count; i++) {
            const struct tfd_tensor *t = &p->tensors[i * width + c];

            TFD_TRY(same_rows(&out[c], t, st));
            TFD_TRY(copy_rows(t, p->first[i], p->rows[i], &out[c], at, st));
            at += p->rows[i];
        }
    }
    return TFD_OK;
}

static enum tfd_code fill_batch(struct rebatch_iterator *i, int64_t size,
                                struct pieces *p, struct tfd_status *st)
{
    do {
        TFD_TRY(have_rows(i, st));
        if (i->is_over)
            return TFD_OK;
        TFD_TRY(take_piece(i, size - p->total, p, st));
    } while (p->total < size);
    return TFD_OK;
}

/* A batch of none is of the shape that the program has named. */
static enum tfd_code give_none(struct rebatch_iterator *i,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_dataset *d = i->iterator.dataset;

    for (int32_t c = 0; c < d->count; c++) {
        struct tfd_shape s = {1, {0}};

        if (d->shapes[c].rank > 0)
            s = d->shapes[c];
        s.dim[0] = 0;
        for (int k = 1; k < s.rank; k++)
            s.dim[k] = s.dim[k] < 0 ? 0 : s.dim[k];
        TFD_TRY(tfd_tensor_new(&out[c], d->types[c], &s, st));
    }
    return TFD_OK;
}

static enum tfd_code sizes_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct rebatch_iterator *i = (struct rebatch_iterator *)it;
    const struct rebatch *r = (const struct rebatch *)it->dataset;
    int64_t size = ((const int64_t *)tfd_tensor_data(&r->sizes))[i->part];
    struct pieces p = {NULL, NULL, NULL, 0, 0, 0};
    enum tfd_code rc;

    if (size == 0 && !i->is_over) {
        *end = false;
        i->part = (i->part + 1) % tfd_tensor_elements(&r->sizes);
        return give_none(i, out, st);
    }
    rc = fill_batch(i, size, &p, st);
    *end = rc == TFD_OK && i->is_over &&
           (p.count == 0 || (r->drop_remainder && p.total < size));
    if (rc == TFD_OK && !*end) {
        rc = join_pieces(&p, it->dataset->count, out, st);
        i->part = (i->part + 1) % tfd_tensor_elements(&r->sizes);
    }
    drop_pieces(&p, it->dataset->count);
    return rc;
}

/* ---- Making -------------------------------------------------------------- */

#define KIND(id, name_)                                   \
    static const struct tfd_dataset_kind id##_kind = {    \
        .name = name_,                                    \
        .iterator_size = sizeof(struct rebatch_iterator), \
        .opens_input = true,                              \
        .same_elements = true,                            \
        .begin = rebatch_begin,                           \
        .next = id##_next,                                \
        .end = rebatch_end,                               \
        .release = rebatch_release,                       \
    }

KIND(split, "Rebatch");
KIND(sizes, "RebatchV2");

static enum tfd_code split_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    int64_t replicas;

    TFD_TRY(tfd_dataset_int(k, 1, "num_replicas", &replicas, st));
    if (replicas <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_replicas must be greater than zero.");
    TFD_TRY(
        tfd_dataset_make(k, &split_kind, sizeof(struct rebatch), 1, &d, st));
    ((struct rebatch *)d)->replicas = replicas;
    return tfd_dataset_output(k, d, st);
}

static enum tfd_code check_sizes(const struct tfd_tensor *sizes,
                                 struct tfd_status *st)
{
    const int64_t *size = tfd_tensor_data(sizes);
    int64_t count = tfd_tensor_elements(sizes);

    if (sizes->shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`batch_sizes` must be a scalar or a vector.");
    if (count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_sizes must not be empty.");
    for (int64_t i = 0; i < count; i++)
        if (size[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "batch_sizes must not be negative: number %lld is "
                            "%lld.",
                            (long long)i, (long long)size[i]);
    return TFD_OK;
}

static enum tfd_code sizes_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    bool drop;

    TFD_TRY(check_sizes(&k->in[1], st));
    TFD_TRY(tfd_dataset_bool(k, 2, "drop_remainder", &drop, st));
    TFD_TRY(
        tfd_dataset_make(k, &sizes_kind, sizeof(struct rebatch), 1, &d, st));
    ((struct rebatch *)d)->sizes = tfd_tensor_ref(&k->in[1]);
    ((struct rebatch *)d)->drop_remainder = drop;
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("RebatchDataset", "input_dataset: variant, num_replicas: int64",
                "", "; use_fallback: bool = true", 0),
    TFD_DATA_OP("ExperimentalRebatchDataset",
                "input_dataset: variant, num_replicas: int64", "",
                "; use_fallback: bool = true", 0),
    TFD_DATA_OP("RebatchDatasetV2",
                "input_dataset: variant, batch_sizes: int64, "
                "drop_remainder: bool",
                "", "", 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("RebatchDataset", split_compute),
    TFD_DATA_KERNEL("ExperimentalRebatchDataset", split_compute),
    TFD_DATA_KERNEL("RebatchDatasetV2", sizes_compute),
};

TFD_DATA_FAMILY(dataset_rebatch);
