/*
 * scatter_loops.c - see scatter.h.
 *
 * A loop gets a range of rows of `to` and passes over all updates, taking those
 * that fall into its range.  Alone it gets all rows.  Several threads each read
 * all row numbers, which is little beside the rows; so each row has one writer
 * and its updates keep their order, without locks or sorting.
 */
#include "common/base/variant.h"
#include "common/thread/pool.h"
#include "kernels/core/element.h"
#include "kernels/index/scatter.h"
#include "kernels/index/scatter_functions.h"
#include "kernels/index/scatter_halves.h"
#include "kernels/layout/lines.h"
#include "kernels/layout/rows.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/type_rows.h"

#include <stdio.h>

/* ---- Loops --------------------------------------------------------------- */

/* Rows of fewer elements are not worth what vectors of 32 bytes begin with. */
#define WIDE_INNER 8

#if defined(__x86_64__)
#define CLONES(name)                                                  \
    TFD_SIMD_COPY(name, _avx2, "avx2")                                \
                                                                      \
    static void name(void *arg, int64_t begin, int64_t end)           \
    {                                                                 \
        if (((const struct tfd_scatter *)arg)->inner >= WIDE_INNER && \
            __builtin_cpu_supports("avx2"))                           \
            name##_avx2(arg, begin, end);                             \
        else                                                          \
            name##_loop(arg, begin, end);                             \
    }
#else
#define CLONES(name) TFD_SIMD_CLONES(name)
#endif

#define LOOP(name, T, function)                                             \
    /* Rows of one element. */                                              \
    static void name##_each(const struct tfd_scatter *s, int64_t begin,     \
                            int64_t end)                                    \
    {                                                                       \
        const T *by = s->by;                                                \
        T *to = s->to;                                                      \
        const int64_t ahead = tfd_scatter_ahead(s, end - begin, sizeof(T)); \
                                                                            \
        for (int64_t i = 0; i < s->count; i++) {                            \
            const int64_t row = s->rows[i];                                 \
                                                                            \
            if (i < ahead)                                                  \
                tfd_scatter_ask(s, i, sizeof(T));                           \
            if (row >= begin && row < end)                                  \
                to[row] = function(to[row], by[i]);                         \
        }                                                                   \
    }                                                                       \
    TFD_SIMD_LOOP(name)                                                     \
    {                                                                       \
        const struct tfd_scatter *s = arg;                                  \
        const int64_t inner = s->inner;                                     \
        const int64_t ahead = tfd_scatter_ahead(s, end - begin, sizeof(T)); \
                                                                            \
        if (inner == 1 && !s->one) {                                        \
            name##_each(s, begin, end);                                     \
            return;                                                         \
        }                                                                   \
        for (int64_t i = 0; i < s->count; i++) {                            \
            const int64_t row = s->rows[i];                                 \
            const T *by = s->by;                                            \
            T *to = s->to;                                                  \
                                                                            \
            if (i < ahead)                                                  \
                tfd_scatter_ask(s, i, sizeof(T));                           \
            if (row < begin || row >= end)                                  \
                continue;                                                   \
            to += row * inner;                                              \
            by += s->one ? 0 : i * inner;                                   \
            if (s->one)                                                     \
                for (int64_t n = 0; n < inner; n++)                         \
                    to[n] = function(to[n], *by);                           \
            else                                                            \
                for (int64_t n = 0; n < inner; n++)                         \
                    to[n] = function(to[n], by[n]);                         \
        }                                                                   \
    }                                                                       \
    CLONES(name)

#define ARITHMETIC_LOOPS(X, name, T)  \
    X(loop_add_##name, T, add_##name) \
    X(loop_sub_##name, T, sub_##name) \
    X(loop_mul_##name, T, mul_##name) \
    X(loop_div_##name, T, div_##name)
#define ORDER_LOOPS(X, name, T)       \
    X(loop_min_##name, T, min_##name) \
    X(loop_max_##name, T, max_##name)

TFD_REAL_ROWS(ARITHMETIC_LOOPS, LOOP)
TFD_HALF_ROWS(ARITHMETIC_LOOPS, LOOP)
TFD_COMPLEX_ROWS(ARITHMETIC_LOOPS, LOOP)
TFD_REAL_ROWS(ORDER_LOOPS, LOOP)
TFD_HALF_ROWS(ORDER_LOOPS, LOOP)
LOOP(loop_add_BOOL, tfd_bool, add_BOOL)
LOOP(loop_sub_BOOL, tfd_bool, sub_BOOL)

#define SECOND(a, b) (b)
LOOP(loop_update_1, uint8_t, SECOND)
LOOP(loop_update_2, uint16_t, SECOND)
LOOP(loop_update_4, uint32_t, SECOND)
LOOP(loop_update_8, uint64_t, SECOND)
LOOP(loop_update_16, tfd_complex128, SECOND)

/* ---- Tables -------------------------------------------------------------- */

static tfd_range_fn *const loops[TFD_SCATTER_END][TFD_DTYPE_END] = {
#define ARITHMETIC(name, number, T)              \
    [TFD_SCATTER_ADD][number] = loop_add_##name, \
    [TFD_SCATTER_SUB][number] = loop_sub_##name, \
    [TFD_SCATTER_MUL][number] = loop_mul_##name, \
    [TFD_SCATTER_DIV][number] = loop_div_##name,
#define ORDER(name, number, T)                   \
    [TFD_SCATTER_MIN][number] = loop_min_##name, \
    [TFD_SCATTER_MAX][number] = loop_max_##name,
    TFD_REAL_DTYPES(ARITHMETIC) TFD_HALF_DTYPES(ARITHMETIC)
        TFD_COMPLEX_DTYPES(ARITHMETIC) TFD_REAL_DTYPES(ORDER)
            TFD_HALF_DTYPES(ORDER)[TFD_SCATTER_ADD][TFD_BOOL] = loop_add_BOOL,
    [TFD_SCATTER_SUB][TFD_BOOL] = loop_sub_BOOL,
};

/* Updating only copies, so the width says all. */
static const struct {
    size_t size;
    tfd_range_fn *loop;
} updates[] = {
    {1, loop_update_1}, {2, loop_update_2},   {4, loop_update_4},
    {8, loop_update_8}, {16, loop_update_16},
};

static const char *const words[TFD_SCATTER_END] = {
#define X(id, word) [TFD_SCATTER_##id] = word,
    TFD_SCATTERS(X)
#undef X
};

enum tfd_scatter_function tfd_scatter_named(struct tfd_str op)
{
    for (int i = 0; i < TFD_SCATTER_END; i++) {
        size_t n = strlen(words[i]);

        if (op.size >= n && memcmp(op.data + op.size - n, words[i], n) == 0)
            return (enum tfd_scatter_function)i;
    }
    return TFD_SCATTER_END;
}

static tfd_range_fn *loop_for(enum tfd_scatter_function function,
                              enum tfd_dtype dtype, const struct tfd_scatter *s)
{
    if (dtype == TFD_HALF && !s->one && tfd_scatter_halves(function))
        return tfd_scatter_halves(function);
    if (function != TFD_SCATTER_UPDATE)
        return loops[function][dtype];
    for (int i = 0; i < TFD_COUNT(updates); i++)
        if (updates[i].size == tfd_dtype_size(dtype))
            return updates[i].loop;
    return NULL;
}

/* ---- Strings ------------------------------------------------------------- */

static enum tfd_code append_text(struct tfd_tstring *to, struct tfd_str more,
                                 struct tfd_status *st)
{
    struct tfd_tstring sum = {0};
    struct tfd_str old = tfd_tstring_view(to);

    if (more.size == 0)
        return TFD_OK;
    if (old.size == 0)
        return tfd_tstring_set(to, more, st);
    TFD_TRY(tfd_tstring_resize(&sum, old.size + more.size, st));
    memcpy(tfd_tstring_room(&sum), old.data, old.size);
    memcpy(tfd_tstring_room(&sum) + old.size, more.data, more.size);
    tfd_tstring_deinit(to);
    *to = sum;
    return TFD_OK;
}

static enum tfd_code string_row(enum tfd_scatter_function function,
                                const struct tfd_scatter *s, int64_t i,
                                struct tfd_status *st)
{
    struct tfd_tstring *to = s->to;
    const struct tfd_tstring *by = s->by;

    to += s->rows[i] * s->inner;
    by += s->one ? 0 : i * s->inner;
    for (int64_t n = 0; n < s->inner; n++) {
        struct tfd_str more = tfd_tstring_view(&by[s->one ? 0 : n]);

        if (function == TFD_SCATTER_ADD)
            TFD_TRY(append_text(&to[n], more, st));
        else
            TFD_TRY(tfd_tstring_set(&to[n], more, st));
    }
    return TFD_OK;
}

static enum tfd_code run_strings(enum tfd_scatter_function function,
                                 const struct tfd_scatter *s,
                                 struct tfd_status *st)
{
    for (int64_t i = 0; i < s->count; i++)
        if (s->rows[i] >= 0)
            TFD_TRY(string_row(function, s, i, st));
    return TFD_OK;
}

/* ---- Variants ------------------------------------------------------------ */

/* Each place gets a reference to the update's variant. */
static enum tfd_code update_variants(const struct tfd_scatter *s,
                                     struct tfd_status *st)
{
    struct tfd_variant **to = s->to;
    struct tfd_variant *const *by = s->by;

    for (int64_t i = 0; i < s->count; i++) {
        struct tfd_variant **row = to + s->rows[i] * s->inner;

        if (s->rows[i] < 0)
            continue;
        for (int64_t n = 0; n < s->inner; n++)
            TFD_TRY(tfd_elements_copy(TFD_VARIANT, &row[n],
                                      &by[s->one ? 0 : i * s->inner + n], 1,
                                      st));
    }
    return TFD_OK;
}

/* ---- Running ------------------------------------------------------------- */

#define SHARD_NS 50000 /* work that is worth a thread */

struct shards {
    const struct tfd_scatter *s;
    tfd_range_fn *loop;
    int64_t count;
};

static void run_shards(void *arg, int64_t begin, int64_t end)
{
    const struct shards *h = arg;
    struct tfd_scatter s = *h->s;
    int64_t each = s.limit / h->count;

    h->loop(&s, begin * each, end == h->count ? s.limit : end * each);
}

static int64_t shard_count(const struct tfd_kctx *k,
                           const struct tfd_scatter *s)
{
    int64_t count, work = s->count * (s->inner / 4 + 2); /* nanoseconds */

    if (!k->rt || work < 2 * SHARD_NS)
        return 1;
    count = tfd_pool_threads(tfd_rt_pool(k->rt));
    count = count < work / SHARD_NS ? count : work / SHARD_NS;
    count = count < s->limit ? count : s->limit;
    return count > 1 ? count : 1; /* there may be no rows */
}

/* A few threads that leave out each other's short rows are slower than one that
 * takes all, as it cannot be predicted whose is the next. */
#define SHORT_SIZE 64
#define FEW_SHARDS 4

/* For rows of `size` bytes. */
static int64_t shards_of_rows(const struct tfd_kctx *k,
                              const struct tfd_scatter *s, size_t size)
{
    const int64_t count = shard_count(k, s);

    return count <= FEW_SHARDS && size < SHORT_SIZE ? 1 : count;
}

bool tfd_scatter_is_alone(const struct tfd_kctx *k, const struct tfd_scatter *s,
                          enum tfd_dtype dtype)
{
    return shards_of_rows(k, s, (size_t)s->inner * tfd_dtype_size(dtype)) == 1;
}

/* An integer type's zero is all bytes zero. */
static bool has_zero(enum tfd_dtype dtype, const void *data, int64_t n)
{
    static const char zero[sizeof(int64_t)];
    size_t size = tfd_dtype_size(dtype);

    for (int64_t i = 0; i < n; i++)
        if (memcmp((const char *)data + (size_t)i * size, zero, size) == 0)
            return true;
    return false;
}

static bool is_integer(enum tfd_dtype dtype)
{
#define X(name, number, T) || dtype == TFD_##name
    return false TFD_INT_DTYPES(X);
#undef X
}

/* ---- Updates that only move rows ----------------------------------------- */

#define MOVE_BLOCK 512 /* rows chosen at a time */
#define MOVE_AHEAD 4   /* of which one is moved and another fetched */
#define LINE_SIZE 64
#define FETCH_SIZE_MAX 512

struct moves {
    const struct tfd_scatter *s;
    size_t size;
    const void *rows;
    bool wide, far;
    int64_t shards;
};

/* Which of `count` row numbers are in [begin, end), without a branch that no
 * processor could foresee. */
#define CHOOSE(I)                                                          \
    static int64_t choose_##I(const I *rows, int64_t count, int64_t begin, \
                              int64_t end, int64_t *out)                   \
    {                                                                      \
        int64_t n = 0;                                                     \
                                                                           \
        for (int64_t i = 0; i < count; i++) {                              \
            out[n] = i;                                                    \
            n += (rows[i] >= begin) & (rows[i] < end);                     \
        }                                                                  \
        return n;                                                          \
    }

CHOOSE(int32_t)
CHOOSE(int64_t)

static char *row_of(const struct moves *m, int64_t i)
{
    const int64_t row =
        m->wide ? ((const int64_t *)m->rows)[i] : ((const int32_t *)m->rows)[i];

    return (char *)m->s->to + (size_t)row * m->size;
}

/* Updates number `first` + chosen[0 .. n), past the caches. */
static void stream_chosen(const struct moves *m, int64_t first,
                          const int64_t *chosen, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        const int64_t i = first + chosen[j];

        tfd_lines_stream(row_of(m, i),
                         (const char *)m->s->by + (size_t)i * m->size, m->size);
    }
    tfd_lines_end();
}

/* Updates number `first` + chosen[0 .. n). */
static void move_chosen(const struct moves *m, int64_t first,
                        const int64_t *chosen, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        const int64_t i = first + chosen[j];

        if (j + MOVE_AHEAD < n) {
            const char *next = row_of(m, first + chosen[j + MOVE_AHEAD]);

            for (size_t at = 0; at < m->size && at < FETCH_SIZE_MAX;
                 at += LINE_SIZE)
                __builtin_prefetch(next + at, 1);
        }
        memcpy(row_of(m, i), (const char *)m->s->by + (size_t)i * m->size,
               m->size);
    }
}

/* On one thread. */
static void move_all(const struct moves *m)
{
    const struct tfd_scatter *s = m->s;

    tfd_rows_scatter_into(s->to, (size_t)s->limit * m->size, m->size,
                          m->wide ? TFD_INT64 : TFD_INT32)(
        s->to, s->by, m->size, m->rows, s->count);
}

static void move_shards(void *arg, int64_t begin, int64_t end)
{
    const struct moves *m = arg;
    const int64_t each = m->s->limit / m->shards, first = begin * each;
    const int64_t last = end == m->shards ? m->s->limit : end * each;
    int64_t chosen[MOVE_BLOCK];

    if (begin == 0 && end == m->shards) {
        move_all(m);
        return;
    }
    for (int64_t i = 0, n; i < m->s->count; i += n) {
        n = m->s->count - i < MOVE_BLOCK ? m->s->count - i : MOVE_BLOCK;
        (m->far ? stream_chosen : move_chosen)(
            m, i, chosen,
            m->wide ? choose_int64_t((const int64_t *)m->rows + i, n, first,
                                     last, chosen)
                    : choose_int32_t((const int32_t *)m->rows + i, n, first,
                                     last, chosen));
    }
}

void tfd_scatter_move(struct tfd_kctx *k, const struct tfd_scatter *s,
                      size_t size, const void *rows, enum tfd_dtype type)
{
    struct moves m = {
        .s = s, .size = size, .rows = rows, .wide = type == TFD_INT64};

    if (s->count == 0 || size == 0)
        return;
    m.far = tfd_rows_streams((size_t)s->limit * size, s->to, size);
    m.shards = shards_of_rows(k, s, size);
    if (m.shards == 1)
        move_all(&m);
    else
        tfd_kctx_parallel(k, m.shards, SHARD_NS, move_shards, &m);
}

/* ---- Any function -------------------------------------------------------- */

/* Whether the function only moves rows, and none is left out. */
static bool moves_rows(enum tfd_scatter_function function,
                       const struct tfd_scatter *s)
{
    return function == TFD_SCATTER_UPDATE && !s->one &&
           tfd_rows_bad(s->rows, TFD_INT64, s->count, s->limit) == s->count;
}

enum tfd_code tfd_scatter_run(struct tfd_kctx *k,
                              enum tfd_scatter_function function,
                              enum tfd_dtype dtype, const struct tfd_scatter *s,
                              struct tfd_status *st)
{
    struct shards h = {
        s, loop_for(function, dtype, s),
        shards_of_rows(k, s, (size_t)s->inner * tfd_dtype_size(dtype))};

    if (s->count == 0 || s->inner == 0)
        return TFD_OK;
    if (dtype == TFD_STRING)
        return run_strings(function, s, st);
    if (dtype == TFD_VARIANT && function == TFD_SCATTER_UPDATE)
        return update_variants(s, st);
    if (!tfd_dtype_is_pod(dtype) || !h.loop)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "no Scatter%s of type %s",
                        words[function], tfd_dtype_name((int)dtype));
    if (function == TFD_SCATTER_DIV && is_integer(dtype) &&
        has_zero(dtype, s->by, s->one ? 1 : s->count * s->inner))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Integer division by zero");
    if (moves_rows(function, s))
        tfd_scatter_move(k, s, (size_t)s->inner * tfd_dtype_size(dtype),
                         s->rows, TFD_INT64);
    else if (h.count > 1)
        tfd_kctx_parallel(k, h.count, SHARD_NS, run_shards, &h);
    else
        run_shards(&h, 0, 1);
    return TFD_OK;
}

const char *tfd_scatter_place(const struct tfd_shape *s, int64_t at, char *text)
{
    int64_t index[TFD_RANK_MAX];
    size_t used = 0;

    for (int d = s->rank - 1; d >= 0; d--) {
        index[d] = s->dim[d] ? at % s->dim[d] : 0;
        at = s->dim[d] ? at / s->dim[d] : 0;
    }
    text[0] = '\0';
    for (int d = 0; d < s->rank; d++)
        used += (size_t)snprintf(text + used, TFD_SCATTER_PLACE_MAX - used,
                                 "%s%lld%s", d ? "," : "[", (long long)index[d],
                                 d == s->rank - 1 ? "]" : "");
    return text;
}
