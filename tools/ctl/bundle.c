/*
 * bundle.c - see bundle.h.
 *
 * One table goes through the names, another one finds the tensors; the names of
 * slices begin with a zero byte and are parts of their tensors.
 */
#include "tools/ctl/bundle.h"

#include "common/base/shape_long.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/io/file_draft.h"

#include <string.h>
#include <sys/stat.h>

#define SLICES_MAX ((size_t)1 << 28)

static enum tfd_code open_names(struct tfd_ctl_bundle *b, struct tfd_status *st)
{
    struct tfd_str prefix = tfd_str_of(b->prefix);
    struct tfd_bundle_header h;
    enum tfd_code rc;

    tfd_bundle_index_name(&b->file, prefix);
    TFD_TRY(tfd_bytes_ok(&b->file, "name of a checkpoint", st));
    TFD_TRY(tfd_bundle_reader_open(&b->reader, &b->files.access, prefix, st));
    rc = tfd_bundle_table_open(&b->names, &b->files.access,
                               tfd_bytes_view(&b->file), st);
    if (rc == TFD_OK) {
        rc = tfd_bundle_table_header(&b->names, prefix, &h, st);
        b->shard_count = h.num_shards;
        if (rc != TFD_OK)
            tfd_bundle_table_close(&b->names);
    }
    if (rc != TFD_OK)
        tfd_bundle_reader_close(&b->reader);
    b->is_open = rc == TFD_OK;
    return rc;
}

static bool is_first_format(const char *prefix)
{
    struct stat s;

    return stat(prefix, &s) == 0 && S_ISREG(s.st_mode);
}

int tfd_ctl_bundle_open(struct tfd_ctl *c, const char *prefix,
                        struct tfd_ctl_bundle *b)
{
    static const char *const all[] = {"/"};
    struct tfd_status st = TFD_STATUS_INIT;
    int code;

    memset(b, 0, sizeof(*b));
    b->prefix = prefix;
    tfd_bytes_init(&b->file, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&b->slices, SLICES_MAX);
    if (tfd_file_roots_init(&b->files, all, 1, &st) != TFD_OK)
        return tfd_ctl_fail(c, TFD_CTL_OS, "%s", st.text);
    b->has_files = true;
    if (open_names(b, &st) == TFD_OK)
        return TFD_CTL_DONE;
    code = st.code == TFD_DATA_LOSS || st.code == TFD_OUT_OF_RANGE
               ? TFD_CTL_NO
               : TFD_CTL_UNREADABLE;
    if (st.code == TFD_NOT_FOUND && is_first_format(prefix))
        return tfd_ctl_fail(c, code,
                            "%s: a file, as checkpoints of format V1 are, "
                            "which are not read; save it with Saver's "
                            "write_version V2",
                            prefix);
    if (strncmp(st.text, prefix, strlen(prefix)) == 0)
        return tfd_ctl_fail(c, code, "%s", st.text);
    return tfd_ctl_fail(c, code, "%s.index: %s", prefix, st.text);
}

void tfd_ctl_bundle_close(struct tfd_ctl_bundle *b)
{
    if (b->is_open) {
        tfd_bundle_table_close(&b->names);
        tfd_bundle_reader_close(&b->reader);
    }
    if (b->has_files)
        tfd_file_roots_deinit(&b->files);
    tfd_bytes_deinit(&b->file);
    tfd_bytes_deinit(&b->slices);
}

enum tfd_code tfd_ctl_bundle_next(struct tfd_ctl_bundle *b, bool *more,
                                  struct tfd_status *st)
{
    struct tfd_table_reader *names = &b->names.reader;
    enum tfd_code rc;

    do {
        rc = tfd_table_next(names, st);
        *more = rc == TFD_OK && names->valid;
    } while (*more && (names->key.size == 0 || names->key.data[0] == '\0'));
    if (*more) {
        b->name = names->key;
        rc = tfd_bundle_table_entry(&b->names, &b->entry, &b->slices, st);
    }
    if (rc != TFD_OK)
        tfd_status_context(st, "%s.index", b->prefix);
    return rc;
}

enum tfd_code tfd_ctl_bundle_read(struct tfd_ctl_bundle *b, struct tfd_str name,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    return tfd_bundle_reader_read(&b->reader, name, NULL, out, st);
}

const char *tfd_ctl_bundle_file(struct tfd_ctl_bundle *b)
{
    struct tfd_str prefix = tfd_str_of(b->prefix);
    const char *slash;

    tfd_bytes_clear(&b->file);
    if (b->entry.slices.size > 0)
        tfd_bundle_index_name(&b->file, prefix);
    else
        tfd_bundle_data_name(&b->file, prefix, b->entry.shard_id,
                             b->shard_count);
    tfd_bytes_add(&b->file, "", 1);
    if (b->file.failed)
        return "?";
    slash = strrchr(b->file.data, '/');
    return slash ? slash + 1 : b->file.data;
}

static int64_t slice_count(const struct tfd_ctl_bundle *b)
{
    struct tfd_str rest = b->entry.slices, proto;
    int64_t count = 0;

    while (tfd_bundle_entry_slices_next(&rest, &proto))
        count++;
    return count;
}

json_t *tfd_ctl_bundle_json(struct tfd_ctl_bundle *b)
{
    const struct tfd_bundle_entry *e = &b->entry;
    int64_t bytes = (int64_t)e->size, count = tfd_shape_elements(&e->shape);
    json_t *shape = json_array();

    /* A tensor in slices has no bytes of its own. */
    if (e->slices.size > 0)
        bytes = count * (int64_t)tfd_dtype_size(e->dtype);
    if (tfd_shape_is_long(&e->shape))
        json_array_append_new(shape, json_null());
    for (int d = 0; !tfd_shape_is_long(&e->shape) && d < e->shape.rank; d++)
        json_array_append_new(shape, json_integer(e->shape.dim[d]));
    return json_pack("{s:o, s:s, s:o, s:I, s:o, s:I}", "name",
                     tfd_ctl_text(b->name), "type",
                     tfd_dtype_name((int)e->dtype), "shape", shape, "bytes",
                     (json_int_t)bytes, "file",
                     tfd_ctl_text(tfd_str_of(tfd_ctl_bundle_file(b))), "slices",
                     (json_int_t)slice_count(b));
}
