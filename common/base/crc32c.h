/*
 * crc32c.h - CRC-32C (Castagnoli), the checksum of checkpoints, of TFRecord
 * files, of event files, and of native frames that leave the host.
 *
 * Polynomial 0x1EDC6F41 with reflected input and output, first value and last
 * XOR all ones (RFC 3720, appendix B.4).  TensorFlow stores sums "masked",
 * because a sum over bytes that contain their own sum is weak:
 *
 *     masked = rotate_right(crc, 15) + 0xa282ead8        (modulo 2^32)
 *
 * Threads: any; no state.
 */
#ifndef TFD_COMMON_CRC32C_H
#define TFD_COMMON_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The sum of the bytes summed in crc (0: none) followed by these. */
uint32_t tfd_crc32c_extend(uint32_t crc, const void *data, size_t size);

/* The same without the CPU's instruction; for the tests of it. */
uint32_t tfd_crc32c_extend_portable(uint32_t crc, const void *data,
                                    size_t size);

static inline uint32_t tfd_crc32c(const void *data, size_t size)
{
    return tfd_crc32c_extend(0, data, size);
}

static inline uint32_t tfd_crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static inline uint32_t tfd_crc32c_unmask(uint32_t masked)
{
    uint32_t rotated = masked - 0xa282ead8u;

    return (rotated >> 17) | (rotated << 15);
}

#endif
