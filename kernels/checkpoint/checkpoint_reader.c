/*
 * checkpoint_reader.c - the choice between the formats, and the checks whose
 * texts differ between them.
 */
#include "kernels/checkpoint/checkpoint_reader.h"

enum tfd_code tfd_checkpoint_reader_open(struct tfd_checkpoint_reader *r,
                                         struct tfd_file_access *access,
                                         struct tfd_str prefix,
                                         struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;
    enum tfd_code rc;

    r->v1 = false;
    rc = tfd_bundle_reader_open(&r->u.bundle, access, prefix, &cause);
    if (!tfd_file_is_missing(access, prefix, rc))
        return tfd_status_copy(st, &cause);
    r->v1 = true;
    return tfd_slices_reader_open(&r->u.slices, access, prefix, st);
}

void tfd_checkpoint_reader_close(struct tfd_checkpoint_reader *r)
{
    if (r->v1)
        tfd_slices_reader_close(&r->u.slices);
    else
        tfd_bundle_reader_close(&r->u.bundle);
}

enum tfd_code tfd_checkpoint_reader_find(struct tfd_checkpoint_reader *r,
                                         struct tfd_str name,
                                         enum tfd_dtype *dtype,
                                         struct tfd_shape *shape,
                                         struct tfd_status *st)
{
    struct tfd_bundle_entry e;

    if (r->v1)
        return tfd_slices_reader_find(&r->u.slices, name, dtype, shape, st);
    TFD_TRY(tfd_bundle_reader_find(&r->u.bundle, name, &e, st));
    *dtype = e.dtype;
    *shape = e.shape;
    return TFD_OK;
}

static enum tfd_code fail_dtype(const struct tfd_checkpoint_reader *r,
                                struct tfd_str name, enum tfd_dtype want,
                                enum tfd_dtype have, struct tfd_status *st)
{
    if (r->v1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected to restore a tensor of type %s, got a tensor "
                        "of type %s instead: tensor_name = " TFD_STR_FMT,
                        tfd_dtype_name(want), tfd_dtype_name(have),
                        TFD_STR_ARG(name));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "tensor_name = " TFD_STR_FMT "; expected dtype %s does not "
                    "equal original dtype %s",
                    TFD_STR_ARG(name), tfd_dtype_name(want),
                    tfd_dtype_name(have));
}

static enum tfd_code fail_shape(const struct tfd_checkpoint_reader *r,
                                struct tfd_str name,
                                const struct tfd_shape *want,
                                const struct tfd_shape *have,
                                struct tfd_status *st)
{
    char want_text[TFD_SHAPE_TEXT_MAX], have_text[TFD_SHAPE_TEXT_MAX];

    tfd_shape_text(want, want_text);
    tfd_shape_text(have, have_text);
    if (r->v1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape in shape_and_slice spec does not match the "
                        "shape in the save file: %s, save file shape: %s",
                        want_text, have_text);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "tensor_name = " TFD_STR_FMT "; shape in shape_and_slice "
                    "spec %s does not match the shape stored in checkpoint: %s",
                    TFD_STR_ARG(name), want_text, have_text);
}

enum tfd_code tfd_checkpoint_reader_restore(struct tfd_checkpoint_reader *r,
                                            struct tfd_str name,
                                            struct tfd_str shape_and_slice,
                                            enum tfd_dtype dtype,
                                            struct tfd_tensor *out,
                                            struct tfd_status *st)
{
    struct tfd_tensor_slice slice, *want = NULL;
    struct tfd_shape stored, whole, piece;
    enum tfd_dtype have;

    TFD_TRY(tfd_checkpoint_reader_find(r, name, &have, &stored, st));
    if (have != dtype)
        return fail_dtype(r, name, dtype, have, st);
    if (shape_and_slice.size > 0) {
        TFD_TRY(tfd_tensor_slice_parse(shape_and_slice, &whole, &slice, &piece,
                                       st));
        if (!tfd_shape_equal(&whole, &stored))
            return fail_shape(r, name, &whole, &stored, st);
        want = &slice;
    }
    return r->v1 ? tfd_slices_reader_read(&r->u.slices, name, want, out, st)
                 : tfd_bundle_reader_read(&r->u.bundle, name, want, out, st);
}
