/*
 * tensor_slice.c - reading, intersecting and copying of slices.
 *
 * A copy goes run by run along the last dimension, with one counter for each of
 * the others.
 */
#include "kernels/checkpoint/tensor_slice.h"

#include "common/base/pbio.h"
#include "common/proto/tensor.pb.h"
#include "kernels/checkpoint/ordered_code.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SLICE(field) tensorflow_TensorSliceProto_##field##_tag
#define EXTENT(field) tensorflow_TensorSliceProto_Extent_##field##_tag

struct tfd_tensor_slice tfd_tensor_slice_all(int rank)
{
    struct tfd_tensor_slice s = {.rank = rank};

    assert(rank >= 0 && rank <= TFD_RANK_MAX);
    for (int i = 0; i < rank; i++)
        s.length[i] = TFD_SLICE_ALL;
    return s;
}

static bool all_of(const struct tfd_tensor_slice *s, int i)
{
    return s->length[i] == TFD_SLICE_ALL;
}

bool tfd_tensor_slice_is_all(const struct tfd_tensor_slice *s)
{
    for (int i = 0; i < s->rank; i++)
        if (!all_of(s, i))
            return false;
    return true;
}

bool tfd_tensor_slice_equal(const struct tfd_tensor_slice *a,
                            const struct tfd_tensor_slice *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->start[i] != b->start[i] || a->length[i] != b->length[i])
            return false;
    return true;
}

const char *tfd_tensor_slice_text(const struct tfd_tensor_slice *s, char *text)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < s->rank; i++) {
        const char *colon = i > 0 ? ":" : "";
        int n;

        if (all_of(s, i))
            n = snprintf(text + used, TFD_SLICE_TEXT_MAX - used, "%s-", colon);
        else
            n = snprintf(text + used, TFD_SLICE_TEXT_MAX - used, "%s%lld,%lld",
                         colon, (long long)s->start[i],
                         (long long)s->length[i]);
        assert(n > 0 && (size_t)n < TFD_SLICE_TEXT_MAX - used);
        used += (size_t)n;
    }
    return text;
}

/* ---- Reading --------------------------------------------------------------
 */

/* The part of *rest before the separator, which is dropped; false at the end,
 * which is marked by NULL. */
static bool split(struct tfd_str *rest, char separator, struct tfd_str *part)
{
    const char *at;

    if (!rest->data)
        return false;
    at = memchr(rest->data, separator, rest->size);
    *part = *rest;
    if (!at) {
        *rest = (struct tfd_str){NULL, 0};
        return true;
    }
    part->size = (size_t)(at - rest->data);
    rest->data = at + 1;
    rest->size -= part->size + 1;
    return true;
}

static bool parse_int64(struct tfd_str s, int64_t *value)
{
    bool negative = s.size > 0 && s.data[0] == '-';
    size_t i = negative || (s.size > 0 && s.data[0] == '+');
    uint64_t limit = (uint64_t)INT64_MAX + negative, magnitude = 0;

    if (i == s.size)
        return false;
    for (; i < s.size; i++) {
        unsigned digit = (unsigned)(s.data[i] - '0');

        if (digit > 9 || magnitude > (limit - digit) / 10)
            return false;
        magnitude = magnitude * 10 + digit;
    }
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

/* What TensorFlow checks of an extent wherever it comes from. */
static enum tfd_code check_extent(int64_t start, int64_t length,
                                  const char *what, struct tfd_str source,
                                  struct tfd_status *st)
{
    if (start < 0 || length <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected non-negative start and positive length but "
                        "got start = %lld, length = %lld: %s = " TFD_STR_FMT,
                        (long long)start, (long long)length, what,
                        TFD_STR_ARG(source));
    if (start > INT64_MAX - length)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Extent end exceeds the maximum possible size: "
                        "extent = start: %lld length: %lld",
                        (long long)start, (long long)length);
    return TFD_OK;
}

static enum tfd_code add_extent(struct tfd_tensor_slice *s, int64_t start,
                                int64_t length, struct tfd_status *st)
{
    if (s->rank == TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "slice has more than %d dimensions", TFD_RANK_MAX);
    s->start[s->rank] = start;
    s->length[s->rank++] = length;
    return TFD_OK;
}

/* "start,length", empty parts left out */
static bool parse_pair(struct tfd_str item, int64_t pair[2])
{
    struct tfd_str part;
    int n = 0;

    while (split(&item, ',', &part)) {
        if (part.size == 0)
            continue;
        if (n == 2 || !parse_int64(part, &pair[n++]))
            return false;
    }
    return n == 2;
}

static enum tfd_code parse_slice(struct tfd_str text,
                                 struct tfd_tensor_slice *s,
                                 struct tfd_status *st)
{
    struct tfd_str rest = text, item;

    s->rank = 0;
    while (split(&rest, ':', &item)) {
        int64_t pair[2] = {0, TFD_SLICE_ALL};

        if (item.size == 0)
            continue;
        if (!tfd_str_is(item, "-")) {
            if (!parse_pair(item, pair))
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Expected a pair of numbers or '-' but got "
                                "'" TFD_STR_FMT "': string = " TFD_STR_FMT,
                                TFD_STR_ARG(item), TFD_STR_ARG(text));
            TFD_TRY(check_extent(pair[0], pair[1], "string", text, st));
        }
        TFD_TRY(add_extent(s, pair[0], pair[1], st));
    }
    return TFD_OK;
}

static enum tfd_code parse_dims(struct tfd_str dims, struct tfd_str spec,
                                struct tfd_shape *whole, struct tfd_status *st)
{
    int64_t dim[TFD_RANK_MAX];
    struct tfd_str part;
    int rank = 0;

    while (split(&dims, ' ', &part)) {
        int64_t value;

        if (!parse_int64(part, &value))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Non numerical dimension in shape_and_slice: "
                            "" TFD_STR_FMT,
                            TFD_STR_ARG(spec));
        if (rank == TFD_RANK_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "shape_and_slice has more than %d dimensions: "
                            "" TFD_STR_FMT,
                            TFD_RANK_MAX, TFD_STR_ARG(spec));
        dim[rank++] = value;
    }
    return tfd_shape_make(whole, dim, rank, st);
}

enum tfd_code tfd_tensor_slice_parse(struct tfd_str spec,
                                     struct tfd_shape *whole,
                                     struct tfd_tensor_slice *s,
                                     struct tfd_shape *piece,
                                     struct tfd_status *st)
{
    size_t space = spec.size;
    struct tfd_str text;

    while (space > 0 && spec.data[space - 1] != ' ')
        space--;
    if (space == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Need least two elements in shape_and_slice "
                        "specification: " TFD_STR_FMT,
                        TFD_STR_ARG(spec));
    text = (struct tfd_str){spec.data + space, spec.size - space};
    TFD_TRY(parse_slice(text, s, st));
    TFD_TRY(
        parse_dims((struct tfd_str){spec.data, space - 1}, spec, whole, st));
    return tfd_tensor_slice_shape(s, whole, piece, st);
}

/* ---- Shapes ---------------------------------------------------------------
 */

enum tfd_code tfd_tensor_slice_shape(const struct tfd_tensor_slice *s,
                                     const struct tfd_shape *whole,
                                     struct tfd_shape *piece,
                                     struct tfd_status *st)
{
    char shape[TFD_SHAPE_TEXT_MAX], slice[TFD_SLICE_TEXT_MAX];
    struct tfd_shape out = *whole;

    if (s->rank != whole->rank)
        return tfd_fail(
            st, TFD_INTERNAL, "Mismatching ranks: shape = %s, slice = %s",
            tfd_shape_text(whole, shape), tfd_tensor_slice_text(s, slice));
    for (int i = 0; i < s->rank; i++) {
        if (all_of(s, i))
            continue;
        if (s->length[i] > whole->dim[i] ||
            s->start[i] > whole->dim[i] - s->length[i])
            return tfd_fail(st, TFD_INTERNAL,
                            "Extent in dimension %d out of bounds: shape = %s, "
                            "slice = %s",
                            i, tfd_shape_text(whole, shape),
                            tfd_tensor_slice_text(s, slice));
        out.dim[i] = s->length[i];
    }
    *piece = out;
    return TFD_OK;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool tfd_tensor_slice_intersect(const struct tfd_tensor_slice *a,
                                const struct tfd_tensor_slice *b,
                                struct tfd_tensor_slice *out)
{
    struct tfd_tensor_slice both = {.rank = a->rank};

    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        const struct tfd_tensor_slice *from = all_of(a, i) ? b : a;

        both.start[i] = from->start[i];
        both.length[i] = from->length[i];
        if (all_of(a, i) || all_of(b, i))
            continue;
        if (b->start[i] > both.start[i])
            both.start[i] = b->start[i];
        both.length[i] =
            lesser(a->start[i] + a->length[i], b->start[i] + b->length[i]) -
            both.start[i];
        if (both.length[i] <= 0)
            return false;
    }
    if (out)
        *out = both;
    return true;
}

/* ---- Protos and keys ------------------------------------------------------
 */

void tfd_tensor_slice_put(struct tfd_bytes *b, const struct tfd_tensor_slice *s)
{
    for (int i = 0; i < s->rank; i++) {
        size_t mark = tfd_pb_begin(b, SLICE(extent));

        if (!all_of(s, i)) {
            tfd_pb_put_int(b, EXTENT(start), s->start[i]);
            tfd_pb_put_int_always(b, EXTENT(length), s->length[i]);
        }
        tfd_pb_finish(b, mark);
    }
}

static enum tfd_code take_extent(struct tfd_str proto,
                                 struct tfd_tensor_slice *s,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    int64_t start = 0, length = TFD_SLICE_ALL;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == EXTENT(start))
            start = tfd_pb_int64(&r, &f);
        else if (f.tag == EXTENT(length))
            length = tfd_pb_int64(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "TensorSliceProto.Extent", st));
    if (start != 0 || length != TFD_SLICE_ALL)
        TFD_TRY(check_extent(start, length, "extent", TFD_STR("proto"), st));
    return add_extent(s, start, length, st);
}

enum tfd_code tfd_tensor_slice_take(struct tfd_str proto,
                                    struct tfd_tensor_slice *s,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    s->rank = 0;
    while (tfd_pb_next(&r, &f))
        if (f.tag == SLICE(extent))
            TFD_TRY(take_extent(tfd_pb_str(&r, &f), s, st));
    return tfd_pb_end(&r, "TensorSliceProto", st);
}

void tfd_tensor_slice_put_key(struct tfd_bytes *b, struct tfd_str name,
                              const struct tfd_tensor_slice *s)
{
    tfd_ordered_code_put_num(b, 0);
    tfd_ordered_code_put_str(b, name);
    tfd_ordered_code_put_num(b, (uint64_t)s->rank);
    for (int i = 0; i < s->rank; i++) {
        tfd_ordered_code_put_signed(b, s->start[i]);
        tfd_ordered_code_put_signed(b, s->length[i]);
    }
}

/* ---- Copying --------------------------------------------------------------
 */

/* A slice with "-" spelled out. */
struct box {
    int64_t start[TFD_RANK_MAX], length[TFD_RANK_MAX];
};

static struct box box_of(const struct tfd_tensor_slice *s,
                         const struct tfd_shape *whole)
{
    struct box b;

    for (int i = 0; i < s->rank; i++) {
        b.start[i] = s->start[i];
        b.length[i] = all_of(s, i) ? whole->dim[i] : s->length[i];
    }
    return b;
}

/* Elements before position `at` of the whole tensor in the piece of this box.
 */
static size_t offset_in(const struct box *b, const int64_t *at, int rank)
{
    int64_t offset = 0;

    for (int i = 0; i < rank; i++)
        offset = offset * b->length[i] + (at[i] - b->start[i]);
    return (size_t)offset;
}

static enum tfd_code copy_run(const struct tfd_tensor *from, size_t from_at,
                              struct tfd_tensor *to, size_t to_at, size_t count,
                              struct tfd_status *st)
{
    size_t size = tfd_dtype_size(from->dtype);
    const char *source = tfd_tensor_data(from);
    char *target = tfd_tensor_data(to);

    source += from_at * size;
    target += to_at * size;
    if (tfd_dtype_is_pod(from->dtype)) {
        memcpy(target, source, count * size);
        return TFD_OK;
    }
    for (size_t i = 0; i < count; i++)
        TFD_TRY(tfd_tstring_copy(
            (struct tfd_tstring *)(void *)(target + i * size),
            (const struct tfd_tstring *)(const void *)(source + i * size), st));
    return TFD_OK;
}

/* Advances the position by one run; false after the last. */
static bool next_run(const struct box *common, int64_t *at, int rank)
{
    for (int i = rank - 2; i >= 0; i--) {
        if (++at[i] < common->start[i] + common->length[i])
            return true;
        at[i] = common->start[i];
    }
    return false;
}

enum tfd_code tfd_tensor_slice_copy(const struct tfd_shape *whole,
                                    const struct tfd_tensor_slice *from_slice,
                                    const struct tfd_tensor *from,
                                    const struct tfd_tensor_slice *to_slice,
                                    struct tfd_tensor *to,
                                    struct tfd_status *st)
{
    struct box from_box = box_of(from_slice, whole);
    struct box to_box = box_of(to_slice, whole);
    int rank = whole->rank;
    struct tfd_tensor_slice both;
    int64_t at[TFD_RANK_MAX] = {0};
    struct box common;
    size_t run;

    assert(from->dtype == to->dtype);
    assert(tfd_dtype_is_pod(from->dtype) || from->dtype == TFD_STRING);
    if (!tfd_tensor_slice_intersect(from_slice, to_slice, &both))
        return TFD_OK;
    common = box_of(&both, whole);
    for (int i = 0; i < rank; i++) {
        at[i] = common.start[i];
        if (common.length[i] == 0)
            return TFD_OK;
    }
    run = rank > 0 ? (size_t)common.length[rank - 1] : 1;
    do
        TFD_TRY(copy_run(from, offset_in(&from_box, at, rank), to,
                         offset_in(&to_box, at, rank), run, st));
    while (next_run(&common, at, rank));
    return TFD_OK;
}
