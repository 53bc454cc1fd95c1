/*
 * string.c - StringJoin, ShardedFilename, ShardedFilespec.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- StringJoin ---------------------------------------------------------- */

#define PART_COST_NS 10
#define ELEMENTS_BETWEEN_LOOKS 4096

static enum tfd_code separator_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    return tfd_node_str(p->node, "separator", state, st);
}

static struct tfd_str string_at(const struct tfd_tensor *t, int64_t i)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);

    return tfd_tstring_view(&s[t->shape.rank == 0 ? 0 : i]);
}

/* Parts and result as they lie in their elements: each part is moved as if it
 * were of full length, and what comes next covers the rest of it.  False when
 * one of them is too long for that, or lies elsewhere. */
static bool join_small(struct tfd_kctx *k, int64_t i, struct tfd_tstring *out)
{
    char room[1 + 2 * TFD_TSTRING_SMALL_MAX] = {0};
    const struct tfd_str *separator = k->state;
    size_t size = 0;

    for (int n = 0; n < k->in_count; n++) {
        const struct tfd_tensor *t = &k->in[n];
        const struct tfd_tstring *s = tfd_tensor_data(t);

        s += t->shape.rank == 0 ? 0 : i;
        if (n && separator->size) {
            if (separator->size > TFD_TSTRING_SMALL_MAX - size)
                return false;
            memcpy(room + 1 + size, separator->data, separator->size);
            size += separator->size;
        }
        if (tfd_tstring_kind_of(s) != TFD_TSTRING_SMALL ||
            s->u.small.size >> 2 > TFD_TSTRING_SMALL_MAX - size)
            return false;
        memcpy(room + 1 + size, s->u.small.data, TFD_TSTRING_SMALL_MAX);
        size += s->u.small.size >> 2;
    }
    room[0] = (char)(unsigned char)(size << 2);
    memcpy(out, room, sizeof(*out));
    return true;
}

static enum tfd_code join_one(struct tfd_kctx *k, int64_t i,
                              struct tfd_tstring *out, struct tfd_status *st)
{
    const struct tfd_str *separator = k->state;
    size_t size = 0;
    char *at;

    if (tfd_tstring_kind_of(out) != TFD_TSTRING_LARGE && join_small(k, i, out))
        return TFD_OK;
    for (int n = 0; n < k->in_count; n++)
        size += string_at(&k->in[n], i).size + (n ? separator->size : 0);
    TFD_TRY(tfd_tstring_resize(out, size, st));
    at = tfd_tstring_room(out);
    for (int n = 0; n < k->in_count; n++) {
        struct tfd_str s = string_at(&k->in[n], i);

        if (n && separator->size) {
            memcpy(at, separator->data, separator->size);
            at += separator->size;
        }
        if (s.size)
            memcpy(at, s.data, s.size);
        at += s.size;
    }
    return TFD_OK;
}

static enum tfd_code join_range(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    struct tfd_kctx *k = arg;
    struct tfd_tstring *y = tfd_tensor_data(&k->out[0]);

    for (int64_t i = begin; i < end; i++) {
        if (i % ELEMENTS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(join_one(k, i, &y[i], st));
    }
    return TFD_OK;
}

static enum tfd_code join_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape = {0, {0}};

    for (int i = 0; i < k->in_count; i++) {
        if (k->in[i].shape.rank == 0)
            continue;
        if (shape.rank != 0 && !tfd_shape_equal(&shape, &k->in[i].shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input shapes do not match: %s vs. %s",
                            tfd_shape_text(&shape, have),
                            tfd_shape_text(&k->in[i].shape, other));
        shape = k->in[i].shape;
    }
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &shape, st));
    return tfd_kctx_try(k, tfd_shape_elements(&shape),
                        PART_COST_NS * k->in_count, join_range, k, st);
}

static enum tfd_code join_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape out = {0, {0}};

    for (int i = 0; i < s->in_count; i++) {
        if (s->in[i].rank == TFD_RANK_UNKNOWN)
            return TFD_OK;
        if (s->in[i].rank == 0)
            continue;
        if (out.rank == 0)
            out = s->in[i];
        else
            TFD_TRY(tfd_shape_merge(&out, &s->in[i], st));
    }
    s->out[0] = out;
    return TFD_OK;
}

/* ---- ShardedFilename, ShardedFilespec ------------------------------------ */

/* The base name with a tail. */
static enum tfd_code give_name(struct tfd_kctx *k, const char *tail,
                               struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    size_t n = strlen(tail);
    struct tfd_str base;
    struct tfd_tstring *y;

    TFD_TRY(tfd_check_str(k, 0, &base, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar, st));
    y = tfd_tensor_data(&k->out[0]);
    TFD_TRY(tfd_tstring_resize(y, base.size + n, st));
    if (base.size)
        memcpy(tfd_tstring_room(y), base.data, base.size);
    memcpy(tfd_tstring_room(y) + base.size, tail, n);
    return TFD_OK;
}

static enum tfd_code sharded_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t shard, count;
    char tail[64];

    TFD_TRY(tfd_check_int(k, 1, &shard, st));
    TFD_TRY(tfd_check_int(k, 2, &count, st));
    snprintf(tail, sizeof(tail), "-%05lld-of-%05lld", (long long)shard,
             (long long)count);
    return give_name(k, tail, st);
}

static enum tfd_code filespec_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t count;
    char tail[64];

    TFD_TRY(tfd_check_int(k, 1, &count, st));
    snprintf(tail, sizeof(tail), "-\?\?\?\?\?-of-%05lld", (long long)count);
    return give_name(k, tail, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "StringJoin",
        .inputs = "inputs: N * string",
        .outputs = "output: string",
        .attrs = "N: int >= 0; separator: string = ''",
        .shape = join_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ShardedFilename",
        .inputs = "basename: string, shard: int32, num_shards: int32",
        .outputs = "filename: string",
        .attrs = "",
        .checks = "basename: scalar 'basename must be a scalar, got shape %s'; "
                  "shard: scalar 'shard must be a scalar, got shape %s'; "
                  "num_shards: scalar 'num_shards must be a scalar, got "
                  "shape %s'",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ShardedFilespec",
        .inputs = "basename: string, num_shards: int32",
        .outputs = "filename: string",
        .attrs = "",
        .checks = "basename: scalar 'basename must be a scalar, got shape %s'; "
                  "num_shards: scalar 'num_shards must be a scalar, got "
                  "shape %s'",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("StringJoin", join_compute, .prepare = separator_prepare,
                   .state_size = sizeof(struct tfd_str)),
    TFD_KERNEL_ANY("ShardedFilename", sharded_compute),
    TFD_KERNEL_ANY("ShardedFilespec", filespec_compute),
};

const struct tfd_family tfd_family_string = {
    .name = "string",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
