/*
 * candidates.c - classes drawn for sampled losses:
 *
 *     LogUniformCandidateSampler UniformCandidateSampler
 *     FixedUnigramCandidateSampler AllCandidateSampler ComputeAccidentalHits
 *     LearnedUnigramCandidateSampler ThreadUnsafeUnigramCandidateSampler
 *
 * Beside the classes come expected counts, of those drawn and of the true ones.
 * Where classes are to be unique, those that come again are drawn again; with
 * n tries for m classes the count of one with probability p is taken for
 * 1 - (1 - p)^n, else for p * m.
 *
 * Weights come from an attribute or a file and are read when the node first
 * runs, since registering a graph must not wait for a disk.  Two steps that
 * find none both make them, and one throws its own away.  So are the counts of
 * the learned ones, which draw and count under a lock, both of them.
 */
#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "common/base/hash.h"
#include "common/thread/lock.h"
#include "kernels/nn/candidate_sampler.h"
#include "kernels/nn/candidate_weights.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/random_stream.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

struct candidates {
    struct tfd_philox_source source;
    enum tfd_candidate_kind kind;
    bool unique, all;
    int64_t count, true_count, range;
    bool learned;
    struct tfd_lock lock; /* where it is learned: what is counted */
    struct tfd_candidate_sampler
        *sampler; /* atomic while weights are missing */
};

/* ---- Preparing ----------------------------------------------------------- */

static enum tfd_code read_int(const struct tfd_node *n, const char *name,
                              int64_t *out, struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(n, name, out, st));
    if (*out < 1 || *out > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s must be between 1 and %d, but is %lld", name,
                        INT32_MAX, (long long)*out);
    return TFD_OK;
}

static enum tfd_code prepare_candidates(const struct tfd_prepare *p,
                                        struct candidates *c,
                                        enum tfd_candidate_kind kind,
                                        struct tfd_status *st)
{
    c->kind = kind;
    TFD_TRY(read_int(p->node, "num_sampled", &c->count, st));
    TFD_TRY(read_int(p->node, "num_true", &c->true_count, st));
    TFD_TRY(tfd_node_bool(p->node, "unique", &c->unique, st));
    TFD_TRY(tfd_random_stream_init(p, &c->source, st));
    c->range = c->count;
    return c->all ? TFD_OK : tfd_node_int(p->node, "range_max", &c->range, st);
}

static enum tfd_code prepare_simple(const struct tfd_prepare *p, void *state,
                                    enum tfd_candidate_kind kind,
                                    struct tfd_status *st)
{
    struct candidates *c = state;

    TFD_TRY(prepare_candidates(p, c, kind, st));
    c->sampler = malloc(sizeof(*c->sampler));
    if (!c->sampler)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "OOM for a sampler");
    tfd_candidate_sampler_init(c->sampler, kind, c->range);
    return TFD_OK;
}

static enum tfd_code log_uniform_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    return prepare_simple(p, state, TFD_CANDIDATE_LOG_UNIFORM, st);
}

static enum tfd_code uniform_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    return prepare_simple(p, state, TFD_CANDIDATE_UNIFORM, st);
}

static enum tfd_code all_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct candidates *c = state;

    c->all = true;
    return prepare_candidates(p, c, TFD_CANDIDATE_UNIFORM, st);
}

static enum tfd_code weights_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    return prepare_candidates(p, state, TFD_CANDIDATE_WEIGHTS, st);
}

static enum tfd_code learned_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct candidates *c = state;

    TFD_TRY(prepare_candidates(p, c, TFD_CANDIDATE_LEARNED, st));
    if (c->range >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "range_max must be less than %d for unigram samplers, "
                        "got %lld",
                        INT32_MAX, (long long)c->range);
    tfd_lock_init(&c->lock, TFD_LOCK_RESOURCE);
    c->learned = true;
    return TFD_OK;
}

static void drop_sampler(struct tfd_candidate_sampler *s)
{
    if (s)
        tfd_candidate_sampler_deinit(s);
    free(s);
}

static void candidates_release(void *state)
{
    struct candidates *c = state;

    drop_sampler(c->sampler);
    if (c->learned)
        tfd_lock_deinit(&c->lock);
}

static enum tfd_code make_sampler(const struct tfd_kctx *k,
                                  const struct candidates *c,
                                  struct tfd_candidate_sampler *made,
                                  struct tfd_status *st)
{
    if (!c->learned)
        return tfd_candidate_weights_read(k, c->range, made, st);
    tfd_candidate_sampler_init(made, TFD_CANDIDATE_LEARNED, c->range);
    return tfd_candidate_tree_init(&made->tree, c->range, st);
}

static enum tfd_code find_sampler(const struct tfd_kctx *k,
                                  struct candidates *c,
                                  struct tfd_candidate_sampler **out,
                                  struct tfd_status *st)
{
    struct tfd_candidate_sampler *made, *none = NULL;
    enum tfd_code code;

    *out = TFD_LOAD_ACQUIRE(&c->sampler);
    if (*out)
        return TFD_OK;
    made = calloc(1, sizeof(*made));
    if (!made)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "OOM for a sampler");
    code = make_sampler(k, c, made, st);
    if (code == TFD_OK && TFD_COMPARE_EXCHANGE(&c->sampler, &none, made)) {
        *out = made;
        return TFD_OK;
    }
    drop_sampler(made);
    *out = none;
    return code;
}

/* ---- Drawing ------------------------------------------------------------- */

/* A set of integers >= 0: open addressing in twice the room. */
struct set {
    struct tfd_buffer *buffer;
    int64_t *slot;
    uint64_t mask;
};

static enum tfd_code set_init(struct set *s, int64_t count,
                              struct tfd_status *st)
{
    uint64_t slots = 2;

    while (slots < 2 * (uint64_t)count)
        slots *= 2;
    s->buffer = tfd_buffer_new((size_t)slots * sizeof(int64_t));
    if (!s->buffer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when drawing %lld unique candidates",
                        (long long)count);
    s->slot = s->buffer->data;
    s->mask = slots - 1;
    for (uint64_t i = 0; i < slots && !tfd_halted(); i++)
        s->slot[i] = -1;
    return TFD_OK;
}

/* False when it was there. */
static bool set_add(struct set *s, int64_t value)
{
    uint64_t at = tfd_hash_number((uint64_t)value);

    for (at &= s->mask; s->slot[at] != -1; at = (at + 1) & s->mask)
        if (s->slot[at] == value)
            return false;
    s->slot[at] = value;
    return true;
}

/* TensorFlow ends its process there. */
#define TRIES_MAX INT32_MAX

static enum tfd_code draw_unique(const struct tfd_candidate_sampler *s,
                                 struct tfd_random_draw *draw, int64_t count,
                                 int64_t *out, int64_t *tries,
                                 struct tfd_status *st)
{
    enum tfd_code code = TFD_OK;
    struct set used = {NULL, NULL, 0};

    TFD_TRY(set_init(&used, count, st));
    for (int64_t have = 0; have < count; ++*tries) {
        int64_t value;

        if (tfd_halted()) { /* the set may be anything */
            code = tfd_halt_fail(st);
            break;
        }
        value = tfd_candidate_sampler_draw(s, draw);
        if (set_add(&used, value))
            out[have++] = value;
        if (*tries >= TRIES_MAX) {
            code = tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%d tries have not given %lld unique candidates of "
                            "%lld",
                            TRIES_MAX, (long long)count, (long long)s->range);
            break;
        }
    }
    tfd_buffer_unref(used.buffer);
    return code;
}

static float expected_count(const struct candidates *c,
                            const struct tfd_candidate_sampler *s,
                            int64_t value, int64_t tries)
{
    float p;

    if (c->all)
        return 1;
    p = tfd_candidate_sampler_probability(s, value);
    if (tries == c->count)
        return p * (float)c->count;
    return -expm1f((float)tries * log1pf(-p));
}

static bool alike(const struct candidates *c)
{
    return c->all || c->kind == TFD_CANDIDATE_UNIFORM;
}

/* Of each of the values, once where all are alike. */
static void expect(const struct candidates *c,
                   const struct tfd_candidate_sampler *s, const int64_t *value,
                   int64_t tries, struct tfd_tensor *out)
{
    float *count = tfd_tensor_data(out);
    int64_t n = tfd_tensor_elements(out);

    for (int64_t i = 0; i < n && !tfd_halted(); i++)
        count[i] = i > 0 && alike(c) ? count[i - 1]
                                     : expected_count(c, s, value[i], tries);
}

static enum tfd_code check_true(const struct tfd_kctx *k,
                                const struct candidates *c,
                                struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[0];
    const int64_t *value = tfd_tensor_data(t);
    int64_t n = tfd_tensor_elements(t);

    if (t->shape.dim[1] != c->true_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "true_classes must have num_true columns, expected: "
                        "%lld was: %lld",
                        (long long)t->shape.dim[1], (long long)c->true_count);
    for (int64_t i = 0; i < n; i++)
        if (value[i] < 0 || value[i] >= c->range)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "`true_candidate` out of range [0, %lld), received "
                            "%lld",
                            (long long)c->range, (long long)value[i]);
    if (c->unique && c->count > c->range)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Sampler's range is too small.");
    return TFD_OK;
}

/* As TensorFlow, in blocks: 2,048 numbers a candidate. */
#define BLOCKS_PER_CANDIDATE 512

static enum tfd_code draw(struct candidates *c,
                          const struct tfd_candidate_sampler *s, int64_t *out,
                          int64_t *tries, struct tfd_status *st)
{
    struct tfd_random_draw from = tfd_random_draw_of(tfd_philox_reserve_blocks(
        &c->source, (uint64_t)c->count * BLOCKS_PER_CANDIDATE));

    *tries = 0;
    if (c->unique && !c->all)
        return draw_unique(s, &from, c->count, out, tries, st);
    for (int64_t i = 0; i < c->count && !tfd_halted(); i++)
        out[i] = c->all ? i : tfd_candidate_sampler_draw(s, &from);
    *tries = c->count;
    return TFD_OK;
}

/* Fills the outputs, which exist. */
static enum tfd_code draw_and_expect(struct tfd_kctx *k, struct candidates *c,
                                     const struct tfd_candidate_sampler *s,
                                     struct tfd_status *st)
{
    int64_t *drawn = tfd_tensor_data(&k->out[0]), tries;

    TFD_TRY(draw(c, s, drawn, &tries, st));
    if (tfd_halted())
        return tfd_halt_fail(st); /* what was drawn may be anything */
    expect(c, s, tfd_tensor_data(&k->in[0]), tries, &k->out[1]);
    expect(c, s, drawn, tries, &k->out[2]);
    return TFD_OK;
}

static enum tfd_code candidates_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct candidates *c = k->state;
    const struct tfd_shape row = {1, {c->count}};
    const struct tfd_shape batch = {2, {k->in[0].shape.dim[0], c->true_count}};
    struct tfd_candidate_sampler *s = NULL;
    enum tfd_code code;

    if (!c->all)
        TFD_TRY(find_sampler(k, c, &s, st));
    TFD_TRY(check_true(k, c, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &row, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_FLOAT, &batch, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_FLOAT, &row, st));
    if (!c->learned)
        return draw_and_expect(k, c, s, st);
    tfd_lock(&c->lock);
    code = draw_and_expect(k, c, s, st);
    if (code == TFD_OK)
        tfd_candidate_tree_count(&s->tree, tfd_tensor_data(&k->in[0]),
                                 tfd_tensor_elements(&k->in[0]));
    tfd_unlock(&c->lock);
    return code;
}

static enum tfd_code candidates_shape(struct tfd_shape_ctx *s,
                                      struct tfd_status *st)
{
    int64_t count = TFD_DIM_UNKNOWN, true_count = TFD_DIM_UNKNOWN;

    if (s->node) {
        TFD_TRY(tfd_node_int(s->node, "num_sampled", &count, st));
        TFD_TRY(tfd_node_int(s->node, "num_true", &true_count, st));
    }
    s->out[0] = s->out[2] = (struct tfd_shape){1, {count}};
    s->out[1] = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, true_count}};
    if (s->in[0].rank == 2)
        s->out[1].dim[0] = s->in[0].dim[0];
    return TFD_OK;
}

/* ---- ComputeAccidentalHits ----------------------------------------------- */

struct sampled {
    int64_t value, place;
};

static int by_value(const void *a, const void *b)
{
    const struct sampled *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* The last place of the value, or -1. */
static int64_t find_place(const struct sampled *s, int64_t n, int64_t value)
{
    int64_t low = 0, high = n; /* s[low - 1] <= value < s[high] */

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (s[middle].value > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && s[low - 1].value == value ? s[low - 1].place : -1;
}

static enum tfd_code write_hits(struct tfd_kctx *k, const struct sampled *s,
                                int64_t n, struct tfd_status *st)
{
    const int64_t *true_class = tfd_tensor_data(&k->in[0]);
    int64_t elements = tfd_tensor_elements(&k->in[0]), hits = 0;
    int64_t row = k->in[0].shape.dim[1], *ids;
    struct tfd_shape shape = {1, {0}};
    int32_t *indices;
    float *weights;

    for (int64_t i = 0; i < elements; i++)
        hits += find_place(s, n, true_class[i]) >= 0;
    shape.dim[0] = hits;
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_INT64, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_FLOAT, &shape, st));
    indices = tfd_tensor_data(&k->out[0]);
    ids = tfd_tensor_data(&k->out[1]);
    weights = tfd_tensor_data(&k->out[2]);
    for (int64_t i = 0, at = 0; i < elements; i++) {
        int64_t place = find_place(s, n, true_class[i]);

        if (place < 0)
            continue;
        indices[at] = (int32_t)(i / row);
        ids[at] = place;
        weights[at++] = -FLT_MAX; /* of a logit that shall never win */
    }
    return TFD_OK;
}

static enum tfd_code hits_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const int64_t *value = tfd_tensor_data(&k->in[1]);
    int64_t n = tfd_tensor_elements(&k->in[1]);
    struct tfd_buffer *buffer;
    struct sampled *s;
    enum tfd_code code;

    if (k->in[0].shape.dim[1] != *(const int64_t *)k->state)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "true_candidates must be a batch_size * num_true "
                        "matrix");
    buffer = tfd_buffer_new((size_t)n * sizeof(*s));
    if (!buffer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when sorting %lld candidates", (long long)n);
    s = buffer->data;
    for (int64_t i = 0; i < n; i++)
        s[i] = (struct sampled){value[i], i};
    if (n > 1)
        qsort(s, (size_t)n, sizeof(*s), by_value);
    code = write_hits(k, s, n, st);
    tfd_buffer_unref(buffer);
    return code;
}

static enum tfd_code hits_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_node_int(p->node, "num_true", state, st);
}

static enum tfd_code hits_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define SAMPLER_OP(name_, more)                                              \
    {                                                                        \
        .name = name_, .inputs = "true_classes: int64",                      \
        .outputs = "sampled_candidates: int64, true_expected_count: float, " \
                   "sampled_expected_count: float",                          \
        .attrs =                                                             \
            "num_true: int >= 1; num_sampled: int >= 1; unique: bool; " more \
            "seed: int = 0; seed2: int = 0",                                 \
        .checks = "true_classes: matrix 'true_classes must be a matrix'",    \
        .shape = candidates_shape,                                           \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                       \
    }

static const struct tfd_opdef ops[] = {
    SAMPLER_OP("LogUniformCandidateSampler", "range_max: int >= 1; "),
    SAMPLER_OP("UniformCandidateSampler", "range_max: int >= 1; "),
    SAMPLER_OP("LearnedUnigramCandidateSampler", "range_max: int >= 1; "),
    SAMPLER_OP("ThreadUnsafeUnigramCandidateSampler", "range_max: int >= 1; "),
    SAMPLER_OP("AllCandidateSampler", ""),
    SAMPLER_OP("FixedUnigramCandidateSampler",
               "range_max: int >= 1; vocab_file: string = ''; "
               "distortion: float = 1.0; num_reserved_ids: int = 0; "
               "num_shards: int >= 1 = 1; shard: int >= 0 = 0; "
               "unigrams: list(float) = []; "),
    {
        .name = "ComputeAccidentalHits",
        .inputs = "true_classes: int64, sampled_candidates: int64",
        .outputs = "indices: int32, ids: int64, weights: float",
        .attrs = "num_true: int; seed: int = 0; seed2: int = 0",
        .checks = "true_classes: matrix 'true_candidates must be a batch_size "
                  "* num_true matrix'; sampled_candidates: vector "
                  "'sampled_candidates must be a vector, which is typically "
                  "an output from CandidateSampler'",
        .shape = hits_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define SAMPLER_KERNEL(op, prepare_, flags_)                    \
    TFD_KERNEL_ANY(op, candidates_compute, .prepare = prepare_, \
                   .release = candidates_release,               \
                   .state_size = sizeof(struct candidates),     \
                   .flags = TFD_KERNEL_SHARED | TFD_KERNEL_HEAVY | (flags_))

static const struct tfd_kernel kernels[] = {
    SAMPLER_KERNEL("LogUniformCandidateSampler", log_uniform_prepare, 0),
    SAMPLER_KERNEL("UniformCandidateSampler", uniform_prepare, 0),
    SAMPLER_KERNEL("LearnedUnigramCandidateSampler", learned_prepare, 0),
    SAMPLER_KERNEL("ThreadUnsafeUnigramCandidateSampler", learned_prepare, 0),
    SAMPLER_KERNEL("AllCandidateSampler", all_prepare, 0),
    SAMPLER_KERNEL("FixedUnigramCandidateSampler", weights_prepare,
                   TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("ComputeAccidentalHits", hits_compute,
                   .prepare = hits_prepare, .state_size = sizeof(int64_t)),
};

const struct tfd_family tfd_family_candidates = {
    .name = "candidates",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
