/*
 * summary.c - ScalarSummary, TensorSummary, TensorSummaryV2, MergeSummary;
 * WriteScalarSummary and WriteSummary, which write the same to an event file;
 * and what summary.h declares.
 */
#include "kernels/text/event_writer.h"
#include "kernels/text/summary.h"

#include "common/base/half.h"
#include "common/proto/summary.pb.h"
#include "common/proto/tensor_proto.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"

#include "common/base/map.h"
#include "common/proto/tensor.pb.h"

#define VALUE_TAG(name) tensorflow_Summary_Value_##name##_tag

/* ---- The shared part ----------------------------------------------------- */

void tfd_summary_begin(struct tfd_summary *s)
{
    tfd_bytes_init(&s->bytes, (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
}

size_t tfd_summary_value(struct tfd_summary *s, struct tfd_str tag)
{
    size_t mark = tfd_pb_begin(&s->bytes, tensorflow_Summary_value_tag);

    tfd_pb_put_str(&s->bytes, VALUE_TAG(tag), tag);
    return mark;
}

size_t tfd_summary_value_of(struct tfd_summary *s, struct tfd_str tag,
                            const char *kind, int64_t index, int64_t max)
{
    size_t mark = tfd_pb_begin(&s->bytes, tensorflow_Summary_value_tag);
    size_t name = tfd_pb_begin(&s->bytes, VALUE_TAG(tag));

    tfd_bytes_add_str(&s->bytes, tag);
    tfd_bytes_printf(&s->bytes, "/%s", kind);
    if (max > 1)
        tfd_bytes_printf(&s->bytes, "/%lld", (long long)index);
    tfd_pb_finish(&s->bytes, name);
    return mark;
}

#define TAKEN_SIZE_MIN 65536 /* bytes that a copy is too long for */

enum tfd_code tfd_summary_end(struct tfd_summary *s, struct tfd_kctx *k,
                              enum tfd_code rc, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&s->bytes, "a summary", st);
    if (rc == TFD_OK)
        rc = tfd_kctx_output(k, 0, TFD_STRING, &scalar, st);
    if (rc == TFD_OK && s->bytes.size >= TAKEN_SIZE_MIN) {
        tfd_tstring_take(tfd_tensor_data(&k->out[0]), s->bytes.data,
                         s->bytes.size, s->bytes.capacity);
        tfd_bytes_init(&s->bytes, 0);
    } else if (rc == TFD_OK) {
        rc = tfd_tstring_set(tfd_tensor_data(&k->out[0]),
                             tfd_bytes_view(&s->bytes), st);
    }
    tfd_bytes_deinit(&s->bytes);
    return rc;
}

enum tfd_code tfd_summary_tag(const struct tfd_kctx *k, int in,
                              const char *what, struct tfd_str *out,
                              struct tfd_status *st)
{
    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be %sscalar", what,
                        what[0] == 'T' ? "a " : "");
    *out = tfd_tstring_view(tfd_tensor_data(&k->in[in]));
    return TFD_OK;
}

bool tfd_summary_is_message(struct tfd_str bytes)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        continue;
    return !r.failed;
}

#define NUMBER(name, number, T)                           \
    static double number_##name(const void *x, int64_t i) \
    {                                                     \
        return (double)((const T *)x)[i];                 \
    }
#define NUMBER_HALF(name, number, T)                      \
    static double number_##name(const void *x, int64_t i) \
    {                                                     \
        return (double)T##_to_float(((const T *)x)[i]);   \
    }

TFD_REAL_DTYPES(NUMBER)
TFD_HALF_DTYPES(NUMBER_HALF)

static double (*const numbers[TFD_DTYPE_END])(const void *x, int64_t i) = {
#define X(name, number, T) [number] = number_##name,
    TFD_REAL_DTYPES(X) TFD_HALF_DTYPES(X)
#undef X
};

double tfd_summary_number(const struct tfd_tensor *t, int64_t i)
{
    return numbers[t->dtype](tfd_tensor_data(t), i);
}

/* ---- ScalarSummary ------------------------------------------------------- */

static enum tfd_code check_tags(const struct tfd_tensor *tags,
                                const struct tfd_tensor *values,
                                struct tfd_status *st)
{
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    const struct tfd_tstring *tag = tfd_tensor_data(tags);
    struct tfd_str name;

    if (tfd_shape_equal(&tags->shape, &values->shape))
        return TFD_OK;
    tfd_shape_text(&tags->shape, one);
    tfd_shape_text(&values->shape, other);
    if (tfd_tensor_elements(tags) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tags and values are not the same shape: %s != %s", one,
                        other);
    name = tfd_tstring_view(tag);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "tags and values are not the same shape: %s != %s "
                    "(tag '" TFD_STR_FMT "')",
                    one, other, TFD_STR_ARG(name));
}

/* The value is the member of a oneof: written when it is zero, too. */
static void put_simple_value(struct tfd_bytes *b, float value)
{
    uint32_t bits = tfd_half_float_bits(value);
    char *at;

    tfd_pb_put_varint(b, VALUE_TAG(simple_value) << 3 | TFD_PB_FIXED32);
    at = tfd_bytes_extend(b, sizeof(bits));
    for (size_t i = 0; at && i < sizeof(bits); i++)
        at[i] = (char)(uint8_t)(bits >> (8 * i));
}

static enum tfd_code scalar_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tstring *tags = tfd_tensor_data(&k->in[0]);
    int64_t n = tfd_tensor_elements(&k->in[1]);
    struct tfd_summary s;

    TFD_TRY(check_tags(&k->in[0], &k->in[1], st));
    tfd_summary_begin(&s);
    for (int64_t i = 0; i < n; i++) {
        size_t mark = tfd_summary_value(&s, tfd_tstring_view(&tags[i]));

        put_simple_value(&s.bytes, (float)tfd_summary_number(&k->in[1], i));
        tfd_pb_finish(&s.bytes, mark);
    }
    return tfd_summary_end(&s, k, TFD_OK, st);
}

static void put_tensor_value(struct tfd_bytes *b, struct tfd_str tag,
                             const struct tfd_tensor *t,
                             const struct tfd_str *metadata);

/* In a database a scalar keeps its type. */
static enum tfd_code write_scalar_to_db(struct tfd_kctx *k, struct tfd_str tag,
                                        struct tfd_status *st)
{
    /* SummaryMetadata { plugin_data { plugin_name: "scalars" } } */
    const struct tfd_str metadata = TFD_STR("\n\t\n\7scalars");
    struct tfd_tensor first = k->in[3];
    struct tfd_summary s;

    first.shape = (struct tfd_shape){.rank = 0};
    tfd_summary_begin(&s);
    put_tensor_value(&s.bytes, tag, &first, &metadata);
    return tfd_event_put_summary(k, &s, TFD_OK, st);
}

/* All that is asked of the value is that there is one. */
static enum tfd_code write_scalar_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    struct tfd_summary s;
    struct tfd_str tag;
    size_t mark;

    TFD_TRY(tfd_check_str(k, 2, &tag, st));
    if (tfd_tensor_elements(&k->in[3]) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "value of summary " TFD_STR_FMT " has no elements",
                        TFD_STR_ARG(tag));
    if (tfd_event_is_for_db(k))
        return write_scalar_to_db(k, tag, st);
    if (k->in[3].dtype == TFD_BFLOAT16)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "SummaryFileWriter bfloat16 not supported.");
    tfd_summary_begin(&s);
    mark = tfd_summary_value(&s, tag);
    put_simple_value(&s.bytes, (float)tfd_summary_number(&k->in[3], 0));
    tfd_pb_finish(&s.bytes, mark);
    return tfd_event_put_summary(k, &s, TFD_OK, st);
}

/* ---- TensorSummary ------------------------------------------------------- */

/* Of a message with a tensor; only how many digits it has counts. */
static size_t likely_size(const struct tfd_tensor *t)
{
    return tfd_dtype_is_pod(t->dtype) ? tfd_tensor_size(t) : 0;
}

/* Strings as string_val, numbers as tensor_content. */
static void put_tensor(struct tfd_bytes *b, const struct tfd_tensor *t)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);
    const size_t likely = likely_size(t);
    size_t mark = tfd_pb_begin_large(b, VALUE_TAG(tensor), likely);

    if (t->dtype != TFD_STRING) {
        tfd_tensor_proto_encode(b, t, tfd_handle_encode);
    } else {
        tfd_tensor_proto_encode_head(b, t);
        for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
            tfd_pb_put_str_always(b, tensorflow_TensorProto_string_val_tag,
                                  tfd_tstring_view(&s[i]));
    }
    tfd_pb_finish_large(b, mark, likely);
}

/* What stands around the elements of a large tensor, tag and metadata aside. */
#define AROUND_SIZE 4096

/* Room for all of a large value at once: for the few bytes behind its elements
 * they would be moved, and twice as much memory taken. */
static void make_value_room(struct tfd_bytes *b, size_t likely,
                            struct tfd_str tag, const struct tfd_str *metadata)
{
    size_t size =
        likely + tag.size + (metadata ? metadata->size : 0) + AROUND_SIZE;

    if (likely >= TAKEN_SIZE_MIN && size <= b->max - b->size &&
        tfd_bytes_extend(b, size))
        b->size -= size;
}

/* A value that is the tensor itself; metadata that is no message is none. */
static void put_tensor_value(struct tfd_bytes *b, struct tfd_str tag,
                             const struct tfd_tensor *t,
                             const struct tfd_str *metadata)
{
    const size_t likely = likely_size(t);
    size_t mark;

    make_value_room(b, likely, tag, metadata);
    mark = tfd_pb_begin_large(b, tensorflow_Summary_value_tag, likely);
    tfd_pb_put_str(b, VALUE_TAG(tag), tag);
    put_tensor(b, t);
    if (metadata)
        tfd_pb_put_str_always(
            b, VALUE_TAG(metadata),
            tfd_summary_is_message(*metadata) ? *metadata : TFD_STR_EMPTY);
    tfd_pb_finish_large(b, mark, likely);
}

static enum tfd_code tensor_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_str tag, metadata;
    struct tfd_summary s;

    TFD_TRY(tfd_summary_tag(k, 0, "tag", &tag, st));
    TFD_TRY(
        tfd_summary_tag(k, 2, "serialized_summary_metadata", &metadata, st));
    tfd_summary_begin(&s);
    put_tensor_value(&s.bytes, tag, &k->in[1], &metadata);
    return tfd_summary_end(&s, k, TFD_OK, st);
}

static enum tfd_code write_tensor_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    struct tfd_str tag, metadata;
    struct tfd_summary s;

    TFD_TRY(tfd_check_str(k, 3, &tag, st));
    TFD_TRY(tfd_check_str(k, 4, &metadata, st));
    if (!tfd_summary_is_message(metadata) && tfd_event_is_for_db(k)) {
        TFD_TRY(tfd_summary_db_check(k->in[2].dtype, st));
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Bad serialized_metadata");
    }
    tfd_summary_begin(&s);
    put_tensor_value(&s.bytes, tag, &k->in[2],
                     metadata.size > 0 ? &metadata : NULL);
    return tfd_event_put_summary(k, &s, TFD_OK, st);
}

/* The first version has no tag: the value is the node's. */
static enum tfd_code named_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_summary s;
    size_t mark;

    tfd_summary_begin(&s);
    mark = tfd_pb_begin(&s.bytes, tensorflow_Summary_value_tag);
    tfd_pb_put_str(&s.bytes, VALUE_TAG(node_name), k->node->name);
    put_tensor(&s.bytes, &k->in[0]);
    tfd_pb_finish(&s.bytes, mark);
    return tfd_summary_end(&s, k, TFD_OK, st);
}

/* ---- MergeSummary -------------------------------------------------------- */

static enum tfd_code note_tag(struct tfd_map *seen, struct tfd_str value,
                              struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(value);
    struct tfd_str tag = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    uintptr_t found;

    while (tfd_pb_next(&r, &f))
        if (f.tag == VALUE_TAG(tag))
            tag = tfd_pb_str(&r, &f);
    if (r.failed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Could not parse one of the summary inputs");
    if (tag.size == 0) /* of TensorSummary: nothing to tell apart by */
        return TFD_OK;
    if (tfd_map_get(seen, tag, &found))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Duplicate tag " TFD_STR_FMT
                        " found in summary inputs ",
                        TFD_STR_ARG(tag));
    if (!tfd_map_put(seen, tag, 1))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the tags of a summary");
    return TFD_OK;
}

static enum tfd_code merge_one(struct tfd_summary *s, struct tfd_map *seen,
                               struct tfd_str summary, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(summary);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_str value;

        if (f.tag != tensorflow_Summary_value_tag)
            continue;
        value = tfd_pb_str(&r, &f);
        if (r.failed)
            break;
        TFD_TRY(note_tag(seen, value, st));
        tfd_pb_put_str_always(&s->bytes, tensorflow_Summary_value_tag, value);
    }
    if (r.failed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Could not parse one of the summary inputs");
    return TFD_OK;
}

static enum tfd_code merge_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    struct tfd_summary s;
    struct tfd_map seen;

    tfd_map_init(&seen);
    tfd_summary_begin(&s);
    for (int i = 0; i < k->in_count && rc == TFD_OK; i++) {
        const struct tfd_tstring *in = tfd_tensor_data(&k->in[i]);
        int64_t n = tfd_tensor_elements(&k->in[i]);

        for (int64_t j = 0; j < n && rc == TFD_OK; j++)
            rc = merge_one(&s, &seen, tfd_tstring_view(&in[j]), st);
    }
    tfd_map_deinit(&seen);
    return tfd_summary_end(&s, k, rc, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ScalarSummary",
        .inputs = "tags: string, values: T",
        .outputs = "summary: string",
        .attrs = "T: realnumbertype",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "TensorSummaryV2",
        .inputs = "tag: string, tensor: T, serialized_summary_metadata: string",
        .outputs = "summary: string",
        .attrs = "T: type",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "TensorSummary",
        .inputs = "tensor: T",
        .outputs = "summary: string",
        .attrs = "T: type; description: string = ''; "
                 "labels: list(string) = []; display_name: string = ''",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "MergeSummary",
        .inputs = "inputs: N * string",
        .outputs = "summary: string",
        .attrs = "N: int >= 1",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "WriteScalarSummary",
        .inputs = "writer: resource, step: int64, tag: string, value: T",
        .outputs = "",
        .attrs = "T: realnumbertype",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "WriteSummary",
        .inputs = "writer: resource, step: int64, tensor: T, tag: string, "
                  "summary_metadata: string",
        .outputs = "",
        .attrs = "T: type",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define SCALAR(name, number, T)                                      \
    TFD_KERNEL("ScalarSummary", name, scalar_compute),               \
        TFD_KERNEL("WriteScalarSummary", name, write_scalar_compute, \
                   .flags = TFD_KERNEL_BLOCKS),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(SCALAR) TFD_HALF_DTYPES(SCALAR) TFD_KERNEL_ANY(
        "WriteSummary", write_tensor_compute, .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("TensorSummaryV2", tensor_compute),
    TFD_KERNEL_ANY("TensorSummary", named_compute),
    TFD_KERNEL_ANY("MergeSummary", merge_compute),
};

const struct tfd_family tfd_family_summary = {
    .name = "summary",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
