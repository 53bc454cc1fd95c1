/*
 * cumulative.cu - Cumsum, Cumprod of kernels/cumulative.c.
 *
 * The tensor is [outer][length][inner].  Where there are many columns of
 * neighbours, each is a thread's; else each line is a block's.  Narrow types
 * are rounded once, when they are written.
 */
#include "cuda/fold.cuh"
#include "cuda/scan.cuh"

extern "C" {
#include "kernels/cumulative.h"
}

namespace
{

struct scan {
    struct tfd_cumulative_lines lines;
    bool exclusive, reverse;
};

/* Where a line begins. */
__device__ inline int64_t line_at(const struct scan &s, int64_t line)
{
    return line / s.lines.inner * s.lines.length * s.lines.inner +
           line % s.lines.inner;
}

__device__ inline int64_t place_of(const struct scan &s, int64_t i)
{
    return (s.reverse ? s.lines.length - 1 - i : i) * s.lines.inner;
}

template <typename F, typename T>
__global__ void scan_columns(F f, const T *x, T *y, struct scan s)
{
    int64_t count = s.lines.outer * s.lines.inner;

    for (int64_t line = thread_index(); line < count; line += thread_count()) {
        int64_t at = line_at(s, line);
        wide<T> sum = F::template zero<wide<T>>();

        for (int64_t i = 0; i < s.lines.length; i++) {
            int64_t place = at + place_of(s, i);
            wide<T> next = f(sum, widen(x[place]));

            y[place] = narrow<T>(s.exclusive ? sum : next);
            sum = next;
        }
    }
}

/* Neighbours that a thread takes at once. */
#define EACH 4

template <typename F, typename T>
__global__ void scan_lines(F f, const T *x, T *y, struct scan s)
{
    const wide<T> none = F::template zero<wide<T>>();
    int64_t count = s.lines.outer * s.lines.inner;

    for (int64_t line = blockIdx.x; line < count; line += gridDim.x) {
        int64_t at = line_at(s, line);
        wide<T> sum = none, total;

        for (int64_t tile = 0; tile < s.lines.length; tile += THREADS * EACH) {
            int64_t first = tile + (int64_t)threadIdx.x * EACH;
            wide<T> own = none, before, v[EACH];

            for (int j = 0; j < EACH; j++) {
                v[j] = first + j < s.lines.length
                           ? widen(x[at + place_of(s, first + j)])
                           : none;
                own = f(own, v[j]);
            }
            before = f(sum, scan_block(own, f, none, &total));
            for (int j = 0; j < EACH && first + j < s.lines.length; j++) {
                wide<T> next = f(before, v[j]);

                y[at + place_of(s, first + j)] =
                    narrow<T>(s.exclusive ? before : next);
                before = next;
            }
            sum = f(sum, total);
        }
    }
}

/* Enough columns to keep a card busy. */
#define COLUMNS_MANY 4096

template <typename T, typename F>
static enum tfd_code scan_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_cumulative *c = (const struct tfd_cumulative *)k->state;
    struct scan s = {{0, 0, 0}, c->exclusive, c->reverse};
    int64_t count;

    TFD_TRY(tfd_cumulative_lines(k, &s.lines, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    count = s.lines.outer * s.lines.inner;
    if (s.lines.inner >= 32 && count >= COLUMNS_MANY)
        scan_columns<<<blocks_for(k, count), THREADS, 0, stream_of(k)>>>(
            F(), in_at<T>(k, 0), out_at<T>(k, 0), s);
    else
        scan_lines<<<blocks_for(k, count * THREADS), THREADS, 0,
                     stream_of(k)>>>(F(), in_at<T>(k, 0), out_at<T>(k, 0), s);
    return launched(k, st);
}

#define ROW(op, name, T, f)                                                  \
    row(op, TFD_##name, scan_gpu<T, f>, HOST_ARG(1), tfd_cumulative_prepare, \
        sizeof(struct tfd_cumulative)),
#define ROWS(name, T)            \
    ROW("Cumsum", name, T, plus) \
    ROW("Cumprod", name, T, times)

/* Integers wrap, so that their sign is of no matter. */
static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROWS) ROWS(INT64, uint64_t) ROWS(INT32, uint32_t)};

} /* namespace */

CUDA_FAMILY_OF(cumulative);
