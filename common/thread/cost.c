/*
 * cost.c - see cost.h.
 *
 * Two threads send each other a number to and fro.  For a hop both look at it
 * all the time; for a wake-up one sleeps and is woken after a moment in which
 * its processor may have been halted.  The median of a few rounds counts, as
 * other programs take their share of some of them.
 */
#include "common/thread/cost.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/thread/event.h"
#include "common/thread/lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS = 15, WAKES = 7 };
/* A processor is halted within this. */
#define IDLE_NS 100000
/* Nobody answers: the other thread has no processor. */
#define PATIENCE_NS 20000000
#define NEAR_SIZE ((size_t)128 << 10)
#define FAR_SIZE ((size_t)4 << 20)

struct other {
    int ball; /* atomic: odd when it is the other thread's turn; -1: the end */
    struct tfd_event event[WAKES];
    uint64_t woken_ns[WAKES]; /* atomic */
};

static void *answer_hops(void *arg)
{
    struct other *o = arg;

    for (int ball = 0; ball >= 0;) {
        ball = TFD_LOAD_ACQUIRE(&o->ball);
        /* The end may have come since, and must not be written over. */
        if (ball > 0 && ball % 2)
            TFD_COMPARE_EXCHANGE(&o->ball, &ball, ball + 1);
    }
    return NULL;
}

static void *answer_wakes(void *arg)
{
    struct other *o = arg;

    for (int i = 0; i < WAKES; i++) {
        tfd_event_wait(&o->event[i], 0);
        TFD_STORE_RELEASE(&o->woken_ns[i], tfd_clock_now_ns());
    }
    return NULL;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t median(int64_t *took, int count)
{
    qsort(took, (size_t)count, sizeof(*took), compare_times);
    return took[count / 2];
}

static int64_t probe_hops(struct other *o)
{
    int64_t took[HOPS];
    pthread_t thread;
    int count = 0;

    if (pthread_create(&thread, NULL, answer_hops, o) != 0)
        return 0;
    for (int i = 0; i < HOPS; i++) {
        uint64_t began = tfd_clock_now_ns();

        TFD_STORE_RELEASE(&o->ball, 2 * i + 1);
        while (TFD_LOAD_ACQUIRE(&o->ball) == 2 * i + 1 &&
               tfd_clock_now_ns() - began < PATIENCE_NS)
            ;
        if (TFD_LOAD_ACQUIRE(&o->ball) == 2 * i + 1)
            break;
        took[count++] = (int64_t)(tfd_clock_now_ns() - began);
    }
    TFD_STORE_RELEASE(&o->ball, -1);
    pthread_join(thread, NULL);
    return count ? median(took, count) : 0;
}

static int64_t probe_wakes(struct other *o)
{
    int64_t took[WAKES];
    pthread_t thread;

    for (int i = 0; i < WAKES; i++)
        tfd_event_init(&o->event[i], TFD_LOCK_SERVER);
    if (pthread_create(&thread, NULL, answer_wakes, o) != 0)
        return 0;
    for (int i = 0; i < WAKES; i++) {
        uint64_t began = tfd_clock_now_ns();

        while (tfd_clock_now_ns() - began < IDLE_NS)
            ;
        began = tfd_clock_now_ns();
        tfd_event_set(&o->event[i]);
        while (TFD_LOAD_ACQUIRE(&o->woken_ns[i]) == 0 &&
               tfd_clock_now_ns() - began < PATIENCE_NS)
            ;
        took[i] = (int64_t)(tfd_clock_now_ns() - began);
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < WAKES; i++)
        tfd_event_deinit(&o->event[i]);
    return median(took, WAKES);
}

/* Nobody reads the copies, and the compiler must not see that. */
static void *(*volatile copy_bytes)(void *, const void *, size_t) = memcpy;

/* Picoseconds a byte; what is in memory already is as near as it fits. */
static int64_t probe_copy(char *to, const char *from, size_t size, int rounds)
{
    int64_t best = INT64_MAX;

    for (int i = 0; i < rounds; i++) {
        uint64_t began = tfd_clock_now_ns();
        int64_t took;

        copy_bytes(to, from, size);
        took = (int64_t)(tfd_clock_now_ns() - began);
        if (took < best)
            best = took;
    }
    return best * 1000 / (int64_t)size;
}

void tfd_cost_probe(struct tfd_cost *out)
{
    struct other *o = calloc(1, sizeof(*o));
    char *memory = malloc(2 * FAR_SIZE);

    *out = (struct tfd_cost){0};
    if (o) {
        out->hop_ns = probe_hops(o);
        out->wake_ns = probe_wakes(o);
    }
    if (memory) {
        memset(memory, 1, 2 * FAR_SIZE);
        out->copy_far_ps = probe_copy(memory + FAR_SIZE, memory, FAR_SIZE, 2);
        out->copy_near_ps =
            probe_copy(memory + NEAR_SIZE, memory, NEAR_SIZE, 8);
    }
    free(memory);
    free(o);
}

static void print_line(FILE *to, const char *name, const char *unit,
                       int64_t assumed, int64_t measured)
{
    fprintf(to, "cost.%s = %lld %s (reckoned with; measured now: %lld)\n", name,
            (long long)assumed, unit, (long long)measured);
}

void tfd_cost_print(const struct tfd_cost *c, FILE *to)
{
    print_line(to, "hop", "ns", TFD_COST_HOP_NS, c->hop_ns);
    print_line(to, "wake", "ns", TFD_COST_WAKE_NS, c->wake_ns);
    print_line(to, "copy_near", "ps/byte", TFD_COST_COPY_NEAR_PS,
               c->copy_near_ps);
    print_line(to, "copy_far", "ps/byte", TFD_COST_COPY_FAR_PS, c->copy_far_ps);
}
