/*
 * fft_lanes.h - transforms lines of an array by plans, on vectors as wide as
 * the processor has them.
 *
 * Lines are transformed a vector full of them at once, a lane each.  A row
 * alone is taken for as many as there are lanes, of every so many'th element,
 * whose results one more pass puts together; where its length does not allow
 * that it is done number by number.  So the last bits depend on how many lanes
 * there are, and on whether they multiply and add at once.
 *
 * Threads: any; memory is the caller's.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_LANES_H
#define TFD_KERNELS_SIGNAL_FFT_LANES_H

#include "kernels/signal/fft_plan.h"

#define TFD_FFT_LANES_MAX 16

/* What the elements of a line are. */
enum tfd_fft_kind {
    TFD_FFT_COMPLEX,
    TFD_FFT_REAL,
    TFD_FFT_HALF, /* the first length / 2 + 1 of a line whose others are their
                     conjugates, backwards */
};

/* Elements of lines, `step` of them apart, which is 1 unless they are complex;
 * the first of each line. */
struct tfd_fft_ends {
    void *lane[TFD_FFT_LANES_MAX];
    int64_t step;
    enum tfd_fft_kind kind;
    bool beside; /* lane i + 1 begins one element behind lane i */
};

/* Lines of a length; of real numbers, if that is even, as half as many complex
 * ones: then the plan is for half of the length. */
struct tfd_fft_group {
    const struct tfd_fft_plan *plan;
    struct tfd_fft_ends from, to;
    int count; /* lines; from.lane[] beyond repeats one */
    int64_t length;
    bool inverse; /* divided by the length, too */
    void *memory; /* where vectors may begin */
};

/* Of a processor. */
struct tfd_fft_copy {
    int lanes;
    void (*run_lanes)(const struct tfd_fft_group *g);
    /* One after the other; `memory` is for as many. */
    void (*run_rows)(const struct tfd_fft_group *g);
    /* As run_lanes, complex floats by a plan of double precision that has a
     * convolution; NULL in a copy for single precision. */
    void (*run_floats)(const struct tfd_fft_group *g);
};

extern const struct tfd_fft_copy tfd_fft_lanes_usual, tfd_fft_lanes_avx2,
    tfd_fft_lanes_avx512, tfd_fft_lanes_usual_single, tfd_fft_lanes_avx2_single,
    tfd_fft_lanes_avx512_single;

/* For plans of a precision, and arrays of that. */
const struct tfd_fft_copy *tfd_fft_lanes_copy(bool single);

/* Numbers in so many pairs of arrays: cells go to and fro, and a convolution's,
 * too; a row has its parts, too. */
static inline size_t tfd_fft_lanes_arrays(const struct tfd_fft_plan *p,
                                          size_t count)
{
    size_t n = (size_t)p->length + 32;
    size_t m = p->inner ? (size_t)p->inner->length + 32 : 0;

    return 2 * count * (n + m);
}

/* Numbers that lanes need as memory. */
size_t tfd_fft_lanes_memory(const struct tfd_fft_plan *p);

/* Those of each row, in whole cells. */
static inline size_t tfd_fft_row_memory(const struct tfd_fft_plan *p)
{
    const size_t cell = 2 * TFD_FFT_LANES_MAX;

    return (tfd_fft_lanes_arrays(p, 4) + cell - 1) / cell * cell;
}

/* Every so many'th element of a double's size to every so many'th. */
void tfd_fft_lanes_move(const void *x, int64_t step, int64_t count, void *y,
                        int64_t y_step);

/* A line of numbers in double precision, in place. */
void tfd_fft_line_run(const struct tfd_fft_plan *p, void *x, void *work);

#endif
