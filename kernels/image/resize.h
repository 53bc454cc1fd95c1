/*
 * resize.h - what the ops that resize images share: sizes, where a pixel of
 * the result comes from, and the types of images.
 *
 * An image is [batch, height, width, channels].  Of pairs of sizes the first is
 * the height's.  Everything is computed in float, as TensorFlow does it, so
 * that results agree to the bit.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_RESIZE_H
#define TFD_KERNELS_RESIZE_H

#include "common/base/alloc.h"
#include "common/base/half.h"
#include "kernels/core/kernel.h"

#include <math.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

struct tfd_resize_state {
    bool align_corners, half_pixel_centers;
};

struct tfd_resize {
    const struct tfd_resize_state *state;
    const void *x;
    void *y;
    int64_t batch, channels;
    int64_t in[2], out[2];
    float scale[2]; /* pixels of the input for one of the output */
};

enum { TFD_RESIZE_HIGH, TFD_RESIZE_WIDE };

/* Reads the attributes; half_pixel_centers only where the op has it. */
enum tfd_code tfd_resize_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st);
float tfd_resize_scale(int64_t in, int64_t out, bool align_corners);
/* INVALID_ARGUMENT where both attributes are set. */
enum tfd_code tfd_resize_check_state(const struct tfd_resize_state *s,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Input `arg` as two sizes. */
enum tfd_code tfd_resize_sizes(const struct tfd_kctx *k, int arg, int64_t *out,
                               struct tfd_status *st) TFD_MUST_USE;
/* Checks inputs 0, an image, and 1, sizes, and makes the output of this type.
 */
enum tfd_code tfd_resize_begin(struct tfd_kctx *k, struct tfd_resize *r,
                               enum tfd_dtype dtype,
                               struct tfd_status *st) TFD_MUST_USE;
/* The same where both attributes may be set. */
enum tfd_code tfd_resize_begin_any(struct tfd_kctx *k, struct tfd_resize *r,
                                   enum tfd_dtype dtype,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Of an image resized to what input 1 says. */
enum tfd_code tfd_resize_shape(struct tfd_shape_ctx *s, struct tfd_status *st);

/* Where pixel i comes from, for filters. */
static inline float tfd_resize_at(const struct tfd_resize_state *s, int64_t i,
                                  float scale)
{
    return s->half_pixel_centers ? ((float)i + 0.5f) * scale - 0.5f
                                 : (float)i * scale;
}

static inline int64_t tfd_resize_bound(int64_t i, int64_t limit)
{
    return i < 0 ? 0 : i < limit ? i : limit - 1;
}

/* What a row or column of the result is made of, and with which weights:
 * `count` of a filter's taps, two or four. */
#define TFD_RESIZE_TAPS 4
struct tfd_resize_taps {
    int64_t at[TFD_RESIZE_TAPS];
    float weight[TFD_RESIZE_TAPS];
};

typedef struct tfd_resize_taps tfd_resize_tap_fn(const struct tfd_resize *r,
                                                 int axis, int64_t i);
tfd_resize_tap_fn tfd_resize_linear, tfd_resize_cubic;
/* The taps of all columns, to be unreferenced. */
enum tfd_code tfd_resize_columns(const struct tfd_resize *r,
                                 tfd_resize_tap_fn *taps,
                                 struct tfd_buffer **out,
                                 struct tfd_status *st) TFD_MUST_USE;

/* Nanoseconds as tfd_kctx_parallel() wants them. */
static inline int tfd_resize_cost(double ns)
{
    return ns < INT32_MAX ? (int)ns : INT32_MAX;
}

#define TFD_IMAGE_TO_FLOAT(x) ((float)(x))

/* name, T, and how an element becomes a float. */
#define TFD_IMAGE_TYPES(X)                \
    X(FLOAT, float, TFD_IMAGE_TO_FLOAT)   \
    X(DOUBLE, double, TFD_IMAGE_TO_FLOAT) \
    X(HALF, tfd_half, tfd_half_to_float)  \
    X(INT8, int8_t, TFD_IMAGE_TO_FLOAT)   \
    X(INT16, int16_t, TFD_IMAGE_TO_FLOAT) \
    X(INT32, int32_t, TFD_IMAGE_TO_FLOAT) \
    X(INT64, int64_t, TFD_IMAGE_TO_FLOAT) \
    X(UINT8, uint8_t, TFD_IMAGE_TO_FLOAT) \
    X(UINT16, uint16_t, TFD_IMAGE_TO_FLOAT)
#define TFD_IMAGE_TYPES_AND_BFLOAT16(X) \
    TFD_IMAGE_TYPES(X)                  \
    X(BFLOAT16, tfd_bfloat16, tfd_bfloat16_to_float)

/* ---- Pixels of three channels -------------------------------------------- */

/* Such a pixel and the first channel of the next one, as floats: for types of
 * four bytes and of one, of which that takes few instructions. */
typedef float tfd_resize_lanes __attribute__((vector_size(16)));
#define TFD_RESIZE_IN_LANES(T) (sizeof(T) == 4 || sizeof(T) == 1)

static inline tfd_resize_lanes tfd_resize_lanes_UINT8(const uint8_t *p)
{
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    int32_t four;

    memcpy(&four, p, sizeof(four));
    return (tfd_resize_lanes)_mm_cvtepi32_ps(_mm_unpacklo_epi16(
        _mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero), zero));
#else
    return (tfd_resize_lanes){p[0], p[1], p[2], p[3]};
#endif
}

/* Moved up by 128, and back. */
static inline tfd_resize_lanes tfd_resize_lanes_INT8(const int8_t *p)
{
    uint32_t four;
    uint8_t moved[4];

    memcpy(&four, p, sizeof(four));
    four ^= UINT32_C(0x80808080);
    memcpy(moved, &four, sizeof(four));
    return tfd_resize_lanes_UINT8(moved) - 128.0f;
}

#define TFD_RESIZE_LANES(name, T, TO)                                      \
    static inline tfd_resize_lanes tfd_resize_lanes_##name(const T *p)     \
    {                                                                      \
        return (tfd_resize_lanes){TO(p[0]), TO(p[1]), TO(p[2]), TO(p[3])}; \
    }
TFD_RESIZE_LANES(FLOAT, float, TFD_IMAGE_TO_FLOAT)
TFD_RESIZE_LANES(DOUBLE, double, TFD_IMAGE_TO_FLOAT)
TFD_RESIZE_LANES(HALF, tfd_half, tfd_half_to_float)
TFD_RESIZE_LANES(INT16, int16_t, TFD_IMAGE_TO_FLOAT)
TFD_RESIZE_LANES(INT32, int32_t, TFD_IMAGE_TO_FLOAT)
TFD_RESIZE_LANES(INT64, int64_t, TFD_IMAGE_TO_FLOAT)
TFD_RESIZE_LANES(UINT16, uint16_t, TFD_IMAGE_TO_FLOAT)
TFD_RESIZE_LANES(BFLOAT16, tfd_bfloat16, tfd_bfloat16_to_float)
#undef TFD_RESIZE_LANES

#endif
