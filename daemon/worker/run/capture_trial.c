/*
 * capture_trial.c - whether captured kernels pay, by measurement: see
 * captures.h.
 *
 * The first steps fill caches and choose algorithms; then come some plain ones,
 * then captured ones until as many have launched all their parts.
 */
#include "daemon/worker/run/captures.h"

#include "common/base/atomic.h"
#include "common/base/log.h"

#include <inttypes.h>

#define WARM_STEPS 3
#define TRIAL_STEPS 8
/* Shapes that never stay the same make an end of it as well. */
#define STEPS_MAX 256

enum tfd_parts_mode tfd_captures_begin(struct tfd_parts *p, bool traced,
                                       bool *thread)
{
    enum tfd_parts_mode mode = TFD_PARTS_CAPTURED;

    if (traced || TFD_LOAD_RELAXED(&p->off))
        return TFD_PARTS_PLAIN;
    if (!p->at_once) {
        tfd_lock(&p->lock);
        if (!p->trial.is_over && ++p->trial.steps <= WARM_STEPS + TRIAL_STEPS)
            mode = TFD_PARTS_PLAIN;
        tfd_unlock(&p->lock);
    }
    if (mode == TFD_PARTS_CAPTURED && TFD_EXCHANGE(&p->wanted, 0))
        *thread = true;
    return mode;
}

static void count_round(struct tfd_parts_trial *t, int which, uint64_t took_ns)
{
    if (t->count[which] == 0 || took_ns < t->best_ns[which])
        t->best_ns[which] = took_ns;
    t->count[which]++;
}

static bool is_over(const struct tfd_parts_trial *t)
{
    return t->steps >= STEPS_MAX ||
           (t->count[0] >= TRIAL_STEPS && t->count[1] >= TRIAL_STEPS);
}

static bool pays(const struct tfd_parts_trial *t)
{
    return t->count[1] >= TRIAL_STEPS && t->best_ns[1] < t->best_ns[0];
}

static void say(const struct tfd_parts *p)
{
    const struct tfd_parts_trial *t = &p->trial;
    int32_t kernels = 0;

    for (int32_t i = 0; i < p->count; i++)
        kernels += p->part[i].member_count;
    tfd_log(TFD_LOG_INFO, "gpu_graphs",
            "used=%s parts=%d kernels=%d plain_us=%" PRIu64
            " captured_us=%" PRIu64,
            pays(t) ? "yes" : "no", p->count, kernels, t->best_ns[0] / 1000,
            t->best_ns[1] / 1000);
}

void tfd_captures_end(struct tfd_parts *p, enum tfd_parts_mode mode,
                      int32_t launched, uint64_t took_ns)
{
    struct tfd_parts_trial *t = &p->trial;
    bool decided = false;

    if (p->at_once)
        return;
    tfd_lock(&p->lock);
    if (!t->is_over) {
        if (mode == TFD_PARTS_PLAIN && t->steps > WARM_STEPS)
            count_round(t, 0, took_ns);
        if (mode == TFD_PARTS_CAPTURED && launched == p->count)
            count_round(t, 1, took_ns);
        t->is_over = decided = is_over(t);
    }
    tfd_unlock(&p->lock);
    if (!decided)
        return;
    if (!pays(t))
        TFD_STORE_RELAXED(&p->off, 1);
    say(p);
}
