/*
 * memory_files.c - see memory_files.h.
 */
#include "tests/support/memory_files.h"

static struct memory_files *memory_of(struct tfd_file_access *a)
{
    return (struct memory_files *)(void *)a;
}

bool memory_fails(struct memory_files *m)
{
    m->calls++;
    return m->fail_at != 0 &&
           (m->calls == m->fail_at || (m->fail_from && m->calls > m->fail_at));
}

struct memory_file *memory_find(struct memory_files *m, struct tfd_str name)
{
    for (int i = 0; i < MEMORY_FILES_MAX; i++)
        if (m->file[i].used && tfd_str_is(name, m->file[i].name))
            return &m->file[i];
    return NULL;
}

static struct memory_file *memory_add(struct memory_files *m,
                                      struct tfd_str name)
{
    for (int i = 0; i < MEMORY_FILES_MAX; i++) {
        struct memory_file *f = &m->file[i];

        if (f->used || name.size >= MEMORY_NAME_MAX)
            continue;
        f->used = true;
        memcpy(f->name, name.data, name.size);
        f->name[name.size] = '\0';
        tfd_bytes_init(&f->data, 1u << 24);
        return f;
    }
    return NULL;
}

static void memory_drop(struct memory_file *f)
{
    f->used = false;
    tfd_bytes_deinit(&f->data);
}

static enum tfd_code memory_missing(struct tfd_str name, struct tfd_status *st)
{
    return tfd_fail(st, TFD_NOT_FOUND,
                    TFD_STR_FMT "; No such file or directory",
                    TFD_STR_ARG(name));
}

static enum tfd_code memory_open_read(struct tfd_file_access *a,
                                      struct tfd_str name, struct tfd_file *out,
                                      struct tfd_status *st)
{
    struct memory_files *m = memory_of(a);
    struct memory_file *f = memory_find(m, name);

    MEMORY_TRY(m, st);
    if (!f)
        return memory_missing(name, st);
    out->fd = (int)(f - m->file);
    out->size = f->data.size;
    m->open++;
    return TFD_OK;
}

static enum tfd_code memory_open_new(struct tfd_file_access *a,
                                     struct tfd_str name, struct tfd_file *out,
                                     struct tfd_status *st)
{
    struct memory_files *m = memory_of(a);
    struct memory_file *f;

    MEMORY_TRY(m, st);
    if (m->missing_dir && tfd_str_is(tfd_file_dirname(name), m->missing_dir))
        return memory_missing(name, st);
    if (memory_find(m, name))
        return tfd_fail(st, TFD_ALREADY_EXISTS, "File exists");
    f = memory_add(m, name);
    if (!f)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no more files");
    out->fd = (int)(f - m->file);
    out->size = 0;
    m->open++;
    return TFD_OK;
}

static enum tfd_code memory_open_append(struct tfd_file_access *a,
                                        struct tfd_str name,
                                        struct tfd_file *out,
                                        struct tfd_status *st)
{
    return memory_find(memory_of(a), name) ? memory_open_read(a, name, out, st)
                                           : memory_open_new(a, name, out, st);
}

static enum tfd_code memory_read_at(struct tfd_file_access *a,
                                    struct tfd_file *file, uint64_t offset,
                                    void *data, size_t size,
                                    struct tfd_status *st)
{
    struct memory_files *m = memory_of(a);
    const struct tfd_bytes *b = &m->file[file->fd].data;

    MEMORY_TRY(m, st);
    if (offset > b->size || size > b->size - offset)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "Read less bytes than requested");
    memcpy(data, b->data + offset, size);
    return TFD_OK;
}

static enum tfd_code memory_write(struct tfd_file_access *a,
                                  struct tfd_file *file, const void *data,
                                  size_t size, struct tfd_status *st)
{
    struct memory_files *m = memory_of(a);

    MEMORY_TRY(m, st);
    tfd_bytes_add(&m->file[file->fd].data, data, size);
    return tfd_bytes_ok(&m->file[file->fd].data, "file in memory", st);
}

static enum tfd_code memory_sync(struct tfd_file_access *a,
                                 struct tfd_file *file, struct tfd_status *st)
{
    (void)file;
    MEMORY_TRY(memory_of(a), st);
    return TFD_OK;
}

static void memory_close(struct tfd_file_access *a, struct tfd_file *file)
{
    if (file->fd >= 0)
        memory_of(a)->open--;
    file->fd = -1;
}

static enum tfd_code memory_rename(struct tfd_file_access *a,
                                   struct tfd_str from, struct tfd_str to,
                                   struct tfd_status *st)
{
    struct memory_files *m = memory_of(a);
    struct memory_file *f = memory_find(m, from), *old = memory_find(m, to);

    MEMORY_TRY(m, st);
    if (!f)
        return memory_missing(from, st);
    if (old && old != f)
        memory_drop(old);
    snprintf(f->name, sizeof(f->name), TFD_STR_FMT, TFD_STR_ARG(to));
    return TFD_OK;
}

static enum tfd_code memory_remove(struct tfd_file_access *a,
                                   struct tfd_str name, struct tfd_status *st)
{
    struct memory_files *m = memory_of(a);
    struct memory_file *f = memory_find(m, name);

    MEMORY_TRY(m, st);
    if (!f)
        return memory_missing(name, st);
    memory_drop(f);
    return TFD_OK;
}

static enum tfd_code memory_make_dir(struct tfd_file_access *a,
                                     struct tfd_str name, struct tfd_status *st)
{
    struct memory_files *m = memory_of(a);

    MEMORY_TRY(m, st);
    if (!m->missing_dir || !tfd_str_is(name, m->missing_dir))
        return tfd_fail(st, TFD_ALREADY_EXISTS, "File exists");
    m->missing_dir = NULL;
    return TFD_OK;
}

static enum tfd_code memory_entry(struct tfd_file_access *a,
                                  struct tfd_str name, struct tfd_status *st)
{
    (void)name;
    MEMORY_TRY(memory_of(a), st);
    return TFD_OK;
}

/* Nobody else has any of them. */
static enum tfd_code memory_lock(struct tfd_file_access *a, struct tfd_file *f,
                                 enum tfd_file_lock how, uint64_t offset,
                                 uint64_t size, struct tfd_status *st)
{
    (void)f, (void)how, (void)offset, (void)size;
    MEMORY_TRY(memory_of(a), st);
    return TFD_OK;
}

void memory_files_init(struct memory_files *m)
{
    *m = (struct memory_files){.access = {
                                   .open_read = memory_open_read,
                                   .open_new = memory_open_new,
                                   .open_append = memory_open_append,
                                   .read_at = memory_read_at,
                                   .write = memory_write,
                                   .sync = memory_sync,
                                   .close = memory_close,
                                   .lock = memory_lock,
                                   .rename = memory_rename,
                                   .remove = memory_remove,
                                   .make_dir = memory_make_dir,
                                   .remove_dir = memory_entry,
                                   .sync_dir = memory_entry,
                                   .order_dir = memory_entry,
                               }};
}

void memory_files_deinit(struct memory_files *m)
{
    for (int i = 0; i < MEMORY_FILES_MAX; i++)
        if (m->file[i].used)
            memory_drop(&m->file[i]);
}

struct memory_file *memory_put(struct memory_files *m, const char *name,
                               const void *data, size_t size)
{
    struct memory_file *f = memory_find(m, tfd_str_of(name));

    if (!f)
        f = memory_add(m, tfd_str_of(name));
    tfd_bytes_clear(&f->data);
    tfd_bytes_add(&f->data, data, size);
    return f;
}

int memory_count(const struct memory_files *m)
{
    int n = 0;

    for (int k = 0; k < MEMORY_FILES_MAX; k++)
        n += m->file[k].used;
    return n;
}
