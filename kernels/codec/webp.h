/*
 * webp.h - WebP files, animations among them, by libwebp.
 *
 * Few servers see pictures, so libwebp is opened by the first WebP file, and
 * libwebpdemux by the first animation; neither is needed to build tfd, since
 * the types of their interface are few and fixed (webp.c).
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_CODEC_WEBP_H
#define TFD_KERNELS_CODEC_WEBP_H

#include "kernels/codec/picture.h"

/* channels: 3, 4, or 0 for what the file has.  INVALID_ARGUMENT for what is no
 * WebP, or larger than the limits; UNIMPLEMENTED, naming the package, when a
 * library is not installed. */
enum tfd_code tfd_webp_decode(struct tfd_str file, int64_t channels,
                              bool all_frames, struct tfd_picture_sink *sink,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
