/*
 * tensor_list_join.c - two lists become one: the compute function of
 * TensorListConcatLists.
 */
#include "kernels/core/check.h"
#include "kernels/list/tensor_list.h"

/* Element i of a tensor of lists, which holds elements of the op's type. */
static enum tfd_code joined_list(const struct tfd_kctx *k, int in, int64_t i,
                                 struct tfd_variant **out,
                                 struct tfd_status *st)
{
    struct tfd_variant *const *all = tfd_tensor_data(&k->in[in]);
    enum tfd_dtype dtype = TFD_DTYPE_INVALID;
    const char *name = in == 0 ? "input_a" : "input_b";

    *out = all[i];
    if (!*out || (*out)->kind != TFD_VARIANT_LIST)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s is not a TensorList at index %lld. Saw: '%s'", name,
                        (long long)i, tfd_list_other(*out));
    TFD_TRY(tfd_node_type(k->node, "element_dtype", &dtype, st));
    if ((*out)->dtype == dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s[%lld].dtype != element_dtype. Saw: %s vs. %s", name,
                    (long long)i, tfd_dtype_name((int)(*out)->dtype),
                    tfd_dtype_name((int)dtype));
}

/* The elements of b behind those of a, in a new list. */
static enum tfd_code join_lists(const struct tfd_variant *a,
                                const struct tfd_variant *b,
                                struct tfd_variant **out, struct tfd_status *st)
{
    struct tfd_variant *l = tfd_variant_copy(a, st);
    enum tfd_code rc = l ? TFD_OK : TFD_RESOURCE_EXHAUSTED;

    for (int32_t i = 0; rc == TFD_OK && i < b->count; i++) {
        struct tfd_tensor item = tfd_tensor_ref(&b->tensors[i]);

        rc = tfd_variant_set(l, l->count, &item, st);
    }
    if (rc == TFD_OK)
        *out = l;
    else
        tfd_variant_unref(l);
    return rc;
}

/* Element i of the result, which owns it. */
static enum tfd_code join_element(struct tfd_kctx *k, int64_t i,
                                  struct tfd_status *st)
{
    struct tfd_variant **out = tfd_tensor_data(&k->out[0]);
    char x[TFD_SHAPE_TEXT_MAX], y[TFD_SHAPE_TEXT_MAX];
    struct tfd_variant *a, *b;

    TFD_TRY(joined_list(k, 0, i, &a, st));
    TFD_TRY(joined_list(k, 1, i, &b, st));
    if (!tfd_shape_equal(&a->element_shape, &b->element_shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input_a and input_b TensorList element shapes are not "
                        "identical at index %lld. Saw %s vs. %s",
                        (long long)i, tfd_shape_text(&a->element_shape, x),
                        tfd_shape_text(&b->element_shape, y));
    return join_lists(a, b, &out[i], st);
}

/* Lists, or tensors of as many lists, which are joined one by one. */
enum tfd_code tfd_list_compute_join(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    char x[TFD_SHAPE_TEXT_MAX], y[TFD_SHAPE_TEXT_MAX];
    int64_t count = tfd_shape_elements(a);

    if (!tfd_shape_equal(a, b))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Incompatible input TensorList tensor shapes: %s vs. "
                        "%s",
                        tfd_shape_text(a, x), tfd_shape_text(b, y));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_VARIANT, a, st));
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(join_element(k, i, st));
    return TFD_OK;
}
