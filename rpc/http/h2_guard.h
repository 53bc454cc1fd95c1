/*
 * h2_guard.h - counts what an HTTP/2 peer may do cheaply and we may not.
 *
 * Each kind of event has a number that no honest peer reaches within
 * TFD_STREAM_RESETS_WINDOW_MS.  Resets are allowed more often the more streams
 * are open at once: a TensorFlow master whose step fails cancels its thousand
 * pending RecvTensor calls together, and may do so step after step, while rapid
 * reset (CVE-2023-44487) opens few streams at a time, so as to open many.  What
 * belongs to calls is allowed more often the more calls are made, and what
 * answers our bytes the more we send.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_RPC_H2_GUARD_H
#define TFD_RPC_H2_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* name, most per window.  gRPC probes the bandwidth with PINGs, a few per
 * second, and sends SETTINGS when its windows grow. */
#define TFD_H2_GUARDED(X)              \
    X(RESET, TFD_STREAM_RESETS_MAX)    \
    X(PING, TFD_PINGS_MAX)             \
    X(SETTINGS, TFD_SETTINGS_MAX)      \
    X(PRIORITY, TFD_PRIORITIES_MAX)    \
    X(EMPTY_DATA, TFD_EMPTY_DATA_MAX)  \
    X(UNKNOWN, TFD_UNKNOWN_FRAMES_MAX) \
    X(WINDOW, TFD_WINDOW_UPDATES_MAX)  \
    X(TRAILERS, TFD_TRAILERS_MAX)      \
    X(SMALL_DATA, TFD_SMALL_DATA_MAX)

enum tfd_h2_guarded {
#define X(name, max) TFD_H2_GUARD_##name,
    TFD_H2_GUARDED(X)
#undef X
        TFD_H2_GUARD_COUNT
};

struct tfd_h2_guard {
    uint64_t window_us;    /* when the window began */
    uint32_t streams_peak; /* open at once, in the window */
    uint32_t opened;       /* streams, in the window */
    uint64_t sent;         /* bytes of DATA, in the window */
    uint32_t count[TFD_H2_GUARD_COUNT];
};

/* Zero is the initial state.  open: streams at this moment.  False when the
 * limit has been passed. */
bool tfd_h2_guard_count(struct tfd_h2_guard *g, enum tfd_h2_guarded what,
                        uint32_t open, uint64_t now_us);
/* So many bytes of DATA went out. */
void tfd_h2_guard_sent(struct tfd_h2_guard *g, uint64_t size);
/* A stream was opened, and open of them are now. */
void tfd_h2_guard_opened(struct tfd_h2_guard *g, uint32_t open);

#endif
