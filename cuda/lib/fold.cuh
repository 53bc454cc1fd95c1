/*
 * fold.cuh - the binary functions that reductions fold by on a GPU (sum,
 * product, larger, smaller), each with its identity element.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_CUDA_FOLD_CUH
#define TFD_CUDA_FOLD_CUH

#include "cuda/lib/launch.cuh"

struct plus {
    template <typename W> __device__ static W zero()
    {
        return 0;
    }
    template <typename W> __device__ W operator()(W a, W b) const
    {
        return a + b;
    }
};

struct times {
    template <typename W> __device__ static W zero()
    {
        return 1;
    }
    template <typename W> __device__ W operator()(W a, W b) const
    {
        return a * b;
    }
};

/* The least and the largest value of a type; infinities where it has them. */
template <typename W> struct ends {
    __device__ static W least()
    {
        return W(-1) < W(0) ? W(1ull << (8 * sizeof(W) - 1)) : W(0);
    }
    __device__ static W largest()
    {
        return (W)~least();
    }
};
template <> struct ends<float> {
    __device__ static float least()
    {
        return -INFINITY;
    }
    __device__ static float largest()
    {
        return INFINITY;
    }
};
template <> struct ends<double> {
    __device__ static double least()
    {
        return -INFINITY;
    }
    __device__ static double largest()
    {
        return INFINITY;
    }
};

/* A NaN stays. */
struct larger {
    template <typename W> __device__ static W zero()
    {
        return ends<W>::least();
    }
    template <typename W> __device__ W operator()(W a, W b) const
    {
        return a != a || a > b ? a : b;
    }
};

struct smaller {
    template <typename W> __device__ static W zero()
    {
        return ends<W>::largest();
    }
    template <typename W> __device__ W operator()(W a, W b) const
    {
        return a != a || a < b ? a : b;
    }
};

#endif
