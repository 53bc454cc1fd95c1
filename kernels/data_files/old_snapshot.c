/*
 * old_snapshot.c - see old_snapshot.h.
 */
#include "kernels/data_files/old_snapshot.h"

#include "common/base/entropy.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

void tfd_old_snapshot_join(struct tfd_bytes *out, struct tfd_str dir,
                           struct tfd_str name)
{
    while (dir.size > 0 && dir.data[dir.size - 1] == '/' && name.size > 0 &&
           name.data[0] == '/')
        dir.size--;
    tfd_bytes_add_str(out, dir);
    if (dir.size > 0 && dir.data[dir.size - 1] != '/' &&
        (name.size == 0 || name.data[0] != '/'))
        tfd_bytes_add(out, "/", 1);
    tfd_bytes_add_str(out, name);
}

/* ---- The files of a run -------------------------------------------------- */

static int compare_files(const void *a, const void *b)
{
    return tfd_str_cmp(*(const struct tfd_str *)a, *(const struct tfd_str *)b);
}

static bool is_snapshot(struct tfd_str name)
{
    static const char suffix[] = ".snapshot";
    const size_t size = sizeof(suffix) - 1;

    return name.size >= size &&
           memcmp(name.data + name.size - size, suffix, size) == 0;
}

static enum tfd_code sort_files(struct tfd_old_snapshot_reader *r,
                                struct tfd_status *st)
{
    r->sorted = calloc(TFD_SNAPSHOT_READ_MAX + 1, sizeof(*r->sorted));
    if (!r->sorted)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for files");
    for (size_t at = 0; at < r->names.size;) {
        struct tfd_str name = tfd_str_of(r->names.data + at);

        at += name.size + 1;
        if (!is_snapshot(name))
            continue;
        if (r->count == TFD_SNAPSHOT_READ_MAX)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "a snapshot of more than %d files",
                            TFD_SNAPSHOT_READ_MAX);
        r->sorted[r->count++] = name;
    }
    qsort(r->sorted, (size_t)r->count, sizeof(*r->sorted), compare_files);
    return TFD_OK;
}

/* The generator "splitmix64" (Steele, Lea, Flood, "Fast splittable pseudorandom
 * number generators", 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* TensorFlow shuffles what it finds in the directory's own order, which nobody
 * can ask for again; here a seed is an order. */
static void shuffle_files(struct tfd_old_snapshot_reader *r, uint64_t seed)
{
    uint64_t state = seed ? seed : tfd_entropy_id();

    for (int i = r->count - 1; i > 0; i--) {
        const int other = (int)(draw(&state) % (uint64_t)(i + 1));
        const struct tfd_str name = r->sorted[i];

        r->sorted[i] = r->sorted[other];
        r->sorted[other] = name;
    }
}

/* A directory that is not there has no files. */
static enum tfd_code list_files(struct tfd_old_snapshot_reader *r,
                                struct tfd_status *st)
{
    struct tfd_file_access *a = r->elements->task.files;
    struct tfd_str dir = tfd_bytes_view(&r->run_dir);
    struct tfd_status why = TFD_STATUS_INIT;

    if (!a)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be read here");
    if (a->list_dir(a, dir, &r->names, &why) != TFD_OK &&
        why.code == TFD_PERMISSION_DENIED)
        return tfd_status_copy(st, &why);
    TFD_TRY(tfd_bytes_ok(&r->names, "the names of files", st));
    TFD_TRY(sort_files(r, st));
    if (r->count > 0)
        return TFD_OK;
    return tfd_fail(st, TFD_NOT_FOUND,
                    "Could not find any files in dir: " TFD_STR_FMT,
                    TFD_STR_ARG(dir));
}

/* ---- Reading ------------------------------------------------------------- */

enum tfd_code tfd_old_snapshot_open(struct tfd_old_snapshot_reader *r,
                                    const struct tfd_dataset *elements,
                                    struct tfd_str run_dir,
                                    const struct tfd_old_snapshot_order *order,
                                    struct tfd_status *st)
{
    enum tfd_code rc;

    r->elements = elements;
    tfd_bytes_init(&r->run_dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&r->names, TFD_FILE_NAMES_SIZE_MAX);
    tfd_bytes_add_str(&r->run_dir, run_dir);
    rc = tfd_bytes_ok(&r->run_dir, "a file's name", st);
    if (rc == TFD_OK)
        rc = list_files(r, st);
    if (rc != TFD_OK)
        tfd_old_snapshot_close(r);
    else if (order->shuffled)
        shuffle_files(r, order->seed);
    return rc;
}

void tfd_old_snapshot_close(struct tfd_old_snapshot_reader *r)
{
    if (!r->elements)
        return;
    if (r->file_is_open)
        tfd_element_file_close(&r->file);
    tfd_bytes_deinit(&r->run_dir);
    tfd_bytes_deinit(&r->names);
    free(r->sorted);
    *r = (struct tfd_old_snapshot_reader){.elements = NULL};
}

static enum tfd_code open_next_file(struct tfd_old_snapshot_reader *r,
                                    struct tfd_status *st)
{
    struct tfd_bytes path, name;
    enum tfd_code rc;

    tfd_bytes_init(&path, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_old_snapshot_join(&path, tfd_bytes_view(&r->run_dir),
                          r->sorted[r->next]);
    tfd_old_snapshot_join(&name, r->prefix, tfd_bytes_view(&path));
    rc = tfd_bytes_ok(&name, "a file's name", st);
    if (rc == TFD_OK)
        rc = tfd_element_file_open(&r->file, r->elements, tfd_bytes_view(&name),
                                   r->compression, r->version, st);
    r->file_is_open = rc == TFD_OK;
    tfd_bytes_deinit(&name);
    tfd_bytes_deinit(&path);
    return rc;
}

static enum tfd_code read_next(struct tfd_old_snapshot_reader *r,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    for (;;) {
        bool is_over = false;
        enum tfd_code rc;

        *end = r->next == r->count;
        if (*end)
            return TFD_OK;
        if (!r->file_is_open)
            TFD_TRY(open_next_file(r, st));
        rc = tfd_element_file_next(&r->file, out, &is_over, st);
        if (rc == TFD_OK && !is_over)
            return TFD_OK;
        tfd_element_file_close(&r->file);
        r->file_is_open = false;
        TFD_TRY(rc);
        r->next++;
    }
}

enum tfd_code tfd_old_snapshot_next(struct tfd_old_snapshot_reader *r,
                                    struct tfd_tensor *out, bool *end,
                                    struct tfd_status *st)
{
    if (r->failure.code == TFD_OK &&
        read_next(r, out, end, &r->failure) == TFD_OK)
        return TFD_OK;
    return tfd_status_copy(st, &r->failure);
}

/* ---- Writing ------------------------------------------------------------- */

static enum tfd_code begin_file(struct tfd_old_snapshot_writer *w,
                                struct tfd_status *st)
{
    struct tfd_bytes name;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_snapshot_chunk(&name, tfd_bytes_view(&w->run_dir), w->next_file++);
    rc = tfd_bytes_ok(&name, "a file's name", st);
    w->bytes = 0;
    w->file_is_open = true;
    if (rc == TFD_OK)
        rc = tfd_element_writer_open(&w->file, w->elements,
                                     tfd_bytes_view(&name), w->compression, st);
    tfd_bytes_deinit(&name);
    return rc;
}

static enum tfd_code end_file(struct tfd_old_snapshot_writer *w,
                              struct tfd_status *st)
{
    enum tfd_code rc = tfd_element_writer_finish(&w->file, st);

    tfd_element_writer_deinit(&w->file);
    w->file_is_open = false;
    return rc;
}

enum tfd_code tfd_old_snapshot_begin(struct tfd_old_snapshot_writer *w,
                                     const struct tfd_dataset *elements,
                                     struct tfd_str run_dir,
                                     struct tfd_status *st)
{
    struct tfd_file_access *files = elements->task.files;

    w->elements = elements;
    tfd_bytes_init(&w->run_dir, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_add_str(&w->run_dir, run_dir);
    TFD_TRY(tfd_bytes_ok(&w->run_dir, "a file's name", st));
    if (!files)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be written here");
    TFD_TRY(tfd_file_make_dirs(files, run_dir, st));
    return begin_file(w, st);
}

void tfd_old_snapshot_end(struct tfd_old_snapshot_writer *w)
{
    if (!w->elements)
        return;
    if (w->file_is_open)
        tfd_element_writer_deinit(&w->file);
    tfd_bytes_deinit(&w->run_dir);
    *w = (struct tfd_old_snapshot_writer){.elements = NULL};
}

static uint64_t size_of(const struct tfd_tensor *element, int32_t count)
{
    uint64_t size = 0;

    for (int32_t i = 0; i < count; i++)
        size += (uint64_t)tfd_tensor_elements(&element[i]) *
                tfd_dtype_size(element[i].dtype);
    return size;
}

/* As TensorFlow finds out: the first file that may be full is asked for its
 * size, and what that says of the compression holds for all. */
static bool is_full(struct tfd_old_snapshot_writer *w)
{
    const double bytes = (double)w->bytes, limit = (double)w->file_size_max;

    if (w->ratio > 0)
        return bytes > w->ratio * limit;
    if (w->bytes <= w->file_size_max)
        return false;
    w->ratio = bytes / (double)w->file.size;
    return w->file.size >= w->file_size_max;
}

static enum tfd_code add_to_file(struct tfd_old_snapshot_writer *w,
                                 const struct tfd_tensor *element,
                                 struct tfd_status *st)
{
    w->bytes += size_of(element, w->elements->count);
    if (is_full(w)) {
        TFD_TRY(end_file(w, st));
        TFD_TRY(begin_file(w, st));
    }
    return tfd_element_writer_put(&w->file, element, st);
}

enum tfd_code tfd_old_snapshot_put(struct tfd_old_snapshot_writer *w,
                                   const struct tfd_tensor *element,
                                   struct tfd_status *st)
{
    if (w->failure.code == TFD_OK &&
        add_to_file(w, element, &w->failure) == TFD_OK)
        return TFD_OK;
    return tfd_status_copy(st, &w->failure);
}

enum tfd_code tfd_old_snapshot_finish(struct tfd_old_snapshot_writer *w,
                                      struct tfd_status *st)
{
    if (w->failure.code == TFD_OK && end_file(w, &w->failure) == TFD_OK)
        return TFD_OK;
    return tfd_status_copy(st, &w->failure);
}
