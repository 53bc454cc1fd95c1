/*
 * reader.c - see reader.h: the resource itself, and what its kinds share.
 */
#include "kernels/readers/reader.h"

#include "config/limits.h"
#include "kernels/io/file_check.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reader_free(struct tfd_resource *resource)
{
    struct tfd_reader *r = (struct tfd_reader *)resource;

    assert(!r->line.first && !r->current);
    tfd_reader_clear(r);
    tfd_bytes_deinit(&r->work);
    tfd_bytes_deinit(&r->text);
    free(r->name);
    tfd_lock_deinit(&r->lock);
    free(r);
}

const struct tfd_resource_type tfd_reader_type = {
    .name = "N10tensorflow15ReaderInterfaceE",
    .what = "reader",
    .free = reader_free,
};

enum tfd_code tfd_reader_make(void *arg, struct tfd_resource **out,
                              struct tfd_status *st)
{
    const struct tfd_reader_order *order = arg;
    struct tfd_reader *r = calloc(1, sizeof(*r));
    size_t size = order->node.size + 64;

    if (r)
        r->name = malloc(size);
    if (!r || !r->name) {
        free(r);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a reader");
    }
    snprintf(r->name, size, "%s '%.*s'", order->options->kind->name,
             (int)order->node.size, order->node.data);
    tfd_resource_init(&r->resource, &tfd_reader_type);
    tfd_lock_init(&r->lock, TFD_LOCK_RESOURCE);
    r->options = *order->options;
    r->line.last = &r->line.first;
    tfd_bytes_init(&r->work, TFD_DATA_RECORD_SIZE_MAX);
    tfd_bytes_init(&r->text, 2 * TFD_DATA_RECORD_SIZE_MAX);
    *out = &r->resource;
    return TFD_OK;
}

void tfd_reader_close(struct tfd_reader *r)
{
    tfd_record_file_close(&r->records);
    tfd_bytes_clear(&r->text);
    r->number = 0;
}

void tfd_reader_clear(struct tfd_reader *r)
{
    if (r->options.kind->end)
        r->options.kind->end(r);
    r->started = r->finished = r->produced = 0;
    r->broken = (struct tfd_status)TFD_STATUS_INIT;
    tfd_bytes_clear(&r->work);
}

enum tfd_code tfd_reader_put(struct tfd_reader_pair *out,
                             const struct tfd_reader *r, int64_t number,
                             struct tfd_str value, struct tfd_status *st)
{
    char text[32];
    int size = snprintf(text, sizeof(text), ":%" PRId64, number);
    size_t name = r->work.size;
    char *to;

    TFD_TRY(tfd_tstring_resize(&out->key, name + (size_t)size, st));
    to = tfd_tstring_room(&out->key);
    if (name > 0)
        memcpy(to, r->work.data, name);
    memcpy(to + name, text, (size_t)size);
    return tfd_tstring_set(&out->value, value, st);
}

enum tfd_code tfd_reader_open(struct tfd_reader *r, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    tfd_reader_close(r);
    if (tfd_record_file_open(&r->records, r->files, tfd_bytes_view(&r->work),
                             r->options.compression, &why) == TFD_OK)
        return TFD_OK;
    tfd_reader_close(r);
    if (why.code != TFD_FAILED_PRECONDITION)
        return tfd_status_copy(st, &why);
    r->broken = why;
    return TFD_OK;
}
