/*
 * variant_math.c - see variant_math.h.
 *
 * What is added or made zero within a variant may be variants again; they are
 * TFD_VARIANT_DEPTH_MAX deep at most, so these functions call each other.
 */
#include "kernels/list/variant_math.h"

#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/kept.h"
#include "kernels/core/op_memory.h"
#include "kernels/list/tensor_list.h"

/* One op, and how many variants it may still make: lists that hold one another
 * twice are few in a graph and without number when they are made anew. */
struct combining {
    const struct tfd_kctx *k;
    int64_t left;
};

static enum tfd_code combine_all(struct combining *c,
                                 const struct tfd_tensor *a,
                                 const struct tfd_tensor *b,
                                 struct tfd_tensor *out, struct tfd_status *st);
static enum tfd_code add_variants(struct combining *c,
                                  const struct tfd_tensor *a,
                                  const struct tfd_tensor *b,
                                  struct tfd_tensor *out,
                                  struct tfd_status *st);

/* ---- Tensors ------------------------------------------------------------- */

static enum tfd_code add_numbers(struct combining *c,
                                 const struct tfd_tensor *a,
                                 const struct tfd_tensor *b,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    if (a->dtype != b->dtype || !tfd_shape_equal(&a->shape, &b->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to add two tensors with incompatible element "
                        "types or shapes");
    return tfd_op_memory_add(c->k, a, b, out, st);
}

/* A missing one is zero. */
static enum tfd_code add_any(struct combining *c, const struct tfd_tensor *a,
                             const struct tfd_tensor *b, struct tfd_tensor *out,
                             struct tfd_status *st)
{
    if (a->dtype == TFD_DTYPE_INVALID || b->dtype == TFD_DTYPE_INVALID) {
        *out = tfd_tensor_ref(a->dtype == TFD_DTYPE_INVALID ? b : a);
        return TFD_OK;
    }
    if (a->dtype == TFD_VARIANT)
        return add_variants(c, a, b, out, st);
    return add_numbers(c, a, b, out, st);
}

static enum tfd_code zeros_of(struct combining *c, const struct tfd_tensor *t,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    if (t->dtype == TFD_DTYPE_INVALID)
        return TFD_OK;
    if (t->dtype == TFD_VARIANT)
        return combine_all(c, t, NULL, out, st);
    return tfd_op_memory_zeros(c->k, t->dtype, &t->shape, out, st);
}

/* ---- Maps ---------------------------------------------------------------- */

/* What both have, added; what one has, as it is. */
static enum tfd_code add_pair(struct combining *c, struct tfd_variant *sum,
                              const struct tfd_tensor *pair,
                              struct tfd_status *st)
{
    int32_t at = tfd_variant_map_find(sum, &pair[0]);
    struct tfd_tensor have = TFD_TENSOR_INIT, more = TFD_TENSOR_INIT, value;
    enum tfd_code rc;

    if (at < 0) {
        value = tfd_tensor_ref(&pair[1]);
        return tfd_variant_map_put(sum, &pair[0], &value, st);
    }
    rc = tfd_kept_look(&sum->tensors[at + 1], &have, st);
    if (rc == TFD_OK)
        rc = tfd_kept_look(&pair[1], &more, st);
    if (rc == TFD_OK)
        rc = add_any(c, &have, &more, &value, st);
    tfd_tensor_unref(&have);
    tfd_tensor_unref(&more);
    return rc == TFD_OK ? tfd_variant_set(sum, at + 1, &value, st) : rc;
}

static enum tfd_code add_maps(struct combining *c, const struct tfd_variant *a,
                              const struct tfd_variant *b,
                              struct tfd_variant **out, struct tfd_status *st)
{
    struct tfd_variant *sum = tfd_variant_copy(a, st);
    enum tfd_code rc = sum ? TFD_OK : TFD_RESOURCE_EXHAUSTED;

    for (int32_t i = 0; rc == TFD_OK && i < b->count; i += 2)
        if (b->tensors[i].dtype != TFD_DTYPE_INVALID)
            rc = tfd_halted() ? tfd_halt_fail(st)
                              : add_pair(c, sum, &b->tensors[i], st);
    if (rc == TFD_OK)
        *out = sum;
    else
        tfd_variant_unref(sum);
    return rc;
}

/* Zero is the map without pairs. */
static enum tfd_code zero_map(struct tfd_variant **out, struct tfd_status *st)
{
    *out = tfd_variant_new(TFD_VARIANT_MAP, st);
    return *out ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

/* ---- One variant --------------------------------------------------------- */

static enum tfd_code check_alike(const struct tfd_variant *a,
                                 const struct tfd_variant *b,
                                 struct tfd_status *st)
{
    struct tfd_shape shape = a->element_shape;

    if (a->kind != b->kind)
        return tfd_fail(st, TFD_INTERNAL,
                        "BinaryOpVariants: Variants a and b have different "
                        "type ids.  Type names: '%s' vs. '%s'",
                        tfd_list_other(a), tfd_list_other(b));
    if (a->dtype == b->dtype && a->count == b->count &&
        a->has_value == b->has_value)
        return tfd_shape_merge(&shape, &b->element_shape, st);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Trying to add two lists of tensors with different lengths "
                    "or element types: %d of %s and %d of %s",
                    a->count, tfd_dtype_name((int)a->dtype), b->count,
                    tfd_dtype_name((int)b->dtype));
}

/* b NULL: zeros like a. */
static enum tfd_code combine(struct combining *c, const struct tfd_variant *a,
                             const struct tfd_variant *b,
                             struct tfd_variant **out, struct tfd_status *st)
{
    struct tfd_variant *v;
    enum tfd_code rc = TFD_OK;

    if (tfd_halted())
        return tfd_halt_fail(st);
    if (--c->left < 0)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "Variants within variants: more than %d in one tensor",
                        TFD_VARIANT_MADE_MAX);
    if (!b && a->kind == TFD_VARIANT_MAP)
        return zero_map(out, st);
    if (b && a->kind == TFD_VARIANT_MAP && b->kind == TFD_VARIANT_MAP)
        return add_maps(c, a, b, out, st);
    if (a->kind == TFD_VARIANT_CSR || a->kind == TFD_VARIANT_COMPOSITE)
        return tfd_fail(st, TFD_INTERNAL,
                        "No sum and no zeros of variants of this kind");
    if (b)
        TFD_TRY(check_alike(a, b, st));
    v = tfd_variant_copy(a, st);
    if (!v)
        return TFD_RESOURCE_EXHAUSTED;
    for (int32_t i = 0; rc == TFD_OK && i < v->count; i++) {
        struct tfd_tensor t = TFD_TENSOR_INIT;

        rc = b ? add_any(c, &a->tensors[i], &b->tensors[i], &t, st)
               : zeros_of(c, &a->tensors[i], &t, st);
        if (rc == TFD_OK)
            rc = tfd_variant_set(v, i, &t, st);
    }
    if (rc == TFD_OK)
        *out = v;
    else
        tfd_variant_unref(v);
    return rc;
}

/* ---- Tensors of them ----------------------------------------------------- */

static enum tfd_code combine_all(struct combining *c,
                                 const struct tfd_tensor *a,
                                 const struct tfd_tensor *b,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_variant *const *x = tfd_tensor_data(a);
    struct tfd_variant *const *y = b ? tfd_tensor_data(b) : NULL;
    struct tfd_variant **to;

    TFD_TRY(tfd_tensor_new(out, TFD_VARIANT, &a->shape, st));
    to = tfd_tensor_data(out);
    for (int64_t i = 0; i < tfd_tensor_elements(a); i++) {
        enum tfd_code rc = TFD_OK;

        if (x[i] && (!b || y[i]))
            rc = combine(c, x[i], b ? y[i] : NULL, &to[i], st);
        else if (b && (x[i] || y[i]))
            rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                          "Trying to add a variant and none");
        if (rc != TFD_OK) {
            tfd_tensor_unref(out);
            return rc;
        }
    }
    return TFD_OK;
}

static enum tfd_code add_variants(struct combining *c,
                                  const struct tfd_tensor *a,
                                  const struct tfd_tensor *b,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    if (b->dtype != TFD_VARIANT || !tfd_shape_equal(&a->shape, &b->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to add variants of different shapes");
    return combine_all(c, a, b, out, st);
}

enum tfd_code tfd_variant_add(const struct tfd_kctx *k,
                              const struct tfd_tensor *a,
                              const struct tfd_tensor *b,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    struct combining c = {k, TFD_VARIANT_MADE_MAX};

    return add_variants(&c, a, b, out, st);
}

enum tfd_code tfd_variant_zeros(const struct tfd_kctx *k,
                                const struct tfd_tensor *t,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct combining c = {k, TFD_VARIANT_MADE_MAX};

    return combine_all(&c, t, NULL, out, st);
}

/* ---- Kernels ------------------------------------------------------------- */

enum tfd_code tfd_variant_compute_add(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor sum = tfd_tensor_ref(&k->in[0]);
    enum tfd_code rc = TFD_OK;

    for (int i = 1; rc == TFD_OK && i < k->in_count; i++) {
        struct tfd_tensor next = TFD_TENSOR_INIT;

        rc = tfd_variant_add(k, &sum, &k->in[i], &next, st);
        tfd_tensor_unref(&sum);
        sum = next;
    }
    k->out[0] = sum;
    return rc;
}

enum tfd_code tfd_variant_compute_zeros(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    return tfd_variant_zeros(k, &k->in[0], &k->out[0], st);
}
