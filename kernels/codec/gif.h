/*
 * gif.h - GIF files, animations among them, as frames of RGB.
 *
 * Each frame is drawn over the one before it: where it is transparent, and
 * around it, the old pixels stay, black before the first.  What a frame asks to
 * be done with it afterwards (its disposal) is not looked at, as in TensorFlow.
 * Frames are as large as the largest of them, not as the file's canvas.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_CODEC_GIF_H
#define TFD_KERNELS_CODEC_GIF_H

#include "kernels/codec/picture.h"

/* INVALID_ARGUMENT for what is no GIF, in giflib's words, or larger than the
 * limits.  A file that ends behind a whole frame gives what it has. */
enum tfd_code tfd_gif_decode(struct tfd_str file, bool all_frames,
                             struct tfd_picture_sink *sink,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
