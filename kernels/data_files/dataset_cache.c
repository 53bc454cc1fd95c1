/*
 * dataset_cache.c - elements kept in memory, or in files (file_cache.h): the
 * first complete pass of a dataset leaves them, later ones read them.
 *
 * A pass that has begun before the cache is complete collects elements of its
 * own; what the first one to end has collected stays.  What passes share is the
 * dataset's, or a resource that datasets share.
 */
#include "kernels/data/anonymous.h"
#include "kernels/data/data_table.h"
#include "kernels/data_files/file_cache.h"

#include "common/base/atomic.h"
#include "common/base/container.h"

#include <stdlib.h>

struct elements { /* counted by the cache and its readers */
    int refs;     /* atomic */
    int32_t width;
    int64_t count, capacity;
    struct tfd_tensor *tensors;
};

struct cache {
    struct tfd_resource resource;
    struct tfd_anonymous anonymous;
    struct tfd_lock lock;
    struct elements *complete; /* the lock's; NULL: not yet */
};

struct cached {
    struct tfd_dataset dataset;
    struct cache *cache;
};

struct cached_iterator {
    struct tfd_data_iterator iterator;
    struct elements *elements; /* read; or collected, while the input is open */
    int64_t at;
    bool reads, begun, is_over;
};

/* ---- Elements ------------------------------------------------------------ */

static void unref_elements(struct elements *e)
{
    if (!e || !tfd_refs_drop(&e->refs))
        return;
    for (int64_t i = 0; i < e->count; i++)
        tfd_data_element_drop(e->tensors + i * e->width, e->width);
    free(e->tensors);
    free(e);
}

static enum tfd_code new_elements(int32_t width, struct elements **out,
                                  struct tfd_status *st)
{
    struct elements *e = calloc(1, sizeof(*e));

    if (!e)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a cache");
    e->refs = 1;
    e->width = width;
    *out = e;
    return TFD_OK;
}

/* Counts references to the element's tensors. */
static enum tfd_code add_element(struct elements *e,
                                 const struct tfd_tensor *element,
                                 struct tfd_status *st)
{
    if (e->count == e->capacity) {
        int64_t capacity = e->capacity ? 2 * e->capacity : 16;
        struct tfd_tensor *more = realloc(
            e->tensors, (size_t)capacity * (size_t)e->width * sizeof(*more));

        if (!more)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for a cache of %lld elements",
                            (long long)capacity);
        e->tensors = more;
        e->capacity = capacity;
    }
    for (int32_t i = 0; i < e->width; i++)
        e->tensors[e->count * e->width + i] = tfd_tensor_ref(&element[i]);
    e->count++;
    return TFD_OK;
}

/* ---- The cache ----------------------------------------------------------- */

static void free_cache(struct tfd_resource *r)
{
    struct cache *c = TFD_CONTAINER_OF(r, struct cache, resource);

    tfd_anonymous_forget(&c->anonymous);
    unref_elements(c->complete);
    tfd_lock_deinit(&c->lock);
    free(c);
}

static const struct tfd_resource_type cache_type = {
    .name = "N10tensorflow4data18MemoryCacheManagerE",
    .what = "cache",
    .free = free_cache,
};

static enum tfd_code new_cache(struct cache **out, struct tfd_status *st)
{
    struct cache *c = calloc(1, sizeof(*c));

    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a cache");
    tfd_resource_init(&c->resource, &cache_type);
    tfd_lock_init(&c->lock, TFD_LOCK_RESOURCE);
    *out = c;
    return TFD_OK;
}

/* What is complete, counted; NULL. */
static struct elements *look_complete(struct cache *c)
{
    struct elements *e;

    tfd_lock(&c->lock);
    e = c->complete;
    if (e)
        tfd_refs_add(&e->refs, 1);
    tfd_unlock(&c->lock);
    return e;
}

static void offer_complete(struct cache *c, struct elements *e)
{
    tfd_lock(&c->lock);
    if (!c->complete) {
        c->complete = e;
        tfd_refs_add(&e->refs, 1);
    }
    tfd_unlock(&c->lock);
}

/* ---- The dataset --------------------------------------------------------- */

static void cached_release(struct tfd_dataset *d)
{
    struct cached *x = (struct cached *)d;

    if (x->cache)
        tfd_resource_unref(&x->cache->resource);
}

static int64_t cached_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

static void cached_end(struct tfd_data_iterator *it)
{
    unref_elements(((struct cached_iterator *)it)->elements);
}

/* With its first element a pass reads, or collects. */
static enum tfd_code begin_pass(struct cached_iterator *i,
                                struct tfd_status *st)
{
    const struct cached *x = (const struct cached *)i->iterator.dataset;
    struct elements *e = look_complete(x->cache);

    if (e && e->width != x->dataset.count) {
        unref_elements(e);
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a cache of elements of %d tensors, not %d", e->width,
                        x->dataset.count);
    }
    i->begun = true;
    i->reads = e != NULL;
    i->elements = e;
    if (e)
        return TFD_OK;
    TFD_TRY(new_elements(x->dataset.count, &i->elements, st));
    return tfd_data_open_input(&i->iterator, 0, &i->iterator.input, st);
}

static enum tfd_code collect(struct cached_iterator *i, struct tfd_tensor *out,
                             bool *end, struct tfd_status *st)
{
    const struct cached *x = (const struct cached *)i->iterator.dataset;

    TFD_TRY(tfd_data_next(i->iterator.input, out, end, st));
    if (!*end)
        return add_element(i->elements, out, st);
    offer_complete(x->cache, i->elements);
    tfd_data_close(i->iterator.input);
    i->iterator.input = NULL;
    i->is_over = true;
    return TFD_OK;
}

static enum tfd_code cached_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct cached_iterator *i = (struct cached_iterator *)it;
    const struct elements *e;

    if (!i->begun)
        TFD_TRY(begin_pass(i, st));
    *end = i->is_over;
    if (*end)
        return TFD_OK;
    if (!i->reads)
        return collect(i, out, end, st);
    e = i->elements;
    *end = i->at >= e->count;
    for (int32_t c = 0; !*end && c < e->width; c++)
        out[c] = tfd_tensor_ref(&e->tensors[i->at * e->width + c]);
    i->at += !*end;
    return TFD_OK;
}

/* What is not there yet is not kept: there is no telling when all of it was. */
static enum tfd_code cached_at(struct tfd_data_iterator *it, int64_t index,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    struct cached_iterator *i = (struct cached_iterator *)it;

    if (!i->begun)
        TFD_TRY(begin_pass(i, st));
    if (!i->reads)
        return tfd_data_at(it->input, index, out, end, st);
    i->at = index < 0 ? INT64_MAX : index;
    return cached_next(it, out, end, st);
}

static const struct tfd_dataset_kind cached_kind = {
    .name = "MemoryCacheImpl",
    .iterator_size = sizeof(struct cached_iterator),
    .same_elements = true,
    .next = cached_next,
    .at = cached_at,
    .end = cached_end,
    .cardinality = cached_cardinality,
    .release = cached_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code find_cache(struct tfd_kctx *k, struct cache **out,
                                struct tfd_status *st)
{
    struct tfd_resource *r;

    if (k->in_count < 3 ||
        tfd_kctx_resource(k, 2, &cache_type, &r, NULL) != TFD_OK)
        return new_cache(out, st);
    *out = TFD_CONTAINER_OF(r, struct cache, resource);
    return TFD_OK;
}

static enum tfd_code cache_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct tfd_str file;
    enum tfd_code rc;

    TFD_TRY(tfd_check_str(k, 1, &file, st));
    if (file.size > 0)
        return tfd_file_cache_make(k, file, st);
    TFD_TRY(
        tfd_dataset_make(k, &cached_kind, sizeof(struct cached), 1, &d, st));
    rc = find_cache(k, &((struct cached *)d)->cache, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code anonymous_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct cache *c = NULL;

    TFD_TRY(new_cache(&c, st));
    TFD_TRY(tfd_anonymous_output(k, 0, "MemoryCache", &c->anonymous,
                                 &c->resource, st));
    return tfd_anonymous_deleter(k, 1, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("CacheDataset", "input_dataset: variant, filename: string", "",
                TFD_DATA_METADATA, 0),
    TFD_DATA_OP("CacheDatasetV2",
                "input_dataset: variant, filename: string, cache: resource", "",
                TFD_DATA_METADATA, TFD_OP_STATEFUL),
    {
        .name = "AnonymousMemoryCache",
        .outputs = "handle: resource, deleter: variant",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("CacheDataset", cache_compute),
    TFD_DATA_KERNEL("CacheDatasetV2", cache_compute),
    TFD_KERNEL_ANY("AnonymousMemoryCache", anonymous_compute),
};

TFD_DATA_FAMILY(dataset_cache);
