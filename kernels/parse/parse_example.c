/*
 * parse_example.c - ParseExample, its second version, ParseSingleExample.
 *
 * All three do the same work (example.h).  They differ in where the names of
 * the features come from: vectors, scalars one by one, attributes.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/parse/example.h"

#include "config/limits.h"

#include <stdlib.h>

enum version { SINGLE, FIRST, SECOND };

struct parser {
    struct tfd_example_want *wants; /* sparse ones, dense ones, ragged ones */
    int count[3];                   /* by enum tfd_example_form */
    enum version version;
};

static const char *const form_names[] = {"sparse", "dense", "ragged"};

static int total(const struct parser *p)
{
    return p->count[0] + p->count[1] + p->count[2];
}

/* ---- Attributes ---------------------------------------------------------- */

#define WANTS_MAX TFD_QUEUE_COMPONENTS_MAX

struct lists {
    enum tfd_dtype types[3][WANTS_MAX], splits[WANTS_MAX];
    struct tfd_shape shapes[WANTS_MAX];
    struct tfd_str keys[2][WANTS_MAX];
};

/* "sparse_keys" of an op that has them as an attribute. */
static enum tfd_code read_keys(const struct tfd_node *n, const char *name,
                               struct tfd_str *keys, int want,
                               struct tfd_status *st)
{
    int count;

    TFD_TRY(tfd_node_strs(n, name, keys, WANTS_MAX, &count, st));
    if (count == want)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "len(%s) != len(%.*s_types)",
                    name, name[0] == 's' ? 6 : 5, name);
}

/* The numbers by which the node has inputs and outputs are those of the
 * types. */
static enum tfd_code check_counts(const struct tfd_node *n,
                                  const struct parser *p, struct tfd_status *st)
{
    bool is_first = p->version == FIRST;
    int64_t sparse, dense = p->count[1];

    TFD_TRY(tfd_node_int(n, is_first ? "Nsparse" : "num_sparse", &sparse, st));
    if (is_first)
        TFD_TRY(tfd_node_int(n, "Ndense", &dense, st));
    if (sparse != p->count[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "len(sparse_keys) != len(sparse_types)");
    if (dense != p->count[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "len(dense_keys) != len(dense_types)");
    return TFD_OK;
}

static enum tfd_code read_types(const struct tfd_node *n, struct lists *l,
                                struct parser *p, struct tfd_status *st)
{
    int splits, shapes;

    TFD_TRY(tfd_node_types(n, "sparse_types", l->types[0], WANTS_MAX,
                           &p->count[0], st));
    TFD_TRY(
        tfd_node_types(n, "Tdense", l->types[1], WANTS_MAX, &p->count[1], st));
    TFD_TRY(check_counts(n, p, st));
    TFD_TRY(
        tfd_node_shapes(n, "dense_shapes", l->shapes, WANTS_MAX, &shapes, st));
    if (shapes != p->count[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "len(dense_keys) != len(dense_shapes)");
    if (p->version == SINGLE) {
        TFD_TRY(read_keys(n, "sparse_keys", l->keys[0], p->count[0], st));
        return read_keys(n, "dense_keys", l->keys[1], p->count[1], st);
    }
    if (p->version == FIRST)
        return TFD_OK;
    TFD_TRY(tfd_node_types(n, "ragged_value_types", l->types[2], WANTS_MAX,
                           &p->count[2], st));
    TFD_TRY(tfd_node_types(n, "ragged_split_types", l->splits, WANTS_MAX,
                           &splits, st));
    if (splits == p->count[2])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "len(ragged_value_types) != len(ragged_split_types)");
}

/* The first dimension may be unknown, the others not. */
static enum tfd_code check_shape(const struct tfd_shape *s, int number,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    bool known = s->rank != TFD_RANK_UNKNOWN;

    for (int i = 1; known && i < s->rank; i++)
        known = s->dim[i] >= 0;
    if (known)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "dense_shapes[%d] has unknown rank or unknown inner "
                    "dimensions: %s",
                    number, tfd_shape_text(s, text));
}

static enum tfd_code make_wants(const struct lists *l, struct parser *p,
                                struct tfd_status *st)
{
    struct tfd_example_want *w;

    p->wants = calloc((size_t)total(p) + 1, sizeof(*p->wants));
    if (!p->wants)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    w = p->wants;
    for (int form = 0; form < 3; form++)
        for (int i = 0; i < p->count[form]; i++, w++) {
            w->form = (enum tfd_example_form)form;
            w->dtype = l->types[form][i];
            w->splits = l->splits[i];
            if (p->version == SINGLE)
                w->key = l->keys[form][i];
            if (form != TFD_EXAMPLE_DENSE)
                continue;
            TFD_TRY(check_shape(&l->shapes[i], i, st));
            w->shape = l->shapes[i];
        }
    return TFD_OK;
}

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             enum version version, struct tfd_status *st)
{
    struct parser *parser = state;
    struct lists *l = calloc(1, sizeof(*l));
    enum tfd_code rc;

    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    parser->version = version;
    rc = read_types(p->node, l, parser, st);
    if (rc == TFD_OK)
        rc = make_wants(l, parser, st);
    free(l);
    return rc;
}

#define PREPARE(name, version)                                              \
    static enum tfd_code name##_prepare(const struct tfd_prepare *p,        \
                                        void *state, struct tfd_status *st) \
    {                                                                       \
        return prepare(p, state, version, st);                              \
    }

PREPARE(single, SINGLE)
PREPARE(first, FIRST)
PREPARE(second, SECOND)

static void parser_release(void *state)
{
    free(((struct parser *)state)->wants);
}

/* ---- Inputs -------------------------------------------------------------- */

static enum tfd_code keys_of_vector(const struct tfd_kctx *k, int in,
                                    struct tfd_example_want *w, int count,
                                    const char *form, struct tfd_status *st)
{
    const struct tfd_tstring *keys = tfd_tensor_data(&k->in[in]);
    int64_t have = tfd_tensor_elements(&k->in[in]);

    if (have != count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected len(%s_keys) == %d but got: %lld", form,
                        count, (long long)have);
    for (int i = 0; i < count; i++)
        w[i].key = tfd_tstring_view(&keys[i]);
    return TFD_OK;
}

static enum tfd_code keys_of_scalars(const struct tfd_kctx *k, int in,
                                     struct tfd_example_want *w, int count,
                                     struct tfd_status *st)
{
    for (int i = 0; i < count; i++)
        TFD_TRY(tfd_check_str(k, in + i, &w[i].key, st));
    return TFD_OK;
}

/* *next: the first input behind the names. */
static enum tfd_code read_names(const struct tfd_kctx *k,
                                const struct parser *p,
                                struct tfd_example_want *w, int *next,
                                struct tfd_status *st)
{
    int forms = p->version == SECOND ? 3 : 2;

    *next = p->version == SINGLE ? 1 : 2;
    for (int form = 0; p->version != SINGLE && form < forms; form++) {
        int count = p->count[form];

        TFD_TRY(p->version == SECOND
                    ? keys_of_vector(k, *next, w, count, form_names[form], st)
                    : keys_of_scalars(k, *next, w, count, st));
        *next += p->version == SECOND ? 1 : count;
        w += count;
    }
    return TFD_OK;
}

static enum tfd_code check_serialized(const struct tfd_kctx *k,
                                      enum version version,
                                      struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    char have[TFD_SHAPE_TEXT_MAX], names[TFD_SHAPE_TEXT_MAX];

    if (version == SECOND && s->rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected serialized to be a scalar or vector, got "
                        "shape: %s",
                        tfd_shape_text(s, have));
    if (version == FIRST && s->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected serialized to be a vector, got shape: %s",
                        tfd_shape_text(s, have));
    if (version == SINGLE && s->rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected serialized to be a scalar, got shape: %s",
                        tfd_shape_text(s, have));
    if (version == SINGLE || tfd_tensor_elements(&k->in[1]) == 0 ||
        tfd_shape_equal(s, &k->in[1].shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expected names have the same shape as serialized: "
                    "name.shape=%s, serialized.shape=%s",
                    tfd_shape_text(&k->in[1].shape, names),
                    tfd_shape_text(s, have));
}

static struct tfd_example_batch batch_of(const struct tfd_kctx *k,
                                         enum version version)
{
    bool named = version != SINGLE && tfd_tensor_elements(&k->in[1]) > 0;

    return (struct tfd_example_batch){
        .serialized = tfd_tensor_data(&k->in[0]),
        .names = named ? tfd_tensor_data(&k->in[1]) : NULL,
        .count = tfd_tensor_elements(&k->in[0]),
        .is_single = k->in[0].shape.rank == 0,
    };
}

/* ---- Outputs ------------------------------------------------------------- */

/* All indices of sparse ones, all values, all shapes, and so on. */
static void give_outputs(struct tfd_kctx *k, const struct parser *p,
                         struct tfd_example_value *values)
{
    const int sparse = p->count[0], dense = p->count[1];
    struct tfd_tensor *out = k->out;

    for (int i = 0; i < sparse; i++) {
        out[i] = values[i].indices;
        out[sparse + i] = values[i].values;
        out[2 * sparse + i] = values[i].extent;
    }
    out += 3 * sparse;
    values += sparse;
    for (int i = 0; i < dense; i++)
        *out++ = values++->values;
    for (int i = 0; i < p->count[2]; i++) {
        out[i] = values[i].values;
        out[p->count[2] + i] = values[i].extent;
    }
}

static enum tfd_code parse_wants(struct tfd_kctx *k, const struct parser *p,
                                 const struct tfd_example_want *wants,
                                 struct tfd_status *st)
{
    const struct tfd_example_batch batch = batch_of(k, p->version);
    struct tfd_example_value *values =
        calloc((size_t)total(p) + 1, sizeof(*values));
    struct tfd_example_spec spec;
    enum tfd_code rc;

    if (!values)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    rc = tfd_example_spec_init(&spec, wants, total(p), st);
    if (rc == TFD_OK)
        rc = tfd_example_parse(&spec, &batch, values, st);
    tfd_example_spec_deinit(&spec);
    if (rc == TFD_OK)
        give_outputs(k, p, values);
    free(values);
    return rc;
}

static enum tfd_code parse_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct parser *p = k->state;
    struct tfd_example_want *wants;
    int next;
    enum tfd_code rc;

    TFD_TRY(check_serialized(k, p->version, st));
    wants = malloc(((size_t)total(p) + 1) * sizeof(*wants));
    if (!wants)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    for (int i = 0; i < total(p); i++)
        wants[i] = p->wants[i];
    rc = read_names(k, p, wants, &next, st);
    for (int i = 0; rc == TFD_OK && i < p->count[1]; i++)
        wants[p->count[0] + i].absent = &k->in[next + i];
    if (rc == TFD_OK)
        rc = parse_wants(k, p, wants, st);
    free(wants);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define VALUE_TYPES "list({float, int64, string}) >= 0"
#define SPARSE_OUT(n)                                              \
    "sparse_indices: " n " * int64, sparse_values: sparse_types, " \
    "sparse_shapes: " n " * int64, dense_values: Tdense"

static const struct tfd_opdef ops[] = {
    {
        .name = "ParseSingleExample",
        .inputs = "serialized: string, dense_defaults: Tdense",
        .outputs = SPARSE_OUT("num_sparse"),
        .attrs = "num_sparse: int >= 0; sparse_keys: list(string) >= 0; "
                 "dense_keys: list(string) >= 0; sparse_types: " VALUE_TYPES
                 "; Tdense: " VALUE_TYPES "; dense_shapes: list(shape) >= 0",
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ParseExample",
        .inputs = "serialized: string, names: string, "
                  "sparse_keys: Nsparse * string, dense_keys: Ndense * string, "
                  "dense_defaults: Tdense",
        .outputs = SPARSE_OUT("Nsparse"),
        .attrs =
            "Nsparse: int >= 0; Ndense: int >= 0; sparse_types: " VALUE_TYPES
            "; Tdense: " VALUE_TYPES "; dense_shapes: list(shape) >= 0",
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ParseExampleV2",
        .inputs = "serialized: string, names: string, sparse_keys: string, "
                  "dense_keys: string, ragged_keys: string, "
                  "dense_defaults: Tdense",
        .outputs =
            SPARSE_OUT("num_sparse") ", ragged_values: ragged_value_types, "
                                     "ragged_row_splits: ragged_split_types",
        .attrs = "Tdense: " VALUE_TYPES
                 "; num_sparse: int >= 0; sparse_types: " VALUE_TYPES
                 "; ragged_value_types: " VALUE_TYPES
                 "; ragged_split_types: list({int32, int64}) >= 0; "
                 "dense_shapes: list(shape) >= 0",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define PARSER(name_, prepare_)                                               \
    TFD_KERNEL_ANY(                                                           \
        name_, parse_compute, .prepare = prepare_, .release = parser_release, \
        .state_size = sizeof(struct parser), .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    PARSER("ParseSingleExample", single_prepare),
    PARSER("ParseExample", first_prepare),
    PARSER("ParseExampleV2", second_prepare),
};

const struct tfd_family tfd_family_parse_example = {
    .name = "parse_example",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
