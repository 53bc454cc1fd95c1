/*
 * jxl.h - JPEG XL files, by libjxl; of an animation the first frame.
 *
 * Few servers see pictures, so libjxl is opened by the first such file; it is
 * not needed to build tfd, since the types of its interface are few and fixed
 * (jxl.c).
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_CODEC_JXL_H
#define TFD_KERNELS_CODEC_JXL_H

#include "kernels/codec/picture.h"

/* channels: 0, or as many as the file has: 1 to 4.  INVALID_ARGUMENT for what
 * is no JPEG XL, or larger than the limits; RESOURCE_EXHAUSTED where the memory
 * limit leaves no room to decode it; UNIMPLEMENTED, naming the package, when
 * libjxl is not installed. */
enum tfd_code tfd_jxl_decode(struct tfd_str file, int64_t channels,
                             struct tfd_picture_sink *sink,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
