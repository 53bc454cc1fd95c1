/*
 * ctc_decoder.c - sequences of labels from probabilities of classes in each
 * step of time, of which the last class is the blank:
 *
 *     CTCGreedyDecoder      the likeliest class of each step
 *     CTCBeamSearchDecoder  the likeliest sequences (ctc_beam.h)
 *
 * An item of the batch at a time is decoded, into a list of its own; the sparse
 * tensors of the output are put together at the end.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/families.h"
#include "kernels/nn/ctc_beam.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

#include <inttypes.h>
#include <string.h>

struct decoder_state {
    bool merge;
    int64_t blank; /* greedy */
    int64_t width; /* beam search */
};

struct decoder {
    const struct decoder_state *s;
    const struct tfd_tensor *inputs;
    const int32_t *length; /* steps, by item; less than 0: none */
    int64_t batch, classes, paths;
    int64_t blank;
    struct tfd_ctc_found *found; /* by item */
    const struct tfd_tensor *chance;
};

static enum tfd_code prepare_greedy(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct decoder_state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "merge_repeated", &s->merge, st));
    return tfd_node_int(p->node, "blank_index", &s->blank, st);
}

static enum tfd_code prepare_beam(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct decoder_state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "merge_repeated", &s->merge, st));
    return tfd_node_int(p->node, "beam_width", &s->width, st);
}

/* ---- What is given ------------------------------------------------------- */

static enum tfd_code check_decoder(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *s = &k->in[1].shape;
    const int32_t *length = tfd_tensor_data(&k->in[1]);

    if (x->rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "inputs is not a 3-Tensor");
    if (tfd_shape_elements(x) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "inputs must not be empty");
    if (s->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sequence_length is not a vector");
    if (s->dim[0] != x->dim[1])
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "len(sequence_length) != batch_size.  "
                        "len(sequence_length):  %" PRId64
                        " batch_size: %" PRId64,
                        s->dim[0], x->dim[1]);
    for (int64_t b = 0; b < x->dim[1]; b++)
        if (length[b] > x->dim[0])
            return tfd_fail(st, TFD_FAILED_PRECONDITION,
                            "sequence_length(%" PRId64 ") <= %" PRId64, b,
                            x->dim[0]);
    if (x->dim[2] >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_classes cannot exceed max int");
    return TFD_OK;
}

static int64_t steps_of(const struct decoder *d, int64_t b)
{
    return d->length[b] > 0 ? d->length[b] : 0;
}

/* ---- The likeliest class ------------------------------------------------- */

#define STEPS 64 /* are looked at together */

/* Steps of an item: the likeliest class of each, and how likely it is. */
struct greedy {
    const struct decoder *d;
    const void *first; /* of the first step */
    int32_t best[STEPS];
    double most[STEPS];
};

/* Vectors of 32 bytes, wherever they lie. */
typedef float float_8
    __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
typedef double double_4
    __attribute__((vector_size(32), aligned(sizeof(double)), may_alias));

/* Lanes of x where they are larger, those of `most` elsewhere: NaNs of x are
 * not.  `to` gets them. */
#define KEEP_LARGER(to, x, most)                                         \
    do {                                                                 \
        const __typeof__((x) > (most)) larger = (x) > (most);            \
                                                                         \
        to = (__typeof__(most))(((__typeof__(larger))(x)&larger) |       \
                                ((__typeof__(larger))(most) & ~larger)); \
    } while (0)
/* With the lanes of the vector's other half, quarter, eighth. */
#define TURN_FLOAT(v)                                                         \
    KEEP_LARGER(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3), v); \
    KEEP_LARGER(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5), v); \
    KEEP_LARGER(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6), v)
#define TURN_DOUBLE(v)                                            \
    KEEP_LARGER(v, __builtin_shufflevector(v, v, 2, 3, 0, 1), v); \
    KEEP_LARGER(v, __builtin_shufflevector(v, v, 1, 0, 3, 2), v)
#define FIRST_FLOAT(x)         \
    {                          \
        x, x, x, x, x, x, x, x \
    }
#define FIRST_DOUBLE(x) \
    {                   \
        x, x, x, x      \
    }

/* So many steps before they are looked at they are asked for: between two of
 * an item are those of the others, which no processor foresees. */
#define AHEAD 16
#define ASKED_MAX 1024 /* bytes; what is longer is foreseen */

TFD_VECTOR void ask_ahead(const void *x, int64_t size)
{
    for (int64_t at = 0; at < size && at < ASKED_MAX; at += 64)
        __builtin_prefetch((const char *)x + at);
}

/* The largest of n > 0 numbers, none of which is one for a NaN but the first,
 * and the first that is as large.  The last vector of them may overlap the one
 * before. */
#define LIKELIEST(name, T, V, LANES)                               \
    TFD_VECTOR T most_##name(const T *x, int32_t n)                \
    {                                                              \
        V lanes = FIRST_##name(x[0]);                              \
        T most = x[0];                                             \
                                                                   \
        if (n < (LANES)) {                                         \
            for (int32_t i = 1; i < n; i++)                        \
                most = x[i] > most ? x[i] : most;                  \
            return most;                                           \
        }                                                          \
        for (int32_t i = 0; i + (LANES) < n; i += (LANES))         \
            KEEP_LARGER(lanes, *(const V *)(x + i), lanes);        \
        KEEP_LARGER(lanes, *(const V *)(x + n - (LANES)), lanes);  \
        TURN_##name(lanes);                                        \
        return lanes[0];                                           \
    }                                                              \
                                                                   \
    TFD_VECTOR int32_t first_##name(const T *x, int32_t n, T most) \
    {                                                              \
        int32_t first = n;                                         \
                                                                   \
        for (int32_t i = 0; i < n; i++) {                          \
            const int32_t at = x[i] == most ? i : n;               \
                                                                   \
            first = at < first ? at : first;                       \
        }                                                          \
        return first < n ? first : 0;                              \
    }                                                              \
                                                                   \
    TFD_SIMD_LOOP(likeliest_##name)                                \
    {                                                              \
        struct greedy *g = arg;                                    \
        const int64_t step = g->d->batch * g->d->classes;          \
        const int32_t n = (int32_t)g->d->classes;                  \
                                                                   \
        for (int64_t t = begin; t < end; t++) {                    \
            const T *x = (const T *)g->first + t * step;           \
            const T most = most_##name(x, n);                      \
                                                                   \
            ask_ahead(x + AHEAD * step, n * (int64_t)sizeof(T));   \
            g->most[t] = (double)most;                             \
            g->best[t] = first_##name(x, n, most);                 \
        }                                                          \
    }                                                              \
    TFD_SIMD_CLONES_WIDE(likeliest_##name)
LIKELIEST(FLOAT, float, float_8, 8)
LIKELIEST(DOUBLE, double, double_4, 4)

/* Steps [t, t + n) of item b. */
static void look_at_steps(struct greedy *g, int64_t b, int64_t t, int64_t n)
{
    const struct decoder *d = g->d;
    const int64_t at = (t * d->batch + b) * d->classes;

    g->first = (const char *)tfd_tensor_data(d->inputs) +
               (size_t)at * tfd_dtype_size(d->inputs->dtype);
    if (d->inputs->dtype == TFD_FLOAT)
        likeliest_FLOAT(g, 0, n);
    else
        likeliest_DOUBLE(g, 0, n);
}

static void decode_greedily(const struct decoder *d, int64_t b)
{
    struct tfd_ctc_found *found = &d->found[b];
    const int64_t steps = steps_of(d, b);
    struct greedy g;
    int32_t last = -1;
    double sum = 0;

    g.d = d;
    found->length[0] = 0;
    for (int64_t t = 0; t < steps; t++) {
        const int at = (int)(t % STEPS);
        int32_t c;

        if (at == 0 && tfd_halted())
            break;
        if (at == 0)
            look_at_steps(&g, b, t, steps - t < STEPS ? steps - t : STEPS);
        c = g.best[at];
        sum -= g.most[at];
        if (c != d->blank && !(d->s->merge && c == last))
            found->label[found->length[0]++] = c;
        last = c;
    }
    tfd_ctc_store(d->chance, b, 1, &sum);
}

static enum tfd_code greedy_items(void *arg, int64_t begin, int64_t end,
                                  struct tfd_status *st)
{
    const struct decoder *d = arg;

    for (int64_t b = begin; b < end; b++) {
        TFD_TRY(tfd_ctc_found_new(1, steps_of(d, b), &d->found[b], st));
        decode_greedily(d, b);
    }
    return TFD_OK;
}

/* ---- Beam search --------------------------------------------------------- */

static enum tfd_code search_items(void *arg, int64_t begin, int64_t end,
                                  struct tfd_status *st)
{
    const struct decoder *d = arg;
    struct tfd_buffer *chances = tfd_buffer_new((size_t)d->paths * 8);
    enum tfd_code rc = TFD_OK;

    if (!chances)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %" PRId64 " numbers", d->paths);
    for (int64_t b = begin; rc == TFD_OK && b < end; b++) {
        const struct tfd_ctc_search s = {.inputs = d->inputs,
                                         .item = b,
                                         .steps = steps_of(d, b),
                                         .width = d->s->width,
                                         .paths = d->paths,
                                         .merge = d->s->merge};

        rc = tfd_ctc_beam(&s, &d->found[b], chances->data, st);
        if (rc == TFD_OK)
            tfd_ctc_store(d->chance, b * d->paths, d->paths, chances->data);
    }
    tfd_buffer_unref(chances);
    return rc;
}

/* ---- Outputs ------------------------------------------------------------- */

static int64_t labels_before(const struct tfd_ctc_found *f, int64_t path)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < path; i++)
        sum += f->length[i];
    return sum;
}

static void store_path(const struct decoder *d, int64_t path, int64_t *index,
                       int64_t *value, int64_t *shape)
{
    shape[0] = d->batch;
    shape[1] = 0;
    for (int64_t b = 0; b < d->batch && !tfd_halted(); b++) {
        const struct tfd_ctc_found *f = &d->found[b];
        const int32_t *label = f->label + labels_before(f, path);

        for (int64_t i = 0; i < f->length[path]; i++) {
            *index++ = b;
            *index++ = i;
            *value++ = label[i];
        }
        if (f->length[path] > shape[1])
            shape[1] = f->length[path];
    }
}

static enum tfd_code store_paths(struct tfd_kctx *k, const struct decoder *d,
                                 struct tfd_status *st)
{
    const int n = (int)d->paths;

    for (int p = 0; p < n; p++) {
        int64_t labels = 0;
        struct tfd_shape index = {2, {0, 2}}, value = {1, {0}}, two = {1, {2}};

        for (int64_t b = 0; b < d->batch; b++)
            labels += d->found[b].length[p];
        index.dim[0] = value.dim[0] = labels;
        TFD_TRY(tfd_kctx_output(k, p, TFD_INT64, &index, st));
        TFD_TRY(tfd_kctx_output(k, n + p, TFD_INT64, &value, st));
        TFD_TRY(tfd_kctx_output(k, 2 * n + p, TFD_INT64, &two, st));
        store_path(d, p, tfd_tensor_data(&k->out[p]),
                   tfd_tensor_data(&k->out[n + p]),
                   tfd_tensor_data(&k->out[2 * n + p]));
    }
    return TFD_OK;
}

/* ---- Kernels ------------------------------------------------------------- */

static int cost_of(double ns)
{
    return ns < 1e9 ? (int)ns : 1000000000;
}

static enum tfd_code run_decoder(struct tfd_kctx *k, struct decoder *d,
                                 int cost, tfd_try_fn *fn,
                                 struct tfd_status *st)
{
    const size_t size = (size_t)d->batch * sizeof(*d->found);
    const struct tfd_shape shape = {2, {d->batch, d->paths}};
    const int last = (int)(3 * d->paths);
    struct tfd_buffer *b;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, last, d->inputs->dtype, &shape, st));
    d->chance = &k->out[last];
    b = tfd_buffer_new(size);
    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %zu bytes for a decoder", size);
    d->found = b->data;
    memset(d->found, 0, size);
    rc = tfd_kctx_try(k, d->batch, cost, fn, d, st);
    if (rc == TFD_OK && tfd_halted())
        rc = tfd_halt_fail(st);
    if (rc == TFD_OK)
        rc = store_paths(k, d, st);
    for (int64_t i = 0; i < d->batch; i++)
        tfd_buffer_unref(d->found[i].buffer);
    tfd_buffer_unref(b);
    return rc;
}

static struct decoder decoder_of(const struct tfd_kctx *k)
{
    return (struct decoder){.s = k->state,
                            .inputs = &k->in[0],
                            .length = tfd_tensor_data(&k->in[1]),
                            .batch = k->in[0].shape.dim[1],
                            .classes = k->in[0].shape.dim[2],
                            .paths = (k->out_count - 1) / 3};
}

static enum tfd_code greedy_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct decoder_state *s = k->state;
    struct decoder d;

    TFD_TRY(check_decoder(k, st));
    d = decoder_of(k);
    d.blank = s->blank < 0 ? d.classes + s->blank : s->blank;
    if (d.blank < 0 || d.blank >= d.classes)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "blank_index expected to be between -%" PRId64
                        " and %" PRId64 " but was %" PRId64,
                        d.classes, d.classes - 1, s->blank);
    return run_decoder(
        k, &d, cost_of((double)k->in[0].shape.dim[0] * (double)d.classes),
        greedy_items, st);
}

static enum tfd_code beam_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct decoder_state *s = k->state;
    struct decoder d;

    TFD_TRY(check_decoder(k, st));
    d = decoder_of(k);
    return run_decoder(k, &d,
                       cost_of((double)k->in[0].shape.dim[0] *
                               (double)d.classes * (double)s->width * 2),
                       search_items, st);
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code decoder_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_shape x = {3,
                          {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape length = {1, {TFD_DIM_UNKNOWN}};
    const int n = (s->out_count - 1) / 3;

    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    length.dim[0] = x.dim[1];
    TFD_TRY(tfd_shape_merge(&length, &s->in[1], st));
    for (int i = 0; i < n; i++) {
        s->out[i] = (struct tfd_shape){2, {TFD_DIM_UNKNOWN, 2}};
        s->out[n + i] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
        s->out[2 * n + i] = (struct tfd_shape){1, {2}};
    }
    s->out[3 * n] = (struct tfd_shape){2, {length.dim[0], n}};
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "CTCGreedyDecoder",
        .inputs = "inputs: T, sequence_length: int32",
        .outputs = "decoded_indices: int64, decoded_values: int64, "
                   "decoded_shape: int64, log_probability: T",
        .attrs = "merge_repeated: bool = false; blank_index: int = -1; "
                 "T: {float, double} = DT_FLOAT",
        .shape = decoder_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "CTCBeamSearchDecoder",
        .inputs = "inputs: T, sequence_length: int32",
        .outputs = "decoded_indices: top_paths * int64, "
                   "decoded_values: top_paths * int64, "
                   "decoded_shape: top_paths * int64, log_probability: T",
        .attrs = "beam_width: int >= 1; top_paths: int >= 1; "
                 "merge_repeated: bool = true; T: {float, double} = DT_FLOAT",
        .shape = decoder_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define ROWS(name)                                             \
    TFD_KERNEL("CTCGreedyDecoder", name, greedy_compute,       \
               .prepare = prepare_greedy,                      \
               .state_size = sizeof(struct decoder_state)),    \
        TFD_KERNEL("CTCBeamSearchDecoder", name, beam_compute, \
                   .prepare = prepare_beam,                    \
                   .state_size = sizeof(struct decoder_state), \
                   .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {ROWS(FLOAT), ROWS(DOUBLE)};

const struct tfd_family tfd_family_ctc_decoder = {
    .name = "ctc_decoder",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
