/*
 * segment_join.c - UnsortedSegmentJoin: the strings of each segment as one.
 *
 * Strings are walked through twice: once to measure the results, once to write
 * them, each string behind the one before in its segment.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <stdlib.h>
#include <string.h>

#define STRINGS_BETWEEN_LOOKS 4096

struct segments {
    const struct tfd_kctx *k;
    struct tfd_str separator;
    int64_t count; /* segments */
    int64_t inner; /* strings that have one segment number */
    size_t *used;  /* bytes so far, by result */
};

static enum tfd_code join_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_node_str(p->node, "separator", state, st);
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_dims(const struct tfd_shape *x,
                                const struct tfd_shape *ids,
                                struct tfd_status *st)
{
    if (ids->rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Segment_id cannot have rank 0");
    if (ids->rank > x->rank)
        return tfd_fail(st, TFD_OUT_OF_RANGE,
                        "Invalid segment_id rank %d for input with %d "
                        "dimension(s)",
                        ids->rank, x->rank);
    /* TensorFlow shows the input's rank where it means the dimension. */
    for (int d = 0; d < ids->rank; d++)
        if (ids->dim[d] != x->dim[d])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Segment dimension is %lld while input dimension "
                            "is %d in rank %d",
                            (long long)ids->dim[d], x->rank, d);
    return TFD_OK;
}

static enum tfd_code check_ids(const struct segments *s, struct tfd_status *st)
{
    int64_t ids = tfd_tensor_elements(&s->k->in[1]);

    for (int64_t i = 0; i < ids; i++) {
        int64_t id = tfd_check_int_at(&s->k->in[1], i);

        if (id < 0 || id >= s->count)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "segment_ids are not allowed to exceed "
                            "num_segments or to have negative values.");
    }
    return TFD_OK;
}

static enum tfd_code segments_check(struct segments *s, struct tfd_shape *out,
                                    struct tfd_status *st)
{
    const struct tfd_shape *x = &s->k->in[0].shape, *ids = &s->k->in[1].shape;
    int64_t dim[TFD_RANK_MAX + 1];
    int rank = 0;

    TFD_TRY(tfd_check_int(s->k, 2, &s->count, st));
    if (s->count < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of segments must be non-negative but got %lld",
                        (long long)s->count);
    TFD_TRY(check_dims(x, ids, st));
    TFD_TRY(check_ids(s, st));
    dim[rank++] = s->count;
    s->inner = 1;
    for (int d = ids->rank; d < x->rank; d++) {
        dim[rank++] = x->dim[d];
        s->inner *= x->dim[d];
    }
    return tfd_shape_make(out, dim, rank, st);
}

/* ---- Joining ------------------------------------------------------------- */

/* Adds a string to result `at`; only measures when y is NULL.  As in TensorFlow
 * there is no separator behind a result that is still empty. */
static void add_string(const struct segments *s, int64_t at, struct tfd_str x,
                       struct tfd_tstring *y)
{
    size_t begin = s->used[at], before = begin ? s->separator.size : 0;

    if (y && before)
        memcpy(tfd_tstring_room(&y[at]) + begin, s->separator.data, before);
    if (y && x.size)
        memcpy(tfd_tstring_room(&y[at]) + begin + before, x.data, x.size);
    s->used[at] = begin + before + x.size;
}

static void add_strings(const struct segments *s, struct tfd_tstring *y)
{
    const struct tfd_tstring *x = tfd_tensor_data(&s->k->in[0]);
    int64_t count = tfd_tensor_elements(&s->k->in[0]);

    for (int64_t i = 0; i < count; i++) {
        int64_t id = tfd_check_int_at(&s->k->in[1], i / s->inner);

        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        add_string(s, id * s->inner + i % s->inner, tfd_tstring_view(&x[i]), y);
    }
}

static enum tfd_code join_strings(struct segments *s, int64_t results,
                                  struct tfd_status *st)
{
    struct tfd_tstring *y = tfd_tensor_data(&s->k->out[0]);

    add_strings(s, NULL);
    for (int64_t i = 0; i < results; i++) {
        TFD_TRY(tfd_tstring_resize(&y[i], s->used[i], st));
        s->used[i] = 0;
    }
    if (!tfd_halted()) /* else what was measured is too little */
        add_strings(s, y);
    return TFD_OK;
}

static enum tfd_code join_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct segments s = {.k = k, .separator = *(struct tfd_str *)k->state};
    struct tfd_shape out;
    enum tfd_code rc;
    int64_t results;

    TFD_TRY(segments_check(&s, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &out, st));
    results = tfd_shape_elements(&out);
    if (results == 0)
        return TFD_OK;
    s.used = calloc((size_t)results, sizeof(*s.used));
    if (!s.used)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to join %lld segments", (long long)s.count);
    rc = join_strings(&s, results, st);
    free(s.used);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "UnsortedSegmentJoin",
        .inputs = "inputs: string, segment_ids: Tindices, "
                  "num_segments: Tnumsegments",
        .outputs = "output: string",
        .attrs = "separator: string = ''; Tindices: {int32, int64}; "
                 "Tnumsegments: {int32, int64} = DT_INT32",
        .checks = "num_segments: scalar 'Number of segments must be a scalar'",
        .key = "Tindices",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("UnsortedSegmentJoin", join_compute, .prepare = join_prepare,
                   .state_size = sizeof(struct tfd_str)),
};

const struct tfd_family tfd_family_segment_join = {
    .name = "segment_join",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
