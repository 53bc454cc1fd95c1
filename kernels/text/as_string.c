/*
 * as_string.c - AsString: numbers as printf() writes them.
 *
 * The attributes make up one format when the graph is registered:
 *
 *     %[fill][width][.precision]conversion
 *
 * for each element; a complex number is two of them in brackets.  Strings are
 * only cut and padded, booleans not even that.
 *
 * Whole numbers and reals of no format of their own (%lld, %f) are written
 * without printf(): a real times 10^6 is an exact integer of 128 bits over a
 * power of two, rounded as printf() does, to the nearest and, halfway, to the
 * even one.  Threads share the elements.
 */
#include "common/base/half.h"
#include "common/base/small.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <stdio.h>
#include <string.h>

#define FORMAT_SIZE 32

struct state {
    char format[FORMAT_SIZE];
    int64_t width, precision; /* for strings; -1: none */
    bool left;                /* padded on the right */
    bool plain;               /* no attribute given */
};

/* ---- The format ---------------------------------------------------------- */

enum kind { REAL, SIGNED, UNSIGNED, BOOL, STRING };

static enum kind kind_of(enum tfd_dtype t)
{
    switch (t) {
    case TFD_INT8:
    case TFD_INT16:
    case TFD_INT32:
    case TFD_INT64:
        return SIGNED;
    case TFD_UINT8:
    case TFD_UINT16:
    case TFD_UINT32:
    case TFD_UINT64:
        return UNSIGNED;
    case TFD_BOOL:
        return BOOL;
    case TFD_STRING:
        return STRING;
    default:
        return REAL;
    }
}

struct wish {
    int64_t precision, width;
    bool scientific, shortest;
    struct tfd_str fill;
    enum tfd_dtype dtype;
};

static enum tfd_code read_wish(const struct tfd_node *n, struct wish *w,
                               struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(n, "precision", &w->precision, st));
    TFD_TRY(tfd_node_int(n, "width", &w->width, st));
    TFD_TRY(tfd_node_bool(n, "scientific", &w->scientific, st));
    TFD_TRY(tfd_node_bool(n, "shortest", &w->shortest, st));
    TFD_TRY(tfd_node_str(n, "fill", &w->fill, st));
    return tfd_node_type(n, "T", &w->dtype, st);
}

static enum tfd_code check_wish(const struct wish *w, struct tfd_status *st)
{
    enum kind kind = kind_of(w->dtype);
    bool whole = kind == SIGNED || kind == UNSIGNED || kind == BOOL;

    if (whole && (w->scientific || w->shortest))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "scientific and shortest format not supported for "
                        "datatype %s",
                        tfd_dtype_name((int)w->dtype));
    if (whole && w->precision > -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "precision not supported for datatype %s",
                        tfd_dtype_name((int)w->dtype));
    if (w->scientific && w->shortest)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot select both scientific and shortest notation");
    if (w->fill.size > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Fill string must be one or fewer characters");
    if (w->fill.size && !memchr(" +-0#", w->fill.data[0], 5))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Fill argument not supported: \"" TFD_STR_FMT "\"",
                        TFD_STR_ARG(w->fill));
    if (w->width > TFD_AS_STRING_WIDTH_MAX ||
        w->precision > TFD_AS_STRING_WIDTH_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "width %lld and precision %lld must be at most %d",
                        (long long)w->width, (long long)w->precision,
                        TFD_AS_STRING_WIDTH_MAX);
    return TFD_OK;
}

static enum tfd_code prepare_as_string(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    static const char *const whole[] = {[SIGNED] = "lld", [UNSIGNED] = "llu"};
    struct state *s = state;
    struct wish w = {0};
    enum kind kind;
    int used;

    TFD_TRY(read_wish(p->node, &w, st));
    TFD_TRY(check_wish(&w, st));
    kind = kind_of(w.dtype);
    s->width = w.width;
    s->precision = w.precision;
    s->left = w.fill.size && w.fill.data[0] == '-';
    s->plain = w.width <= -1 && w.precision <= -1 && !w.fill.size &&
               !w.scientific && !w.shortest;
    used =
        snprintf(s->format, FORMAT_SIZE, "%%" TFD_STR_FMT, TFD_STR_ARG(w.fill));
    if (w.width > -1)
        used += snprintf(s->format + used, FORMAT_SIZE - (size_t)used, "%lld",
                         (long long)w.width);
    if (w.precision > -1)
        used += snprintf(s->format + used, FORMAT_SIZE - (size_t)used, ".%lld",
                         (long long)w.precision);
    snprintf(s->format + used, FORMAT_SIZE - (size_t)used, "%s",
             kind == SIGNED || kind == UNSIGNED ? whole[kind]
             : w.scientific                     ? "e"
             : w.shortest                       ? "g"
                                                : "f");
    return TFD_OK;
}

/* ---- Elements ------------------------------------------------------------ */

typedef void print_fn(struct tfd_bytes *b, const struct state *s,
                      const void *x);

#define PRINT(name, T, value)                                            \
    static void print_##name(struct tfd_bytes *b, const struct state *s, \
                             const void *at)                             \
    {                                                                    \
        T x = *(const T *)at;                                            \
                                                                         \
        tfd_bytes_printf(b, s->format, value);                           \
    }

#define PRINT_COMPLEX(name, T)                                           \
    static void print_##name(struct tfd_bytes *b, const struct state *s, \
                             const void *at)                             \
    {                                                                    \
        T x = *(const T *)at;                                            \
                                                                         \
        tfd_bytes_add(b, "(", 1);                                        \
        tfd_bytes_printf(b, s->format, (double)x.re);                    \
        tfd_bytes_add(b, ",", 1);                                        \
        tfd_bytes_printf(b, s->format, (double)x.im);                    \
        tfd_bytes_add(b, ")", 1);                                        \
    }

PRINT(INT8, int8_t, (long long)x)
PRINT(INT16, int16_t, (long long)x)
PRINT(INT32, int32_t, (long long)x)
PRINT(INT64, int64_t, (long long)x)
PRINT(UINT8, uint8_t, (unsigned long long)x)
PRINT(UINT16, uint16_t, (unsigned long long)x)
PRINT(UINT32, uint32_t, (unsigned long long)x)
PRINT(UINT64, uint64_t, (unsigned long long)x)
PRINT(FLOAT, float, (double)x)
PRINT(DOUBLE, double, x)
PRINT(HALF, tfd_half, (double)tfd_half_to_float(x))
PRINT(BFLOAT16, tfd_bfloat16, (double)tfd_bfloat16_to_float(x))
PRINT_COMPLEX(COMPLEX64, tfd_complex64)
PRINT_COMPLEX(COMPLEX128, tfd_complex128)

static void print_STRING(struct tfd_bytes *b, const struct state *s,
                         const void *at)
{
    struct tfd_str x = tfd_tstring_view(at);
    int64_t pad;

    /* TensorFlow has no format for strings without a width. */
    if (s->width >= 0 && s->precision >= 0 && (size_t)s->precision < x.size)
        x.size = (size_t)s->precision;
    pad = s->width - (int64_t)x.size;
    if (pad > 0 && !s->left)
        tfd_bytes_printf(b, "%*s", (int)pad, "");
    tfd_bytes_add_str(b, x);
    if (pad > 0 && s->left)
        tfd_bytes_printf(b, "%*s", (int)pad, "");
}

/* Types of the printers; booleans need none. */
#define TYPES(X)  \
    X(INT8)       \
    X(INT16)      \
    X(INT32)      \
    X(INT64)      \
    X(UINT8)      \
    X(UINT16)     \
    X(UINT32)     \
    X(UINT64)     \
    X(FLOAT)      \
    X(DOUBLE)     \
    X(HALF)       \
    X(BFLOAT16)   \
    X(COMPLEX64)  \
    X(COMPLEX128) \
    X(STRING)

static print_fn *const printers[TFD_DTYPE_END] = {
#define X(name) [TFD_##name] = print_##name,
    TYPES(X)
#undef X
};

/* ---- Elements without a format ------------------------------------------- */

#define PLAIN_SIZE 32 /* a sign, 19 digits or more, a point */

/* Writes at most PLAIN_SIZE bytes; 0: printf() has to. */
typedef size_t plain_fn(char *to, const void *at);

static size_t write_unsigned(char *to, uint64_t x)
{
    char digits[PLAIN_SIZE];
    size_t used = 0;

    do {
        digits[PLAIN_SIZE - ++used] = (char)('0' + x % 10);
        x /= 10;
    } while (x);
    memcpy(to, digits + PLAIN_SIZE - used, used);
    return used;
}

static size_t write_signed(char *to, int64_t x)
{
    if (x >= 0)
        return write_unsigned(to, (uint64_t)x);
    *to = '-';
    return 1 + write_unsigned(to + 1, 0 - (uint64_t)x);
}

/* mantissa * 10^6 / 2^shift.  shift is at least SHIFT_MIN, so that the result
 * has no more than 63 bits. */
#define SHIFT_MIN 10
static uint64_t millionths(uint64_t mantissa, int shift)
{
    __extension__ typedef unsigned __int128 uint128;
    uint128 all = (uint128)mantissa * 1000000, half, rest;
    uint64_t whole;

    if (shift >= 74) /* all is below 2^73: less than a half */
        return 0;
    whole = (uint64_t)(all >> shift);
    rest = all & (((uint128)1 << shift) - 1);
    half = (uint128)1 << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

static size_t write_real(char *to, double x)
{
    uint64_t bits, mantissa, value;
    int exponent, shift;
    size_t used = 0;

    memcpy(&bits, &x, sizeof(bits));
    exponent = (int)(bits >> 52 & 0x7ff);
    mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(exponent != 0)
                                                        << 52;
    shift = 1075 - (exponent ? exponent : 1);
    if (shift < SHIFT_MIN) /* large, infinite or no number */
        return 0;
    if (bits >> 63)
        to[used++] = '-';
    value = millionths(mantissa, shift);
    used += write_unsigned(to + used, value / 1000000);
    value %= 1000000;
    to[used] = '.';
    for (int i = 6; i > 0; i--, value /= 10)
        to[used + (size_t)i] = (char)('0' + value % 10);
    return used + 7;
}

#define PLAIN(name, T, write, value)                     \
    static size_t plain_##name(char *to, const void *at) \
    {                                                    \
        T x = *(const T *)at;                            \
                                                         \
        return write(to, value);                         \
    }

PLAIN(INT8, int8_t, write_signed, x)
PLAIN(INT16, int16_t, write_signed, x)
PLAIN(INT32, int32_t, write_signed, x)
PLAIN(INT64, int64_t, write_signed, x)
PLAIN(UINT8, uint8_t, write_unsigned, x)
PLAIN(UINT16, uint16_t, write_unsigned, x)
PLAIN(UINT32, uint32_t, write_unsigned, x)
PLAIN(UINT64, uint64_t, write_unsigned, x)
PLAIN(FLOAT, float, write_real, (double)x)
PLAIN(DOUBLE, double, write_real, x)
PLAIN(HALF, tfd_half, write_real, (double)tfd_half_to_float(x))
PLAIN(BFLOAT16, tfd_bfloat16, write_real, (double)tfd_bfloat16_to_float(x))

static plain_fn *const plain_ones[TFD_DTYPE_END] = {
    [TFD_INT8] = plain_INT8,     [TFD_INT16] = plain_INT16,
    [TFD_INT32] = plain_INT32,   [TFD_INT64] = plain_INT64,
    [TFD_UINT8] = plain_UINT8,   [TFD_UINT16] = plain_UINT16,
    [TFD_UINT32] = plain_UINT32, [TFD_UINT64] = plain_UINT64,
    [TFD_FLOAT] = plain_FLOAT,   [TFD_DOUBLE] = plain_DOUBLE,
    [TFD_HALF] = plain_HALF,     [TFD_BFLOAT16] = plain_BFLOAT16,
};

/* ---- The operation ------------------------------------------------------- */

#define BOOLS_BETWEEN_LOOKS 4096
#define ELEMENT_COST 60 /* nanoseconds, most of them for the memory */

struct job {
    const struct state *state;
    const char *x;
    size_t size;
    print_fn *print;
    plain_fn *plain; /* or NULL */
    struct tfd_tstring *y;
};

static enum tfd_code write_element(const struct job *j, int64_t i,
                                   struct tfd_bytes *text,
                                   struct tfd_status *st)
{
    const char *x = j->x + (size_t)i * j->size;
    char plain[PLAIN_SIZE];
    size_t used = j->plain ? j->plain(plain, x) : 0;

    if (used)
        return tfd_small_set(&j->y[i], (struct tfd_str){plain, used}, st);
    tfd_bytes_clear(text);
    j->print(text, j->state, x);
    TFD_TRY(tfd_bytes_ok(text, "a number's text", st));
    return tfd_tstring_set(&j->y[i], tfd_bytes_view(text), st);
}

static enum tfd_code write_range(void *arg, int64_t begin, int64_t end,
                                 struct tfd_status *st)
{
    const struct job *j = arg;
    struct tfd_bytes text;
    enum tfd_code code = TFD_OK;

    tfd_bytes_init(&text, (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
    for (int64_t i = begin; i < end && code == TFD_OK && !tfd_halted(); i++)
        code = write_element(j, i, &text, st);
    tfd_bytes_deinit(&text);
    return code;
}

/* Booleans are one of two elements. */
static enum tfd_code write_bools(void *arg, int64_t begin, int64_t end,
                                 struct tfd_status *st)
{
    static const struct tfd_tstring texts[] = {
        {{{5 << 2, "false"}}},
        {{{4 << 2, "true"}}},
    };
    const struct job *j = arg;

    for (int64_t i = begin; i < end; i++) {
        if (i % BOOLS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(tfd_tstring_copy(&j->y[i], &texts[j->x[i] != 0], st));
    }
    return TFD_OK;
}

static enum tfd_code as_string(struct tfd_kctx *k, struct tfd_status *st)
{
    struct job j = {.state = k->state};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &k->in[0].shape, st));
    j.x = tfd_tensor_data(&k->in[0]);
    j.size = tfd_dtype_size(k->in[0].dtype);
    j.print = printers[k->in[0].dtype];
    j.plain = j.state->plain ? plain_ones[k->in[0].dtype] : NULL;
    j.y = tfd_tensor_data(&k->out[0]);
    return tfd_kctx_try(k, tfd_tensor_elements(&k->in[0]), ELEMENT_COST,
                        k->in[0].dtype == TFD_BOOL ? write_bools : write_range,
                        &j, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "AsString",
        .inputs = "input: T",
        .outputs = "output: string",
        .attrs = "T: {float, double, int32, uint8, int16, int8, int64, "
                 "bfloat16, uint16, half, uint32, uint64, complex64, "
                 "complex128, bool, variant, string}; precision: int = -1; "
                 "scientific: bool = false; shortest: bool = false; "
                 "width: int = -1; fill: string = ''",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
#define X(name)                                                           \
    TFD_KERNEL("AsString", name, as_string, .prepare = prepare_as_string, \
               .state_size = sizeof(struct state)),
    TYPES(X) X(BOOL)
#undef X
};

const struct tfd_family tfd_family_as_string = {
    .name = "as_string",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
