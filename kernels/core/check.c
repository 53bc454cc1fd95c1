/*
 * check.c - see check.h.
 */
#include "kernels/core/check.h"

#include <stdio.h>

/* ---- Names of inputs ----------------------------------------------------- */

#define NAME_MAX_SIZE 64

/* The argument's name in the definition; "input N" where a list in front, or a
 * test without a node, hides it. */
static const char *input_name(const struct tfd_kctx *k, int in, char *text)
{
    const struct tfd_op *op = k->node ? k->node->op : NULL;

    if (!op || op->in_count != k->in_count)
        snprintf(text, NAME_MAX_SIZE, "input %d", in);
    else
        snprintf(text, NAME_MAX_SIZE, TFD_STR_FMT,
                 TFD_STR_ARG(op->in[in].name));
    return text;
}

/* ---- Scalars ------------------------------------------------------------- */

static enum tfd_code check_one(const struct tfd_kctx *k, int in,
                               struct tfd_status *st)
{
    char shape[TFD_SHAPE_TEXT_MAX], name[NAME_MAX_SIZE];

    if (tfd_tensor_elements(&k->in[in]) == 1)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT, "%s must be a scalar, but its shape is %s",
        input_name(k, in, name), tfd_shape_text(&k->in[in].shape, shape));
}

static enum tfd_code fail_type(const struct tfd_kctx *k, int in,
                               const char *expected, struct tfd_status *st)
{
    char name[NAME_MAX_SIZE];

    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be %s, but is %s",
                    input_name(k, in, name), expected,
                    tfd_dtype_name((int)k->in[in].dtype));
}

static bool is_index(enum tfd_dtype t)
{
    return t == TFD_INT32 || t == TFD_INT64;
}

int64_t tfd_check_int_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_INT32)
        return ((const int32_t *)tfd_tensor_data(t))[i];
    return ((const int64_t *)tfd_tensor_data(t))[i];
}

enum tfd_code tfd_check_int(const struct tfd_kctx *k, int arg, int64_t *out,
                            struct tfd_status *st)
{
    if (!is_index(k->in[arg].dtype))
        return fail_type(k, arg, "int32 or int64", st);
    TFD_TRY(check_one(k, arg, st));
    *out = tfd_check_int_at(&k->in[arg], 0);
    return TFD_OK;
}

enum tfd_code tfd_check_bool(const struct tfd_kctx *k, int arg, bool *out,
                             struct tfd_status *st)
{
    if (k->in[arg].dtype != TFD_BOOL)
        return fail_type(k, arg, "bool", st);
    TFD_TRY(check_one(k, arg, st));
    *out = *(const tfd_bool *)tfd_tensor_data(&k->in[arg]) != 0;
    return TFD_OK;
}

enum tfd_code tfd_check_str(const struct tfd_kctx *k, int arg,
                            struct tfd_str *out, struct tfd_status *st)
{
    if (k->in[arg].dtype != TFD_STRING)
        return fail_type(k, arg, "string", st);
    TFD_TRY(check_one(k, arg, st));
    *out = tfd_tstring_view(tfd_tensor_data(&k->in[arg]));
    return TFD_OK;
}

/* ---- Axes and shapes ----------------------------------------------------- */

enum tfd_code tfd_check_axis(int64_t axis, int rank, int *out,
                             struct tfd_status *st)
{
    if (axis < -rank || axis >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected axis in the range [%d, %d), but got %lld",
                        -rank, rank, (long long)axis);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return TFD_OK;
}

/* A scalar -1 is a shape of unknown rank, as TensorFlow has it. */
static bool is_unknown(const struct tfd_tensor *t)
{
    return t->shape.rank == 0 && tfd_check_int_at(t, 0) == -1;
}

struct tfd_tensor tfd_check_as_vector(const struct tfd_tensor *sizes)
{
    struct tfd_tensor vector = *sizes;

    if (vector.shape.rank == 0)
        vector.shape = (struct tfd_shape){1, {1}};
    return vector;
}

enum tfd_code tfd_check_shape_value(const struct tfd_tensor *t, bool partial,
                                    struct tfd_shape *out,
                                    struct tfd_status *st)
{
    int64_t dim[TFD_RANK_MAX], n = tfd_tensor_elements(t);
    char text[TFD_SHAPE_TEXT_MAX];

    if (!is_index(t->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape must be a vector of {int32,int64}, got %s",
                        tfd_dtype_name((int)t->dtype));
    if (partial && is_unknown(t)) {
        *out = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
        return TFD_OK;
    }
    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape must be a vector of {int32,int64}, got shape %s",
                        tfd_shape_text(&t->shape, text));
    for (int64_t i = 0; i < n && i < TFD_RANK_MAX; i++)
        dim[i] = tfd_check_int_at(t, i);
    if (n > INT32_MAX)
        n = INT32_MAX; /* refused, whatever the number */
    return partial ? tfd_shape_make_partial(out, dim, (int)n, st)
                   : tfd_shape_make(out, dim, (int)n, st);
}

enum tfd_code tfd_check_shape(const struct tfd_kctx *k, int arg, bool partial,
                              struct tfd_shape *out, struct tfd_status *st)
{
    return tfd_check_shape_value(&k->in[arg], partial, out, st);
}

enum tfd_code tfd_check_attr_shape(const struct tfd_node *n,
                                   struct tfd_shape *out, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    bool known = true;

    TFD_TRY(tfd_node_shape_any(n, "shape", out, st));
    if (out->rank == TFD_RANK_UNKNOWN)
        out->rank = 0;
    for (int d = 0; d < out->rank; d++)
        known &= out->dim[d] >= 0;
    if (!known)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape %s is not fully defined",
                        tfd_shape_text(out, text));
    return tfd_shape_make(out, out->dim, out->rank, st);
}
