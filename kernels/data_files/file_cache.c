/*
 * file_cache.c - see file_cache.h.
 *
 *     begin   NAME.index is there    -> read    elements by their keys
 *             it is not              -> write   lock file, then a bundle that
 *                                               appears whole at the end
 */
#include "kernels/data_files/file_cache.h"

#include "config/limits.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/checkpoint/bundle_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY_SIZE 64 /* two numbers of 64 bits, and more */

struct file_cache {
    struct tfd_dataset dataset;
    char *name;
};

struct file_cache_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_bundle_reader reader;
    struct tfd_bundle_writer writer;
    struct tfd_bytes lock; /* name of the lock file */
    int64_t at;
    bool is_complete;   /* the cache was, as the pass began */
    bool reads, writes; /* what is open */
    bool is_over;
};

static void file_cache_release(struct tfd_dataset *d)
{
    free(((struct file_cache *)d)->name);
}

static int64_t file_cache_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

static struct tfd_str prefix_of(const struct file_cache_iterator *i)
{
    return tfd_str_of(((const struct file_cache *)i->iterator.dataset)->name);
}

static struct tfd_file_access *files_of(const struct file_cache_iterator *i)
{
    return i->iterator.dataset->task.files;
}

/* The width of tensor numbers is that of their count. */
static struct tfd_str key_at(const struct file_cache_iterator *i,
                             int32_t component, char key[KEY_SIZE])
{
    const int32_t count = i->iterator.dataset->count;
    int width = 1 + (count >= 10) + (count >= 100) + (count >= 1000);

    snprintf(key, KEY_SIZE, "%7lld_%*d", (long long)i->at, width & 7,
             (int)component);
    return tfd_str_of(key);
}

/* ---- Reading ------------------------------------------------------------- */

static enum tfd_code read_tensor(struct file_cache_iterator *i, int32_t c,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct tfd_status missing = TFD_STATUS_INIT;
    char key[KEY_SIZE];
    struct tfd_str name = key_at(i, c, key);
    struct tfd_bundle_entry e;
    enum tfd_code rc = tfd_bundle_reader_find(&i->reader, name, &e, &missing);

    *end = rc == TFD_NOT_FOUND && c == 0;
    if (*end)
        return TFD_OK;
    if (rc != TFD_OK)
        return tfd_fail(st, rc, "%s", missing.text);
    return tfd_bundle_reader_read(&i->reader, name, NULL, out, st);
}

static enum tfd_code read_next(struct file_cache_iterator *i,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    if (!i->reads)
        TFD_TRY(
            tfd_bundle_reader_open(&i->reader, files_of(i), prefix_of(i), st));
    i->reads = true;
    for (int32_t c = 0; c < i->iterator.dataset->count; c++) {
        TFD_TRY(read_tensor(i, c, &out[c], end, st));
        if (*end) {
            i->is_over = true;
            return TFD_OK;
        }
    }
    i->at++;
    return TFD_OK;
}

/* ---- Writing ------------------------------------------------------------- */

static enum tfd_code refuse_locked(struct file_cache_iterator *i,
                                   struct tfd_status *st)
{
    struct tfd_bytes content;

    tfd_bytes_init(&content, 1024);
    (void)!tfd_file_read_all(files_of(i), tfd_bytes_view(&i->lock), &content,
                             NULL);
    tfd_fail(st, TFD_ALREADY_EXISTS,
             "There appears to be a concurrent caching iterator running - "
             "cache lockfile already exists ('" TFD_STR_FMT "'). If you are "
             "sure no other running TF computations are using this cache "
             "prefix, delete the lockfile and re-initialize the iterator. "
             "Lockfile contents: " TFD_STR_FMT,
             TFD_STR_ARG(tfd_bytes_view(&i->lock)),
             TFD_STR_ARG(tfd_bytes_view(&content)));
    tfd_bytes_deinit(&content);
    return TFD_ALREADY_EXISTS;
}

static enum tfd_code write_lock(struct file_cache_iterator *i,
                                struct tfd_file *f, struct tfd_status *st)
{
    char text[64];
    int size =
        snprintf(text, sizeof(text), "Created at: %lld", (long long)time(NULL));

    return files_of(i)->write(files_of(i), f, text, (size_t)size, st);
}

static void remove_lock(struct file_cache_iterator *i)
{
    (void)!files_of(i)->remove(files_of(i), tfd_bytes_view(&i->lock), NULL);
}

static enum tfd_code take_lock(struct file_cache_iterator *i,
                               struct tfd_status *st)
{
    struct tfd_file_access *files = files_of(i);
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_file f = TFD_FILE_INIT;
    enum tfd_code rc;

    tfd_bytes_clear(&i->lock);
    tfd_bytes_add_str(&i->lock, prefix_of(i));
    tfd_bytes_printf(&i->lock, "_0.lockfile");
    TFD_TRY(tfd_bytes_ok(&i->lock, "a file's name", st));
    rc = files->open_new(files, tfd_bytes_view(&i->lock), &f, &why);
    if (rc == TFD_ALREADY_EXISTS)
        return refuse_locked(i, st);
    if (rc != TFD_OK)
        return tfd_fail(st, rc, "%s", why.text);
    rc = write_lock(i, &f, st);
    files->close(files, &f);
    if (rc != TFD_OK)
        remove_lock(i);
    return rc;
}

static enum tfd_code begin_writing(struct file_cache_iterator *i,
                                   struct tfd_status *st)
{
    enum tfd_code rc;

    TFD_TRY(take_lock(i, st));
    rc = tfd_bundle_writer_open(&i->writer, files_of(i), prefix_of(i), st);
    i->writes = rc == TFD_OK;
    if (rc != TFD_OK)
        remove_lock(i);
    return rc;
}

static void stop_writing(struct file_cache_iterator *i)
{
    if (!i->writes)
        return;
    tfd_bundle_writer_deinit(&i->writer);
    remove_lock(i);
    i->writes = false;
}

static enum tfd_code write_element(struct file_cache_iterator *i,
                                   const struct tfd_tensor *e,
                                   struct tfd_status *st)
{
    char key[KEY_SIZE];

    for (int32_t c = 0; c < i->iterator.dataset->count; c++)
        TFD_TRY(
            tfd_bundle_writer_add(&i->writer, key_at(i, c, key), &e[c], st));
    i->at++;
    return TFD_OK;
}

static enum tfd_code write_next(struct file_cache_iterator *i,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    enum tfd_code rc;

    if (!i->writes)
        TFD_TRY(begin_writing(i, st));
    TFD_TRY(tfd_data_next(i->iterator.input, out, end, st));
    if (!*end)
        return write_element(i, out, st);
    rc = tfd_bundle_writer_finish(&i->writer, st);
    stop_writing(i);
    i->is_over = true;
    return rc;
}

/* ---- The dataset --------------------------------------------------------- */

static enum tfd_code has_index(struct file_cache_iterator *i, bool *out,
                               struct tfd_status *st)
{
    struct tfd_bytes index;
    bool is_dir = false;
    enum tfd_code rc;

    tfd_bytes_init(&index, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bundle_index_name(&index, prefix_of(i));
    rc = tfd_bytes_ok(&index, "a file's name", st);
    if (rc == TFD_OK)
        *out = files_of(i)->look(files_of(i), tfd_bytes_view(&index), &is_dir,
                                 NULL) == TFD_OK &&
               !is_dir;
    tfd_bytes_deinit(&index);
    return rc;
}

static enum tfd_code file_cache_begin(struct tfd_data_iterator *it,
                                      struct tfd_status *st)
{
    struct file_cache_iterator *i = (struct file_cache_iterator *)it;
    bool complete;

    tfd_bytes_init(&i->lock, TFD_FILE_DRAFT_NAME_MAX);
    TFD_TRY(has_index(i, &complete, st));
    if (!complete)
        return tfd_data_open_input(it, 0, &it->input, st);
    i->is_complete = true;
    return TFD_OK;
}

static enum tfd_code file_cache_next(struct tfd_data_iterator *it,
                                     struct tfd_tensor *out, bool *end,
                                     struct tfd_status *st)
{
    struct file_cache_iterator *i = (struct file_cache_iterator *)it;

    *end = i->is_over;
    if (*end)
        return TFD_OK;
    return i->is_complete ? read_next(i, out, end, st)
                          : write_next(i, out, end, st);
}

static void file_cache_end(struct tfd_data_iterator *it)
{
    struct file_cache_iterator *i = (struct file_cache_iterator *)it;

    if (i->reads)
        tfd_bundle_reader_close(&i->reader);
    stop_writing(i);
    tfd_bytes_deinit(&i->lock);
}

static const struct tfd_dataset_kind file_cache_kind = {
    .name = "FileCacheImpl",
    .iterator_size = sizeof(struct file_cache_iterator),
    .same_elements = true,
    .begin = file_cache_begin,
    .next = file_cache_next,
    .end = file_cache_end,
    .cardinality = file_cache_cardinality,
    .release = file_cache_release,
};

enum tfd_code tfd_file_cache_make(struct tfd_kctx *k, struct tfd_str name,
                                  struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct file_cache *c;

    TFD_TRY(tfd_dataset_make(k, &file_cache_kind, sizeof(*c), 1, &d, st));
    c = (struct file_cache *)d;
    c->name = calloc(1, name.size + 1);
    if (!c->name) {
        tfd_dataset_unref(d);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    }
    memcpy(c->name, name.data, name.size);
    return tfd_dataset_output(k, d, st);
}
