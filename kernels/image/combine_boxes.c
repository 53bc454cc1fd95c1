/*
 * combine_boxes.c - CombinedNonMaxSuppression: for each image, of each class
 * the best boxes that do not overlap, and of all classes the best.
 *
 * The boxes of a class wait in a heap.  Boxes of equal scores leave it in the
 * order in which TensorFlow's heap (the C++ library's) gives them, which is
 * neither that of their numbers nor any other simple one; so this heap moves
 * its entries just as that one does: what is behind the first place's path of
 * better children is filled from the end and rises.
 *
 * Of classes with equal scores the first comes first; TensorFlow leaves this
 * open for more than 16 boxes.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/image/corner_box.h"

#include <stdlib.h>
#include <string.h>

#define COMPARISON_COST_NS 30

struct candidate {
    int32_t box;
    float score;
};

struct chosen {
    int32_t box, class;
    float score;
    int32_t place; /* among all that were chosen, for equal scores */
};

struct combine_state {
    bool pad_per_class, clip_boxes;
};

struct combining {
    const struct combine_state *state;
    const float *boxes, *scores;
    int64_t batch, count, box_sets, classes;
    int64_t class_max, total; /* of one class; rows of the outputs */
    float overlap_max, score_min;
    float *out_boxes, *out_scores, *out_classes;
    int32_t *out_counts;
};

/* What one image needs: `count` candidates, and for each class class_max
 * chosen ones. */
struct work {
    struct candidate *heap;
    int64_t waiting;
    struct chosen *chosen;
    int64_t chosen_count;
};

/* ---- The heap ------------------------------------------------------------ */

static void raise_candidate(struct candidate *heap, int64_t i,
                            struct candidate c)
{
    for (; i > 0 && heap[(i - 1) / 2].score < c.score; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = c;
}

static struct candidate take_best(struct work *w)
{
    struct candidate *heap = w->heap;
    const struct candidate best = heap[0], last = heap[--w->waiting];
    const int64_t n = w->waiting;
    int64_t i = 0, child;

    for (; 2 * i + 2 < n; i = child) {
        child = 2 * i + 2;
        if (heap[child].score < heap[child - 1].score)
            child--;
        heap[i] = heap[child];
    }
    if (2 * i + 1 < n) {
        heap[i] = heap[2 * i + 1];
        i = 2 * i + 1;
    }
    if (n > 0)
        raise_candidate(heap, i, last);
    return best;
}

/* ---- One class, one image ------------------------------------------------ */

static const float *corners_of(const struct combining *c, int64_t image,
                               int64_t class, int64_t box)
{
    const int64_t set = c->box_sets > 1 ? class : 0;

    return c->boxes + ((image * c->count + box) * c->box_sets + set) * 4;
}

/* The latest are the likeliest to overlap. */
static bool overlaps_chosen(const struct combining *c, const struct work *w,
                            int64_t image, int64_t class, int64_t first,
                            int64_t box)
{
    const struct tfd_corner_box b =
        tfd_corner_box_of(corners_of(c, image, class, box));

    for (int64_t i = w->chosen_count; i-- > first;) {
        const struct tfd_corner_box other =
            tfd_corner_box_of(corners_of(c, image, class, w->chosen[i].box));

        if (tfd_corner_box_overlap(&b, &other) > c->overlap_max)
            return true;
    }
    return false;
}

static void choose_of_class(const struct combining *c, struct work *w,
                            int64_t image, int64_t class)
{
    const int64_t first = w->chosen_count;

    w->waiting = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const float score =
            c->scores[(image * c->count + i) * c->classes + class];

        if (score > c->score_min)
            raise_candidate(w->heap, w->waiting++,
                            (struct candidate){(int32_t)i, score});
    }
    while (w->chosen_count - first < c->class_max && w->waiting > 0 &&
           !tfd_halted()) {
        const struct candidate best = take_best(w);

        if (overlaps_chosen(c, w, image, class, first, best.box))
            continue;
        w->chosen[w->chosen_count] = (struct chosen){
            best.box, (int32_t) class, best.score, (int32_t)w->chosen_count};
        w->chosen_count++;
    }
}

static int compare_chosen(const void *left, const void *right)
{
    const struct chosen *a = left, *b = right;

    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static float clipped(const struct combining *c, float v)
{
    if (!c->state->clip_boxes)
        return v;
    v = 1.0f < v ? 1.0f : v;
    return v < 0.0f ? 0.0f : v;
}

static void put_image(const struct combining *c, const struct work *w,
                      int64_t image)
{
    const int64_t n = w->chosen_count < c->total ? w->chosen_count : c->total;
    const int64_t begin = image * c->total;

    c->out_counts[image] = (int32_t)n;
    for (int64_t i = 0; i < n; i++) {
        const struct chosen *found = &w->chosen[i];
        const float *corners = corners_of(c, image, found->class, found->box);

        for (int j = 0; j < 4; j++)
            c->out_boxes[(begin + i) * 4 + j] = clipped(c, corners[j]);
        c->out_scores[begin + i] = found->score;
        c->out_classes[begin + i] = (float)found->class;
    }
    if (n == c->total)
        return;
    memset(c->out_boxes + (begin + n) * 4, 0,
           (size_t)(c->total - n) * 4 * sizeof(float));
    memset(c->out_scores + begin + n, 0,
           (size_t)(c->total - n) * sizeof(float));
    memset(c->out_classes + begin + n, 0,
           (size_t)(c->total - n) * sizeof(float));
}

static enum tfd_code combine_images(void *arg, int64_t begin, int64_t end,
                                    struct tfd_status *st)
{
    const struct combining *c = arg;
    const size_t heap_size = (size_t)c->count * sizeof(struct candidate);
    struct tfd_buffer *memory =
        tfd_buffer_new(heap_size + (size_t)(c->class_max * c->classes) *
                                       sizeof(struct chosen));
    struct work w;

    if (!memory)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the scores of %lld boxes of %lld "
                        "classes",
                        (long long)c->count, (long long)c->classes);
    w.heap = memory->data;
    w.chosen = (struct chosen *)((char *)memory->data + heap_size);
    for (int64_t n = begin; n < end && !tfd_halted(); n++) {
        w.chosen_count = 0;
        for (int64_t class = 0; class < c->classes && !tfd_halted(); class ++)
            choose_of_class(c, &w, n, class);
        qsort(w.chosen, (size_t)w.chosen_count, sizeof(*w.chosen),
              compare_chosen);
        put_image(c, &w, n);
    }
    tfd_buffer_unref(memory);
    return TFD_OK;
}

/* ---- Inputs -------------------------------------------------------------- */

static enum tfd_code take_images(const struct tfd_kctx *k, struct combining *c,
                                 struct tfd_status *st)
{
    const struct tfd_shape *boxes = &k->in[0].shape, *scores = &k->in[1].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (boxes->rank > 0 && scores->rank > 0 && boxes->dim[0] != scores->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "boxes and scores must have same batch size");
    if (boxes->rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "boxes must be 4-D%s",
                        tfd_shape_text(boxes, text));
    if (scores->rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "scores must be 3-D%s",
                        tfd_shape_text(scores, text));
    if (boxes->dim[2] != 1 && boxes->dim[2] != scores->dim[2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "third dimension of boxes must be either 1 or num "
                        "classes");
    if (boxes->dim[3] != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "boxes must have 4 columns");
    if (scores->dim[1] != boxes->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "scores has incompatible shape");
    c->boxes = tfd_tensor_data(&k->in[0]);
    c->scores = tfd_tensor_data(&k->in[1]);
    c->batch = boxes->dim[0];
    c->count = boxes->dim[1];
    c->box_sets = boxes->dim[2];
    c->classes = scores->dim[2];
    return TFD_OK;
}

static enum tfd_code check_scalar(const struct tfd_kctx *k, int arg,
                                  const char *name, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[arg].shape.rank == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be 0-D, got shape %s",
                    name, tfd_shape_text(&k->in[arg].shape, text));
}

static enum tfd_code read_bounds(const struct tfd_kctx *k, struct combining *c,
                                 struct tfd_status *st)
{
    TFD_TRY(check_scalar(k, 2, "max_size_per_class", st));
    c->class_max = tfd_check_int_at(&k->in[2], 0);
    if (c->class_max <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_size_per_class must be positive");
    TFD_TRY(check_scalar(k, 3, "max_total_size", st));
    c->total = tfd_check_int_at(&k->in[3], 0);
    if (c->total <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "max_total_size must be > 0");
    TFD_TRY(check_scalar(k, 4, "iou_threshold", st));
    c->overlap_max = *(const float *)tfd_tensor_data(&k->in[4]);
    TFD_TRY(check_scalar(k, 5, "score_threshold", st));
    c->score_min = *(const float *)tfd_tensor_data(&k->in[5]);
    if (!(c->overlap_max >= 0 && c->overlap_max <= 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "iou_threshold must be in [0, 1]");
    return TFD_OK;
}

/* Brings the bounds down to what there is. */
static enum tfd_code fit_bounds(struct combining *c, struct tfd_status *st)
{
    int64_t all; /* class_max of each class */

    if (c->count > INT32_MAX || c->classes > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld boxes of %lld classes are more than %d",
                        (long long)c->count, (long long)c->classes, INT32_MAX);
    all = c->class_max * c->classes; /* below 2^62 */
    if (c->state->pad_per_class && all < c->total)
        c->total = all;
    if (c->class_max > c->count)
        c->class_max = c->count;
    if (c->class_max * c->classes > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "size_per_class * num_classes causes overflow");
    if (c->class_max * c->classes > TFD_DETECTIONS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%lld boxes of each of %lld classes are more than the "
                        "%d that are compared",
                        (long long)c->class_max, (long long)c->classes,
                        TFD_DETECTIONS_MAX);
    return TFD_OK;
}

/* ---- The op -------------------------------------------------------------- */

static enum tfd_code make_detections(struct tfd_kctx *k, struct combining *c,
                                     struct tfd_status *st)
{
    const int64_t dims[] = {c->batch, c->total, 4};
    struct tfd_shape shape;

    for (int i = 0; i < 4; i++) {
        TFD_TRY(tfd_shape_make(&shape, dims, i == 0 ? 3 : i == 3 ? 1 : 2, st));
        TFD_TRY(
            tfd_kctx_output(k, i, i == 3 ? TFD_INT32 : TFD_FLOAT, &shape, st));
    }
    c->out_boxes = tfd_tensor_data(&k->out[0]);
    c->out_scores = tfd_tensor_data(&k->out[1]);
    c->out_classes = tfd_tensor_data(&k->out[2]);
    c->out_counts = tfd_tensor_data(&k->out[3]);
    return TFD_OK;
}

static enum tfd_code combine_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct combining c = {.state = k->state};
    double cost;

    TFD_TRY(take_images(k, &c, st));
    TFD_TRY(read_bounds(k, &c, st));
    TFD_TRY(fit_bounds(&c, st));
    TFD_TRY(make_detections(k, &c, st));
    if (c.batch == 0)
        return TFD_OK;
    cost = (double)c.count * (double)c.classes * COMPARISON_COST_NS +
           (double)c.total;
    return tfd_kctx_try(k, c.batch, cost < INT32_MAX ? (int)cost : INT32_MAX,
                        combine_images, &c, st);
}

static enum tfd_code combine_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct combine_state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "pad_per_class", &s->pad_per_class, st));
    return tfd_node_bool(p->node, "clip_boxes", &s->clip_boxes, st);
}

static enum tfd_code combine_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const int64_t any = TFD_DIM_UNKNOWN;
    struct tfd_shape boxes = {4, {any, any, any, 4}};
    struct tfd_shape scores = {3, {any, any, any}};
    int64_t dims[] = {any, any, 4};

    TFD_TRY(tfd_shape_merge(&boxes, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&scores, &s->in[1], st));
    dims[0] = boxes.dim[0] != any ? boxes.dim[0] : scores.dim[0];
    for (int i = 0; i < s->out_count; i++)
        TFD_TRY(tfd_shape_make_partial(&s->out[i], dims,
                                       i == 0   ? 3
                                       : i == 3 ? 1
                                                : 2,
                                       st));
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "CombinedNonMaxSuppression",
        .inputs = "boxes: float, scores: float, "
                  "max_output_size_per_class: int32, max_total_size: int32, "
                  "iou_threshold: float, score_threshold: float",
        .outputs = "nmsed_boxes: float, nmsed_scores: float, "
                   "nmsed_classes: float, valid_detections: int32",
        .attrs = "pad_per_class: bool = false; clip_boxes: bool = true",
        .shape = combine_shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("CombinedNonMaxSuppression", combine_compute,
                   .prepare = combine_prepare,
                   .state_size = sizeof(struct combine_state)),
};

const struct tfd_family tfd_family_combine_boxes = {
    .name = "combine_boxes",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
