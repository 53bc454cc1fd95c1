/*
 * training_sparse.cu - the SparseApply ops of kernels/state/training.c that
 * TensorFlow has for GPUs.
 *
 * An index may come more than once, and then its rows of the gradient are
 * applied one after the other, as on the CPU: the same bits in every run.  A
 * table of the indices, open addressing over twice as many places, finds the
 * first and the last time each of them comes; a warp takes the first one and
 * looks for the others between the two.
 *
 * An index that is out of range is left out, since nobody waits for an answer:
 * as TensorFlow's GPU kernels.
 */
#include "cuda/state/training.cuh"
#include "cuda/lib/complex.cuh"

namespace
{

/* Places whose key is FREE have never been written. */
struct table {
    unsigned long long *key;
    unsigned long long *first; /* the least position of the key */
    unsigned long long *last;  /* the complement of the greatest */
    uint64_t mask;
};

#define FREE (~0ull)

__device__ inline uint64_t place_of(const struct table &t, uint64_t key)
{
    uint64_t mixed = key * 0x9e3779b97f4a7c15ull;

    return (mixed ^ mixed >> 32) & t.mask;
}

/* Half of the table at least stays free. */
template <typename I>
__global__ void mark(const I *indices, int64_t count, int64_t limit,
                     struct table t)
{
    for (int64_t i = thread_index(); i < count; i += thread_count()) {
        uint64_t key = (uint64_t)(int64_t)indices[i];
        uint64_t at = place_of(t, key);
        unsigned long long was;

        if (key >= (uint64_t)limit)
            continue;
        for (;; at = (at + 1) & t.mask) {
            was = atomicCAS(&t.key[at], FREE, (unsigned long long)key);
            if (was == FREE || was == key)
                break;
        }
        atomicMin(&t.first[at], (unsigned long long)i);
        atomicMin(&t.last[at], ~(unsigned long long)i);
    }
}

__device__ inline uint64_t find(const struct table &t, uint64_t key)
{
    uint64_t at = place_of(t, key);

    while (t.key[at] != key)
        at = (at + 1) & t.mask;
    return at;
}

/* The first position of `key` from `at` to `last`, or -1; for a whole warp. */
template <typename I>
__device__ inline int64_t next_of(const I *indices, int64_t key, int64_t at,
                                  int64_t last, int lane)
{
    for (; at <= last; at += 32) {
        bool hit = at + lane <= last && (int64_t)indices[at + lane] == key;
        unsigned hits = __ballot_sync(0xffffffffu, hit);

        for (int i = 0; hits != 0; i++, hits >>= 1)
            if (hits & 1)
                return at + i;
    }
    return -1;
}

/* A warp for each index, its threads along the row, each with a pack. */
template <int N, typename O, typename T, typename I>
__global__ void apply_rows(struct cuda_train<T> j, const I *indices,
                           struct tfd_training_rows r, struct table t)
{
    const int lane = threadIdx.x % 32;
    wide<T> s[TFD_TRAIN_SCALARS];

    cuda_train_scalars(j, s);
    for (int64_t i = thread_index() / 32; i < r.count;
         i += thread_count() / 32) {
        int64_t row = (int64_t)indices[i], last;
        uint64_t place;

        if (row < 0 || row >= r.limit)
            continue;
        place = find(t, (uint64_t)row);
        if (t.first[place] != (unsigned long long)i)
            continue;
        last = (int64_t)~t.last[place];
        for (int64_t at = i; at >= 0;
             at = next_of(indices, row, at + 1, last, lane))
            for (int64_t c = lane * N; c < r.width; c += 32 * N)
                cuda_train_step<O, N>(j, s, row * r.width + c,
                                      at * r.width + c);
    }
}

/* ---- Launching ----------------------------------------------------------- */

/* All free, which is all ones; *work is to be given back. */
static enum tfd_code make_table(struct tfd_kctx *k, int64_t count,
                                struct table *t, struct tfd_buffer **work,
                                struct tfd_status *st)
{
    uint64_t places = 64;
    size_t bytes;

    while (places < 2 * (uint64_t)count)
        places *= 2;
    bytes = (size_t)places * sizeof(*t->key);
    *work = k->memory->make(k->memory, 3 * bytes, st);
    if (!*work)
        return TFD_RESOURCE_EXHAUSTED;
    t->key = (unsigned long long *)(*work)->data;
    t->first = t->key + places;
    t->last = t->first + places;
    t->mask = places - 1;
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(t->key, 0xff, 3 * bytes, stream_of(k)),
        "a table of indices", st);
}

template <typename O, typename T, typename I>
static void launch_rows(struct tfd_kctx *k, const struct tfd_training_job *job,
                        const I *indices, const struct table &t)
{
    constexpr int N = pack_size<T, T>();
    const struct tfd_training_rows *r = &job->rows;
    unsigned blocks = blocks_for(k, r->count * 32);

    if (r->width % N == 0 && cuda_train_aligned(job))
        apply_rows<N, O><<<blocks, THREADS, 0, stream_of(k)>>>(
            cuda_train_of<T>(job), indices, *r, t);
    else
        apply_rows<1, O><<<blocks, THREADS, 0, stream_of(k)>>>(
            cuda_train_of<T>(job), indices, *r, t);
}

template <typename O, typename T, typename I>
static enum tfd_code run_rows(struct tfd_kctx *k,
                              const struct tfd_training_job *job,
                              struct tfd_status *st)
{
    const struct tfd_training_rows *r = &job->rows;
    const I *indices = (const I *)tfd_tensor_data(r->indices);
    struct tfd_buffer *work = nullptr;
    struct table t = {};
    enum tfd_code rc;

    rc = make_table(k, r->count, &t, &work, st);
    if (rc == TFD_OK) {
        mark<<<blocks_for(k, r->count), THREADS, 0, stream_of(k)>>>(
            indices, r->count, r->limit, t);
        launch_rows<O, T>(k, job, indices, t);
        rc = launched(k, st);
    }
    tfd_buffer_unref(work);
    return rc;
}

template <typename T, typename O>
static enum tfd_code run_training(struct tfd_kctx *k, const struct tfd_training_job *job,
                         struct tfd_status *st)
{
    if (job->rows.count == 0 || job->rows.width == 0)
        return TFD_OK;
    if (job->rows.indices->dtype == TFD_INT32)
        return run_rows<O, T, int32_t>(k, job, st);
    return run_rows<O, T, int64_t>(k, job, st);
}

template <typename T, typename O>
static enum tfd_code apply(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_training_device device = {writable, run_training<T, O>};

    return tfd_training_apply(k, &device, st);
}

/* ---- Rows ---------------------------------------------------------------- */

CUDA_OPTIMIZER(ADADELTA, 3)
CUDA_OPTIMIZER(ADAGRAD, 2)
CUDA_OPTIMIZER(ADAGRAD_V2, 2)
CUDA_OPTIMIZER(FTRL, 3)
CUDA_OPTIMIZER(FTRL_V2, 3)
CUDA_OPTIMIZER(KERAS_MOMENTUM, 2)
CUDA_OPTIMIZER(PROXIMAL_ADAGRAD, 2)

#define HANDLE(op, name, T, o)                                    \
    CUDA_TRAIN_ROW("ResourceSparseApply" op, name, (apply<T, o>), \
                   CUDA_TRAIN_HANDLES(o::variables))
#define APPLY(op, name, T, o)                                \
    CUDA_TRAIN_ROW("SparseApply" op, name, (apply<T, o>), 0) \
    HANDLE(op, name, T, o)

/* clang-format off */
/* Complex numbers have it, too. */
#define ANY(name, T) APPLY("Adadelta", name, T, ADADELTA)
#define ROWS(name, T)                                   \
    ANY(name, T)                                        \
    APPLY("Adagrad", name, T, ADAGRAD)                  \
    APPLY("AdagradV2", name, T, ADAGRAD_V2)             \
    APPLY("Ftrl", name, T, FTRL)                        \
    APPLY("FtrlV2", name, T, FTRL_V2)                   \
    HANDLE("KerasMomentum", name, T, KERAS_MOMENTUM)    \
    APPLY("ProximalAdagrad", name, T, PROXIMAL_ADAGRAD)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROWS)
    CUDA_COMPLEX_DTYPES(ANY)
};
/* clang-format on */

} /* namespace */

CUDA_FAMILY_OF(training_sparse);
