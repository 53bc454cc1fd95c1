/*
 * queue_batch.c - batches to rows and back, and what may come in: see
 * queue_core.h.
 *
 * A row has buffers of its own, so that one row that stays for long does not
 * keep the batch it came with.  Nothing here holds the queue's lock; of the
 * queue only what never changes is read.
 */
#include "kernels/state/queue_core.h"

#include "kernels/core/element.h"
#include "kernels/core/kept.h"

#include <stdbool.h>
#include <string.h>

/* That lie together, so that a row which stays keeps little of the others; and
 * that are asked for before they are read. */
#define ROWS_AT_ONCE 16
#define LINE_SIZE 64
/* Of a buffer; the processor itself asks for those that follow. */
#define LINES_ASKED 3

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- What may come in ---------------------------------------------------- */

/* [batch] + shape; unknown rank when it has no room for one dimension more. */
static struct tfd_shape batch_shape(int64_t batch,
                                    const struct tfd_shape *element)
{
    struct tfd_shape s = {element->rank + 1, {batch}};

    if (element->rank < 0 || element->rank >= TFD_RANK_MAX)
        return (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    memcpy(s.dim + 1, element->dim, (size_t)element->rank * sizeof(s.dim[0]));
    return s;
}

static enum tfd_code check_told(const struct tfd_queue *q, int i,
                                const struct tfd_tensor *t, bool many,
                                int64_t batch, struct tfd_status *st)
{
    char want[TFD_SHAPE_TEXT_MAX], have[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape expected = q->spec.shapes[i], merged;

    if (many)
        expected = batch_shape(batch, &q->spec.shapes[i]);
    merged = expected;
    if (t->shape.rank >= (many ? 1 : 0) &&
        tfd_shape_merge(&merged, &t->shape, NULL) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Shape mismatch in tuple component %d. Expected %s, got %s",
                    i, tfd_shape_text(&expected, want),
                    tfd_shape_text(&t->shape, have));
}

static enum tfd_code check_batch(int i, const struct tfd_tensor *t,
                                 int64_t batch, struct tfd_status *st)
{
    if (t->shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Component %d of a batch of elements is a scalar; it "
                        "must have a 0th dimension",
                        i);
    if (t->shape.dim[0] != batch)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "All input tensors must have the same size in the 0th "
                        "dimension. Component %d has %lld, and should have "
                        "%lld",
                        i, (long long)t->shape.dim[0], (long long)batch);
    return TFD_OK;
}

enum tfd_code tfd_queue_check_inputs(const struct tfd_queue *q,
                                     const struct tfd_kctx *k, int first,
                                     bool many, struct tfd_status *st)
{
    const struct tfd_shape *leader = &k->in[first].shape;
    int64_t batch = leader->rank > 0 ? leader->dim[0] : -1;
    const struct tfd_shape scalar = {0, {0}};

    for (int i = 0; i < q->spec.count; i++) {
        const struct tfd_tensor *t = &k->in[first + i];

        if (q->spec.shape_count > 0)
            TFD_TRY(check_told(q, i, t, many, batch, st));
        else if (many)
            TFD_TRY(check_batch(i, t, batch, st));
    }
    if (q->spec.kind == &tfd_queue_priority && leader->rank != (many ? 1 : 0)) {
        char have[TFD_SHAPE_TEXT_MAX];

        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected the priority element to be a scalar, but "
                        "received shape: %s",
                        tfd_shape_text(many ? leader : &scalar, have));
    }
    return TFD_OK;
}

/* ---- Splitting ----------------------------------------------------------- */

enum tfd_code tfd_queue_slice(const struct tfd_tensor *batch, int64_t index,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_shape shape = {batch->shape.rank - 1, {0}};
    int64_t elements;

    memcpy(shape.dim, batch->shape.dim + 1,
           (size_t)shape.rank * sizeof(shape.dim[0]));
    TFD_TRY(tfd_tensor_new(out, batch->dtype, &shape, st));
    elements = tfd_tensor_elements(out);
    return tfd_elements_copy(
        batch->dtype, tfd_tensor_data(out),
        tfd_element_of(tfd_tensor_data(batch), batch->dtype, index * elements),
        elements, st);
}

static void set_priority(const struct tfd_queue *q, struct tfd_queue_row *row)
{
    if (q->spec.kind == &tfd_queue_priority)
        row->priority = *(const int64_t *)tfd_tensor_data(&row->part[0]);
}

static enum tfd_code split_one(const struct tfd_queue *q,
                               const struct tfd_tensor *in, int64_t index,
                               struct tfd_queue_row *row, struct tfd_status *st)
{
    for (int i = 0; i < q->spec.count; i++)
        TFD_TRY(tfd_queue_slice(&in[i], index, &row->part[i], st));
    set_priority(q, row);
    return TFD_OK;
}

static enum tfd_code split_many(const struct tfd_queue *q,
                                const struct tfd_tensor *in,
                                struct tfd_queue_row **rows,
                                struct tfd_status *st)
{
    const int64_t count = in[0].shape.dim[0];
    struct tfd_queue_row **next = rows;

    for (int64_t i = 0; i < count; i++) {
        if (!*next)
            *next = tfd_queue_rows_new(q->spec.count,
                                       (int)least(ROWS_AT_ONCE, count - i), st);
        if (!*next)
            return TFD_RESOURCE_EXHAUSTED;
        TFD_TRY(split_one(q, in, i, *next, st));
        next = &(*next)->next;
    }
    return TFD_OK;
}

enum tfd_code tfd_queue_split(const struct tfd_queue *q,
                              const struct tfd_kctx *k, int first, bool many,
                              struct tfd_queue_row **rows,
                              struct tfd_status *st)
{
    const struct tfd_tensor *in = &k->in[first];
    enum tfd_code rc = TFD_OK;

    *rows = NULL;
    if (many) {
        rc = split_many(q, in, rows, st);
        if (rc != TFD_OK) {
            tfd_queue_rows_free(*rows, q->spec.count);
            *rows = NULL;
        }
        return rc;
    }
    *rows = tfd_queue_row_new(q->spec.count, st);
    if (!*rows)
        return TFD_RESOURCE_EXHAUSTED;
    for (int i = 0; i < q->spec.count; i++) {
        if (rc == TFD_OK) {
            rc = tfd_kept_put(k, first + i, &(*rows)->part[i], st);
            (*rows)->kept |= tfd_kept_is(&(*rows)->part[i]);
        }
    }
    if (rc != TFD_OK) {
        tfd_queue_rows_free(*rows, q->spec.count);
        *rows = NULL;
        return rc;
    }
    set_priority(q, *rows);
    return TFD_OK;
}

/* ---- Putting together ---------------------------------------------------- */

/* The shape that holds component i of every row. */
static struct tfd_shape common_shape(const struct tfd_queue *q, int i,
                                     struct tfd_queue_row *const *rows,
                                     int64_t count)
{
    struct tfd_shape s = q->spec.shapes[i];

    for (int d = 0; d < s.rank; d++) {
        if (s.dim[d] >= 0)
            continue;
        s.dim[d] = 0;
        for (int64_t r = 0; r < count; r++)
            if (rows[r]->part[i].shape.dim[d] > s.dim[d])
                s.dim[d] = rows[r]->part[i].shape.dim[d];
    }
    return s;
}

static enum tfd_code put_element(const struct tfd_tensor *from,
                                 const struct tfd_shape *place, void *to,
                                 struct tfd_status *st)
{
    int64_t from_stride[TFD_RANK_MAX], to_stride[TFD_RANK_MAX];

    if (tfd_shape_equal(&from->shape, place))
        return tfd_elements_copy(from->dtype, to, tfd_tensor_data(from),
                                 tfd_tensor_elements(from), st);
    tfd_element_strides(&from->shape, from_stride);
    tfd_element_strides(place, to_stride);
    return tfd_elements_box(NULL, from->dtype, &from->shape, to, to_stride,
                            tfd_tensor_data(from), from_stride, st);
}

static enum tfd_code make_batch(const struct tfd_queue *q, struct tfd_kctx *k,
                                int i, struct tfd_queue_row *const *rows,
                                int64_t count, struct tfd_status *st)
{
    struct tfd_shape place = common_shape(q, i, rows, count), shape;
    int64_t dim[TFD_RANK_MAX + 1] = {count};

    memcpy(dim + 1, place.dim, (size_t)place.rank * sizeof(dim[0]));
    TFD_TRY(tfd_shape_make(&shape, dim, place.rank + 1, st));
    TFD_TRY(tfd_kctx_output(k, i, q->spec.types[i], &shape, st));
    if (tfd_shape_elements(&q->spec.shapes[i]) < 0)
        tfd_elements_clear(&k->out[i]);
    return TFD_OK;
}

/* Component i of rows [begin, end). */
static enum tfd_code put_rows(struct tfd_kctx *k, int i,
                              struct tfd_queue_row *const *rows, int64_t begin,
                              int64_t end, struct tfd_status *st)
{
    struct tfd_tensor *out = &k->out[i];
    struct tfd_shape place = {out->shape.rank - 1, {0}};
    int64_t elements;

    memcpy(place.dim, out->shape.dim + 1,
           (size_t)place.rank * sizeof(place.dim[0]));
    elements = tfd_shape_elements(&place);
    for (int64_t r = begin; r < end; r++)
        TFD_TRY(put_element(
            &rows[r]->part[i], &place,
            tfd_element_at(tfd_tensor_data(out), out->dtype, r * elements),
            st));
    return TFD_OK;
}

static void ask_for_rows(struct tfd_queue_row *const *rows, int64_t begin,
                         int64_t end)
{
    for (int64_t r = begin; r < end; r++) {
        __builtin_prefetch(rows[r]);
        __builtin_prefetch(&rows[r]->part[0].buffer);
    }
}

/* A buffer's elements mostly lie behind its head. */
static void ask_for_elements(const struct tfd_queue *q,
                             struct tfd_queue_row *const *rows, int64_t begin,
                             int64_t end)
{
    for (int64_t r = begin; r < end; r++) {
        __builtin_prefetch(rows[r]->chunk, 1);
        for (int i = 0; i < q->spec.count; i++) {
            const char *head = (const char *)rows[r]->part[i].buffer;

            for (int line = 0; head && line < LINES_ASKED; line++)
                __builtin_prefetch(head + line * LINE_SIZE);
        }
    }
}

enum tfd_code tfd_queue_batch(const struct tfd_queue *q, struct tfd_kctx *k,
                              struct tfd_queue_row **rows, int64_t count,
                              struct tfd_status *st)
{
    for (int i = 0; i < q->spec.count; i++)
        TFD_TRY(make_batch(q, k, i, rows, count, st));
    ask_for_rows(rows, 0, least(ROWS_AT_ONCE, count));
    for (int64_t r = 0; r < count; r += ROWS_AT_ONCE) {
        int64_t end = least(r + ROWS_AT_ONCE, count);

        ask_for_elements(q, rows, r, end);
        ask_for_rows(rows, end, least(end + ROWS_AT_ONCE, count));
        for (int i = 0; i < q->spec.count; i++)
            TFD_TRY(put_rows(k, i, rows, r, end, st));
        for (int64_t done = r; done < end; done++) {
            tfd_queue_rows_free(rows[done], q->spec.count);
            rows[done] = NULL;
        }
    }
    return TFD_OK;
}

size_t tfd_queue_batch_size(const struct tfd_queue *q,
                            const struct tfd_queue_row *row, int64_t count)
{
    size_t size = 0;

    for (int i = 0; i < q->spec.count; i++)
        size += tfd_tensor_size(&row->part[i]);
    return count > 0 && size > SIZE_MAX / (size_t)count ? SIZE_MAX
                                                        : size * (size_t)count;
}
