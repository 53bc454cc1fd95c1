/*
 * slice_set.c - a list; tensors have few slices, and one that has many is
 * restored in as many steps.
 */
#include "kernels/checkpoint/slice_set.h"

#include <assert.h>
#include <stdlib.h>

void tfd_slice_set_init(struct tfd_slice_set *s, enum tfd_dtype dtype,
                        const struct tfd_shape *shape)
{
    *s = (struct tfd_slice_set){.dtype = dtype, .shape = *shape};
}

void tfd_slice_set_deinit(struct tfd_slice_set *s)
{
    free(s->slices);
    s->slices = NULL;
    s->count = s->capacity = 0;
}

static enum tfd_code grow_slice_set(struct tfd_slice_set *s,
                                    struct tfd_status *st)
{
    size_t capacity = s->capacity ? 2 * s->capacity : 4;
    struct tfd_tensor_slice *slices;

    if (s->count < s->capacity)
        return TFD_OK;
    if (s->count == TFD_SLICE_SET_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "tensor of more than %d slices", TFD_SLICE_SET_MAX);
    slices = realloc(s->slices, capacity * sizeof(*slices));
    if (!slices)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "out of memory for %zu slices", capacity);
    s->slices = slices;
    s->capacity = capacity;
    return TFD_OK;
}

enum tfd_code tfd_slice_set_add(struct tfd_slice_set *s,
                                const struct tfd_tensor_slice *slice,
                                struct tfd_status *st)
{
    char old[TFD_SLICE_TEXT_MAX], new[TFD_SLICE_TEXT_MAX];
    struct tfd_shape piece;

    TFD_TRY(tfd_tensor_slice_shape(slice, &s->shape, &piece, st));
    for (size_t i = 0; i < s->count; i++)
        if (tfd_tensor_slice_intersect(&s->slices[i], slice, NULL))
            return tfd_fail(st, TFD_INTERNAL,
                            "Overlapping slices: existing slice = %s, new "
                            "slice = %s",
                            tfd_tensor_slice_text(&s->slices[i], old),
                            tfd_tensor_slice_text(slice, new));
    TFD_TRY(grow_slice_set(s, st));
    s->slices[s->count++] = *slice;
    return TFD_OK;
}

static const struct tfd_tensor_slice *
find_equal(const struct tfd_slice_set *s, const struct tfd_tensor_slice *want)
{
    for (size_t i = 0; i < s->count; i++)
        if (tfd_tensor_slice_equal(&s->slices[i], want))
            return &s->slices[i];
    return NULL;
}

bool tfd_slice_set_covers(const struct tfd_slice_set *s,
                          const struct tfd_tensor_slice *want)
{
    struct tfd_tensor_slice both;
    struct tfd_shape piece;
    int64_t left;

    if (find_equal(s, want))
        return true;
    if (tfd_tensor_slice_shape(want, &s->shape, &piece, NULL) != TFD_OK)
        return false;
    left = tfd_shape_elements(&piece);
    for (size_t i = 0; i < s->count; i++) {
        if (!tfd_tensor_slice_intersect(&s->slices[i], want, &both))
            continue;
        if (tfd_tensor_slice_shape(&both, &s->shape, &piece, NULL) != TFD_OK)
            return false;
        left -= tfd_shape_elements(&piece);
    }
    return left == 0;
}

static enum tfd_code load_slice(const struct tfd_slice_set *s,
                                const struct tfd_tensor_slice *slice,
                                tfd_slice_load_fn *load_fn, void *ctx,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_shape piece;

    TFD_TRY(tfd_tensor_slice_shape(slice, &s->shape, &piece, st));
    TFD_TRY(load_fn(ctx, slice, &piece, out, st));
    assert(out->dtype == s->dtype && tfd_shape_equal(&out->shape, &piece));
    return TFD_OK;
}

/* Copies from each stored slice what it has of the wanted one. */
static enum tfd_code collect(const struct tfd_slice_set *s,
                             const struct tfd_tensor_slice *want,
                             tfd_slice_load_fn *load_fn, void *ctx,
                             struct tfd_tensor *out, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    for (size_t i = 0; i < s->count && rc == TFD_OK; i++) {
        const struct tfd_tensor_slice *from = &s->slices[i];
        struct tfd_tensor stored = TFD_TENSOR_INIT;

        if (!tfd_tensor_slice_intersect(from, want, NULL))
            continue;
        rc = load_slice(s, from, load_fn, ctx, &stored, st);
        if (rc == TFD_OK)
            rc = tfd_tensor_slice_copy(&s->shape, from, &stored, want, out, st);
        tfd_tensor_unref(&stored);
    }
    return rc;
}

enum tfd_code tfd_slice_set_read(const struct tfd_slice_set *s,
                                 const struct tfd_tensor_slice *want,
                                 tfd_slice_load_fn *load_fn, void *ctx,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_tensor_slice *equal = find_equal(s, want);
    struct tfd_shape piece;
    enum tfd_code rc;

    assert(tfd_slice_set_covers(s, want));
    if (equal)
        return load_slice(s, equal, load_fn, ctx, out, st);
    TFD_TRY(tfd_tensor_slice_shape(want, &s->shape, &piece, st));
    TFD_TRY(tfd_tensor_new(out, s->dtype, &piece, st));
    rc = collect(s, want, load_fn, ctx, out, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}
