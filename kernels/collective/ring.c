/*
 * ring.c - reductions and gathers in a ring: each member receives from the one
 * before it and sends to the one after it, so that each link carries about
 * twice the value, however many members there are.
 *
 * The value is cut into one chunk a member.  Chunk i begins at rank i.  In the
 * first pass it goes once around, each rank adding its own, and is complete at
 * rank i-1; in the second pass the complete one goes around:
 *
 *     rank      0    1    2    3        chunk 2 of four members
 *     pass 0    .    .    o--->+
 *               +<--------------        (3 sends to 0)
 *               ---->C                  complete at rank 1, divided there
 *     pass 1         C--->C--->C
 *               C<--------------
 *
 * A gather has the second half alone: chunk i is what rank i has.
 *
 * A value may be cut into several rings (subdivisions), which go through the
 * devices of each task in another order: one link may carry more streams.
 * Source of cuts, orders and keys: TensorFlow's ring algorithm.
 */
#include "common/base/alloc.h"
#include "common/base/half.h"
#include "kernels/collective/collective_state.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks end at multiples of so many bytes. */
#define CHUNK_ALIGN 64
/* Of a value that may be cut into more rings, chunks are no larger. */
#define CHUNK_MAX ((int64_t)4 << 20)
#define SUBDIVS_PER_DEVICE 2

struct field {                           /* a chunk of one ring */
    struct tfd_collective_part *part[2]; /* by pass; NULL: is not received */
    struct tfd_tensor value;
};

struct ring {
    struct tfd_collective *c;
    const struct tfd_collective_state *state;
    struct tfd_kctx *k;
    int size;            /* members */
    int subdivs;         /* rings */
    int *order;          /* of ring s: order[s * size + rank in it] = rank */
    int *rank;           /* ours in each ring */
    int64_t total;       /* elements of the whole value */
    int64_t chunk;       /* of a chunk, but the last ones */
    size_t element;      /* bytes */
    struct field *field; /* chunk * subdivs + ring */
};

/* ---- Orders -------------------------------------------------------------- */

/* The first rank of the task of `rank`, and how many devices it has. */
static int task_of(const struct ring *r, int rank, int *count)
{
    const int task = tfd_collective_task(r->c, rank);
    int first = rank, last = rank;

    while (first > 0 && tfd_collective_task(r->c, first - 1) == task)
        first--;
    while (last + 1 < r->size && tfd_collective_task(r->c, last + 1) == task)
        last++;
    *count = last - first + 1;
    return first;
}

/* The devices of each task are rotated by the offset; by a negative one they
 * are in the opposite order first. */
static void order_ring(struct ring *r, int s, int64_t offset)
{
    int *order = r->order + (size_t)s * (size_t)r->size;
    int count;

    for (int first = 0; first < r->size; first += count) {
        (void)task_of(r, first, &count);
        for (int i = 0; i < count; i++) {
            const uint64_t by =
                offset < 0 ? -(uint64_t)offset : (uint64_t)offset;
            int at = (int)(((uint64_t)i + by) % (uint64_t)count);

            if (offset < 0)
                at = count - (at + 1);
            order[first + i] = first + at;
            if (first + at == tfd_collective_rank(r->c))
                r->rank[s] = first + i;
        }
    }
}

static int tasks_of(const struct ring *r)
{
    return tfd_collective_task(r->c, r->size - 1) + 1;
}

/* How many rings a value of this size is worth. */
static int choose_subdivs(const struct ring *r)
{
    const int devices = r->size / tasks_of(r);
    const int64_t per_device =
        r->state->max_subdivs > 0 ? r->state->max_subdivs : SUBDIVS_PER_DEVICE;
    const int64_t bytes = r->total * (int64_t)r->element;
    const int64_t most = per_device * devices;
    int n = 1;

    while (n < most && bytes / ((int64_t)r->size * n) > CHUNK_MAX)
        n++;
    return n;
}

static int64_t ring_offset(const struct ring *r, int s)
{
    int64_t stride;

    if (!r->state->finds_subdivs)
        return r->state->subdiv_count > 0 ? r->state->subdiv[s] : 0;
    stride = r->size / tasks_of(r) / r->subdivs;
    stride = (stride == 0 ? 1 : stride) * s;
    return s % 2 == 1 ? -stride : stride;
}

/* ---- Chunks -------------------------------------------------------------- */

static int64_t chunk_elements(const struct ring *r, bool aligned)
{
    const int64_t chunks = (int64_t)r->size * r->subdivs;
    const int64_t n = (r->total + chunks - 1) / chunks;

    if (!aligned)
        return r->total / chunks;
    return n + (int64_t)((CHUNK_ALIGN - (size_t)n * r->element % CHUNK_ALIGN) /
                         r->element);
}

static int64_t begin_of(const struct ring *r, int64_t i)
{
    const int64_t begin = i * r->chunk;

    return begin < r->total ? begin : r->total;
}

static int64_t elements_of(const struct ring *r, int64_t i)
{
    return begin_of(r, i + 1) - begin_of(r, i);
}

enum tfd_code tfd_collective_slice(const struct tfd_tensor *t, int64_t begin,
                                   int64_t n, struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    const size_t size = tfd_dtype_size(t->dtype);

    *out = (struct tfd_tensor){t->dtype, {1, {n}}, NULL};
    if (n == 0)
        return TFD_OK;
    out->buffer =
        tfd_buffer_slice(t->buffer, (size_t)begin * size, (size_t)n * size);
    if (out->buffer)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a chunk");
}

static void *output_at(const struct ring *r, int64_t i)
{
    return (char *)tfd_tensor_data(&r->k->out[0]) +
           (size_t)begin_of(r, i) * r->element;
}

/* ---- Making -------------------------------------------------------------- */

static void free_ring(struct ring *r)
{
    const size_t fields = r->field ? (size_t)r->size * (size_t)r->subdivs : 0;

    for (size_t i = 0; i < fields; i++)
        tfd_tensor_unref(&r->field[i].value);
    free(r->field);
    free(r->order);
    free(r->rank);
}

static enum tfd_code make_ring(struct ring *r, struct tfd_collective *c,
                               int64_t total, bool aligned,
                               struct tfd_status *st)
{
    r->c = c;
    r->k = tfd_collective_kctx(c);
    r->state = r->k->state;
    r->size = tfd_collective_spec_of(c)->group_size;
    r->total = total;
    r->element = tfd_dtype_size(r->state->dtype);
    r->subdivs = 1;
    if (aligned && r->state->finds_subdivs)
        r->subdivs = choose_subdivs(r);
    else if (aligned && r->state->subdiv_count > 0)
        r->subdivs = r->state->subdiv_count;
    r->order = calloc((size_t)r->size, (size_t)r->subdivs * sizeof(*r->order));
    r->rank = calloc((size_t)r->subdivs, sizeof(*r->rank));
    r->field = calloc((size_t)r->size, (size_t)r->subdivs * sizeof(*r->field));
    if (!r->order || !r->rank || !r->field)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a ring of %d", r->size);
    for (int s = 0; s < r->subdivs; s++)
        order_ring(r, s, aligned ? ring_offset(r, s) : 0);
    r->chunk = chunk_elements(r, aligned);
    return TFD_OK;
}

/* ---- Moving -------------------------------------------------------------- */

/* A chunk stays `last` ranks before its number: the rank that does not send it
 * in this pass, and the one after it does not receive it. */
static int last_of(const struct ring *r, int chunk, int pass)
{
    return (chunk + r->size - 1 - pass + r->size) % r->size;
}

static bool receives(const struct ring *r, int chunk, int s, int pass)
{
    return r->rank[s] != (last_of(r, chunk, pass) + 1) % r->size;
}

static bool sends(const struct ring *r, int chunk, int s, int pass)
{
    return r->rank[s] != last_of(r, chunk, pass);
}

static void put_tail(char *tail, int pass, int64_t field, int rank)
{
    snprintf(tail, TFD_COLLECTIVE_TAIL_MAX, ":%d:%" PRId64 ":%d", pass, field,
             rank);
}

static enum tfd_code ask_one(struct ring *r, int chunk, int s, int pass,
                             struct tfd_status *st)
{
    const int64_t i = (int64_t)chunk * r->subdivs + s;
    const int before = (r->rank[s] + r->size - 1) % r->size;
    const int64_t n = elements_of(r, i);
    char tail[TFD_COLLECTIVE_TAIL_MAX];

    if (n == 0 || !receives(r, chunk, s, pass))
        return TFD_OK;
    put_tail(tail, pass, i, before);
    return tfd_collective_ask(
        r->c, r->order[(size_t)s * (size_t)r->size + (size_t)before], tail, n,
        &r->field[i].part[pass], st);
}

/* At once for all that comes: senders need not be asked in time then. */
static enum tfd_code ask_all(struct ring *r, int passes, struct tfd_status *st)
{
    for (int pass = 0; pass < passes; pass++)
        for (int chunk = 0; chunk < r->size; chunk++)
            for (int s = 0; s < r->subdivs; s++)
                TFD_TRY(ask_one(r, chunk, s, pass, st));
    return TFD_OK;
}

static enum tfd_code send_one(struct ring *r, int chunk, int s, int pass,
                              struct tfd_status *st)
{
    const int64_t i = (int64_t)chunk * r->subdivs + s;
    char tail[TFD_COLLECTIVE_TAIL_MAX];

    if (elements_of(r, i) == 0 || !sends(r, chunk, s, pass))
        return TFD_OK;
    put_tail(tail, pass, i, r->rank[s]);
    return tfd_collective_send(r->c, tail, &r->field[i].value, st);
}

/* ---- The first pass ------------------------------------------------------ */

/* y = own chunk and what has come; a complete one lies in the output. */
static enum tfd_code merge_one(struct ring *r, int64_t i, bool complete,
                               const struct tfd_tensor *came,
                               struct tfd_status *st)
{
    const struct tfd_tensor *in = &r->k->in[0];
    const int64_t n = elements_of(r, i);
    struct tfd_tensor *y = &r->field[i].value;
    int failed = 0;
    struct tfd_row row = {
        .a = (const char *)tfd_tensor_data(in) +
             (size_t)begin_of(r, i) * r->element,
        .b = tfd_tensor_data(came),
        .a_step = 1,
        .b_step = 1,
        .failed = &failed,
    };

    if (complete)
        TFD_TRY(tfd_collective_slice(&r->k->out[0], begin_of(r, i), n, y, st));
    else
        TFD_TRY(tfd_tensor_new(y, r->state->dtype, &came->shape, st));
    row.y = tfd_tensor_data(y);
    r->state->merge(&row, 0, n);
    return TFD_OK;
}

static void put_scalar(enum tfd_dtype dtype, int n, void *out)
{
    switch (dtype) {
    case TFD_FLOAT:
        *(float *)out = (float)n;
        break;
    case TFD_DOUBLE:
        *(double *)out = n;
        break;
    case TFD_INT32:
        *(int32_t *)out = n;
        break;
    case TFD_INT64:
        *(int64_t *)out = n;
        break;
    case TFD_HALF:
        *(uint16_t *)out = tfd_half_from_float((float)n);
        break;
    default:
        *(uint16_t *)out = tfd_bfloat16_from_float((float)n);
        break;
    }
}

static void divide_one(struct ring *r, int64_t i)
{
    void *y = tfd_tensor_data(&r->field[i].value);
    uint64_t size[1] = {0};
    int failed = 0;
    const struct tfd_row row = {
        .a = y, .b = size, .y = y, .a_step = 1, .failed = &failed};

    put_scalar(r->state->dtype, r->size, size);
    r->state->divide((void *)&row, 0, elements_of(r, i));
}

static enum tfd_code reduce_one(struct ring *r, int chunk, int s,
                                struct tfd_status *st)
{
    const int64_t i = (int64_t)chunk * r->subdivs + s;
    struct field *f = &r->field[i];
    const bool complete = r->rank[s] == last_of(r, chunk, 0);
    struct tfd_tensor came;
    enum tfd_code rc;

    if (!f->part[0])
        return tfd_collective_slice(&r->k->in[0], begin_of(r, i),
                                    elements_of(r, i), &f->value, st);
    TFD_TRY(tfd_collective_wait(r->c, f->part[0], &came, st));
    rc = merge_one(r, i, complete, &came, st);
    tfd_tensor_unref(&came);
    if (rc == TFD_OK && complete && r->state->divide)
        divide_one(r, i);
    return rc;
}

/* Chunk number t that ring s comes to: its own one, the one before it, ... */
static int turn(const struct ring *r, int s, int t, int pass)
{
    return (r->rank[s] + pass + r->size - t) % r->size;
}

static enum tfd_code first_pass(struct ring *r, struct tfd_status *st)
{
    for (int t = 0; t < r->size; t++)
        for (int s = 0; s < r->subdivs; s++) {
            TFD_TRY(reduce_one(r, turn(r, s, t, 0), s, st));
            TFD_TRY(send_one(r, turn(r, s, t, 0), s, 0, st));
        }
    return TFD_OK;
}

/* ---- The other pass ------------------------------------------------------ */

static enum tfd_code take_one(struct ring *r, int chunk, int s, int pass,
                              struct tfd_status *st)
{
    const int64_t i = (int64_t)chunk * r->subdivs + s;
    struct field *f = &r->field[i];

    if (!f->part[pass])
        return TFD_OK;
    tfd_tensor_unref(&f->value);
    TFD_TRY(tfd_collective_wait(r->c, f->part[pass], &f->value, st));
    memcpy(output_at(r, i), tfd_tensor_data(&f->value),
           tfd_tensor_size(&f->value));
    return TFD_OK;
}

static enum tfd_code pass_around(struct ring *r, int pass,
                                 struct tfd_status *st)
{
    for (int t = 0; t < r->size; t++)
        for (int s = 0; s < r->subdivs; s++) {
            TFD_TRY(take_one(r, turn(r, s, t, pass), s, pass, st));
            TFD_TRY(send_one(r, turn(r, s, t, pass), s, pass, st));
        }
    return TFD_OK;
}

/* ---- Reduce -------------------------------------------------------------- */

static enum tfd_code run_reduce(struct ring *r, struct tfd_status *st)
{
    TFD_TRY(ask_all(r, 2, st));
    TFD_TRY(first_pass(r, st));
    return pass_around(r, 1, st);
}

enum tfd_code tfd_collective_reduce(struct tfd_collective *c,
                                    struct tfd_status *st)
{
    struct tfd_kctx *k = tfd_collective_kctx(c);
    const struct tfd_tensor *in = &k->in[0];
    struct ring r = {.c = c};
    enum tfd_code rc;

    if (tfd_collective_spec_of(c)->group_size == 1 ||
        tfd_tensor_elements(in) == 0) {
        tfd_kctx_output_alias(k, 0, 0, &in->shape);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, in->dtype, &in->shape, st));
    rc = make_ring(&r, c, tfd_tensor_elements(in), true, st);
    if (rc == TFD_OK)
        rc = run_reduce(&r, st);
    free_ring(&r);
    return rc;
}

/* ---- Gather -------------------------------------------------------------- */

static enum tfd_code run_gather(struct ring *r, struct tfd_status *st)
{
    const struct tfd_tensor *in = &r->k->in[0];
    struct field *own = &r->field[r->rank[0]];

    memcpy(output_at(r, r->rank[0]), tfd_tensor_data(in), tfd_tensor_size(in));
    TFD_TRY(tfd_collective_slice(in, 0, r->chunk, &own->value, st));
    TFD_TRY(ask_all(r, 1, st));
    return pass_around(r, 0, st);
}

enum tfd_code tfd_collective_gather(struct tfd_collective *c,
                                    struct tfd_status *st)
{
    struct tfd_kctx *k = tfd_collective_kctx(c);
    const struct tfd_collective_spec *spec = tfd_collective_spec_of(c);
    const int64_t total = tfd_shape_elements(&spec->shape);
    struct ring r = {.c = c};
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &spec->shape, st));
    if (total == 0)
        return TFD_OK;
    rc = make_ring(&r, c, total, false, st);
    if (rc == TFD_OK)
        rc = run_gather(&r, st);
    free_ring(&r);
    return rc;
}
