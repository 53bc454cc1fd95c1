/*
 * decode_proto.c - DecodeProtoV2: fields of messages as tensors.
 *
 * Each message is read twice: its values are counted, which gives the outputs'
 * shapes, [batch..., the most there are], and then written.  A message that has
 * fewer gets the field's default for the others; `sizes` says how many it has.
 *
 * Where a number comes packed though its field is no list, TensorFlow counts
 * one and leaves the default; a packed run of int32 that becomes int64 has no
 * sign there.  Both are as there.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/proto/canonical.h"
#include "kernels/proto/message_plan.h"
#include "kernels/proto/text.h"
#include "kernels/proto/wire.h"

#include "common/thread/halt.h"
#include "config/limits.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* One field, in the order of numbers. */
struct wanted {
    const struct tfd_proto_field *field;
    int output; /* its place among the values */
    enum tfd_dtype dtype;
    uint64_t absent; /* an element's bytes */
    int64_t most;    /* values that one message has */
    /* Of the message that is being read. */
    int64_t count;
    void *row;
};

struct decoder {
    struct tfd_kctx *k;
    const struct tfd_proto_plan *plan;
    struct wanted *wanted;
    bool is_filling; /* else it counts */
    struct tfd_status *st;
};

static enum tfd_code lost(struct decoder *d, const char *why)
{
    return tfd_fail(d->st, TFD_DATA_LOSS, "%s", why);
}

/* ---- Numbers ------------------------------------------------------------- */

static int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

/* The bits on the wire as an element's bytes. */
static uint64_t element_of(enum tfd_proto_type type, enum tfd_dtype dtype,
                           uint64_t bits, bool is_packed)
{
    uint32_t low = (uint32_t)bits;
    double wide;
    float value;

    switch (type) {
    case TFD_PROTO_FLOAT:
        if (dtype != TFD_DOUBLE)
            return low;
        memcpy(&value, &low, sizeof(value));
        wide = value;
        memcpy(&bits, &wide, sizeof(bits));
        return bits;
    case TFD_PROTO_INT32:
        return is_packed ? low : (uint64_t)(int64_t)(int32_t)low;
    case TFD_PROTO_SFIXED32:
        return (uint64_t)(int64_t)(int32_t)low;
    case TFD_PROTO_SINT32:
        return (uint64_t)unzigzag(low);
    case TFD_PROTO_SINT64:
        return (uint64_t)unzigzag(bits);
    case TFD_PROTO_UINT32:
    case TFD_PROTO_FIXED32:
        return low;
    case TFD_PROTO_BOOL:
        return bits != 0;
    default:
        return bits;
    }
}

static void put_proto_element(const struct wanted *w, int64_t at,
                              uint64_t element)
{
    memcpy(tfd_element_at(w->row, w->dtype, at), &element,
           tfd_dtype_size(w->dtype));
}

static bool take_wire_number(const struct tfd_proto_field *f,
                             struct tfd_proto_wire *w, uint64_t *out)
{
    const int wire = tfd_proto_type_wire(f->type);

    if (wire == TFD_PROTO_WIRE_VARINT)
        return tfd_proto_wire_varint(w, out);
    return tfd_proto_wire_fixed(w, wire == TFD_PROTO_WIRE_FIXED64 ? 8 : 4, out);
}

/* ---- Packed runs --------------------------------------------------------- */

static enum tfd_code count_run(struct decoder *d, struct wanted *w,
                               struct tfd_str run)
{
    const struct tfd_proto_field *f = w->field;
    const int wire = tfd_proto_type_wire(f->type);
    struct tfd_proto_wire in = tfd_proto_wire_of(run);
    const size_t width = wire == TFD_PROTO_WIRE_FIXED64 ? 8 : 4;
    uint64_t value;

    if (wire == TFD_PROTO_WIRE_GROUP)
        return lost(d, "TYPE_GROUP encountered as packed");
    if (wire != TFD_PROTO_WIRE_VARINT && run.size % width != 0)
        return tfd_fail(d->st, TFD_DATA_LOSS,
                        "Illegal data length for packed fixed-size type: %zu",
                        run.size);
    while (in.at < in.end) {
        if (!take_wire_number(f, &in, &value))
            return lost(d, "Corrupt packed varint");
        w->count++;
    }
    if (!f->is_repeated && w->count > 1)
        w->count = 1;
    return TFD_OK;
}

static enum tfd_code fill_run(struct decoder *d, struct wanted *w,
                              struct tfd_str run)
{
    const struct tfd_proto_field *f = w->field;
    struct tfd_proto_wire in = tfd_proto_wire_of(run);
    uint64_t value;

    if (w->count >= w->most)
        return tfd_fail(d->st, TFD_DATA_LOSS,
                        "ReadPackedValues: Tried to write more entries than "
                        "allowed.  Field tag: %d, Max entries allowed: %lld",
                        f->number, (long long)w->most);
    if (tfd_proto_type_wire(f->type) == TFD_PROTO_WIRE_GROUP)
        return lost(d, "Non-primitive type encountered as packed");
    while (f->is_repeated && in.at < in.end && take_wire_number(f, &in, &value))
        put_proto_element(w, w->count++,
                          element_of(f->type, w->dtype, value, true));
    return TFD_OK;
}

static enum tfd_code read_run(struct decoder *d, struct wanted *w,
                              struct tfd_proto_wire *in)
{
    struct tfd_str run;
    uint64_t size;

    if (!tfd_proto_wire_varint(in, &size) || size > INT_MAX)
        return lost(d, "CollectField: Failed reading packed size");
    if (size > (size_t)(in->end - in->at))
        return lost(d, "ReadPackedValues: Skipping packed field failed");
    run = (struct tfd_str){in->at, (size_t)size};
    in->at += size;
    if (d->is_filling)
        return fill_run(d, w, run);
    return size > 0 ? count_run(d, w, run) : TFD_OK;
}

/* ---- Values -------------------------------------------------------------- */

static enum tfd_code count_value(struct decoder *d, struct wanted *w,
                                 uint32_t tag, struct tfd_proto_wire *in)
{
    if (w->count == 0 || w->field->is_repeated)
        w->count++;
    if (!tfd_proto_wire_skip(in, tag, NULL))
        return lost(d, "ReadValue: Failed skipping field when counting");
    return TFD_OK;
}

static enum tfd_code fill_group(struct decoder *d, struct tfd_tstring *out,
                                uint32_t tag, struct tfd_proto_wire *in)
{
    struct tfd_bytes copy;
    enum tfd_code rc = TFD_OK;

    tfd_bytes_init(&copy, TFD_CONVERTED_SIZE_MAX);
    if (!tfd_proto_wire_skip(in, tag, &copy))
        rc = lost(d, "Failed reading group");
    rc = rc == TFD_OK ? tfd_bytes_ok(&copy, "a group", d->st) : rc;
    if (rc == TFD_OK)
        rc = tfd_tstring_set(out, tfd_bytes_view(&copy), d->st);
    tfd_bytes_deinit(&copy);
    return rc;
}

/* The second time all of it is there. */
static enum tfd_code fill_value(struct decoder *d, struct wanted *w,
                                uint32_t tag, struct tfd_proto_wire *in)
{
    const int64_t at = w->field->is_repeated ? w->count : 0;
    struct tfd_str bytes;
    uint64_t value;

    w->count = at + 1;
    if ((tag & 7) == TFD_PROTO_WIRE_GROUP)
        return fill_group(d, (struct tfd_tstring *)w->row + at, tag, in);
    if (w->dtype == TFD_STRING) {
        if (!tfd_proto_wire_bytes(in, &bytes))
            return lost(d, "Failed reading bytes");
        return tfd_tstring_set((struct tfd_tstring *)w->row + at, bytes, d->st);
    }
    if (!take_wire_number(w->field, in, &value))
        return lost(d, "Failed reading primitive");
    put_proto_element(w, at,
                      element_of(w->field->type, w->dtype, value, false));
    return TFD_OK;
}

static enum tfd_code visit_field(struct decoder *d, struct wanted *w,
                                 uint32_t tag, struct tfd_proto_wire *in)
{
    const int wire = tfd_proto_type_wire(w->field->type);

    if ((tag & 7) == TFD_PROTO_WIRE_BYTES && wire != TFD_PROTO_WIRE_BYTES)
        return read_run(d, w, in);
    if ((int)(tag & 7) == wire)
        return d->is_filling ? fill_value(d, w, tag, in)
                             : count_value(d, w, tag, in);
    if (!tfd_proto_wire_skip(in, tag, NULL))
        return lost(d, "CollectField: Failed skipping malformed field");
    return TFD_OK;
}

/* ---- Messages ------------------------------------------------------------ */

/* Of several with one number the first. */
static struct wanted *find_wanted(const struct decoder *d, uint32_t number)
{
    int low = 0, high = d->plan->count;

    while (low < high) {
        int mid = low + (high - low) / 2;

        if ((uint32_t)d->wanted[mid].field->number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low < d->plan->count &&
                   (uint32_t)d->wanted[low].field->number == number
               ? &d->wanted[low]
               : NULL;
}

static enum tfd_code visit_message(struct decoder *d, struct tfd_str message)
{
    struct tfd_proto_wire in = tfd_proto_wire_of(message);
    struct wanted *w = NULL;

    for (int i = 0; i < d->plan->count; i++)
        d->wanted[i].count = 0;
    while (in.at < in.end) {
        uint32_t tag = tfd_proto_wire_tag(&in);

        if (tag == 0 || (tag & 7) == TFD_PROTO_WIRE_GROUP_END)
            return lost(d, "CountFields: Failed to consume entire buffer");
        if (!w || (uint32_t)w->field->number != tag >> 3)
            w = find_wanted(d, tag >> 3);
        if (w)
            TFD_TRY(visit_field(d, w, tag, &in));
        else if (!tfd_proto_wire_skip(&in, tag, NULL))
            return lost(d, "Failed skipping unrequested field");
    }
    return TFD_OK;
}

static enum tfd_code count_message(struct decoder *d, int64_t number,
                                   struct tfd_str message)
{
    int32_t *sizes = tfd_tensor_data(&d->k->out[0]);

    TFD_TRY(visit_message(d, message));
    for (int i = 0; i < d->plan->count; i++) {
        struct wanted *w = &d->wanted[i];

        if (w->count > INT_MAX)
            return tfd_fail(d->st, TFD_INVALID_ARGUMENT,
                            "a field has %lld values; at most %d can be read",
                            (long long)w->count, INT_MAX);
        sizes[number * d->plan->count + w->output] = (int32_t)w->count;
        if (w->count > w->most)
            w->most = w->count;
    }
    return TFD_OK;
}

static enum tfd_code fill_absent(struct decoder *d, const struct wanted *w)
{
    for (int64_t i = w->count; i < w->most; i++) {
        if (w->dtype != TFD_STRING)
            put_proto_element(w, i, w->absent);
        else if (w->field->absent_text.size > 0)
            TFD_TRY(tfd_tstring_set((struct tfd_tstring *)w->row + i,
                                    w->field->absent_text, d->st));
    }
    return TFD_OK;
}

static enum tfd_code fill_message(struct decoder *d, int64_t number,
                                  struct tfd_str message)
{
    for (int i = 0; i < d->plan->count; i++) {
        struct wanted *w = &d->wanted[i];

        w->row = tfd_element_at(tfd_tensor_data(&d->k->out[1 + w->output]),
                                w->dtype, number * w->most);
    }
    TFD_TRY(visit_message(d, message));
    for (int i = 0; i < d->plan->count; i++)
        TFD_TRY(fill_absent(d, &d->wanted[i]));
    return TFD_OK;
}

/* ---- Batches ------------------------------------------------------------- */

static enum tfd_code make_proto_output(struct decoder *d, int output,
                                       int64_t last, enum tfd_dtype dtype)
{
    struct tfd_shape shape = d->k->in[0].shape;
    int64_t dim[TFD_RANK_MAX + 1];

    for (int i = 0; i < shape.rank && i < TFD_RANK_MAX; i++)
        dim[i] = shape.dim[i];
    dim[shape.rank] = last;
    TFD_TRY(tfd_shape_make(&shape, dim, shape.rank + 1, d->st));
    return tfd_kctx_output(d->k, output, dtype, &shape, d->st);
}

static enum tfd_code
read_batch(struct decoder *d, const struct tfd_tstring *messages, int64_t count)
{
    TFD_TRY(make_proto_output(d, 0, d->plan->count, TFD_INT32));
    for (int64_t i = 0; i < count && !tfd_halted(); i++)
        TFD_TRY(count_message(d, i, tfd_tstring_view(&messages[i])));
    for (int i = 0; i < d->plan->count; i++)
        TFD_TRY(make_proto_output(d, 1 + d->wanted[i].output, d->wanted[i].most,
                                  d->wanted[i].dtype));
    d->is_filling = true;
    for (int64_t i = 0; i < count && !tfd_halted(); i++)
        TFD_TRY(fill_message(d, i, tfd_tstring_view(&messages[i])));
    return TFD_OK;
}

/* What is text, or not to be trusted, is read from a copy in order. */
static enum tfd_code rewrite_message(struct decoder *d, bool is_text,
                                     struct tfd_str message,
                                     struct tfd_bytes *binary,
                                     struct tfd_tstring *out)
{
    const struct tfd_proto_plan *p = d->plan;
    struct tfd_status why = TFD_STATUS_INIT;
    enum tfd_code rc = TFD_OK;
    struct tfd_bytes copy;

    tfd_bytes_clear(binary);
    if (is_text) {
        rc = tfd_proto_text_read(&p->pool, p->message, message, binary, &why);
        message = tfd_bytes_view(binary);
    }
    tfd_bytes_init(&copy, TFD_CONVERTED_SIZE_MAX);
    if (rc == TFD_OK)
        rc = tfd_proto_canonical(&p->pool, p->message, message, is_text, &copy,
                                 &why);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(out, tfd_bytes_view(&copy), &why);
    tfd_bytes_deinit(&copy);
    if (rc == TFD_INVALID_ARGUMENT || rc == TFD_DATA_LOSS)
        return lost(d, is_text ? "Unable to parse text protobuf"
                               : "Unable to parse binary protobuf");
    return rc == TFD_OK ? rc : tfd_fail(d->st, rc, "%s", why.text);
}

static enum tfd_code rewrite_batch(struct decoder *d, bool is_text,
                                   struct tfd_tensor *out)
{
    const struct tfd_tstring *from = tfd_tensor_data(&d->k->in[0]);
    const int64_t count = tfd_tensor_elements(&d->k->in[0]);
    enum tfd_code rc = TFD_OK;
    struct tfd_bytes binary;
    struct tfd_tstring *to;

    TFD_TRY(tfd_tensor_new(out, TFD_STRING, &d->k->in[0].shape, d->st));
    to = tfd_tensor_data(out);
    tfd_bytes_init(&binary, TFD_CONVERTED_SIZE_MAX);
    for (int64_t i = 0; i < count && rc == TFD_OK && !tfd_halted(); i++)
        rc = rewrite_message(d, is_text, tfd_tstring_view(&from[i]), &binary,
                             &to[i]);
    tfd_bytes_deinit(&binary);
    return rc;
}

static enum tfd_code choose_format(const struct tfd_kctx *k, bool *is_text,
                                   bool *is_copied, struct tfd_status *st)
{
    struct tfd_str format;

    TFD_TRY(tfd_node_str(k->node, "message_format", &format, st));
    TFD_TRY(tfd_node_bool(k->node, "sanitize", is_copied, st));
    *is_text = tfd_str_is(format, "text");
    *is_copied = *is_copied || *is_text;
    if (!*is_text && !tfd_str_is(format, "binary"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "format must be one of binary or text");
    return TFD_OK;
}

/* ---- The op -------------------------------------------------------------- */

static enum tfd_code check_type(const struct tfd_kctx *k,
                                const struct tfd_proto_plan *p, int at,
                                struct tfd_status *st)
{
    const struct tfd_proto_field *f = p->fields[at];
    const int dtype = k->node->out_types[1 + at];
    struct tfd_str of = p->message->symbol.name;

    /* An extension's name is the full one. */
    if (f->name.size > 0 && memchr(f->name.data, '.', f->name.size))
        of.size = 0;
    if (tfd_proto_plan_fits(f->type, (enum tfd_dtype)dtype))
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Unexpected output type for " TFD_STR_FMT "%s" TFD_STR_FMT ": %s to %s",
        TFD_STR_ARG(of), of.size > 0 ? "." : "", TFD_STR_ARG(f->name),
        tfd_proto_type_kind(f->type), tfd_dtype_enum_name(dtype));
}

static enum tfd_code list_wanted(struct decoder *d)
{
    const struct tfd_proto_plan *p = d->plan;

    d->wanted = calloc((size_t)p->count + 1, sizeof(*d->wanted));
    if (!d->wanted)
        return tfd_fail(d->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %d fields", p->count);
    for (int i = 0; i < p->count; i++) {
        struct wanted *w = &d->wanted[i];

        w->output = p->order[i];
        w->field = p->fields[w->output];
        w->dtype = (enum tfd_dtype)d->k->node->out_types[1 + w->output];
        w->most = 1; /* the default of what no message has */
        w->absent = w->field->absent;
        if (w->field->type == TFD_PROTO_FLOAT)
            w->absent = element_of(TFD_PROTO_FLOAT, w->dtype, w->absent, false);
    }
    return TFD_OK;
}

static enum tfd_code decode_all(struct decoder *d, bool is_text, bool is_copied)
{
    const int64_t count = tfd_tensor_elements(&d->k->in[0]);
    struct tfd_tensor copies = TFD_TENSOR_INIT;
    const struct tfd_tensor *messages = &d->k->in[0];
    enum tfd_code rc = TFD_OK;

    if (is_copied) {
        rc = rewrite_batch(d, is_text, &copies);
        messages = &copies;
    }
    if (rc == TFD_OK)
        rc = read_batch(d, tfd_tensor_data(messages), count);
    tfd_tensor_unref(&copies);
    return rc;
}

static enum tfd_code decode_proto_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    struct decoder d = {.k = k, .st = st};
    bool is_text, is_copied;
    enum tfd_code rc;

    TFD_TRY(tfd_proto_plan_get(k, k->out_count - 1, check_type, &d.plan, st));
    TFD_TRY(choose_format(k, &is_text, &is_copied, st));
    if (tfd_tensor_elements(&k->in[0]) < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Bufs argument must contain at least one value");
    rc = list_wanted(&d);
    rc = rc == TFD_OK ? decode_all(&d, is_text, is_copied) : rc;
    free(d.wanted);
    return rc;
}

static enum tfd_code decode_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->out_count; i++) {
        s->out[i] = s->in[0];
        if (s->in[0].rank < 0 || s->in[0].rank >= TFD_RANK_MAX) {
            s->out[i] = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
            continue;
        }
        s->out[i].dim[s->out[i].rank++] =
            i == 0 ? s->out_count - 1 : TFD_DIM_UNKNOWN;
    }
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "DecodeProtoV2",
        .inputs = "bytes: string",
        .outputs = "sizes: int32, values: output_types",
        .attrs = "message_type: string; field_names: list(string); "
                 "output_types: list(type) >= 0; "
                 "descriptor_source: string = 'local://'; "
                 "message_format: string = 'binary'; sanitize: bool = false",
        .shape = decode_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DecodeProtoV2", decode_proto_compute,
                   .prepare = tfd_proto_plans_prepare,
                   .release = tfd_proto_plans_release,
                   .state_size = sizeof(struct tfd_proto_plans),
                   .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_decode_proto = {
    .name = "decode_proto",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
