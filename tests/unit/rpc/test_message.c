/*
 * test_message.c - rpc/core/message.c and tensor_wire.c: tensors in and beside
 * messages, damage at every byte.
 */
#include "tests/support/rig.h"

#include "common/proto/tensor.pb.h"

#define TENSOR_TAG 2 /* NamedTensorProto.tensor */

/* ---- What arrives of what was sent --------------------------------------- */

/* gRPC: the bytes with the splices in place. */
static struct tfd_buffer *flatten(const struct tfd_message *m)
{
    struct tfd_buffer *b = tfd_buffer_new(tfd_message_size(m));
    char *at;
    size_t from = 0;

    assert_non_null(b);
    at = b->data;
    for (uint32_t i = 0; i <= m->splice_count; i++) {
        size_t to = i < m->splice_count ? m->splices[i].at : m->proto.size;

        assert_in_range(to, from, m->proto.size);
        memcpy(at, m->proto.data + from, to - from);
        at += to - from;
        from = to;
        if (i == m->splice_count)
            break;
        memcpy(at, m->splices[i].buffer->data, m->splices[i].size);
        at += m->splices[i].size;
    }
    assert_ptr_equal(at, (char *)b->data + b->size);
    return b;
}

static struct tfd_incoming arrive(const struct tfd_message *m)
{
    struct tfd_incoming in = {.proto = TFD_STR_EMPTY};

    if (!m->native) {
        in.body = flatten(m);
        in.proto = (struct tfd_str){in.body->data, in.body->size};
        return in;
    }
    in.body = tfd_buffer_new(m->proto.size);
    assert_non_null(in.body);
    memcpy(in.body->data, m->proto.data, m->proto.size);
    in.proto = (struct tfd_str){in.body->data, m->proto.size};
    in.payload_count = m->splice_count;
    in.payload = calloc(m->splice_count + 1, sizeof(struct tfd_buffer *));
    assert_non_null(in.payload);
    for (uint32_t i = 0; i < m->splice_count; i++)
        in.payload[i] = tfd_buffer_ref(m->splices[i].buffer);
    return in;
}

/* The first field `tag` of a message. */
static struct tfd_str field(struct tfd_str message, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire == TFD_PB_BYTES)
            return f.bytes;
    fail_msg("no field %u", tag);
    return TFD_STR_EMPTY;
}

/* ---- Handles stand in for resources -------------------------------------- */

static void encode_handle(struct tfd_bytes *b, void *handle)
{
    tfd_pb_put_str(b, tensorflow_ResourceHandleProto_name_tag,
                   tfd_str_of(handle));
}

static char handle_names[4][16];

static enum tfd_code decode_handle(struct tfd_str proto, void **handle,
                                   struct tfd_status *st)
{
    static int next;
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    char *name = handle_names[next++ % 4];

    *name = '\0';
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_ResourceHandleProto_name_tag)
            snprintf(name, sizeof(handle_names[0]), TFD_STR_FMT,
                     TFD_STR_ARG(f.bytes));
    *handle = name;
    return tfd_pb_end(&r, "ResourceHandleProto", st);
}

/* ---- Round trips --------------------------------------------------------- */

static struct tfd_tensor new_tensor(enum tfd_dtype dtype, int rank,
                                    const int64_t *dim)
{
    struct tfd_shape shape;
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_shape_make(&shape, dim, rank, NULL), TFD_OK);
    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, NULL), TFD_OK);
    return t;
}

static void fill(struct tfd_tensor *t)
{
    int64_t n = tfd_tensor_elements(t);

    if (t->dtype == TFD_STRING) {
        struct tfd_tstring *s = tfd_tensor_data(t);

        for (int64_t i = 0; i < n; i++) {
            char text[300];
            struct tfd_str value = {text, (size_t)(i * 7 % 290)};

            memset(text, 'a' + (int)(i % 26), sizeof(text));
            assert_int_equal(tfd_tstring_set(&s[i], value, NULL), TFD_OK);
        }
    } else if (t->dtype == TFD_RESOURCE) {
        for (int64_t i = 0; i < n; i++)
            ((void **)tfd_tensor_data(t))[i] =
                (void *)(uintptr_t)(i % 2 ? "one" : "two");
    } else {
        for (size_t i = 0; i < tfd_tensor_size(t); i++)
            ((uint8_t *)tfd_tensor_data(t))[i] =
                (uint8_t)(t->dtype == TFD_BOOL ? i % 2 : i * 13 + 5);
    }
}

static void assert_same(const struct tfd_tensor *a, const struct tfd_tensor *b)
{
    int64_t n = tfd_tensor_elements(a);

    assert_int_equal(a->dtype, b->dtype);
    assert_true(tfd_shape_equal(&a->shape, &b->shape));
    for (int64_t i = 0; a->dtype == TFD_STRING && i < n; i++) {
        const struct tfd_tstring *x = tfd_tensor_data(a);
        const struct tfd_tstring *y = tfd_tensor_data(b);

        assert_true(
            tfd_str_eq(tfd_tstring_view(&x[i]), tfd_tstring_view(&y[i])));
    }
    for (int64_t i = 0; a->dtype == TFD_RESOURCE && i < n && i < 4; i++)
        assert_string_equal(((char **)tfd_tensor_data(a))[i],
                            ((char **)tfd_tensor_data(b))[i]);
    if (tfd_dtype_is_pod(a->dtype) && n > 0)
        assert_memory_equal(tfd_tensor_data(a), tfd_tensor_data(b),
                            tfd_tensor_size(a));
}

/* RESOURCE beyond 4 elements would wear out the names. */
static void round_trip(enum tfd_dtype dtype, int rank, const int64_t *dim,
                       bool native)
{
    struct tfd_tensor t = new_tensor(dtype, rank, dim), back;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_incoming in;
    struct tfd_message m;

    fill(&t);
    tfd_message_init(&m, native);
    tfd_pb_put_str(&m.proto, 1, TFD_STR("before"));
    tfd_message_put_tensor(&m, TENSOR_TAG, &t, encode_handle);
    tfd_pb_put_str(&m.proto, 3, TFD_STR("after"));
    assert_int_equal(tfd_bytes_ok(&m.proto, "m", &st), TFD_OK);
    in = arrive(&m);
    assert_true(tfd_str_is(field(in.proto, 1), "before"));
    assert_true(tfd_str_is(field(in.proto, 3), "after"));
    assert_int_equal(tfd_tensor_decode(&in, field(in.proto, TENSOR_TAG),
                                       decode_handle, &back, &st),
                     TFD_OK);
    assert_same(&t, &back);
    tfd_tensor_unref(&back);
    tfd_incoming_deinit(&in);
    tfd_message_deinit(&m);
    tfd_tensor_unref(&t);
}

static void test_every_type_comes_back(void **state)
{
    static const struct {
        int rank;
        int64_t dim[3];
    } shapes[] = {
        {0, {0}},       {1, {0}},   {1, {3}},       {2, {2, 3}},
        {3, {2, 0, 5}}, {1, {300}}, {2, {1, 5000}}, {3, {7, 30, 41}},
    };

    (void)state;
    for (int dtype = 1; dtype < TFD_DTYPE_END; dtype++) {
        if (!tfd_dtype_valid(dtype) || dtype == TFD_VARIANT)
            continue;
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            round_trip((enum tfd_dtype)dtype, shapes[i].rank, shapes[i].dim,
                       true);
            round_trip((enum tfd_dtype)dtype, shapes[i].rank, shapes[i].dim,
                       false);
        }
    }
}

static void test_large_contents_are_not_copied(void **state)
{
    struct tfd_tensor t = new_tensor(TFD_FLOAT, 1, (int64_t[]){4096}), back;
    struct tfd_incoming in;
    struct tfd_message m;

    (void)state;
    fill(&t);
    tfd_message_init(&m, true);
    tfd_message_put_tensor(&m, TENSOR_TAG, &t, NULL);
    assert_int_equal(m.splice_count, 1);
    assert_ptr_equal(m.splices[0].buffer, t.buffer);
    in = arrive(&m);
    assert_int_equal(
        tfd_tensor_decode(&in, field(in.proto, TENSOR_TAG), NULL, &back, NULL),
        TFD_OK);
    assert_ptr_equal(back.buffer, t.buffer);
    tfd_tensor_unref(&back);
    tfd_incoming_deinit(&in);
    tfd_message_deinit(&m);
    assert_true(tfd_buffer_sole(t.buffer));
    tfd_tensor_unref(&t);
}

/* On gRPC a body that was placed well is used where it lies. */
static void test_aligned_contents_are_sliced(void **state)
{
    struct tfd_tensor t = new_tensor(TFD_FLOAT, 1, (int64_t[]){4096}), back;
    struct tfd_message m;
    struct tfd_buffer *flat, *body;

    (void)state;
    fill(&t);
    tfd_message_init(&m, false);
    tfd_message_put_tensor(&m, TENSOR_TAG, &t, NULL);
    flat = flatten(&m);
    body = tfd_buffer_new(flat->size + 8);
    assert_non_null(body);
    for (size_t shift = 0; shift < 8; shift++) {
        struct tfd_incoming in = {.body = tfd_buffer_ref(body)};
        bool aligned, shared;
        const char *content;

        in.proto.data = (char *)body->data + shift;
        in.proto.size = flat->size;
        memcpy((char *)body->data + shift, flat->data, flat->size);
        assert_int_equal(tfd_tensor_decode(&in, field(in.proto, TENSOR_TAG),
                                           NULL, &back, NULL),
                         TFD_OK);
        assert_same(&t, &back);
        content = (char *)body->data + shift + flat->size - tfd_tensor_size(&t);
        aligned = (uintptr_t)content % sizeof(float) == 0;
        shared = back.buffer->data == (void *)(uintptr_t)content;
        assert_int_equal(aligned, shared);
        tfd_tensor_unref(&back);
        tfd_incoming_deinit(&in);
    }
    assert_true(tfd_buffer_sole(body));
    tfd_buffer_unref(body);
    tfd_buffer_unref(flat);
    tfd_message_deinit(&m);
    tfd_tensor_unref(&t);
}

/* ---- Sub-messages -------------------------------------------------------- */

static void test_lengths_count_spliced_bytes(void **state)
{
    struct tfd_tensor t = new_tensor(TFD_UINT8, 1, (int64_t[]){70000});
    struct tfd_buffer *flat;
    struct tfd_str outer, inner, rest;
    struct tfd_message m;
    size_t a, b;

    (void)state;
    fill(&t);
    tfd_message_init(&m, false);
    a = tfd_message_begin(&m, 1);
    tfd_message_put_tensor(&m, 2, &t, NULL);
    b = tfd_message_begin(&m, 3);
    tfd_message_put_tensor(&m, 4, &t, NULL);
    tfd_pb_put_str(&m.proto, 5, TFD_STR("inner"));
    tfd_message_finish(&m, b);
    tfd_message_finish(&m, a);
    a = tfd_message_begin(&m, 6); /* no splice behind its mark */
    tfd_pb_put_str(&m.proto, 7, TFD_STR("last"));
    tfd_message_finish(&m, a);

    flat = flatten(&m);
    assert_int_equal(flat->size, tfd_message_size(&m));
    rest = (struct tfd_str){flat->data, flat->size};
    outer = field(rest, 1);
    inner = field(outer, 3);
    assert_true(tfd_str_is(field(inner, 5), "inner"));
    assert_true(tfd_str_is(field(field(rest, 6), 7), "last"));
    assert_memory_equal(
        field(field(outer, 2), tensorflow_TensorProto_tensor_content_tag).data,
        tfd_tensor_data(&t), 70000);
    assert_memory_equal(
        field(field(inner, 4), tensorflow_TensorProto_tensor_content_tag).data,
        tfd_tensor_data(&t), 70000);
    tfd_buffer_unref(flat);
    tfd_message_deinit(&m);
    tfd_tensor_unref(&t);
}

/* ---- Damage -------------------------------------------------------------- */

/* Whatever comes out, nothing is read or written out of bounds. */
static void decode_any(const struct tfd_incoming *in, struct tfd_str proto)
{
    struct tfd_tensor t;

    if (tfd_tensor_decode(in, proto, decode_handle, &t, NULL) == TFD_OK)
        tfd_tensor_unref(&t);
    else
        assert_null(t.buffer);
}

static void test_damage_at_every_byte_is_survived(void **state)
{
    static const enum tfd_dtype types[] = {TFD_FLOAT, TFD_STRING, TFD_RESOURCE,
                                           TFD_COMPLEX128, TFD_BOOL};

    (void)state;
    tfd_alloc_limit(64 << 20); /* a damaged shape may be of terabytes */
    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
        struct tfd_tensor t = new_tensor(types[k], 2, (int64_t[]){2, 3});
        struct tfd_message m;
        struct tfd_str proto;

        fill(&t);
        tfd_message_init(&m, false);
        tfd_message_put_tensor(&m, TENSOR_TAG, &t, encode_handle);
        proto = field(tfd_bytes_view(&m.proto), TENSOR_TAG);
        for (size_t cut = 0; cut <= proto.size; cut++) {
            char *copy = malloc(cut + 1); /* so that ASan sees its end */

            assert_non_null(copy);
            memcpy(copy, proto.data, cut);
            decode_any(NULL, (struct tfd_str){copy, cut});
            for (int bit = 0; cut < proto.size && bit < 8; bit++) {
                char *whole = malloc(proto.size);

                assert_non_null(whole);
                memcpy(whole, proto.data, proto.size);
                whole[cut] = (char)(whole[cut] ^ (1 << bit));
                decode_any(NULL, (struct tfd_str){whole, proto.size});
                free(whole);
            }
            free(copy);
        }
        tfd_message_deinit(&m);
        tfd_tensor_unref(&t);
    }
    tfd_alloc_limit(0);
}

static void test_payloads_that_are_not_there(void **state)
{
    static const struct {
        int64_t index;
        size_t size;
        enum tfd_dtype dtype;
        enum tfd_code code;
    } cases[] = {
        {0, 4000, TFD_FLOAT, TFD_OK},
        {1, 4000, TFD_FLOAT, TFD_INVALID_ARGUMENT},
        {0xffffffff, 4000, TFD_FLOAT, TFD_INVALID_ARGUMENT},
        {-1, 4000, TFD_FLOAT, TFD_INVALID_ARGUMENT},
        {0, 3999, TFD_FLOAT, TFD_INVALID_ARGUMENT},
        {0, 4004, TFD_FLOAT, TFD_INVALID_ARGUMENT},
        {0, 4000, TFD_STRING, TFD_INVALID_ARGUMENT},
        {0, 1000, TFD_STRING, TFD_OK}, /* a thousand empty strings */
        {0, 1000, TFD_BOOL, TFD_OK},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_buffer *payload = tfd_buffer_new(cases[i].size);
        struct tfd_incoming in = {.payload = &payload, .payload_count = 1};
        struct tfd_shape shape = {1, {1000}};
        struct tfd_tensor t = {cases[i].dtype, shape, NULL}, back;
        struct tfd_bytes b;

        assert_non_null(payload);
        memset(payload->data, 0, payload->size);
        tfd_bytes_init(&b, 1000);
        tfd_tensor_proto_encode_head(&b, &t);
        tfd_pb_put_int_always(&b, tensorflow_TensorProto_payload_index_tag,
                              cases[i].index);
        assert_int_equal(
            tfd_tensor_decode(NULL, tfd_bytes_view(&b), NULL, &back, NULL),
            TFD_INVALID_ARGUMENT);
        assert_int_equal(
            tfd_tensor_decode(&in, tfd_bytes_view(&b), NULL, &back, NULL),
            cases[i].code);
        if (cases[i].code == TFD_OK && cases[i].dtype == TFD_FLOAT)
            assert_ptr_equal(back.buffer, payload);
        tfd_tensor_unref(&back);
        assert_true(tfd_buffer_sole(payload));
        tfd_bytes_deinit(&b);
        tfd_buffer_unref(payload);
    }
}

static void test_what_cannot_be_encoded_fails_the_message(void **state)
{
    struct tfd_tensor t = new_tensor(TFD_RESOURCE, 1, (int64_t[]){2});
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;

    (void)state;
    fill(&t);
    tfd_message_init(&m, true);
    tfd_message_put_tensor(&m, TENSOR_TAG, &t, NULL);
    assert_int_equal(tfd_bytes_ok(&m.proto, "m", &st), TFD_INTERNAL);
    tfd_message_deinit(&m);
    tfd_tensor_unref(&t);
}

/* Beside a message, and within one large enough to be sliced. */
static void test_bools_are_0_or_1(void **state)
{
    static const size_t sizes[] = {1, 1000, 70000};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t size = sizes[i / 2];
        struct tfd_tensor t =
            new_tensor(TFD_BOOL, 1, (int64_t[]){(int64_t)size});
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_incoming in;
        struct tfd_tensor back;
        struct tfd_message m;

        memset(tfd_tensor_data(&t), 1, size);
        ((char *)tfd_tensor_data(&t))[size - 1] = 2;
        tfd_message_init(&m, i % 2);
        tfd_message_put_tensor(&m, TENSOR_TAG, &t, NULL);
        in = arrive(&m);
        assert_int_equal(tfd_tensor_decode(&in, field(in.proto, TENSOR_TAG),
                                           NULL, &back, &st),
                         TFD_INVALID_ARGUMENT);
        assert_non_null(strstr(st.text, "which is neither 0 nor 1"));
        assert_null(back.buffer);
        tfd_incoming_deinit(&in);
        tfd_message_deinit(&m);
        tfd_tensor_unref(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_comes_back),
        cmocka_unit_test(test_large_contents_are_not_copied),
        cmocka_unit_test(test_aligned_contents_are_sliced),
        cmocka_unit_test(test_lengths_count_spliced_bytes),
        cmocka_unit_test(test_damage_at_every_byte_is_survived),
        cmocka_unit_test(test_payloads_that_are_not_there),
        cmocka_unit_test(test_bools_are_0_or_1),
        cmocka_unit_test(test_what_cannot_be_encoded_fails_the_message),
    };

    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
