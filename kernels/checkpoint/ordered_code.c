/*
 * ordered_code.c - see ordered_code.h for the bytes.
 */
#include "kernels/checkpoint/ordered_code.h"

#include <string.h>

#define SIGNED_SIZE_MAX 10 /* 7 * 10 - 1 bits hold any int64_t */

void tfd_ordered_code_put_str(struct tfd_bytes *b, struct tfd_str value)
{
    size_t from = 0;

    for (size_t i = 0; i < value.size; i++) {
        uint8_t byte = (uint8_t)value.data[i];

        if (byte != 0x00 && byte != 0xff)
            continue;
        tfd_bytes_add(b, value.data + from, i - from);
        tfd_bytes_add(b, byte ? "\xff\x00" : "\x00\xff", 2);
        from = i + 1;
    }
    tfd_bytes_add(b, value.data + from, value.size - from);
    tfd_bytes_add(b, "\x00\x01", 2);
}

void tfd_ordered_code_put_num(struct tfd_bytes *b, uint64_t value)
{
    uint8_t out[9];
    size_t n = 0;

    while (n < 8 && value >> (8 * n) != 0)
        n++;
    out[0] = (uint8_t)n;
    for (size_t i = 0; i < n; i++)
        out[1 + i] = (uint8_t)(value >> (8 * (n - 1 - i)));
    tfd_bytes_add(b, out, 1 + n);
}

void tfd_ordered_code_put_signed(struct tfd_bytes *b, int64_t value)
{
    uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);
    uint8_t out[SIGNED_SIZE_MAX];
    size_t n = 1;

    while (n < SIGNED_SIZE_MAX && magnitude >> (7 * n - 1) != 0)
        n++;
    memset(out, value < 0 ? 0xff : 0x00, sizeof(out));
    for (size_t i = 0; i < 8; i++)
        out[SIGNED_SIZE_MAX - 1 - i] = (uint8_t)((uint64_t)value >> (8 * i));
    out[SIGNED_SIZE_MAX - n] ^=
        (uint8_t)(n < 8 ? 0xff00u >> n : 0xffu); /* the head's first byte */
    if (n > 8)
        out[SIGNED_SIZE_MAX - n + 1] ^= (uint8_t)(0xff00u >> (n - 8));
    tfd_bytes_add(b, out + SIGNED_SIZE_MAX - n, n);
}
