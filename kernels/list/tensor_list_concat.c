/*
 * tensor_list_concat.c - concatenates the elements of a list along their first
 * dimension: the compute function of TensorListConcat and TensorListConcatV2.
 *
 * Elements may have different numbers of rows, the size of their first
 * dimension, but agree in all other dimensions, the tail.  An empty slot stands
 * for zeros: of as many rows as leading_dims says, or else as all elements
 * have.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/op_memory.h"
#include "kernels/list/tensor_list.h"

#include <string.h>

/* What the elements to be concatenated have in common. */
struct rows {
    const struct tfd_variant *list;
    struct tfd_shape tail; /* behind the first dimension */
    int64_t first;         /* rows of an empty slot; -1: not known */
};

/* Takes the first dimension off: -1 where it, or the rank, is not known. */
static int64_t split_first(struct tfd_shape *s)
{
    int64_t first = s->rank > 0 ? s->dim[0] : TFD_DIM_UNKNOWN;

    if (s->rank > 0) {
        s->rank--;
        memmove(s->dim, s->dim + 1, sizeof(s->dim[0]) * (size_t)s->rank);
    }
    return first;
}

/* What the op says of its elements: V2 by an input, which agrees with the
 * list's own shape; the first form by an attribute, of which it only believes
 * what is behind the first dimension. */
static enum tfd_code told_rows(const struct tfd_kctx *k, struct rows *r,
                               struct tfd_status *st)
{
    bool by_input = k->in_count > 1;
    int64_t first;

    if (by_input) {
        TFD_TRY(tfd_list_shape(k, 1, &r->tail, st));
        TFD_TRY(tfd_list_merge(&r->tail, &r->list->element_shape, st));
    } else {
        TFD_TRY(tfd_node_shape(k->node, "element_shape", &r->tail, st));
    }
    if (r->tail.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        by_input ? "Concat requires elements to be at least "
                                   "vectors, found scalars instead."
                                 : "element_shape must not be empty");
    first = split_first(&r->tail);
    r->first = by_input ? first : TFD_DIM_UNKNOWN;
    return TFD_OK;
}

/* Element i agrees with the rest of them.  *same is what all before it have as
 * first dimension, -1 when they differ or there were none. */
static enum tfd_code add_rows(struct rows *r, int32_t i, bool any,
                              int64_t *same, struct tfd_status *st)
{
    bool known = tfd_shape_elements(&r->list->element_shape) >= 0;
    struct tfd_shape tail = r->list->tensors[i].shape;
    int64_t first;

    if (tail.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Concat saw a scalar shape at index %d but requires at "
                        "least vectors.",
                        i);
    first = split_first(&tail);
    if (!known && r->first >= 0 && first != r->first)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "First entry of element_shape input does not match the "
                        "first dim of list element at index: %d Expected: %lld "
                        "Actual: %lld",
                        i, (long long)r->first, (long long)first);
    *same = !any || *same == first ? first : TFD_DIM_UNKNOWN;
    return tfd_list_merge(&r->tail, &tail, st);
}

static enum tfd_code fail_tail(const struct rows *r, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Trying to concat list with only uninitialized tensors but "
                    "element_shape_except_first_dim is not fully defined: %s",
                    tfd_shape_text(&r->tail, text));
}

/* What is left to say, the elements say.  Those of a list whose own shape is
 * known are not asked, as in TensorFlow; but they must agree, as the attribute
 * of the first form may be of another shape. */
static enum tfd_code find_rows(struct rows *r, struct tfd_status *st)
{
    const struct tfd_variant *l = r->list;
    bool known = tfd_shape_elements(&l->element_shape) >= 0, any = false;
    bool told = tfd_shape_elements(&r->tail) >= 0;
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t same = TFD_DIM_UNKNOWN;

    if (l->count > 0 && known && !told)
        return fail_tail(r, st);
    if (l->count == 0 && !told)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "All except the first dimension must be fully defined "
                        "when concating an empty tensor list. element_shape: "
                        "%s",
                        tfd_shape_text(&r->tail, text));
    for (int32_t i = 0; i < l->count; i++) {
        if (l->tensors[i].dtype == TFD_DTYPE_INVALID)
            continue;
        TFD_TRY(add_rows(r, i, any, &same, st));
        any = true;
    }
    if (r->first < 0 && !known)
        r->first = same;
    if (tfd_shape_elements(&r->tail) < 0)
        return fail_tail(r, st);
    return tfd_shape_make(&r->tail, r->tail.dim, r->tail.rank, st);
}

/* An empty slot has as many rows as leading_dims says, or as all others. */
static enum tfd_code element_rows(const struct tfd_kctx *k,
                                  const struct rows *r, int32_t i, int64_t *out,
                                  struct tfd_status *st)
{
    const struct tfd_tensor *t = &r->list->tensors[i];
    bool told = k->in_count > 2 && i < tfd_tensor_elements(&k->in[2]);

    *out = t->dtype != TFD_DTYPE_INVALID ? t->shape.dim[0] : r->first;
    if (t->dtype == TFD_DTYPE_INVALID && told)
        *out = tfd_check_int_at(&k->in[2], i);
    if (*out >= 0)
        return TFD_OK;
    if (told)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "leading_dims[%d] is %lld", i,
                        (long long)*out);
    if (k->in_count > 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "List contains uninitialized tensor at index %d but "
                        "leading_dims has only %lld elements.",
                        i, (long long)tfd_tensor_elements(&k->in[2]));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Concating lists with uninitialized tensors is not "
                    "supported in this version of TensorListConcat. Consider "
                    "updating your GraphDef to run the newer version.");
}

static enum tfd_code join_rows(struct tfd_kctx *k, const struct rows *r,
                               struct tfd_status *st)
{
    int64_t *lengths = tfd_tensor_data(&k->out[1]);
    int64_t row = tfd_shape_elements(&r->tail), at = 0, rows = 0;
    const struct tfd_variant *l = r->list;
    struct tfd_shape shape;

    for (int32_t i = 0; i < l->count; i++) {
        TFD_TRY(element_rows(k, r, i, &lengths[i], st));
        if (__builtin_add_overflow(rows, lengths[i], &rows))
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "too many rows");
    }
    TFD_TRY(tfd_list_rows_shape(&r->tail, rows, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, l->dtype, &shape, st));
    for (int32_t i = 0; i < l->count && row > 0; i++) {
        void *to = tfd_element_at(tfd_tensor_data(&k->out[0]), l->dtype, at);

        if (lengths[i] == 0)
            continue;
        if (l->tensors[i].dtype == TFD_DTYPE_INVALID)
            TFD_TRY(tfd_op_memory_zero(k, l->dtype, to, row * lengths[i], st));
        else
            TFD_TRY(tfd_list_copy(k, &l->tensors[i], to, row * lengths[i], st));
        at += row * lengths[i];
    }
    return TFD_OK;
}

enum tfd_code tfd_list_compute_concat(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape counts = {1, {0}};
    struct tfd_variant *l;
    struct rows r;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    TFD_TRY(
        tfd_list_check_type(k, l, (enum tfd_dtype)k->node->out_types[0], st));
    r.list = l;
    TFD_TRY(told_rows(k, &r, st));
    TFD_TRY(find_rows(&r, st));
    counts.dim[0] = l->count;
    TFD_TRY(tfd_kctx_output(k, 1, TFD_INT64, &counts, st));
    return join_rows(k, &r, st);
}
