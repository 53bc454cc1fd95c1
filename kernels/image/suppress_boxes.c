/*
 * suppress_boxes.c - NonMaxSuppression, its versions 2 to 5, and
 * NonMaxSuppressionWithOverlaps: of boxes that overlap only the best remain.
 *
 * Boxes wait in a heap, the one with the best score first.  One that leaves it
 * is compared with those that were chosen, the latest first.  With a sigma
 * (version 5) an overlap only lowers its score, and it waits again; it is not
 * compared anew with those that it was compared with.
 *
 * Halves are computed with as floats that are rounded after each operation.
 */
#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/image/corner_box.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
    int32_t box;
    int32_t compared; /* with so many of the chosen ones */
    float score;
};

struct suppressing {
    bool half;
    const void *boxes;     /* [count, 4]; NULL: */
    const float *overlaps; /* [count, count] */
    int64_t count;
    float overlap_max, score_min, sigma;
    int64_t wanted;
    struct candidate *heap;
    int64_t waiting;
    struct candidate *chosen; /* with the scores that they had then */
    int64_t chosen_count;
};

static float rounded(const struct suppressing *s, float v)
{
    return s->half ? tfd_half_to_float(tfd_half_from_float(v)) : v;
}

static float number_at(const void *data, enum tfd_dtype dtype, int64_t i)
{
    return dtype == TFD_HALF ? tfd_half_to_float(((const tfd_half *)data)[i])
                             : ((const float *)data)[i];
}

/* ---- The heap ------------------------------------------------------------ */

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    return a->score > b->score || (a->score == b->score && a->box < b->box);
}

static void swap_candidates(struct candidate *a, struct candidate *b)
{
    const struct candidate c = *a;

    *a = *b;
    *b = c;
}

static void push_candidate(struct suppressing *s, struct candidate c)
{
    int64_t i = s->waiting++;

    s->heap[i] = c;
    for (; i > 0 && is_better(&s->heap[i], &s->heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap_candidates(&s->heap[i], &s->heap[(i - 1) / 2]);
}

static struct candidate pop_candidate(struct suppressing *s)
{
    const struct candidate best = s->heap[0];
    int64_t i = 0;

    s->heap[0] = s->heap[--s->waiting];
    for (;;) {
        int64_t best_child = 2 * i + 1;

        if (best_child >= s->waiting)
            return best;
        if (best_child + 1 < s->waiting &&
            is_better(&s->heap[best_child + 1], &s->heap[best_child]))
            best_child++;
        if (!is_better(&s->heap[best_child], &s->heap[i]))
            return best;
        swap_candidates(&s->heap[best_child], &s->heap[i]);
        i = best_child;
    }
}

/* ---- Overlaps ------------------------------------------------------------ */

static struct tfd_corner_box box_at(const struct suppressing *s, int64_t box)
{
    const enum tfd_dtype dtype = s->half ? TFD_HALF : TFD_FLOAT;
    float corners[4];

    for (int i = 0; i < 4; i++)
        corners[i] = number_at(s->boxes, dtype, 4 * box + i);
    return tfd_corner_box_of(corners);
}

static float overlap_of(const struct suppressing *s, int64_t a, int64_t b)
{
    struct tfd_corner_box x, y;

    if (s->overlaps)
        return s->overlaps[a * s->count + b];
    x = box_at(s, a);
    y = box_at(s, b);
    return tfd_corner_box_overlap(&x, &y);
}

/* ---- Choosing ------------------------------------------------------------ */

static float weight_of(const struct suppressing *s, float overlap)
{
    float scale;

    if (!(s->sigma > 0))
        return overlap <= s->overlap_max ? 1 : 0;
    scale = rounded(s, -0.5f / s->sigma);
    return rounded(s, expf(rounded(s, rounded(s, scale * overlap) * overlap)));
}

/* False: an overlap is too large. */
static bool compare_with_chosen(const struct suppressing *s,
                                struct candidate *c)
{
    for (int64_t i = s->chosen_count; i-- > c->compared;) {
        const float overlap =
            rounded(s, overlap_of(s, c->box, s->chosen[i].box));

        c->score = rounded(s, c->score * weight_of(s, overlap));
        if (!(s->sigma > 0) && overlap > s->overlap_max)
            return false;
        if (c->score <= s->score_min)
            break;
    }
    c->compared = (int32_t)s->chosen_count;
    return true;
}

static void choose_boxes(struct suppressing *s)
{
    while (s->chosen_count < s->wanted && s->waiting > 0 && !tfd_halted()) {
        struct candidate c = pop_candidate(s);
        const float before = c.score;

        if (!compare_with_chosen(s, &c))
            continue;
        if (c.score == before)
            s->chosen[s->chosen_count++] = c;
        else if (c.score > s->score_min)
            push_candidate(s, c);
    }
}

static enum tfd_code run_suppression(struct suppressing *s,
                                     const struct tfd_tensor *scores,
                                     struct tfd_status *st)
{
    const size_t size = (size_t)s->count * sizeof(*s->heap);

    s->heap = malloc(size + 1);
    s->chosen = malloc(size + 1);
    if (!s->heap || !s->chosen)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the scores of %lld boxes",
                        (long long)s->count);
    for (int64_t i = 0; i < s->count; i++) {
        const float score =
            number_at(tfd_tensor_data(scores), scores->dtype, i);

        if (score > s->score_min)
            push_candidate(s, (struct candidate){(int32_t)i, 0, score});
    }
    choose_boxes(s);
    return TFD_OK;
}

/* ---- Inputs -------------------------------------------------------------- */

/* A scalar of half or float as one of the boxes' type. */
static enum tfd_code read_threshold(const struct tfd_kctx *k, int arg,
                                    const char *name, bool half, bool tells,
                                    float *out, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[arg];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 0 && tells)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s must be 0-D, got shape %s (Shape must be rank 0 "
                        "but is rank %d)",
                        name, tfd_shape_text(&t->shape, text), t->shape.rank);
    if (t->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s must be 0-D, got shape %s", name,
                        tfd_shape_text(&t->shape, text));
    *out = number_at(tfd_tensor_data(t), t->dtype, 0);
    if (half)
        *out = tfd_half_to_float(tfd_half_from_float(*out));
    return TFD_OK;
}

static enum tfd_code read_wanted(const struct tfd_kctx *k, bool tells,
                                 int64_t *out, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[2];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 0 && tells)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_output_size must be 0-D, got shape %s (Shape "
                        "must be rank 0 but is rank %d)",
                        tfd_shape_text(&t->shape, text), t->shape.rank);
    if (t->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_output_size must be 0-D, got shape %s",
                        tfd_shape_text(&t->shape, text));
    *out = tfd_check_int_at(t, 0);
    return TFD_OK;
}

static enum tfd_code check_iou(float v, struct tfd_status *st)
{
    if (v >= 0 && v <= 1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "iou_threshold must be in [0, 1]");
}

static enum tfd_code take_boxes(const struct tfd_kctx *k, struct suppressing *s,
                                struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "boxes must be 2-D%s (Shape must be rank 2 but is "
                        "rank %d)",
                        tfd_shape_text(x, text), x->rank);
    if (x->dim[1] != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "boxes must have 4 columns (Dimension must be 4 but "
                        "is %lld)",
                        (long long)x->dim[1]);
    s->boxes = tfd_tensor_data(&k->in[0]);
    s->count = x->dim[0];
    return TFD_OK;
}

static enum tfd_code take_overlaps(const struct tfd_kctx *k,
                                   struct suppressing *s, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "overlaps must be 2-D%s",
                        tfd_shape_text(x, text));
    if (x->dim[1] != x->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "overlaps must be square%s",
                        tfd_shape_text(x, text));
    s->overlaps = tfd_tensor_data(&k->in[0]);
    s->count = x->dim[0];
    return TFD_OK;
}

static enum tfd_code check_scores(const struct tfd_kctx *k,
                                  const struct suppressing *s,
                                  struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[1].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "scores must be 1-D%s (Shape must be rank 1 but is "
                        "rank %d)",
                        tfd_shape_text(x, text), x->rank);
    if (x->dim[0] != s->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "scores has incompatible shape (Dimensions must be "
                        "equal, but are %lld and %lld)",
                        (long long)s->count, (long long)x->dim[0]);
    if (s->count > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%lld boxes are more than %d",
                        (long long)s->count, INT32_MAX);
    if (s->wanted < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output size must be non-negative");
    return TFD_OK;
}

/* ---- Outputs ------------------------------------------------------------- */

struct suppress_state {
    int version; /* 1 to 5; 0: with overlaps */
    bool pad;
    float iou; /* of version 1 */
};

static void put_score(struct tfd_tensor *y, int64_t i, float score)
{
    if (y->dtype == TFD_HALF)
        ((tfd_half *)tfd_tensor_data(y))[i] = tfd_half_from_float(score);
    else
        ((float *)tfd_tensor_data(y))[i] = score;
}

static enum tfd_code put_chosen(struct tfd_kctx *k, const struct suppressing *s,
                                struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    const struct suppress_state *state = k->state;
    struct tfd_shape shape;
    const int last = k->out_count - 1;

    TFD_TRY(tfd_shape_make(
        &shape, (int64_t[]){state->pad ? s->wanted : s->chosen_count}, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &shape, st));
    if (state->version == 5)
        TFD_TRY(tfd_kctx_output(k, 1, k->in[1].dtype, &shape, st));
    for (int64_t i = 0; i < shape.dim[0]; i++) {
        const bool there = i < s->chosen_count;

        ((int32_t *)tfd_tensor_data(&k->out[0]))[i] =
            there ? s->chosen[i].box : 0;
        if (state->version == 5)
            put_score(&k->out[1], i, there ? s->chosen[i].score : 0);
    }
    if (last == 0)
        return TFD_OK;
    TFD_TRY(tfd_kctx_output(k, last, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[last]) = (int32_t)s->chosen_count;
    return TFD_OK;
}

/* ---- The ops ------------------------------------------------------------- */

static enum tfd_code suppress_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    static const char *const names[] = {
        "NonMaxSuppressionWithOverlaps", "NonMaxSuppression",
        "NonMaxSuppressionV2",           "NonMaxSuppressionV3",
        "NonMaxSuppressionV4",           "NonMaxSuppressionV5"};
    struct suppress_state *s = state;

    while (!tfd_str_is(p->node->op->name, names[s->version]))
        s->version++;
    if (s->version == 1)
        return tfd_node_float(p->node, "iou_threshold", &s->iou, st);
    return s->version >= 4
               ? tfd_node_bool(p->node, "pad_to_max_output_size", &s->pad, st)
               : TFD_OK;
}

static enum tfd_code read_settings(const struct tfd_kctx *k,
                                   struct suppressing *s, struct tfd_status *st)
{
    const struct suppress_state *state = k->state;
    const bool overlaps = state->version == 0, tells = state->version == 3;

    TFD_TRY(read_wanted(k, tells, &s->wanted, st));
    s->overlap_max = state->iou;
    if (state->version != 1)
        TFD_TRY(read_threshold(k, 3,
                               overlaps ? "overlap_threshold" : "iou_threshold",
                               s->half, tells, &s->overlap_max, st));
    if (!overlaps)
        TFD_TRY(check_iou(s->overlap_max, st));
    s->score_min = s->half ? -65504.0f : -FLT_MAX;
    if (k->in_count > 4)
        TFD_TRY(read_threshold(k, 4, "score_threshold", s->half, false,
                               &s->score_min, st));
    if (k->in_count > 5)
        TFD_TRY(read_threshold(k, 5, "soft_nms_sigma", s->half, false,
                               &s->sigma, st));
    if (k->in_count > 5 && !(s->sigma >= 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "soft_nms_sigma_val must be >= 0");
    return TFD_OK;
}

static enum tfd_code suppress_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct suppress_state *state = k->state;
    struct suppressing s = {.half = k->in[1].dtype == TFD_HALF};
    enum tfd_code rc;

    TFD_TRY(read_settings(k, &s, st));
    TFD_TRY(state->version == 0 ? take_overlaps(k, &s, st)
                                : take_boxes(k, &s, st));
    TFD_TRY(check_scores(k, &s, st));
    rc = run_suppression(&s, &k->in[1], st);
    if (rc == TFD_OK)
        rc = put_chosen(k, &s, st);
    free(s.heap);
    free(s.chosen);
    return rc;
}

static enum tfd_code suppress_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    const int64_t any = TFD_DIM_UNKNOWN;

    for (int i = 0; i < s->out_count; i++)
        TFD_TRY(tfd_shape_make_partial(&s->out[i], &any,
                                       i == 0 || i < s->out_count - 1, st));
    return TFD_OK;
}

#define TYPES                       \
    "T: {half, float} = DT_FLOAT; " \
    "T_threshold: {half, float} = DT_FLOAT"
#define PAD "; pad_to_max_output_size: bool = false"
#define BOXES "boxes: T, scores: T, max_output_size: int32, "
#define SUPPRESSES(op, in, out, attrs_)                                        \
    {                                                                          \
        .name = op, .inputs = in, .outputs = "selected_indices: int32" out,    \
        .attrs = attrs_, .shape = suppress_shape, .flags = TFD_OP_NO_GRADIENT, \
    }

static const struct tfd_opdef ops[] = {
    SUPPRESSES("NonMaxSuppression",
               "boxes: float, scores: float, max_output_size: int32", "",
               "iou_threshold: float = 0.5"),
    SUPPRESSES("NonMaxSuppressionV2", BOXES "iou_threshold: T_threshold", "",
               TYPES),
    SUPPRESSES("NonMaxSuppressionV3",
               BOXES "iou_threshold: T_threshold, "
                     "score_threshold: T_threshold",
               "", TYPES),
    SUPPRESSES("NonMaxSuppressionV4",
               BOXES "iou_threshold: T_threshold, "
                     "score_threshold: T_threshold",
               ", valid_outputs: int32", TYPES PAD),
    SUPPRESSES("NonMaxSuppressionV5",
               BOXES "iou_threshold: T, score_threshold: T, "
                     "soft_nms_sigma: T",
               ", selected_scores: T, valid_outputs: int32",
               "T: {half, float} = DT_FLOAT" PAD),
    SUPPRESSES("NonMaxSuppressionWithOverlaps",
               "overlaps: float, scores: float, max_output_size: int32, "
               "overlap_threshold: float, score_threshold: float",
               "", ""),
};

#define STATE \
    .prepare = suppress_prepare, .state_size = sizeof(struct suppress_state)
#define BOTH(op)                                    \
    TFD_KERNEL(op, FLOAT, suppress_compute, STATE), \
        TFD_KERNEL(op, HALF, suppress_compute, STATE)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("NonMaxSuppression", suppress_compute, STATE),
    BOTH("NonMaxSuppressionV2"),
    BOTH("NonMaxSuppressionV3"),
    BOTH("NonMaxSuppressionV4"),
    BOTH("NonMaxSuppressionV5"),
    TFD_KERNEL_ANY("NonMaxSuppressionWithOverlaps", suppress_compute, STATE),
};

const struct tfd_family tfd_family_suppress_boxes = {
    .name = "suppress_boxes",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
