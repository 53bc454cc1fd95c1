/*
 * data_collect.c - see data_collect.h.
 */
#include "kernels/data/data_collect.h"

#include <stdlib.h>

/* Room for one more: what is asked for may be far more than there is. */
static enum tfd_code grow_collection(struct tfd_data_collect *c,
                                     struct tfd_status *st)
{
    int64_t capacity = c->capacity ? 2 * c->capacity : 16;
    struct tfd_tensor *more;

    if (c->have < c->capacity)
        return TFD_OK;
    more = realloc(c->elements,
                   (size_t)capacity * (size_t)c->width * sizeof(*more));
    if (!more)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a batch of %lld elements",
                        (long long)capacity);
    c->elements = more;
    c->capacity = capacity;
    return TFD_OK;
}

/* An empty element behind the others. */
static enum tfd_code new_element(struct tfd_data_collect *c,
                                 struct tfd_tensor **out, struct tfd_status *st)
{
    TFD_TRY(grow_collection(c, st));
    *out = c->elements + c->have * c->width;
    for (int32_t i = 0; i < c->width; i++)
        (*out)[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    return TFD_OK;
}

enum tfd_code tfd_data_collect(struct tfd_data_collect *c,
                               struct tfd_data_iterator *input, int64_t size,
                               struct tfd_status *st)
{
    struct tfd_tensor *e;

    c->width = input->dataset->count;
    while (c->have < size && !c->is_over) {
        TFD_TRY(new_element(c, &e, st));
        TFD_TRY(tfd_data_next(input, e, &c->is_over, st));
        c->have += !c->is_over;
    }
    return TFD_OK;
}

enum tfd_code tfd_data_collect_at(struct tfd_data_collect *c,
                                  struct tfd_data_iterator *input,
                                  int64_t first, int64_t size,
                                  struct tfd_status *st)
{
    struct tfd_tensor *e;
    bool end = false;

    c->width = input->dataset->count;
    while (c->have < size && !end) {
        TFD_TRY(new_element(c, &e, st));
        TFD_TRY(tfd_data_at(input, first < 0 ? first : first + c->have, e, &end,
                            st));
        c->have += !end;
    }
    return TFD_OK;
}

void tfd_data_collect_clear(struct tfd_data_collect *c)
{
    for (int64_t i = 0; i < c->have; i++)
        tfd_data_element_drop(c->elements + i * c->width, c->width);
    c->have = 0;
}

void tfd_data_collect_deinit(struct tfd_data_collect *c)
{
    tfd_data_collect_clear(c);
    free(c->elements);
}
