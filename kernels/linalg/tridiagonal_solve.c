/*
 * tridiagonal_solve.c - elimination with and without pivoting.
 *
 * A solution goes down the rows, taking out what is below the diagonal, and up
 * again.  With pivoting a row may change places with the next one, so that the
 * triangle has a second diagonal above:
 *
 *     u[i]: diagonal, what is right of it, what is right of that
 *
 * A matrix without an inverse gives no numbers (for complex ones zeros, as what
 * TensorFlow takes for one that is none), unless `perturb_singular` moves small
 * pivots away from zero as LAPACK's LAGTS does, in steps that double.
 */
#include "kernels/linalg/tridiagonal.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/vector/simd.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef float _Complex complex64;
typedef double _Complex complex128;

/* Columns of a row that are computed side by side. */
#define PART_s 8
#define PART_d 8
#define PART_c 1
#define PART_z 1
#define PART_MAX 8
#define TFD_PART static inline __attribute__((always_inline))

#define ROWS(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)             \
    struct solve_##p {                                                     \
        int64_t n, right;                                                  \
        bool perturb;                                                      \
        const T *super, *main, *sub, *b;                                   \
        T *x, (*u)[3];                                                     \
        R largest; /* of u */                                              \
    };                                                                     \
    static void copy_row_##p(const struct solve_##p *s, int64_t i)         \
    {                                                                      \
        memcpy(s->x + i * s->right, s->b + i * s->right,                   \
               sizeof(T) * (size_t)s->right);                              \
    }                                                                      \
    /* y = x - factor * z */                                               \
    static void subtract_row_##p(T *y, const T *x, T factor, const T *z,   \
                                 int64_t count)                            \
    {                                                                      \
        for (int64_t j = 0; j < count; j++)                                \
            y[j] = x[j] - factor * z[j];                                   \
    }                                                                      \
    static void divide_row_##p(T *x, T by, int64_t count)                  \
    {                                                                      \
        for (int64_t j = 0; j < count; j++)                                \
            x[j] /= by;                                                    \
    }                                                                      \
    /* own = top, next = bottom - factor * top; all is read before. */     \
    TFD_PART void split_part_##p(T *own, T *next, const T *top,            \
                                 const T *bottom, T factor, int64_t count) \
    {                                                                      \
        T first[PART_MAX], rest[PART_MAX];                                 \
                                                                           \
        for (int64_t j = 0; j < count; j++) {                              \
            first[j] = top[j];                                             \
            rest[j] = bottom[j] - factor * first[j];                       \
        }                                                                  \
        for (int64_t j = 0; j < count; j++) {                              \
            own[j] = first[j];                                             \
            next[j] = rest[j];                                             \
        }                                                                  \
    }

#define THOMAS(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)     \
    /* Without pivoting; false: a pivot is zero. */                  \
    static bool thomas_##p(const struct solve_##p *s)                \
    {                                                                \
        const int64_t n = s->n, right = s->right;                    \
                                                                     \
        for (int64_t i = 0; i < n; i++) {                            \
            T *x = s->x + i * right, pivot = s->main[i];             \
                                                                     \
            copy_row_##p(s, i);                                      \
            if (i > 0) {                                             \
                pivot -= s->sub[i] * s->u[i - 1][1];                 \
                subtract_row_##p(x, x, s->sub[i], x - right, right); \
            }                                                        \
            if (pivot == 0)                                          \
                return false;                                        \
            s->u[i][1] = i < n - 1 ? s->super[i] / pivot : 0;        \
            divide_row_##p(x, pivot, right);                         \
        }                                                            \
        for (int64_t i = n - 2; i >= 0; i--) {                       \
            T *x = s->x + i * right;                                 \
                                                                     \
            subtract_row_##p(x, x, s->u[i][1], x + right, right);    \
        }                                                            \
        return true;                                                 \
    }

#define QUICK_s true
#define QUICK_d true
#define QUICK_c false
#define QUICK_z false
#define INLINE_s TFD_PART
#define INLINE_d TFD_PART
#define INLINE_c static
#define INLINE_z static

#define ELIMINATE(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)           \
    /* One of two that are both there. */                                     \
    TFD_PART T pick_##p(bool first, T a, T b)                                 \
    {                                                                         \
        return first ? a : b;                                                 \
    }                                                                         \
    /* Rows i and i + 1, the former of which is u, stay where they are or     \
     * change places; the latter loses its first element and is u then. */    \
    INLINE_##p void take_row_##p(struct solve_##p *s, int64_t i, bool keep,   \
                                 T u[2])                                      \
    {                                                                         \
        const int64_t right = s->right;                                       \
        T *x = s->x + i * right, *own = s->u[i];                              \
        const T *const rows[] = {s->b + (i + 1) * right, x};                  \
        const T *top = rows[keep], *bottom = rows[!keep];                     \
        const T sub = s->sub[i + 1], main = s->main[i + 1];                   \
        const T super = i + 2 < s->n ? s->super[i + 1] : 0;                   \
        /* Both quotients, where that takes less than a wrong guess. */       \
        const T down = keep || QUICK_##p ? sub == 0 ? 0 : sub / u[0] : 0;     \
        const T up = !keep || QUICK_##p ? u[0] / sub : 0;                     \
        const T factor = pick_##p(keep, down, up);                            \
        int64_t j = 0;                                                        \
                                                                              \
        own[0] = pick_##p(keep, u[0], sub);                                   \
        own[1] = pick_##p(keep, u[1], main);                                  \
        own[2] = pick_##p(keep, 0, super);                                    \
        u[0] = pick_##p(keep, main - down * u[1], u[1] - up * main);          \
        u[1] = pick_##p(keep, super, -up * super);                            \
        for (; j + PART_##p <= right; j += PART_##p)                          \
            split_part_##p(x + j, x + right + j, top + j, bottom + j, factor, \
                           PART_##p);                                         \
        for (; j < right; j++)                                                \
            split_part_##p(x + j, x + right + j, top + j, bottom + j, factor, \
                           1);                                                \
    }                                                                         \
    /* The pivot is the larger element; false: both are zero. */              \
    static bool eliminate_##p(struct solve_##p *s)                            \
    {                                                                         \
        T u[] = {s->u[0][0], s->u[0][1]};                                     \
                                                                              \
        for (int64_t i = 0; i < s->n - 1; i++) {                              \
            const bool keep = abs_(u[0]) >= abs_(s->sub[i + 1]);              \
                                                                              \
            if (keep && u[0] == 0)                                            \
                return false;                                                 \
            take_row_##p(s, i, keep, u);                                      \
        }                                                                     \
        s->u[s->n - 1][0] = u[0];                                             \
        return u[0] != 0;                                                     \
    }                                                                         \
    /* The pivot is the larger part of its row. */                            \
    static void eliminate_singular_##p(struct solve_##p *s)                   \
    {                                                                         \
        const int64_t n = s->n;                                               \
        T u[] = {s->u[0][0], s->u[0][1]};                                     \
        R size = abs_(u[0]) + abs_(u[1]);                                     \
                                                                              \
        s->largest = fmax##p(abs_(u[0]), abs_(u[1]));                         \
        for (int64_t i = 0; i < n - 1; i++) {                                 \
            const T sub = s->sub[i + 1];                                      \
            const R next = abs_(sub) + abs_(s->main[i + 1]) +                 \
                           (i < n - 2 ? abs_(s->super[i + 1]) : 0);           \
            const R own = u[0] == 0 ? 0 : abs_(u[0]) / size;                  \
            const bool keep = sub == 0 || abs_(sub) / next <= own;            \
                                                                              \
            take_row_##p(s, i, keep, u);                                      \
            size = keep ? next : size;                                        \
            for (int j = 0; j < 3 && i < n - 2; j++)                          \
                s->largest = fmax##p(s->largest, abs_(s->u[i][j]));           \
        }                                                                     \
        s->u[n - 1][0] = u[0];                                                \
        s->largest = fmax##p(s->largest, abs_(u[0]));                         \
    }

#define PERTURB(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)           \
    /* A pivot by which row x can be divided; x may be scaled with it. */   \
    static T perturb_##p(const struct solve_##p *s, T pivot, R by, T *x)    \
    {                                                                       \
        R most = 0;                                                         \
                                                                            \
        by = copysign##p(fmax##p(by, SMALLEST), real_(pivot));              \
        for (int64_t j = 0; j < s->right; j++)                              \
            most = fmax##p(most, abs_(x[j]));                               \
        while (abs_(pivot) < 1) {                                           \
            const R size = abs_(pivot);                                     \
                                                                            \
            if (size >= SMALLEST && !(most > size / SMALLEST))              \
                break;                                                      \
            if (size < SMALLEST && size > 0 && !(most * SMALLEST > size)) { \
                divide_row_##p(x, SMALLEST, s->right);                      \
                return pivot / SMALLEST;                                    \
            }                                                               \
            pivot += by;                                                    \
            by *= 2;                                                        \
        }                                                                   \
        return pivot;                                                       \
    }

/* Columns of the solution, from the last row but two up, in registers: four
 * vectors of SIZE bytes, pair for pair where a processor has smaller ones. */
#define CLIMB(p, T, SIZE)                                                  \
    typedef T lanes_##p                                                    \
        __attribute__((vector_size(SIZE), may_alias, aligned(sizeof(T)))); \
    TFD_PART void climb_columns_##p(const struct solve_##p *s, T *x,       \
                                    int64_t right)                         \
    {                                                                      \
        lanes_##p below[4], under[4];                                      \
        T *at = x + (s->n - 2) * right;                                    \
                                                                           \
        memcpy(below, at, sizeof(below));                                  \
        memcpy(under, at + right, sizeof(under));                          \
        for (int64_t i = s->n - 3; i >= 0; i--) {                          \
            const T *u = s->u[i];                                          \
                                                                           \
            at -= right;                                                   \
            for (int j = 0; j < 4; j++) {                                  \
                lanes_##p *own = (lanes_##p *)(void *)at + j;              \
                const lanes_##p y =                                        \
                    (*own - u[1] * below[j] - u[2] * under[j]) / u[0];     \
                                                                           \
                under[j] = below[j];                                       \
                below[j] = *own = y;                                       \
            }                                                              \
        }                                                                  \
    }                                                                      \
    TFD_SIMD_LOOP(climb_parts_##p)                                         \
    {                                                                      \
        const struct solve_##p *s = arg;                                   \
        const int64_t width = 4 * (SIZE) / (int64_t)sizeof(T);             \
                                                                           \
        for (int64_t j = begin; j < end && !tfd_halted(); j += width)      \
            climb_columns_##p(s, s->x + j, s->right);                      \
    }                                                                      \
    TFD_SIMD_CLONES(climb_parts_##p)                                       \
    /* False: nothing is done. */                                          \
    static bool climb_##p(struct solve_##p *s)                             \
    {                                                                      \
        const int64_t width = 4 * (SIZE) / (int64_t)sizeof(T);             \
                                                                           \
        if (s->right % width != 0 || s->right > CLIMB_MAX)                 \
            return false;                                                  \
        climb_parts_##p(s, 0, s->right);                                   \
        return true;                                                       \
    }

/* Columns, up to which it is better to go over the rows again for others. */
#define CLIMB_MAX 64
#define climb_c(s) false
#define climb_z(s) false

#define SUBSTITUTE(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)      \
    static void substitute_##p(struct solve_##p *s)                       \
    {                                                                     \
        const int64_t n = s->n, right = s->right;                         \
                                                                          \
        for (int64_t i = n - 1; i >= 0; i--) {                            \
            T *x = s->x + i * right, pivot = s->u[i][0];                  \
                                                                          \
            if (i == n - 3 && !s->perturb && climb_##p(s))                \
                return;                                                   \
            if (i < n - 1)                                                \
                subtract_row_##p(x, x, s->u[i][1], x + right, right);     \
            if (i < n - 2)                                                \
                subtract_row_##p(x, x, s->u[i][2], x + 2 * right, right); \
            if (s->perturb)                                               \
                pivot = perturb_##p(s, pivot, EPSILON * s->largest, x);   \
            divide_row_##p(x, pivot, right);                              \
        }                                                                 \
    }

#define SOLVE(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)                \
    static bool solve_one_##p(const struct tfd_tridiagonal *t,                 \
                              struct solve_##p *s)                             \
    {                                                                          \
        if (!t->pivoting)                                                      \
            return thomas_##p(s);                                              \
        s->u[0][0] = s->main[0];                                               \
        s->u[0][1] = s->n > 1 ? s->super[0] : 0;                               \
        s->u[0][2] = 0;                                                        \
        copy_row_##p(s, 0);                                                    \
        if (s->perturb)                                                        \
            eliminate_singular_##p(s);                                         \
        else if (!eliminate_##p(s))                                            \
            return false;                                                      \
        substitute_##p(s);                                                     \
        return true;                                                           \
    }                                                                          \
    enum tfd_code tfd_tridiagonal_solve_##p(                                   \
        void *arg, int64_t begin, int64_t end, struct tfd_status *st)          \
    {                                                                          \
        const struct tfd_tridiagonal *t = arg;                                 \
        const int64_t size = t->n * t->right;                                  \
        struct tfd_buffer *room = tfd_buffer_new(sizeof(T[3]) * (size_t)t->n); \
                                                                               \
        if (!room)                                                             \
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,                        \
                            "OOM when solving %lld equations",                 \
                            (long long)t->n);                                  \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {               \
            struct solve_##p s = {                                             \
                .n = t->n,                                                     \
                .right = t->right,                                             \
                .perturb = t->perturb,                                         \
                .super = (const T *)t->super + i * t->step,                    \
                .main = (const T *)t->main + i * t->step,                      \
                .sub = (const T *)t->sub + i * t->step,                        \
                .b = (const T *)t->x + i * size,                               \
                .x = (T *)t->y + i * size,                                     \
                .u = room->data,                                               \
            };                                                                 \
                                                                               \
            if (!solve_one_##p(t, &s))                                         \
                for (int64_t j = 0; j < size; j++)                             \
                    s.x[j] = (nothing);                                        \
        }                                                                      \
        tfd_buffer_unref(room);                                                \
        return TFD_OK;                                                         \
    }

#define fmaxs fmaxf
#define fmaxd fmax
#define fmaxc fmaxf
#define fmaxz fmax
#define copysigns copysignf
#define copysignd copysign
#define copysignc copysignf
#define copysignz copysign
#define ITSELF(x) (x)

/* The letter, the type, that of its real numbers, magnitude, real part. */
#define TYPES(X)                                                          \
    X(s, float, float, fabsf, ITSELF, FLT_MIN, FLT_EPSILON, NAN)          \
    X(d, double, double, fabs, ITSELF, DBL_MIN, DBL_EPSILON, (double)NAN) \
    X(c, complex64, float, cabsf, crealf, FLT_MIN, FLT_EPSILON, 0)        \
    X(z, complex128, double, cabs, creal, DBL_MIN, DBL_EPSILON, 0)

TYPES(ROWS)
TYPES(THOMAS)
TYPES(ELIMINATE)
TYPES(PERTURB)
CLIMB(s, float, 16)
CLIMB(d, double, 32)
TYPES(SUBSTITUTE)
TYPES(SOLVE)
