/*
 * maker.c - see maker.h.
 */
#include "kernels/data/maker.h"

#include "common/base/atomic.h"
#include "common/base/pbio.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Attributes ---------------------------------------------------------- */

static const char *types_name(const struct tfd_node *n)
{
    return tfd_op_attr_find(n->op, TFD_STR("Toutput_types")) ? "Toutput_types"
                                                             : "output_types";
}

static enum tfd_code read_components(const struct tfd_node *n,
                                     struct tfd_dataset_maker *m,
                                     struct tfd_status *st)
{
    const int max = TFD_QUEUE_COMPONENTS_MAX;
    int types, shapes;

    m->types = calloc((size_t)max, sizeof(*m->types));
    m->shapes = calloc((size_t)max, sizeof(*m->shapes));
    if (!m->types || !m->shapes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(n->name));
    if (!tfd_op_attr_find(n->op, TFD_STR("output_shapes"))) {
        m->types[0] = TFD_STRING; /* files: a string each */
        m->count = 1;
        return TFD_OK;
    }
    TFD_TRY(tfd_node_types(n, types_name(n), m->types, max, &types, st));
    TFD_TRY(tfd_node_shapes(n, "output_shapes", m->shapes, max, &shapes, st));
    if (types != shapes)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`output_shapes` must be the same length as "
                        "`output_types` (%d vs. %d)",
                        shapes, types);
    m->count = types;
    return TFD_OK;
}

enum tfd_code tfd_dataset_function(const struct tfd_prepare *p,
                                   const char *name,
                                   struct tfd_rt_function **out,
                                   struct tfd_status *st)
{
    struct tfd_arena arena;
    struct tfd_func f;
    enum tfd_code rc;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_node_func(p->node, name, &arena, &f, st);
    if (rc == TFD_OK)
        rc = tfd_rt_lasting_function(p, &f, out, st);
    tfd_arena_deinit(&arena);
    return rc;
}

/* A message Metadata: its field 1 is a name. */
static enum tfd_code read_metadata(const struct tfd_node *n,
                                   struct tfd_dataset_maker *m,
                                   struct tfd_status *st)
{
    struct tfd_str message = TFD_STR_EMPTY, name = TFD_STR_EMPTY;
    struct tfd_pb_reader r;
    struct tfd_pb_field f;

    if (tfd_op_attr_find(n->op, TFD_STR("metadata")))
        TFD_TRY(tfd_node_str(n, "metadata", &message, st));
    r = tfd_pb_reader_of(message);
    while (tfd_pb_next(&r, &f))
        if (f.tag == 1 && f.wire == TFD_PB_BYTES)
            name = f.bytes;
    m->name = calloc(1, name.size + 1);
    if (!m->name)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(n->name));
    if (name.size)
        memcpy(m->name, name.data, name.size);
    return TFD_OK;
}

enum tfd_code tfd_dataset_prepare(const struct tfd_prepare *p,
                                  struct tfd_dataset_maker *m,
                                  const char *function, struct tfd_status *st)
{
    TFD_TRY(read_components(p->node, m, st));
    TFD_TRY(read_metadata(p->node, m, st));
    TFD_TRY(tfd_data_recipe_new(p, &m->recipe, st));
    return function ? tfd_dataset_function(p, function, &m->function, st)
                    : TFD_OK;
}

void tfd_dataset_maker_release(void *state)
{
    struct tfd_dataset_maker *m = state;

    free(m->types);
    free(m->shapes);
    free(m->name);
    tfd_data_recipe_unref(m->recipe);
}

enum tfd_code tfd_dataset_prepare_plain(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st)
{
    return tfd_dataset_prepare(p, state, NULL, st);
}

enum tfd_code tfd_dataset_prepare_f(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return tfd_dataset_prepare(p, state, "f", st);
}

/* ---- Datasets ------------------------------------------------------------ */

static enum tfd_code set_depth(struct tfd_dataset *d, int below,
                               struct tfd_status *st)
{
    if (below >= TFD_VARIANT_DEPTH_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "datasets of datasets are more than %d deep",
                        TFD_VARIANT_DEPTH_MAX);
    if (below >= d->object.depth)
        d->object.depth = below + 1;
    return TFD_OK;
}

enum tfd_code tfd_dataset_deepen(struct tfd_dataset *d,
                                 const struct tfd_tensor *t,
                                 struct tfd_status *st)
{
    return set_depth(d, tfd_variant_depth(t), st);
}

/* The program's, else the op's with a number. */
static char *make_name(const struct tfd_dataset_maker *m,
                       const struct tfd_node *n)
{
    static uint64_t count; /* atomic */
    size_t size = strlen(m->name) + n->op->name.size + 32;
    char *name = malloc(size);

    if (name && *m->name)
        snprintf(name, size, "%s", m->name);
    else if (name)
        snprintf(name, size, "%s:%" PRIu64, n->op->name.data,
                 TFD_COUNTER_TAKE(&count, 1));
    return name;
}

static enum tfd_code copy_components(struct tfd_dataset *d,
                                     const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    size_t count = (size_t)m->count;

    d->types = malloc((count + 1) * sizeof(*d->types));
    d->shapes = malloc((count + 1) * sizeof(*d->shapes));
    d->name = make_name(m, k->node);
    if (!d->types || !d->shapes || !d->name)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    memcpy(d->types, m->types, count * sizeof(*d->types));
    memcpy(d->shapes, m->shapes, count * sizeof(*d->shapes));
    d->count = m->count;
    return TFD_OK;
}

static enum tfd_code check_same(const struct tfd_dataset *d,
                                const struct tfd_dataset *input,
                                struct tfd_status *st)
{
    bool same = d->count == input->count;

    for (int32_t i = 0; same && i < d->count; i++)
        same = d->types[i] == input->types[i];
    if (same)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "output_types are not the types of the input's elements");
}

static enum tfd_code take_inputs(struct tfd_dataset *d, struct tfd_kctx *k,
                                 int count, struct tfd_status *st)
{
    struct tfd_dataset *input;

    if (count > TFD_DATASET_INPUTS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a dataset of %d datasets; at most %d are possible",
                        count, TFD_DATASET_INPUTS_MAX);
    d->inputs = calloc((size_t)count + 1, sizeof(*d->inputs));
    if (!d->inputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    d->sequential = d->kind->at ? NULL : d;
    for (int i = 0; i < count; i++) {
        TFD_TRY(tfd_dataset_of(&k->in[i], &input, st));
        if (!d->sequential)
            d->sequential = input->sequential;
        TFD_TRY(set_depth(d, input->object.depth, st));
        if (d->kind->same_elements)
            TFD_TRY(check_same(d, input, st));
        d->inputs[d->input_count++] = tfd_dataset_ref(input);
    }
    if (count > 0)
        d->options = d->inputs[0]->options;
    return TFD_OK;
}

enum tfd_code tfd_dataset_add_seeds(struct tfd_dataset *d,
                                    struct tfd_resource *seeds,
                                    struct tfd_status *st)
{
    size_t count = (size_t)d->seed_count;
    struct tfd_resource **more;

    for (int i = 0; i < d->seed_count; i++)
        if (d->seeds[i] == seeds)
            return TFD_OK;
    more = realloc(d->seeds, (count + 1) * sizeof(struct tfd_resource *));
    if (!more)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    d->seeds = more;
    d->seeds[d->seed_count++] = tfd_resource_ref(seeds);
    return TFD_OK;
}

/* Of a dataset that it was given. */
static enum tfd_code inherit_seeds(struct tfd_dataset *d,
                                   const struct tfd_tensor *t,
                                   struct tfd_status *st)
{
    struct tfd_dataset *from;

    if (t->dtype != TFD_VARIANT || tfd_dataset_of(t, &from, NULL) != TFD_OK)
        return TFD_OK;
    for (int i = 0; i < from->seed_count; i++)
        TFD_TRY(tfd_dataset_add_seeds(d, from->seeds[i], st));
    return TFD_OK;
}

/* What the op was given, for those who make the dataset again. */
static enum tfd_code keep_args(struct tfd_dataset *d, const struct tfd_kctx *k,
                               struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;

    d->args = calloc((size_t)k->in_count + 1, sizeof(*d->args));
    if (!d->args)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    for (; d->arg_count < k->in_count; d->arg_count++) {
        TFD_TRY(tfd_dataset_deepen(d, &k->in[d->arg_count], st));
        TFD_TRY(inherit_seeds(d, &k->in[d->arg_count], st));
        d->args[d->arg_count] = tfd_tensor_ref(&k->in[d->arg_count]);
    }
    d->recipe = m->recipe ? tfd_data_recipe_ref(m->recipe) : NULL;
    return TFD_OK;
}

static struct tfd_dataset *new_dataset(const struct tfd_dataset_kind *kind,
                                       size_t size,
                                       const struct tfd_data_task *task,
                                       struct tfd_status *st)
{
    struct tfd_dataset *d = calloc(1, size);

    if (!d) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
        return NULL;
    }
    d->object.refs = d->object.depth = 1;
    d->object.type = &tfd_dataset_type;
    d->kind = kind;
    d->sequential = d;
    d->options = TFD_STR_EMPTY;
    d->task = *task;
    return d;
}

enum tfd_code tfd_dataset_make(struct tfd_kctx *k,
                               const struct tfd_dataset_kind *kind, size_t size,
                               int input_count, struct tfd_dataset **out,
                               struct tfd_status *st)
{
    const struct tfd_data_task task = tfd_data_task_of(k->rt);
    struct tfd_dataset *d = new_dataset(kind, size, &task, st);
    enum tfd_code rc;

    if (!d)
        return TFD_RESOURCE_EXHAUSTED;
    rc = copy_components(d, k, st);
    if (rc == TFD_OK)
        rc = take_inputs(d, k, input_count, st);
    if (rc == TFD_OK)
        rc = keep_args(d, k, st);
    if (rc == TFD_OK)
        *out = d;
    else
        tfd_dataset_unref(d);
    return rc;
}

enum tfd_code tfd_dataset_make_part(const struct tfd_dataset *of,
                                    const struct tfd_dataset_kind *kind,
                                    size_t size, enum tfd_dtype type,
                                    const struct tfd_shape *shape,
                                    struct tfd_dataset **out,
                                    struct tfd_status *st)
{
    struct tfd_dataset *d = new_dataset(kind, size, &of->task, st);

    if (!d)
        return TFD_RESOURCE_EXHAUSTED;
    d->types = malloc(sizeof(*d->types));
    d->shapes = malloc(sizeof(*d->shapes));
    if (!d->types || !d->shapes) {
        tfd_dataset_unref(d);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    }
    d->types[0] = type;
    d->shapes[0] = *shape;
    d->count = 1;
    *out = d;
    return TFD_OK;
}

enum tfd_code tfd_dataset_make_like(const struct tfd_dataset *like,
                                    const struct tfd_dataset_kind *kind,
                                    size_t size, struct tfd_dataset **out,
                                    struct tfd_status *st)
{
    struct tfd_dataset *d = new_dataset(kind, size, &like->task, st);
    size_t count = (size_t)like->count;

    if (!d)
        return TFD_RESOURCE_EXHAUSTED;
    d->types = malloc((count + 1) * sizeof(*d->types));
    d->shapes = malloc((count + 1) * sizeof(*d->shapes));
    if (!d->types || !d->shapes) {
        tfd_dataset_unref(d);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    }
    memcpy(d->types, like->types, count * sizeof(*d->types));
    memcpy(d->shapes, like->shapes, count * sizeof(*d->shapes));
    d->count = like->count;
    *out = d;
    return TFD_OK;
}

enum tfd_code tfd_dataset_output(struct tfd_kctx *k,
                                 struct tfd_dataset *take_dataset,
                                 struct tfd_status *st)
{
    return tfd_variant_object_tensor(&take_dataset->object, &k->out[0], st);
}

/* ---- Arguments ----------------------------------------------------------- */

enum tfd_code tfd_dataset_int(const struct tfd_kctx *k, int in,
                              const char *name, int64_t *out,
                              struct tfd_status *st)
{
    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar", name);
    *out = *(const int64_t *)tfd_tensor_data(&k->in[in]);
    return TFD_OK;
}

enum tfd_code tfd_dataset_bool(const struct tfd_kctx *k, int in,
                               const char *name, bool *out,
                               struct tfd_status *st)
{
    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar", name);
    *out = *(const tfd_bool *)tfd_tensor_data(&k->in[in]) != 0;
    return TFD_OK;
}

/* ---- Functions ----------------------------------------------------------- */

enum tfd_code tfd_captured_init(struct tfd_captured *c, struct tfd_kctx *k,
                                struct tfd_rt_function *f, int32_t first,
                                int32_t count, int32_t elements,
                                struct tfd_dataset *d, struct tfd_status *st)
{
    int32_t passed = tfd_rt_function_in_count(f) - elements;

    if (passed < 0 || passed > count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "{{node " TFD_STR_FMT "}} calls " TFD_STR_FMT
                        ", which has %d arguments, with %d of an element and "
                        "%d captured ones",
                        TFD_STR_ARG(k->node->name),
                        TFD_STR_ARG(tfd_rt_function_name(f)),
                        tfd_rt_function_in_count(f), elements, count);
    c->values = calloc((size_t)count + 1, sizeof(*c->values));
    if (!c->values)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    c->function = f;
    tfd_rt_function_hold(f);
    c->in_count = elements;
    c->passed = passed;
    c->out_count = tfd_rt_function_out_count(f);
    for (; c->count < count; c->count++) {
        TFD_TRY(tfd_dataset_deepen(d, &k->in[first + c->count], st));
        c->values[c->count] = tfd_tensor_ref(&k->in[first + c->count]);
    }
    return TFD_OK;
}

enum tfd_code tfd_captured_returns(const struct tfd_captured *c, int32_t count,
                                   struct tfd_status *st)
{
    if (c->out_count == count)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT, TFD_STR_FMT " returns %d tensors, and not %d",
        TFD_STR_ARG(tfd_rt_function_name(c->function)), c->out_count, count);
}

void tfd_captured_deinit(struct tfd_captured *c)
{
    tfd_data_element_drop(c->values, c->count);
    free(c->values);
    if (c->function)
        tfd_rt_function_let_go(c->function);
}

struct tfd_tensor *tfd_captured_args(const struct tfd_captured *c,
                                     struct tfd_tensor *element,
                                     struct tfd_status *st)
{
    struct tfd_tensor *args = tfd_data_element_new(c->in_count + c->passed, st);

    if (!args) {
        tfd_data_element_drop(element, c->in_count);
        return NULL;
    }
    tfd_data_element_move(args, element, c->in_count);
    for (int32_t i = 0; i < c->passed; i++)
        args[c->in_count + i] = tfd_tensor_ref(&c->values[i]);
    return args;
}

enum tfd_code tfd_captured_call(const struct tfd_captured *c,
                                struct tfd_data_scope *s,
                                struct tfd_tensor *element,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor *args = tfd_captured_args(c, element, st);
    enum tfd_code rc;

    if (!args)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_data_scope_call(s, c->function, args, out, st);
    free(args);
    return rc;
}
