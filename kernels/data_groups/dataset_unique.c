/*
 * dataset_unique.c - UniqueDataset: of equal elements the first one.
 *
 * What was seen is kept as a key of bytes: rank, dimensions, elements, each
 * string with its length before it.
 */
#include "kernels/data/data_table.h"

#include "common/base/map.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

struct unique_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_map seen; /* its keys are memory of their own */
    struct tfd_bytes key;
    bool is_over;
};

static int64_t unique_cardinality(const struct tfd_dataset *d)
{
    (void)d;
    return TFD_CARDINALITY_UNKNOWN;
}

static enum tfd_code unique_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    struct unique_iterator *i = (struct unique_iterator *)it;

    (void)st;
    tfd_map_init(&i->seen);
    tfd_bytes_init(&i->key, TFD_DATA_RECORD_SIZE_MAX);
    return TFD_OK;
}

/* map.h hands out keys as views; these are of malloc(). */
static void free_keys(struct tfd_map *m)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(m, &at, &e)) {
        void *data;

        memcpy(&data, &e->key.data, sizeof(data));
        free(data);
    }
}

static void unique_end(struct tfd_data_iterator *it)
{
    struct unique_iterator *i = (struct unique_iterator *)it;

    free_keys(&i->seen);
    tfd_map_deinit(&i->seen);
    tfd_bytes_deinit(&i->key);
}

static enum tfd_code write_key(const struct tfd_tensor *t, struct tfd_bytes *b,
                               struct tfd_status *st)
{
    const struct tfd_tstring *strings = tfd_tensor_data(t);

    tfd_bytes_clear(b);
    tfd_bytes_add(b, &t->shape.rank, sizeof(t->shape.rank));
    tfd_bytes_add(b, t->shape.dim,
                  (size_t)t->shape.rank * sizeof(t->shape.dim[0]));
    if (t->dtype != TFD_STRING && tfd_tensor_elements(t) > 0)
        tfd_bytes_add(b, tfd_tensor_data(t), tfd_tensor_size(t));
    for (int64_t i = 0; t->dtype == TFD_STRING && i < tfd_tensor_elements(t);
         i++) {
        struct tfd_str s = tfd_tstring_view(&strings[i]);

        tfd_bytes_add(b, &s.size, sizeof(s.size));
        tfd_bytes_add_str(b, s);
    }
    return tfd_bytes_ok(b, "an element", st);
}

static enum tfd_code remember(struct unique_iterator *i, bool *is_new,
                              struct tfd_status *st)
{
    struct tfd_str key = tfd_bytes_view(&i->key);
    uintptr_t value;
    char *own;

    *is_new = !tfd_map_get(&i->seen, key, &value);
    if (!*is_new)
        return TFD_OK;
    own = malloc(key.size);
    if (own)
        memcpy(own, key.data, key.size);
    if (own && tfd_map_put(&i->seen, (struct tfd_str){own, key.size}, 1))
        return TFD_OK;
    free(own);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for %zu elements that are unlike each other",
                    i->seen.count);
}

static enum tfd_code unique_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct unique_iterator *i = (struct unique_iterator *)it;
    bool is_new = false;

    *end = i->is_over;
    while (!*end && !is_new) {
        tfd_data_element_drop(out, 1);
        TFD_TRY(tfd_data_next(it->input, out, end, st));
        i->is_over = *end;
        if (*end)
            return TFD_OK;
        TFD_TRY(write_key(&out[0], &i->key, st));
        TFD_TRY(remember(i, &is_new, st));
    }
    return TFD_OK;
}

static const struct tfd_dataset_kind unique_kind = {
    .name = "Unique",
    .iterator_size = sizeof(struct unique_iterator),
    .opens_input = true,
    .same_elements = true,
    .begin = unique_begin,
    .next = unique_next,
    .end = unique_end,
    .cardinality = unique_cardinality,
};

static enum tfd_code check_unique(const struct tfd_dataset *input,
                                  struct tfd_status *st)
{
    if (input->count != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "UniqueDataset only supports inputs with a single "
                        "component.");
    if (input->types[0] == TFD_INT32 || input->types[0] == TFD_INT64 ||
        input->types[0] == TFD_STRING)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "UniqueDataset only supports inputs with a single "
                    "`tf.int32`, `tf.int64`, or `tf.string` component.");
}

static enum tfd_code unique_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make(k, &unique_kind, sizeof(*d), 1, &d, st));
    rc = check_unique(d->inputs[0], st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("UniqueDataset", "input_dataset: variant", "",
                TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ExperimentalUniqueDataset", "input_dataset: variant", "", "",
                0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("UniqueDataset", unique_compute),
    TFD_DATA_KERNEL("ExperimentalUniqueDataset", unique_compute),
};

TFD_DATA_FAMILY(dataset_unique);
