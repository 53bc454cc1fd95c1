/*
 * chosen_rows.c - see chosen_rows.h.
 *
 * Which side a row comes from no processor foresees.  So the choice is no
 * branch, rows of some lines are moved without a call, and those that caches do
 * not hold are fetched ahead.
 */
#include "kernels/layout/chosen_rows.h"

#include "kernels/layout/line_copy.h"
#include "kernels/layout/lines.h"
#include "kernels/layout/rows.h"
#include "kernels/vector/simd.h"

#include <string.h>

#define FAR_SIZE \
    (10 << 20) /* a result that caches do not hold with its sides */
#define PAST_SIZE \
    (24 << 20)        /* one that is better written past the last cache */
#define ROWS_AHEAD 16 /* one is moved while another is fetched */
#define FETCH_SIZE_MAX 512
#define LINE_SIZE 64
#define NEAR_ROW_SIZE_MAX 2048 /* of a row that is moved without a call */

static inline const char *chosen_row(const struct tfd_chosen_rows *r, int64_t i)
{
    const uintptr_t yes = (uintptr_t)(r->yes + (size_t)i * r->yes_step);
    const uintptr_t no = (uintptr_t)(r->no + (size_t)i * r->no_step);
    const uintptr_t all = -(uintptr_t)(r->c[i * r->c_step] != 0);

    return (const char *)((yes & all) | (no & ~all));
}

/* ---- Near rows ----------------------------------------------------------- */

/* What is read of `rows` is read once: it might be where a row goes to.  A row
 * that lies where it is chosen from is stored once more, which costs less than
 * a branch. */
TFD_SIMD_LOOP(take_near)
{
    const struct tfd_chosen_rows rows = *(const struct tfd_chosen_rows *)arg;
    char *to = rows.to + (size_t)begin * rows.size;

    for (int64_t i = begin; i < end; i++, to += rows.size)
        tfd_line_copy_row(to, chosen_row(&rows, i), rows.size);
}
TFD_SIMD_CLONES_WIDE(take_near)

/* ---- All others ---------------------------------------------------------- */

static void fetch_row(const char *row, size_t size)
{
    for (size_t at = 0; at < size && at < FETCH_SIZE_MAX; at += LINE_SIZE)
        __builtin_prefetch(row + at);
}

static void take_far(const struct tfd_chosen_rows *r, int64_t begin,
                     int64_t end)
{
    const size_t all = (size_t)r->count * r->size;
    const bool far = all >= FAR_SIZE;
    const bool past = all >= PAST_SIZE && tfd_rows_streams(all, r->to, r->size);

    for (int64_t i = begin; i < end; i++) {
        const char *from = chosen_row(r, i);
        char *to = r->to + (size_t)i * r->size;

        if (far && i + ROWS_AHEAD < end)
            fetch_row(chosen_row(r, i + ROWS_AHEAD), r->size);
        if (from == to)
            continue;
        if (past)
            tfd_lines_stream(to, from, r->size);
        else
            memcpy(to, from, r->size);
    }
    if (past)
        tfd_lines_end();
}

void tfd_chosen_rows_take(const struct tfd_chosen_rows *rows, int64_t begin,
                          int64_t end)
{
    struct tfd_chosen_rows near = *rows;

    if (rows->size >= TFD_LINE_COPY_MIN && rows->size <= NEAR_ROW_SIZE_MAX &&
        (size_t)rows->count * rows->size < FAR_SIZE)
        take_near(&near, begin, end);
    else
        take_far(rows, begin, end);
}
