/*
 * serialized.c - SerializeTensor and ParseTensor: a tensor as the bytes of its
 * TensorProto, numbers as they lie in memory, strings one by one.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/parse/base64_text.h"

#include "common/proto/tensor.pb.h"
#include "common/proto/tensor_proto.h"
#include "config/limits.h"

#define TAG(name) tensorflow_TensorProto_##name##_tag

/* ---- Out ----------------------------------------------------------------- */

static void put_tensor(struct tfd_bytes *b, const struct tfd_tensor *t)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);

    if (t->dtype != TFD_STRING) {
        tfd_tensor_proto_encode(b, t, NULL);
        return;
    }
    tfd_tensor_proto_encode_head(b, t);
    for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
        tfd_pb_put_str_always(b, TAG(string_val), tfd_tstring_view(&s[i]));
}

static enum tfd_code serialize_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_bytes b;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar, st));
    tfd_bytes_init(&b, (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
    put_tensor(&b, &k->in[0]);
    rc = tfd_bytes_ok(&b, "a TensorProto", st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(tfd_tensor_data(&k->out[0]), tfd_bytes_view(&b),
                             st);
    tfd_bytes_deinit(&b);
    return rc;
}

/* ---- In ------------------------------------------------------------------ */

/* All fields have an end, and so have those within the ones with this tag. */
static bool is_whole(struct tfd_str text, uint32_t tag,
                     bool (*is_inner)(struct tfd_str text))
{
    struct tfd_pb_reader r = tfd_pb_reader_of(text);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire == TFD_PB_BYTES && !is_inner(f.bytes))
            return false;
    return !r.failed;
}

static bool is_dim(struct tfd_str text)
{
    return is_whole(text, 0, NULL);
}

static bool is_shape(struct tfd_str text)
{
    return is_whole(text, tensorflow_TensorShapeProto_dim_tag, is_dim);
}

static bool is_message(struct tfd_str text)
{
    return is_whole(text, TAG(tensor_shape), is_shape);
}

/* Of it as many bytes as an error has room for. */
#define SHOWN_SIZE_MAX 768

static enum tfd_code no_message(struct tfd_str text, struct tfd_status *st)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
    if (text.size > SHOWN_SIZE_MAX)
        text.size = SHOWN_SIZE_MAX;
    tfd_base64_encode(&b, text, true);
    (void)!tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Could not parse `serialized` as TensorProto, base64: " TFD_STR_FMT,
        TFD_STR_ARG(tfd_bytes_view(&b)));
    tfd_bytes_deinit(&b);
    return TFD_INVALID_ARGUMENT;
}

static enum tfd_code parse_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const enum tfd_dtype want = (enum tfd_dtype)k->node->out_types[0];
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_tensor_head head;
    struct tfd_str text;

    TFD_TRY(tfd_check_str(k, 0, &text, st));
    if (!is_message(text))
        return no_message(text, st);
    if (tfd_tensor_proto_head(text, &head, &why) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot parse tensor from proto: %s", why.text);
    if (head.shape.rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a parsed tensor of %d dimensions; at most %d can be",
                        head.shape.rank, TFD_RANK_MAX);
    if (head.dtype != want)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Type mismatch between parsed tensor (%s) and dtype "
                        "(%s)",
                        tfd_dtype_name((int)head.dtype),
                        tfd_dtype_name((int)want));
    if (tfd_tensor_proto_decode(&head, NULL, &k->out[0], &why) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st,
                    why.code == TFD_RESOURCE_EXHAUSTED ? TFD_RESOURCE_EXHAUSTED
                                                       : TFD_INVALID_ARGUMENT,
                    "Cannot parse tensor from proto: %s", why.text);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SerializeTensor",
        .inputs = "tensor: T",
        .outputs = "serialized: string",
        .attrs = "T: type",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ParseTensor",
        .inputs = "serialized: string",
        .outputs = "output: out_type",
        .attrs = "out_type: type",
        .checks = "serialized: scalar 'Expected `serialized` to be a scalar, "
                  "got shape: %s'",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SerializeTensor", serialize_compute,
                   .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("ParseTensor", parse_compute, .flags = TFD_KERNEL_HEAVY),
};

const struct tfd_family tfd_family_serialized = {
    .name = "serialized",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
