/*
 * test_registry.c - kernels/registry.c, checks.c, check.c, shape_fn.c, and the
 * family const as the registry gives it out.
 */
#include "common/graphdef.h"
#include "kernels/check.h"
#include "kernels/families.h"
#include "kernels/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- A family to be chosen from ------------------------------------------ */

static enum tfd_code compute(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    (void)st;
    return TFD_OK;
}

static enum tfd_code odd_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){1, {-7}};
    return TFD_OK;
}

static const struct tfd_opdef test_ops[] = {
    {.name = "Source", .outputs = "o: T", .attrs = "T: type"},
    {.name = "Pick",
     .inputs = "x: T, axis: Tidx",
     .outputs = "y: T",
     .attrs = "T: {float, half, string, int32}; Tidx: {int32, int64}",
     .checks = "x: rank>=1 rank<=2; axis: scalar"},
    {.name = "Keyed",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type; Key: type = DT_INT64",
     .checks = "x: nonempty",
     .key = "Key",
     .shape = odd_shape},
    {.name = "Lists",
     .inputs = "n: int32, a: N * T, b: N * T, last: T",
     .outputs = "y: T",
     .attrs = "N: int; T: type",
     .checks = "n: one; a: rank=3; b: like a; last: vector; n: rank<=1",
     .shape = tfd_shape_broadcast2},
};

static const struct tfd_kernel test_kernels[] = {
    TFD_KERNEL("Pick", FLOAT, compute),
    TFD_KERNEL("Pick", HALF, compute),
    TFD_KERNEL_ANY("Pick", compute),
    TFD_KERNEL("Keyed", INT64, compute),
    TFD_KERNEL_ANY("Lists", compute),
    {.op = "Pick", .dtype = TFD_FLOAT, .device = TFD_GPU, .compute = compute},
};

static const struct tfd_family test_family = {
    .name = "test",
    .ops = test_ops,
    .op_count = TFD_COUNT(test_ops),
    .kernels = test_kernels,
    .kernel_count = TFD_COUNT(test_kernels),
};

static const struct tfd_family *const families[] = {&test_family,
                                                    &tfd_family_const};

static struct tfd_registry r;
static struct tfd_graph *g;

static int setup(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    if (tfd_registry_init(&r, families, 2, &st))
        fail_msg("%s", st.text);
    g = tfd_graph_new(&r.ops, NULL);
    assert_non_null(g);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tfd_graph_unref(g);
    tfd_registry_deinit(&r);
    return 0;
}

/* ---- Helpers ------------------------------------------------------------- */

static struct tfd_node *add(const char *name, const char *op,
                            const struct tfd_edge *in, int in_count,
                            const struct tfd_attr *attrs, int attr_count)
{
    struct tfd_node_spec spec = {.name = tfd_str_of(name),
                                 .op = tfd_str_of(op),
                                 .device = TFD_STR_EMPTY,
                                 .in = in,
                                 .in_count = in_count,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_node *n = NULL;

    if (tfd_graph_add(g, &spec, &n, &st))
        fail_msg("%s", st.text);
    return n;
}

static struct tfd_edge source(const char *name, int type)
{
    struct tfd_bytes b;
    struct tfd_attr a = {.name = TFD_STR("T")};
    struct tfd_node *n;

    tfd_bytes_init(&b, 100);
    tfd_attr_put_type(&b, type);
    a.value = tfd_bytes_view(&b);
    n = add(name, "Source", NULL, 0, &a, 1);
    tfd_bytes_deinit(&b);
    return (struct tfd_edge){n->id, 0};
}

static struct tfd_tensor tensor(enum tfd_dtype dtype, int rank, int64_t d0,
                                int64_t d1)
{
    struct tfd_shape shape = {rank, {d0, d1, 1}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, NULL), TFD_OK);
    if (tfd_tensor_data(&t))
        memset(tfd_tensor_data(&t), 0, tfd_tensor_size(&t));
    return t;
}

static void expect(enum tfd_code rc, enum tfd_code code, struct tfd_status *st,
                   const char *text)
{
    if (rc != code || strncmp(st->text, text, strlen(text)))
        fail_msg("%s \"%s\", expected \"%s\"", tfd_code_name(rc), st->text,
                 text);
    tfd_status_clear(st);
}

/* ---- Choosing ------------------------------------------------------------ */

static void test_kernels_are_chosen_by_type_and_device(void **state)
{
    struct tfd_edge axis = source("axis", TFD_INT32);
    static const struct {
        int type;
        const struct tfd_kernel *cpu, *gpu;
    } cases[] = {
        {TFD_FLOAT, &test_kernels[0], &test_kernels[5]},
        {TFD_HALF, &test_kernels[1], NULL},
        {TFD_STRING, &test_kernels[2], NULL},
    };
    struct tfd_node *n;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char x[] = "x0", y[] = "y0";
        struct tfd_edge in[2];

        x[1] = y[1] = (char)('0' + i);
        in[0] = source(x, cases[i].type);
        in[1] = axis;
        n = add(y, "Pick", in, 2, NULL, 0);
        assert_ptr_equal(tfd_registry_kernel(&r, n, TFD_CPU), cases[i].cpu);
        assert_ptr_equal(tfd_registry_kernel(&r, n, TFD_GPU), cases[i].gpu);
    }
    n = add("keyed", "Keyed", &axis, 1, NULL, 0); /* by its default */
    assert_ptr_equal(tfd_registry_kernel(&r, n, TFD_CPU), &test_kernels[3]);
    assert_null(tfd_registry_kernel(&r, g->nodes[axis.node], TFD_CPU));
}

static void test_wrong_families_are_refused(void **state)
{
    static const struct tfd_opdef twice[] = {{.name = "A"}, {.name = "A"}};
    static const struct tfd_opdef one[] = {
        {.name = "A", .outputs = "o: T", .attrs = "T: {float}"}};
    static const struct tfd_kernel unknown[] = {TFD_KERNEL_ANY("B", compute)};
    static const struct tfd_kernel again[] = {TFD_KERNEL("A", FLOAT, compute),
                                              TFD_KERNEL("A", FLOAT, compute)};
    static const struct tfd_kernel other[] = {TFD_KERNEL("A", HALF, compute)};
    static const struct tfd_kernel neither[] = {{.op = "A"}};
    static const struct tfd_kernel nothing[] = {{.compute = compute}};
    static const struct {
        struct tfd_family f;
        const char *text;
    } cases[] = {
        {{"f", twice, 2, NULL, 0, NULL, 0}, "family f: op A is defined twice"},
        {{"f", one, 1, unknown, 1, NULL, 0},
         "family f: a kernel for the op B, which nobody defines"},
        {{"f", one, 1, again, 2, NULL, 0},
         "op A has two kernels for type float"},
        {{"f", one, 1, other, 1, NULL, 0},
         "family f: the op A does not come in type half"},
        {{"f", one, 1, neither, 1, NULL, 0},
         "family f: a kernel for the op A needs compute or start"},
        {{"f", one, 1, nothing, 1, NULL, 0},
         "family f: a kernel for the op (none), which nobody defines"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct tfd_family *f = &cases[i].f;
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_registry bad;

        expect(tfd_registry_init(&bad, &f, 1, &st), TFD_INTERNAL, &st,
               cases[i].text);
    }
}

/* ---- Checks of definitions ----------------------------------------------- */

static void test_checks_name_what_does_not_fit(void **state)
{
    static const struct {
        int64_t x[3], axis[3]; /* rank, dimensions */
        const char *text;      /* NULL: fits */
    } cases[] = {
        {{1, 3, 0}, {0, 0, 0}, NULL},
        {{2, 3, 4}, {0, 0, 0}, NULL},
        {{1, 0, 0}, {0, 0, 0}, NULL},
        {{0, 0, 0},
         {0, 0, 0},
         "x must have at least 1 dimensions, but its shape is []"},
        {{3, 2, 2},
         {0, 0, 0},
         "x must have at most 2 dimensions, but its shape is [2,2,1]"},
        {{1, 3, 0}, {1, 1, 0}, "axis must be a scalar, but its shape is [1]"},
    };
    const struct tfd_op *op = tfd_op_find(&r.ops, TFD_STR("Pick"));

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_tensor in[] = {
            tensor(TFD_FLOAT, (int)cases[i].x[0], cases[i].x[1], cases[i].x[2]),
            tensor(TFD_INT32, (int)cases[i].axis[0], cases[i].axis[1], 0)};
        struct tfd_kctx k = {.in = in, .in_count = 2};
        struct tfd_status st = TFD_STATUS_INIT;

        if (cases[i].text)
            expect(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
                   cases[i].text);
        else
            assert_int_equal(tfd_checks_run(op, &k, NULL), TFD_OK);
        tfd_tensor_unref(&in[0]);
        tfd_tensor_unref(&in[1]);
    }
}

static void test_checks_reach_every_tensor_of_a_list(void **state)
{
    const struct tfd_op *op = tfd_op_find(&r.ops, TFD_STR("Lists"));
    struct tfd_tensor in[6], wrong = tensor(TFD_FLOAT, 3, 5, 5);
    struct tfd_kctx k = {.in = in, .in_count = 6};
    struct tfd_variable *const ref[6] = {
        NULL, NULL, NULL, NULL, (struct tfd_variable *)in, NULL};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    in[0] = tensor(TFD_INT32, 1, 1, 0);
    for (int i = 1; i < 5; i++)
        in[i] = tensor(TFD_FLOAT, 3, 2, i % 2);
    in[5] = tensor(TFD_FLOAT, 1, 4, 0);
    assert_int_equal(tfd_checks_run(op, &k, NULL), TFD_OK);
    tfd_tensor_unref(&in[4]);
    in[4] = wrong;
    expect(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
           "b and a must have the same shape, but have [5,5,1] and [2,0,1]");
    k.ref = ref; /* a reference is left to the kernel */
    assert_int_equal(tfd_checks_run(op, &k, NULL), TFD_OK);
    in[5].shape.rank = 2;
    expect(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
           "last must be a vector, but its shape is [4,0]");
    in[2].shape.rank = 2;
    expect(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
           "a must have exactly 3 dimensions, but its shape is [2,0]");
    in[0].shape.dim[0] = 2;
    expect(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
           "n must have one element, but its shape is [2]");
    in[0].shape.dim[0] = 1;
    in[2].shape.rank = 3;
    in[5].shape.rank = 1;
    for (int i = 0; i < 6; i++)
        tfd_tensor_unref(&in[i]);
}

static void test_empty_is_refused_where_it_must_not_be(void **state)
{
    const struct tfd_op *op = tfd_op_find(&r.ops, TFD_STR("Keyed"));
    struct tfd_tensor in = tensor(TFD_FLOAT, 2, 3, 0);
    struct tfd_kctx k = {.in = &in, .in_count = 1};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    expect(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
           "x must not be empty, but its shape is [3,0]");
}

/* ---- Named checkers ------------------------------------------------------ */

static void test_scalars_are_read_with_care(void **state)
{
    struct tfd_tensor in[] = {
        tensor(TFD_INT32, 0, 0, 0), tensor(TFD_INT64, 1, 1, 0),
        tensor(TFD_INT32, 1, 2, 0), tensor(TFD_FLOAT, 0, 0, 0),
        tensor(TFD_BOOL, 0, 0, 0),  tensor(TFD_STRING, 1, 0, 0)};
    struct tfd_kctx k = {.in = in, .in_count = 6};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_str text;
    int64_t v;
    bool b;

    (void)state;
    *(int32_t *)tfd_tensor_data(&in[0]) = INT32_MIN;
    *(int64_t *)tfd_tensor_data(&in[1]) = INT64_MAX;
    *(uint8_t *)tfd_tensor_data(&in[4]) = 2;
    assert_int_equal(tfd_check_int(&k, 0, &v, NULL), TFD_OK);
    assert_true(v == INT32_MIN);
    assert_int_equal(tfd_check_int(&k, 1, &v, NULL), TFD_OK);
    assert_true(v == INT64_MAX);
    expect(tfd_check_int(&k, 2, &v, &st), TFD_INVALID_ARGUMENT, &st,
           "input 2 must be a scalar, but its shape is [2]");
    expect(tfd_check_int(&k, 3, &v, &st), TFD_INVALID_ARGUMENT, &st,
           "input 3 must be int32 or int64, but is float");
    assert_int_equal(tfd_check_bool(&k, 4, &b, NULL), TFD_OK);
    assert_true(b);
    expect(tfd_check_bool(&k, 0, &b, &st), TFD_INVALID_ARGUMENT, &st,
           "input 0 must be bool, but is int32");
    expect(tfd_check_str(&k, 5, &text, &st), TFD_INVALID_ARGUMENT, &st,
           "input 5 must be a scalar, but its shape is [0]");
    for (int i = 0; i < 6; i++)
        tfd_tensor_unref(&in[i]);
}

static void test_axes(void **state)
{
    static const struct {
        int64_t axis;
        int rank, expected; /* -1: refused */
    } cases[] = {
        {0, 1, 0},  {-1, 1, 0},         {2, 3, 2},          {-3, 3, 0},
        {1, 1, -1}, {-2, 1, -1},        {0, 0, -1},         {-1, 0, -1},
        {3, 3, -1}, {INT64_MIN, 3, -1}, {INT64_MAX, 3, -1},
    };
    struct tfd_status st = TFD_STATUS_INIT;
    int axis;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum tfd_code rc =
            tfd_check_axis(cases[i].axis, cases[i].rank, &axis, NULL);

        assert_int_equal(rc,
                         cases[i].expected < 0 ? TFD_INVALID_ARGUMENT : TFD_OK);
        if (rc == TFD_OK)
            assert_int_equal(axis, cases[i].expected);
    }
    expect(tfd_check_axis(5, 2, &axis, &st), TFD_INVALID_ARGUMENT, &st,
           "Expected axis in the range [-2, 2), but got 5");
}

static void test_shapes_in_tensors(void **state)
{
    static const struct {
        int rank;
        int64_t count, dim[10];
        bool partial;
        const char *text; /* NULL: taken */
        int expected_rank;
    } cases[] = {
        {1, 2, {3, 4}, false, NULL, 2},
        {1, 0, {0}, false, NULL, 0},
        {1, 2, {-1, 4}, true, NULL, 2},
        {0, 1, {-1}, true, NULL, TFD_RANK_UNKNOWN},
        {1, 2, {-1, 4}, false, "Dimension -1 must be >= 0", 0},
        {1, 2, {-2, 4}, true, "Dimension -2 must be >= -1", 0},
        {0, 1, {-1}, false, "shape must be a vector of {int32,int64}, got", 0},
        {0, 1, {3}, true, "shape must be a vector of {int32,int64}, got", 0},
        {1,
         9,
         {1, 1, 1, 1, 1, 1, 1, 1, 1},
         false,
         "A shape has 9 dimensions",
         0},
        {1, 2, {INT64_MAX, 2}, false, "Shape [9223372036854775807,2] would", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_tensor t =
            tensor(TFD_INT64, cases[i].rank, cases[i].count, 0);
        struct tfd_kctx k = {.in = &t, .in_count = 1};
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_shape s;
        enum tfd_code rc;

        if (cases[i].count)
            memcpy(tfd_tensor_data(&t), cases[i].dim,
                   sizeof(int64_t) * (size_t)cases[i].count);
        rc = tfd_check_shape(&k, 0, cases[i].partial, &s, &st);
        if (cases[i].text) {
            expect(rc, TFD_INVALID_ARGUMENT, &st, cases[i].text);
        } else {
            assert_int_equal(rc, TFD_OK);
            assert_int_equal(s.rank, cases[i].expected_rank);
        }
        tfd_tensor_unref(&t);
    }
}

/* ---- Shape functions ----------------------------------------------------- */

static void test_broadcast_shapes(void **state)
{
    static const struct {
        struct tfd_shape a, b, out;
        bool fails;
    } cases[] = {
        {{2, {2, 3}}, {2, {2, 3}}, {2, {2, 3}}, false},
        {{2, {2, 3}}, {1, {3}}, {2, {2, 3}}, false},
        {{0}, {2, {2, 3}}, {2, {2, 3}}, false},
        {{2, {2, 1}}, {2, {1, 3}}, {2, {2, 3}}, false},
        {{1, {0}}, {1, {1}}, {1, {0}}, false},
        {{1, {-1}}, {1, {3}}, {1, {3}}, false},
        {{1, {-1}}, {1, {1}}, {1, {-1}}, false},
        {{1, {-1}}, {1, {0}}, {1, {-1}}, false},
        {{1, {-1}}, {1, {-1}}, {1, {-1}}, false},
        {TFD_SHAPE_UNKNOWN, {1, {3}}, TFD_SHAPE_UNKNOWN, false},
        {{1, {2}}, {1, {3}}, {0}, true},
        {{1, {0}}, {1, {3}}, {0}, true},
        {{2, {2, 3}}, {2, {3, 3}}, {0}, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int swap = 0; swap < 2; swap++) {
            struct tfd_shape in[] = {swap ? cases[i].b : cases[i].a,
                                     swap ? cases[i].a : cases[i].b};
            struct tfd_shape out = TFD_SHAPE_UNKNOWN;
            struct tfd_shape_ctx s = {
                .in = in, .in_count = 2, .out = &out, .out_count = 1};

            assert_int_equal(tfd_shape_broadcast2(&s, NULL),
                             cases[i].fails ? TFD_INVALID_ARGUMENT : TFD_OK);
            if (!cases[i].fails)
                assert_true(tfd_shape_equal(&out, &cases[i].out));
        }
}

static void test_inference_checks_what_shape_functions_say(void **state)
{
    struct tfd_edge x = source("x", TFD_FLOAT), n = source("n", TFD_INT32);
    struct tfd_edge lists[] = {n, x, x, x};
    struct tfd_shape in[] = {{1, {2}}, {1, {3}}, {0}, {0}}, out;
    struct tfd_shape_ctx s = {
        .in = in, .in_count = 1, .out = &out, .out_count = 1};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    s.node = add("keyed", "Keyed", &x, 1, NULL, 0);
    expect(tfd_registry_infer(&s, &st), TFD_INVALID_ARGUMENT, &st,
           "Dimension -7 must be >= -1 for '{{node keyed}} = Keyed' with input "
           "shapes: [2].");
    s.node = add("l", "Lists", lists, 4, NULL, 0);
    s.in_count = 4;
    expect(tfd_registry_infer(&s, &st), TFD_INVALID_ARGUMENT, &st,
           "Dimensions must be equal, but are 2 and 3 for '{{node l}} = Lists' "
           "with input shapes: [2], [3], [], [].");
    s.node = g->nodes[x.node]; /* no shape function */
    out = (struct tfd_shape){1, {4}};
    assert_int_equal(tfd_registry_infer(&s, NULL), TFD_OK);
    assert_int_equal(out.rank, TFD_RANK_UNKNOWN);
}

/* ---- Const and its family ------------------------------------------------ */

/* Runs one node as the executor does. */
static enum tfd_code run(struct tfd_node *n, struct tfd_tensor *in,
                         struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_kernel *kernel = tfd_registry_kernel(&r, n, TFD_CPU);
    struct tfd_prepare p = {.node = n};
    struct tfd_kctx k = {.kernel = kernel,
                         .in = in,
                         .in_count = n->in_count,
                         .out = out,
                         .out_count = n->out_count,
                         .node = n};
    enum tfd_code rc;

    assert_non_null(kernel);
    k.state = calloc(1, kernel->state_size + 1);
    rc = kernel->prepare ? kernel->prepare(&p, k.state, st) : TFD_OK;
    if (rc == TFD_OK) {
        rc = kernel->compute(&k, st);
        if (kernel->release)
            kernel->release(k.state);
    }
    free(k.state);
    return rc;
}

static struct tfd_node *imported(const char *op, const struct tfd_attr *attrs,
                                 int count)
{
    return add(op, op, NULL, 0, attrs, count);
}

#define ATTR(name_, bytes)           \
    {                                \
        {name_, sizeof(name_) - 1},  \
        {                            \
            bytes, sizeof(bytes) - 1 \
        }                            \
    } /* of "literals" */

static void test_const_shares_its_buffer(void **state)
{
    static const struct tfd_attr attrs[] = {
        ATTR("dtype", "\x30\x01"),
        ATTR("value", "\x42\x0e\x08\x01\x12\x04\x12\x02\x08\x02\x2a\x04\0\0"
                      "\x80\x3f"),
    };
    struct tfd_tensor out = TFD_TENSOR_INIT, passed[2];
    struct tfd_shape shape = TFD_SHAPE_UNKNOWN;
    struct tfd_shape_ctx s = {.out = &shape, .out_count = 1};
    struct tfd_node *n = imported("Const", attrs, 2);
    struct tfd_edge e[] = {{n->id, 0}, {n->id, 0}};

    (void)state;
    assert_int_equal(run(n, NULL, &out, NULL), TFD_OK);
    assert_int_equal(out.shape.dim[0], 2);
    assert_true(((float *)tfd_tensor_data(&out))[1] == 1);
    s.node = n;
    assert_int_equal(tfd_registry_infer(&s, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&shape, &out.shape));

    n = add("both", "IdentityN", e, 2, NULL, 0);
    assert_int_equal(run(n, (struct tfd_tensor[]){out, out}, passed, NULL),
                     TFD_OK);
    assert_ptr_equal(passed[1].buffer, out.buffer);
    assert_false(tfd_buffer_sole(out.buffer));
    tfd_tensor_unref(&passed[0]);
    tfd_tensor_unref(&passed[1]);
    assert_true(tfd_buffer_sole(out.buffer));
    tfd_tensor_unref(&out);
}

static void test_bad_constants_fail_when_prepared(void **state)
{
    static const struct tfd_attr other[] = {
        ATTR("dtype", "\x30\x01"), ATTR("value", "\x42\x04\x08\x03\x12\x00")};
    static const struct tfd_attr cut[] = {
        ATTR("dtype", "\x30\x01"),
        ATTR("value", "\x42\x07\x08\x01\x12\x00\x22\x01x")};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor out;

    (void)state;
    expect(run(imported("Const", other, 2), NULL, &out, &st),
           TFD_INVALID_ARGUMENT, &st,
           "Type mismatch between value (int32) and dtype (float)");
    expect(run(add("c", "Const", NULL, 0, cut, 2), NULL, &out, &st),
           TFD_INVALID_ARGUMENT, &st, "tensor_content has 1 bytes");
}

static void test_placeholders_must_be_fed(void **state)
{
    static const struct tfd_attr attrs[] = {
        ATTR("dtype", "\x30\x01"),
        ATTR("shape", "\x3a\x1a\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff"
                      "\xff\x01\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff"
                      "\xff\x01")};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor out;

    (void)state;
    expect(run(add("y", "Placeholder", NULL, 0, attrs, 2), NULL, &out, &st),
           TFD_INVALID_ARGUMENT, &st,
           "You must feed a value for placeholder tensor 'y' with dtype float "
           "and shape [?,?]");
    expect(run(add("z", "Placeholder", NULL, 0, attrs, 1), NULL, &out, &st),
           TFD_INVALID_ARGUMENT, &st,
           "You must feed a value for placeholder tensor 'z' with dtype float");
    assert_null(strstr(st.text, "shape"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_kernels_are_chosen_by_type_and_device),
        TEST(test_wrong_families_are_refused),
        TEST(test_checks_name_what_does_not_fit),
        TEST(test_checks_reach_every_tensor_of_a_list),
        TEST(test_empty_is_refused_where_it_must_not_be),
        TEST(test_scalars_are_read_with_care),
        TEST(test_axes),
        TEST(test_shapes_in_tensors),
        TEST(test_broadcast_shapes),
        TEST(test_inference_checks_what_shape_functions_say),
        TEST(test_const_shares_its_buffer),
        TEST(test_bad_constants_fail_when_prepared),
        TEST(test_placeholders_must_be_fed),
    };

    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
