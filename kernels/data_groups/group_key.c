/*
 * group_key.c - see group_key.h.
 */
#include "kernels/data_groups/group_key.h"

#include <stdlib.h>
#include <string.h>

enum tfd_code tfd_group_prepare(const struct tfd_prepare *p,
                                const struct tfd_group_function *functions,
                                int count, void *state, struct tfd_status *st)
{
    struct tfd_group_maker *m = state;

    TFD_TRY(tfd_dataset_prepare(p, &m->maker, NULL, st));
    for (int i = 0; i < count; i++)
        TFD_TRY(tfd_dataset_function(p, functions[i].attribute,
                                     &m->functions[i], st));
    return TFD_OK;
}

enum tfd_code tfd_group_capture(struct tfd_kctx *k, int i, int arg,
                                int32_t elements, struct tfd_dataset *d,
                                struct tfd_captured *out, struct tfd_status *st)
{
    const struct tfd_group_maker *m = k->state;
    int32_t first, count;

    tfd_node_arg(k->node, arg, &first, &count);
    return tfd_captured_init(out, k, m->functions[i], first, count, elements, d,
                             st);
}

static enum tfd_code no_number(const char *name, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "`%s` must return a scalar int64.", name);
}

enum tfd_code tfd_group_number(const struct tfd_captured *f,
                               struct tfd_data_scope *s,
                               struct tfd_tensor *args, const char *name,
                               int64_t *out, struct tfd_status *st)
{
    struct tfd_tensor answer = TFD_TENSOR_INIT;
    enum tfd_code rc;

    if (f->out_count != 1) {
        tfd_data_element_drop(args, f->in_count);
        return no_number(name, st);
    }
    rc = tfd_captured_call(f, s, args, &answer, st);
    if (rc == TFD_OK && (answer.dtype != TFD_INT64 || answer.shape.rank != 0))
        rc = no_number(name, st);
    if (rc == TFD_OK)
        *out = *(const int64_t *)tfd_tensor_data(&answer);
    tfd_tensor_unref(&answer);
    return rc;
}

enum tfd_code tfd_group_key_tensor(int64_t key, struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_tensor_new(out, TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(out) = key;
    return TFD_OK;
}

/* ---- Keys in order ------------------------------------------------------- */

void *tfd_group_at(const struct tfd_group_list *l, int64_t i)
{
    return l->things + (size_t)i * l->size;
}

/* The first place whose key is not below this one. */
static int64_t place_of(const struct tfd_group_list *l, int64_t key)
{
    int64_t low = 0, high = l->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (*(const int64_t *)tfd_group_at(l, middle) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool grow_list(struct tfd_group_list *l)
{
    int64_t capacity = l->capacity ? 2 * l->capacity : 16;
    char *more;

    if (l->count < l->capacity)
        return true;
    more = realloc(l->things, (size_t)capacity * l->size);
    if (!more)
        return false;
    l->things = more;
    l->capacity = capacity;
    return true;
}

void *tfd_group_find(struct tfd_group_list *l, int64_t key, bool *is_new)
{
    int64_t at = place_of(l, key);
    char *thing;

    *is_new = at == l->count || *(const int64_t *)tfd_group_at(l, at) != key;
    if (!*is_new)
        return tfd_group_at(l, at);
    if (!grow_list(l))
        return NULL;
    thing = tfd_group_at(l, at);
    memmove(thing + l->size, thing, (size_t)(l->count - at) * l->size);
    memset(thing, 0, l->size);
    *(int64_t *)(void *)thing = key;
    l->count++;
    return thing;
}

void tfd_group_remove(struct tfd_group_list *l, int64_t i)
{
    char *thing = tfd_group_at(l, i);

    l->count--;
    memmove(thing, thing + l->size, (size_t)(l->count - i) * l->size);
}
