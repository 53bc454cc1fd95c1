/*
 * test_compressed_element.c - kernels/data_files/compressed_element.c: an
 * element comes back as it was, and whatever bits of its message are turned or
 * cut off, it is an error or an element of the types that are wanted.
 */
#include "tests/support/kernel_rig.h"

#include "common/base/variant.h"

static const uint8_t types[] = {TFD_INT32, TFD_STRING, TFD_BOOL};
#define COUNT 3

static enum tfd_code compute(const char *op, struct tfd_kctx *k,
                             struct tfd_status *st)
{
    const struct tfd_family *f = &tfd_family_compressed_element;

    for (int i = 0; i < f->kernel_count; i++)
        if (!strcmp(f->kernels[i].op, op))
            return f->kernels[i].compute(k, st);
    fail_msg("no kernel of %s", op);
    return TFD_INTERNAL;
}

/* The message of [1, 2, 3], ["ab", ""], true. */
static void compress(struct tfd_tensor *in, struct tfd_tensor *out)
{
    struct tfd_kctx k = {
        .in = in, .in_count = COUNT, .out = out, .out_count = 1};

    in[0] = krig_tensor("int32[3] 1 2 3");
    in[1] = krig_tensor("string[2] ab cdefghcdefghcdefgh");
    in[2] = krig_tensor("bool[] 1");
    assert_int_equal(TFD_OK, compute("CompressElement", &k, NULL));
}

static struct tfd_str message_of(const struct tfd_tensor *compressed)
{
    const struct tfd_variant *v = tfd_variant_of(compressed);

    assert_int_equal(TFD_VARIANT_COMPRESSED, v->kind);
    return tfd_tstring_view(tfd_tensor_data(&v->tensors[0]));
}

static struct tfd_tensor of_message(struct tfd_str message)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor text = TFD_TENSOR_INIT, out = TFD_TENSOR_INIT;
    struct tfd_variant *v;

    assert_int_equal(TFD_OK, tfd_tensor_new(&text, TFD_STRING, &scalar, NULL));
    assert_int_equal(TFD_OK,
                     tfd_tstring_set(tfd_tensor_data(&text), message, NULL));
    assert_int_equal(TFD_OK, tfd_variant_holding(TFD_VARIANT_COMPRESSED, &text,
                                                 1, &v, NULL));
    assert_int_equal(TFD_OK, tfd_variant_tensor(v, &out, NULL));
    tfd_tensor_unref(&text);
    return out;
}

static enum tfd_code uncompress(struct tfd_str message, struct tfd_tensor *out)
{
    struct tfd_tensor in = of_message(message);
    struct tfd_node node = {.out_types = types, .out_count = COUNT};
    struct tfd_kctx k = {.in = &in,
                         .in_count = 1,
                         .out = out,
                         .out_count = COUNT,
                         .node = &node};
    struct tfd_status st = TFD_STATUS_INIT;
    enum tfd_code rc = compute("UncompressElement", &k, &st);

    assert_int_equal(rc, st.code);
    assert_true(rc == TFD_OK || st.text[0]);
    tfd_tensor_unref(&in);
    return rc;
}

static void drop(struct tfd_tensor *of, int count)
{
    for (int i = 0; i < count; i++)
        tfd_tensor_unref(&of[i]);
}

static void an_element_comes_back(void **state)
{
    struct tfd_tensor in[COUNT], compressed = TFD_TENSOR_INIT;
    struct tfd_tensor out[COUNT] = {TFD_TENSOR_INIT};

    (void)state;
    compress(in, &compressed);
    assert_int_equal(TFD_OK, uncompress(message_of(&compressed), out));
    for (int i = 0; i < COUNT; i++)
        krig_compare("component", &out[i], &in[i]);
    drop(in, COUNT);
    drop(out, COUNT);
    tfd_tensor_unref(&compressed);
}

/* What is no error has the types that were asked for. */
static void check_damaged(struct tfd_str message)
{
    struct tfd_tensor out[COUNT] = {TFD_TENSOR_INIT};
    enum tfd_code rc = uncompress(message, out);

    if (rc == TFD_OK)
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(types[i], out[i].dtype);
    else
        assert_true(rc == TFD_INTERNAL || rc == TFD_FAILED_PRECONDITION ||
                    rc == TFD_INVALID_ARGUMENT || rc == TFD_RESOURCE_EXHAUSTED);
    drop(out, COUNT);
}

static void damaged_messages(void **state)
{
    struct tfd_tensor in[COUNT], compressed = TFD_TENSOR_INIT;
    struct tfd_tensor out[COUNT] = {TFD_TENSOR_INIT};
    struct tfd_str message;
    char copy[300];

    (void)state;
    compress(in, &compressed);
    message = message_of(&compressed);
    assert_in_range(message.size, 40, sizeof(copy));
    memcpy(copy, message.data, message.size);
    for (size_t size = 0; size < message.size; size++) {
        struct tfd_str cut = {copy, size};

        assert_int_not_equal(TFD_OK, uncompress(cut, out));
        drop(out, COUNT);
    }
    for (size_t bit = 0; bit < 8 * message.size; bit++) {
        struct tfd_str turned = {copy, message.size};

        copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
        check_damaged(turned);
        copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
    }
    drop(in, COUNT);
    tfd_tensor_unref(&compressed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_comes_back),
        cmocka_unit_test(damaged_messages),
    };

    return cmocka_run_group_tests(tests, krig_setup, krig_teardown);
}
