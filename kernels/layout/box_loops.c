/*
 * box_loops.c - see box_loops.h.
 *
 * Elements are of types that may lie at any address, so that a run of two
 * floats is one element of eight bytes wherever it begins.
 */
#include "kernels/layout/box_loops.h"

#include "kernels/layout/box_items.h"
#include "kernels/layout/box_runs.h"
#include "kernels/layout/lines.h"
#include "kernels/vector/simd.h"

#include <stddef.h>
#include <string.h>

/* ---- Elements ------------------------------------------------------------ */

/* The longer dimension is the inner loop; both fit a cache. */
#define ITEM_LOOP(size)                                                   \
    static void strided##size(const struct tfd_box_nest *n, char *to,     \
                              const char *from)                           \
    {                                                                     \
        const int rows_inside = n->rows > n->count;                       \
        const int64_t outer = rows_inside ? n->count : n->rows;           \
        const int64_t inner = rows_inside ? n->rows : n->count;           \
        const int64_t outer_to = rows_inside ? n->to : n->row_to;         \
        const int64_t outer_from = rows_inside ? n->from : n->row_from;   \
        const int64_t to_step = rows_inside ? n->row_to : n->to;          \
        const int64_t from_step = rows_inside ? n->row_from : n->from;    \
                                                                          \
        for (int64_t o = 0; o < outer; o++) {                             \
            char *y = to + o * outer_to;                                  \
            const char *x = from + o * outer_from;                        \
                                                                          \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < inner; i++) * \
                (item##size *)(y + i * to_step) =                         \
                *(const item##size *)(x + i * from_step);                 \
        }                                                                 \
    }

/* A row at a time, of elements that are `step` elements apart. */
#define ROW_LOOP(name, size, step)                                    \
    static inline __attribute__((always_inline)) void name##size(     \
        const struct tfd_box_nest *n, char *to, const char *from)     \
    {                                                                 \
        const int64_t rows = n->rows, count = n->count;               \
        const int64_t row_to = n->row_to, row_from = n->row_from;     \
                                                                      \
        for (int64_t o = 0; o < rows; o++) {                          \
            item##size *restrict y = (item##size *)(to + o * row_to); \
            const item##size *restrict x =                            \
                (const item##size *)(from + o * row_from);            \
                                                                      \
            for (int64_t i = 0; i < count; i++)                       \
                y[i] = x[(step)*i];                                   \
        }                                                             \
    }

/* Every other element, and elements from the last to the first. */
#define ROW_LOOPS(X, name, step) \
    X(name, 1, step)             \
    X(name, 2, step)             \
    X(name, 4, step)             \
    X(name, 8, step)             \
    X(name, 16, step)

ITEM_LOOP(1)
ITEM_LOOP(2)
ITEM_LOOP(4)
ITEM_LOOP(8)
ITEM_LOOP(16)
ROW_LOOPS(ROW_LOOP, second, 2)
ROW_LOOPS(ROW_LOOP, turned, -1)

/* Without AVX2 there is no shuffle that turns a vector of bytes at once. */
#if defined(__x86_64__)
#define BACK_LOOP(size)                                                  \
    __attribute__((target("avx2"))) static void turned_by_vectors##size( \
        const struct tfd_box_nest *n, char *to, const char *from)        \
    {                                                                    \
        turned##size(n, to, from);                                       \
    }                                                                    \
                                                                         \
    static void back##size(const struct tfd_box_nest *n, char *to,       \
                           const char *from)                             \
    {                                                                    \
        if (__builtin_cpu_supports("avx2"))                              \
            turned_by_vectors##size(n, to, from);                        \
        else                                                             \
            turned##size(n, to, from);                                   \
    }
#else
#define BACK_LOOP(size)                                            \
    static void back##size(const struct tfd_box_nest *n, char *to, \
                           const char *from)                       \
    {                                                              \
        turned##size(n, to, from);                                 \
    }
#endif

BACK_LOOP(1)
BACK_LOOP(2)
BACK_LOOP(4)
BACK_LOOP(8)
BACK_LOOP(16)

/* ---- Runs ---------------------------------------------------------------- */

#define RUN(size)                                                    \
    static void run_of##size(const struct tfd_box_nest *n, char *to, \
                             const char *from)                       \
    {                                                                \
        tfd_box_run(n, size, to, from);                              \
    }

RUN(1)
RUN(2)
RUN(4)
RUN(8)
RUN(16)

/* ---- Transposes ---------------------------------------------------------- */

/* Turns N by N elements, a vector a row, N being 16 bytes of them: each round
 * shuffles the rows and the elements in them like two halves of a pack of
 * cards, and after log2(N) rounds they have changed places. */
#define TURN_SQUARE(size, N)                                               \
    static inline                                                          \
        __attribute__((always_inline)) void shuffle##size(vector##size *a) \
    {                                                                      \
        vector##size b[N];                                                 \
                                                                           \
        for (int round = 1; round < N; round *= 2) {                       \
            for (int i = 0; i < N / 2; i++) {                              \
                b[2 * i] =                                                 \
                    PICK(vector##size, a[i], a[i + N / 2], FIRST##size);   \
                b[2 * i + 1] =                                             \
                    PICK(vector##size, a[i], a[i + N / 2], SECOND##size);  \
            }                                                              \
            for (int i = 0; i < N; i++)                                    \
                a[i] = b[i];                                               \
        }                                                                  \
    }                                                                      \
                                                                           \
    static inline __attribute__((always_inline)) void square##size(        \
        char *to, int64_t to_row, const char *from, int64_t from_row)      \
    {                                                                      \
        vector##size a[N];                                                 \
                                                                           \
        for (int i = 0; i < N; i++)                                        \
            a[i] = OF(vector##size, from, i * from_row);                   \
        shuffle##size(a);                                                  \
        for (int i = 0; i < N; i++)                                        \
            AT(vector##size, to, i *to_row) = a[i];                        \
    }

TURN_SQUARE(1, 16)
TURN_SQUARE(2, 8)
TURN_SQUARE(4, 4)
TURN_SQUARE(8, 2)

static inline void square16(char *to, int64_t to_row, const char *from,
                            int64_t from_row)
{
    (void)to_row;
    (void)from_row;
    AT(item16, to, 0) = OF(item16, from, 0);
}

/*
 * A block is turned into a place of its own, whose rows then go out whole: the
 * rows of large matrices often lie by a power of two, where the first cache
 * has no room for one line of each.
 *
 * Where all is far larger than the caches, every row of a block is on a page of
 * its own, which no processor foresees: the next block is asked for while this
 * one is turned, and whole lines go to memory past the caches.
 */
#define BLOCK_SIZE 16384
#define PARTS_SIZE 24576 /* with a line before each row */
#define LINE_SIZE 64

/* From an aligned block of whole lines to aligned rows. */
static void put_lines(const struct tfd_box_nest *n, int64_t bytes, char *to,
                      const char *block, int64_t pitch)
{
    for (int64_t r = 0; r < n->rows; r++)
        tfd_lines_stream(to + r * n->row_to, block + r * pitch, (size_t)bytes);
}

/* Where a nest has some of each row: all lines that begin in it before those
 * that begin in the nest behind it.  The block has also what is written to the
 * line before, which is this nest's where the row does not begin with it. */
static void put_parts(const struct tfd_box_nest *n, int64_t bytes, char *to,
                      const char *block, int64_t pitch)
{
    for (int64_t r = 0; r < n->rows; r++, to += n->row_to, block += pitch) {
        const int64_t begin =
            n->before ? -(int64_t)((uintptr_t)to % LINE_SIZE) : 0;
        const int64_t behind = (int64_t)((uintptr_t)(to + bytes) % LINE_SIZE);
        const int64_t end = bytes - (n->after ? behind : 0);

        tfd_lines_put(to + begin, block + begin, end - begin);
    }
}

static void ask_to_write(const struct tfd_box_nest *n, int64_t bytes,
                         const char *to)
{
    for (int64_t r = 0; r < n->rows; r++)
        for (int64_t i = 0; i < bytes; i += LINE_SIZE)
            __builtin_prefetch(to + r * n->row_to + n->next_to + i, 1);
}

static void put_block(const struct tfd_box_nest *n, int64_t size, char *to,
                      const char *block, int64_t pitch)
{
    const struct tfd_box_nest rows = {.rows = n->rows,
                                      .row_to = n->row_to,
                                      .row_from = pitch,
                                      .count = n->count,
                                      .to = size,
                                      .from = size};
    const int64_t bytes = n->count * size;

    if (n->far &&
        (bytes | n->row_to | (int64_t)(uintptr_t)to) % LINE_SIZE == 0) {
        put_lines(n, bytes, to, block, pitch);
        return;
    }
    if (n->far)
        ask_to_write(n, bytes, to);
    tfd_box_run(&rows, size, to, block);
}

/* n rows of `bytes` bytes, in the next block. */
static inline void ask_to_read(const char *from, int64_t row, int64_t n,
                               int64_t bytes)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t at = 0; at < bytes; at += LINE_SIZE)
            __builtin_prefetch(from + i * row + at, 0, 2);
}

#define WAYS 8 /* lines that any set of a first cache holds */

/* Whether a block's rows go to their place at once: they lie one behind the
 * other, or their lines have room beside each other in the first cache. */
static bool goes_at_once(const struct tfd_box_nest *n, int64_t size)
{
    if (n->row_to == n->count * size)
        return true;
    return !n->far && (n->rows <= WAYS || n->row_to % (2 * LINE_SIZE) != 0);
}

/* Bytes from row to row of a block. */
#define PITCH(n, size, edge) \
    ((size) * (edge) *       \
     ((n)->rows <= (edge) / TFD_BOX_TURN_WIDE ? TFD_BOX_TURN_WIDE : 1))

/* The last square along a side may overlap the one before.  Those at the ends
 * of columns go in a pass of their own, so that the loop over the others has no
 * branch, and nothing to compute but addresses. */
#define TURN(size, N, edge)                                                 \
    _Static_assert((size) * (edge) * (edge) <= BLOCK_SIZE, "a block fits"); \
    _Static_assert(((size) * (edge) + LINE_SIZE) * (edge) <= PARTS_SIZE,    \
                   "a block fits");                                         \
                                                                            \
    static inline __attribute__((always_inline)) void block##size(          \
        const struct tfd_box_nest *n, char *to, int64_t pitch,              \
        const char *from)                                                   \
    {                                                                       \
        const int64_t rows = n->rows, count = n->count, step = n->from;     \
        const int64_t whole = rows - rows % N, last = rows - N;             \
                                                                            \
        for (int64_t at = 0; at < count; at += N) {                         \
            const int64_t c = at + N > count ? count - N : at;              \
            const char *x = from + c * step;                                \
            char *y = to + c * (size);                                      \
                                                                            \
            if (n->far)                                                     \
                ask_to_read(x + n->next_from, step, N, rows * (size));      \
            for (int64_t r = 0; r < whole; r += N)                          \
                square##size(y + r * pitch, pitch, x + r * (size), step);   \
        }                                                                   \
        for (int64_t at = 0; whole < rows && at < count; at += N) {         \
            const int64_t c = at + N > count ? count - N : at;              \
                                                                            \
            square##size(to + last * pitch + c * (size), pitch,             \
                         from + c * step + last * (size), step);            \
        }                                                                   \
    }                                                                       \
                                                                            \
    static void turn##size(const struct tfd_box_nest *n, char *to,          \
                           const char *from)                                \
    {                                                                       \
        _Alignas(LINE_SIZE) char block[BLOCK_SIZE];                         \
        const int64_t pitch = PITCH(n, size, edge);                         \
                                                                            \
        if (n->rows < N || n->count < N) {                                  \
            strided##size(n, to, from);                                     \
        } else if (goes_at_once(n, size)) {                                 \
            block##size(n, to, n->row_to, from);                            \
        } else {                                                            \
            block##size(n, block, pitch, from);                             \
            put_block(n, size, to, block, pitch);                           \
        }                                                                   \
    }

TURN(1, 16, 128)
TURN(2, 8, 64)
TURN(4, 4, 64)
TURN(8, 2, 32)
TURN(16, 1, 32)

#define PARTS(size, N, edge)                                              \
    static void parts##size(const struct tfd_box_nest *n, char *to,       \
                            const char *from)                             \
    {                                                                     \
        const int64_t back = n->before ? LINE_SIZE / (size) : 0;          \
        const int64_t pitch = PITCH(n, size, edge) + LINE_SIZE;           \
        _Alignas(LINE_SIZE) char block[PARTS_SIZE];                       \
        struct tfd_box_nest all = *n;                                     \
                                                                          \
        if (n->rows < N || (!n->before && !n->after)) {                   \
            turn##size(n, to, from);                                      \
            return;                                                       \
        }                                                                 \
        all.count += back;                                                \
        block##size(&all, block, pitch, from - back * n->from);           \
        put_parts(n, n->count *(size), to, block + back * (size), pitch); \
    }

PARTS(1, 16, 128)
PARTS(2, 8, 64)
PARTS(4, 4, 64)
PARTS(8, 2, 32)
PARTS(16, 1, 32)

/* Rows, or columns, that are fewer than those of a square: what a vector holds
 * beside them is shuffled for nothing.  A load of few rows must not reach
 * behind the last column, and what a store of few columns writes behind its row
 * the next rows write over; so the ends go element by element. */
#define ENDS(bytes, step) ((16 - (bytes) + (step)-1) / (step))

#define FEW_ELEMENTS(size, N)                                                  \
    static inline __attribute__((always_inline)) void split##size(             \
        const struct tfd_box_nest *n, int64_t whole, const int most, char *to, \
        const char *from)                                                      \
    {                                                                          \
        const int64_t rows = n->rows, row_to = n->row_to, step = n->from;      \
                                                                               \
        for (int64_t at = 0; at < whole; at += N) {                            \
            const int64_t c = at + N > whole ? whole - N : at;                 \
            vector##size a[N];                                                 \
                                                                               \
            for (int i = 0; i < N; i++)                                        \
                a[i] = OF(vector##size, from, (c + i) * step);                 \
            shuffle##size(a);                                                  \
            for (int i = 0; i < N && i < most; i++)                            \
                if (i < rows)                                                  \
                    AT(vector##size, to, i *row_to + c * (size)) = a[i];       \
        }                                                                      \
    }                                                                          \
                                                                               \
    static inline __attribute__((always_inline)) void merge##size(             \
        const struct tfd_box_nest *n, int64_t whole, char *to,                 \
        const char *from)                                                      \
    {                                                                          \
        const int64_t row_to = n->row_to;                                      \
        const char *column[N];                                                 \
                                                                               \
        for (int i = 0; i < N; i++)                                            \
            column[i] = from + (i < n->count ? i : n->count - 1) * n->from;    \
        for (int64_t at = 0; at < whole; at += N) {                            \
            const int64_t r = at + N > whole ? whole - N : at;                 \
            vector##size a[N];                                                 \
                                                                               \
            for (int i = 0; i < N; i++)                                        \
                a[i] = OF(vector##size, column[i], r * (size));                \
            shuffle##size(a);                                                  \
            for (int i = 0; i < N; i++)                                        \
                AT(vector##size, to, (r + i) * row_to) = a[i];                 \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void few##size(const struct tfd_box_nest *n, char *to,              \
                          const char *from)                                    \
    {                                                                          \
        const bool splits = n->rows < N;                                       \
        struct tfd_box_nest end = *n;                                          \
        int64_t whole;                                                         \
                                                                               \
        whole = splits ? n->count - ENDS(n->rows * (size), n->from)            \
                       : n->rows - ENDS(n->count * (size), n->row_to);         \
        if (whole < N)                                                         \
            whole = 0;                                                         \
        if (splits && n->rows <= 4)                                            \
            split##size(n, whole, 4, to, from);                                \
        else if (splits)                                                       \
            split##size(n, whole, N, to, from);                                \
        else                                                                   \
            merge##size(n, whole, to, from);                                   \
        *(splits ? &end.count : &end.rows) -= whole;                           \
        strided##size(&end, to + whole * (splits ? (size) : n->row_to),        \
                      from + whole * (splits ? n->from : (size)));             \
    }

FEW_ELEMENTS(1, 16)
FEW_ELEMENTS(2, 8)
FEW_ELEMENTS(4, 4)

/* Three rows of 8 bytes an element, as of points in space, whose columns lie
 * one behind the other: eight columns are three vectors of 64 bytes, of which
 * each row takes what is its own. */
#if defined(__x86_64__)
typedef uint64_t wide8 __attribute__((vector_size(64))) TFD_ANYWHERE;

__attribute__((target(TFD_SIMD_AVX512))) static void
thirds8(const struct tfd_box_nest *n, int64_t whole, char *to, const char *from)
{
    char *one = to, *two = to + n->row_to, *three = two + n->row_to;

    for (int64_t at = 0; at < whole; at += 8, from += 3 * sizeof(wide8)) {
        const wide8 a = OF(wide8, from, 0), b = OF(wide8, from, 64);
        const wide8 c = OF(wide8, from, 128);
        const wide8 ab1 = PICK(wide8, a, b, 0, 3, 6, 9, 12, 15, 0, 0);
        const wide8 ab2 = PICK(wide8, a, b, 1, 4, 7, 10, 13, 0, 0, 0);
        const wide8 ab3 = PICK(wide8, a, b, 2, 5, 8, 11, 14, 0, 0, 0);

        AT(wide8, one, at * 8) = PICK(wide8, ab1, c, 0, 1, 2, 3, 4, 5, 10, 13);
        AT(wide8, two, at * 8) = PICK(wide8, ab2, c, 0, 1, 2, 3, 4, 8, 11, 14);
        AT(wide8, three, at * 8) =
            PICK(wide8, ab3, c, 0, 1, 2, 3, 4, 9, 12, 15);
    }
}

static void few8(const struct tfd_box_nest *n, char *to, const char *from)
{
    const int64_t whole = n->rows == 3 && n->from == 24 ? n->count / 8 * 8 : 0;
    struct tfd_box_nest end = *n;

    if (whole > 0)
        thirds8(n, whole, to, from);
    end.count -= whole;
    strided8(&end, to + whole * 8, from + whole * n->from);
}

static bool has_few8(void)
{
    return tfd_simd_has_avx512();
}
#else
#define few8 NULL

static bool has_few8(void)
{
    return false;
}
#endif

void tfd_box_turn_end(void)
{
    tfd_lines_end();
}

/* ---- Which one ----------------------------------------------------------- */

static const struct {
    int64_t size, edge;
    tfd_box_loop *run, *second, *back, *strided, *turn, *parts, *few;
} loops[] = {
#define ROW(size, edge, few)                                               \
    {                                                                      \
        size, edge, run_of##size, second##size, back##size, strided##size, \
            turn##size, parts##size, few                                   \
    }
    ROW(1, 128, few1), ROW(2, 64, few2),  ROW(4, 64, few4),
    ROW(8, 32, few8),  ROW(16, 32, NULL),
#undef ROW
};

static int row_of(int64_t size)
{
    int i = 0;

    while (loops[i].size != size)
        i++;
    return i;
}

#define FEW 8 /* elements in a row, for which its loop is not worth it */

tfd_box_loop *tfd_box_loop_of(const struct tfd_box_nest *n, int64_t size)
{
    const int i = row_of(size);

    if (n->to == size && n->from == size)
        return loops[i].run;
    if (n->to == size && n->from == 0)
        return tfd_box_same_of(size);
    if (n->to != size || n->count < FEW)
        return loops[i].strided;
    return n->from == 2 * size ? loops[i].second
           : n->from == -size  ? loops[i].back
                               : loops[i].strided;
}

tfd_box_loop *tfd_box_turn_of(int64_t size)
{
    return loops[row_of(size)].turn;
}

tfd_box_loop *tfd_box_parts_of(int64_t size)
{
    return loops[row_of(size)].parts;
}

tfd_box_loop *tfd_box_few_of(int64_t size)
{
    if (size == 8 && !has_few8())
        return NULL;
    return loops[row_of(size)].few;
}

int64_t tfd_box_turn_edge(int64_t size)
{
    return loops[row_of(size)].edge;
}

int64_t tfd_box_turn_least(int64_t size)
{
    return 16 / size;
}
