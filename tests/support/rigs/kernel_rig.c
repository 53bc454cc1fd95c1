/*
 * kernel_rig.c - see kernel_rig.h.
 */
#define KRIG_ARCHIVED
#include "tests/support/kernel_rig.h"

struct krig krig;

bool krig_in_pieces;

int krig_setup(void **state)
{
    (void)state;
    return tfd_registry_init(&krig.registry, tfd_families, tfd_family_count,
                             NULL) != TFD_OK;
}

int krig_teardown(void **state)
{
    (void)state;
    tfd_registry_deinit(&krig.registry);
    return 0;
}

static enum tfd_dtype krig_dtype(const char *name, size_t size)
{
    for (int i = 1; i < TFD_DTYPE_END; i++)
        if (tfd_dtype_valid(i) && strlen(tfd_dtype_name(i)) == size &&
            !strncmp(tfd_dtype_name(i), name, size))
            return (enum tfd_dtype)i;
    fail_msg("no type named %.*s", (int)size, name);
    return TFD_DTYPE_INVALID;
}

void krig_put_number(enum tfd_dtype t, void *data, int64_t i, double re,
                     double im, int64_t whole)
{
    switch (t) {
#define X(name, number, T)           \
    case TFD_##name:                 \
        ((T *)data)[i] = (T)(whole); \
        break;
        TFD_INT_DTYPES(X)
        TFD_QUANT_DTYPES(X)
        X(BOOL, 10, tfd_bool)
#undef X
    case TFD_FLOAT:
        ((float *)data)[i] = (float)re;
        break;
    case TFD_DOUBLE:
        ((double *)data)[i] = re;
        break;
    case TFD_HALF:
        ((tfd_half *)data)[i] = tfd_half_from_float((float)re);
        break;
    case TFD_BFLOAT16:
        ((tfd_bfloat16 *)data)[i] = tfd_bfloat16_from_float((float)re);
        break;
    case TFD_COMPLEX64:
        ((tfd_complex64 *)data)[i] = (tfd_complex64){(float)re, (float)im};
        break;
    case TFD_COMPLEX128:
        ((tfd_complex128 *)data)[i] = (tfd_complex128){re, im};
        break;
    default:
        fail_msg("no numbers of type %s", tfd_dtype_name((int)t));
    }
}

/* The value at *at into element i; *at moves behind it. */
static void krig_put(struct tfd_tensor *t, int64_t i, const char **at)
{
    size_t size = strcspn(*at, " ");
    struct tfd_str word = {*at, size};
    char *end;
    double re, im = 0;

    if (t->dtype == TFD_STRING) {
        struct tfd_tstring *s = tfd_tensor_data(t);

        assert_int_equal(tfd_tstring_set(&s[i], word, NULL), TFD_OK);
    } else {
        re = strtod(*at, &end);
        if (*end == ',')
            im = strtod(end + 1, NULL);
        krig_put_number(t->dtype, tfd_tensor_data(t), i, re, im,
                        (*at)[0] == '-' ? (int64_t)strtoll(*at, NULL, 0)
                                        : (int64_t)strtoull(*at, NULL, 0));
    }
    *at += size + ((*at)[size] == ' ');
}

struct tfd_tensor krig_tensor(const char *text)
{
    const char *bracket = strchr(text, '['), *at = bracket + 1, *values;
    int64_t dim[TFD_RANK_MAX], n;
    struct tfd_tensor t;
    struct tfd_shape shape;
    int rank = 0;

    while (*at != ']') {
        char *end;

        dim[rank++] = strtoll(at, &end, 10);
        at = end + (*end == ',');
    }
    assert_int_equal(tfd_shape_make(&shape, dim, rank, NULL), TFD_OK);
    assert_int_equal(tfd_tensor_new(&t,
                                    krig_dtype(text, (size_t)(bracket - text)),
                                    &shape, NULL),
                     TFD_OK);
    values = at + 1 + (at[1] == ' ');
    at = values;
    n = tfd_tensor_elements(&t);
    for (int64_t i = 0; i < n; i++) {
        krig_put(&t, i, &at);
        if (!*at)
            at = values;
    }
    return t;
}

double krig_number(const struct tfd_tensor *t, int64_t i, int part)
{
    const void *data = tfd_tensor_data(t);

    switch (t->dtype) {
#define X(name, number, T) \
    case TFD_##name:       \
        return (double)((const T *)data)[i];
        TFD_REAL_DTYPES(X)
        TFD_QUANT_DTYPES(X)
        X(BOOL, 10, tfd_bool)
#undef X
    case TFD_HALF:
        return (double)tfd_half_to_float(((const tfd_half *)data)[i]);
    case TFD_BFLOAT16:
        return (double)tfd_bfloat16_to_float(((const tfd_bfloat16 *)data)[i]);
    case TFD_COMPLEX64:
        return part ? (double)((const tfd_complex64 *)data)[i].im
                    : (double)((const tfd_complex64 *)data)[i].re;
    case TFD_COMPLEX128:
        return part ? ((const tfd_complex128 *)data)[i].im
                    : ((const tfd_complex128 *)data)[i].re;
    default:
        return 0;
    }
}

static double krig_tolerance(enum tfd_dtype t)
{
    switch (t) {
    case TFD_FLOAT:
    case TFD_COMPLEX64:
        return 2e-6;
    case TFD_DOUBLE:
    case TFD_COMPLEX128:
        return 1e-13;
    case TFD_HALF:
        return 1e-3;
    case TFD_BFLOAT16:
        return 8e-3;
    default:
        return 0;
    }
}

bool krig_near(double a, double b, double tolerance)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (a == b)
        return true;
    return fabs(a - b) <= tolerance * (fabs(b) > 1 ? fabs(b) : 1);
}

void krig_compare(const char *label, const struct tfd_tensor *a,
                  const struct tfd_tensor *b)
{
    double tolerance = krig_tolerance(b->dtype);
    char at[TFD_SHAPE_TEXT_MAX], bt[TFD_SHAPE_TEXT_MAX];
    bool other_bits;

    if (a->dtype != b->dtype || !tfd_shape_equal(&a->shape, &b->shape))
        fail_msg("%s: %s%s instead of %s%s", label,
                 tfd_dtype_name((int)a->dtype), tfd_shape_text(&a->shape, at),
                 tfd_dtype_name((int)b->dtype), tfd_shape_text(&b->shape, bt));
    /* Once: for each element it would be read whole. */
    other_bits =
        b->dtype != TFD_STRING && tolerance == 0 && tfd_tensor_size(a) > 0 &&
        memcmp(tfd_tensor_data(a), tfd_tensor_data(b), tfd_tensor_size(a)) != 0;
    for (int64_t i = 0; i < tfd_tensor_elements(b); i++)
        if (b->dtype == TFD_STRING) {
            const struct tfd_tstring *x = tfd_tensor_data(a);
            const struct tfd_tstring *y = tfd_tensor_data(b);

            if (!tfd_str_eq(tfd_tstring_view(&x[i]), tfd_tstring_view(&y[i])))
                fail_msg("%s: string %lld differs", label, (long long)i);
        } else if (other_bits) {
            fail_msg("%s: element %lld or so: %.17g, expected %.17g", label,
                     (long long)i, krig_number(a, i, 0), krig_number(b, i, 0));
        } else {
            for (int part = 0; part < 2; part++)
                if (!krig_near(krig_number(a, i, part), krig_number(b, i, part),
                               tolerance))
                    fail_msg("%s: element %lld is %.9g, expected %.9g", label,
                             (long long)i, krig_number(a, i, part),
                             krig_number(b, i, part));
        }
}

/* "1,2,2,1" */
static void krig_attr_ints(struct tfd_bytes *b, const char *text)
{
    int64_t v[8];
    char *end;
    int count = 0;

    do {
        assert_true(count < 8);
        v[count++] = strtoll(text, &end, 10);
        text = end + 1;
    } while (*end == ',');
    tfd_attr_put_ints(b, v, count);
}

static void krig_attr_value(struct tfd_bytes *b, const struct tfd_op_attr *attr,
                            struct tfd_str text)
{
    tfd_bytes_init(b, 256);
    switch (attr->kind) {
    case TFD_ATTR_BOOL:
        tfd_attr_put_bool(b, tfd_str_is(text, "true"));
        break;
    case TFD_ATTR_INT:
        if (attr->list)
            krig_attr_ints(b, text.data);
        else
            tfd_attr_put_int(b, strtoll(text.data, NULL, 10));
        break;
    case TFD_ATTR_FLOAT:
        tfd_attr_put_float(b, strtof(text.data, NULL));
        break;
    case TFD_ATTR_TYPE:
        tfd_attr_put_type(b, (int)krig_dtype(text.data, text.size));
        break;
    default:
        tfd_attr_put_str(b, text);
    }
}

/* "name=value name=value" */
static int krig_attrs(const struct tfd_op *op, const char *text,
                      struct tfd_attr *attrs, struct tfd_bytes *values)
{
    int count = 0;

    for (; *text; count++) {
        size_t size = strcspn(text, "="), value = strcspn(text, " ");
        struct tfd_str name = {text, size};
        const struct tfd_op_attr *attr = tfd_op_attr_find(op, name);

        assert_true(count < KRIG_ATTR_MAX);
        assert_non_null(attr);
        krig_attr_value(&values[count], attr,
                        (struct tfd_str){text + size + 1, value - size - 1});
        attrs[count] = (struct tfd_attr){name, tfd_bytes_view(&values[count])};
        text += value + (text[value] == ' ');
    }
    return count;
}

static enum tfd_code krig_placeholder(int i, enum tfd_dtype dtype,
                                      struct tfd_edge *out)
{
    struct tfd_node_spec spec = {.op = TFD_STR("Placeholder")};
    struct tfd_bytes type;
    struct tfd_attr attr;
    struct tfd_node *node;
    enum tfd_code code;
    char name[16];

    snprintf(name, sizeof(name), "in%d", i);
    tfd_bytes_init(&type, 64);
    tfd_attr_put_type(&type, (int)dtype);
    attr = (struct tfd_attr){TFD_STR("dtype"), tfd_bytes_view(&type)};
    spec.name = tfd_str_of(name);
    spec.attrs = &attr;
    spec.attr_count = 1;
    code = tfd_graph_add(krig.graph, &spec, &node, &krig.st);
    if (code == TFD_OK)
        *out = (struct tfd_edge){node->id, 0};
    tfd_bytes_deinit(&type);
    return code;
}

static enum tfd_code krig_node(const struct krig_case *c)
{
    const struct tfd_op *op =
        tfd_op_find(&krig.registry.ops, tfd_str_of(c->op));
    struct tfd_bytes values[KRIG_ATTR_MAX];
    struct tfd_attr attrs[KRIG_ATTR_MAX];
    struct tfd_edge in[KRIG_IN_MAX];
    struct tfd_node_spec spec = {.name = tfd_str_of("node"),
                                 .op = tfd_str_of(c->op),
                                 .in = in,
                                 .attrs = attrs};
    enum tfd_code code;

    if (!op)
        fail_msg("no op named %s", c->op);
    for (int i = 0; i < krig.in_count; i++)
        TFD_TRY(krig_placeholder(i, krig.in[i].dtype, &in[i]));
    spec.in_count = krig.in_count;
    spec.attr_count = krig_attrs(op, c->attrs, attrs, values);
    code = tfd_graph_add(krig.graph, &spec, &krig.node, &krig.st);
    for (int i = 0; i < spec.attr_count; i++)
        tfd_bytes_deinit(&values[i]);
    return code;
}

static enum tfd_code krig_prepare(void)
{
    struct tfd_prepare p = {krig.node, NULL, tfd_registry_loop};

    krig.kernel = tfd_registry_kernel(&krig.registry, krig.node, TFD_CPU);
    if (!krig.kernel)
        return tfd_fail(&krig.st, TFD_NOT_FOUND, "no kernel");
    if (krig.kernel->state_size)
        krig.state = calloc(1, krig.kernel->state_size);
    if (krig.kernel->prepare)
        return krig.kernel->prepare(&p, krig.state, &krig.st);
    return TFD_OK;
}

/* What the shape function makes of the shapes and values. */
static enum tfd_code krig_infer(struct tfd_status *st)
{
    const struct tfd_tensor *value[KRIG_IN_MAX];
    struct tfd_shape in[KRIG_IN_MAX];
    struct tfd_shape_ctx s = {.node = krig.node,
                              .in = in,
                              .in_count = krig.in_count,
                              .value = value,
                              .out = krig.inferred,
                              .out_count = krig.node->out_count};

    for (int i = 0; i < krig.in_count; i++) {
        in[i] = krig.in[i].shape;
        value[i] = &krig.in[i];
    }
    return tfd_registry_infer(&s, st);
}

enum tfd_code krig_compute(void)
{
    struct tfd_kctx k = {.kernel = krig.kernel,
                         .in = krig.in,
                         .in_count = krig.in_count,
                         .out = krig.out,
                         .out_count = krig.node->out_count,
                         .state = krig.state,
                         .node = krig.node};

    assert_true(k.out_count <= KRIG_OUT_MAX);
    TFD_TRY(tfd_checks_run(krig.node->op, &k, &krig.st));
    return krig.kernel->compute(&k, &krig.st);
}

void krig_end(void)
{
    for (int i = 0; i < KRIG_IN_MAX; i++) {
        tfd_tensor_unref(&krig.in[i]);
        tfd_tensor_unref(&krig.shared[i]);
    }
    for (int i = 0; i < KRIG_OUT_MAX; i++)
        tfd_tensor_unref(&krig.out[i]);
    if (krig.kernel && krig.kernel->release)
        krig.kernel->release(krig.state);
    free(krig.state);
    krig.state = NULL;
    krig.kernel = NULL;
    tfd_graph_unref(krig.graph);
}

enum tfd_code krig_run(const struct krig_case *c, int mode)
{
    enum tfd_code code;

    tfd_status_clear(&krig.st);
    krig_in_pieces = mode & KRIG_PIECES;
    krig.graph = tfd_graph_new(&krig.registry.ops, &krig.st);
    if (!(mode & KRIG_SOLE))
        for (int i = 0; i < krig.in_count; i++)
            krig.shared[i] = tfd_tensor_ref(&krig.in[i]);
    code = krig_node(c);
    if (code == TFD_OK)
        code = krig_prepare();
    if (code == TFD_OK)
        code = krig_compute();
    return code;
}

static void krig_check_error(const char *label, const char *want,
                             enum tfd_code code)
{
    size_t size = strcspn(want, " ");

    if (strlen(tfd_code_name(code)) != size ||
        strncmp(tfd_code_name(code), want, size) ||
        !strstr(krig.st.text, want + size + (want[size] == ' ')))
        fail_msg("%s: %s %s, expected %s", label, tfd_code_name(code),
                 krig.st.text, want);
}

static void krig_check_outputs(const char *label, const struct krig_case *c)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (krig_infer(&st) != TFD_OK)
        fail_msg("%s: shape function: %s", label, st.text);
    for (int i = 0; i < krig.node->out_count; i++) {
        struct tfd_tensor want = krig_tensor(c->out[i]);

        krig_compare(label, &krig.out[i], &want);
        if (tfd_shape_merge(&krig.inferred[i], &want.shape, &st) != TFD_OK)
            fail_msg("%s: shape function: %s", label, st.text);
        tfd_tensor_unref(&want);
    }
}

void krig_check(const struct krig_case *c)
{
    for (int mode = 0; mode < KRIG_ALL; mode++) {
        enum tfd_code code;
        char label[200];

        snprintf(label, sizeof(label), "%s(%s, %s) mode %d", c->op,
                 c->in[0] ? c->in[0] : "", c->in[1] ? c->in[1] : "", mode);
        krig.in_count = 0;
        for (int i = 0; i < KRIG_IN_MAX && c->in[i]; i++)
            krig.in[krig.in_count++] = krig_tensor(c->in[i]);
        code = krig_run(c, mode);
        if (c->out[0][0] == '!')
            krig_check_error(label, c->out[0] + 1, code);
        else if (code != TFD_OK)
            fail_msg("%s: %s", label, krig.st.text);
        else
            krig_check_outputs(label, c);
        krig_end();
    }
}
