/*
 * candidate_tree.c - see candidate_tree.h.
 */
#include "kernels/nn/candidate_tree.h"

#include "common/base/alloc.h"
#include "common/base/min.h"
#include "config/limits.h"

enum tfd_code tfd_candidate_tree_init(struct tfd_candidate_tree *t,
                                      int64_t range, struct tfd_status *st)
{
    *t = (struct tfd_candidate_tree){.leaves = 1};
    if (range > TFD_CANDIDATE_TREE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "range_max is %lld; at most %lld classes are counted",
                        (long long)range, (long long)TFD_CANDIDATE_TREE_MAX);
    while (t->leaves < range)
        t->leaves *= 2;
    t->buffer = tfd_buffer_new(2 * (size_t)t->leaves * sizeof(*t->sum));
    if (!t->buffer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM for the counts of %lld classes", (long long)range);
    t->sum = t->buffer->data;
    for (int64_t i = 0; i < t->leaves; i++)
        t->sum[t->leaves + i] = i < range;
    for (int64_t i = t->leaves - 1; i > 0; i--)
        t->sum[i] = t->sum[2 * i] + t->sum[2 * i + 1];
    return TFD_OK;
}

void tfd_candidate_tree_deinit(struct tfd_candidate_tree *t)
{
    tfd_buffer_unref(t->buffer);
    *t = (struct tfd_candidate_tree){.leaves = 0};
}

int64_t tfd_candidate_tree_draw(const struct tfd_candidate_tree *t,
                                struct tfd_random_draw *draw)
{
    int32_t left = (int32_t)tfd_random_below32(draw, (uint32_t)t->sum[1]);
    int64_t at = 1;

    while (at < t->leaves) {
        at *= 2;
        if (left >= t->sum[at])
            left -= t->sum[at++];
    }
    return at - t->leaves;
}

float tfd_candidate_tree_probability(const struct tfd_candidate_tree *t,
                                     int64_t value)
{
    return (float)t->sum[t->leaves + value] / (float)t->sum[1];
}

void tfd_candidate_tree_count(struct tfd_candidate_tree *t,
                              const int64_t *values, int64_t count)
{
    const int64_t most = tfd_min(count, (int64_t)INT32_MAX - t->sum[1]);

    for (int64_t i = 0; i < most; i++)
        for (int64_t at = t->leaves + values[i]; at > 0; at /= 2)
            t->sum[at]++;
}
