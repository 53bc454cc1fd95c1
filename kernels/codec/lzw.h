/*
 * lzw.h - the compression of GIF files, taken back.
 *
 * Codes come in blocks: a byte that says how many follow, then these; a block
 * of none ends the picture.  A code is a byte's value, or a string of bytes
 * that was seen before and one more; the table of strings grows by one with
 * each code and the codes by a bit when it has doubled, up to 12.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_CODEC_LZW_H
#define TFD_KERNELS_CODEC_LZW_H

#include "common/base/str.h"

enum tfd_lzw_result {
    TFD_LZW_WHOLE,
    TFD_LZW_CUT,       /* the file ends within it */
    TFD_LZW_DEFECTIVE, /* a code that cannot be */
    TFD_LZW_TOO_SOON,  /* its end comes before all pixels */
};

/* Fills out[0, size) from *file, which then begins behind the picture's last
 * block.  code_bits: of a byte's value, 1 to 8. */
enum tfd_lzw_result tfd_lzw_decode(struct tfd_str *file, int code_bits,
                                   uint8_t *out, int64_t size);

/* The most pixels that so many bytes of a file can make. */
int64_t tfd_lzw_pixels_max(size_t bytes);

#endif
