/*
 * compressed_element.c - CompressElement and UncompressElement: an element of a
 * dataset as the bytes of one message, TensorFlow's CompressedElement:
 *
 *     1  data      all components one after the other, compressed by Snappy:
 *                  numbers as they lie in memory; strings as their bytes,
 * without lengths; other types as a TensorProto 2  metadata  of each component:
 * 1 type  2 shape  4 sizes of its parts 3  version   0
 *
 * A component has one part, and a string tensor one for each string; numbers
 * that are none have no part.
 */
#include "kernels/data/shapes.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include "common/base/variant.h"
#include "config/limits.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

enum element_tag { TAG_DATA = 1, TAG_METADATA = 2, TAG_VERSION = 3 };
enum metadata_tag { TAG_DTYPE = 1, TAG_SHAPE = 2, TAG_SIZES = 4 };

/* The densest element of Snappy, a copy of 64 bytes, takes three. */
#define SNAPPY_RATIO_MAX 32

/* ---- Compressing --------------------------------------------------------- */

static void put_strings(struct tfd_bytes *plain, struct tfd_bytes *sizes,
                        const struct tfd_tensor *t)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);

    for (int64_t i = 0; i < tfd_tensor_elements(t); i++) {
        struct tfd_str view = tfd_tstring_view(&s[i]);

        tfd_bytes_add_str(plain, view);
        tfd_pb_put_varint(sizes, view.size);
    }
}

static void put_proto(struct tfd_bytes *plain, struct tfd_bytes *sizes,
                      const struct tfd_tensor *t)
{
    size_t before = plain->size;

    tfd_tensor_proto_encode(plain, t, NULL);
    tfd_pb_put_varint(sizes, plain->size - before);
}

static void put_component(struct tfd_bytes *plain, struct tfd_bytes *message,
                          struct tfd_bytes *sizes, const struct tfd_tensor *t)
{
    size_t mark = tfd_pb_begin(message, TAG_METADATA), inner;

    tfd_bytes_clear(sizes);
    if (t->dtype == TFD_STRING) {
        put_strings(plain, sizes, t);
    } else if (!tfd_dtype_is_pod(t->dtype)) {
        put_proto(plain, sizes, t);
    } else if (tfd_tensor_size(t) > 0) {
        tfd_bytes_add(plain, tfd_tensor_data(t), tfd_tensor_size(t));
        tfd_pb_put_varint(sizes, tfd_tensor_size(t));
    }
    message->failed |= sizes->failed;
    tfd_pb_put_int(message, TAG_DTYPE, (int64_t)t->dtype);
    inner = tfd_pb_begin(message, TAG_SHAPE);
    tfd_tensor_proto_shape_encode(message, &t->shape);
    tfd_pb_finish(message, inner);
    tfd_pb_put_str(message, TAG_SIZES, tfd_bytes_view(sizes));
    tfd_pb_finish(message, mark);
}

static enum tfd_code put_packed(struct tfd_bytes *message,
                                struct tfd_bytes *plain, struct tfd_status *st)
{
    size_t size = snappy_max_compressed_length(plain->size);
    struct tfd_bytes packed;
    char *to;

    tfd_bytes_init(&packed, SIZE_MAX);
    to = tfd_bytes_extend(&packed, size);
    if (to && snappy_compress(plain->data, plain->size, to, &size) == SNAPPY_OK)
        tfd_pb_put_str(message, TAG_DATA, (struct tfd_str){to, size});
    else
        message->failed = true;
    tfd_bytes_deinit(&packed);
    return tfd_bytes_ok(message, "a compressed element", st);
}

static enum tfd_code compress(const struct tfd_kctx *k,
                              struct tfd_bytes *message, struct tfd_status *st)
{
    struct tfd_bytes plain, sizes, metadata;
    enum tfd_code rc;

    tfd_bytes_init(&plain, UINT32_MAX); /* Snappy's */
    tfd_bytes_init(&sizes, SIZE_MAX);
    tfd_bytes_init(&metadata, SIZE_MAX);
    (void)tfd_bytes_extend(&plain, 0);
    for (int i = 0; i < k->in_count; i++)
        put_component(&plain, &metadata, &sizes, &k->in[i]);
    rc = tfd_bytes_ok(&plain, "an element", st);
    if (rc == TFD_OK)
        rc = put_packed(message, &plain, st);
    message->failed |= metadata.failed;
    tfd_bytes_add_str(message, tfd_bytes_view(&metadata));
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(message, "a compressed element", st);
    tfd_bytes_deinit(&plain);
    tfd_bytes_deinit(&sizes);
    tfd_bytes_deinit(&metadata);
    return rc;
}

/* What stays in its task, handles and datasets, cannot be written down. */
static enum tfd_code check_component(const struct tfd_tensor *t,
                                     struct tfd_status *st)
{
    struct tfd_variant *const *v = tfd_tensor_data(t);

    if (t->dtype == TFD_RESOURCE)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a handle of a resource cannot be compressed");
    for (int64_t i = 0; t->dtype == TFD_VARIANT && i < tfd_tensor_elements(t);
         i++)
        if (!v[i] || v[i]->kind == TFD_VARIANT_OBJECT)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "a variant that stays in its task cannot be "
                            "compressed");
    return TFD_OK;
}

static enum tfd_code compress_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor text = TFD_TENSOR_INIT;
    struct tfd_variant *v = NULL;
    struct tfd_bytes message;
    enum tfd_code rc;

    for (int i = 0; i < k->in_count; i++)
        TFD_TRY(check_component(&k->in[i], st));
    TFD_TRY(tfd_tensor_new(&text, TFD_STRING, &scalar, st));
    tfd_bytes_init(&message, SIZE_MAX);
    rc = compress(k, &message, st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(tfd_tensor_data(&text), tfd_bytes_view(&message),
                             st);
    if (rc == TFD_OK)
        rc = tfd_variant_holding(TFD_VARIANT_COMPRESSED, &text, 1, &v, st);
    tfd_bytes_deinit(&message);
    tfd_tensor_unref(&text);
    return rc == TFD_OK ? tfd_variant_tensor(v, &k->out[0], st) : rc;
}

/* ---- Uncompressing ------------------------------------------------------- */

struct component {
    enum tfd_dtype dtype;
    struct tfd_shape shape;
    struct tfd_str sizes; /* packed */
    uint64_t size, parts; /* the sum of the sizes, their number */
};

struct unpacking {
    struct tfd_str data;  /* compressed */
    struct component *of; /* each output's */
    int count;            /* of components; there may be more than outputs */
    uint64_t sum;         /* of the sizes of all of them */
    int64_t version;
    struct tfd_bytes plain;
    size_t at; /* in `plain` */
};

static enum tfd_code damaged(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INTERNAL, "a CompressedElement that is damaged");
}

static enum tfd_code count_sizes(struct component *c, struct tfd_status *st)
{
    struct tfd_str rest = c->sizes;
    uint64_t size;

    c->size = c->parts = 0;
    while (tfd_pb_packed_varint(&rest, &size)) {
        if (size > UINT32_MAX || c->size > UINT32_MAX)
            return damaged(st);
        c->size += size;
        c->parts++;
    }
    return rest.size ? damaged(st) : TFD_OK;
}

static enum tfd_code read_component(struct tfd_str proto, struct component *c,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str shape = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int64_t dtype = 0;

    *c = (struct component){.sizes = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG_DTYPE)
            dtype = tfd_pb_int64(&r, &f);
        else if (f.tag == TAG_SHAPE)
            shape = tfd_pb_str(&r, &f);
        else if (f.tag == TAG_SIZES)
            c->sizes = tfd_pb_str(&r, &f);
    }
    if (tfd_pb_end(&r, "CompressedComponentMetadata", NULL) != TFD_OK ||
        dtype <= 0 || dtype >= TFD_DTYPE_END || !tfd_dtype_valid((int)dtype) ||
        tfd_tensor_proto_shape_decode(shape, &c->shape, NULL) != TFD_OK ||
        tfd_shape_elements(&c->shape) < 0)
        return damaged(st);
    c->dtype = (enum tfd_dtype)dtype;
    return count_sizes(c, st);
}

static enum tfd_code read_message(const struct tfd_kctx *k,
                                  struct tfd_str message, struct unpacking *u,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    struct component c;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG_DATA)
            u->data = tfd_pb_str(&r, &f);
        else if (f.tag == TAG_VERSION)
            u->version = tfd_pb_int64(&r, &f);
        if (f.tag != TAG_METADATA)
            continue;
        TFD_TRY(read_component(tfd_pb_str(&r, &f), &c, st));
        if (u->count < k->out_count)
            u->of[u->count] = c;
        u->sum += c.size;
        u->count++;
    }
    if (tfd_pb_end(&r, "CompressedElement", NULL) != TFD_OK)
        return damaged(st);
    if (u->version != 0)
        return tfd_fail(st, TFD_INTERNAL,
                        "Unsupported compressed element version: %lld",
                        (long long)u->version);
    return TFD_OK;
}

static bool parts_fit(const struct component *c)
{
    uint64_t elements = (uint64_t)tfd_shape_elements(&c->shape);

    if (c->dtype == TFD_STRING)
        return c->parts == elements;
    if (!tfd_dtype_is_pod(c->dtype))
        return c->parts == 1;
    return elements <= UINT32_MAX &&
           c->size == elements * tfd_dtype_size(c->dtype);
}

static enum tfd_code uncompress(struct unpacking *u, struct tfd_status *st)
{
    size_t size;
    char *to;

    if (snappy_uncompressed_length(u->data.data, u->data.size, &size) !=
        SNAPPY_OK)
        return tfd_fail(st, TFD_INTERNAL,
                        "Could not get snappy uncompressed length. Compressed "
                        "data size: %zu",
                        u->data.size);
    if (size != u->sum)
        return tfd_fail(st, TFD_INTERNAL,
                        "Uncompressed size mismatch. Snappy expects %zu "
                        "whereas the tensor metadata suggests %llu",
                        size, (unsigned long long)u->sum);
    if (size / SNAPPY_RATIO_MAX > u->data.size)
        return tfd_fail(st, TFD_INTERNAL,
                        "Failed to perform snappy decompression.");
    to = tfd_bytes_extend(&u->plain, size + 1);
    TFD_TRY(tfd_bytes_ok(&u->plain, "an element", st));
    if (snappy_uncompress(u->data.data, u->data.size, to, &size) != SNAPPY_OK)
        return tfd_fail(st, TFD_INTERNAL,
                        "Failed to perform snappy decompression.");
    return TFD_OK;
}

static enum tfd_code take_strings(struct unpacking *u,
                                  const struct component *c,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tstring *s = tfd_tensor_data(out);
    struct tfd_str rest = c->sizes;
    uint64_t size;

    for (; tfd_pb_packed_varint(&rest, &size); s++) {
        TFD_TRY(tfd_tstring_set(
            s, (struct tfd_str){u->plain.data + u->at, (size_t)size}, st));
        u->at += (size_t)size;
    }
    return TFD_OK;
}

static enum tfd_code take_proto(struct unpacking *u, const struct component *c,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_str proto = {u->plain.data + u->at, (size_t)c->size};
    struct tfd_tensor_head head;

    u->at += (size_t)c->size;
    if (tfd_tensor_proto_head(proto, &head, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INTERNAL, "Could not parse TensorProto");
    if (head.dtype != c->dtype || head.shape.rank > TFD_RANK_MAX ||
        tfd_tensor_proto_decode(&head, NULL, out, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INTERNAL, "Could not parse Tensor");
    return TFD_OK;
}

static enum tfd_code take_component(struct unpacking *u,
                                    const struct component *c,
                                    struct tfd_tensor *out,
                                    struct tfd_status *st)
{
    if (c->dtype != TFD_STRING && !tfd_dtype_is_pod(c->dtype))
        return take_proto(u, c, out, st);
    TFD_TRY(tfd_tensor_new(out, c->dtype, &c->shape, st));
    if (c->dtype == TFD_STRING)
        return take_strings(u, c, out, st);
    if (c->size > 0)
        memcpy(tfd_tensor_data(out), u->plain.data + u->at, (size_t)c->size);
    u->at += (size_t)c->size;
    if (c->dtype == TFD_BOOL)
        tfd_tensor_normalize_bools(out);
    return TFD_OK;
}

static enum tfd_code check_components(const struct tfd_kctx *k,
                                      const struct unpacking *u,
                                      struct tfd_status *st)
{
    for (int i = 0; i < k->out_count; i++) {
        const int want = k->node->out_types[i];

        if ((int)u->of[i].dtype != want)
            return tfd_fail(st, TFD_FAILED_PRECONDITION,
                            "Expected a tensor of type %s but got a tensor of "
                            "type %s",
                            tfd_dtype_name(want),
                            tfd_dtype_name((int)u->of[i].dtype));
        if (!parts_fit(&u->of[i]))
            return damaged(st);
    }
    return TFD_OK;
}

static enum tfd_code unpack_message(struct tfd_kctx *k, struct tfd_str message,
                                    struct unpacking *u, struct tfd_status *st)
{
    TFD_TRY(read_message(k, message, u, st));
    TFD_TRY(uncompress(u, st));
    if (u->count != k->out_count)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "Expected %d outputs from uncompress, but got %d",
                        k->out_count, u->count);
    TFD_TRY(check_components(k, u, st));
    for (int i = 0; i < k->out_count; i++)
        TFD_TRY(take_component(u, &u->of[i], &k->out[i], st));
    return TFD_OK;
}

static const char *other_text(const struct tfd_variant *v)
{
    if (!v)
        return "<>";
    if (v->kind == TFD_VARIANT_LIST)
        return "<TensorList>";
    if (v->kind == TFD_VARIANT_OPTIONAL)
        return v->has_value ? "<OptionalVariant<...>>"
                            : "<OptionalVariant<None>>";
    return v->object ? v->object->type->name : "<Tensor>";
}

static enum tfd_code uncompress_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    const struct tfd_variant *v;
    struct unpacking u = {.data = TFD_STR_EMPTY};
    enum tfd_code rc;

    if (k->in[0].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "UncompressElement requires its input to be a scalar, "
                        "but encountered an input with %d dimensions.",
                        k->in[0].shape.rank);
    v = tfd_variant_of(&k->in[0]);
    if (!v || v->kind != TFD_VARIANT_COMPRESSED)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input does not contain a compressed element. Instead "
                        "got tensor Tensor<type: variant shape: [] values: "
                        "%s>",
                        other_text(v));
    u.of = calloc((size_t)k->out_count + 1, sizeof(*u.of));
    if (!u.of)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an element");
    tfd_bytes_init(&u.plain, (size_t)UINT32_MAX + 1);
    rc = unpack_message(k, tfd_tstring_view(tfd_tensor_data(&v->tensors[0])),
                        &u, st);
    tfd_bytes_deinit(&u.plain);
    free(u.of);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "CompressElement",
        .inputs = "components: input_types",
        .outputs = "compressed: variant",
        .attrs = "input_types: list(type) >= 1",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "UncompressElement",
        .inputs = "compressed: variant",
        .outputs = "components: output_types",
        .attrs = "output_types: list(type) >= 1; output_shapes: list(shape) "
                 ">= 1",
        .shape = tfd_data_shape_components,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("CompressElement", compress_compute,
                   .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("UncompressElement", uncompress_compute,
                   .flags = TFD_KERNEL_HEAVY),
};

const struct tfd_family tfd_family_compressed_element = {
    .name = "compressed_element",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
