/*
 * cast.cu - Cast of kernels/math/cast.c.
 *
 * Numbers to bool are "is not 0"; a float that no integer can hold becomes what
 * the card makes of it, as in TensorFlow.  Quantised integers are cast as the
 * integers they are stored as, and of a complex number the real part.
 */
#include "cuda/lib/complex.cuh"

namespace
{

struct cast_state {
    enum tfd_dtype to;
    bool truncates;
};

static enum tfd_code prepare_cast(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    struct cast_state *s = (struct cast_state *)state;

    TFD_TRY(tfd_node_type(p->node, "DstT", &s->to, st));
    return tfd_node_bool(p->node, "Truncate", &s->truncates, st);
}

template <typename To> struct cast {
    template <typename T> __device__ To operator()(T x) const
    {
        return narrow<To>(widen(x));
    }
};

/* bool and uint8 are one type to C, so bool has a functor of its own. */
struct cast_bool {
    template <typename T> __device__ tfd_bool operator()(T x) const
    {
        return widen(x) != 0;
    }
};

template <typename W> struct cast_complex {
    template <typename T> __device__ complex_number<W> operator()(T x) const
    {
        return {narrow<W>(widen(x)), 0};
    }
    template <typename R>
    __device__ complex_number<W> operator()(complex_number<R> x) const
    {
        return {(W)x.re, (W)x.im};
    }
};

/* What becomes of a number, of the real part of a complex one. */
template <typename F> struct of_real {
    template <typename R> __device__ auto operator()(complex_number<R> x) const
    {
        return F()(x.re);
    }
};
template <typename T, typename F> struct reader {
    using type = F;
};
template <typename R, typename F> struct reader<complex_number<R>, F> {
    using type = of_real<F>;
};
template <typename T, typename F> using read_as = typename reader<T, F>::type;

/* The low bits of the fraction are cleared first, as in kernels/math/cast.c. */
template <typename F> struct cut {
    int bits;
    F then;

    __device__ auto operator()(float x) const
    {
        unsigned u = __float_as_uint(x);

        return then(isnan(x) ? x : __uint_as_float(u >> bits << bits));
    }
    __device__ auto operator()(double x) const
    {
        unsigned long long u = (unsigned long long)__double_as_longlong(x);

        u = u >> bits << bits;
        return then(isnan(x) ? x : __longlong_as_double((long long)u));
    }
    template <typename R> __device__ auto operator()(complex_number<R> x) const
    {
        return operator()(x.re);
    }
};

template <typename T, typename F, typename To>
static enum tfd_code to(struct tfd_kctx *k, F f, struct tfd_status *st)
{
    return run_one(k, f, in_at<T>(k, 0), out_at<To>(k, 0),
                   tfd_tensor_elements(&k->in[0]), st);
}

/* Of types that have too much of a fraction for what they become. */
template <typename T>
static enum tfd_code cut_to(struct tfd_kctx *k, enum tfd_dtype type, bool *cuts,
                            struct tfd_status *st)
{
    (void)k;
    (void)type;
    (void)st;
    *cuts = false;
    return TFD_OK;
}

template <>
enum tfd_code cut_to<float>(struct tfd_kctx *k, enum tfd_dtype type, bool *cuts,
                            struct tfd_status *st) {
    using half = cut<cast<__half>>; using bfloat16 = cut<cast<__nv_bfloat16>>;

    *cuts = true;
    if (type == TFD_HALF) return to<float, half, __half>(k, half{13, {}}, st);
    if (type == TFD_BFLOAT16) return to<float, bfloat16, __nv_bfloat16>(
        k, bfloat16{16, {}}, st);
    *cuts = false;
    return TFD_OK;
}

template <>
enum tfd_code cut_to<double>(struct tfd_kctx *k, enum tfd_dtype type,
                             bool *cuts, struct tfd_status *st) {
    using half = cut<cast<__half>>; using single = cut<cast<float>>;
    using complex = cut<cast_complex<float>>;

    *cuts = true;
    if (type == TFD_HALF) return to<double, half, __half>(k, half{42, {}}, st);
    if (type == TFD_FLOAT) return to<double, single, float>(k, single{29, {}},
                                                            st);
    if (type ==
        TFD_COMPLEX64) return to<double, complex,
                                 complex_number<float>>(k, complex{53, {}}, st);
    *cuts = false;
    return TFD_OK;
}

/* Both parts of a complex number. */
struct cut_parts {
    __device__ complex_number<float> operator()(complex_number<double> x) const
    {
        cut<cast<float>> each = {29, {}};

        return {each(x.re), each(x.im)};
    }
};

template <>
enum tfd_code cut_to<complex_number<float>>(struct tfd_kctx *k,
                                            enum tfd_dtype type, bool *cuts,
                                            struct tfd_status *st) {
    using half = cut<cast<__half>>;

    *cuts = type == TFD_HALF;
    return *cuts ? to<complex_number<float>, half, __half>(k, half{13, {}}, st)
                 : TFD_OK;
}

template <>
enum tfd_code cut_to<complex_number<double>>(struct tfd_kctx *k,
                                             enum tfd_dtype type, bool *cuts,
                                             struct tfd_status *st) {
    using from = complex_number<double>; using half = cut<cast<__half>>;
    using single = cut<cast<float>>;

    *cuts = true;
    if (type == TFD_HALF) return to<from, half, __half>(k, half{42, {}}, st);
    if (type == TFD_FLOAT) return to<from, single, float>(k, single{29, {}},
                                                          st);
    if (type ==
        TFD_COMPLEX64) return to<from, cut_parts, complex_number<float>>(k, {},
                                                                         st);
    *cuts = false;
    return TFD_OK;
}

template <typename T>
static enum tfd_code cast_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct cast_state *s = (const struct cast_state *)k->state;
    bool cuts = false;

    if (s->to == k->in[0].dtype) {
        tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
        return TFD_OK;
    }
    if (!tfd_dtype_is_pod(s->to))
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Cast %s to %s is not supported",
                        tfd_dtype_name((int)k->in[0].dtype),
                        tfd_dtype_name((int)s->to));
    TFD_TRY(tfd_kctx_output(k, 0, s->to, &k->in[0].shape, st));
    if (s->truncates)
        TFD_TRY(cut_to<T>(k, s->to, &cuts, st));
    if (cuts)
        return TFD_OK;
    switch (s->to) {
#define CASE(name, To) \
    case TFD_##name:   \
        return to<T, read_as<T, cast<To>>, To>(k, {}, st);
        CUDA_FLOAT_DTYPES(CASE)
        CUDA_INT_DTYPES(CASE)
        CASE(INT32, int32_t)
        CASE(QINT8, int8_t)
        CASE(QUINT8, uint8_t)
        CASE(QINT16, int16_t)
        CASE(QUINT16, uint16_t)
        CASE(QINT32, int32_t)
    case TFD_COMPLEX64:
        return to<T, cast_complex<float>, complex_number<float>>(
            k, cast_complex<float>(), st);
    case TFD_COMPLEX128:
        return to<T, cast_complex<double>, complex_number<double>>(
            k, cast_complex<double>(), st);
    case TFD_BOOL:
        return to<T, read_as<T, cast_bool>, tfd_bool>(k, {}, st);
    default:
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Cast %s to %s is not supported",
                        tfd_dtype_name((int)k->in[0].dtype),
                        tfd_dtype_name((int)s->to));
    }
}

#define ROW(name, T) \
    row("Cast", TFD_##name, cast_gpu<T>, 0, prepare_cast, sizeof(struct cast_state)),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROW) CUDA_INT_DTYPES(ROW) CUDA_COMPLEX_DTYPES(ROW)
        ROW(INT32, int32_t) ROW(BOOL, tfd_bool)};

} /* namespace */

CUDA_FAMILY_OF(cast);
