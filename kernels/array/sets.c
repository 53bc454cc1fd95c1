/*
 * sets.c - sets in the last dimension of a tensor: SetSize and the set
 * operations on pairs of dense and sparse tensors.
 *
 * Either input becomes sets, each with the number of its group (its place in
 * the other dimensions), sorted by group and value and without repetitions.  An
 * operation is then one pass over two such lists.  Work and memory depend on
 * what is there, never on the dense shape.
 *
 * Numbers are sorted set by set (sets_numbers.h); strings, long sets and groups
 * out of order as a list of members, each with its group.
 */
#include "common/base/alloc.h"
#include "kernels/array/sets_numbers.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/reduce/merge_sort.h"

#include <string.h>
#include <strings.h>

/* ---- Members ------------------------------------------------------------- */

struct member {
    int64_t group;
    int64_t number; /* of integers */
    struct tfd_str text;
    int64_t at; /* in the values */
};

struct members {
    struct member *list;
    struct tfd_buffer *memory; /* of the list */
    int64_t count;
    struct tfd_sets sets;    /* numbers; what is in the list is then old */
    struct tfd_shape groups; /* the shape without its last dimension */
};

static void members_deinit(struct members *m)
{
    tfd_buffer_unref(m->memory);
    tfd_sets_deinit(&m->sets);
}

static int by_value(const struct member *a, const struct member *b)
{
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return tfd_str_cmp(a->text, b->text);
}

static int by_group(const void *x, const void *y)
{
    const struct member *a = x, *b = y;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return by_value(a, b);
}

#define READ(name, number_, T)  \
    if (t->dtype == TFD_##name) \
        m->number = (int64_t)((const T *)tfd_tensor_data(t))[m->at];

static void read_value(const struct tfd_tensor *t, struct member *m)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);

    m->number = 0;
    m->text = TFD_STR_EMPTY;
    if (t->dtype == TFD_STRING)
        m->text = tfd_tstring_view(&s[m->at]);
    TFD_INT_DTYPES(READ)
}

static enum tfd_code make_list(struct members *m, int64_t count,
                               struct tfd_status *st)
{
    const size_t size = sizeof(*m->list);

    m->count = count;
    if ((size_t)count < SIZE_MAX / size)
        m->memory = tfd_buffer_new((size_t)count * size);
    if (!m->memory)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %lld members of sets", (long long)count);
    m->list = m->memory->data;
    return TFD_OK;
}

/* ---- Sorting ------------------------------------------------------------- */

/* Of members that are in order and of which none comes twice. */
static enum tfd_code sets_of_list(struct members *m, struct tfd_status *st)
{
    struct tfd_sets *s = &m->sets;

    TFD_TRY(tfd_sets_new(s, m->count, m->count, st));
    for (int64_t i = 0; i < m->count; i++) {
        s->value[i] = m->list[i].number;
        tfd_sets_count(s, m->list[i].group, i);
    }
    return TFD_OK;
}

/* Sorts the list; of members that are equal one is kept. */
static enum tfd_code finish_list(struct tfd_kctx *k, struct members *m,
                                 enum tfd_dtype dtype, struct tfd_status *st)
{
    int64_t kept = 0;

    TFD_TRY(
        tfd_merge_sort(k, m->list, m->count, sizeof(*m->list), by_group, st));
    for (int64_t i = 0; i < m->count; i++)
        if (i == 0 || by_group(&m->list[i], &m->list[kept - 1]) != 0)
            m->list[kept++] = m->list[i];
    m->count = kept;
    return dtype == TFD_STRING ? TFD_OK : sets_of_list(m, st);
}

/* ---- Dense --------------------------------------------------------------- */

static enum tfd_code read_dense(struct tfd_kctx *k, const struct tfd_tensor *t,
                                struct members *m, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t n = tfd_tensor_elements(t), inner;

    if (t->shape.rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Shape %s has rank %d < 2",
                        tfd_shape_text(&t->shape, text), t->shape.rank);
    m->groups = t->shape;
    inner = m->groups.dim[--m->groups.rank];
    if (t->dtype != TFD_STRING && inner <= TFD_SET_MAX)
        return tfd_sets_of_rows(k, t, inner, &m->sets, st);
    TFD_TRY(make_list(m, n, st));
    for (int64_t i = 0; i < n; i++) {
        m->list[i].group = i / inner;
        m->list[i].at = i;
        read_value(t, &m->list[i]);
    }
    return finish_list(k, m, t->dtype, st);
}

/* ---- Sparse -------------------------------------------------------------- */

struct sparse {
    const struct tfd_tensor *indices, *values;
    struct tfd_shape shape;
    bool validate;
};

static enum tfd_code check_dims(const struct tfd_tensor *dims,
                                struct tfd_status *st)
{
    for (int64_t i = 0; i < tfd_tensor_elements(dims); i++)
        if (tfd_check_int_at(dims, i) < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected shape dimensions to be non-negative, got "
                            "%lld",
                            (long long)tfd_check_int_at(dims, i));
    return TFD_OK;
}

static enum tfd_code check_sparse(const struct tfd_kctx *k, int in,
                                  struct sparse *s, struct tfd_status *st)
{
    const struct tfd_tensor *i = &k->in[in], *v = &k->in[in + 1];
    char text[TFD_SHAPE_TEXT_MAX];

    *s = (struct sparse){i, v, {0}, *(const bool *)k->state};
    if (k->in[in + 2].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Shape must be a 1D tensor.");
    TFD_TRY(check_dims(&k->in[in + 2], st));
    TFD_TRY(tfd_check_shape(k, in + 2, false, &s->shape, st));
    if (s->shape.rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid rank %d.",
                        s->shape.rank);
    if (i->shape.rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices must be a matrix, but got: %s",
                        tfd_shape_text(&i->shape, text));
    if (v->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "vals must be a vec, but got: %s",
                        tfd_shape_text(&v->shape, text));
    if (i->shape.dim[0] != v->shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices and values rows (indexing dimension) must "
                        "match. (indices = %lld, values = %lld)",
                        (long long)i->shape.dim[0], (long long)v->shape.dim[0]);
    if (i->shape.dim[1] != s->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Order length must be SparseTensor rank.");
    return TFD_OK;
}

/* Of how many rows in front of this one the group is the same. */
static int64_t place_in_group(const struct sparse *s, const int64_t *index,
                              int64_t row)
{
    const size_t size = (size_t)(s->shape.rank - 1) * sizeof(*index);
    int64_t n = 0;

    while (n < row && memcmp(index - (n + 1) * s->shape.rank, index, size) == 0)
        n++;
    return n;
}

static const char *index_text(const struct sparse *s, const int64_t *index,
                              char *text)
{
    struct tfd_shape at = {s->shape.rank, {0}};

    memcpy(at.dim, index, (size_t)at.rank * sizeof(*index));
    return tfd_shape_text(&at, text);
}

static enum tfd_code outside(const struct sparse *s, const int64_t *index,
                             int64_t row, int d, struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], limit[TFD_SHAPE_TEXT_MAX];

    if (!s->validate)
        return tfd_fail(st, TFD_INTERNAL,
                        "indices[%lld, %d] expected < %lld, got %lld.",
                        (long long)place_in_group(s, index, row), d,
                        (long long)s->shape.dim[d], (long long)index[d]);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "indices[%lld] = %s is out of bounds: need 0 <= index < %s",
                    (long long)row, index_text(s, index, have),
                    tfd_shape_text(&s->shape, limit));
}

static enum tfd_code check_order(const struct sparse *s, const int64_t *index,
                                 int64_t row, struct tfd_status *st)
{
    const int64_t *before = index - s->shape.rank;
    char text[TFD_SHAPE_TEXT_MAX];
    int d = 0;

    if (row == 0 || !s->validate)
        return TFD_OK;
    while (d < s->shape.rank && index[d] == before[d])
        d++;
    if (d == s->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices[%lld] = %s is repeated", (long long)row,
                        index_text(s, index, text));
    if (index[d] > before[d])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "indices[%lld] = %s is out of order. Many sparse ops "
                    "require sorted indices.\n    Use `tf.sparse.reorder` to "
                    "create a correctly ordered copy.\n\n",
                    (long long)row, index_text(s, index, text));
}

static enum tfd_code read_group(const struct sparse *s, int64_t row,
                                int64_t *group, struct tfd_status *st)
{
    int rank = s->shape.rank;
    const int64_t *index =
        (const int64_t *)tfd_tensor_data(s->indices) + row * rank;

    *group = 0;
    for (int d = 0; d < rank; d++) {
        if (index[d] < 0 || index[d] >= s->shape.dim[d])
            return outside(s, index, row, d, st);
        if (d < rank - 1)
            *group = *group * s->shape.dim[d] + index[d];
    }
    return check_order(s, index, row, st);
}

/* *fits: groups are in order and none is long; else m->sets is of no use. */
static enum tfd_code read_numbers(const struct sparse *s, struct members *m,
                                  bool *fits, struct tfd_status *st)
{
    const int64_t n = s->values->shape.dim[0];
    int64_t group, last = 0;

    TFD_TRY(tfd_sets_new(&m->sets, n, n, st));
    *fits = true;
    for (int64_t i = 0; i < n; i++, last = group) {
        TFD_TRY(read_group(s, i, &group, st));
        *fits = *fits && group >= last &&
                tfd_sets_count(&m->sets, group, i) <= TFD_SET_MAX;
    }
    return TFD_OK;
}

static enum tfd_code read_sparse(struct tfd_kctx *k, int in, struct members *m,
                                 struct tfd_status *st)
{
    struct sparse s;
    bool fits = false;

    TFD_TRY(check_sparse(k, in, &s, st));
    m->groups = s.shape;
    m->groups.rank--;
    if (s.values->dtype != TFD_STRING)
        TFD_TRY(read_numbers(&s, m, &fits, st));
    if (fits)
        return tfd_sets_sort(k, s.values, &m->sets, st);
    tfd_sets_deinit(&m->sets);
    TFD_TRY(make_list(m, s.values->shape.dim[0], st));
    for (int64_t i = 0; i < m->count; i++) {
        TFD_TRY(read_group(&s, i, &m->list[i].group, st));
        m->list[i].at = i;
        read_value(s.values, &m->list[i]);
    }
    return finish_list(k, m, s.values->dtype, st);
}

/* ---- SetSize ------------------------------------------------------------- */

static enum tfd_code size_of_sets(struct tfd_kctx *k, struct members *m,
                                  struct tfd_status *st)
{
    int32_t *y;

    TFD_TRY(read_sparse(k, 0, m, st));
    TFD_TRY(tfd_shape_make(&m->groups, m->groups.dim, m->groups.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &m->groups, st));
    y = tfd_tensor_data(&k->out[0]);
    tfd_elements_zero(TFD_INT32, y, tfd_shape_elements(&m->groups));
    if (k->in[1].dtype != TFD_STRING)
        for (int64_t i = 0; i < m->sets.count; i++)
            y[m->sets.set[i].group] = (int32_t)m->sets.set[i].count;
    else
        for (int64_t i = 0; i < m->count; i++)
            y[m->list[i].group]++;
    return TFD_OK;
}

static enum tfd_code size_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct members m = {0};
    enum tfd_code rc = size_of_sets(k, &m, st);

    members_deinit(&m);
    return rc;
}

static enum tfd_code validate_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    return tfd_node_bool(p->node, "validate_indices", state, st);
}

/* ---- Operations ---------------------------------------------------------- */

static const struct tfd_sets_operation operations[] = {
    {"a-b", true, false, false},
    {"b-a", false, false, true},
    {"intersection", false, true, false},
    {"union", true, true, true},
};

struct state {
    bool validate; /* first: read_sparse() looks at it */
    const struct tfd_sets_operation *operation;
};

static enum tfd_code operation_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct state *s = state;
    struct tfd_str name;

    TFD_TRY(tfd_node_bool(p->node, "validate_indices", &s->validate, st));
    TFD_TRY(tfd_node_str(p->node, "set_operation", &name, st));
    for (int i = 0; i < TFD_COUNT(operations); i++)
        if (name.size == strlen(operations[i].name) &&
            strncasecmp(name.data, operations[i].name, name.size) == 0)
            s->operation = &operations[i];
    if (s->operation)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid set_operation " TFD_STR_FMT ".",
                    TFD_STR_ARG(name));
}

struct pair {
    struct members a, b;
    const struct tfd_tensor *a_values, *b_values;
    /* The result: a member of a or b each. */
    const struct member **kept;
    struct tfd_buffer *memory; /* of kept */
    int64_t count, largest;
};

/* Where the value of a member that is kept lies. */
static const void *value_of(const struct pair *p, const struct member *m)
{
    /* As numbers: pointers into different lists have no order. */
    const uintptr_t at = (uintptr_t)m - (uintptr_t)p->a.list;
    const struct tfd_tensor *t =
        at < (size_t)p->a.count * sizeof(*m) ? p->a_values : p->b_values;

    return tfd_element_of(tfd_tensor_data(t), t->dtype, m->at);
}

static void combine(struct pair *p, const struct tfd_sets_operation *o)
{
    int64_t i = 0, j = 0;

    while (i < p->a.count || j < p->b.count) {
        const struct member *a = i < p->a.count ? &p->a.list[i] : NULL;
        const struct member *b = j < p->b.count ? &p->b.list[j] : NULL;
        int order = !a ? 1 : !b ? -1 : by_group(a, b);

        if (order == 0 ? o->both : order < 0 ? o->first : o->second)
            p->kept[p->count++] = order > 0 ? b : a;
        i += order <= 0;
        j += order >= 0;
    }
}

/* Indices by group and place in the group, and the size of the largest set. */
static void put_indices(struct pair *p, int64_t *index)
{
    const struct tfd_shape *groups = &p->a.groups;
    int64_t place = 0;

    for (int64_t i = 0; i < p->count; i++, index += groups->rank + 1) {
        int64_t rest = p->kept[i]->group;

        place = i && p->kept[i - 1]->group == rest ? place + 1 : 0;
        p->largest = place + 1 > p->largest ? place + 1 : p->largest;
        for (int d = groups->rank - 1; d >= 0; d--) {
            index[d] = rest % groups->dim[d];
            rest /= groups->dim[d];
        }
        index[groups->rank] = place;
    }
}

static enum tfd_code put_strings(struct tfd_kctx *k, struct pair *p,
                                 struct tfd_status *st)
{
    const int rank = p->a.groups.rank;
    int64_t *shape;

    TFD_TRY(tfd_sets_outputs(k, &p->a.groups, TFD_STRING, p->count, st));
    put_indices(p, tfd_tensor_data(&k->out[0]));
    for (int64_t i = 0; i < p->count; i++)
        TFD_TRY(tfd_elements_copy(
            TFD_STRING,
            tfd_element_at(tfd_tensor_data(&k->out[1]), TFD_STRING, i),
            value_of(p, p->kept[i]), 1, st));
    shape = tfd_tensor_data(&k->out[2]);
    shape[rank] = p->largest;
    return TFD_OK;
}

static enum tfd_code operate_strings(struct tfd_kctx *k, struct pair *p,
                                     const struct tfd_sets_operation *o,
                                     struct tfd_status *st)
{
    const size_t most = (size_t)(p->a.count + p->b.count);

    p->memory = tfd_buffer_new(most * sizeof(*p->kept));
    if (!p->memory)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %zu members of sets", most);
    p->kept = p->memory->data;
    combine(p, o);
    return put_strings(k, p, st);
}

static enum tfd_code operate_numbers(struct tfd_kctx *k, const struct pair *p,
                                     const struct tfd_sets_operation *o,
                                     struct tfd_status *st)
{
    struct tfd_sets out = {.count = 0};
    enum tfd_code rc = tfd_sets_combine(&p->a.sets, &p->b.sets, o, &out, st);

    if (rc == TFD_OK)
        rc = tfd_sets_put(k, &p->a.groups, p->a_values->dtype, &out, st);
    tfd_sets_deinit(&out);
    return rc;
}

static enum tfd_code operate(struct tfd_kctx *k, struct pair *p,
                             struct tfd_status *st)
{
    const struct tfd_sets_operation *o =
        ((const struct state *)k->state)->operation;
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    if (!tfd_shape_equal(&p->a.groups, &p->b.groups))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Mismatched shapes %s vs %s",
                        tfd_shape_text(&p->a.groups, a),
                        tfd_shape_text(&p->b.groups, b));
    return p->a_values->dtype == TFD_STRING ? operate_strings(k, p, o, st)
                                            : operate_numbers(k, p, o, st);
}

static void pair_deinit(struct pair *p)
{
    members_deinit(&p->a);
    members_deinit(&p->b);
    tfd_buffer_unref(p->memory);
}

/* A dense set is one input, a sparse one three. */
static enum tfd_code operation_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    bool a_sparse = k->in_count == 6, b_sparse = k->in_count >= 4;
    int second = a_sparse ? 3 : 1;
    struct pair p = {.a_values = &k->in[a_sparse ? 1 : 0],
                     .b_values = &k->in[b_sparse ? second + 1 : second]};
    enum tfd_code rc = a_sparse ? read_sparse(k, 0, &p.a, st)
                                : read_dense(k, &k->in[0], &p.a, st);

    if (rc == TFD_OK)
        rc = b_sparse ? read_sparse(k, second, &p.b, st)
                      : read_dense(k, &k->in[second], &p.b, st);
    if (rc == TFD_OK)
        rc = operate(k, &p, st);
    pair_deinit(&p);
    return rc;
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code operation_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    int64_t rank = TFD_DIM_UNKNOWN;

    (void)st;
    if (s->in_count < 6 && s->in[0].rank >= 2)
        rank = s->in[0].rank;
    s->out[0] = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, rank}};
    s->out[1] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    s->out[2] = (struct tfd_shape){1, {rank}};
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES "T: {int8, int16, int32, int64, uint8, uint16, string}"

#define OPERATION(op, in)                                                   \
    {                                                                       \
        .name = op "SetOperation", .inputs = in,                            \
        .outputs = "result_indices: int64, result_values: T, "              \
                   "result_shape: int64",                                   \
        .attrs =                                                            \
            "set_operation: string; validate_indices: bool = true; " TYPES, \
        .shape = operation_shape, .flags = TFD_OP_NO_GRADIENT,              \
    }

static const struct tfd_opdef ops[] = {
    {
        .name = "SetSize",
        .inputs = "set_indices: int64, set_values: T, set_shape: int64",
        .outputs = "size: int32",
        .attrs = "validate_indices: bool = true; " TYPES,
        .flags = TFD_OP_NO_GRADIENT,
    },
    OPERATION("DenseToDense", "set1: T, set2: T"),
    OPERATION("DenseToSparse", "set1: T, set2_indices: int64, set2_values: T, "
                               "set2_shape: int64"),
    OPERATION("SparseToSparse",
              "set1_indices: int64, set1_values: T, set1_shape: int64, "
              "set2_indices: int64, set2_values: T, set2_shape: int64"),
};

#define ROW(op)                                          \
    TFD_KERNEL_ANY(op "SetOperation", operation_compute, \
                   .prepare = operation_prepare,         \
                   .state_size = sizeof(struct state))

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SetSize", size_compute, .prepare = validate_prepare,
                   .state_size = sizeof(bool)),
    ROW("DenseToDense"),
    ROW("DenseToSparse"),
    ROW("SparseToSparse"),
};

const struct tfd_family tfd_family_sets = {
    .name = "sets",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
