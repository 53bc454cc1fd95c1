/*
 * jpeg_library.h - libjpeg-turbo's functions, opened when one is first wanted.
 *
 * Few servers see pictures, so the library is opened by the first JPEG, and tfd
 * runs without it.  Its header (libjpeg62-turbo-dev) has to be there when tfd
 * is built; the version it was built with and the one that is opened have the
 * same interface, number 62, as the library's name says.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_CODEC_JPEG_LIBRARY_H
#define TFD_KERNELS_CODEC_JPEG_LIBRARY_H

#include "common/base/status.h"

#if __has_include(<jpeglib.h>)
#include <stdio.h> /* its header wants FILE */

#include <jpeglib.h>
#endif

#ifdef LIBJPEG_TURBO_VERSION
#define TFD_HAS_JPEG 1
#else
#define TFD_HAS_JPEG 0
#endif

#if TFD_HAS_JPEG
#define TFD_JPEG_FUNCTIONS(F) \
    F(CreateCompress)         \
    F(CreateDecompress)       \
    F(abort_decompress)       \
    F(calc_output_dimensions) \
    F(crop_scanline)          \
    F(destroy)                \
    F(finish_compress)        \
    F(finish_decompress)      \
    F(read_header)            \
    F(read_scanlines)         \
    F(resync_to_restart)      \
    F(set_defaults)           \
    F(set_quality)            \
    F(simple_progression)     \
    F(skip_scanlines)         \
    F(start_compress)         \
    F(start_decompress)       \
    F(std_error)              \
    F(write_marker)           \
    F(write_scanlines)

struct tfd_jpeg {
#define TFD_JPEG_MEMBER(name) __typeof__(jpeg_##name) *name;
    TFD_JPEG_FUNCTIONS(TFD_JPEG_MEMBER)
};

/* UNIMPLEMENTED, naming the package, when it is not installed. */
enum tfd_code tfd_jpeg_library(const struct tfd_jpeg **out,
                               struct tfd_status *st) TFD_MUST_USE;
#endif

/* What the ops say in a tfd that was built without the header. */
#define TFD_JPEG_NOT_BUILT                                                \
    "this tfd was built without libjpeg-turbo; of Debian's packages its " \
    "header is in libjpeg62-turbo-dev"

#endif
