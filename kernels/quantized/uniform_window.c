/*
 * uniform_window.c - attributes and shapes of UniformQuantizedConvolution and
 * UniformQuantizedConvolutionHybrid (uniform_window.h).
 *
 * TensorFlow lets a dimension have two meanings, and what comes of that is
 * undefined; here it is an error.
 */
#include "kernels/quantized/uniform_window.h"

#include "common/base/pbio.h"

#include <stdio.h>

/* Sizes with dilation; sums of several of them do not overflow. */
#define SIZE_BITS 60

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_list(const struct tfd_prepare *p, const char *name,
                               struct tfd_uniform_list *out,
                               struct tfd_status *st)
{
    TFD_TRY(tfd_node_ints(p->node, name, out->at, 2 * TFD_UNIFORM_SPACE_MAX,
                          &out->count, st));
    for (int i = 0; i < out->count; i++)
        if (out->at[i] < INT32_MIN || out->at[i] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Attr %s has value %lld out of range for an int32",
                            name, (long long)out->at[i]);
    return TFD_OK;
}

static enum tfd_code read_padding(const struct tfd_prepare *p,
                                  struct tfd_uniform_windows *out,
                                  struct tfd_status *st)
{
    struct tfd_str how;

    TFD_TRY(tfd_node_str(p->node, "padding", &how, st));
    out->is_same = tfd_str_is(how, "SAME");
    out->is_explicit = tfd_str_is(how, "EXPLICIT");
    if (!out->is_same && !out->is_explicit && !tfd_str_is(how, "VALID"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "padding Attr must be one of [EXPLICIT | SAME | "
                        "VALID], but given: %.*s",
                        TFD_STR_ARG(how));
    if (out->is_explicit || !out->padding.count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "If padding Attr is not 'EXPLICIT', explicit_padding Attr "
                    "must be empty. Given padding %.*s and explicit_padding of "
                    "size %d",
                    TFD_STR_ARG(how), out->padding.count);
}

static void push_number(struct tfd_pb_reader *r, struct tfd_uniform_list *to,
                        int64_t number)
{
    if (to->count == TFD_UNIFORM_SPACE_MAX)
        r->failed = true;
    else
        to->at[to->count++] = number;
}

/* A repeated number, packed or not. */
static void push_numbers(struct tfd_pb_reader *r, const struct tfd_pb_field *f,
                         struct tfd_uniform_list *to)
{
    struct tfd_str packed;
    uint64_t value;

    if (f->wire != TFD_PB_BYTES) {
        push_number(r, to, tfd_pb_int64(r, f));
        return;
    }
    packed = f->bytes;
    while (!r->failed && tfd_pb_packed_varint(&packed, &value))
        push_number(r, to, (int64_t)value);
    if (packed.size)
        r->failed = true;
}

/* Three fields a tensor, of which rhs has the first two the other way round. */
static void read_dimension_number(struct tfd_pb_reader *r,
                                  const struct tfd_pb_field *f,
                                  struct tfd_uniform_numbers *numbers)
{
    struct tfd_uniform_numbers *n;
    int field;

    if (f->tag < 1 || f->tag > 9)
        return;
    n = &numbers[(f->tag - 1) / 3];
    field = (int)(f->tag - 1) % 3;
    if (field == 2)
        push_numbers(r, f, &n->space);
    else if ((field == 0) != (n == &numbers[TFD_UNIFORM_RHS]))
        n->first = tfd_pb_int64(r, f);
    else
        n->second = tfd_pb_int64(r, f);
}

static enum tfd_code read_dimension_numbers(const struct tfd_prepare *p,
                                            struct tfd_uniform_numbers *numbers,
                                            struct tfd_status *st)
{
    struct tfd_pb_reader r;
    struct tfd_pb_field f;
    struct tfd_str text;

    TFD_TRY(tfd_node_str(p->node, "dimension_numbers", &text, st));
    r = tfd_pb_reader_of(text);
    while (tfd_pb_next(&r, &f))
        read_dimension_number(&r, &f, numbers);
    if (!r.failed)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Error parsing convolution dimension numbers.");
}

enum tfd_code tfd_uniform_windows_read(const struct tfd_prepare *p,
                                       struct tfd_uniform_windows *out,
                                       struct tfd_status *st)
{
    *out = (struct tfd_uniform_windows){0};
    TFD_TRY(read_list(p, "window_strides", &out->strides, st));
    TFD_TRY(read_list(p, "lhs_dilation", &out->lhs_dilation, st));
    TFD_TRY(read_list(p, "rhs_dilation", &out->rhs_dilation, st));
    TFD_TRY(tfd_node_int(p->node, "batch_group_count", &out->batch_groups, st));
    TFD_TRY(
        tfd_node_int(p->node, "feature_group_count", &out->feature_groups, st));
    TFD_TRY(read_list(p, "explicit_padding", &out->padding, st));
    TFD_TRY(read_padding(p, out, st));
    return read_dimension_numbers(p, out->numbers, st);
}

/* ---- Dimensions ---------------------------------------------------------- */

static enum tfd_code check_number(int rank, int64_t number, uint32_t *taken,
                                  struct tfd_status *st)
{
    if (number < 0 || number >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Each dimension number must be in region [0, rank). "
                        "Given rank %d and dimension number value %lld",
                        rank, (long long)number);
    if (*taken >> number & 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Each dimension number must be given once. Given "
                        "dimension number value %lld twice",
                        (long long)number);
    *taken |= 1u << number;
    return TFD_OK;
}

static enum tfd_code check_numbers(int rank, enum tfd_uniform_side side,
                                   const struct tfd_uniform_numbers *n,
                                   struct tfd_status *st)
{
    const bool is_rhs = side == TFD_UNIFORM_RHS;
    uint32_t taken = 0;

    TFD_TRY(check_number(rank, is_rhs ? n->second : n->first, &taken, st));
    TFD_TRY(check_number(rank, is_rhs ? n->first : n->second, &taken, st));
    if (n->space.count != rank - 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Spatial dimensions size must be rank - 2. Given rank "
                        "%d and spatial dimensions size %d",
                        rank, n->space.count);
    for (int d = 0; d < rank - 2; d++)
        TFD_TRY(check_number(rank, n->space.at[d], &taken, st));
    return TFD_OK;
}

static enum tfd_code fill_numbers(const struct tfd_uniform_windows *a,
                                  struct tfd_uniform_window *w,
                                  struct tfd_status *st)
{
    const bool given = a->numbers[TFD_UNIFORM_LHS].space.count != 0;

    for (int side = 0; side < TFD_UNIFORM_SIDES; side++) {
        struct tfd_uniform_numbers *n = &w->numbers[side];

        *n = (struct tfd_uniform_numbers){0, 1, {.count = w->rank}};
        for (int d = 0; d < w->rank; d++)
            n->space.at[d] = 2 + d;
        if (!given)
            continue;
        *n = a->numbers[side];
        TFD_TRY(check_numbers(w->rank + 2, (enum tfd_uniform_side)side, n, st));
    }
    return TFD_OK;
}

/* Elements between neighbours of each dimension. */
static void fill_steps(struct tfd_uniform_window *w, enum tfd_uniform_side side,
                       const struct tfd_shape *s)
{
    const struct tfd_uniform_numbers *n = &w->numbers[side];
    int64_t step[TFD_RANK_MAX];
    uint64_t all = 1; /* which wraps where a dimension before it is 0 */

    for (int d = s->rank - 1; d >= 0; d--) {
        step[d] = (int64_t)all;
        all *= (uint64_t)s->dim[d];
    }
    w->first_step[side] = step[n->first];
    w->second_step[side] = step[n->second];
    for (int d = 0; d < w->rank; d++)
        w->space[d].step[side] = step[n->space.at[d]];
}

/* ---- Groups -------------------------------------------------------------- */

static enum tfd_code check_features(const struct tfd_uniform_window *w,
                                    int64_t lhs, struct tfd_status *st)
{
    const long long groups = w->feature_groups, in = w->in_features;

    if (groups <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "feature_group_count must be a positive integer, "
                        "given: %lld",
                        groups);
    if (lhs % groups)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "feature_group_count must divide lhs feature dimension "
                        "size, but %lld does not divide %lld",
                        groups, (long long)lhs);
    if (!in || lhs % in)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "rhs input feature dimension must divide lhs feature "
                        "dimension size, but %lld does not divide %lld",
                        in, (long long)lhs);
    if (lhs / groups != in)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs feature dimension size divided by "
                        "feature_group_count must equal the rhs input feature "
                        "dimension size, but %lld / %lld != %lld",
                        (long long)lhs, groups, in);
    if (w->features % groups)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "rhs output dimension size must be a multiple of "
                        "feature_group_count, but %lld is not a multiple of "
                        "%lld",
                        (long long)w->features, groups);
    return TFD_OK;
}

static enum tfd_code check_batches(const struct tfd_uniform_window *w,
                                   int64_t lhs, struct tfd_status *st)
{
    const long long groups = w->batch_groups;

    if (groups <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_group_count Attr must be a positive integer. "
                        "Given: %lld",
                        groups);
    if (lhs % groups)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_group_count must divide lhs batch dimension "
                        "size, but %lld does not divide %lld",
                        groups, (long long)lhs);
    if (w->features % groups)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "rhs output dimension size must be a multiple of "
                        "batch_group_count, but %lld is not a multiple of %lld",
                        (long long)w->features, groups);
    return TFD_OK;
}

/* ---- Windows ------------------------------------------------------------- */

static const char *list_text(const struct tfd_uniform_list *l, char *out,
                             size_t size)
{
    size_t used = 0;

    out[0] = 0;
    for (int i = 0; i < l->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%lld",
                                 i ? ", " : "", (long long)l->at[i]);
    return out;
}

static enum tfd_code check_factors(const struct tfd_uniform_list *l,
                                   const char *name, int rank,
                                   struct tfd_status *st)
{
    char text[256];

    if (!l->count)
        return TFD_OK;
    if (l->count != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Size of %s Attr must be dims - 2.", name);
    for (int d = 0; d < rank; d++)
        if (l->at[d] < 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All elements of %s must be >= 1. Given %s", name,
                            list_text(l, text, sizeof(text)));
    return TFD_OK;
}

static enum tfd_code check_padding(const struct tfd_uniform_windows *a,
                                   int rank, struct tfd_status *st)
{
    const struct tfd_uniform_list *l = &a->padding;
    char text[256];

    if (!a->is_explicit)
        return TFD_OK;
    if (l->count != 2 * rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Size of explicit_padding Attr must be 2 * (rank - 2). "
                        "Given rank %d and explicit_padding of size %d",
                        rank + 2, l->count);
    for (int i = 0; i < l->count; i++)
        if (l->at[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All explicit_padding elems must be >= 0, Given %s",
                            list_text(l, text, sizeof(text)));
    return TFD_OK;
}

static enum tfd_code dilate(int64_t size, int64_t dilation, int64_t *out,
                            struct tfd_status *st)
{
    *out = 0;
    if (!size ||
        (!__builtin_mul_overflow(size - 1, dilation, out) &&
         !__builtin_add_overflow(*out, 1, out) && *out >> SIZE_BITS == 0))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a dimension of %lld, dilated by %lld, is over 2^%d",
                    (long long)size, (long long)dilation, SIZE_BITS);
}

static int64_t factor_at(const struct tfd_uniform_list *l, int d)
{
    return l->count ? l->at[d] : 1;
}

/* What of a dimension of space does not follow from its sizes alone. */
static enum tfd_code place_windows(const struct tfd_uniform_windows *a, int d,
                                   struct tfd_uniform_space *s,
                                   struct tfd_status *st)
{
    int64_t lhs, rhs, most;

    s->stride = factor_at(&a->strides, d);
    s->lhs_dilation = factor_at(&a->lhs_dilation, d);
    s->rhs_dilation = factor_at(&a->rhs_dilation, d);
    TFD_TRY(dilate(s->in, s->lhs_dilation, &lhs, st));
    TFD_TRY(dilate(s->kernel, s->rhs_dilation, &rhs, st));
    if (a->is_explicit) {
        s->before = a->padding.at[2 * d];
        s->after = a->padding.at[2 * d + 1];
    } else if (a->is_same) {
        most = ((lhs + s->stride - 1) / s->stride - 1) * s->stride + rhs - lhs;
        most = most > 0 ? most : 0;
        s->before = most / 2;
        s->after = most - s->before;
    }
    s->out = (lhs + s->before + s->after - rhs + s->stride) / s->stride;
    return TFD_OK;
}

static enum tfd_code check_window_ranks(const struct tfd_shape *lhs,
                                        const struct tfd_shape *rhs,
                                        struct tfd_status *st)
{
    char text[2][TFD_SHAPE_TEXT_MAX];

    if (lhs->rank != rhs->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs and rhs must have same dims. Given lhs and rhs of "
                        "shapes: %s%s",
                        tfd_shape_text(lhs, text[0]),
                        tfd_shape_text(rhs, text[1]));
    if (lhs->rank <= 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs and rhs shape dims must be at least 3. Given: %d",
                        lhs->rank);
    if (lhs->rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs and rhs shape dims must be at most %d. Given: %d",
                        TFD_RANK_MAX, lhs->rank);
    return TFD_OK;
}

enum tfd_code tfd_uniform_window_of(const struct tfd_uniform_windows *a,
                                    const struct tfd_shape *lhs,
                                    const struct tfd_shape *rhs,
                                    struct tfd_uniform_window *w,
                                    struct tfd_status *st)
{
    const struct tfd_uniform_numbers *l, *r;

    TFD_TRY(check_window_ranks(lhs, rhs, st));
    *w = (struct tfd_uniform_window){.rank = lhs->rank - 2,
                                     .feature_groups = a->feature_groups,
                                     .batch_groups = a->batch_groups};
    TFD_TRY(check_factors(&a->strides, "window_strides", w->rank, st));
    TFD_TRY(check_factors(&a->lhs_dilation, "lhs_dilation", w->rank, st));
    TFD_TRY(check_factors(&a->rhs_dilation, "rhs_dilation", w->rank, st));
    TFD_TRY(fill_numbers(a, w, st));
    l = &w->numbers[TFD_UNIFORM_LHS];
    r = &w->numbers[TFD_UNIFORM_RHS];
    w->in_features = rhs->dim[r->second];
    w->features = rhs->dim[r->first];
    TFD_TRY(check_features(w, lhs->dim[l->second], st));
    TFD_TRY(check_batches(w, lhs->dim[l->first], st));
    w->batches = lhs->dim[l->first] / w->batch_groups;
    TFD_TRY(check_padding(a, w->rank, st));
    fill_steps(w, TFD_UNIFORM_LHS, lhs);
    fill_steps(w, TFD_UNIFORM_RHS, rhs);
    for (int d = 0; d < w->rank; d++) {
        w->space[d].in = lhs->dim[l->space.at[d]];
        w->space[d].kernel = rhs->dim[r->space.at[d]];
        TFD_TRY(place_windows(a, d, &w->space[d], st));
    }
    return TFD_OK;
}

enum tfd_code tfd_uniform_window_out(struct tfd_uniform_window *w,
                                     struct tfd_shape *out,
                                     struct tfd_status *st)
{
    const struct tfd_uniform_numbers *n = &w->numbers[TFD_UNIFORM_OUT];
    int64_t dim[TFD_RANK_MAX];

    dim[n->first] = w->batches;
    dim[n->second] = w->features;
    for (int d = 0; d < w->rank; d++)
        dim[n->space.at[d]] = w->space[d].out;
    for (int d = 0; d < w->rank + 2; d++)
        if (dim[d] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected shape dimensions to be non-negative, got "
                            "%lld",
                            (long long)dim[d]);
    TFD_TRY(tfd_shape_make(out, dim, w->rank + 2, st));
    fill_steps(w, TFD_UNIFORM_OUT, out);
    return TFD_OK;
}
