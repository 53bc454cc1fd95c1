/*
 * sobol_table.c - see sobol_table.h; tools/sobol_numbers.py writes the file and
 * compares it with TensorFlow's samples.
 *
 * The numbers in it are Copyright (c) 2008, Frances Y. Kuo and Stephen Joe, all
 * rights reserved, and may be used and handed on as their licence, of three
 * clauses as BSD's, says: with this notice, without warranty, and not to
 * advertise by the names of the authors or of their universities.
 */
#include "kernels/random/sobol_table.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#define DEGREE_MAX 18

/* The bytes of the file, in the program's constants. */
extern const uint8_t tfd_sobol_numbers[];
__asm__(".pushsection .rodata\n"
        ".global tfd_sobol_numbers\n"
        ".hidden tfd_sobol_numbers\n"
        "tfd_sobol_numbers:\n"
        ".incbin \"kernels/random/sobol_numbers.bin\"\n"
        ".popsection\n");

/* ---- Polynomials --------------------------------------------------------- */

static struct {
    pthread_once_t once;
    uint32_t of[TFD_SOBOL_DIMS]; /* of each dimension; the lowest bit is 1 */
    int first[DEGREE_MAX + 2];   /* dimension of each degree */
    uint32_t first_bit[DEGREE_MAX + 1];
} polynomials = {.once = PTHREAD_ONCE_INIT};

/* Products of polynomials, modulo p. */
static uint32_t times_modulo(uint32_t a, uint32_t b, uint32_t p, int degree)
{
    uint32_t product = 0;

    for (; b; b >>= 1) {
        product ^= b & 1 ? a : 0;
        a <<= 1;
        a ^= a >> degree & 1 ? p : 0;
    }
    return product;
}

/* x to this power is 1. */
static bool power_is_one(uint32_t power, uint32_t p, int degree)
{
    uint32_t result = 1, square = degree == 1 ? 1 : 2;

    for (; power; power >>= 1) {
        if (power & 1)
            result = times_modulo(result, square, p, degree);
        square = times_modulo(square, square, p, degree);
    }
    return result == 1;
}

/* Powers of x are all that is not 0: none below 2^degree - 1 is 1. */
static bool is_primitive(uint32_t p, int degree)
{
    const uint32_t order = (1u << degree) - 1;
    uint32_t rest = order;

    if (!power_is_one(order, p, degree))
        return false;
    for (uint32_t prime = 3; prime * prime <= rest; prime += 2) {
        if (rest % prime)
            continue;
        if (power_is_one(order / prime, p, degree))
            return false;
        while (rest % prime == 0)
            rest /= prime;
    }
    return rest == 1 || rest == order || !power_is_one(order / rest, p, degree);
}

static void find_polynomials(void)
{
    uint32_t bit = 0;
    int dim = 1;

    for (int degree = 1; degree <= DEGREE_MAX; degree++) {
        polynomials.first[degree] = dim;
        polynomials.first_bit[degree] = bit;
        for (uint32_t p = 1u << degree | 1;
             p < 2u << degree && dim < TFD_SOBOL_DIMS; p += 2)
            if (is_primitive(p, degree)) {
                polynomials.of[dim++] = p;
                bit += (uint32_t)(degree * (degree - 1) / 2);
            }
    }
    polynomials.first[DEGREE_MAX + 1] = dim;
}

enum tfd_code tfd_sobol_begin(struct tfd_status *st)
{
    if (pthread_once(&polynomials.once, find_polynomials) != 0 ||
        polynomials.first[DEGREE_MAX + 1] != TFD_SOBOL_DIMS)
        return tfd_fail(st, TFD_INTERNAL,
                        "the polynomials of Sobol sequences were not found");
    return TFD_OK;
}

/* ---- Numbers ------------------------------------------------------------- */

static uint32_t bits_at(uint32_t at, int count)
{
    uint32_t bits = 0;

    for (int i = 0; i < count; i++, at++)
        bits = bits << 1 | (tfd_sobol_numbers[at / 8] >> (7 - at % 8) & 1u);
    return bits;
}

static int degree_of(int dim)
{
    int degree = 1;

    while (dim >= polynomials.first[degree + 1])
        degree++;
    return degree;
}

/* The numbers that the polynomial makes of those before them. */
static void make_numbers(uint32_t p, int degree, int digits,
                         uint32_t m[TFD_SOBOL_DIGITS])
{
    for (int k = degree; k < digits; k++) {
        m[k] = m[k - degree];
        for (int i = 1; i <= degree; i++)
            if (p >> (degree - i) & 1)
                m[k] ^= m[k - i] << i;
    }
}

void tfd_sobol_directions(int dim, int digits, uint32_t out[TFD_SOBOL_DIGITS])
{
    assert(dim >= 0 && dim < TFD_SOBOL_DIMS);
    assert(digits > 0 && digits <= TFD_SOBOL_DIGITS);
    out[0] = 1;
    if (dim == 0) {
        for (int k = 1; k < digits; k++)
            out[k] = 1;
    } else {
        const int degree = degree_of(dim);
        const int index = dim - polynomials.first[degree];
        uint32_t at = polynomials.first_bit[degree] +
                      (uint32_t)(index * (degree * (degree - 1) / 2));

        for (int k = 1; k < degree; at += (uint32_t)k++)
            out[k] = bits_at(at, k) << 1 | 1;
        make_numbers(polynomials.of[dim], degree, digits, out);
    }
    for (int k = 0; k < digits; k++)
        out[k] <<= TFD_SOBOL_DIGITS - 1 - k;
}
