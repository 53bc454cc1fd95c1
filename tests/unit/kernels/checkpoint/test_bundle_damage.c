/*
 * test_bundle_damage.c - checkpoints that were cut, changed, or made to do
 * harm: an error or the right value, never anything else.
 *
 * The crafted ones are after TensorFlow's advisories about its checkpoint
 * loader (TFSA-2018-004, 2021-113, 2021-193, 2021-198, 2022-033).
 */
#include "tests/support/bundle_rig.h"

#include "common/base/crc32c.h"
#include "common/base/pbio.h"
#include "kernels/checkpoint/checkpoint_proto.h"
#include "kernels/checkpoint/checkpoint_reader.h"
#include "kernels/checkpoint/table_writer.h"

#define DATA "x.data-00000-of-00001"

/* One tensor of checkpoint "x". */
static enum tfd_code restore(struct state *s, const char *name,
                             const char *spec, enum tfd_dtype dtype,
                             struct tfd_tensor *out)
{
    struct tfd_checkpoint_reader r;
    enum tfd_code rc;

    *out = (struct tfd_tensor)TFD_TENSOR_INIT;
    tfd_status_clear(&s->st);
    rc = tfd_checkpoint_reader_open(&r, &s->m.access, TFD_STR("x"), &s->st);
    if (rc == TFD_OK) {
        rc = tfd_checkpoint_reader_restore(
            &r, tfd_str_of(name), tfd_str_of(spec), dtype, out, &s->st);
        tfd_checkpoint_reader_close(&r);
    }
    if (rc != TFD_OK) {
        assert_string_not_equal(s->st.text, "");
        assert_null(out->buffer);
    }
    return rc;
}

/* ---- Cut and changed -------------------------------------------------------
 */

struct wanted {
    const char *name;
    enum tfd_dtype dtype;
    size_t size;
    const void *values; /* NULL: strings, "x", "yy", "" */
};

static const int32_t five = 5, minus_five = -5;

static const struct wanted in_small[] = {
    {"w", TFD_FLOAT, sizeof(w_values), w_values},
    {"i", TFD_INT32, sizeof(five), &five},
    {"s", TFD_STRING, 0, NULL},
    {"e", TFD_INT64, 0, ""},
};
static const struct wanted in_sliced[] = {
    {"p", TFD_INT32, sizeof(p_values), p_values},
};
static const struct wanted in_v1[] = {
    {"w", TFD_FLOAT, sizeof(w_values), w_values},
    {"i", TFD_INT32, sizeof(minus_five), &minus_five},
    {"s", TFD_STRING, 0, NULL},
    {"p", TFD_INT32, sizeof(p_values), p_values},
};

struct checkpoint {
    const char *file; /* the one that is damaged */
    const uint8_t *bytes;
    size_t size;
    const char *data_file; /* the one that is not; NULL: none */
    const uint8_t *data;
    size_t data_size;
    const struct wanted *wanted;
    size_t wanted_count;
};

static const struct checkpoint checkpoints[] = {
    {"x.index", small_index, sizeof(small_index), DATA, small_data,
     sizeof(small_data), in_small, COUNT(in_small)},
    {"x.index", sliced_index, sizeof(sliced_index), DATA, sliced_data,
     sizeof(sliced_data), in_sliced, COUNT(in_sliced)},
    {"x", v1_file, sizeof(v1_file), NULL, NULL, 0, in_v1, COUNT(in_v1)},
    {DATA, small_data, sizeof(small_data), "x.index", small_index,
     sizeof(small_index), in_small, COUNT(in_small)},
    {DATA, sliced_data, sizeof(sliced_data), "x.index", sliced_index,
     sizeof(sliced_index), in_sliced, COUNT(in_sliced)},
};

static bool is_wanted(const struct wanted *w, const struct tfd_tensor *t)
{
    static const char *const strings[] = {"x", "yy", ""};
    const struct tfd_tstring *e = tfd_tensor_data(t);

    if (t->dtype != w->dtype)
        return false;
    if (w->values)
        return tfd_tensor_size(t) == w->size &&
               (w->size == 0 ||
                memcmp(tfd_tensor_data(t), w->values, w->size) == 0);
    for (int i = 0; i < 3; i++)
        if (tfd_tensor_elements(t) != 3 ||
            !tfd_str_is(tfd_tstring_view(&e[i]), strings[i]))
            return false;
    return true;
}

/* Restores all; the number of tensors that could not be. */
static int failures(struct state *s, const struct checkpoint *c)
{
    int n = 0;

    for (size_t i = 0; i < c->wanted_count; i++) {
        struct tfd_tensor t;

        if (restore(s, c->wanted[i].name, "", c->wanted[i].dtype, &t) != TFD_OK)
            n++;
        else
            assert_true(is_wanted(&c->wanted[i], &t));
        tfd_tensor_unref(&t);
    }
    return n;
}

static void put_checkpoint(struct state *s, const struct checkpoint *c)
{
    memory_files_deinit(&s->m);
    memory_files_init(&s->m);
    if (c->data)
        memory_put(&s->m, c->data_file, c->data, c->data_size);
    memory_put(&s->m, c->file, c->bytes, c->size);
    assert_int_equal(failures(s, c), 0);
}

static void test_every_truncation_is_noticed(void **state)
{
    struct state *s = *state;

    for (size_t i = 0; i < COUNT(checkpoints); i++) {
        const struct checkpoint *c = &checkpoints[i];

        put_checkpoint(s, c);
        for (size_t cut = 0; cut < c->size; cut++) {
            memory_put(&s->m, c->file, c->bytes, cut);
            assert_true(failures(s, c) > 0);
        }
    }
}

static void test_every_flipped_bit_is_noticed_or_harmless(void **state)
{
    struct state *s = *state;

    for (size_t i = 0; i < COUNT(checkpoints); i++) {
        const struct checkpoint *c = &checkpoints[i];
        struct memory_file *f;
        int noticed = 0;

        put_checkpoint(s, c);
        f = memory_find(&s->m, tfd_str_of(c->file));
        for (size_t bit = 0; bit < 8 * c->size; bit++) {
            f->data.data[bit / 8] ^= (char)(1 << bit % 8);
            noticed += failures(s, c) > 0;
            f->data.data[bit / 8] ^= (char)(1 << bit % 8);
        }
        /* All but the empty metaindex and the padding of the footer. */
        assert_true(noticed >= (int)(8 * c->size) - 8 * 60);
        if (strcmp(c->file, DATA) == 0)
            assert_int_equal(noticed, 8 * c->size);
    }
}

/* ---- Made to do harm: the second format -------------------------------------
 */

struct table_entry {
    struct tfd_str key, value;
};

static enum tfd_code append(void *ctx, const void *data, size_t size,
                            struct tfd_status *st)
{
    tfd_bytes_add(ctx, data, size);
    return tfd_bytes_ok(ctx, "table", st);
}

static void put_table(struct state *s, const char *name,
                      const struct table_entry *entries, size_t count)
{
    struct memory_file *f = memory_put(&s->m, name, "", 0);
    struct tfd_table_writer w;

    tfd_table_writer_init(&w, append, &f->data);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            tfd_table_writer_add(&w, entries[i].key, entries[i].value, NULL),
            TFD_OK);
    assert_int_equal(tfd_table_writer_finish(&w, NULL), TFD_OK);
    tfd_table_writer_deinit(&w);
}

#define HEADER                            \
    {                                     \
        {"", 0},                          \
        {                                 \
            "\x08\x01\x1a\x02\x08\x01", 6 \
        }                                 \
    }
#define BYTES(literal)               \
    {                                \
        literal, sizeof(literal) - 1 \
    }

/* Entry "p" of an index with 32 bytes of data, asked for as int32. */
static const struct {
    struct tfd_str entry;
    enum tfd_code code;
    const char *text;
} bad_entries[] = {
    /* no type; unknown types; a reference */
    {BYTES(""), TFD_DATA_LOSS, "unknown type 0"},
    {BYTES("\x12\x04\x12\x02\x08\x02"), TFD_DATA_LOSS, "unknown type 0"},
    {BYTES("\x08\x8f\x4e"), TFD_DATA_LOSS, "unknown type 9999"},
    {BYTES("\x08\x67"), TFD_DATA_LOSS, "unknown type 103"},
    {BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), TFD_DATA_LOSS,
     "unknown type -1"},
    /* not a message */
    {BYTES("\x08"), TFD_DATA_LOSS, "not parseable"},
    {BYTES("\xff\xff\xff\xff"), TFD_DATA_LOSS, "not parseable"},
    {BYTES("\x08\x03\x12\x05"), TFD_DATA_LOSS, "not parseable"},
    {BYTES("\x0a\x01\x03"), TFD_DATA_LOSS, "not parseable"},
    /* dimension -1; unknown rank; nine dimensions of 0, which are legal, and
     * no checksum; 2^32 * 2^32 */
    {BYTES("\x08\x03\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff"
           "\xff\x01"),
     TFD_DATA_LOSS, "must be >= 0"},
    {BYTES("\x08\x03\x12\x02\x18\x01"), TFD_DATA_LOSS, "unknown rank"},
    {BYTES("\x08\x03\x12\x12\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0"
           "\x12\0\x12\0"),
     TFD_DATA_LOSS, "Checksum does not match"},
    {BYTES("\x08\x03\x12\x10\x12\x06\x08\x80\x80\x80\x80\x10\x12\x06\x08"
           "\x80\x80\x80\x80\x10"),
     TFD_DATA_LOSS, "2**63"},
    /* size missing; of 2^62 elements, which times 4 is 0; 2^40 bytes */
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02"), TFD_DATA_LOSS,
     "Invalid size in bundle entry: key p; stored size 0; expected size "
     "8"},
    {BYTES("\x08\x03\x12\x0c\x12\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80"
           "\x40"),
     TFD_DATA_LOSS, "Invalid size in bundle entry"},
    {BYTES("\x08\x03\x12\x09\x12\x07\x08\x80\x80\x80\x80\x80\x40\x28\x80"
           "\x80\x80\x80\x80\x80\x02"),
     TFD_OUT_OF_RANGE, "Read less bytes than requested"},
    /* negative shard, offset, size */
    {BYTES("\x08\x03\x12\0\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
           "\x28\x04"),
     TFD_DATA_LOSS, "shard -1"},
    {BYTES("\x08\x03\x12\0\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
           "\x28\x04"),
     TFD_DATA_LOSS, "offset -1"},
    {BYTES("\x08\x03\x12\0\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     TFD_DATA_LOSS, "size -1"},
    /* past the end of the data; past the largest offset */
    {BYTES("\x08\x03\x12\0\x20\x1d\x28\x04"), TFD_OUT_OF_RANGE,
     "Read less bytes than requested"},
    {BYTES("\x08\x03\x12\0\x20\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x28"
           "\x04"),
     TFD_OUT_OF_RANGE, "Read less bytes than requested"},
    /* a file that is not there; a wrong sum */
    {BYTES("\x08\x03\x12\0\x18\x07\x28\x04"), TFD_NOT_FOUND,
     "x.data-00007-of-00001; No such file or directory"},
    {BYTES("\x08\x03\x12\0\x28\x04"), TFD_DATA_LOSS,
     "TensorBundle at x shard 0 (4 bytes): Checksum does not match"},
    /* slices: start -1; no length; end past 2^63; length 0; beyond the
     * shape; other rank; not a message; twice; without their entry */
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x0f\x0a\x0d\x08\xff\xff"
           "\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01"),
     TFD_INVALID_ARGUMENT, "got start = -1, length = 1"},
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x04\x0a\x02\x08\x01"),
     TFD_INVALID_ARGUMENT, "got start = 1, length = -1"},
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x0e\x0a\x0c\x08\xff\xff"
           "\xff\xff\xff\xff\xff\xff\x7f\x10\x01"),
     TFD_INVALID_ARGUMENT, "Extent end exceeds the maximum possible size"},
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x04\x0a\x02\x10\0"),
     TFD_INVALID_ARGUMENT, "got start = 0, length = 0"},
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x04\x0a\x02\x10\x03"),
     TFD_INTERNAL, "Extent in dimension 0 out of bounds"},
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x04\x0a\0\x0a\0"),
     TFD_INTERNAL, "Mismatching ranks: shape = [2], slice = -:-"},
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x01\x0a"),
     TFD_INVALID_ARGUMENT, "TensorSliceProto"},
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x04\x0a\x02\x10\x01\x3a"
           "\x04\x0a\x02\x10\x01"),
     TFD_INTERNAL, "Overlapping slices"},
    {BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x04\x0a\x02\x10\x02"),
     TFD_NOT_FOUND, "not found in checkpoint"},
};

static void test_entries_that_make_no_sense(void **state)
{
    struct state *s = *state;
    char data[32] = {0};

    memory_put(&s->m, DATA, data, sizeof(data));
    for (size_t i = 0; i < COUNT(bad_entries); i++) {
        struct table_entry entries[] = {HEADER,
                                        {BYTES("p"), bad_entries[i].entry}};
        struct tfd_tensor t;

        put_table(s, "x.index", entries, COUNT(entries));
        assert_int_equal(restore(s, "p", "", TFD_INT32, &t),
                         bad_entries[i].code);
        assert_non_null(strstr(s->st.text, bad_entries[i].text));
    }
}

/* String tensor [2] over data whose lengths have a correct sum. */
static void test_strings_that_make_no_sense(void **state)
{
    static const struct {
        struct tfd_str lengths;
        uint32_t as_u32[2];
        struct tfd_str bytes;
        bool fits;
    } cases[] = {
        {BYTES("\1\2"), {1, 2}, BYTES("abc"), true},
        {BYTES("\1\3"), {1, 3}, BYTES("abc"), false},
        {BYTES("\0\x7f"), {0, 127}, BYTES("abc"), false},
        {BYTES("\xff\xff\xff\xff\x0f\1"), {UINT32_MAX, 1}, BYTES("abc"), false},
    };
    struct state *s = *state;

    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t sum = tfd_crc32c(cases[i].as_u32, 8);
        uint32_t stored = tfd_crc32c_mask(sum);
        struct table_entry entries[] = {HEADER, {BYTES("p"), {NULL, 0}}};
        struct tfd_bundle_entry e = {
            .dtype = TFD_STRING, .shape = {1, {2}}, .slices = TFD_STR_EMPTY};
        struct memory_file *f = memory_put(&s->m, DATA, cases[i].lengths.data,
                                           cases[i].lengths.size);
        struct tfd_bytes proto;
        struct tfd_tensor t;

        tfd_bytes_add(&f->data, &stored, 4);
        tfd_bytes_add_str(&f->data, cases[i].bytes);
        sum = tfd_crc32c_extend(sum, &stored, 4);
        sum = tfd_crc32c_extend(sum, cases[i].bytes.data, cases[i].bytes.size);
        e.size = f->data.size;
        e.crc32c = tfd_crc32c_mask(sum);
        tfd_bytes_init(&proto, 1000);
        tfd_bundle_entry_put(&proto, &e);
        entries[1].value = tfd_bytes_view(&proto);
        put_table(s, "x.index", entries, COUNT(entries));
        assert_int_equal(restore(s, "p", "", TFD_STRING, &t),
                         cases[i].fits ? TFD_OK : TFD_DATA_LOSS);
        tfd_tensor_unref(&t);
        tfd_bytes_deinit(&proto);
    }
}

/* More elements than bytes must not be believed. */
static void test_a_string_tensor_of_a_trillion_elements(void **state)
{
    static const char entry[] = "\x08\x07\x12\x09\x12\x07\x08\x80\x80\x80\x80"
                                "\x80\x40\x28\x20";
    struct table_entry entries[] = {HEADER, {BYTES("p"), BYTES(entry)}};
    struct state *s = *state;
    char data[32] = {0};
    struct tfd_tensor t;

    memory_put(&s->m, DATA, data, sizeof(data));
    put_table(s, "x.index", entries, COUNT(entries));
    assert_int_equal(restore(s, "p", "", TFD_STRING, &t), TFD_DATA_LOSS);
    assert_non_null(strstr(s->st.text, "expected size is at least"));
}

static void test_a_slice_of_another_shape_than_it_should_have(void **state)
{
    /* p: int32 [2] with slice 0,1; the slice's entry: int32 [2], int64 [1] */
    static const char whole[] = "\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x04\x0a"
                                "\x02\x10\x01";
    static const struct tfd_str slices[] = {
        BYTES("\x08\x03\x12\x04\x12\x02\x08\x02\x28\x08"),
        BYTES("\x08\x09\x12\x04\x12\x02\x08\x01\x28\x08"),
    };
    struct state *s = *state;
    char data[32] = {0};

    memory_put(&s->m, DATA, data, sizeof(data));
    for (size_t i = 0; i < COUNT(slices); i++) {
        struct table_entry entries[] = {
            HEADER,
            {BYTES("\0p\0\1\1\1\x80\x81"), slices[i]},
            {BYTES("p"), BYTES(whole)},
        };
        struct tfd_tensor t;

        put_table(s, "x.index", entries, COUNT(entries));
        assert_int_equal(restore(s, "p", "2 0,1", TFD_INT32, &t),
                         TFD_DATA_LOSS);
        assert_non_null(strstr(s->st.text, "another type or shape"));
    }
}

static void test_headers_that_are_refused(void **state)
{
    static const struct {
        struct tfd_str header;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {BYTES("\x08"), TFD_DATA_LOSS, "unable to parse header"},
        {BYTES("\x08\x01\x10\x01"), TFD_UNIMPLEMENTED, "big-endian"},
        {BYTES("\x08\x01\x1a\x02\x10\x02"), TFD_INVALID_ARGUMENT,
         "Checkpoint min consumer version 2 above current version 1"},
        {BYTES("\x08\x01\x1a\x03\x1a\x01\x01"), TFD_INVALID_ARGUMENT,
         "Checkpoint disallows consumer version 1"},
        {BYTES("\x08\x01\x1a\x02\x18\x01"), TFD_INVALID_ARGUMENT,
         "Checkpoint disallows consumer version 1"},
    };
    struct state *s = *state;

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct table_entry entries[] = {{BYTES(""), cases[i].header}};
        struct tfd_tensor t;

        put_table(s, "x.index", entries, COUNT(entries));
        assert_int_equal(restore(s, "p", "", TFD_INT32, &t), cases[i].code);
        assert_non_null(strstr(s->st.text, cases[i].text));
    }
    put_table(s, "x.index", NULL, 0);
    assert_int_equal(restore(s, "p", "", TFD_INT32, &(struct tfd_tensor){0}),
                     TFD_INTERNAL);
}

/* ---- Made to do harm: the first format --------------------------------------
 */

/* Tensor "p", int32 [2], stored whole; meta and data as given. */
#define META                                                        \
    "\x0a\x11\x0a\x0f\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x03\x22" \
    "\x02\x0a\0"
#define GOOD "\x12\x0d\x0a\x01p\x12\x02\x0a\0\x1a\x04\x3a\x02\x01\x02"
static const struct {
    struct tfd_str meta, data;
    enum tfd_code code;
    const char *text;
} v1_files[] = {
    {BYTES(META), BYTES(GOOD), TFD_OK, ""},
    {BYTES("\x0a"), BYTES(GOOD), TFD_INTERNAL,
     "Failed to find the saved tensor slices at the beginning of the "
     "checkpoint file: x"},
    {BYTES(""), BYTES(GOOD), TFD_NOT_FOUND, "Tensor name \"p\" not found"},
    {BYTES("\x0a\x04\x12\x02\x10\x02"), BYTES(GOOD), TFD_INVALID_ARGUMENT,
     "min consumer version 2"},
    /* type 99; no type; variant; slice of another rank */
    {BYTES("\x0a\x0d\x0a\x0b\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x63"),
     BYTES(GOOD), TFD_DATA_LOSS, "has type 99"},
    {BYTES("\x0a\x0b\x0a\x09\x0a\x01p\x12\x04\x12\x02\x08\x02"), BYTES(GOOD),
     TFD_DATA_LOSS, "has type 0"},
    {BYTES("\x0a\x0d\x0a\x0b\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x15"),
     BYTES(GOOD), TFD_DATA_LOSS, "has type 21"},
    {BYTES("\x0a\x0f\x0a\x0d\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x03\x22"
           "\0"),
     BYTES(GOOD), TFD_INTERNAL, "Mismatching ranks"},
    /* no slices; no value under the slice's key */
    {BYTES("\x0a\x0d\x0a\x0b\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x03"),
     BYTES(GOOD), TFD_INVALID_ARGUMENT, "Error copying slice data"},
    {BYTES("\x0a\x13\x0a\x11\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x03\x22"
           "\x04\x0a\x02\x10\x02"),
     BYTES(GOOD), TFD_DATA_LOSS, "lacks a slice of tensor p"},
    /* the same tensor again: overlapping, of another type, shape */
    {BYTES("\x0a\x22\x0a\x0f\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x03\x22"
           "\x02\x0a\0\x0a\x0f\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x03"
           "\x22\x02\x0a\0"),
     BYTES(GOOD), TFD_INTERNAL, "Overlapping slices"},
    {BYTES("\x0a\x1e\x0a\x0f\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x03\x22"
           "\x02\x0a\0\x0a\x0b\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x01"),
     BYTES(GOOD), TFD_INTERNAL, "Incompatible tensor types"},
    {BYTES("\x0a\x1e\x0a\x0f\x0a\x01p\x12\x04\x12\x02\x08\x02\x18\x03\x22"
           "\x02\x0a\0\x0a\x0b\x0a\x01p\x12\x04\x12\x02\x08\x03\x18\x03"),
     BYTES(GOOD), TFD_INTERNAL, "Incompatible tensor shapes"},
    /* values: none; too few; too many; single ones; cut; wrong wire */
    {BYTES(META), BYTES("\x12\x03\x0a\x01p"), TFD_DATA_LOSS,
     "slice of 2 elements has 0 bytes"},
    {BYTES(META), BYTES("\x12\x05\x1a\x03\x3a\x01\x01"), TFD_DATA_LOSS,
     "slice of 2 elements has 1 values"},
    {BYTES(META), BYTES("\x12\x07\x1a\x05\x3a\x03\x01\x02\x03"), TFD_DATA_LOSS,
     "do not fit"},
    {BYTES(META), BYTES("\x12\x06\x1a\x04\x38\x01\x38\x02"), TFD_OK, ""},
    {BYTES(META), BYTES("\x12\x08\x1a\x06\x38\x01\x38\x02\x38\x03"),
     TFD_DATA_LOSS, "do not fit"},
    {BYTES(META), BYTES("\x12\x06\x1a\x04\x3a\x02\x01\x80"), TFD_DATA_LOSS,
     "do not fit"},
    {BYTES(META), BYTES("\x12\x07\x1a\x05\x3d\0\0\0\0"), TFD_DATA_LOSS,
     "do not fit"},
    {BYTES(META), BYTES("\x12\x05\x1a\x03\x3a\x05\x01"), TFD_DATA_LOSS,
     "slice of 2 elements"},
    {BYTES(META), BYTES("\x12"), TFD_INVALID_ARGUMENT, "SavedTensorSlices"},
};

static void test_first_format_that_makes_no_sense(void **state)
{
    struct state *s = *state;

    for (size_t i = 0; i < COUNT(v1_files); i++) {
        struct table_entry entries[] = {
            {BYTES(""), v1_files[i].meta},
            {BYTES("\0p\0\1\1\1\x80\x7f"), v1_files[i].data},
        };
        struct tfd_tensor t;

        put_table(s, "x", entries, COUNT(entries));
        assert_int_equal(restore(s, "p", "", TFD_INT32, &t), v1_files[i].code);
        assert_non_null(strstr(s->st.text, v1_files[i].text));
        if (v1_files[i].code == TFD_OK)
            assert_memory_equal(tfd_tensor_data(&t), p_values, 8);
        tfd_tensor_unref(&t);
    }
}

static void test_a_file_that_is_no_table(void **state)
{
    struct state *s = *state;
    struct tfd_tensor t;
    char junk[100] = {1};

    memory_put(&s->m, "x", junk, sizeof(junk));
    assert_int_equal(restore(s, "p", "", TFD_INT32, &t), TFD_DATA_LOSS);
    assert_string_equal(s->st.text,
                        "Unable to open table file x: DATA_LOSS: not an "
                        "sstable (bad magic number): perhaps your file is in a "
                        "different file format and you need to use a different "
                        "restore operator?");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_truncation_is_noticed),
        TEST(test_every_flipped_bit_is_noticed_or_harmless),
        TEST(test_entries_that_make_no_sense),
        TEST(test_strings_that_make_no_sense),
        TEST(test_a_string_tensor_of_a_trillion_elements),
        TEST(test_a_slice_of_another_shape_than_it_should_have),
        TEST(test_headers_that_are_refused),
        TEST(test_first_format_that_makes_no_sense),
        TEST(test_a_file_that_is_no_table),
    };

    return cmocka_run_group_tests_name("bundle_damage", tests, NULL, NULL);
}
