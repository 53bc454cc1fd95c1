/*
 * continuation.h - a callback that resumes work which had to wait: whoever
 * cannot go on now embeds one and gives it to what it waits for.
 *
 *     waiter                            what it waits for
 *     fills in fn, hands it over  -->   links it into its queue by `next`
 *     resumes                     <--   calls fn(c), once, when there is room
 *
 * The one use is the limit on how far steps run ahead of a GPU
 * (cuda/device/run_ahead.h): a step that has enqueued its kernels may have to
 * wait before it ends, and must not block a thread meanwhile.
 *
 * Ownership: the waiter owns the struct and leaves it alone, from handing it
 * over until fn() is called.
 * Threads: fn() may be called on any thread.
 */
#ifndef TFD_COMMON_CONTINUATION_H
#define TFD_COMMON_CONTINUATION_H

struct tfd_continuation {
    void (*fn)(struct tfd_continuation *c);
    /* Of what it waits for, while it does. */
    struct tfd_continuation *next;
    int nodes; /* that the waiting step has enqueued */
};

#endif
