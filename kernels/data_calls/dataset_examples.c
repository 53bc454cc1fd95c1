/*
 * dataset_examples.c - ParseExampleDataset: vectors of serialized Examples as
 * what is in them, feature by feature in the order of their names.
 *
 * A dense feature is a tensor, a sparse one three variants, a ragged one a
 * variant, as tf.data hands on such tensors.
 *
 * Vectors are parsed ahead on several threads and given in their order, which
 * one that need not be deterministic may have, too.
 */
#include "kernels/data_calls/work_line.h"
#include "kernels/data/data_table.h"
#include "kernels/parse/example.h"

#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

#define WANTS_MAX TFD_QUEUE_COMPONENTS_MAX

struct examples_maker {
    struct tfd_dataset_maker maker; /* first */
    struct tfd_example_want *wants; /* keys are the graph's */
    int count[3];                   /* by enum tfd_example_form */
};

struct examples {
    struct tfd_dataset dataset;
    struct tfd_example_want *wants; /* in the order of their keys */
    char **keys;
    struct tfd_tensor *absent;
    int count;
    struct tfd_example_spec spec;
    bool has_spec;
    int64_t calls;
};

struct examples_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_work_line *line;
};

/* ---- Attributes ---------------------------------------------------------- */

struct lists {
    enum tfd_dtype types[3][WANTS_MAX], splits[WANTS_MAX];
    struct tfd_shape shapes[WANTS_MAX];
    struct tfd_str keys[3][WANTS_MAX];
    int counts[8];
};

static enum tfd_code read_lists(const struct tfd_node *n, struct lists *l,
                                struct tfd_status *st)
{
    int *c = l->counts;
    bool ragged = tfd_op_attr_find(n->op, TFD_STR("ragged_keys")) != NULL;

    TFD_TRY(tfd_node_strs(n, "sparse_keys", l->keys[0], WANTS_MAX, &c[0], st));
    TFD_TRY(tfd_node_strs(n, "dense_keys", l->keys[1], WANTS_MAX, &c[1], st));
    TFD_TRY(
        tfd_node_types(n, "sparse_types", l->types[0], WANTS_MAX, &c[3], st));
    TFD_TRY(tfd_node_types(n, "Tdense", l->types[1], WANTS_MAX, &c[4], st));
    TFD_TRY(
        tfd_node_shapes(n, "dense_shapes", l->shapes, WANTS_MAX, &c[6], st));
    if (!ragged)
        return TFD_OK;
    TFD_TRY(tfd_node_strs(n, "ragged_keys", l->keys[2], WANTS_MAX, &c[2], st));
    TFD_TRY(tfd_node_types(n, "ragged_value_types", l->types[2], WANTS_MAX,
                           &c[5], st));
    return tfd_node_types(n, "ragged_split_types", l->splits, WANTS_MAX, &c[7],
                          st);
}

static enum tfd_code check_lists(const struct lists *l, struct tfd_status *st)
{
    const int *c = l->counts;

    for (int form = 0; form < 3; form++)
        if (c[form] != c[3 + form])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%d keys of features and %d types", c[form],
                            c[3 + form]);
    if (c[7] != c[2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%d ragged keys and %d ragged_split_types", c[2], c[7]);
    if (c[6] != c[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%d dense keys and %d dense_shapes", c[1], c[6]);
    for (int i = 0; i < c[1]; i++) {
        bool known = l->shapes[i].rank != TFD_RANK_UNKNOWN;

        for (int d = 1; known && d < l->shapes[i].rank; d++)
            known = l->shapes[i].dim[d] >= 0;
        if (!known)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "dense_shapes[%d] has unknown rank or unknown "
                            "inner dimensions",
                            i);
    }
    return TFD_OK;
}

static enum tfd_code read_wants(const struct tfd_node *n, struct lists *l,
                                struct examples_maker *m, struct tfd_status *st)
{
    struct tfd_example_want *w;

    TFD_TRY(read_lists(n, l, st));
    TFD_TRY(check_lists(l, st));
    m->wants = calloc(3 * WANTS_MAX, sizeof(*m->wants));
    if (!m->wants)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    w = m->wants;
    for (int form = 0; form < 3; form++) {
        m->count[form] = l->counts[form];
        for (int i = 0; i < m->count[form]; i++, w++) {
            w->key = l->keys[form][i];
            w->form = (enum tfd_example_form)form;
            w->dtype = l->types[form][i];
            w->splits = l->splits[i];
            w->shape = l->shapes[i];
        }
    }
    return TFD_OK;
}

static enum tfd_code examples_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct examples_maker *m = state;
    struct lists *l;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_prepare(p, &m->maker, NULL, st));
    l = calloc(1, sizeof(*l));
    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    rc = read_wants(p->node, l, m, st);
    free(l);
    return rc;
}

static void examples_maker_release(void *state)
{
    free(((struct examples_maker *)state)->wants);
    tfd_dataset_maker_release(state);
}

/* ---- Elements ------------------------------------------------------------ */

static void drop_value(struct tfd_example_value *v)
{
    tfd_tensor_unref(&v->values);
    tfd_tensor_unref(&v->indices);
    tfd_tensor_unref(&v->extent);
}

static enum tfd_code give_sparse(const struct tfd_example_value *v,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    static const struct tfd_shape three = {1, {3}};
    struct tfd_variant **to;

    TFD_TRY(tfd_tensor_new(out, TFD_VARIANT, &three, st));
    to = tfd_tensor_data(out);
    TFD_TRY(
        tfd_variant_holding(TFD_VARIANT_TENSOR, &v->indices, 1, &to[0], st));
    TFD_TRY(tfd_variant_holding(TFD_VARIANT_TENSOR, &v->values, 1, &to[1], st));
    return tfd_variant_holding(TFD_VARIANT_TENSOR, &v->extent, 1, &to[2], st);
}

static enum tfd_code give_ragged(const struct tfd_example_value *v,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_tensor parts[2] = {v->extent, v->values};
    struct tfd_variant *made;

    TFD_TRY(tfd_variant_holding(TFD_VARIANT_RAGGED, parts, 2, &made, st));
    return tfd_variant_tensor(made, out, st);
}

static enum tfd_code give_value(const struct tfd_example_want *w,
                                const struct tfd_example_value *v,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    if (w->form == TFD_EXAMPLE_SPARSE)
        return give_sparse(v, out, st);
    if (w->form == TFD_EXAMPLE_RAGGED)
        return give_ragged(v, out, st);
    *out = tfd_tensor_ref(&v->values);
    return TFD_OK;
}

static enum tfd_code give_values(const struct examples *d,
                                 struct tfd_example_value *values,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    for (int n = 0; n < d->count; n++) {
        if (rc == TFD_OK)
            rc = give_value(&d->wants[n], &values[n], &out[n], st);
        drop_value(&values[n]);
    }
    if (rc != TFD_OK)
        tfd_data_element_drop(out, d->count);
    return rc;
}

/* Several threads. */
static enum tfd_code parse_element(const struct tfd_dataset *dataset,
                                   const struct tfd_tensor *serialized,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    const struct examples *d = (const struct examples *)dataset;
    const struct tfd_example_batch batch = {
        .serialized = tfd_tensor_data(serialized),
        .count = tfd_tensor_elements(serialized),
    };
    struct tfd_example_value *values;
    enum tfd_code rc;

    if (serialized->dtype != TFD_STRING || serialized->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input dataset must be a dataset of vectors of "
                        "strings");
    values = calloc((size_t)d->count + 1, sizeof(*values));
    if (!values)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    rc = tfd_example_parse(&d->spec, &batch, values, st);
    if (rc == TFD_OK)
        rc = give_values(d, values, out, st);
    free(values);
    return rc;
}

static enum tfd_code examples_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct examples_iterator *i = (struct examples_iterator *)it;

    return tfd_work_line_new(it, parse_element,
                             ((const struct examples *)it->dataset)->calls,
                             &i->line, st);
}

static void examples_end(struct tfd_data_iterator *it)
{
    tfd_work_line_close(((struct examples_iterator *)it)->line);
}

static enum tfd_code examples_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    return tfd_work_line_next(((struct examples_iterator *)it)->line, out, end,
                              st);
}

static int64_t examples_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

static void examples_release(struct tfd_dataset *d)
{
    struct examples *x = (struct examples *)d;

    for (int i = 0; i < x->count; i++) {
        if (x->keys)
            free(x->keys[i]);
        if (x->absent)
            tfd_tensor_unref(&x->absent[i]);
    }
    if (x->has_spec)
        tfd_example_spec_deinit(&x->spec);
    free(x->wants);
    free(x->keys);
    free(x->absent);
}

#define EXAMPLES_KIND(id, name_)                           \
    static const struct tfd_dataset_kind id##_kind = {     \
        .name = name_,                                     \
        .iterator_size = sizeof(struct examples_iterator), \
        .opens_input = true,                               \
        .begin = examples_begin,                           \
        .next = examples_next,                             \
        .end = examples_end,                               \
        .cardinality = examples_cardinality,               \
        .release = examples_release,                       \
    }

EXAMPLES_KIND(first, "ParseExample");
EXAMPLES_KIND(second, "ParseExampleV2");

/* ---- Making -------------------------------------------------------------- */

struct sorting {
    struct tfd_example_want want;
    int absent; /* input; -1: none */
};

static int compare_keys(const void *a, const void *b)
{
    return tfd_str_cmp(((const struct sorting *)a)->want.key,
                       ((const struct sorting *)b)->want.key);
}

static enum tfd_code copy_key(struct examples *x, int i, struct tfd_str key,
                              struct tfd_status *st)
{
    x->keys[i] = malloc(key.size + 1);
    if (!x->keys[i])
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    if (key.size)
        memcpy(x->keys[i], key.data, key.size);
    x->wants[i].key = (struct tfd_str){x->keys[i], key.size};
    return TFD_OK;
}

static enum tfd_code fill_sorted(const struct tfd_kctx *k, struct examples *x,
                                 const struct sorting *sorted,
                                 struct tfd_status *st)
{
    for (int i = 0; i < x->count; i++) {
        x->wants[i] = sorted[i].want;
        TFD_TRY(copy_key(x, i, sorted[i].want.key, st));
        if (sorted[i].absent < 0)
            continue;
        x->absent[i] = tfd_tensor_ref(&k->in[sorted[i].absent]);
        x->wants[i].absent = &x->absent[i];
    }
    x->has_spec = true;
    return tfd_example_spec_init(&x->spec, x->wants, x->count, st);
}

static enum tfd_code fill_examples(const struct tfd_kctx *k, struct examples *x,
                                   struct tfd_status *st)
{
    const struct examples_maker *m = k->state;
    int count = m->count[0] + m->count[1] + m->count[2];
    struct sorting *sorted = calloc((size_t)count + 1, sizeof(*sorted));
    enum tfd_code rc;

    x->wants = calloc((size_t)count + 1, sizeof(*x->wants));
    x->keys = calloc((size_t)count + 1, sizeof(char *));
    x->absent = tfd_data_element_new(count, st);
    x->count = count;
    if (!sorted || !x->wants || !x->keys || !x->absent) {
        free(sorted);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    }
    for (int i = 0; i < count; i++) {
        bool is_dense = m->wants[i].form == TFD_EXAMPLE_DENSE;

        sorted[i] =
            (struct sorting){m->wants[i], is_dense ? 2 + i - m->count[0] : -1};
    }
    qsort(sorted, (size_t)count, sizeof(*sorted), compare_keys);
    rc = fill_sorted(k, x, sorted, st);
    free(sorted);
    return rc;
}

static enum tfd_code check_input(const struct tfd_dataset *d, int count,
                                 struct tfd_status *st)
{
    const struct tfd_dataset *input = d->inputs[0];

    if (input->count != 1 || input->types[0] != TFD_STRING)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input dataset must be a dataset of vectors of "
                        "strings");
    if (d->count == count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "output_types are %d, and there are %d features", d->count,
                    count);
}

static enum tfd_code make_examples(struct tfd_kctx *k,
                                   const struct tfd_dataset_kind *kind,
                                   struct tfd_status *st)
{
    struct tfd_dataset *d;
    int64_t calls;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_int(k, 1, "num_parallel_calls", &calls, st));
    if (calls < 1 && calls != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_parallel_calls must be greater than zero.");
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(struct examples), 1, &d, st));
    ((struct examples *)d)->calls = calls;
    rc = fill_examples(k, (struct examples *)d, st);
    if (rc == TFD_OK)
        rc = check_input(d, ((struct examples *)d)->count, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code first_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_examples(k, &first_kind, st);
}

static enum tfd_code second_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_examples(k, &second_kind, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define VALUE_TYPES "list({float, int64, string}) >= 0"
#define RAGGED                                   \
    "; ragged_keys: list(string) >= 0 = []; "    \
    "ragged_value_types: " VALUE_TYPES " = []; " \
    "ragged_split_types: list({int32, int64}) >= 0 = []"
#define EXAMPLES(name_, more_)                                                 \
    TFD_DATA_OP(name_,                                                         \
                "input_dataset: variant, num_parallel_calls: int64, "          \
                "dense_defaults: Tdense",                                      \
                "sparse_keys: list(string) >= 0; "                             \
                "dense_keys: list(string) >= 0; sparse_types: " VALUE_TYPES    \
                "; Tdense: " VALUE_TYPES "; dense_shapes: list(shape) >= 0; ", \
                more_, 0)

static const struct tfd_opdef ops[] = {
    EXAMPLES("ParseExampleDataset", "; sloppy: bool = false" RAGGED),
    EXAMPLES("ExperimentalParseExampleDataset", "; sloppy: bool = false"),
    EXAMPLES("ParseExampleDatasetV2",
             "; deterministic: string = 'default'" RAGGED),
};

#define EXAMPLES_KERNEL(name_, compute_)                         \
    TFD_KERNEL_ANY(name_, compute_, .prepare = examples_prepare, \
                   .release = examples_maker_release,            \
                   .state_size = sizeof(struct examples_maker))

static const struct tfd_kernel kernels[] = {
    EXAMPLES_KERNEL("ParseExampleDataset", first_compute),
    EXAMPLES_KERNEL("ExperimentalParseExampleDataset", first_compute),
    EXAMPLES_KERNEL("ParseExampleDatasetV2", second_compute),
};

TFD_DATA_FAMILY(dataset_examples);
