/*
 * attr_read.c - see attr.h.
 *
 * AttrValue and its ListValue number their members alike except for functions;
 * both tables below follow enum tfd_attr_kind.
 */
#include "common/graph/attr.h"

#include "common/proto/graph.pb.h"

#define X(name) tensorflow_AttrValue_##name##_tag
#define L(name) tensorflow_AttrValue_ListValue_##name##_tag

static const struct {
    const char *name;
    uint32_t tag, list_tag;
    enum tfd_pb_wire wire;
} kinds[] = {
    [TFD_ATTR_STRING] = {"string", X(s), L(s), TFD_PB_BYTES},
    [TFD_ATTR_INT] = {"int", X(i), L(i), TFD_PB_VARINT},
    [TFD_ATTR_FLOAT] = {"float", X(f), L(f), TFD_PB_FIXED32},
    [TFD_ATTR_BOOL] = {"bool", X(b), L(b), TFD_PB_VARINT},
    [TFD_ATTR_TYPE] = {"type", X(type), L(type), TFD_PB_VARINT},
    [TFD_ATTR_SHAPE] = {"shape", X(shape), L(shape), TFD_PB_BYTES},
    [TFD_ATTR_TENSOR] = {"tensor", X(tensor), L(tensor), TFD_PB_BYTES},
    [TFD_ATTR_FUNC] = {"func", X(func), L(func), TFD_PB_BYTES},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

const char *tfd_attr_kind_name(enum tfd_attr_kind kind)
{
    return kinds[kind].name;
}

uint32_t tfd_attr_tag(enum tfd_attr_kind kind)
{
    return kinds[kind].tag;
}

uint32_t tfd_attr_list_tag(enum tfd_attr_kind kind)
{
    return kinds[kind].list_tag;
}

/* ---- One value ----------------------------------------------------------- */

/* True when the field is a member of AttrValue; a wrong wire type fails. */
static bool is_member(struct tfd_pb_reader *r, const struct tfd_pb_field *f)
{
    enum tfd_pb_wire wire = TFD_PB_BYTES; /* of list and placeholder */
    bool member = f->tag == X(list) || f->tag == X(placeholder);

    for (size_t i = 0; i < KIND_COUNT && !member; i++) {
        member = f->tag == kinds[i].tag;
        wire = kinds[i].wire;
    }
    if (member && f->wire != wire)
        r->failed = true;
    return member;
}

enum tfd_code tfd_attr_read(struct tfd_str message, struct tfd_pb_field *out,
                            struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    *out = (struct tfd_pb_field){.bytes = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f))
        if (is_member(&r, &f))
            *out = f;
    return tfd_pb_end(&r, "AttrValue", st);
}

/* ---- Lists --------------------------------------------------------------- */

struct tfd_attr_list tfd_attr_list_of(struct tfd_str list_value)
{
    return (struct tfd_attr_list){.reader = tfd_pb_reader_of(list_value)};
}

static bool is_packable(uint32_t tag)
{
    return tag >= L(i) && tag <= L(type);
}

static bool take_packed(struct tfd_attr_list *l, struct tfd_pb_field *f)
{
    struct tfd_str *packed = &l->field.bytes;

    *f = (struct tfd_pb_field){.tag = l->field.tag, .bytes = TFD_STR_EMPTY};
    if (f->tag != L(f)) {
        f->wire = TFD_PB_VARINT;
        if (tfd_pb_packed_varint(packed, &f->number))
            return true;
    } else if (packed->size >= 4) {
        f->wire = TFD_PB_FIXED32;
        for (int i = 0; i < 4; i++)
            f->number |= (uint64_t)(uint8_t)packed->data[i] << (8 * i);
        packed->data += 4;
        packed->size -= 4;
        return true;
    }
    l->reader.failed = true;
    return false;
}

bool tfd_attr_list_next(struct tfd_attr_list *l, struct tfd_pb_field *f)
{
    while (!l->field.bytes.size) {
        if (!tfd_pb_next(&l->reader, f))
            return false;
        if (f->wire != TFD_PB_BYTES || !is_packable(f->tag))
            return true;
        l->field = *f;
    }
    return take_packed(l, f);
}

static enum tfd_code fail_list(enum tfd_attr_kind kind, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "not a list(%s)",
                    kinds[kind].name);
}

enum tfd_code tfd_attr_list(struct tfd_str message, enum tfd_attr_kind kind,
                            struct tfd_str *list_value, int64_t *count,
                            struct tfd_status *st)
{
    struct tfd_pb_field value, f;
    struct tfd_attr_list l;

    TFD_TRY(tfd_attr_read(message, &value, st));
    if (value.tag != X(list))
        return fail_list(kind, st);
    *list_value = value.bytes;
    *count = 0;
    l = tfd_attr_list_of(value.bytes);
    for (; tfd_attr_list_next(&l, &f); ++*count)
        if (f.tag != kinds[kind].list_tag || f.wire != kinds[kind].wire)
            return fail_list(kind, st);
    return tfd_pb_end(&l.reader, "AttrValue.ListValue", st);
}
