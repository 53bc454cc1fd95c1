/*
 * operation.c - see operation.h.
 */
#include "daemon/eager/operation.h"

#include "common/proto/eager.pb.h"
#include "config/device_name.h"
#include "config/limits.h"
#include "common/resource/handle.h"
#include "daemon/eager/parts/tasks.h"
#include "daemon/eager/context.h"
#include "daemon/eager/packed.h"
#include "kernels/core/runtime.h"

#include <stdlib.h>
#include <string.h>

#define OP(field) tensorflow_eager_Operation_##field##_tag
#define INPUT(field) tensorflow_eager_Operation_Input_##field##_tag
#define HANDLE(field) tensorflow_eager_RemoteTensorHandle_##field##_tag

/* ---- Devices ------------------------------------------------------------- */

static const struct tfd_device_attributes *
match_device(const struct tfd_eager_context *c, struct tfd_str name)
{
    struct tfd_device_name wanted, have;

    if (name.size == 0 || tfd_device_name_parse(name, &wanted, NULL) != TFD_OK)
        return NULL;
    for (int i = 0; i < c->device_count; i++)
        if (tfd_device_name_parse(tfd_str_of(c->devices[i].name), &have,
                                  NULL) == TFD_OK &&
            tfd_device_name_covers(&wanted, &have))
            return &c->devices[i];
    return NULL;
}

static enum tfd_code unknown_device(const struct tfd_eager_context *c,
                                    struct tfd_str name, bool specified,
                                    struct tfd_status *st)
{
    struct tfd_device_name parsed;

    if (!specified)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        TFD_STR_FMT " unknown device.", TFD_STR_ARG(name));
    if (tfd_device_name_parse(name, &parsed, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Malformed device specification '" TFD_STR_FMT
                        "' in eager op",
                        TFD_STR_ARG(name));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Could not satisfy device specification '" TFD_STR_FMT
                    "'. enable_soft_placement=0. Supported device types [CPU]. "
                    "All available devices [%s%s].",
                    TFD_STR_ARG(name), c->devices[0].name,
                    c->device_count > 1 ? ", ..." : "");
}

enum tfd_code tfd_eager_find_device(const struct tfd_eager_context *c,
                                    struct tfd_str name, bool specified,
                                    const struct tfd_device_attributes **out,
                                    struct tfd_status *st)
{
    *out = name.size ? match_device(c, name) : &c->devices[0];
    return *out ? TFD_OK : unknown_device(c, name, specified, st);
}

enum tfd_code tfd_eager_find_any_device(const struct tfd_eager_context *c,
                                        struct tfd_str *name,
                                        struct tfd_status *st)
{
    if (name->size == 0 || match_device(c, *name)) {
        *name = TFD_STR_EMPTY;
        return TFD_OK;
    }
    return tfd_eager_tasks_find(c->tasks, *name) >= 0
               ? TFD_OK
               : unknown_device(c, *name, false, st);
}

/* ---- Inputs -------------------------------------------------------------- */

/* What cannot be had must not look like a value that got lost, which makes a
 * coordinator try again. */
enum tfd_code tfd_eager_operation_here(const struct tfd_eager_context *c,
                                       const struct tfd_eager_operation *o,
                                       struct tfd_status *st)
{
    for (int i = 0; i < o->in_count; i++) {
        if (o->inputs[i].packed)
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Resolve() is not supported on packed TensorHandles.");
        if (o->inputs[i].device.size > 0)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            TFD_STR_FMT " on %s has a value on " TFD_STR_FMT
                                        ": it must be here",
                            TFD_STR_ARG(o->name), c->task,
                            TFD_STR_ARG(o->inputs[i].device));
    }
    return TFD_OK;
}

bool tfd_eager_operation_spans(const struct tfd_eager_operation *o)
{
    bool spans = false;

    for (int i = 0; i < o->in_count; i++) {
        if (o->inputs[i].packed)
            return false;
        spans |= o->inputs[i].device.size > 0;
    }
    return spans;
}

struct named_value {
    struct tfd_str device, op_device;
    int64_t op;
    int32_t output;
    int dtype;
};

static enum tfd_code decode_handle(struct tfd_str proto, struct named_value *v,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *v = (struct named_value){.device = TFD_STR_EMPTY,
                              .op_device = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == HANDLE(device))
            v->device = tfd_pb_str(&r, &f);
        else if (f.tag == HANDLE(op_device))
            v->op_device = tfd_pb_str(&r, &f);
        else if (f.tag == HANDLE(op_id))
            v->op = tfd_pb_int64(&r, &f);
        else if (f.tag == HANDLE(output_num))
            v->output = tfd_pb_int32(&r, &f);
        else if (f.tag == HANDLE(dtype))
            v->dtype = tfd_pb_int32(&r, &f);
    }
    return tfd_pb_end(&r, "RemoteTensorHandle", st);
}

/* Says why there is no value, where its operation has failed. */
static enum tfd_code find_value(const struct tfd_eager_context *c, int64_t op,
                                int32_t output, struct tfd_tensor *out,
                                struct tfd_status *st)
{
    enum tfd_code rc = tfd_eager_handles_get(&c->handles, op, output, out, st);
    const struct tfd_status *why =
        rc == TFD_OK
            ? NULL
            : tfd_eager_failures_find(&c->failures, op, c->handles.made);

    if (!why)
        return rc;
    tfd_status_clear(st);
    return tfd_status_copy(st, why);
}

/* Where a value lies counts; if that is nowhere, who made it. */
enum tfd_code tfd_eager_operation_value(const struct tfd_eager_context *c,
                                        struct tfd_str proto,
                                        struct tfd_eager_input *input,
                                        struct tfd_tensor *out,
                                        struct tfd_status *st)
{
    struct named_value v;

    TFD_TRY(decode_handle(proto, &v, st));
    input->dtype = v.dtype;
    input->device = v.device;
    if (!match_device(c, v.op_device) ||
        tfd_eager_tasks_find(c->tasks, v.device) >= 0)
        TFD_TRY(tfd_eager_find_any_device(c, &input->device, st));
    else
        input->device = TFD_STR_EMPTY;
    if (input->device.size > 0)
        return TFD_OK;
    input->packed = tfd_eager_handles_packed(&c->handles, v.op, v.output);
    if (input->packed) {
        tfd_eager_packed_ref(input->packed);
        return TFD_OK;
    }
    TFD_TRY(find_value(c, v.op, v.output, out, st));
    input->dtype = (int)out->dtype;
    return TFD_OK;
}

static enum tfd_code decode_input(const struct tfd_eager_context *c,
                                  const struct tfd_incoming *in,
                                  struct tfd_eager_input *input,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(input->proto);
    struct tfd_pb_field f, value = {.tag = 0};

    while (tfd_pb_next(&r, &f))
        if (f.tag == INPUT(remote_handle) || f.tag == INPUT(tensor))
            value = f;
    if (value.tag)
        (void)tfd_pb_str(&r, &value);
    TFD_TRY(tfd_pb_end(&r, "Operation.Input", st));
    if (value.tag == INPUT(remote_handle))
        return tfd_eager_operation_value(c, value.bytes, input, out, st);
    if (value.tag == INPUT(tensor)) {
        TFD_TRY(tfd_tensor_decode(in, value.bytes, tfd_handle_decode, out, st));
        input->dtype = (int)out->dtype;
        return TFD_OK;
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "an input without a value");
}

/* A function is cut where its resources are, wherever their handles lie. */
static void find_resource(const struct tfd_eager_context *c,
                          const struct tfd_tensor *t,
                          struct tfd_eager_input *input)
{
    const struct tfd_handle *h;
    int device;

    if (t->dtype != TFD_RESOURCE || tfd_shape_elements(&t->shape) != 1)
        return;
    h = *(struct tfd_handle *const *)tfd_tensor_data(t);
    if (!h || h->device.size == 0 || match_device(c, h->device))
        return;
    device = tfd_eager_tasks_find(c->tasks, h->device);
    if (device >= 0 && c->tasks->devices.devices[device].worker > 0)
        input->device = h->device;
}

/* ---- Attributes ---------------------------------------------------------- */

static int compare_attrs(const void *a, const void *b)
{
    const struct tfd_attr *x = a, *y = b;

    return tfd_str_cmp(x->name, y->name);
}

static enum tfd_code sort_attrs(struct tfd_eager_operation *o,
                                struct tfd_status *st)
{
    if (o->attr_count > 1)
        qsort(o->attrs, (size_t)o->attr_count, sizeof(*o->attrs),
              compare_attrs);
    for (int i = 1; i < o->attr_count; i++)
        if (tfd_str_eq(o->attrs[i - 1].name, o->attrs[i].name))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "attribute " TFD_STR_FMT " comes twice",
                            TFD_STR_ARG(o->attrs[i].name));
    return TFD_OK;
}

static enum tfd_code decode_attr(struct tfd_eager_operation *o,
                                 struct tfd_str entry, struct tfd_status *st)
{
    struct tfd_pb_entry e;

    if (!tfd_pb_map_entry(entry, &e))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unable to parse Operation");
    o->attrs[o->attr_count++] = (struct tfd_attr){e.key, e.value};
    return TFD_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static void take_field(struct tfd_eager_operation *o, struct tfd_pb_reader *r,
                       const struct tfd_pb_field *f)
{
    switch (f->tag) {
    case OP(id):
        o->id = tfd_pb_int64(r, f);
        break;
    case OP(name):
        o->name = tfd_pb_str(r, f);
        break;
    case OP(device):
        o->device = tfd_pb_str(r, f);
        break;
    case OP(is_component_function):
        o->is_component = tfd_pb_bool(r, f);
        break;
    case OP(func_step_id):
        o->step_id = tfd_pb_int64(r, f);
        break;
    case OP(is_function):
        o->is_function = tfd_pb_bool(r, f);
        break;
    default:
        break;
    }
}

/* How much there is of what follows in numbers. */
static enum tfd_code count_parts(struct tfd_str proto,
                                 struct tfd_eager_operation *o, int *in_count,
                                 int *attr_count, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == OP(op_inputs) || f.tag == OP(attrs))
            (void)tfd_pb_str(&r, &f);
        *in_count += f.tag == OP(op_inputs);
        *attr_count += f.tag == OP(attrs);
        take_field(o, &r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "Operation", st));
    if (*in_count > TFD_EAGER_INPUTS_MAX || *attr_count > TFD_EAGER_ATTRS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "an operation with %d inputs and %d attributes; %d and "
                        "%d are possible",
                        *in_count, *attr_count, TFD_EAGER_INPUTS_MAX,
                        TFD_EAGER_ATTRS_MAX);
    return TFD_OK;
}

/* More values than there are arguments. */
static enum tfd_code make_room(struct tfd_eager_operation *o, int more,
                               struct tfd_status *st)
{
    size_t room = (size_t)o->room + (size_t)more;
    struct tfd_eager_input *inputs;
    struct tfd_tensor *in;

    if (room > TFD_EAGER_INPUTS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "an operation on %zu values; %d are possible", room,
                        TFD_EAGER_INPUTS_MAX);
    in = realloc(o->in, (room + 1) * sizeof(*in));
    if (in)
        o->in = in;
    inputs = realloc(o->inputs, (room + 1) * sizeof(*inputs));
    if (inputs)
        o->inputs = inputs;
    if (!in || !inputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an operation");
    o->room = (int)room;
    return TFD_OK;
}

static enum tfd_code add_packed(struct tfd_eager_operation *o,
                                struct tfd_eager_packed *take_p,
                                struct tfd_status *st)
{
    if (make_room(o, take_p->count - 1, st) != TFD_OK) {
        tfd_eager_packed_unref(take_p);
        return st ? st->code : TFD_INVALID_ARGUMENT;
    }
    for (int i = 0; i < take_p->count; i++) {
        const struct tfd_eager_packed_value *v = &take_p->values[i];

        o->in[o->in_count] = tfd_tensor_ref(&v->value);
        o->inputs[o->in_count++] = (struct tfd_eager_input){
            .proto = tfd_bytes_view(&v->proto),
            .device = tfd_str_of(v->device),
            .dtype = v->dtype,
            .arg = o->arg_count,
            .packed = i == 0 ? take_p : tfd_eager_packed_ref(take_p),
        };
    }
    return TFD_OK;
}

static enum tfd_code add_input(const struct tfd_eager_context *c,
                               const struct tfd_incoming *in,
                               struct tfd_str proto,
                               struct tfd_eager_operation *o,
                               struct tfd_status *st)
{
    struct tfd_eager_input input = {
        .proto = proto,
        .device = TFD_STR_EMPTY,
        .arg = o->arg_count,
    };
    struct tfd_tensor value = TFD_TENSOR_INIT;

    TFD_TRY(decode_input(c, in, &input, &value, st));
    if (input.packed) {
        TFD_TRY(add_packed(o, input.packed, st));
    } else {
        if (o->is_function && !o->is_component)
            find_resource(c, &value, &input);
        o->in[o->in_count] = value;
        o->inputs[o->in_count++] = input;
    }
    o->arg_count++;
    return TFD_OK;
}

static enum tfd_code decode_parts(struct tfd_eager_context *c,
                                  const struct tfd_incoming *in,
                                  struct tfd_str proto,
                                  struct tfd_eager_operation *o,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == OP(attrs))
            TFD_TRY(decode_attr(o, f.bytes, st));
        else if (f.tag == OP(op_inputs))
            TFD_TRY(add_input(c, in, f.bytes, o, st));
    }
    TFD_TRY(sort_attrs(o, st));
    return tfd_eager_find_device(c, o->device, true, &o->on, st);
}

enum tfd_code tfd_eager_operation_decode(struct tfd_eager_context *c,
                                         const struct tfd_incoming *in,
                                         struct tfd_str proto,
                                         struct tfd_eager_operation *out,
                                         struct tfd_status *st)
{
    int in_count = 0, attr_count = 0;
    enum tfd_code rc;

    *out = (struct tfd_eager_operation){.name = TFD_STR_EMPTY,
                                        .device = TFD_STR_EMPTY};
    rc = count_parts(proto, out, &in_count, &attr_count, st);
    if (rc != TFD_OK)
        out->id = TFD_EAGER_NOT_KEPT;
    TFD_TRY(rc);
    out->room = in_count;
    out->in = calloc((size_t)in_count + 1, sizeof(*out->in));
    out->inputs = calloc((size_t)in_count + 1, sizeof(*out->inputs));
    out->attrs = calloc((size_t)attr_count + 1, sizeof(*out->attrs));
    if (out->in && out->inputs && out->attrs)
        rc = decode_parts(c, in, proto, out, st);
    else
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an operation");
    if (rc != TFD_OK)
        tfd_eager_operation_deinit(out);
    return rc;
}

void tfd_eager_operation_deinit(struct tfd_eager_operation *o)
{
    for (int i = 0; i < o->in_count; i++) {
        tfd_tensor_unref(&o->in[i]);
        tfd_eager_packed_unref(o->inputs[i].packed);
    }
    free(o->in);
    free(o->inputs);
    free(o->attrs);
    o->in = NULL;
    o->inputs = NULL;
    o->attrs = NULL;
    o->in_count = o->arg_count = o->attr_count = 0;
}
