/*
 * descriptor_parts.c - what the other descriptor files stand on: failures and
 * names of a file that is read, values of enums, types (descriptor.h).
 */
#include "kernels/proto/descriptor.h"

#include "common/base/pbio.h"

/* ---- Failures and names -------------------------------------------------- */

enum tfd_code tfd_proto_file_fail(const struct tfd_proto_file *f,
                                  struct tfd_str name, const char *why)
{
    return tfd_fail(f->st, TFD_INVALID_ARGUMENT,
                    "Failed to load FileDescriptorProto: " TFD_STR_FMT
                    ": " TFD_STR_FMT ": %s",
                    TFD_STR_ARG(f->name), TFD_STR_ARG(name), why);
}

enum tfd_code tfd_proto_file_damaged(const struct tfd_proto_file *f)
{
    return tfd_fail(f->st, TFD_DATA_LOSS, "the bytes are no FileDescriptorSet");
}

bool tfd_proto_file_is_word(struct tfd_str s)
{
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i], lower = (char)(c | 0x20);

        if (!(lower >= 'a' && lower <= 'z') && c != '_' &&
            !(c >= '0' && c <= '9' && i > 0))
            return false;
    }
    return s.size > 0;
}

enum tfd_code tfd_proto_file_name(struct tfd_proto_file *f,
                                  struct tfd_str scope, struct tfd_str name,
                                  struct tfd_str *out)
{
    struct tfd_bytes *b = &f->name_room;

    if (!tfd_proto_file_is_word(name))
        return tfd_proto_file_fail(f, name, "this is not a name");
    tfd_bytes_clear(b);
    tfd_bytes_add_str(b, scope);
    if (scope.size > 0)
        tfd_bytes_add(b, ".", 1);
    tfd_bytes_add_str(b, name);
    TFD_TRY(tfd_bytes_ok(b, "the name of a message", f->st));
    *out = tfd_arena_str(&f->pool->arena, tfd_bytes_view(b));
    return tfd_arena_check(out->data, "descriptions of messages", f->st);
}

enum tfd_code tfd_proto_file_add(struct tfd_proto_file *f,
                                 struct tfd_proto_symbol *s)
{
    uintptr_t other;

    if (tfd_map_get(&f->pool->symbols, s->name, &other))
        return tfd_proto_file_fail(f, s->name, "this is defined twice");
    if (!tfd_map_put(&f->pool->symbols, s->name, (uintptr_t)s))
        return tfd_fail(f->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for names of messages");
    return TFD_OK;
}

/* ---- Values of enums ----------------------------------------------------- */

const struct tfd_proto_value *
tfd_proto_enum_value(const struct tfd_proto_enum *e, struct tfd_str name)
{
    int low = 0, high = e->count;

    while (low < high) {
        int mid = low + (high - low) / 2;
        int order = tfd_str_cmp(e->values[mid].name, name);

        if (order == 0)
            return &e->values[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

bool tfd_proto_enum_has(const struct tfd_proto_enum *e, int32_t number)
{
    int low = 0, high = e->count;

    while (low < high) {
        int mid = low + (high - low) / 2;

        if (e->numbers[mid] == number)
            return true;
        if (e->numbers[mid] < number)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

/* ---- Types --------------------------------------------------------------- */

static const struct {
    const char *name, *kind;
    int wire;
} types[TFD_PROTO_TYPE_END] = {
    {"", "", 0},
    {"double", "double", TFD_PB_FIXED64},
    {"float", "float", TFD_PB_FIXED32},
    {"int64", "int64", TFD_PB_VARINT},
    {"uint64", "uint64", TFD_PB_VARINT},
    {"int32", "int32", TFD_PB_VARINT},
    {"fixed64", "uint64", TFD_PB_FIXED64},
    {"fixed32", "uint32", TFD_PB_FIXED32},
    {"bool", "bool", TFD_PB_VARINT},
    {"string", "string", TFD_PB_BYTES},
    {"group", "message", 3},
    {"message", "message", TFD_PB_BYTES},
    {"bytes", "string", TFD_PB_BYTES},
    {"uint32", "uint32", TFD_PB_VARINT},
    {"enum", "enum", TFD_PB_VARINT},
    {"sfixed32", "int32", TFD_PB_FIXED32},
    {"sfixed64", "int64", TFD_PB_FIXED64},
    {"sint32", "int32", TFD_PB_VARINT},
    {"sint64", "int64", TFD_PB_VARINT},
};

const char *tfd_proto_type_name(enum tfd_proto_type type)
{
    return types[type].name;
}

const char *tfd_proto_type_kind(enum tfd_proto_type type)
{
    return types[type].kind;
}

int tfd_proto_type_wire(enum tfd_proto_type type)
{
    return types[type].wire;
}
