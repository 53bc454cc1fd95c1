/*
 * bundle_reader.c - finds the entry, then the bytes, then puts slices together.
 */
#include "kernels/checkpoint/bundle_reader.h"

#include "common/base/crc32c.h"
#include "common/base/pbio.h"
#include "common/base/shape_long.h"
#include "common/base/variant.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/slice_set.h"

#include <assert.h>

#define SLICES_MAX ((size_t)1 << 28)

static enum tfd_code open_index(struct tfd_bundle_reader *r,
                                struct tfd_status *st)
{
    struct tfd_bundle_header h;
    struct tfd_str name;
    enum tfd_code rc;

    tfd_bundle_index_name(&r->name, tfd_bytes_view(&r->prefix));
    TFD_TRY(tfd_bytes_ok(&r->name, "name of a checkpoint", st));
    name = tfd_bytes_view(&r->name);
    TFD_TRY(tfd_bundle_table_open(&r->table, r->access, name, st));
    rc = tfd_bundle_table_header(&r->table, name, &h, st);
    if (rc == TFD_OK && h.big_endian)
        rc = tfd_fail(st, TFD_UNIMPLEMENTED,
                      TFD_STR_FMT "; written by a big-endian machine",
                      TFD_STR_ARG(name));
    r->num_shards = h.num_shards;
    if (rc != TFD_OK)
        tfd_bundle_table_close(&r->table);
    return rc;
}

static void free_buffers(struct tfd_bundle_reader *r)
{
    tfd_bytes_deinit(&r->prefix);
    tfd_bytes_deinit(&r->slices);
    tfd_bytes_deinit(&r->name);
}

enum tfd_code tfd_bundle_reader_open(struct tfd_bundle_reader *r,
                                     struct tfd_file_access *access,
                                     struct tfd_str prefix,
                                     struct tfd_status *st)
{
    enum tfd_code rc;

    r->access = access;
    r->open_count = r->oldest = 0;
    tfd_bytes_init(&r->prefix, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&r->name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&r->slices, SLICES_MAX);
    tfd_bytes_add_str(&r->prefix, prefix);
    rc = tfd_bytes_ok(&r->prefix, "name of a checkpoint", st);
    if (rc == TFD_OK)
        rc = open_index(r, st);
    if (rc != TFD_OK)
        free_buffers(r);
    return rc;
}

void tfd_bundle_reader_close(struct tfd_bundle_reader *r)
{
    for (int i = 0; i < r->open_count; i++)
        r->access->close(r->access, &r->open[i].file);
    tfd_bundle_table_close(&r->table);
    free_buffers(r);
}

/* ---- Entries --------------------------------------------------------------
 */

static enum tfd_code find_bundle_reader(struct tfd_bundle_reader *r,
                                        struct tfd_str name,
                                        struct tfd_bundle_entry *e,
                                        struct tfd_bytes *slices,
                                        struct tfd_status *st)
{
    struct tfd_table_reader *table = &r->table.reader;

    TFD_TRY(tfd_table_seek(table, name, st));
    if (name.size == 0 || !table->valid || !tfd_str_eq(table->key, name))
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Key " TFD_STR_FMT " not found in checkpoint",
                        TFD_STR_ARG(name));
    return tfd_bundle_table_entry(&r->table, e, slices, st);
}

enum tfd_code tfd_bundle_reader_find(struct tfd_bundle_reader *r,
                                     struct tfd_str name,
                                     struct tfd_bundle_entry *e,
                                     struct tfd_status *st)
{
    return find_bundle_reader(r, name, e, &r->slices, st);
}

/* ---- Bytes ----------------------------------------------------------------
 */

/* The data file of this number; the one opened first makes room. */
static enum tfd_code open_shard(struct tfd_bundle_reader *r, int32_t shard,
                                struct tfd_file **file, struct tfd_status *st)
{
    struct tfd_file opened = TFD_FILE_INIT;
    int at = r->open_count;

    for (int i = 0; i < r->open_count; i++)
        if (r->open[i].shard == shard) {
            *file = &r->open[i].file;
            return TFD_OK;
        }
    tfd_bytes_clear(&r->name);
    tfd_bundle_data_name(&r->name, tfd_bytes_view(&r->prefix), shard,
                         r->num_shards);
    TFD_TRY(tfd_bytes_ok(&r->name, "name of a data file", st));
    TFD_TRY(
        r->access->open_read(r->access, tfd_bytes_view(&r->name), &opened, st));
    if (at == TFD_BUNDLE_OPEN_MAX) {
        at = r->oldest;
        r->oldest = (at + 1) % TFD_BUNDLE_OPEN_MAX;
        r->access->close(r->access, &r->open[at].file);
    } else {
        r->open_count++;
    }
    r->open[at].shard = shard;
    r->open[at].file = opened;
    *file = &r->open[at].file;
    return TFD_OK;
}

/* The file that has all bytes the entry claims. */
static enum tfd_code locate(struct tfd_bundle_reader *r,
                            const struct tfd_bundle_entry *e,
                            struct tfd_file **file, struct tfd_status *st)
{
    TFD_TRY(open_shard(r, e->shard_id, file, st));
    if (e->offset > (*file)->size || e->size > (*file)->size - e->offset)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "Read less bytes than requested");
    return TFD_OK;
}

static enum tfd_code check_crc(struct tfd_bundle_reader *r,
                               const struct tfd_bundle_entry *e, uint32_t crc,
                               struct tfd_status *st)
{
    uint32_t stored = tfd_crc32c_unmask(e->crc32c);

    if (stored == crc)
        return TFD_OK;
    return tfd_fail(st, TFD_DATA_LOSS,
                    "TensorBundle at " TFD_STR_FMT
                    " shard %d (%llu bytes): Checksum does not match: stored "
                    "%08u vs. calculated on the restored bytes %u",
                    TFD_STR_ARG(tfd_bytes_view(&r->prefix)), e->shard_id,
                    (unsigned long long)e->size, stored, crc);
}

static enum tfd_code fail_size(struct tfd_str name,
                               const struct tfd_bundle_entry *e,
                               const char *least, uint64_t expected,
                               struct tfd_status *st)
{
    return tfd_fail(st, TFD_DATA_LOSS,
                    "Invalid size in bundle entry: key " TFD_STR_FMT
                    "; stored size %llu; expected size %s%llu",
                    TFD_STR_ARG(name), (unsigned long long)e->size, least,
                    (unsigned long long)expected);
}

static enum tfd_code read_plain(struct tfd_bundle_reader *r,
                                struct tfd_str name,
                                const struct tfd_bundle_entry *e,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    uint64_t elements = (uint64_t)tfd_shape_elements(&e->shape);
    size_t size = tfd_dtype_size(e->dtype);
    struct tfd_file *file;
    enum tfd_code rc = TFD_OK;

    if (elements > UINT64_MAX / size || e->size != elements * size)
        return fail_size(name, e, "", elements * size, st);
    TFD_TRY(locate(r, e, &file, st));
    TFD_TRY(tfd_tensor_new(out, e->dtype, &e->shape, st));
    if (e->size > 0)
        rc = r->access->read_at(r->access, file, e->offset,
                                tfd_tensor_data(out), (size_t)e->size, st);
    if (rc == TFD_OK)
        rc = check_crc(r, e, tfd_crc32c(tfd_tensor_data(out), (size_t)e->size),
                       st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    else /* TensorFlow restores and computes with any byte as true */
        tfd_tensor_normalize_bools(out);
    return rc;
}

/* ---- Strings --------------------------------------------------------------
 */

static uint32_t extend_length(uint32_t crc, uint64_t length)
{
    uint8_t fixed[8];

    for (int i = 0; i < 8; i++)
        fixed[i] = (uint8_t)(length >> (8 * i));
    return tfd_crc32c_extend(crc, fixed, length <= UINT32_MAX ? 4 : 8);
}

/* Walks over the lengths and verifies their sum; *rest begins at the bytes of
 * the strings, and *crc covers what is before them. */
static enum tfd_code check_lengths(struct tfd_str *rest, uint64_t count,
                                   uint32_t *crc, struct tfd_status *st)
{
    uint32_t stored = 0, lengths = 0;
    uint64_t length;

    for (uint64_t i = 0; i < count; i++) {
        if (!tfd_pb_packed_varint(rest, &length))
            return tfd_fail(st, TFD_DATA_LOSS,
                            "String lengths longer than expected");
        lengths = extend_length(lengths, length);
    }
    if (rest->size < 4)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "String lengths longer than expected");
    for (int i = 0; i < 4; i++)
        stored |= (uint32_t)(uint8_t)rest->data[i] << (8 * i);
    if (tfd_crc32c_unmask(stored) != lengths)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "The length checksum does not match: expected %08u but "
                        "actual is %08u",
                        tfd_crc32c_unmask(stored), lengths);
    *crc = tfd_crc32c_extend(lengths, rest->data, 4);
    rest->data += 4;
    rest->size -= 4;
    return TFD_OK;
}

/* all: what the entry points to, whose lengths were checked; bytes: the part
 * of it behind them. */
static enum tfd_code set_strings(struct tfd_tensor *out, struct tfd_str all,
                                 struct tfd_str bytes, struct tfd_status *st)
{
    struct tfd_tstring *s = tfd_tensor_data(out);
    int64_t n = tfd_tensor_elements(out);

    for (int64_t i = 0; i < n; i++) {
        uint64_t length;

        if (!tfd_pb_packed_varint(&all, &length) || length > bytes.size)
            return tfd_fail(st, TFD_DATA_LOSS,
                            "string %lld of a tensor ends after the tensor",
                            (long long)i);
        TFD_TRY(tfd_tstring_set(
            &s[i], (struct tfd_str){bytes.data, (size_t)length}, st));
        bytes.data += length;
        bytes.size -= (size_t)length;
    }
    return TFD_OK;
}

static enum tfd_code decode_strings(struct tfd_bundle_reader *r,
                                    const struct tfd_bundle_entry *e,
                                    struct tfd_str all, struct tfd_tensor *out,
                                    struct tfd_status *st)
{
    struct tfd_str bytes = all;
    enum tfd_code rc;
    uint32_t crc = 0;

    TFD_TRY(check_lengths(&bytes, (uint64_t)tfd_shape_elements(&e->shape), &crc,
                          st));
    crc = tfd_crc32c_extend(crc, bytes.data, bytes.size);
    TFD_TRY(check_crc(r, e, crc, st));
    TFD_TRY(tfd_tensor_new(out, TFD_STRING, &e->shape, st));
    rc = set_strings(out, all, bytes, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}

/* ---- Variants -------------------------------------------------------------
 */

/* One of them from the head of *rest; see bundle_writer.c. */
static enum tfd_code take_variant(struct tfd_str *rest, uint32_t *crc,
                                  struct tfd_variant **out,
                                  struct tfd_status *st)
{
    uint8_t fixed[8];
    uint32_t stored = 0;
    struct tfd_str message;
    uint64_t length;

    if (!tfd_pb_packed_varint(rest, &length) || rest->size < 4 ||
        length > rest->size - 4)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "Variant lengths longer than expected");
    message = (struct tfd_str){rest->data, (size_t)length};
    for (int i = 0; i < 8; i++)
        fixed[i] = (uint8_t)(length >> (8 * i));
    for (int i = 0; i < 4; i++)
        stored |= (uint32_t)(uint8_t)message.data[length + (uint64_t)i]
                  << (8 * i);
    *crc = tfd_crc32c_extend(*crc, fixed, sizeof(fixed));
    *crc = tfd_crc32c_extend(*crc, message.data, message.size);
    if (tfd_crc32c_unmask(stored) != *crc)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "The checksum after a variant does not match: expected "
                        "%08u but actual is %08u",
                        tfd_crc32c_unmask(stored), *crc);
    *crc = tfd_crc32c_extend(*crc, message.data + length, 4);
    rest->data += length + 4;
    rest->size -= (size_t)length + 4;
    return tfd_variant_decode(message, NULL, out, st);
}

static enum tfd_code decode_variants(struct tfd_bundle_reader *r,
                                     const struct tfd_bundle_entry *e,
                                     struct tfd_str all, struct tfd_tensor *out,
                                     struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    struct tfd_variant **v;
    uint32_t crc = 0;

    TFD_TRY(tfd_tensor_new(out, TFD_VARIANT, &e->shape, st));
    v = tfd_tensor_data(out);
    for (int64_t i = 0; rc == TFD_OK && i < tfd_tensor_elements(out); i++)
        rc = take_variant(&all, &crc, &v[i], st);
    if (rc == TFD_OK)
        rc = check_crc(r, e, crc, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}

/* Of strings and of variants, which are as long as they say. */
static enum tfd_code read_strings(struct tfd_bundle_reader *r,
                                  struct tfd_str name,
                                  const struct tfd_bundle_entry *e,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    uint64_t elements = (uint64_t)tfd_shape_elements(&e->shape);
    struct tfd_bytes all;
    struct tfd_file *file;
    enum tfd_code rc;
    char *to;

    /* Each length has a byte at least, and they have a sum. */
    if (e->dtype == TFD_STRING ? e->size < 4 || elements > e->size - 4
                               : elements > e->size / 5)
        return fail_size(name, e, "is at least ", elements, st);
    TFD_TRY(locate(r, e, &file, st));
    tfd_bytes_init(&all, SIZE_MAX);
    to = tfd_bytes_extend(&all, (size_t)e->size);
    rc = tfd_bytes_ok(&all, "strings of a checkpoint", st);
    if (rc == TFD_OK)
        rc = r->access->read_at(r->access, file, e->offset, to, (size_t)e->size,
                                st);
    if (rc == TFD_OK)
        rc = e->dtype == TFD_STRING
                 ? decode_strings(r, e, tfd_bytes_view(&all), out, st)
                 : decode_variants(r, e, tfd_bytes_view(&all), out, st);
    tfd_bytes_deinit(&all);
    return rc;
}

static enum tfd_code read_value(struct tfd_bundle_reader *r,
                                struct tfd_str name,
                                const struct tfd_bundle_entry *e,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    if (tfd_dtype_is_pod(e->dtype))
        return read_plain(r, name, e, out, st);
    if (e->dtype == TFD_STRING || e->dtype == TFD_VARIANT)
        return read_strings(r, name, e, out, st);
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "Restoring data type %s not yet supported",
                    tfd_dtype_name(e->dtype));
}

/* ---- Slices ---------------------------------------------------------------
 */

struct load {
    struct tfd_bundle_reader *r;
    struct tfd_str name;
    const struct tfd_bundle_entry *whole;
};

/* The tensor of a stored slice, from its own entry. */
static enum tfd_code load_slice(void *ctx, const struct tfd_tensor_slice *slice,
                                const struct tfd_shape *piece,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct load *l = ctx;
    char text[TFD_SLICE_TEXT_MAX];
    struct tfd_bundle_entry e;
    struct tfd_bytes key;
    enum tfd_code rc;

    if (tfd_tensor_slice_is_all(slice))
        return read_value(l->r, l->name, l->whole, out, st);
    tfd_bytes_init(&key, SIZE_MAX);
    tfd_tensor_slice_put_key(&key, l->name, slice);
    rc = tfd_bytes_ok(&key, "key of a slice", st);
    if (rc == TFD_OK)
        rc = find_bundle_reader(l->r, tfd_bytes_view(&key), &e, NULL, st);
    if (rc == TFD_OK &&
        (e.dtype != l->whole->dtype || !tfd_shape_equal(&e.shape, piece)))
        rc = tfd_fail(st, TFD_DATA_LOSS,
                      "slice %s of tensor " TFD_STR_FMT
                      " has another type or shape than the tensor says",
                      tfd_tensor_slice_text(slice, text), TFD_STR_ARG(l->name));
    if (rc == TFD_OK)
        rc = read_value(l->r, tfd_bytes_view(&key), &e, out, st);
    tfd_bytes_deinit(&key);
    return rc;
}

/* A tensor without slices has one, which is all of it. */
static enum tfd_code gather_slices(const struct tfd_bundle_entry *e,
                                   struct tfd_slice_set *set,
                                   struct tfd_status *st)
{
    struct tfd_tensor_slice slice = tfd_tensor_slice_all(e->shape.rank);
    struct tfd_str rest = e->slices, proto;

    if (rest.size == 0)
        return tfd_slice_set_add(set, &slice, st);
    while (tfd_bundle_entry_slices_next(&rest, &proto)) {
        TFD_TRY(tfd_tensor_slice_take(proto, &slice, st));
        TFD_TRY(tfd_slice_set_add(set, &slice, st));
    }
    return TFD_OK;
}

static enum tfd_code read_slices(struct tfd_bundle_reader *r,
                                 struct tfd_str name,
                                 const struct tfd_bundle_entry *e,
                                 const struct tfd_tensor_slice *want,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    struct load l = {r, name, e};
    char text[TFD_SLICE_TEXT_MAX];
    struct tfd_slice_set set;
    enum tfd_code rc;

    tfd_slice_set_init(&set, e->dtype, &e->shape);
    rc = gather_slices(e, &set, st);
    if (rc == TFD_OK && !tfd_slice_set_covers(&set, want))
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Does not have sufficient slices for partitioned "
                      "tensor " TFD_STR_FMT " to restore in slice_spec: %s",
                      TFD_STR_ARG(name), tfd_tensor_slice_text(want, text));
    if (rc == TFD_OK)
        rc = tfd_slice_set_read(&set, want, load_slice, &l, out, st);
    tfd_slice_set_deinit(&set);
    return rc;
}

enum tfd_code tfd_bundle_reader_read(struct tfd_bundle_reader *r,
                                     struct tfd_str name,
                                     const struct tfd_tensor_slice *slice,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st)
{
    struct tfd_tensor_slice all;
    struct tfd_bundle_entry e;

    TFD_TRY(find_bundle_reader(r, name, &e, &r->slices, st));
    if (!slice && e.slices.size == 0)
        return read_value(r, name, &e, out, st);
    if (tfd_shape_is_long(&e.shape))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "slices of tensor " TFD_STR_FMT " of %d dimensions; "
                        "at most %d are supported",
                        TFD_STR_ARG(name), e.shape.rank, TFD_RANK_MAX);
    all = tfd_tensor_slice_all(e.shape.rank);
    return read_slices(r, name, &e, slice ? slice : &all, out, st);
}
