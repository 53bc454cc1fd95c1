/*
 * nearest.c - NearestNeighbors: the k centers nearest to each point, by the
 * square of the distance.
 *
 *     |p - c|^2 / 2 = |p|^2 / 2 + (|c|^2 / 2 - p * c)
 *
 * The products of a block of points with all centers are one product of
 * matrices.  Centers are compared by what is in brackets within a block of
 * BLOCK_CENTERS and by the whole between such blocks, the first one first where
 * it is equal, which is the order that TensorFlow comes to.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/linalg/gemm.h"

#define BLOCK_CENTERS 1024
/* Products that are kept at once. */
#define PRODUCTS_MAX (INT64_C(1) << 20)
#define CENTER_COST_NS 2

struct nearest_job {
    const float *points, *centers;
    float *point_norms, *center_norms; /* halves of squares */
    float *products;                   /* of this block of points */
    int64_t *index;
    float *distance;
    int64_t point_count, center_count, dims, k;
    int64_t first; /* point of the block */
};

/* ---- Halves of squares --------------------------------------------------- */

static float half_square(const float *x, int64_t n)
{
    float sums[8] = {0}, sum = 0;
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            sums[l] += x[i + l] * x[i + l];
    for (; i < n; i++)
        sum += x[i] * x[i];
    for (int l = 0; l < 8; l++)
        sum += sums[l];
    return 0.5f * sum;
}

static void norms_range(void *arg, int64_t begin, int64_t end)
{
    const struct nearest_job *j = arg;

    for (int64_t i = begin; i < end && !tfd_halted(); i++)
        if (i < j->point_count)
            j->point_norms[i] = half_square(j->points + i * j->dims, j->dims);
        else
            j->center_norms[i - j->point_count] = half_square(
                j->centers + (i - j->point_count) * j->dims, j->dims);
}

/* ---- The k nearest ------------------------------------------------------- */

/* d: by center, what is in brackets. */
static bool is_nearer(const float *d, float own, int64_t a, int64_t b)
{
    const float whole_a = own + d[a], whole_b = own + d[b];

    if (a / BLOCK_CENTERS != b / BLOCK_CENTERS)
        return whole_a < whole_b || (whole_a == whole_b && a < b);
    return d[a] < d[b] || (d[a] == d[b] && a < b);
}

/* The root of the heap is the farthest. */
static void sift_nearest(const float *d, float own, int64_t *heap, int64_t n,
                         int64_t at)
{
    const int64_t moved = heap[at];
    int64_t child;

    while ((child = 2 * at + 1) < n) {
        if (child + 1 < n && is_nearer(d, own, heap[child], heap[child + 1]))
            child++;
        if (!is_nearer(d, own, moved, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void pick_nearest(const float *d, float own, int64_t count,
                         int64_t *heap, int64_t k)
{
    for (int64_t i = 0; i < k; i++)
        heap[i] = i;
    for (int64_t i = k / 2 - 1; i >= 0; i--)
        sift_nearest(d, own, heap, k, i);
    for (int64_t i = k; i < count; i++)
        if (is_nearer(d, own, i, heap[0])) {
            heap[0] = i;
            sift_nearest(d, own, heap, k, 0);
        }
    for (int64_t n = k - 1; n > 0; n--) {
        const int64_t farthest = heap[0];

        heap[0] = heap[n];
        heap[n] = farthest;
        sift_nearest(d, own, heap, n, 0);
    }
}

static void nearest_range(void *arg, int64_t begin, int64_t end)
{
    const struct nearest_job *j = arg;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        const int64_t point = j->first + i;
        const float own = j->point_norms[point];
        float *d = j->products + i * j->center_count;
        int64_t *index = j->index + point * j->k;

        for (int64_t c = 0; c < j->center_count; c++)
            d[c] = j->center_norms[c] - d[c];
        pick_nearest(d, own, j->center_count, index, j->k);
        for (int64_t n = 0; n < j->k; n++)
            j->distance[point * j->k + n] = 2 * (own + d[index[n]]);
    }
}

/* ---- The op -------------------------------------------------------------- */

static void multiply_block(struct tfd_kctx *k, const struct nearest_job *j,
                           int64_t rows)
{
    const struct tfd_gemm g = {
        .dtype = TFD_FLOAT,
        .transpose_b = true,
        .m = rows,
        .n = j->center_count,
        .k = j->dims,
        .a = j->points + j->first * j->dims,
        .b = j->centers,
        .c = j->products,
        .lda = j->dims,
        .ldb = j->dims,
        .ldc = j->center_count,
    };

    if (j->dims > 0)
        tfd_gemm_parallel(k, &g);
    else
        tfd_halt_clear(j->products,
                       (size_t)(rows * j->center_count) * sizeof(*j->products));
}

static void find_nearest(struct tfd_kctx *k, struct nearest_job *j,
                         int64_t block)
{
    tfd_kctx_parallel(k, j->point_count + j->center_count,
                      j->dims < 1000000 ? (int)j->dims + 1 : 1000000,
                      norms_range, j);
    for (; j->first < j->point_count && !tfd_halted(); j->first += block) {
        const int64_t left = j->point_count - j->first;
        const int64_t rows = left < block ? left : block;

        multiply_block(k, j, rows);
        tfd_kctx_parallel(k, rows,
                          j->center_count < 1000000
                              ? (int)j->center_count * CENTER_COST_NS
                              : 1000000,
                          nearest_range, j);
    }
}

/* One tensor for all that is kept meanwhile. */
static enum tfd_code nearest_with(struct tfd_kctx *k, struct nearest_job *j,
                                  struct tfd_status *st)
{
    int64_t block = PRODUCTS_MAX / j->center_count + 1;
    struct tfd_tensor work = TFD_TENSOR_INIT;
    struct tfd_shape shape = {.rank = 1};

    if (block > j->point_count)
        block = j->point_count;
    if (__builtin_mul_overflow(block, j->center_count, &shape.dim[0]) ||
        __builtin_add_overflow(shape.dim[0], j->center_count, &shape.dim[0]) ||
        __builtin_add_overflow(shape.dim[0], j->point_count, &shape.dim[0]))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM for the distances of %lld points to %lld centers",
                        (long long)j->point_count, (long long)j->center_count);
    TFD_TRY(tfd_shape_make(&shape, shape.dim, 1, st));
    TFD_TRY(tfd_tensor_new(&work, TFD_FLOAT, &shape, st));
    j->point_norms = tfd_tensor_data(&work);
    j->center_norms = j->point_norms + j->point_count;
    j->products = j->center_norms + j->center_count;
    find_nearest(k, j, block);
    tfd_tensor_unref(&work);
    return TFD_OK;
}

static enum tfd_code check_nearest(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    static const char *const names[] = {"points", "centers"};
    const struct tfd_shape *points = &k->in[0].shape;
    const struct tfd_shape *centers = &k->in[1].shape;

    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %s should be a matrix.", names[i]);
    if (k->in[2].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input k should be a scalar.");
    if (points->dim[0] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected points.rows() > 0.");
    if (points->dim[1] != centers->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected point_dimensions == center_dimensions: %lld "
                        "vs %lld.",
                        (long long)points->dim[1], (long long)centers->dim[1]);
    if (tfd_check_int_at(&k->in[2], 0) < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Expected k >= 0.");
    return TFD_OK;
}

static enum tfd_code nearest_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct nearest_job j = {.first = 0};
    struct tfd_shape shape;

    TFD_TRY(check_nearest(k, st));
    j.point_count = k->in[0].shape.dim[0];
    j.dims = k->in[0].shape.dim[1];
    j.center_count = k->in[1].shape.dim[0];
    j.k = tfd_check_int_at(&k->in[2], 0);
    if (j.k > j.center_count)
        j.k = j.center_count;
    TFD_TRY(tfd_shape_make(&shape, (int64_t[]){j.point_count, j.k}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_FLOAT, &shape, st));
    if (j.k == 0)
        return TFD_OK;
    j.points = tfd_tensor_data(&k->in[0]);
    j.centers = tfd_tensor_data(&k->in[1]);
    j.index = tfd_tensor_data(&k->out[0]);
    j.distance = tfd_tensor_data(&k->out[1]);
    return nearest_with(k, &j, st);
}

static enum tfd_code nearest_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    (void)p;
    (void)state;
    (void)st;
    tfd_gemm_init();
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "NearestNeighbors",
        .inputs = "points: float, centers: float, k: int64",
        .outputs = "nearest_center_indices: int64, "
                   "nearest_center_distances: float",
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("NearestNeighbors", nearest_compute,
                   .prepare = nearest_prepare, .flags = TFD_KERNEL_HEAVY),
};

const struct tfd_family tfd_family_nearest = {
    .name = "nearest",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
