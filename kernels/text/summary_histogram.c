/*
 * summary_histogram.c - HistogramSummary, and WriteHistogramSummary, which
 * writes the same to an event file.
 *
 * Limits of the buckets are TensorFlow's: 1e-12 and each the last times 1.1,
 * up to 1e20, then the largest double; the same negative; zero between.  A
 * bucket counts the values from the limit before its own up to below its own.
 * Of a run of empty buckets only the last is written.
 */
#include "common/base/half.h"
#include "common/proto/summary.pb.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/text/event_writer.h"
#include "kernels/text/summary.h"
#include "kernels/vector/type_rows.h"

#include <float.h>
#include <math.h>

#define TAG(name) tensorflow_HistogramProto_##name##_tag

#define FIRST_LIMIT 1e-12
#define LAST_LIMIT 1e20
#define GROWTH 1.1
/* log(1e32) / log(1.1) rounded up, and the largest double. */
#define POSITIVE_MAX 775
#define LIMITS_MAX (2 * POSITIVE_MAX + 1)

struct histogram {
    double limit[LIMITS_MAX];
    double bucket[LIMITS_MAX];
    int count;
    double min, max, sum, sum_squares;
    int64_t num;
};

/* The product is rounded at each step, so the limits are to be made in the
 * same way: a table of logarithms would not give them. */
static void histogram_init(struct histogram *h)
{
    int n = 0;

    for (double v = FIRST_LIMIT; v < LAST_LIMIT; v *= GROWTH)
        h->limit[POSITIVE_MAX + 1 + n++] = v;
    h->limit[POSITIVE_MAX + 1 + n++] = DBL_MAX;
    h->limit[POSITIVE_MAX] = 0;
    for (int i = 0; i < n; i++)
        h->limit[POSITIVE_MAX - 1 - i] = -h->limit[POSITIVE_MAX + 1 + i];
    h->count = 2 * n + 1;
    if (n < POSITIVE_MAX)
        memmove(h->limit, h->limit + POSITIVE_MAX - n,
                (size_t)h->count * sizeof(h->limit[0]));
    memset(h->bucket, 0, sizeof(h->bucket));
    h->min = DBL_MAX;
    h->max = -DBL_MAX;
    h->sum = h->sum_squares = 0;
    h->num = 0;
}

/* A double's bits, as a number, are a logarithm that is exact at powers of two
 * and up to 0.087 too low between them, as limits are 1 / LIMITS_OF_TWO apart.
 * So the place it gives is at most two limits too low; LOW_BITS is a little
 * less than that of the first limit, for the limits are rounded. */
#define LIMITS_OF_TWO 7.272540897341713 /* log(2) / log(1.1) */
#define LOW_BITS (1023 - 39.8631371386483 + 0.002)
#define STEPS 3 /* the last limit is far behind the others */

/* Index of the first limit above the value; the last for the largest double. */
static int bucket_of(const struct histogram *h, double value)
{
    const int zero = h->count / 2;
    const double *positive = h->limit + zero + 1, most = zero - 1 - STEPS;
    double size = fabs(value), place;
    int64_t bits;
    int below;

    memcpy(&bits, &size, sizeof(bits));
    bits -= value < 0; /* of such a limit is above whose size is below */
    memcpy(&size, &bits, sizeof(bits));
    place = ((double)bits * 0x1p-52 - LOW_BITS) * LIMITS_OF_TWO;
    place = place < most ? place : most;
    below = place > 0 ? (int)place : 0;
    for (int i = 0; i < STEPS; i++)
        below += positive[below] <= size;
    return value < 0 ? zero - below : zero + 1 + below;
}

static void add_to_histogram(struct histogram *h, double value)
{
    h->bucket[bucket_of(h, value)] += 1;
    h->min = value < h->min ? value : h->min;
    h->max = value > h->max ? value : h->max;
    h->sum += value;
    h->sum_squares += value * value;
    h->num++;
}

/* ---- Writing ------------------------------------------------------------- */

/* Moves on over bucket i and, when it is empty, over the empty ones behind it;
 * returns the last of them. */
static int end_of_run(const struct histogram *h, int i)
{
    if (h->bucket[i] > 0)
        return i;
    while (i + 1 < h->count && h->bucket[i + 1] <= 0)
        i++;
    return i;
}

static void put_packed(struct tfd_bytes *b, uint32_t tag,
                       const struct histogram *h, const double *values)
{
    size_t mark = tfd_pb_begin(b, tag);

    for (int i = 0; i < h->count; i++) {
        uint64_t bits;
        char *at = tfd_bytes_extend(b, sizeof(bits));

        i = end_of_run(h, i);
        memcpy(&bits, &values[i], sizeof(bits));
        for (size_t j = 0; at && j < sizeof(bits); j++)
            at[j] = (char)(uint8_t)(bits >> (8 * j));
    }
    tfd_pb_finish(b, mark);
}

static void put_histogram(struct tfd_bytes *b, const struct histogram *h)
{
    size_t mark = tfd_pb_begin(b, tensorflow_Summary_Value_histo_tag);

    tfd_pb_put_double(b, TAG(min), h->min);
    tfd_pb_put_double(b, TAG(max), h->max);
    tfd_pb_put_double(b, TAG(num), (double)h->num);
    tfd_pb_put_double(b, TAG(sum), h->sum);
    tfd_pb_put_double(b, TAG(sum_squares), h->sum_squares);
    put_packed(b, TAG(bucket_limit), h, h->limit);
    put_packed(b, TAG(bucket), h, h->bucket);
    tfd_pb_finish(b, mark);
}

/* ---- The operation ------------------------------------------------------- */

/* The two ops have words of their own for it. */
static enum tfd_code bad_value(double value, struct tfd_str name,
                               const char *infinity, struct tfd_status *st)
{
    if (isnan(value))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Nan in summary histogram for: " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s for: " TFD_STR_FMT, infinity,
                    TFD_STR_ARG(name));
}

/* Elements [begin, end) as doubles. */
struct part {
    const void *x;
    double *y;
};

#define WIDEN(name, T, value)                                       \
    static void widen_##name(void *arg, int64_t begin, int64_t end) \
    {                                                               \
        const struct part *p = arg;                                 \
        const T *x = p->x;                                          \
                                                                    \
        for (int64_t i = begin; i < end; i++)                       \
            p->y[i - begin] = (double)(value);                      \
    }
#define WIDEN_REAL(X, name, T) X(name, T, x[i])
#define WIDEN_HALF(X, name, T) X(name, T, T##_to_float(x[i]))

TFD_REAL_ROWS(WIDEN_REAL, WIDEN)
TFD_HALF_ROWS(WIDEN_HALF, WIDEN)
WIDEN(BOOL, tfd_bool, x[i] != 0)

#define PART 256

/* Adds all of x; *bad is the first that is no number, if one is not. */
static bool add_all(const struct tfd_kctx *k, const struct tfd_tensor *x,
                    struct histogram *h, double *bad)
{
    int64_t n = tfd_tensor_elements(x);
    double value[PART];
    struct part p = {tfd_tensor_data(x), value};

    for (int64_t i = 0; i < n; i += PART) {
        int64_t end = i + PART < n ? i + PART : n;

        k->kernel->range(&p, i, end);
        for (int64_t j = 0; j < end - i; j++) {
            if (!isfinite(value[j])) {
                *bad = value[j];
                return false;
            }
            add_to_histogram(h, value[j]);
        }
    }
    return true;
}

static void put_value(struct tfd_summary *s, struct tfd_str tag,
                      const struct histogram *h)
{
    size_t mark;

    tfd_summary_begin(s);
    mark = tfd_summary_value(s, tag);
    put_histogram(&s->bytes, h);
    tfd_pb_finish(&s->bytes, mark);
}

static enum tfd_code histogram_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct histogram h;
    struct tfd_summary s;
    struct tfd_str tag;
    double bad;

    TFD_TRY(tfd_summary_tag(k, 0, "tags", &tag, st));
    histogram_init(&h);
    if (!add_all(k, &k->in[1], &h, &bad))
        return bad_value(bad, k->node->name, "Infinity in Histogram", st);
    put_value(&s, tag, &h);
    return tfd_summary_end(&s, k, TFD_OK, st);
}

static enum tfd_code write_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct histogram h;
    struct tfd_summary s;
    struct tfd_str tag;
    double bad;

    TFD_TRY(tfd_check_str(k, 2, &tag, st));
    if (k->in[3].dtype == TFD_BFLOAT16 && tfd_tensor_elements(&k->in[3]) > 0)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "SummaryFileWriter bfloat16 not supported.");
    histogram_init(&h);
    if (!add_all(k, &k->in[3], &h, &bad))
        return bad_value(bad, tag, "Infinity in summary histogram", st);
    put_value(&s, tag, &h);
    return tfd_event_put_summary(k, &s, TFD_OK, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "HistogramSummary",
        .inputs = "tag: string, values: T",
        .outputs = "summary: string",
        .attrs = "T: realnumbertype = DT_FLOAT",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "WriteHistogramSummary",
        .inputs = "writer: resource, step: int64, tag: string, values: T",
        .outputs = "",
        .attrs = "T: {float, double, int32, uint8, int16, int8, int64, "
                 "bfloat16, uint16, half, uint32, uint64, bool} = DT_FLOAT",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define WRITE(name)                                                        \
    TFD_KERNEL("WriteHistogramSummary", name, write_compute, widen_##name, \
               .flags = TFD_KERNEL_BLOCKS),
#define ROW(name, number, T)                                               \
    TFD_KERNEL("HistogramSummary", name, histogram_compute, widen_##name), \
        WRITE(name)

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(ROW) TFD_HALF_DTYPES(ROW) WRITE(BOOL)};

const struct tfd_family tfd_family_summary_histogram = {
    .name = "summary_histogram",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
