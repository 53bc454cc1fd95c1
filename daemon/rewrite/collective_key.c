/*
 * collective_key.c - see collective_key.h.
 */
#include "daemon/rewrite/collective_key.h"

#include "common/base/arena.h"

#include <stdlib.h>

#define SEED UINT64_C(0x8774aa605c729c72)

enum kind { NO_COLLECTIVE, KEY_IS_ATTR, KEY_IS_INPUT };

static enum kind kind_of(const struct tfd_node *n)
{
    static const struct {
        struct tfd_str op;
        enum kind kind;
    } rows[] = {
        {TFD_STR_INIT("CollectiveReduce"), KEY_IS_ATTR},
        {TFD_STR_INIT("CollectiveGather"), KEY_IS_ATTR},
        {TFD_STR_INIT("CollectiveBcastSend"), KEY_IS_ATTR},
        {TFD_STR_INIT("CollectiveBcastRecv"), KEY_IS_ATTR},
        {TFD_STR_INIT("CollectiveReduceV2"), KEY_IS_INPUT},
        {TFD_STR_INIT("CollectiveGatherV2"), KEY_IS_INPUT},
        {TFD_STR_INIT("CollectiveBcastSendV2"), KEY_IS_INPUT},
        {TFD_STR_INIT("CollectiveBcastRecvV2"), KEY_IS_INPUT},
        {TFD_STR_INIT("CollectiveAllToAllV2"), KEY_IS_INPUT},
        {TFD_STR_INIT("CollectiveReduceV3"), KEY_IS_INPUT},
        {TFD_STR_INIT("CollectiveAllToAllV3"), KEY_IS_INPUT},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (tfd_str_eq(n->op->name, rows[i].op))
            return rows[i].kind;
    return NO_COLLECTIVE;
}

static int by_value(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* TensorFlow's Hash64Combine() over the set. */
static uint64_t hash_of(int32_t *keys, int32_t count)
{
    uint64_t hash = SEED;

    if (count > 0)
        qsort(keys, (size_t)count, sizeof(*keys), by_value);
    for (int32_t i = 0; i < count; i++) {
        uint64_t key = (uint64_t)(int64_t)keys[i];

        if (i == 0 || keys[i] != keys[i - 1])
            hash = key ^ (hash + UINT64_C(0x9e3779b97f4a7800) + (key << 10) +
                          (key >> 4));
    }
    return hash;
}

static enum tfd_code instance_key(const struct tfd_node *n, int32_t *keys,
                                  int32_t *count, struct tfd_status *st)
{
    int64_t key;

    TFD_TRY(tfd_node_int(n, "instance_key", &key, st));
    keys[(*count)++] = (int32_t)key;
    return TFD_OK;
}

enum tfd_code tfd_collective_key(const struct tfd_graph *g,
                                 const struct tfd_pruned *p,
                                 const int32_t *device_of,
                                 struct tfd_arena *arena, uint64_t *key,
                                 struct tfd_status *st)
{
    int32_t *keys = NULL, count = 0, device = -1;

    *key = 0;
    for (int32_t i = 0; i < p->count; i++) {
        const struct tfd_part_node *part = &p->nodes[i];
        const struct tfd_node *n = g->nodes[part->node];
        enum kind kind =
            part->kind == TFD_PART_NODE ? kind_of(n) : NO_COLLECTIVE;

        if (kind == NO_COLLECTIVE)
            continue;
        if (device >= 0 && device_of[part->node] != device)
            return TFD_OK;
        if (!keys)
            keys = tfd_arena_array(arena, (size_t)p->count, sizeof(*keys));
        TFD_TRY(tfd_arena_check(keys, "the keys of collectives", st));
        device = device_of[part->node];
        if (kind == KEY_IS_ATTR)
            TFD_TRY(instance_key(n, keys, &count, st));
    }
    if (device >= 0)
        *key = hash_of(keys, count);
    return TFD_OK;
}
