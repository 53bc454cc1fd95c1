/*
 * test_registry.c - kernels/core/registry.c and checks.c, and the family const
 * as the registry gives it out.
 */
#include "kernels/core/registry.h"

#include "common/proto/graphdef.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "tests/support/graph_rig.h"

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

/* ---- Choosing ------------------------------------------------------------ */

static void test_kernels_are_chosen_by_type_and_device(void **state)
{
    struct tfd_edge axis = typed("axis", "Source", TFD_INT32);
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
        in[0] = typed(x, "Source", cases[i].type);
        in[1] = axis;
        n = add_with(y, "Pick", in, 2, NULL, 0);
        assert_ptr_equal(tfd_registry_kernel(&r, n, TFD_CPU), cases[i].cpu);
        assert_ptr_equal(tfd_registry_kernel(&r, n, TFD_GPU), cases[i].gpu);
    }
    n = add_with("keyed", "Keyed", &axis, 1, NULL, 0); /* by its default */
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
        enum tfd_code rc = tfd_registry_init(&bad, &f, 1, &st);

        if (rc == TFD_OK) {
            rc = tfd_registry_check(&bad, &f, 1, &st);
            tfd_registry_deinit(&bad);
        }
        expect_and_clear(rc, TFD_INTERNAL, &st, cases[i].text);
    }
}

static void test_the_programs_families_are_right(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_registry all;

    (void)state;
    if (tfd_registry_init(&all, tfd_families, tfd_family_count, &st) ||
        tfd_registry_check(&all, tfd_families, tfd_family_count, &st))
        fail_msg("%s", st.text);
    tfd_registry_deinit(&all);
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
            expect_and_clear(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT,
                             &st, cases[i].text);
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
    expect_and_clear(
        tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
        "b and a must have the same shape, but have [5,5,1] and [2,0,1]");
    k.ref = ref; /* a reference is left to the kernel */
    assert_int_equal(tfd_checks_run(op, &k, NULL), TFD_OK);
    in[5].shape.rank = 2;
    expect_and_clear(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
                     "last must be a vector, but its shape is [4,0]");
    in[2].shape.rank = 2;
    expect_and_clear(
        tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
        "a must have exactly 3 dimensions, but its shape is [2,0]");
    in[0].shape.dim[0] = 2;
    expect_and_clear(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
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
    expect_and_clear(tfd_checks_run(op, &k, &st), TFD_INVALID_ARGUMENT, &st,
                     "x must not be empty, but its shape is [3,0]");
}

static void test_inference_checks_what_shape_functions_say(void **state)
{
    struct tfd_edge x = typed("x", "Source", TFD_FLOAT),
                    n = typed("n", "Source", TFD_INT32);
    struct tfd_edge lists[] = {n, x, x, x};
    struct tfd_shape in[] = {{1, {2}}, {1, {3}}, {0}, {0}}, out;
    struct tfd_shape_ctx s = {
        .in = in, .in_count = 1, .out = &out, .out_count = 1};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    s.node = add_with("keyed", "Keyed", &x, 1, NULL, 0);
    expect_and_clear(
        tfd_registry_infer(&s, &st), TFD_INVALID_ARGUMENT, &st,
        "Dimension -7 must be >= -1 for '{{node keyed}} = Keyed' with input "
        "shapes: [2].");
    s.node = add_with("l", "Lists", lists, 4, NULL, 0);
    s.in_count = 4;
    expect_and_clear(
        tfd_registry_infer(&s, &st), TFD_INVALID_ARGUMENT, &st,
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
    struct tfd_prepare p = {.node = n, .loop = tfd_registry_loop};
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
    return add_with(op, op, NULL, 0, attrs, count);
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

    n = add_with("both", "IdentityN", e, 2, NULL, 0);
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
    expect_and_clear(run(imported("Const", other, 2), NULL, &out, &st),
                     TFD_INVALID_ARGUMENT, &st,
                     "Type mismatch between value (int32) and dtype (float)");
    expect_and_clear(
        run(add_with("c", "Const", NULL, 0, cut, 2), NULL, &out, &st),
        TFD_INVALID_ARGUMENT, &st,
        "Cannot parse tensor from proto: tensor_content has 1 bytes");
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
    expect_and_clear(
        run(add_with("y", "Placeholder", NULL, 0, attrs, 2), NULL, &out, &st),
        TFD_INVALID_ARGUMENT, &st,
        "You must feed a value for placeholder tensor 'y' with dtype float "
        "and shape [?,?]");
    expect(
        run(add_with("z", "Placeholder", NULL, 0, attrs, 1), NULL, &out, &st),
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
        TEST(test_the_programs_families_are_right),
        TEST(test_checks_name_what_does_not_fit),
        TEST(test_checks_reach_every_tensor_of_a_list),
        TEST(test_empty_is_refused_where_it_must_not_be),
        TEST(test_inference_checks_what_shape_functions_say),
        TEST(test_const_shares_its_buffer),
        TEST(test_bad_constants_fail_when_prepared),
        TEST(test_placeholders_must_be_fed),
    };

    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
