/*
 * lzw.c - see lzw.h.
 *
 * A string is kept as the place in the output where it was written last: each
 * entry of the table is such a place and a length, so a code is a copy.
 */
#include "kernels/codec/lzw.h"

#include <string.h>

#define CODE_BITS_MAX 12
#define CODES_MAX (1 << CODE_BITS_MAX)

struct lzw {
    struct tfd_str *file;
    int block; /* bytes of it that are left */
    uint32_t bits;
    int bit_count;
    int width; /* bits of a code */
    int clear; /* the code that empties the table; the next one ends all */
    int next;  /* the entry that the next code makes */
    int64_t at[CODES_MAX];
    uint16_t length[CODES_MAX];
};

/* -1: the file ends.  -2: the picture's blocks do. */
static int lzw_byte(struct lzw *z)
{
    if (z->block == 0) {
        if (z->file->size == 0)
            return -1;
        z->block = (uint8_t)*z->file->data++;
        z->file->size--;
        if (z->block == 0)
            return -2;
    }
    if (z->file->size == 0)
        return -1;
    z->block--;
    z->file->size--;
    return (uint8_t)*z->file->data++;
}

static int lzw_code(struct lzw *z)
{
    int code;

    while (z->bit_count < z->width) {
        const int byte = lzw_byte(z);

        if (byte < 0)
            return byte;
        z->bits |= (uint32_t)byte << z->bit_count;
        z->bit_count += 8;
    }
    code = (int)(z->bits & ((1u << z->width) - 1));
    z->bits >>= z->width;
    z->bit_count -= z->width;
    return code;
}

static void lzw_reset(struct lzw *z, int code_bits)
{
    z->width = code_bits + 1;
    z->next = z->clear + 2;
}

/* What `code` stands for, at `to`; 0 where it stands for nothing.  The entry
 * that is being made is the last string and its own first byte. */
static int64_t lzw_put(const struct lzw *z, int code, uint8_t *out, int64_t to,
                       int64_t size)
{
    int64_t n;

    if (code < z->clear) {
        out[to] = (uint8_t)code;
        return 1;
    }
    if (code < z->clear + 2 || code >= z->next)
        return 0;
    n = z->length[code] < size - to ? z->length[code] : size - to;
    for (int64_t i = 0; i < n; i++) /* the two may overlap */
        out[to + i] = out[z->at[code] + i];
    return n;
}

/* The string of the last code, and the byte behind it, are an entry now. */
static void lzw_add(struct lzw *z, int64_t at, int64_t length)
{
    if (z->next >= CODES_MAX)
        return;
    z->at[z->next] = at;
    z->length[z->next] = (uint16_t)(length + 1);
    z->next++;
}

static enum tfd_lzw_result lzw_run(struct lzw *z, int code_bits, uint8_t *out,
                                   int64_t size)
{
    int64_t to = 0, last = 0, n = 0; /* the last string: where, how long */

    while (to < size) {
        const int code = lzw_code(z);

        if (code < 0)
            return code == -1 ? TFD_LZW_CUT : TFD_LZW_TOO_SOON;
        if (code == z->clear + 1)
            return TFD_LZW_TOO_SOON;
        if (code == z->clear) {
            lzw_reset(z, code_bits);
            n = 0;
            continue;
        }
        if (n)
            lzw_add(z, last, n);
        last = to;
        n = lzw_put(z, code, out, to, size);
        if (n == 0)
            return TFD_LZW_DEFECTIVE;
        to += n;
        if (z->next == 1 << z->width && z->width < CODE_BITS_MAX)
            z->width++;
    }
    return TFD_LZW_WHOLE;
}

/* What is left of the picture's blocks. */
static enum tfd_lzw_result lzw_skip(struct lzw *z)
{
    int byte;

    do
        byte = lzw_byte(z);
    while (byte >= 0);
    return byte == -1 ? TFD_LZW_CUT : TFD_LZW_WHOLE;
}

enum tfd_lzw_result tfd_lzw_decode(struct tfd_str *file, int code_bits,
                                   uint8_t *out, int64_t size)
{
    struct lzw z;
    enum tfd_lzw_result found;

    z.file = file;
    z.block = z.bit_count = 0;
    z.bits = 0;
    z.clear = 1 << code_bits;
    lzw_reset(&z, code_bits);
    found = lzw_run(&z, code_bits, out, size);
    return found == TFD_LZW_WHOLE ? lzw_skip(&z) : found;
}

int64_t tfd_lzw_pixels_max(size_t bytes)
{
    /* Codes have two bits at least, and stand for CODES_MAX pixels at most. */
    return (int64_t)bytes < INT64_MAX / 4 / CODES_MAX
               ? (int64_t)bytes * 4 * CODES_MAX
               : INT64_MAX;
}
