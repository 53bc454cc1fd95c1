/*
 * columns.c - see columns.h.
 *
 * As many vectors as there are columns hold as many rows as a vector has
 * elements.  An element's place among them is a number whose upper bits are its
 * row and whose lower ones its column.  Shuffling the vectors like two halves
 * of a pack of cards turns that number by one bit: after as many rounds as a
 * row has bits, the column is above, and each vector is a piece of a part.  To
 * join, they are turned on by the column's bits.
 */
#include "kernels/layout/columns.h"

#include "kernels/layout/box_items.h"

#include <string.h>

#define LANES(size) (16 / (size))
#define INLINE static inline __attribute__((always_inline))

/* ---- Blocks -------------------------------------------------------------- */

/* Turns the places of `count` vectors' elements by one bit for each time that
 * `end` can be halved. */
#define SHUFFLE(size)                                                          \
    INLINE void shuffle##size(vector##size *a, const int count, const int end) \
    {                                                                          \
        vector##size b[TFD_COLUMNS_MAX];                                       \
                                                                               \
        for (int round = 1; round < end; round *= 2) {                         \
            for (int i = 0; i < count / 2; i++) {                              \
                b[2 * i] =                                                     \
                    PICK(vector##size, a[i], a[i + count / 2], FIRST##size);   \
                b[2 * i + 1] =                                                 \
                    PICK(vector##size, a[i], a[i + count / 2], SECOND##size);  \
            }                                                                  \
            for (int i = 0; i < count; i++)                                    \
                a[i] = b[i];                                                   \
        }                                                                      \
    }

/* LANES(size) rows from `row` on. */
#define BLOCK(size)                                                         \
    INLINE void part_block##size(const struct tfd_columns *c, int64_t row,  \
                                 const int count)                           \
    {                                                                       \
        vector##size a[TFD_COLUMNS_MAX];                                    \
                                                                            \
        for (int i = 0; i < count; i++)                                     \
            a[i] = OF(vector##size, c->whole, row * (size)*count + 16 * i); \
        shuffle##size(a, count, LANES(size));                               \
        for (int i = 0; i < count; i++)                                     \
            AT(vector##size, c->part[i], row *(size)) = a[i];               \
    }                                                                       \
    INLINE void join_block##size(const struct tfd_columns *c, int64_t row,  \
                                 const int count)                           \
    {                                                                       \
        vector##size a[TFD_COLUMNS_MAX];                                    \
                                                                            \
        for (int i = 0; i < count; i++)                                     \
            a[i] = OF(vector##size, c->part[i], row * (size));              \
        shuffle##size(a, count, count);                                     \
        for (int i = 0; i < count; i++)                                     \
            AT(vector##size, c->whole, row *(size)*count + 16 * i) = a[i];  \
    }

SHUFFLE(1)
SHUFFLE(2)
SHUFFLE(4)
SHUFFLE(8)
BLOCK(1)
BLOCK(2)
BLOCK(4)
BLOCK(8)

/* ---- Loops --------------------------------------------------------------- */

typedef void loop(const struct tfd_columns *c);
typedef void one_block(const struct tfd_columns *c, int64_t row,
                       const int count);

/* The last block may overlap the one before. */
INLINE void each_block(const struct tfd_columns *columns, const int lanes,
                       const int count, one_block *block)
{
    const struct tfd_columns c = *columns;

    for (int64_t r = 0; r + lanes <= c.rows; r += lanes)
        block(&c, r, count);
    if (c.rows % lanes)
        block(&c, c.rows - lanes, count);
}

#define LOOP(word, size, count)                                   \
    static void word##size##_##count(const struct tfd_columns *c) \
    {                                                             \
        each_block(c, LANES(size), count, word##_block##size);    \
    }
#define LOOPS(size, count)  \
    LOOP(part, size, count) \
    LOOP(join, size, count)
#define SIZE(size) \
    LOOPS(size, 2) \
    LOOPS(size, 4) \
    LOOPS(size, 8)

SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)

/* By the logarithms of size and count. */
static const struct {
    loop *part, *join;
} loops[4][4] = {
#define ENTRY(size, count)                         \
    {                                              \
        part##size##_##count, join##size##_##count \
    }
#define ENTRIES(size)                                          \
    {                                                          \
        {0, 0}, ENTRY(size, 2), ENTRY(size, 4), ENTRY(size, 8) \
    }
    ENTRIES(1),
    ENTRIES(2),
    ENTRIES(4),
    ENTRIES(8),
};

static int logarithm(int64_t n)
{
    return __builtin_ctzll((unsigned long long)n);
}

/* Fewer rows than a block has. */
static void move_few(const struct tfd_columns *c, bool join)
{
    for (int64_t r = 0; r < c->rows; r++)
        for (int i = 0; i < c->count; i++) {
            char *whole = c->whole + (r * c->count + i) * c->size;
            char *part = c->part[i] + r * c->size;

            memcpy(join ? whole : part, join ? part : whole, (size_t)c->size);
        }
}

bool tfd_columns_have(int count, int64_t size)
{
    return (count == 2 || count == 4 || count == 8) &&
           (size == 1 || size == 2 || size == 4 || size == 8);
}

void tfd_columns_part(const struct tfd_columns *c)
{
    if (c->rows < LANES(c->size))
        move_few(c, false);
    else
        loops[logarithm(c->size)][logarithm(c->count)].part(c);
}

void tfd_columns_join(const struct tfd_columns *c)
{
    if (c->rows < LANES(c->size))
        move_few(c, true);
    else
        loops[logarithm(c->size)][logarithm(c->count)].join(c);
}
