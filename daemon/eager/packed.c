/*
 * packed.c - see packed.h.
 */
#include "daemon/eager/packed.h"

#include "common/base/pbio.h"
#include "common/proto/eager.pb.h"
#include "config/limits.h"
#include "daemon/eager/context.h"
#include "daemon/eager/operation.h"
#include "kernels/core/runtime.h"

#include <stdio.h>
#include <stdlib.h>

#define PACKED(field) tensorflow_eager_SendPackedHandleOp_##field##_tag
#define VALUE(field) tensorflow_eager_SendPackedHandleOp_Handle_##field##_tag
#define LOCAL(field) \
    tensorflow_eager_SendPackedHandleOp_LocalTensorHandle_##field##_tag
#define INPUT(field) tensorflow_eager_Operation_Input_##field##_tag

struct tfd_eager_packed *tfd_eager_packed_ref(struct tfd_eager_packed *p)
{
    p->refs++;
    return p;
}

void tfd_eager_packed_unref(struct tfd_eager_packed *p)
{
    if (!p || --p->refs > 0)
        return;
    for (int i = 0; i < p->count; i++) {
        tfd_tensor_unref(&p->values[i].value);
        tfd_bytes_deinit(&p->values[i].proto);
    }
    free(p);
}

/* ---- Values -------------------------------------------------------------- */

static enum tfd_code note_input(const struct tfd_eager_context *c,
                                struct tfd_eager_packed_value *v,
                                struct tfd_eager_input *input,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_eager_find_any_device(c, &input->device, st));
    snprintf(v->device, sizeof(v->device), TFD_STR_FMT,
             TFD_STR_ARG(input->device));
    v->dtype = input->dtype;
    tfd_bytes_add_str(&v->proto, input->proto);
    return tfd_bytes_ok(&v->proto, "a packed handle", st);
}

/* The program has the value, and says where it belongs. */
static enum tfd_code take_local(const struct tfd_eager_context *c,
                                const struct tfd_incoming *in,
                                struct tfd_str proto,
                                struct tfd_eager_packed_value *v,
                                struct tfd_status *st)
{
    struct tfd_eager_input input = {.device = TFD_STR_EMPTY};
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str tensor = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == LOCAL(tensor))
            tensor = tfd_pb_str(&r, &f);
        else if (f.tag == LOCAL(device))
            input.device = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "LocalTensorHandle", st));
    TFD_TRY(tfd_tensor_decode(in, tensor, tfd_handle_decode, &v->value, st));
    input.dtype = (int)v->value.dtype;
    return note_input(c, v, &input, st);
}

static enum tfd_code take_remote(const struct tfd_eager_context *c,
                                 struct tfd_str proto,
                                 struct tfd_eager_packed_value *v,
                                 struct tfd_status *st)
{
    struct tfd_eager_input input = {.device = TFD_STR_EMPTY};
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, proto.size + 16);
    tfd_pb_put_str_always(&b, INPUT(remote_handle), proto);
    input.proto = tfd_bytes_view(&b);
    rc = tfd_bytes_ok(&b, "a packed handle", st);
    if (rc == TFD_OK)
        rc = tfd_eager_operation_value(c, proto, &input, &v->value, st);
    if (rc == TFD_OK && input.packed)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "a packed handle in a packed handle");
    if (rc == TFD_OK)
        rc = note_input(c, v, &input, st);
    tfd_eager_packed_unref(input.packed);
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code take_value(const struct tfd_eager_context *c,
                                const struct tfd_incoming *in,
                                struct tfd_str proto,
                                struct tfd_eager_packed_value *v,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f, value = {.tag = 0};

    while (tfd_pb_next(&r, &f))
        if (f.tag == VALUE(local_handle) || f.tag == VALUE(remote_handle))
            value = f;
    if (value.tag)
        (void)tfd_pb_str(&r, &value);
    TFD_TRY(tfd_pb_end(&r, "SendPackedHandleOp.Handle", st));
    if (value.tag == VALUE(local_handle))
        return take_local(c, in, value.bytes, v, st);
    return take_remote(c, value.bytes, v, st);
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code count_values(struct tfd_str proto, int64_t *op,
                                  struct tfd_str *device, int *count,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == PACKED(op_id))
            *op = tfd_pb_int64(&r, &f);
        else if (f.tag == PACKED(device_name))
            *device = tfd_pb_str(&r, &f);
        else if (f.tag == PACKED(handles)) {
            (void)tfd_pb_str(&r, &f);
            ++*count;
        }
    }
    TFD_TRY(tfd_pb_end(&r, "SendPackedHandleOp", st));
    if (*count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Handles should not be empty.");
    if (*count > TFD_EAGER_PACKED_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a packed handle of %d values; %d are possible", *count,
                        TFD_EAGER_PACKED_MAX);
    return TFD_OK;
}

static enum tfd_code check_types(const struct tfd_eager_packed *p,
                                 struct tfd_status *st)
{
    for (int i = 1; i < p->count; i++)
        if (p->values[i].dtype != p->values[0].dtype)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Component tensors must have the same dtype for a "
                            "packed handle: value 0 is of type %d, value %d of "
                            "type %d",
                            p->values[0].dtype, i, p->values[i].dtype);
    return TFD_OK;
}

static enum tfd_code take_values(const struct tfd_eager_context *c,
                                 const struct tfd_incoming *in,
                                 struct tfd_str proto,
                                 struct tfd_eager_packed *p,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_eager_packed_value *v = &p->values[p->count];

        if (f.tag != PACKED(handles))
            continue;
        tfd_bytes_init(&v->proto, f.bytes.size + 16);
        v->value = (struct tfd_tensor)TFD_TENSOR_INIT;
        p->count++;
        TFD_TRY(take_value(c, in, f.bytes, v, st));
    }
    return check_types(p, st);
}

enum tfd_code tfd_eager_packed_decode(const struct tfd_eager_context *c,
                                      const struct tfd_incoming *in,
                                      struct tfd_str proto, int64_t *op,
                                      struct tfd_eager_packed **out,
                                      struct tfd_status *st)
{
    struct tfd_str device = TFD_STR_EMPTY;
    struct tfd_eager_packed *p;
    int count = 0;

    *op = 0;
    TFD_TRY(count_values(proto, op, &device, &count, st));
    p = calloc(1, sizeof(*p) + (size_t)count * sizeof(p->values[0]));
    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a packed handle");
    p->refs = 1;
    snprintf(p->device, sizeof(p->device), TFD_STR_FMT, TFD_STR_ARG(device));
    if (take_values(c, in, proto, p, st) != TFD_OK) {
        tfd_eager_packed_unref(p);
        return st ? st->code : TFD_INVALID_ARGUMENT;
    }
    *out = p;
    return TFD_OK;
}
