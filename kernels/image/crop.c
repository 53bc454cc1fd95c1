/*
 * crop.c - see crop.h.
 */
#include "kernels/image/crop.h"

#include "kernels/image/resize.h"

/* ---- Where a row or column of a crop lies -------------------------------- */

bool tfd_crop_point_of(const struct tfd_crop *j, float at, int axis,
                       struct tfd_crop_point *p)
{
    if (!(at >= 0 && at <= (float)(j->size[axis] - 1)))
        return false;
    if (j->state->nearest) {
        *p = (struct tfd_crop_point){(int64_t)roundf(at), (int64_t)roundf(at),
                                     0};
    } else {
        p->low = (int64_t)at; /* rounds down: at is not negative */
        p->high = p->low + ((float)p->low < at);
        p->lerp = at - (float)p->low;
    }
    p->low = tfd_resize_bound(p->low, j->size[axis]);
    p->high = tfd_resize_bound(p->high, j->size[axis]);
    return true;
}

struct tfd_crop_line tfd_crop_line_of(const struct tfd_crop *j, int64_t b,
                                      int axis)
{
    const float from = j->boxes[4 * b + axis], to = j->boxes[4 * b + 2 + axis];
    const float last = (float)(j->size[axis] - 1);
    const int64_t n = j->crop[axis];

    if (n > 1)
        return (struct tfd_crop_line){from * last,
                                      (to - from) * last / (float)(n - 1)};
    return (struct tfd_crop_line){
        (float)(0.5 * (double)(from + to) * (double)last), 0};
}

bool tfd_crop_locate(const struct tfd_crop *j, int64_t b, int axis, int64_t i,
                     struct tfd_crop_point *p)
{
    const struct tfd_crop_line line = tfd_crop_line_of(j, b, axis);

    return tfd_crop_point_of(j, line.first + (float)i * line.step, axis, p);
}

/* ---- Checks -------------------------------------------------------------- */

enum tfd_code tfd_crop_check_image(const struct tfd_tensor *t, const char *what,
                                   const char *dims, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s image must be 4-D%s",
                        what, tfd_shape_text(&t->shape, text));
    if (t->shape.dim[1] <= 0 || t->shape.dim[2] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s dimensions must be positive", dims);
    return TFD_OK;
}

enum tfd_code tfd_crop_read_boxes(const struct tfd_kctx *k, int first,
                                  struct tfd_crop *j, struct tfd_status *st)
{
    const struct tfd_shape *box = &k->in[first].shape;
    const struct tfd_shape *index = &k->in[first + 1].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (box->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "boxes must be 2-D, got: %s",
                        tfd_shape_text(box, text));
    if (box->dim[1] != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "boxes must have 4 columns");
    if (index->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "box_indices must be rank 1 but is shape %s",
                        tfd_shape_text(index, text));
    if (index->dim[0] != box->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "box_index has incompatible shape");
    j->box_count = box->dim[0];
    j->boxes = tfd_tensor_data(&k->in[first]);
    j->index = tfd_tensor_data(&k->in[first + 1]);
    return TFD_OK;
}

enum tfd_code tfd_crop_check_finite(const struct tfd_crop *j,
                                    struct tfd_status *st)
{
    for (int64_t i = 0; i < 4 * j->box_count; i++)
        if (!isfinite(j->boxes[i]))
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Boxes contains at least one element that is not finite");
    return TFD_OK;
}

enum tfd_code tfd_crop_check_index(const struct tfd_crop *j,
                                   struct tfd_status *st)
{
    for (int64_t i = 0; i < j->box_count; i++)
        if (j->index[i] < 0 || j->index[i] >= j->batch)
            return tfd_fail(st, TFD_OUT_OF_RANGE,
                            "box_index has values outside [0, batch_size)");
    return TFD_OK;
}

void tfd_crop_take_image(const struct tfd_shape *s, struct tfd_crop *j)
{
    j->batch = s->dim[0];
    j->size[0] = s->dim[1];
    j->size[1] = s->dim[2];
    j->depth = s->dim[3];
}

enum tfd_code tfd_crop_take_grads(const struct tfd_kctx *k, struct tfd_crop *j,
                                  struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;

    TFD_TRY(tfd_crop_check_image(&k->in[0], "grads", "grads", st));
    j->dy = tfd_tensor_data(&k->in[0]);
    j->crop[0] = s->dim[1];
    j->crop[1] = s->dim[2];
    return TFD_OK;
}

enum tfd_code tfd_crop_check_grads(const struct tfd_kctx *k,
                                   const struct tfd_crop *j,
                                   struct tfd_status *st)
{
    if (k->in[0].shape.dim[0] != j->box_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "boxes and grads have incompatible shape");
    return TFD_OK;
}
