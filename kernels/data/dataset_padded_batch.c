/*
 * dataset_padded_batch.c - elements of different sizes as one: each is padded
 * to a size that is given, or to that of the largest.
 */
#include "kernels/data/data_collect.h"
#include "kernels/data/data_table.h"

#include "kernels/core/element.h"

#include <stdlib.h>
#include <string.h>

struct padded {
    struct tfd_dataset dataset;
    int64_t size;
    bool drop_remainder;
    struct tfd_shape *shapes;  /* by component; -1: of the largest */
    struct tfd_tensor *values; /* scalars */
};

struct padded_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_collect collect;
};

static void padded_release(struct tfd_dataset *d)
{
    struct padded *p = (struct padded *)d;

    tfd_data_element_drop(p->values, d->count);
    free(p->values);
    free(p->shapes);
}

static int64_t padded_cardinality(const struct tfd_dataset *d)
{
    const struct padded *p = (const struct padded *)d;
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);

    if (n < 0)
        return n;
    return n / p->size + (n % p->size != 0 && !p->drop_remainder);
}

static void padded_end(struct tfd_data_iterator *it)
{
    tfd_data_collect_deinit(&((struct padded_iterator *)it)->collect);
}

/* ---- One component ------------------------------------------------------- */

/* dim becomes at least as large as the element's. */
static enum tfd_code widen_padding(const struct tfd_shape *wanted,
                                   const struct tfd_shape *element,
                                   int32_t component, int64_t *dim,
                                   struct tfd_status *st)
{
    if (element->rank != wanted->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "All elements in a batch must have the same rank as "
                        "the padded shape for component%d: expected rank %d "
                        "but got element with rank %d",
                        component, wanted->rank, element->rank);
    for (int i = 0; i < wanted->rank; i++) {
        if (wanted->dim[i] >= 0 && element->dim[i] > wanted->dim[i])
            return tfd_fail(st, TFD_DATA_LOSS,
                            "Attempted to pad to a smaller size than the input "
                            "element.");
        if (element->dim[i] > dim[i])
            dim[i] = element->dim[i];
    }
    return TFD_OK;
}

static enum tfd_code padded_shape(const struct padded *p,
                                  const struct tfd_data_collect *c,
                                  int32_t component, struct tfd_shape *out,
                                  struct tfd_status *st)
{
    const struct tfd_shape *wanted = &p->shapes[component];
    int64_t dim[TFD_RANK_MAX + 1] = {c->have};

    for (int i = 0; i < wanted->rank; i++)
        dim[i + 1] = wanted->dim[i] < 0 ? 0 : wanted->dim[i];
    for (int64_t n = 0; n < c->have; n++)
        TFD_TRY(widen_padding(wanted,
                              &c->elements[n * c->width + component].shape,
                              component, dim + 1, st));
    return tfd_shape_make(out, dim, wanted->rank + 1, st);
}

static enum tfd_code put_element(const struct tfd_tensor *element, int64_t row,
                                 const struct tfd_tensor *out,
                                 struct tfd_status *st)
{
    int64_t to[TFD_RANK_MAX + 1], from[TFD_RANK_MAX + 1];

    if (tfd_tensor_elements(element) == 0)
        return TFD_OK;
    tfd_element_strides(&out->shape, to);
    tfd_element_strides(&element->shape, from);
    return tfd_elements_box(
        NULL, out->dtype, &element->shape,
        tfd_element_at(tfd_tensor_data(out), out->dtype, row * to[0]), to + 1,
        tfd_tensor_data(element), from, st);
}

static enum tfd_code pad_component(const struct padded *p,
                                   const struct tfd_data_collect *c,
                                   int32_t component, struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *value = &p->values[component];
    struct tfd_shape shape;

    TFD_TRY(padded_shape(p, c, component, &shape, st));
    TFD_TRY(tfd_tensor_new(out, value->dtype, &shape, st));
    if (tfd_tensor_elements(out) > 0)
        TFD_TRY(tfd_elements_fill(value->dtype, tfd_tensor_data(out),
                                  tfd_tensor_data(value),
                                  tfd_tensor_elements(out), st));
    for (int64_t n = 0; n < c->have; n++)
        TFD_TRY(
            put_element(&c->elements[n * c->width + component], n, out, st));
    return TFD_OK;
}

static enum tfd_code padded_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct tfd_data_collect *c = &((struct padded_iterator *)it)->collect;
    const struct padded *p = (const struct padded *)it->dataset;
    enum tfd_code rc = tfd_data_collect(c, it->input, p->size, st);

    *end = c->have == 0 || (c->have < p->size && p->drop_remainder);
    for (int32_t i = 0; rc == TFD_OK && !*end && i < it->dataset->count; i++)
        rc = pad_component(p, c, i, &out[i], st);
    tfd_data_collect_clear(c);
    return rc;
}

#define PADDED_KIND(id, name_)                           \
    static const struct tfd_dataset_kind id##_kind = {   \
        .name = name_,                                   \
        .iterator_size = sizeof(struct padded_iterator), \
        .opens_input = true,                             \
        .same_elements = true,                           \
        .next = padded_next,                             \
        .end = padded_end,                               \
        .cardinality = padded_cardinality,               \
        .release = padded_release,                       \
    }

PADDED_KIND(padded, "PaddedBatch");
PADDED_KIND(padded2, "PaddedBatchV2");

/* ---- Making -------------------------------------------------------------- */

/* Component i: its shape is input 2 + i, its value behind the last shape. */
static enum tfd_code read_component(const struct tfd_kctx *k, struct padded *p,
                                    int32_t i, struct tfd_status *st)
{
    const struct tfd_tensor *shape = &k->in[2 + i];
    const struct tfd_tensor *value = &k->in[2 + p->dataset.count + i];

    if (shape->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "All padded_shapes must be vectors");
    if (value->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "All padding_values must be scalars");
    if (shape->shape.dim[0] >= TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "padded elements of %lld dimensions; at most %d are "
                        "supported",
                        (long long)shape->shape.dim[0], TFD_RANK_MAX - 1);
    TFD_TRY(tfd_check_shape_value(shape, true, &p->shapes[i], st));
    p->values[i] = tfd_tensor_ref(value);
    return TFD_OK;
}

static enum tfd_code read_components(const struct tfd_kctx *k, struct padded *p,
                                     struct tfd_status *st)
{
    int32_t first, count;

    tfd_node_arg(k->node, 2, &first, &count);
    if (count != p->dataset.count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of padded shapes (%d) must match the number of "
                        "components in the input dataset's elements (%d)",
                        count, p->dataset.count);
    p->shapes = calloc((size_t)count + 1, sizeof(*p->shapes));
    p->values = tfd_data_element_new(count, st);
    if (!p->shapes || !p->values)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    for (int32_t i = 0; i < count; i++)
        TFD_TRY(read_component(k, p, i, st));
    return TFD_OK;
}

static enum tfd_code make_padded(struct tfd_kctx *k,
                                 const struct tfd_dataset_kind *kind,
                                 bool drop_remainder, struct tfd_status *st)
{
    struct tfd_dataset *d;
    int64_t size;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_int(k, 1, "batch_size", &size, st));
    if (size <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Batch size must be greater than zero.");
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(struct padded), 1, &d, st));
    ((struct padded *)d)->size = size;
    ((struct padded *)d)->drop_remainder = drop_remainder;
    rc = read_components(k, (struct padded *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code padded_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_padded(k, &padded_kind, false, st);
}

static enum tfd_code padded2_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    bool drop;

    TFD_TRY(tfd_dataset_bool(k, k->in_count - 1, "drop_remainder", &drop, st));
    return make_padded(k, &padded2_kind, drop, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define INPUTS                                    \
    "input_dataset: variant, batch_size: int64, " \
    "padded_shapes: N * int64, padding_values: Toutput_types"
#define TYPES                          \
    "Toutput_types: list(type) >= 1; " \
    "output_shapes: list(shape) >= 1; N: int >= 1" TFD_DATA_METADATA

static const struct tfd_opdef ops[] = {
    {
        .name = "PaddedBatchDataset",
        .inputs = INPUTS,
        .outputs = "handle: variant",
        .attrs = TYPES,
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "PaddedBatchDatasetV2",
        .inputs = INPUTS ", drop_remainder: bool",
        .outputs = "handle: variant",
        .attrs = "parallel_copy: bool = false; " TYPES,
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("PaddedBatchDataset", padded_compute),
    TFD_DATA_KERNEL("PaddedBatchDatasetV2", padded2_compute),
};

TFD_DATA_FAMILY(dataset_padded_batch);
