/*
 * dataset_index_map.c - IndexFlatMapDataset: a function makes several elements
 * of each of the input's, and another one says where number n of them is.
 *
 *     index_map_func(n)  ->  element of the input, row of what map_func made
 */
#include "kernels/core/element.h"
#include "kernels/data/data_rows.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct index_map {
    struct tfd_dataset dataset;
    struct tfd_captured map, where;
    int64_t cardinality;
};

struct index_map_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *element; /* of the input */
    struct tfd_tensor *rows;    /* what was made of it */
    bool has_rows;
    int64_t given;
    uint64_t input; /* the element that rows are of */
};

struct place {
    uint64_t input, row;
};

static void index_map_release(struct tfd_dataset *d)
{
    tfd_captured_deinit(&((struct index_map *)d)->map);
    tfd_captured_deinit(&((struct index_map *)d)->where);
}

static int64_t index_map_cardinality(const struct tfd_dataset *d)
{
    return ((const struct index_map *)d)->cardinality;
}

static enum tfd_code index_map_begin(struct tfd_data_iterator *it,
                                     struct tfd_status *st)
{
    struct index_map_iterator *i = (struct index_map_iterator *)it;

    i->element = tfd_data_element_new(it->dataset->inputs[0]->count, st);
    i->rows = tfd_data_element_new(it->dataset->count, st);
    return i->element && i->rows ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static void index_map_end(struct tfd_data_iterator *it)
{
    struct index_map_iterator *i = (struct index_map_iterator *)it;

    tfd_data_element_drop(i->element, it->dataset->inputs[0]->count);
    tfd_data_element_drop(i->rows, it->dataset->count);
    free(i->element);
    free(i->rows);
}

/* ---- Where an element is ------------------------------------------------- */

static enum tfd_code read_place(const struct tfd_tensor *t, uint64_t *out,
                                struct tfd_status *st)
{
    const void *data = tfd_tensor_data(t);
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank == 0 && t->dtype == TFD_INT64)
        *out = (uint64_t) * (const int64_t *)data;
    else if (t->shape.rank == 0 && t->dtype == TFD_UINT64)
        *out = *(const uint64_t *)data;
    else if (t->shape.rank == 0 && t->dtype == TFD_INT32)
        *out = (uint64_t)(int64_t) * (const int32_t *)data;
    else if (t->shape.rank == 0 && t->dtype == TFD_UINT32)
        *out = *(const uint32_t *)data;
    else
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The `index_map_func` for `index_flat_map` is expected "
                        "to return two int32/int64 values representing the "
                        "element index and an offset within the element. Got: "
                        "a tensor of %s and of shape %s",
                        tfd_dtype_name((int)t->dtype),
                        tfd_shape_text(&t->shape, text));
    return TFD_OK;
}

static enum tfd_code ask_place(const struct index_map_iterator *i,
                               struct tfd_tensor *results, int64_t index,
                               struct place *out, struct tfd_status *st)
{
    const struct index_map *d = (const struct index_map *)i->iterator.dataset;
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor number = TFD_TENSOR_INIT;

    TFD_TRY(tfd_tensor_new(&number, TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(&number) = index;
    TFD_TRY(
        tfd_captured_call(&d->where, i->iterator.scope, &number, results, st));
    if (d->where.out_count != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The `index_map_fn` for `index_flat_map` is expected "
                        "to return two int values representing the element "
                        "index and an offset within the element. Got: %d "
                        "tensors",
                        d->where.out_count);
    TFD_TRY(read_place(&results[0], &out->input, st));
    return read_place(&results[1], &out->row, st);
}

static enum tfd_code find_place(const struct index_map_iterator *i,
                                int64_t index, struct place *out,
                                struct tfd_status *st)
{
    int32_t count =
        ((const struct index_map *)i->iterator.dataset)->where.out_count;
    struct tfd_tensor *results = tfd_data_element_new(count, st);
    enum tfd_code rc;

    if (!results)
        return TFD_RESOURCE_EXHAUSTED;
    rc = ask_place(i, results, index, out, st);
    tfd_data_element_drop(results, count);
    free(results);
    return rc;
}

/* ---- Elements ------------------------------------------------------------ */

/* A scalar is the same in each row. */
static enum tfd_code take_row(const struct tfd_tensor *t, uint64_t row,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank == 0) {
        *out = tfd_tensor_ref(t);
        return TFD_OK;
    }
    if (t->shape.rank <= TFD_RANK_MAX && row < (uint64_t)t->shape.dim[0])
        return tfd_data_row(t, (int64_t)row, out, st);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "The `index_map_fn` for `index_flat_map` returned offset "
                    "%llu of an element of shape %s",
                    (unsigned long long)row, tfd_shape_text(&t->shape, text));
}

/* Rows of the next element of the input, or of number `index`. */
static enum tfd_code make_rows(struct index_map_iterator *i, bool by_number,
                               int64_t index, bool *end, struct tfd_status *st)
{
    struct tfd_data_iterator *it = &i->iterator;
    const struct index_map *d = (const struct index_map *)it->dataset;

    tfd_data_element_drop(i->rows, it->dataset->count);
    i->has_rows = false;
    TFD_TRY(by_number ? tfd_data_at(it->input, index, i->element, end, st)
                      : tfd_data_next(it->input, i->element, end, st));
    if (*end)
        return TFD_OK;
    TFD_TRY(tfd_captured_call(&d->map, it->scope, i->element, i->rows, st));
    i->has_rows = true;
    return TFD_OK;
}

static enum tfd_code give_row(const struct index_map_iterator *i, uint64_t row,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    for (int32_t c = 0; c < i->iterator.dataset->count; c++)
        TFD_TRY(take_row(&i->rows[c], row, &out[c], st));
    return TFD_OK;
}

/* One element of the input after the other, whatever the numbers leave out. */
static enum tfd_code index_map_next(struct tfd_data_iterator *it,
                                    struct tfd_tensor *out, bool *end,
                                    struct tfd_status *st)
{
    struct index_map_iterator *i = (struct index_map_iterator *)it;
    struct place p;

    TFD_TRY(find_place(i, i->given, &p, st));
    if (!i->has_rows || p.input > i->input) {
        TFD_TRY(make_rows(i, false, 0, end, st));
        if (*end)
            return TFD_OK;
        i->input = p.input;
    }
    TFD_TRY(give_row(i, p.row, out, st));
    i->given++;
    return TFD_OK;
}

static enum tfd_code index_map_at(struct tfd_data_iterator *it, int64_t index,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    struct index_map_iterator *i = (struct index_map_iterator *)it;
    struct place p;

    *end = index == TFD_DATA_BEYOND;
    if (*end)
        return TFD_OK;
    TFD_TRY(find_place(i, index, &p, st));
    TFD_TRY(make_rows(i, true,
                      p.input > INT64_MAX ? TFD_DATA_BEYOND : (int64_t)p.input,
                      end, st));
    return *end ? TFD_OK : give_row(i, p.row, out, st);
}

static const struct tfd_dataset_kind index_map_kind = {
    .name = "IndexFlatMap",
    .iterator_size = sizeof(struct index_map_iterator),
    .opens_input = true,
    .begin = index_map_begin,
    .next = index_map_next,
    .at = index_map_at,
    .end = index_map_end,
    .cardinality = index_map_cardinality,
    .release = index_map_release,
};

/* ---- Making -------------------------------------------------------------- */

struct index_map_maker {
    struct tfd_dataset_maker maker; /* first; with map_func */
    struct tfd_rt_function *where;
};

static enum tfd_code take_functions(struct tfd_kctx *k, struct index_map *x,
                                    struct tfd_status *st)
{
    const struct index_map_maker *m = k->state;
    struct tfd_dataset *d = &x->dataset;
    int32_t first, count;

    tfd_node_arg(k->node, 1, &first, &count);
    TFD_TRY(tfd_captured_init(&x->map, k, m->maker.function, first, count,
                              d->inputs[0]->count, d, st));
    TFD_TRY(tfd_captured_returns(&x->map, d->count, st));
    tfd_node_arg(k->node, 2, &first, &count);
    return tfd_captured_init(&x->where, k, m->where, first, count, 1, d, st);
}

static enum tfd_code index_map_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_dataset *d;
    int64_t cardinality;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_int(k, k->in_count - 1, "output_cardinality",
                            &cardinality, st));
    TFD_TRY(tfd_dataset_make(k, &index_map_kind, sizeof(struct index_map), 1,
                             &d, st));
    ((struct index_map *)d)->cardinality = cardinality;
    rc = take_functions(k, (struct index_map *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code index_map_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct index_map_maker *m = state;

    TFD_TRY(tfd_dataset_function(p, "index_map_func", &m->where, st));
    return tfd_dataset_prepare(p, &m->maker, "map_func", st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("IndexFlatMapDataset",
                "input_dataset: variant, map_func_other_args: Tmap_func_args, "
                "index_map_func_other_args: Tindex_map_func_args, "
                "output_cardinality: int64",
                "map_func: func; index_map_func: func; "
                "Tmap_func_args: list(type) >= 0; "
                "Tindex_map_func_args: list(type) >= 0; ",
                TFD_DATA_METADATA, 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("IndexFlatMapDataset", index_map_compute,
                   .prepare = index_map_prepare,
                   .release = tfd_dataset_maker_release,
                   .state_size = sizeof(struct index_map_maker)),
};

TFD_DATA_FAMILY(dataset_index_map);
