/*
 * sight.c - what it costs a step to be seen: its record, its place in the
 * histogram and the median of its plan, with all readings of the clock; and
 * what it costs a call to be counted.
 *
 *     build/bench/sight
 *
 * A step of 30 us spends a hundredth of it here.
 */
#include "common/base/clock.h"
#include "daemon/master/session/step_times.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 9
#define STEPS 200000

static struct tfd_master master;
static struct tfd_session session = {.master = &master};
static struct tfd_plan_part parts[1];
static struct tfd_plan plan = {
    .session = &session, .parts = parts, .part_count = 1};

static void see_step(int i)
{
    const struct tfd_status ok = TFD_STATUS_INIT;
    const struct tfd_run_step run = {.feed_count = 0};
    struct tfd_step_times t;

    master.steps_begun++;
    tfd_step_times_begin(&t, &plan, &run, i);
    tfd_step_times_part(&t, &plan, 0);
    tfd_step_times_started(&t, &plan, true);
    tfd_step_times_end(&t, &plan, i, &run, NULL, &ok);
    tfd_step_times_answered(&t, &master);
}

static void count_call(int i)
{
    tfd_histogram_add(&master.step_times, (uint64_t)i % 1000);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_ns(void (*what)(int i))
{
    double ns[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begun = tfd_clock_now_ns();

        for (int i = 0; i < STEPS; i++)
            what(i);
        ns[round] = (double)(tfd_clock_now_ns() - begun) / STEPS;
    }
    qsort(ns, ROUNDS, sizeof(*ns), by_value);
    return ns[ROUNDS / 2];
}

int main(void)
{
    struct tfd_status st = TFD_STATUS_INIT;

    master.o.loop = tfd_loop_new(&st);
    if (!master.o.loop) {
        fprintf(stderr, "sight: %s\n", st.text);
        return 1;
    }
    tfd_step_ring_init(&master.ring);
    printf("a step of one part: %.0f ns\n", median_ns(see_step));
    printf("a call: %.1f ns\n", median_ns(count_call));
    tfd_step_ring_deinit(&master.ring);
    tfd_loop_free(master.o.loop);
    return 0;
}
