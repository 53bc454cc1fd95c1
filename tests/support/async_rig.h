/*
 * async_rig.h - kernels that wait for each other, without an executor: for
 * tests of queues and accumulators.
 *
 *     q = arig_start("FIFOQueueV2", "component_types=[float]", NULL, NULL);
 *     out = arig_start("QueueDequeueV2", "component_types=[float]", q, NULL);
 *     arig_expect_waiting(out);
 *     arig_start("QueueEnqueueV2", "Tcomponents=[float]", q,
 *                ARIG_IN("float 7"));
 *     arig_expect(out, 0, "float 7");
 *
 * Each execution is a node, a kernel and a step of its own, kept until the rig
 * ends.  Inputs are texts ("float[2] 1 2") after the handle; a type list is in
 * brackets, shapes are [2,?];[] and <unknown>.
 *
 * tfd_kctx_finish() is defined here; what it is told lies in the execution.
 */
#ifndef TFD_TESTS_SUPPORT_ASYNC_RIG_H
#define TFD_TESTS_SUPPORT_ASYNC_RIG_H

#include "common/base/alloc.h"
#include "common/base/pbio.h"
#include "common/graph/graph.h"
#include "common/proto/graph.pb.h"
#include "daemon/worker/state/containers.h"
#include "daemon/worker/run/step.h"
#include "kernels/core/families.h"
#include "kernels/core/registry.h"
#include "kernels/state/variable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARIG_PORTS_MAX 8
#define ARIG_ATTRS_MAX 12
/* ", &tfd_family_x": more of them, of a test that says so before. */
#ifndef ARIG_FAMILIES
#define ARIG_FAMILIES
#endif
#define ARIG_CPU "/job:t/replica:0/task:0/device:CPU:0"

struct arig_run {
    struct tfd_kctx k; /* first */
    struct tfd_tensor in[ARIG_PORTS_MAX], out[ARIG_PORTS_MAX];
    struct tfd_variable *ref[ARIG_PORTS_MAX], *ref_out[ARIG_PORTS_MAX];
    struct tfd_node *node;
    void *state;
    struct tfd_step *step;
    struct tfd_status st;
    int finished; /* atomic: times */
    struct arig_run *next;
};

static struct arig {
    struct tfd_registry registry;
    struct tfd_graph *graph;
    struct tfd_rt rt;
    struct arig_run *runs;
    int names;
} arig;

/* ---- What kernels call --------------------------------------------------- */

void tfd_kctx_finish(struct tfd_kctx *k, const struct tfd_status *st)
{
    struct arig_run *r = (struct arig_run *)k;

    if (st)
        r->st = *st;
    __atomic_add_fetch(&r->finished, 1, __ATOMIC_RELEASE);
}

static inline bool arig_finished(struct arig_run *r)
{
    return __atomic_load_n(&r->finished, __ATOMIC_ACQUIRE) > 0;
}

/* ---- The rig ------------------------------------------------------------- */

static inline void arig_release_handle(void *handle)
{
    tfd_handle_unref(handle);
}

/* A node whose only use is its type. */
static const struct tfd_opdef arig_ops[] = {
    {.name = "TestSource", .outputs = "y: dtype", .attrs = "dtype: type"},
    {.name = "TestRefSource",
     .outputs = "y: Ref(dtype)",
     .attrs = "dtype: type"},
};

static const struct tfd_family arig_family = {
    .name = "test",
    .ops = arig_ops,
    .op_count = TFD_COUNT(arig_ops),
};

static inline int arig_setup(void **state)
{
    static const struct tfd_family *const families[] = {
        &tfd_family_accumulator, &tfd_family_queue,
        &tfd_family_queue_make,  &tfd_family_variable,
        &tfd_family_assign,      &arig_family ARIG_FAMILIES};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    memset(&arig, 0, sizeof(arig));
    tfd_tensor_handle_release(arig_release_handle);
    if (tfd_registry_init(&arig.registry, families, TFD_COUNT(families), &st))
        fail_msg("%s", st.text);
    arig.graph = tfd_graph_new(&arig.registry.ops, &st);
    arig.rt.device = ARIG_CPU;
    arig.rt.container = "t";
    arig.rt.containers = tfd_containers_new(&st);
    return 0;
}

static inline void arig_free_step(struct tfd_step *s)
{
    tfd_cond_deinit(&s->cancel_left);
    tfd_lock_deinit(&s->cancel_lock);
    free(s);
}

/* Drops values and handles, so that what only they hold goes. */
static inline void arig_drop(struct arig_run *r)
{
    for (int i = 0; i < ARIG_PORTS_MAX; i++) {
        tfd_tensor_unref(&r->in[i]);
        tfd_tensor_unref(&r->out[i]);
        if (r->ref_out[i])
            tfd_resource_unref(&r->ref_out[i]->resource);
        r->ref_out[i] = NULL;
    }
}

static inline void arig_release(struct arig_run *r)
{
    if (r->state && r->k.kernel->release)
        r->k.kernel->release(r->state);
    free(r->state);
    r->state = NULL;
}

static inline int arig_teardown(void **state)
{
    (void)state;
    for (struct arig_run *r = arig.runs; r; r = r->next) {
        if (r->finished != 1)
            fail_msg("%s finished %d times", r->node->op->name.data,
                     r->finished);
        arig_drop(r);
    }
    while (arig.runs) {
        struct arig_run *r = arig.runs;

        arig.runs = r->next;
        arig_release(r);
        arig_free_step(r->step);
        free(r);
    }
    tfd_containers_free(arig.rt.containers);
    tfd_graph_unref(arig.graph);
    tfd_registry_deinit(&arig.registry);
    tfd_alloc_trim();
    return 0;
}

/* ---- Texts --------------------------------------------------------------- */

static inline enum tfd_dtype arig_type(const char *text, size_t size)
{
    for (int i = 1; i < TFD_DTYPE_END; i++)
        if (tfd_dtype_valid(i) && strlen(tfd_dtype_name(i)) == size &&
            strncmp(tfd_dtype_name(i), text, size) == 0)
            return (enum tfd_dtype)i;
    fail_msg("no type in \"%s\"", text);
    return TFD_DTYPE_INVALID;
}

/* "[2,?]", "[]", "<unknown>" at *text, which moves behind it. */
static inline struct tfd_shape arig_shape(const char **text)
{
    struct tfd_shape s = {0, {0}};
    const char *at = *text;

    if (*at == '<') {
        *text = strchr(at, '>') + 1;
        return (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    }
    assert_true(*at == '[');
    for (at++; *at != ']'; at += *at == ',') {
        char *end = (char *)at + 1;

        s.dim[s.rank++] = *at == '?' ? -1 : strtoll(at, &end, 10);
        at = end;
    }
    *text = at + 1;
    return s;
}

static inline void arig_put(struct tfd_tensor *t, int64_t i, const char *word)
{
    double v = strtod(word, NULL);
    void *data = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_FLOAT:
        ((float *)data)[i] = (float)v;
        break;
    case TFD_DOUBLE:
        ((double *)data)[i] = v;
        break;
    case TFD_INT32:
        ((int32_t *)data)[i] = (int32_t)v;
        break;
    case TFD_INT64:
        ((int64_t *)data)[i] = (int64_t)v;
        break;
    case TFD_STRING:
        assert_int_equal(tfd_tstring_set((struct tfd_tstring *)data + i,
                                         tfd_str_of(word), NULL),
                         TFD_OK);
        break;
    default:
        fail_msg("no texts of type %s", tfd_dtype_name((int)t->dtype));
    }
}

/* "float[2] 1 2"; values are repeated from the first. */
static inline struct tfd_tensor arig_tensor(const char *text)
{
    size_t size = strcspn(text, "[ ");
    enum tfd_dtype dtype = arig_type(text, size);
    const char *at = text + size;
    struct tfd_shape shape = {0, {0}};
    struct tfd_tensor t;
    const char *words = at, *word = at;

    if (*at == '[') {
        shape = arig_shape(&words);
        word = words;
    }
    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, NULL), TFD_OK);
    for (int64_t i = 0; i < tfd_tensor_elements(&t); i++) {
        char text_of_one[64];
        size_t length;

        if (!*word)
            word = words;
        word += strspn(word, " ");
        length = strcspn(word, " ");
        snprintf(text_of_one, sizeof(text_of_one), "%.*s", (int)length, word);
        arig_put(&t, i, text_of_one);
        word += length;
    }
    return t;
}

/* ---- Attributes: "name=value name=value" --------------------------------- */

static inline void arig_attr_types(struct tfd_bytes *b, const char *text)
{
    int types[ARIG_PORTS_MAX], count = 0;

    for (text++; *text != ']'; text += *text == ',') {
        size_t size = strcspn(text, ",]");

        types[count++] = (int)arig_type(text, size);
        text += size;
    }
    tfd_attr_put_types(b, types, count);
}

static inline void arig_attr_shapes(struct tfd_bytes *b, const char *text)
{
    struct tfd_shape shapes[ARIG_PORTS_MAX];
    int count = 0;

    while (*text && *text != ' ') {
        shapes[count++] = arig_shape(&text);
        text += *text == ';';
    }
    tfd_attr_put_shapes(b, shapes, count);
}

/* A function without attributes. */
static inline void arig_attr_func(struct tfd_bytes *b, struct tfd_str name)
{
    struct tfd_bytes list;

    tfd_bytes_init(&list, 256);
    tfd_pb_put_str(&list, tensorflow_NameAttrList_name_tag, name);
    tfd_pb_put_str_always(b, tensorflow_AttrValue_func_tag,
                          tfd_bytes_view(&list));
    tfd_bytes_deinit(&list);
}

static inline void arig_attr(struct tfd_bytes *b, const struct tfd_op_attr *a,
                             const char *text)
{
    struct tfd_shape shape;

    tfd_bytes_init(b, 4096);
    if (a->list && a->kind == TFD_ATTR_TYPE)
        arig_attr_types(b, text);
    else if (a->list)
        arig_attr_shapes(b, text);
    else if (a->kind == TFD_ATTR_INT)
        tfd_attr_put_int(b, strtoll(text, NULL, 10));
    else if (a->kind == TFD_ATTR_BOOL)
        tfd_attr_put_bool(b, *text == 't');
    else if (a->kind == TFD_ATTR_TYPE)
        tfd_attr_put_type(b, (int)arig_type(text, strcspn(text, " ")));
    else if (a->kind == TFD_ATTR_FUNC)
        arig_attr_func(b, (struct tfd_str){text, strcspn(text, " ")});
    else if (a->kind == TFD_ATTR_SHAPE) {
        shape = arig_shape(&text);
        tfd_attr_put_shape(b, &shape);
    } else
        tfd_attr_put_str(b, (struct tfd_str){text, strcspn(text, " ")});
}

static inline int arig_attrs(const struct tfd_op *op, const char *text,
                             struct tfd_attr *attrs, struct tfd_bytes *values)
{
    int count = 0;

    while (*text) {
        size_t size = strcspn(text, "=");
        struct tfd_str name = {text, size};
        const struct tfd_op_attr *a = tfd_op_attr_find(op, name);

        if (!a || count == ARIG_ATTRS_MAX)
            fail_msg("attributes of %s: %s", op->name.data, text);
        arig_attr(&values[count], a, text + size + 1);
        attrs[count].name = name;
        attrs[count].value = tfd_bytes_view(&values[count]);
        count++;
        text += strcspn(text, " ");
        text += *text == ' ';
    }
    return count;
}

/* ---- Executions ---------------------------------------------------------- */

static inline struct tfd_edge arig_source(enum tfd_dtype dtype, bool by_ref)
{
    struct tfd_node_spec spec = {
        .op = tfd_str_of(by_ref ? "TestRefSource" : "TestSource"),
        .attr_count = 1};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes type;
    struct tfd_attr attr;
    struct tfd_node *node;
    char name[32];

    snprintf(name, sizeof(name), "in%d", arig.names++);
    tfd_bytes_init(&type, 64);
    tfd_attr_put_type(&type, (int)dtype);
    attr = (struct tfd_attr){TFD_STR("dtype"), tfd_bytes_view(&type)};
    spec.name = tfd_str_of(name);
    spec.attrs = &attr;
    if (tfd_graph_add(arig.graph, &spec, &node, &st) != TFD_OK)
        fail_msg("%s", st.text);
    tfd_bytes_deinit(&type);
    return (struct tfd_edge){node->id, 0};
}

static inline struct tfd_step *arig_step(void)
{
    struct tfd_step *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    tfd_lock_init(&s->cancel_lock, TFD_LOCK_CANCEL);
    tfd_cond_init(&s->cancel_left);
    return s;
}

static inline struct tfd_node *arig_node(struct arig_run *r, const char *op,
                                         const char *name, const char *attrs)
{
    const struct tfd_op *o = tfd_op_find(&arig.registry.ops, tfd_str_of(op));
    struct tfd_bytes values[ARIG_ATTRS_MAX];
    struct tfd_attr list[ARIG_ATTRS_MAX];
    struct tfd_edge in[ARIG_PORTS_MAX];
    struct tfd_node_spec spec = {.name = tfd_str_of(name),
                                 .op = tfd_str_of(op),
                                 .in = in,
                                 .in_count = r->k.in_count,
                                 .attrs = list};
    struct tfd_node *node = NULL;
    struct tfd_status st = TFD_STATUS_INIT;

    if (!o)
        fail_msg("no op named %s", op);
    for (int i = 0; i < r->k.in_count; i++)
        in[i] = arig_source(r->ref[i] ? TFD_STRING : r->in[i].dtype, r->ref[i]);
    spec.attr_count = arig_attrs(o, attrs, list, values);
    if (tfd_graph_add(arig.graph, &spec, &node, &st) != TFD_OK)
        fail_msg("%s", st.text);
    for (int i = 0; i < spec.attr_count; i++)
        tfd_bytes_deinit(&values[i]);
    return node;
}

static inline enum tfd_code arig_prepare(struct arig_run *r)
{
    const struct tfd_kernel *k =
        tfd_registry_kernel(&arig.registry, r->node, TFD_CPU);
    struct tfd_prepare p = {r->node, &arig.rt, NULL};

    if (!k)
        fail_msg("no kernel of %s", r->node->op->name.data);
    r->k = (struct tfd_kctx){.kernel = k,
                             .in = r->in,
                             .in_count = r->node->in_count,
                             .out = r->out,
                             .out_count = r->node->out_count,
                             .ref = r->ref,
                             .ref_out = r->ref_out,
                             .node = r->node,
                             .rt = &arig.rt,
                             .step = r->step};
    r->state = calloc(1, k->state_size + 1);
    r->k.state = r->state;
    return k->prepare ? k->prepare(&p, r->state, &r->st) : TFD_OK;
}

/* The execution, not begun. */
static inline struct arig_run *arig_make(const char *op, const char *node_name,
                                         const char *attrs,
                                         struct arig_run *handle,
                                         const char *const *in)
{
    struct arig_run *r = calloc(1, sizeof(*r));
    char name[64];

    assert_non_null(r);
    if (handle) {
        r->ref[0] = handle->ref_out[0];
        if (!r->ref[0])
            r->in[0] = tfd_tensor_ref(&handle->out[0]);
        r->k.in_count++;
    }
    for (; in && *in; in++)
        r->in[r->k.in_count++] = arig_tensor(*in);
    snprintf(name, sizeof(name), "node%d", arig.names++);
    r->node = arig_node(r, op, node_name ? node_name : name, attrs);
    r->step = arig_step();
    r->next = arig.runs;
    arig.runs = r;
    if (arig_prepare(r) != TFD_OK)
        r->finished = 1;
    return r;
}

static inline void arig_begin(struct arig_run *r)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (arig_finished(r))
        return;
    if (tfd_checks_run(r->node->op, &r->k, &st) != TFD_OK) {
        tfd_kctx_finish(&r->k, &st);
    } else if (r->k.kernel->start) {
        r->k.kernel->start(&r->k);
    } else {
        (void)!r->k.kernel->compute(&r->k, &st);
        tfd_kctx_finish(&r->k, &st);
    }
}

#define ARIG_IN(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline struct arig_run *arig_start(const char *op, const char *attrs,
                                          struct arig_run *handle,
                                          const char *const *in)
{
    struct arig_run *r = arig_make(op, NULL, attrs, handle, in);

    arig_begin(r);
    return r;
}

/* The step of the execution is cancelled. */
static inline void arig_cancel(struct arig_run *r)
{
    tfd_step_cancel_all(r->step);
}

/* ---- Expectations -------------------------------------------------------- */

static inline void arig_expect_waiting(struct arig_run *r)
{
    if (arig_finished(r))
        fail_msg("%s has finished: %s", r->node->op->name.data, r->st.text);
}

static inline void arig_expect_ok(struct arig_run *r)
{
    if (!arig_finished(r))
        fail_msg("%s waits", r->node->op->name.data);
    if (r->st.code != TFD_OK)
        fail_msg("%s: %s", r->node->op->name.data, r->st.text);
}

/* The code, and a part of the text. */
static inline void arig_expect_failed(struct arig_run *r, enum tfd_code code,
                                      const char *part)
{
    if (!arig_finished(r))
        fail_msg("%s waits", r->node->op->name.data);
    if (r->st.code != code || !strstr(r->st.text, part))
        fail_msg("%s: %s %s instead of %s %s", r->node->op->name.data,
                 tfd_code_name(r->st.code), r->st.text, tfd_code_name(code),
                 part);
}

static inline void arig_expect(struct arig_run *r, int output, const char *text)
{
    struct tfd_tensor want = arig_tensor(text);
    const struct tfd_tensor *have = &r->out[output];
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    arig_expect_ok(r);
    if (have->dtype != want.dtype ||
        !tfd_shape_equal(&have->shape, &want.shape))
        fail_msg("%s%s instead of %s%s", tfd_dtype_name((int)have->dtype),
                 tfd_shape_text(&have->shape, a),
                 tfd_dtype_name((int)want.dtype),
                 tfd_shape_text(&want.shape, b));
    for (int64_t i = 0; i < tfd_tensor_elements(&want); i++) {
        size_t size = tfd_dtype_size(want.dtype), at = (size_t)i * size;
        const char *x = (const char *)tfd_tensor_data(have) + at;
        const char *y = (const char *)tfd_tensor_data(&want) + at;
        bool same = want.dtype == TFD_STRING
                        ? tfd_str_eq(tfd_tstring_view((const void *)x),
                                     tfd_tstring_view((const void *)y))
                        : memcmp(x, y, size) == 0;

        if (!same)
            fail_msg("%s: element %lld is not that of \"%s\"",
                     r->node->op->name.data, (long long)i, text);
    }
    tfd_tensor_unref(&want);
}

#endif
