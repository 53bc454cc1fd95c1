/*
 * dataset_window.c - windows: each element is, for each component, a dataset of
 * some elements of the input, or, of the sliding kind, a batch of them.
 */
#include "kernels/data/data_rows.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>
#include <string.h>

struct windows {
    struct tfd_dataset dataset;
    int64_t size, shift, stride;
    bool drop_remainder;
    bool is_batch;
};

struct entry {
    struct tfd_tensor *element;
    struct tfd_status *st; /* NULL: OK */
};

struct windows_iterator {
    struct tfd_data_iterator iterator;
    struct entry *entries;
    int64_t used, capacity;
    bool input_over;
};

/* ---- One window ---------------------------------------------------------- */

struct window {
    struct tfd_dataset dataset;
    struct tfd_tensor *values; /* of one component */
    int64_t rows;
};

struct window_iterator {
    struct tfd_data_iterator iterator;
    int64_t row;
};

static void window_release(struct tfd_dataset *d)
{
    struct window *w = (struct window *)d;

    for (int64_t i = 0; w->values && i < w->rows; i++)
        tfd_tensor_unref(&w->values[i]);
    free(w->values);
}

static int64_t window_cardinality(const struct tfd_dataset *d)
{
    return ((const struct window *)d)->rows;
}

static enum tfd_code window_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct window_iterator *i = (struct window_iterator *)it;
    const struct window *w = (const struct window *)it->dataset;

    (void)st;
    *end = i->row >= w->rows;
    if (!*end)
        out[0] = tfd_tensor_ref(&w->values[i->row++]);
    return TFD_OK;
}

static const struct tfd_dataset_kind window_kind = {
    .name = "Window",
    .iterator_size = sizeof(struct window_iterator),
    .next = window_next,
    .cardinality = window_cardinality,
    .release = window_release,
};

/* Component c of every stride-th entry. */
static enum tfd_code make_window(const struct windows_iterator *i, int32_t c,
                                 int64_t rows, struct tfd_tensor *out,
                                 struct tfd_status *st)
{
    const struct windows *x = (const struct windows *)i->iterator.dataset;
    const struct tfd_dataset *input = x->dataset.inputs[0];
    struct tfd_dataset *d;
    struct window *w;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make_part(&x->dataset, &window_kind, sizeof(*w),
                                  input->types[c], &input->shapes[c], &d, st));
    w = (struct window *)d;
    w->values = calloc((size_t)rows, sizeof(*w->values));
    rc = w->values
             ? TFD_OK
             : tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a window");
    for (int64_t n = 0; rc == TFD_OK && n < rows; n++) {
        const struct tfd_tensor *t = &i->entries[n * x->stride].element[c];

        w->values[w->rows++] = tfd_tensor_ref(t);
        rc = tfd_dataset_deepen(d, t, st);
    }
    if (rc == TFD_OK)
        return tfd_variant_object_tensor(&d->object, out, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- WindowOp: elements that are the node's inputs ----------------------- */

struct given_iterator {
    struct tfd_data_iterator iterator;
    int row;
};

static int64_t given_cardinality(const struct tfd_dataset *d)
{
    return d->arg_count / d->count;
}

static enum tfd_code given_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct given_iterator *i = (struct given_iterator *)it;
    const struct tfd_dataset *d = it->dataset;

    (void)st;
    *end = i->row >= d->arg_count / d->count;
    if (*end)
        return TFD_OK;
    for (int32_t c = 0; c < d->count; c++)
        out[c] = tfd_tensor_ref(&d->args[i->row * d->count + c]);
    i->row++;
    return TFD_OK;
}

static const struct tfd_dataset_kind given_kind = {
    .name = "Window",
    .iterator_size = sizeof(struct given_iterator),
    .next = given_next,
    .cardinality = given_cardinality,
};

static enum tfd_code given_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_make(k, &given_kind, sizeof(*d), 0, &d, st));
    return tfd_dataset_output(k, d, st);
}

/* ---- The buffer ---------------------------------------------------------- */

static void drop_entries(struct windows_iterator *i, int64_t count)
{
    int32_t width = i->iterator.dataset->inputs[0]->count;

    for (int64_t n = 0; n < count; n++) {
        tfd_data_element_drop(i->entries[n].element, width);
        free(i->entries[n].element);
        free(i->entries[n].st);
    }
    i->used -= count;
    if (i->used > 0)
        memmove(i->entries, i->entries + count,
                (size_t)i->used * sizeof(*i->entries));
}

static void windows_end(struct tfd_data_iterator *it)
{
    struct windows_iterator *i = (struct windows_iterator *)it;

    drop_entries(i, i->used);
    free(i->entries);
}

static enum tfd_code grow_entries(struct windows_iterator *i,
                                  struct tfd_status *st)
{
    int64_t capacity = i->capacity ? 2 * i->capacity : 16;
    struct entry *more;

    if (i->used < i->capacity)
        return TFD_OK;
    more = realloc(i->entries, (size_t)capacity * sizeof(*more));
    if (!more)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a window of %lld elements",
                        (long long)capacity);
    i->entries = more;
    i->capacity = capacity;
    return TFD_OK;
}

/* One more entry, which may be a failure; of the sliding kind there is no entry
 * of what fails. */
static enum tfd_code add_entry(struct windows_iterator *i,
                               struct tfd_status *st)
{
    int32_t width = i->iterator.dataset->inputs[0]->count;
    struct tfd_status own = TFD_STATUS_INIT;
    struct entry e = {NULL, NULL};

    TFD_TRY(grow_entries(i, st));
    e.element = tfd_data_element_new(width, st);
    if (!e.element)
        return TFD_RESOURCE_EXHAUSTED;
    if (tfd_data_next(i->iterator.input, e.element, &i->input_over, &own) !=
        TFD_OK) {
        bool keeps = !((const struct windows *)i->iterator.dataset)->is_batch;

        e.st = malloc(sizeof(*e.st));
        if (!e.st || !keeps || own.code == TFD_CANCELLED) {
            free(e.st);
            free(e.element);
            tfd_status_copy(st, &own);
            return own.code;
        }
        *e.st = own;
    }
    if (i->input_over)
        free(e.element);
    else
        i->entries[i->used++] = e;
    return TFD_OK;
}

/* Elements that are in no window; what fails of them is nobody's. */
static enum tfd_code skip_elements(struct windows_iterator *i, int64_t count,
                                   struct tfd_status *st)
{
    int32_t width = i->iterator.dataset->inputs[0]->count;
    struct tfd_tensor *e = tfd_data_element_new(width, st);

    if (!e)
        return TFD_RESOURCE_EXHAUSTED;
    for (int64_t n = 0; n < count && !i->input_over; n++) {
        struct tfd_status own = TFD_STATUS_INIT;

        if (tfd_data_next(i->iterator.input, e, &i->input_over, &own) ==
            TFD_CANCELLED) {
            tfd_status_copy(st, &own);
            break;
        }
        tfd_data_element_drop(e, width);
    }
    free(e);
    return st ? st->code : TFD_OK;
}

static enum tfd_code first_failure(const struct windows_iterator *i,
                                   int64_t rows, struct tfd_status *st)
{
    const struct windows *x = (const struct windows *)i->iterator.dataset;

    for (int64_t n = 0; n < rows; n++)
        if (i->entries[n * x->stride].st) {
            tfd_status_copy(st, i->entries[n * x->stride].st);
            return st->code;
        }
    return TFD_OK;
}

/* ---- Windows ------------------------------------------------------------- */

static int64_t windows_cardinality(const struct tfd_dataset *d)
{
    const struct windows *x = (const struct windows *)d;
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);
    int64_t span = (x->size - 1) * x->stride + 1;

    if (n < 0)
        return n;
    if (!x->drop_remainder)
        return n / x->shift + (n % x->shift != 0);
    return n < span ? 0 : (n - span) / x->shift + 1;
}

/* The entries of a window as one element. */
static enum tfd_code make_batch_of(const struct windows_iterator *i,
                                   int64_t rows, struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    const struct windows *x = (const struct windows *)i->iterator.dataset;
    int32_t width = x->dataset.count;
    struct tfd_tensor *all = calloc((size_t)rows * (size_t)width, sizeof(*all));
    enum tfd_code rc;

    if (!all)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a window");
    for (int64_t n = 0; n < rows; n++)
        memcpy(all + n * width, i->entries[n * x->stride].element,
               (size_t)width * sizeof(*all));
    rc = tfd_data_batch(all, rows, width, out, st);
    free(all);
    return rc;
}

static enum tfd_code make_element(const struct windows_iterator *i,
                                  int64_t rows, struct tfd_tensor *out,
                                  struct tfd_status *st)
{
    const struct windows *x = (const struct windows *)i->iterator.dataset;

    TFD_TRY(first_failure(i, rows, st));
    if (x->is_batch)
        return make_batch_of(i, rows, out, st);
    for (int32_t c = 0; c < x->dataset.count; c++)
        TFD_TRY(make_window(i, c, rows, &out[c], st));
    return TFD_OK;
}

static enum tfd_code windows_next(struct tfd_data_iterator *it,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    struct windows_iterator *i = (struct windows_iterator *)it;
    const struct windows *x = (const struct windows *)it->dataset;
    int64_t span = (x->size - 1) * x->stride + 1, rows;
    enum tfd_code rc;

    while (i->used < span && !i->input_over)
        TFD_TRY(add_entry(i, st));
    *end = i->used == 0 || (x->drop_remainder && i->used < span);
    if (*end)
        return TFD_OK;
    rows = 1 + (i->used - 1) / x->stride;
    rc = make_element(i, rows, out, st);
    if (x->shift >= i->used) {
        int64_t more = x->shift - i->used;

        drop_entries(i, i->used);
        if (rc == TFD_OK)
            rc = skip_elements(i, more, st);
        return rc;
    }
    drop_entries(i, x->shift);
    return rc;
}

static const struct tfd_dataset_kind windows_kind = {
    .name = "Window",
    .iterator_size = sizeof(struct windows_iterator),
    .opens_input = true,
    .next = windows_next,
    .end = windows_end,
    .cardinality = windows_cardinality,
};

/* TensorFlow's count, which is not that of the windows there are. */
static int64_t sliding_cardinality(const struct tfd_dataset *d)
{
    const struct windows *x = (const struct windows *)d;
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);

    if (n < 0)
        return n;
    return n / x->shift + (n % x->shift != 0 && !x->drop_remainder);
}

static const struct tfd_dataset_kind sliding_kind = {
    .name = "Slide",
    .iterator_size = sizeof(struct windows_iterator),
    .opens_input = true,
    .same_elements = true,
    .next = windows_next,
    .end = windows_end,
    .cardinality = sliding_cardinality,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code check_positive(int64_t value, const char *what,
                                    struct tfd_status *st)
{
    if (value > 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be greater than zero.",
                    what);
}

static enum tfd_code make_windows(struct tfd_kctx *k,
                                  const struct tfd_dataset_kind *kind,
                                  struct windows *x, struct tfd_status *st)
{
    struct tfd_dataset *d;

    if (x->size > INT32_MAX || x->stride > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a window of %lld elements by steps of %lld; at most "
                        "%d of either are possible",
                        (long long)x->size, (long long)x->stride, INT32_MAX);
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(*x), 1, &d, st));
    x->dataset = *d;
    *(struct windows *)d = *x;
    if (d->count == d->inputs[0]->count)
        return tfd_dataset_output(k, d, st);
    tfd_fail(st, TFD_INVALID_ARGUMENT,
             "output_types are %d, and the input's elements have %d tensors",
             d->count, d->inputs[0]->count);
    tfd_dataset_unref(d);
    return TFD_INVALID_ARGUMENT;
}

static enum tfd_code window_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct windows x = {.size = 0};

    TFD_TRY(tfd_dataset_int(k, 1, "size", &x.size, st));
    TFD_TRY(check_positive(x.size, "Window size", st));
    TFD_TRY(tfd_dataset_int(k, 2, "shift", &x.shift, st));
    TFD_TRY(check_positive(x.shift, "Window shift", st));
    TFD_TRY(tfd_dataset_int(k, 3, "stride", &x.stride, st));
    TFD_TRY(check_positive(x.stride, "Window stride", st));
    TFD_TRY(tfd_dataset_bool(k, 4, "drop_remainder", &x.drop_remainder, st));
    return make_windows(k, &windows_kind, &x, st);
}

static enum tfd_code sliding_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct windows x = {.is_batch = true};

    x.drop_remainder = ((const struct tfd_dataset_maker *)k->state)->flag;
    TFD_TRY(tfd_dataset_int(k, 1, "window_size", &x.size, st));
    TFD_TRY(check_positive(x.size, "Window size", st));
    TFD_TRY(tfd_dataset_int(k, 2, "window_shift", &x.shift, st));
    TFD_TRY(check_positive(x.shift, "Window shift", st));
    TFD_TRY(tfd_dataset_int(k, 3, "window_stride", &x.stride, st));
    TFD_TRY(check_positive(x.stride, "window_stride", st));
    return make_windows(k, &sliding_kind, &x, st);
}

static enum tfd_code sliding_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    m->flag = true;
    if (tfd_op_attr_find(p->node->op, TFD_STR("drop_remainder")))
        TFD_TRY(tfd_node_bool(p->node, "drop_remainder", &m->flag, st));
    return tfd_dataset_prepare(p, m, NULL, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SLIDING                                    \
    "input_dataset: variant, window_size: int64, " \
    "window_shift: int64, window_stride: int64"

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("SlidingWindowDataset", SLIDING,
                "drop_remainder: bool = true; ", "", 0),
    TFD_DATA_OP("ExperimentalSlidingWindowDataset", SLIDING, "", "", 0),
    TFD_DATA_OP("WindowDataset",
                "input_dataset: variant, size: int64, shift: int64, "
                "stride: int64, drop_remainder: bool",
                "", TFD_DATA_METADATA, 0),
    TFD_DATA_OP("WindowOp", "inputs: Tinputs", "", "; Tinputs: list(type) >= 1",
                0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("WindowOp", given_compute),
    TFD_DATA_KERNEL_F("SlidingWindowDataset", sliding_compute, sliding_prepare),
    TFD_DATA_KERNEL_F("ExperimentalSlidingWindowDataset", sliding_compute,
                      sliding_prepare),
    TFD_DATA_KERNEL("WindowDataset", window_compute),
};

TFD_DATA_FAMILY(dataset_window);
