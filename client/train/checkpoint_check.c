/*
 * checkpoint_check.c - see checkpoint_check.h.
 *
 * One reader goes through the names, another one reads the tensors.  A tensor
 * in slices has the names of its slices in the index, too; they begin with a
 * byte that no name begins with, and are read as parts of their tensor.
 */
#include "client/train/checkpoint_check.h"

#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/io/file_draft.h"

#define SLICES_MAX ((size_t)1 << 28)

struct checking {
    struct tfd_file_access *access;
    struct tfd_str prefix;
    struct tfd_bundle_table table;
    struct tfd_bundle_reader reader;
    struct tfd_bytes file, slices; /* scratch */
    int32_t num_shards;
};

static enum tfd_code fail_in(struct tfd_bytes *file, struct tfd_status *why,
                             struct tfd_status *st)
{
    return tfd_fail(
        st, why->code == TFD_RESOURCE_EXHAUSTED ? why->code : TFD_DATA_LOSS,
        "%.*s: %s", (int)file->size, (const char *)file->data, why->text);
}

static enum tfd_code check_tensor(struct checking *c, struct tfd_status *st)
{
    struct tfd_tensor value = TFD_TENSOR_INIT;
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_bundle_entry e;

    if (tfd_bundle_table_entry(&c->table, &e, &c->slices, &why) != TFD_OK)
        return fail_in(&c->file, &why, st);
    if (tfd_bundle_reader_read(&c->reader, c->table.reader.key, NULL, &value,
                               &why) == TFD_OK) {
        tfd_tensor_unref(&value);
        return TFD_OK;
    }
    if (e.slices.size == 0) {
        tfd_bytes_clear(&c->file);
        tfd_bundle_data_name(&c->file, c->prefix, e.shard_id, c->num_shards);
    }
    return fail_in(&c->file, &why, st);
}

static enum tfd_code check_tensors(struct checking *c, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_table_reader *names = &c->table.reader;
    struct tfd_bundle_header h;

    if (tfd_bundle_table_header(&c->table, c->prefix, &h, &why) != TFD_OK)
        return fail_in(&c->file, &why, st);
    c->num_shards = h.num_shards;
    for (;;) {
        if (tfd_table_next(names, &why) != TFD_OK)
            return fail_in(&c->file, &why, st);
        if (!names->valid)
            return TFD_OK;
        if (names->key.size > 0 && names->key.data[0] != '\0')
            TFD_TRY(check_tensor(c, st));
    }
}

static enum tfd_code check_variables(struct checking *c, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    enum tfd_code rc;

    tfd_bundle_index_name(&c->file, c->prefix);
    TFD_TRY(tfd_bytes_ok(&c->file, "name of a checkpoint", st));
    if (tfd_bundle_reader_open(&c->reader, c->access, c->prefix, &why) !=
        TFD_OK)
        return fail_in(&c->file, &why, st);
    rc = tfd_bundle_table_open(&c->table, c->access, tfd_bytes_view(&c->file),
                               &why);
    if (rc == TFD_OK) {
        rc = check_tensors(c, st);
        tfd_bundle_table_close(&c->table);
    } else {
        rc = fail_in(&c->file, &why, st);
    }
    tfd_bundle_reader_close(&c->reader);
    return rc;
}

enum tfd_code tfd_checkpoint_check(struct tfd_file_access *access,
                                   const char *prefix, struct tfd_status *st)
{
    struct checking c = {.access = access, .prefix = tfd_str_of(prefix)};
    enum tfd_code rc;

    tfd_bytes_init(&c.file, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&c.slices, SLICES_MAX);
    rc = check_variables(&c, st);
    tfd_bytes_deinit(&c.file);
    tfd_bytes_deinit(&c.slices);
    return rc;
}
