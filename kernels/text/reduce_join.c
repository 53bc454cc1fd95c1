/*
 * reduce_join.c - ReduceJoin: strings along some dimensions as one.
 *
 * The dimensions are joined in the order that the program names them in: the
 * first of them is the one that moves fastest.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"

#include <string.h>

#define STRING_COST_NS 20
#define OUTPUTS_BETWEEN_LOOKS 1024

struct joiner {
    struct tfd_str separator;
    bool keep_dims;
};

struct walk {
    int rank;
    int64_t dim[TFD_RANK_MAX], stride[TFD_RANK_MAX];
};

struct join {
    const struct joiner *how;
    const struct tfd_tstring *x;
    struct tfd_tstring *y;
    struct walk kept, joined;
    int64_t count; /* strings that are joined into one */
};

static enum tfd_code joiner_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct joiner *j = state;

    TFD_TRY(tfd_node_str(p->node, "separator", &j->separator, st));
    return tfd_node_bool(p->node, "keep_dims", &j->keep_dims, st);
}

/* ---- Dimensions ---------------------------------------------------------- */

static void walk_dim(struct walk *w, int64_t dim, int64_t stride)
{
    w->dim[w->rank] = dim;
    w->stride[w->rank++] = stride;
}

/* Where element `i` of a walk lies. */
static int64_t offset_of(const struct walk *w, int64_t i)
{
    int64_t offset = 0;

    for (int d = w->rank - 1; d >= 0; d--) {
        offset += i % w->dim[d] * w->stride[d];
        i /= w->dim[d];
    }
    return offset;
}

static enum tfd_code read_axis(int64_t axis, int rank, bool *is_joined,
                               int *out, struct tfd_status *st)
{
    int64_t at = axis < 0 ? axis + rank : axis;

    if (at < 0 || at >= rank)
        return tfd_fail(st, TFD_OUT_OF_RANGE,
                        "Invalid reduction dimension %lld for input with %d "
                        "dimension(s)",
                        (long long)axis, rank);
    if (is_joined[at])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Duplicate reduction dimension %lld", (long long)axis);
    is_joined[at] = true;
    *out = (int)at;
    return TFD_OK;
}

static enum tfd_code split_dims(const struct tfd_kctx *k, struct join *j,
                                struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    bool is_joined[TFD_RANK_MAX] = {false};
    int64_t stride[TFD_RANK_MAX], dim[TFD_RANK_MAX];
    int64_t axes = tfd_tensor_elements(&k->in[1]);
    int rank = 0, axis[TFD_RANK_MAX] = {0};

    tfd_element_strides(s, stride);
    j->count = 1;
    for (int64_t i = 0; i < axes; i++)
        TFD_TRY(read_axis(tfd_check_int_at(&k->in[1], i), s->rank, is_joined,
                          &axis[i % TFD_RANK_MAX], st));
    for (int64_t i = axes - 1; i >= 0; i--) {
        walk_dim(&j->joined, s->dim[axis[i]], stride[axis[i]]);
        j->count *= s->dim[axis[i]];
    }
    for (int d = 0; d < s->rank; d++) {
        if (!is_joined[d])
            walk_dim(&j->kept, s->dim[d], stride[d]);
        if (!is_joined[d] || j->how->keep_dims)
            dim[rank++] = is_joined[d] ? 1 : s->dim[d];
    }
    return tfd_shape_make(out, dim, rank, st);
}

/* ---- Joining ------------------------------------------------------------- */

static char *put(char *at, struct tfd_str s)
{
    if (s.size)
        memcpy(at, s.data, s.size);
    return at + s.size;
}

static enum tfd_code join_one(const struct join *j, int64_t number,
                              struct tfd_status *st)
{
    const struct tfd_tstring *x = j->x;
    size_t size = 0;
    char *at;

    if (j->count > 0) /* else there may be no x at all */
        x += offset_of(&j->kept, number);
    for (int64_t i = 0; i < j->count; i++)
        size += tfd_tstring_view(&x[offset_of(&j->joined, i)]).size +
                (i ? j->how->separator.size : 0);
    TFD_TRY(tfd_tstring_resize(&j->y[number], size, st));
    at = tfd_tstring_room(&j->y[number]);
    for (int64_t i = 0; i < j->count; i++) {
        if (i)
            at = put(at, j->how->separator);
        at = put(at, tfd_tstring_view(&x[offset_of(&j->joined, i)]));
    }
    return TFD_OK;
}

static enum tfd_code join_range(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    for (int64_t i = begin; i < end; i++) {
        if (i % OUTPUTS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(join_one(arg, i, st));
    }
    return TFD_OK;
}

static enum tfd_code reduce_join_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct join j = {.how = k->state, .x = tfd_tensor_data(&k->in[0])};
    struct tfd_shape shape;
    int64_t cost;

    TFD_TRY(split_dims(k, &j, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &shape, st));
    j.y = tfd_tensor_data(&k->out[0]);
    cost = STRING_COST_NS * (j.count < 1000000 ? j.count + 1 : 1000000);
    return tfd_kctx_try(k, tfd_shape_elements(&shape), (int)cost, join_range,
                        &j, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ReduceJoin",
        .inputs = "inputs: string, reduction_indices: int32",
        .outputs = "output: string",
        .attrs = "keep_dims: bool = false; separator: string = ''",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ReduceJoin", reduce_join_compute, .prepare = joiner_prepare,
                   .state_size = sizeof(struct joiner)),
};

const struct tfd_family tfd_family_reduce_join = {
    .name = "reduce_join",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
