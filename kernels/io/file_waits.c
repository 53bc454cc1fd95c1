/*
 * file_waits.c - see file_waits.h.
 */
#include "kernels/io/file_waits.h"

#include "common/base/atomic.h"
#include "kernels/io/file_roots.h"

static int under_way;

static void begin_wait(void)
{
    TFD_COUNTER_ADD(&under_way, 1);
}

static void end_wait(void)
{
    TFD_COUNTER_ADD(&under_way, -1);
}

int tfd_file_waits(void)
{
    return TFD_LOAD_RELAXED(&under_way);
}

/* One function of the table. */
#define COUNTED(name, parameters, arguments)       \
    static enum tfd_code counted_##name parameters \
    {                                              \
        enum tfd_code rc;                          \
                                                   \
        begin_wait();                              \
        rc = tfd_file_roots_access.name arguments; \
        end_wait();                                \
        return rc;                                 \
    }

COUNTED(open_read,
        (struct tfd_file_access * a, struct tfd_str name, struct tfd_file *out,
         struct tfd_status *st),
        (a, name, out, st))
COUNTED(open_new,
        (struct tfd_file_access * a, struct tfd_str name, struct tfd_file *out,
         struct tfd_status *st),
        (a, name, out, st))
COUNTED(open_append,
        (struct tfd_file_access * a, struct tfd_str name, struct tfd_file *out,
         struct tfd_status *st),
        (a, name, out, st))
COUNTED(open_update,
        (struct tfd_file_access * a, struct tfd_str name, struct tfd_file *out,
         struct tfd_status *st),
        (a, name, out, st))
COUNTED(read_at,
        (struct tfd_file_access * a, struct tfd_file *f, uint64_t offset,
         void *data, size_t size, struct tfd_status *st),
        (a, f, offset, data, size, st))
COUNTED(write,
        (struct tfd_file_access * a, struct tfd_file *f, const void *data,
         size_t size, struct tfd_status *st),
        (a, f, data, size, st))
COUNTED(write_at,
        (struct tfd_file_access * a, struct tfd_file *f, uint64_t offset,
         const void *data, size_t size, struct tfd_status *st),
        (a, f, offset, data, size, st))
COUNTED(resize,
        (struct tfd_file_access * a, struct tfd_file *f, uint64_t size,
         struct tfd_status *st),
        (a, f, size, st))
COUNTED(sync,
        (struct tfd_file_access * a, struct tfd_file *f, struct tfd_status *st),
        (a, f, st))
COUNTED(await_sync,
        (struct tfd_file_access * a, struct tfd_file *f, struct tfd_status *st),
        (a, f, st))
COUNTED(lock,
        (struct tfd_file_access * a, struct tfd_file *f, enum tfd_file_lock how,
         uint64_t offset, uint64_t size, struct tfd_status *st),
        (a, f, how, offset, size, st))
COUNTED(rename,
        (struct tfd_file_access * a, struct tfd_str from, struct tfd_str to,
         struct tfd_status *st),
        (a, from, to, st))
COUNTED(remove,
        (struct tfd_file_access * a, struct tfd_str name,
         struct tfd_status *st),
        (a, name, st))
COUNTED(make_dir,
        (struct tfd_file_access * a, struct tfd_str name,
         struct tfd_status *st),
        (a, name, st))
COUNTED(remove_dir,
        (struct tfd_file_access * a, struct tfd_str name,
         struct tfd_status *st),
        (a, name, st))
COUNTED(look,
        (struct tfd_file_access * a, struct tfd_str name, bool *is_dir,
         struct tfd_status *st),
        (a, name, is_dir, st))
COUNTED(list_dir,
        (struct tfd_file_access * a, struct tfd_str name, struct tfd_bytes *out,
         struct tfd_status *st),
        (a, name, out, st))
COUNTED(sync_dir,
        (struct tfd_file_access * a, struct tfd_str name,
         struct tfd_status *st),
        (a, name, st))
COUNTED(order_dir,
        (struct tfd_file_access * a, struct tfd_str name,
         struct tfd_status *st),
        (a, name, st))

static void counted_begin_sync(struct tfd_file_access *a, struct tfd_file *f)
{
    begin_wait();
    tfd_file_roots_access.begin_sync(a, f);
    end_wait();
}

static void counted_hold(struct tfd_file_access *a, struct tfd_str name,
                         struct tfd_file *out)
{
    begin_wait();
    tfd_file_roots_access.hold(a, name, out);
    end_wait();
}

static void counted_close(struct tfd_file_access *a, struct tfd_file *f)
{
    begin_wait();
    tfd_file_roots_access.close(a, f);
    end_wait();
}

const struct tfd_file_access tfd_file_waits_access = {
    .open_read = counted_open_read,
    .open_new = counted_open_new,
    .open_append = counted_open_append,
    .open_update = counted_open_update,
    .read_at = counted_read_at,
    .write = counted_write,
    .write_at = counted_write_at,
    .resize = counted_resize,
    .sync = counted_sync,
    .begin_sync = counted_begin_sync,
    .await_sync = counted_await_sync,
    .hold = counted_hold,
    .close = counted_close,
    .lock = counted_lock,
    .rename = counted_rename,
    .remove = counted_remove,
    .make_dir = counted_make_dir,
    .remove_dir = counted_remove_dir,
    .look = counted_look,
    .list_dir = counted_list_dir,
    .sync_dir = counted_sync_dir,
    .order_dir = counted_order_dir,
};
