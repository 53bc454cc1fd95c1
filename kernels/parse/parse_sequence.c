/*
 * parse_sequence.c - ParseSequenceExample, its second version,
 * ParseSingleSequenceExample.
 *
 * All three do the same work (sequence.h).  They differ in where the names of
 * the features come from: attributes, vectors, scalars one by one.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/parse/sequence.h"

#include "common/thread/halt.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WANTS_MAX TFD_QUEUE_COMPONENTS_MAX

enum version { ALONE, FIRST, SECOND };
enum { CONTEXT = TFD_SEQUENCE_CONTEXT, LISTS = TFD_SEQUENCE_LISTS };

struct parser {
    struct tfd_example_want
        *wants[2];   /* sparse ones, dense ones, ragged ones */
    int count[2][3]; /* by part, enum tfd_example_form */
    enum version version;
};

static const char *const part_names[] = {"context", "feature_list"};
static const char *const form_names[] = {"sparse", "dense", "ragged"};

/* What `absent` of a dense list is that may be missing. */
static const struct tfd_tensor may_lack;

static int total(const struct parser *p, int part)
{
    return p->count[part][0] + p->count[part][1] + p->count[part][2];
}

/* ---- Attributes ---------------------------------------------------------- */

struct lists {
    enum tfd_dtype types[3][WANTS_MAX], splits[WANTS_MAX];
    struct tfd_shape shapes[WANTS_MAX];
    struct tfd_str keys[WANTS_MAX];
};

/* "context_sparse_types" and the like; `PART_WHAT`. */
static const char *attr_name(char *name, size_t size, int part,
                             const char *what)
{
    snprintf(name, size, "%s_%s", part_names[part], what);
    return name;
}

static enum tfd_code read_part_types(const struct tfd_node *n, int part,
                                     struct lists *l, struct parser *p,
                                     struct tfd_status *st)
{
    int *count = p->count[part], splits, shapes;
    char name[64];

    TFD_TRY(tfd_node_types(n,
                           attr_name(name, sizeof(name), part, "sparse_types"),
                           l->types[0], WANTS_MAX, &count[0], st));
    TFD_TRY(tfd_node_types(
        n, part == CONTEXT ? "Tcontext_dense" : "feature_list_dense_types",
        l->types[1], WANTS_MAX, &count[1], st));
    TFD_TRY(tfd_node_shapes(n,
                            attr_name(name, sizeof(name), part, "dense_shapes"),
                            l->shapes, WANTS_MAX, &shapes, st));
    if (shapes != count[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_%s_dense (%d) must match the size of "
                        "%s_dense_types (%d) and %s_dense_shapes (%d)",
                        part_names[part], count[1], part_names[part], count[1],
                        part_names[part], shapes);
    if (p->version != SECOND)
        return TFD_OK;
    TFD_TRY(tfd_node_types(
        n, attr_name(name, sizeof(name), part, "ragged_value_types"),
        l->types[2], WANTS_MAX, &count[2], st));
    TFD_TRY(tfd_node_types(
        n, attr_name(name, sizeof(name), part, "ragged_split_types"), l->splits,
        WANTS_MAX, &splits, st));
    if (splits == count[2])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s_ragged_value_types has %d elements, but "
                    "%s_ragged_split_types has %d",
                    part_names[part], count[2], part_names[part], splits);
}

/* The numbers by which the node has inputs and outputs are those of the types.
 * By that of dense features of the context it is in the single one alone. */
static enum tfd_code check_counts(const struct tfd_node *n, int part,
                                  const struct parser *p, struct tfd_status *st)
{
    char name[64];
    int64_t count;

    for (int form = 0; form < 2; form++) {
        if (part == CONTEXT && form == TFD_EXAMPLE_DENSE && p->version != ALONE)
            continue;
        snprintf(name, sizeof(name), "N%s_%s", part_names[part],
                 form_names[form]);
        TFD_TRY(tfd_node_int(n, name, &count, st));
        if (count != p->count[part][form])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "num_%s_%s (%lld) must match the size of "
                            "%s_%s_types (%d)",
                            part_names[part], form_names[form],
                            (long long)count, part_names[part],
                            form_names[form], p->count[part][form]);
    }
    return TFD_OK;
}

static enum tfd_code check_dense_shape(const struct tfd_shape *s,
                                       struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_elements(s) >= 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Shape %s is not fully defined",
                    tfd_shape_text(s, text));
}

static enum tfd_code make_part_wants(const struct lists *l, int part,
                                     struct parser *p, struct tfd_status *st)
{
    struct tfd_example_want *w;

    p->wants[part] = calloc((size_t)total(p, part) + 1, sizeof(*w));
    if (!p->wants[part])
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    w = p->wants[part];
    for (int form = 0; form < 3; form++)
        for (int i = 0; i < p->count[part][form]; i++, w++) {
            w->form = (enum tfd_example_form)form;
            w->dtype = l->types[form][i];
            w->splits = l->splits[i];
            if (form != TFD_EXAMPLE_DENSE)
                continue;
            TFD_TRY(check_dense_shape(&l->shapes[i], st));
            w->shape = l->shapes[i];
        }
    return TFD_OK;
}

/* The names of the first version. */
static enum tfd_code read_part_keys(const struct tfd_node *n, int part,
                                    struct lists *l, struct parser *p,
                                    struct tfd_status *st)
{
    struct tfd_example_want *w = p->wants[part];
    char name[64], what[32];

    for (int form = 0; form < 2; form++) {
        int want = p->count[part][form], have;

        snprintf(what, sizeof(what), "%s_keys", form_names[form]);
        TFD_TRY(tfd_node_strs(n, attr_name(name, sizeof(name), part, what),
                              l->keys, WANTS_MAX, &have, st));
        if (have != want)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "num_%s_%s (%d) must match the size of %s (%d)",
                            part_names[part], form_names[form], want, name,
                            have);
        for (int i = 0; i < want; i++, w++)
            w->key = l->keys[i];
    }
    return TFD_OK;
}

/* The dense lists that are named may be missing. */
static void allow_missing(struct parser *p, const struct tfd_str *names,
                          int count)
{
    struct tfd_example_want *w = p->wants[LISTS] + p->count[LISTS][0];

    for (int i = 0; i < p->count[LISTS][1]; i++)
        for (int j = 0; j < count; j++)
            if (tfd_str_eq(w[i].key, names[j]))
                w[i].absent = &may_lack;
}

static enum tfd_code read_first_keys(const struct tfd_node *n, struct lists *l,
                                     struct parser *p, struct tfd_status *st)
{
    int count;

    for (int part = 0; part < 2; part++)
        TFD_TRY(read_part_keys(n, part, l, p, st));
    TFD_TRY(tfd_node_strs(n, "feature_list_dense_missing_assumed_empty",
                          l->keys, WANTS_MAX, &count, st));
    allow_missing(p, l->keys, count);
    return TFD_OK;
}

static enum tfd_code read_sequence_parts(const struct tfd_node *n,
                                         struct lists *l, struct parser *p,
                                         struct tfd_status *st)
{
    for (int part = 0; part < 2; part++) {
        TFD_TRY(read_part_types(n, part, l, p, st));
        TFD_TRY(check_counts(n, part, p, st));
        TFD_TRY(make_part_wants(l, part, p, st));
    }
    return p->version == FIRST ? read_first_keys(n, l, p, st) : TFD_OK;
}

static enum tfd_code parser_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_str op = p->node->op->name;
    struct lists *l = calloc(1, sizeof(*l));
    struct parser *parser = state;
    enum tfd_code rc;

    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
    parser->version = tfd_str_is(op, "ParseSequenceExample") ? FIRST : SECOND;
    if (tfd_str_is(op, "ParseSingleSequenceExample"))
        parser->version = ALONE;
    rc = read_sequence_parts(p->node, l, parser, st);
    free(l);
    return rc;
}

static void parser_free(void *state)
{
    struct parser *p = state;

    free(p->wants[CONTEXT]);
    free(p->wants[LISTS]);
}

/* ---- Inputs -------------------------------------------------------------- */

/* One execution: copies of the wants, with names and defaults. */
struct parse {
    const struct parser *p;
    struct tfd_example_want *wants[2];
    struct tfd_sequence_value *values[2];
    int next; /* input */
};

static enum tfd_code take_vector_keys(const struct tfd_kctx *k, struct parse *x,
                                      int part, int form,
                                      struct tfd_example_want *w,
                                      struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[x->next++];
    const struct tfd_tstring *keys = tfd_tensor_data(t);
    int count = x->p->count[part][form];

    if (t->shape.rank != 1 || tfd_tensor_elements(t) != count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected len(%s_%s_keys) == %d but got: %lld",
                        part_names[part], form_names[form], count,
                        (long long)tfd_tensor_elements(t));
    for (int i = 0; i < count; i++)
        w[i].key = tfd_tstring_view(&keys[i]);
    return TFD_OK;
}

static enum tfd_code take_keys(const struct tfd_kctx *k, struct parse *x,
                               int part, int form, struct tfd_example_want *w,
                               struct tfd_status *st)
{
    if (x->p->version == SECOND)
        return take_vector_keys(k, x, part, form, w, st);
    for (int i = 0; i < x->p->count[part][form]; i++)
        TFD_TRY(tfd_check_str(k, x->next++, &w[i].key, st));
    return TFD_OK;
}

static enum tfd_code take_all_keys(const struct tfd_kctx *k, struct parse *x,
                                   struct tfd_status *st)
{
    int forms = x->p->version == SECOND ? 3 : 2;

    for (int part = 0; x->p->version != FIRST && part < 2; part++) {
        struct tfd_example_want *w = x->wants[part];

        for (int form = 0; form < forms; form++) {
            TFD_TRY(take_keys(k, x, part, form, w, st));
            w += x->p->count[part][form];
        }
    }
    return TFD_OK;
}

/* Which dense lists may be missing, by a flag each. */
static enum tfd_code take_flags(const struct tfd_kctx *k, struct parse *x,
                                struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[x->next++];
    struct tfd_example_want *w = x->wants[LISTS] + x->p->count[LISTS][0];
    const tfd_bool *flags = tfd_tensor_data(t);

    if (t->shape.rank != 1 || tfd_tensor_elements(t) != x->p->count[LISTS][1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected len(feature_list_dense_missing_assumed_empty "
                        "to match Nfeature_list_dense");
    for (int i = 0; i < x->p->count[LISTS][1]; i++)
        w[i].absent = flags[i] ? &may_lack : NULL;
    return TFD_OK;
}

/* The same, by name: input 1 of the op of a single example. */
#define NAMES_BETWEEN_LOOKS 65536

static void take_missing(const struct tfd_kctx *k, struct parse *x)
{
    struct tfd_example_want *w = x->wants[LISTS] + x->p->count[LISTS][0];
    const struct tfd_tstring *names = tfd_tensor_data(&k->in[1]);
    int64_t count = tfd_tensor_elements(&k->in[1]);

    for (int i = 0; i < x->p->count[LISTS][1]; i++) {
        w[i].absent = NULL;
        for (int64_t j = 0; j < count; j++) {
            if (j % NAMES_BETWEEN_LOOKS == NAMES_BETWEEN_LOOKS - 1 &&
                tfd_halted())
                return;
            if (tfd_str_eq(w[i].key, tfd_tstring_view(&names[j])))
                w[i].absent = &may_lack;
        }
    }
}

static enum tfd_code take_defaults(const struct tfd_kctx *k, struct parse *x,
                                   struct tfd_status *st)
{
    struct tfd_example_want *w = x->wants[CONTEXT] + x->p->count[CONTEXT][0];
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    bool alone = x->p->version == ALONE;

    for (int i = 0; i < x->p->count[CONTEXT][1]; i++) {
        w[i].absent = &k->in[x->next++];
        if (tfd_tensor_elements(w[i].absent) > 0 &&
            !tfd_shape_equal(&w[i].shape, &w[i].absent->shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s[%d].shape() == %s != context_dense_shapes%s[%d]"
                            " == %s",
                            alone ? "def_value" : "default_value", i,
                            tfd_shape_text(&w[i].absent->shape, have),
                            alone ? "_" : "", i,
                            tfd_shape_text(&w[i].shape, want));
    }
    return TFD_OK;
}

static enum tfd_code take_inputs(const struct tfd_kctx *k, struct parse *x,
                                 struct tfd_status *st)
{
    x->next = 2; /* serialized; names, or lists that may be missing */
    TFD_TRY(take_all_keys(k, x, st));
    if (x->p->version == SECOND)
        TFD_TRY(take_flags(k, x, st));
    if (x->p->version == ALONE)
        take_missing(k, x);
    return take_defaults(k, x, st);
}

static enum tfd_code take_batch(const struct tfd_kctx *k, enum version version,
                                struct tfd_sequence_batch *b,
                                struct tfd_status *st)
{
    const struct tfd_tensor *names =
        &k->in[version == ALONE ? k->in_count - 1 : 1];
    int64_t count = tfd_tensor_elements(&k->in[0]);
    int64_t named = tfd_tensor_elements(names);
    char text[TFD_SHAPE_TEXT_MAX];

    if (version != ALONE && k->in[0].shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected serialized to be a scalar or vector, got "
                        "shape: %s",
                        tfd_shape_text(&k->in[0].shape, text));
    if (named != 0 && named != count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "example_names must be empty or have the correct "
                        "number of elements");
    *b = (struct tfd_sequence_batch){
        .examples = {.serialized = tfd_tensor_data(&k->in[0]),
                     .names = named ? tfd_tensor_data(names) : NULL,
                     .count = count,
                     .is_single = k->in[0].shape.rank == 0},
        .is_alone = version == ALONE,
    };
    return TFD_OK;
}

/* ---- Outputs ------------------------------------------------------------- */

/* All indices of sparse ones, all values, all shapes, and so on. */
static struct tfd_tensor *give_part(const struct parse *x, int part,
                                    struct tfd_tensor *out)
{
    const int *count = x->p->count[part];
    struct tfd_sequence_value *v = x->values[part];

    for (int i = 0; i < count[0]; i++, v++) {
        out[i] = v->of.indices;
        out[count[0] + i] = v->of.values;
        out[2 * count[0] + i] = v->of.extent;
    }
    out += 3 * count[0];
    for (int i = 0; i < count[1]; i++, v++) {
        out[i] = v->of.values;
        if (part == LISTS && x->p->version != ALONE)
            out[count[1] + i] = v->of.extent;
        else
            tfd_tensor_unref(&v->of.extent);
    }
    out += part == LISTS && x->p->version != ALONE ? 2 * count[1] : count[1];
    for (int i = 0; i < count[2]; i++, v++) {
        out[i] = v->of.values;
        out[count[2] + i] = v->of.extent;
        if (part == LISTS)
            out[2 * count[2] + i] = v->inner;
    }
    return out + (part == LISTS ? 3 : 2) * count[2];
}

/* ---- The operation ------------------------------------------------------- */

static enum tfd_code parse_inputs(struct tfd_kctx *k, struct parse *x,
                                  struct tfd_status *st)
{
    struct tfd_sequence_batch batch;
    struct tfd_sequence_spec spec;

    TFD_TRY(take_batch(k, x->p->version, &batch, st));
    TFD_TRY(take_inputs(k, x, st));
    for (int part = 0; part < 2; part++) {
        spec.wants[part] = x->wants[part];
        spec.count[part] = total(x->p, part);
    }
    TFD_TRY(tfd_sequence_parse(&spec, &batch, x->values, st));
    (void)give_part(x, LISTS, give_part(x, CONTEXT, k->out));
    return TFD_OK;
}

static enum tfd_code sequence_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct parse x = {.p = k->state};
    enum tfd_code rc = TFD_OK;

    for (int part = 0; part < 2; part++) {
        size_t count = (size_t)total(x.p, part);

        x.wants[part] = malloc((count + 1) * sizeof(*x.wants[part]));
        x.values[part] = calloc(count + 1, sizeof(*x.values[part]));
        if (!x.wants[part] || !x.values[part])
            rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for features");
        else
            memcpy(x.wants[part], x.p->wants[part],
                   count * sizeof(*x.wants[part]));
    }
    if (rc == TFD_OK)
        rc = parse_inputs(k, &x, st);
    for (int part = 0; part < 2; part++) {
        free(x.wants[part]);
        free(x.values[part]);
    }
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define VALUES "list({float, int64, string}) >= 0 = []"
#define SPLITS "list({int32, int64}) >= 0 = []"
#define SHAPES "list(shape) >= 0 = []"
#define COUNT "int >= 0 = 0"
#define SPARSE_OUT(part)                                    \
    part "_sparse_indices: N" part "_sparse * int64, " part \
         "_sparse_values: " part "_sparse_types, " part     \
         "_sparse_shapes: N" part "_sparse * int64"
#define CONTEXT_OUT \
    SPARSE_OUT("context") ", context_dense_values: Tcontext_dense"
#define LISTS_OUT              \
    SPARSE_OUT("feature_list") \
    ", feature_list_dense_values: feature_list_dense_types"
#define LENGTHS_OUT ", feature_list_dense_lengths: Nfeature_list_dense * int64"
#define TYPES                                                               \
    "context_sparse_types: " VALUES "; Tcontext_dense: " VALUES             \
    "; feature_list_dense_types: " VALUES "; context_dense_shapes: " SHAPES \
    "; feature_list_sparse_types: " VALUES                                  \
    "; feature_list_dense_shapes: " SHAPES

static const struct tfd_opdef ops[] = {
    {
        .name = "ParseSequenceExample",
        .inputs = "serialized: string, debug_name: string, "
                  "context_dense_defaults: Tcontext_dense",
        .outputs = CONTEXT_OUT ", " LISTS_OUT LENGTHS_OUT,
        .attrs = "feature_list_dense_missing_assumed_empty: list(string) >= 0; "
                 "context_sparse_keys: list(string) >= 0; "
                 "context_dense_keys: list(string) >= 0; "
                 "feature_list_sparse_keys: list(string) >= 0; "
                 "feature_list_dense_keys: list(string) >= 0; "
                 "Ncontext_sparse: " COUNT "; Ncontext_dense: " COUNT
                 "; Nfeature_list_sparse: " COUNT
                 "; Nfeature_list_dense: " COUNT "; " TYPES,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ParseSequenceExampleV2",
        .inputs = "serialized: string, debug_name: string, "
                  "context_sparse_keys: string, context_dense_keys: string, "
                  "context_ragged_keys: string, "
                  "feature_list_sparse_keys: string, "
                  "feature_list_dense_keys: string, "
                  "feature_list_ragged_keys: string, "
                  "feature_list_dense_missing_assumed_empty: bool, "
                  "context_dense_defaults: Tcontext_dense",
        .outputs = CONTEXT_OUT
        ", context_ragged_values: context_ragged_value_types, "
        "context_ragged_row_splits: context_ragged_split_types, " LISTS_OUT
            LENGTHS_OUT
        ", feature_list_ragged_values: feature_list_ragged_value_types, "
        "feature_list_ragged_outer_splits: feature_list_ragged_split_types, "
        "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
        .attrs = "Ncontext_sparse: " COUNT "; Nfeature_list_sparse: " COUNT
                 "; Nfeature_list_dense: " COUNT
                 "; context_ragged_value_types: " VALUES
                 "; context_ragged_split_types: " SPLITS
                 "; feature_list_ragged_value_types: " VALUES
                 "; feature_list_ragged_split_types: " SPLITS "; " TYPES,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ParseSingleSequenceExample",
        .inputs = "serialized: string, "
                  "feature_list_dense_missing_assumed_empty: string, "
                  "context_sparse_keys: Ncontext_sparse * string, "
                  "context_dense_keys: Ncontext_dense * string, "
                  "feature_list_sparse_keys: Nfeature_list_sparse * string, "
                  "feature_list_dense_keys: Nfeature_list_dense * string, "
                  "context_dense_defaults: Tcontext_dense, debug_name: string",
        .outputs = CONTEXT_OUT ", " LISTS_OUT,
        .attrs = "Ncontext_sparse: " COUNT "; Ncontext_dense: " COUNT
                 "; Nfeature_list_sparse: " COUNT
                 "; Nfeature_list_dense: " COUNT "; " TYPES,
        .checks = "serialized: scalar 'Expected serialized to be a scalar, got "
                  "shape: %s'; debug_name: scalar 'Expected debug_name to be a "
                  "scalar, got shape: %s'",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define PARSER(name_)                                                  \
    TFD_KERNEL_ANY(name_, sequence_compute, .prepare = parser_prepare, \
                   .release = parser_free,                             \
                   .state_size = sizeof(struct parser),                \
                   .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    PARSER("ParseSequenceExample"),
    PARSER("ParseSequenceExampleV2"),
    PARSER("ParseSingleSequenceExample"),
};

const struct tfd_family tfd_family_parse_sequence = {
    .name = "parse_sequence",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
