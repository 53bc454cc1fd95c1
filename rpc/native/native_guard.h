/*
 * native_guard.h - counts what a caller on the native transport may do cheaply
 * and we may not; what h2_guard.h is for HTTP/2.
 *
 * Each kind has a number that no honest caller reaches within
 * TFD_STREAM_RESETS_WINDOW_MS: PINGs, CANCELs beyond the calls that were made
 * or were open when the window began, and payloads in tiny parts.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_RPC_NATIVE_GUARD_H
#define TFD_RPC_NATIVE_GUARD_H

#include "rpc/native/frame.h"
#include "rpc/conn/loop.h"

struct tfd_native_guard {
    uint64_t window_us; /* when it began */
    uint32_t pings, cancels, parts;
    uint32_t calls; /* made in the window, or open when it began */
};

/* Zero is the initial state.  A whole frame was read; ends: it is the last of
 * its message or of a payload; open: calls that are, this one's included. */
enum tfd_code tfd_native_guard_frame(struct tfd_native_guard *g,
                                     const struct tfd_frame_header *h,
                                     bool ends, uint32_t open,
                                     struct tfd_loop *l,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
