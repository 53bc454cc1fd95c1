/*
 * png_filter.c - see png_filter.h.
 *
 * libpng makes a row with every filter, a byte after the other, which takes a
 * third of a picture's time.  Here only the sums are made, all at once and in
 * vectors; libpng then makes the row with one filter alone.
 */
#include "kernels/codec/png_filter.h"

#include "common/base/min.h"
#include "kernels/vector/simd.h"

#include <string.h>

#define LANES 16
#define BLOCK (LANES * 256) /* bytes, of 128 at most, whose sums fit lanes */

typedef int16_t lanes __attribute__((vector_size(2 * LANES)));
typedef uint16_t weights __attribute__((vector_size(2 * LANES)));
typedef uint8_t octets __attribute__((vector_size(LANES)));

/* Bytes of a row and, of each, the neighbours. */
struct job {
    const uint8_t *row, *left, *above, *corner;
    uint64_t *sums;
};

#define INLINE static inline __attribute__((always_inline))

INLINE void load(const uint8_t *from, lanes *to)
{
    octets in;

    memcpy(&in, from, sizeof(in));
    *to = __builtin_convertvector(in, lanes);
}

/* Macros, since baseline's functions cannot return such vectors. */
#define ABSOLUTE(v) (((v) ^ ((v) >> 15)) - ((v) >> 15))
/* Of lower bytes as signed numbers, that of -128 too; without signs, as no
 * negative number is shifted and none overflows. */
#define HIGH(v) ((weights)(v) << 8)
#define SIGNS(v) ((weights)((lanes)(v) >> 15))
#define WEIGHT(v) (((HIGH(v) ^ SIGNS(HIGH(v))) - SIGNS(HIGH(v))) >> 8)
/* b where the mask m has ones, a where it has zeros. */
#define PICK(m, a, b) (((b) & (m)) | ((a) & ~(m)))

/* Of lefts, aboves and corners those nearest to left + above - corner. */
INLINE void predict(const lanes *left, const lanes *above, const lanes *corner,
                    lanes *out)
{
    const lanes a = *above - *corner, b = *left - *corner, c = a + b;
    const lanes from_left = ABSOLUTE(a), from_above = ABSOLUTE(b);
    const lanes from_corner = ABSOLUTE(c);
    const lanes other = PICK(from_above <= from_corner, *corner, *above);

    *out = PICK((from_left <= from_above) & (from_left <= from_corner), other,
                *left);
}

/* Whole vectors, a block at most. */
TFD_SIMD_LOOP(add_weights)
{
    const struct job *j = arg;
    weights of[TFD_PNG_FILTERS] = {{0}};

    for (int64_t i = begin; i < end; i += LANES) {
        lanes x, left, above, corner, p;

        load(j->row + i, &x);
        load(j->left + i, &left);
        load(j->above + i, &above);
        load(j->corner + i, &corner);
        predict(&left, &above, &corner, &p);
        of[TFD_PNG_NONE] += WEIGHT(x);
        of[TFD_PNG_SUB] += WEIGHT(x - left);
        of[TFD_PNG_UP] += WEIGHT(x - above);
        of[TFD_PNG_AVERAGE] += WEIGHT(x - ((left + above) >> 1));
        of[TFD_PNG_PAETH] += WEIGHT(x - p);
    }
    for (int f = 0; f < TFD_PNG_FILTERS; f++) {
        uint32_t sum = 0;

        for (int i = 0; i < LANES; i++)
            sum += of[f][i];
        j->sums[f] += sum;
    }
}
TFD_SIMD_AVX2_ONLY(add_weights)

/* The bytes from `at` on, which fill no vector, and the first pixel, which has
 * zeros to its left; zeros, which have no weight, fill theirs. */
static void add_ends(struct job j, int64_t at, int64_t size, int step)
{
    uint8_t row[2 * LANES] = {0}, left[2 * LANES] = {0};
    uint8_t above[2 * LANES] = {0}, corner[2 * LANES] = {0};
    const size_t rest = (size_t)(size - at);

    memcpy(row, j.row + at, rest);
    memcpy(left, j.left + at, rest);
    memcpy(above, j.above + at, rest);
    memcpy(corner, j.corner + at, rest);
    memcpy(row + LANES, j.left, (size_t)step);
    memcpy(above + LANES, j.corner, (size_t)step);
    j = (struct job){row, left, above, corner, j.sums};
    add_weights_lanes(&j, 0, 2 * LANES);
}

bool tfd_png_filter_is_quick(void)
{
    return TFD_SIMD_HAS_AVX2();
}

enum tfd_png_filter tfd_png_filter_choose(const uint8_t *row,
                                          const uint8_t *above, int64_t size,
                                          int step)
{
    uint64_t sums[TFD_PNG_FILTERS] = {0};
    struct job j = {row + step, row, above + step, above, sums};
    int64_t at = 0;
    int best = TFD_PNG_NONE;

    size -= step;
    for (int64_t n; (n = tfd_min(size - at, BLOCK) / LANES * LANES) > 0;
         at += n)
        add_weights_lanes(&j, at, at + n);
    add_ends(j, at, size, step);
    for (int f = 1; f < TFD_PNG_FILTERS; f++)
        if (sums[f] < sums[best])
            best = f;
    return (enum tfd_png_filter)best;
}
