/*
 * wav.h - sound as WAV files of 16-bit PCM, written and read.
 *
 *     "RIFF" [u32 size of the rest] "WAVE"
 *     "fmt " [u32 16]  [u16 1: PCM] [u16 channels] [u32 frames per second]
 *                      [u32 bytes per second] [u16 bytes per frame] [u16 16]
 *     "data" [u32 size] [i16 samples, those of one frame side by side]
 *
 * All numbers have their low byte first.  A frame has one sample of each
 * channel, and a sample of 1.0 is 32768.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_SIGNAL_WAV_H
#define TFD_KERNELS_SIGNAL_WAV_H

#include "common/base/str.h"

/* Whether so much can be one file; channels is positive. */
bool tfd_wav_fits(int64_t frames, int64_t channels);
/* Appends a file. */
void tfd_wav_encode(struct tfd_bytes *b, const float *x, int64_t frames,
                    int64_t channels, uint32_t rate);

struct tfd_wav {
    uint32_t rate;
    int64_t frames, channels;
    const char *samples; /* in the file */
};

/* Finds sound in a file, whose bytes stay where they are. */
enum tfd_code tfd_wav_decode(struct tfd_str file, struct tfd_wav *out,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
