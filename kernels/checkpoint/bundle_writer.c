/*
 * bundle_writer.c - tensors are copied through a buffer, and the sum is that of
 * the copy: a variable may be written to while it is saved.
 */
#include "kernels/checkpoint/bundle_writer.h"

#include "common/base/crc32c.h"
#include "common/base/variant.h"
#include "config/limits.h"

#include <assert.h>
#include <string.h>

#define BUFFER_SIZE ((size_t)1 << 16)

/* The only data file of a bundle that was not merged. */
static enum tfd_code data_name(struct tfd_bundle_writer *w,
                               struct tfd_bytes *name, struct tfd_status *st)
{
    tfd_bytes_init(name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bundle_data_name(name, tfd_bytes_view(&w->prefix), 0, 1);
    return tfd_bytes_ok(name, "name of a checkpoint", st);
}

static enum tfd_code open_data(struct tfd_bundle_writer *w,
                               struct tfd_status *st)
{
    struct tfd_bytes name;
    enum tfd_code rc;

    rc = data_name(w, &name, st);
    if (rc == TFD_OK)
        rc = tfd_bundle_draft_open(&w->data, w->access, tfd_bytes_view(&name),
                                   st);
    tfd_bytes_deinit(&name);
    return rc;
}

enum tfd_code tfd_bundle_writer_open(struct tfd_bundle_writer *w,
                                     struct tfd_file_access *access,
                                     struct tfd_str prefix,
                                     struct tfd_status *st)
{
    enum tfd_code rc;

    w->access = access;
    w->size = 0;
    w->crc = 0;
    w->data = (struct tfd_file_draft){.access = access, .file = TFD_FILE_INIT};
    tfd_bundle_index_init(&w->index);
    for (int i = 0; i < TFD_LATE_CLOSE_FILES; i++)
        w->replaced[i] = (struct tfd_file)TFD_FILE_INIT;
    tfd_bytes_init(&w->buffer, BUFFER_SIZE);
    tfd_bytes_init(&w->prefix, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_add_str(&w->prefix, prefix);
    rc = tfd_bytes_ok(&w->prefix, "name of a checkpoint", st);
    if (rc == TFD_OK)
        rc = open_data(w, st);
    if (rc != TFD_OK)
        tfd_bundle_writer_deinit(w);
    return rc;
}

void tfd_bundle_writer_deinit(struct tfd_bundle_writer *w)
{
    tfd_late_close(NULL, w->access, w->replaced);
    tfd_file_draft_deinit(&w->data);
    tfd_bundle_index_deinit(&w->index);
    tfd_bytes_deinit(&w->buffer);
    tfd_bytes_deinit(&w->prefix);
}

/* ---- Bytes of the data file -----------------------------------------------
 */

static enum tfd_code flush(struct tfd_bundle_writer *w, struct tfd_status *st)
{
    if (w->buffer.size == 0)
        return TFD_OK;
    TFD_TRY(tfd_file_draft_write(&w->data, w->buffer.data, w->buffer.size, st));
    tfd_bytes_clear(&w->buffer);
    return TFD_OK;
}

static enum tfd_code put_bytes(struct tfd_bundle_writer *w, const void *data,
                               size_t size, struct tfd_status *st)
{
    const char *from = data;

    while (size > 0) {
        size_t n = BUFFER_SIZE - w->buffer.size;
        char *to;

        if (n > size)
            n = size;
        to = tfd_bytes_extend(&w->buffer, n);
        TFD_TRY(tfd_bytes_ok(&w->buffer, "buffer of a checkpoint", st));
        memcpy(to, from, n);
        w->crc = tfd_crc32c_extend(w->crc, to, n);
        w->size += n;
        from += n;
        size -= n;
        if (w->buffer.size == BUFFER_SIZE)
            TFD_TRY(flush(w, st));
    }
    return TFD_OK;
}

static void encode32(uint32_t v, uint8_t out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

static enum tfd_code put_varint(struct tfd_bundle_writer *w, uint64_t v,
                                struct tfd_status *st)
{
    uint8_t varint[10];
    size_t size = 0;

    for (; v >= 128; v >>= 7)
        varint[size++] = (uint8_t)(v | 128);
    varint[size++] = (uint8_t)v;
    return put_bytes(w, varint, size, st);
}

/* The sum of the lengths is not one of the bytes on disk; see the header. */
static uint32_t extend_length(uint32_t crc, uint64_t length)
{
    uint8_t fixed[8];

    encode32((uint32_t)length, fixed);
    encode32((uint32_t)(length >> 32), fixed + 4);
    return tfd_crc32c_extend(crc, fixed, length <= UINT32_MAX ? 4 : 8);
}

static enum tfd_code put_strings(struct tfd_bundle_writer *w,
                                 const struct tfd_tensor *t,
                                 struct tfd_status *st)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);
    int64_t n = tfd_tensor_elements(t);
    uint32_t lengths = 0;
    uint8_t sum[4];

    for (int64_t i = 0; i < n; i++) {
        uint64_t length = tfd_tstring_view(&s[i]).size;

        TFD_TRY(put_varint(w, length, st));
        lengths = extend_length(lengths, length);
    }
    encode32(tfd_crc32c_mask(lengths), sum);
    w->crc = lengths;
    TFD_TRY(put_bytes(w, sum, sizeof(sum), st));
    for (int64_t i = 0; i < n; i++) {
        struct tfd_str bytes = tfd_tstring_view(&s[i]);

        TFD_TRY(put_bytes(w, bytes.data, bytes.size, st));
    }
    return TFD_OK;
}

/* ---- Variants -------------------------------------------------------------
 *
 * Each is its length, its message, and the sum of all there is up to here, in
 * which the length counts as eight bytes.
 */

static enum tfd_code put_variant(struct tfd_bundle_writer *w,
                                 struct tfd_str message, struct tfd_status *st)
{
    uint32_t crc = w->crc;
    uint8_t fixed[8], sum[4];

    encode32((uint32_t)message.size, fixed);
    encode32((uint32_t)((uint64_t)message.size >> 32), fixed + 4);
    TFD_TRY(put_varint(w, message.size, st));
    w->crc = tfd_crc32c_extend(crc, fixed, sizeof(fixed));
    TFD_TRY(put_bytes(w, message.data, message.size, st));
    encode32(tfd_crc32c_mask(w->crc), sum);
    return put_bytes(w, sum, sizeof(sum), st);
}

static enum tfd_code encode_variant(const struct tfd_variant *v,
                                    struct tfd_bytes *b, struct tfd_status *st)
{
    if (!v || v->kind == TFD_VARIANT_OBJECT)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a variant that stays in its task cannot be saved");
    tfd_bytes_clear(b);
    tfd_variant_encode(b, v, NULL);
    return tfd_bytes_ok(b, "a variant", st);
}

static enum tfd_code put_variants(struct tfd_bundle_writer *w,
                                  const struct tfd_tensor *t,
                                  struct tfd_status *st)
{
    struct tfd_variant *const *v = tfd_tensor_data(t);
    enum tfd_code rc = TFD_OK;
    struct tfd_bytes b;

    tfd_bytes_init(&b, TFD_DATA_RECORD_SIZE_MAX);
    for (int64_t i = 0; rc == TFD_OK && i < tfd_tensor_elements(t); i++) {
        rc = encode_variant(v[i], &b, st);
        if (rc == TFD_OK)
            rc = put_variant(w, tfd_bytes_view(&b), st);
    }
    tfd_bytes_deinit(&b);
    return rc;
}

/* ---- Entries --------------------------------------------------------------
 */

static enum tfd_code check_new(struct tfd_bundle_writer *w, struct tfd_str name,
                               struct tfd_status *st)
{
    if (name.size == 0) /* the header's key */
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a tensor in a checkpoint must have a name");
    if (tfd_bundle_index_find(&w->index, name))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Adding duplicate key: " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    return TFD_OK;
}

enum tfd_code tfd_bundle_writer_add(struct tfd_bundle_writer *w,
                                    struct tfd_str name,
                                    const struct tfd_tensor *t,
                                    struct tfd_status *st)
{
    bool plain = tfd_dtype_is_pod(t->dtype);
    struct tfd_bundle_item *item;
    uint64_t begin = w->size;

    TFD_TRY(check_new(w, name, st));
    if (!plain && t->dtype != TFD_STRING && t->dtype != TFD_VARIANT)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Saving data type %s not yet supported",
                        tfd_dtype_name(t->dtype));
    TFD_TRY(tfd_bundle_index_add(&w->index, name, &item, st));
    w->crc = 0;
    if (plain)
        TFD_TRY(put_bytes(w, tfd_tensor_data(t), tfd_tensor_size(t), st));
    else
        TFD_TRY(t->dtype == TFD_STRING ? put_strings(w, t, st)
                                       : put_variants(w, t, st));
    item->entry.dtype = t->dtype;
    item->entry.shape = t->shape;
    item->entry.offset = begin;
    item->entry.size = w->size - begin;
    item->entry.crc32c = tfd_crc32c_mask(w->crc);
    return TFD_OK;
}

/* The entry of the whole tensor, made with its first slice. */
static enum tfd_code
find_whole(struct tfd_bundle_writer *w, struct tfd_str name,
           const struct tfd_shape *whole, enum tfd_dtype dtype,
           struct tfd_bundle_item **item, struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];

    *item = tfd_bundle_index_find(&w->index, name);
    if (!*item) {
        TFD_TRY(check_new(w, name, st));
        TFD_TRY(tfd_bundle_index_add(&w->index, name, item, st));
        (*item)->entry.dtype = dtype;
        (*item)->entry.shape = *whole;
        return TFD_OK;
    }
    if ((*item)->slices.size == 0)
        return check_new(w, name, st); /* a plain tensor */
    if ((*item)->entry.dtype != dtype ||
        !tfd_shape_equal(&(*item)->entry.shape, whole))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "slices of " TFD_STR_FMT " are of %s %s and of %s %s",
                        TFD_STR_ARG(name), tfd_dtype_name((*item)->entry.dtype),
                        tfd_shape_text(&(*item)->entry.shape, have),
                        tfd_dtype_name(dtype), tfd_shape_text(whole, want));
    return TFD_OK;
}

static enum tfd_code put_slice(struct tfd_bundle_item *item,
                               const struct tfd_tensor_slice *s,
                               struct tfd_status *st)
{
    struct tfd_bytes proto;
    enum tfd_code rc;

    tfd_bytes_init(&proto, 1024);
    tfd_tensor_slice_put(&proto, s);
    rc = tfd_bytes_ok(&proto, "slice of a tensor", st);
    tfd_bundle_entry_slices_put(&item->slices, tfd_bytes_view(&proto));
    tfd_bytes_deinit(&proto);
    return rc;
}

enum tfd_code tfd_bundle_writer_add_slice(struct tfd_bundle_writer *w,
                                          struct tfd_str name,
                                          const struct tfd_shape *whole,
                                          const struct tfd_tensor_slice *s,
                                          const struct tfd_tensor *t,
                                          struct tfd_status *st)
{
    struct tfd_bundle_item *item;
    struct tfd_shape piece;
    struct tfd_bytes key;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_slice_shape(s, whole, &piece, st));
    assert(tfd_shape_equal(&piece, &t->shape));
    if (tfd_shape_equal(&piece, whole))
        return tfd_bundle_writer_add(w, name, t, st);
    TFD_TRY(find_whole(w, name, whole, t->dtype, &item, st));
    TFD_TRY(put_slice(item, s, st));
    tfd_bytes_init(&key, SIZE_MAX);
    tfd_tensor_slice_put_key(&key, name, s);
    rc = tfd_bytes_ok(&key, "key of a slice", st);
    if (rc == TFD_OK)
        rc = tfd_bundle_writer_add(w, tfd_bytes_view(&key), t, st);
    tfd_bytes_deinit(&key);
    return rc;
}

/* ---- The end --------------------------------------------------------------
 */

/* Neither file must stay when one could not be published for good. */
static void withdraw(struct tfd_bundle_writer *w)
{
    struct tfd_bytes name;

    (void)!tfd_bundle_index_retire(w->access, tfd_bytes_view(&w->prefix), NULL);
    if (data_name(w, &name, NULL) == TFD_OK) {
        (void)!w->access->remove(w->access, tfd_bytes_view(&name), NULL);
        (void)!w->access->sync_dir(w->access, tfd_bytes_view(&name), NULL);
    }
    tfd_bytes_deinit(&name);
}

/* Holds what is about to go, so that its blocks are freed later. */
static void keep_replaced(struct tfd_bundle_writer *w,
                          const struct tfd_file_draft *index)
{
    const struct tfd_bytes *names[] = {&index->name, &w->data.name};

    for (int i = 0; i < TFD_LATE_CLOSE_FILES && w->access->hold; i++)
        w->access->hold(w->access, tfd_bytes_view(names[i]), &w->replaced[i]);
}

static enum tfd_code publish(struct tfd_bundle_writer *w,
                             struct tfd_file_draft *index,
                             struct tfd_status *st)
{
    enum tfd_code rc;

    keep_replaced(w, index);
    rc = tfd_bundle_index_retire(w->access, tfd_bytes_view(&w->prefix), st);
    if (rc == TFD_OK)
        rc = tfd_file_draft_precede(&w->data, st);
    if (rc == TFD_OK)
        rc = tfd_file_draft_publish(index, st);
    if (rc != TFD_OK && !w->data.exists)
        withdraw(w);
    return rc;
}

enum tfd_code tfd_bundle_writer_finish(struct tfd_bundle_writer *w,
                                       struct tfd_status *st)
{
    struct tfd_file_draft index;
    enum tfd_code rc;

    TFD_TRY(flush(w, st));
    tfd_file_draft_begin(&w->data);
    TFD_TRY(tfd_bundle_index_write(&w->index, w->access,
                                   tfd_bytes_view(&w->prefix), 1, &index, st));
    w->data.passing = index.passing =
        tfd_bundle_is_part(tfd_bytes_view(&w->prefix));
    rc = tfd_file_draft_seal_both(&w->data, &index, st);
    if (rc == TFD_OK)
        rc = publish(w, &index, st);
    tfd_file_draft_deinit(&index);
    return rc;
}
