/*
 * fft_lines.c - see fft_lines.h.
 *
 * A line is copied to memory in a row and to double precision, transformed, and
 * copied to where it belongs.  The inverse transform is the forward one with
 * real and imaginary parts swapped before and behind it.
 */
#include "kernels/signal/fft_lines.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/signal/fft_plan.h"

/* ---- Lines in and out ---------------------------------------------------- */

/* Reads `length` points of a line at x, whose elements are `step` apart. */
#define LOAD(T)                                                                \
    static void load_##T(const T *x, int64_t step, enum tfd_fft_kind kind,     \
                         int64_t length, struct tfd_complex *out)              \
    {                                                                          \
        int64_t given = kind == TFD_FFT_HALF ? length / 2 + 1 : length;        \
                                                                               \
        if (kind == TFD_FFT_REAL) {                                            \
            for (int64_t i = 0; i < length; i++)                               \
                out[i] = (struct tfd_complex){(double)x[i * step], 0};         \
            return;                                                            \
        }                                                                      \
        for (int64_t i = 0; i < given; i++)                                    \
            out[i] = (struct tfd_complex){(double)x[2 * i * step],             \
                                          (double)x[2 * i * step + 1]};        \
        if (kind != TFD_FFT_HALF)                                              \
            return;                                                            \
        out[0].im = 0;                                                         \
        if (length % 2 == 0)                                                   \
            out[length / 2].im = 0;                                            \
        for (int64_t i = given; i < length; i++)                               \
            out[i] =                                                           \
                (struct tfd_complex){out[length - i].re, -out[length - i].im}; \
    }

#define STORE(T)                                                        \
    static void store_##T(const struct tfd_complex *x, int64_t length,  \
                          enum tfd_fft_kind kind, double scale, T *y,   \
                          int64_t step)                                 \
    {                                                                   \
        int64_t taken = kind == TFD_FFT_HALF ? length / 2 + 1 : length; \
                                                                        \
        for (int64_t i = 0; i < taken; i++) {                           \
            if (kind == TFD_FFT_REAL) {                                 \
                y[i * step] = (T)(x[i].re * scale);                     \
            } else {                                                    \
                y[2 * i * step] = (T)(x[i].re * scale);                 \
                y[2 * i * step + 1] = (T)(x[i].im * scale);             \
            }                                                           \
        }                                                               \
    }

LOAD(float)
LOAD(double)
STORE(float)
STORE(double)

static void swap_parts(struct tfd_complex *x, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        x[i] = (struct tfd_complex){x[i].im, x[i].re};
}

/* ---- All lines ----------------------------------------------------------- */

struct job {
    const struct tfd_fft_lines *lines;
    const struct tfd_fft_plan *plan;
};

/* How far from the first element the line of this number begins. */
static int64_t line_offset(const struct tfd_fft_lines *l, int64_t line,
                           const struct tfd_fft_side *side)
{
    int64_t offset = 0;

    for (int i = TFD_FFT_AXES - 1; i >= 0; i--) {
        if (i == l->axis)
            continue;
        offset += line % l->count[i] * side->stride[i];
        line /= l->count[i];
    }
    return offset * (side->kind == TFD_FFT_REAL ? 1 : 2);
}

static void run_line(const struct job *j, int64_t line, struct tfd_complex *x,
                     struct tfd_complex *work)
{
    const struct tfd_fft_lines *l = j->lines;
    const int64_t from = line_offset(l, line, &l->from);
    const int64_t to = line_offset(l, line, &l->to);
    const int64_t in_step = l->from.stride[l->axis];
    const int64_t out_step = l->to.stride[l->axis];
    double scale = l->inverse ? 1.0 / (double)l->length : 1.0;

    if (l->is_double)
        load_double((const double *)l->from.data + from, in_step, l->from.kind,
                    l->length, x);
    else
        load_float((const float *)l->from.data + from, in_step, l->from.kind,
                   l->length, x);
    if (l->inverse)
        swap_parts(x, l->length);
    tfd_fft_run(j->plan, x, work);
    if (l->inverse)
        swap_parts(x, l->length);
    if (l->is_double)
        store_double(x, l->length, l->to.kind, scale, (double *)l->to.data + to,
                     out_step);
    else
        store_float(x, l->length, l->to.kind, scale, (float *)l->to.data + to,
                    out_step);
}

static enum tfd_code run_lines(void *arg, int64_t begin, int64_t end,
                               struct tfd_status *st)
{
    const struct job *j = arg;
    size_t length = (size_t)j->lines->length;
    size_t count = length + tfd_fft_work_count(j->plan);
    struct tfd_buffer *b = tfd_buffer_new(count * sizeof(struct tfd_complex));
    struct tfd_complex *memory = b ? b->data : NULL;

    if (!memory)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a Fourier transform of length %zu",
                        length);
    for (int64_t i = begin; i < end && !tfd_halted(); i++)
        run_line(j, i, memory, memory + length);
    tfd_buffer_unref(b);
    return TFD_OK;
}

/* Nanoseconds, about. */
static int cost_of_line(int64_t length)
{
    int64_t cost = 8 * length;

    for (int64_t n = length; n > 1; n /= 2)
        cost += length;
    return cost < INT32_MAX ? (int)cost : INT32_MAX;
}

enum tfd_code tfd_fft_lines_run(struct tfd_kctx *k,
                                const struct tfd_fft_lines *lines,
                                struct tfd_status *st)
{
    struct tfd_fft_plan *plan;
    struct job j = {.lines = lines};
    enum tfd_code rc;
    int64_t n = 1;

    TFD_TRY(tfd_fft_plan_get(lines->length, &plan, st));
    j.plan = plan;
    for (int i = 0; i < TFD_FFT_AXES; i++)
        n *= i == lines->axis ? 1 : lines->count[i];
    rc = tfd_kctx_try(k, n, cost_of_line(lines->length), run_lines, &j, st);
    tfd_fft_plan_unref(plan);
    return rc;
}
