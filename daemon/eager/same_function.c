/*
 * same_function.c - see same_function.h.
 *
 * Both are hashed with this process's key, for which nobody can choose two that
 * differ: fields in their order, entries of maps in any.  Maps are looked for
 * as deep as functions have them, which is the attributes of a function that an
 * attribute names; of what is below, the bytes count in any order.
 */
#include "daemon/eager/same_function.h"

#include "common/base/hash.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"

typedef uint64_t hash_fn(struct tfd_str value);

static uint64_t chain(uint64_t before, uint64_t next)
{
    return tfd_hash_number(before + tfd_hash_number(next));
}

static uint64_t hash_field(const struct tfd_pb_field *f)
{
    return chain(f->tag,
                 f->wire == TFD_PB_BYTES ? tfd_hash_str(f->bytes) : f->number);
}

static uint64_t hash_loose(struct tfd_str value)
{
    uint64_t sum = value.size;

    for (size_t i = 0; i < value.size; i++)
        sum += tfd_hash_number((uint8_t)value.data[i]);
    return sum;
}

/* Keys may be numbers, and then values have maps of their own. */
static uint64_t hash_entry(struct tfd_str entry, hash_fn *value)
{
    struct tfd_pb_entry e;

    return tfd_pb_map_entry(entry, &e)
               ? chain(tfd_hash_str(e.key), value(e.value))
               : hash_loose(entry);
}

/* A message with a map by this tag. */
static uint64_t hash_mapped(struct tfd_str message, uint32_t tag,
                            hash_fn *value)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    uint64_t ordered = 0, entries = 0;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire == TFD_PB_BYTES)
            entries += hash_entry(f.bytes, value);
        else
            ordered = chain(ordered, hash_field(&f));
    return chain(ordered, entries);
}

static uint64_t hash_func(struct tfd_str name_attr_list)
{
    return hash_mapped(name_attr_list, tensorflow_NameAttrList_attr_tag,
                       hash_loose);
}

/* A message whose field by this tag has a hash of its own. */
static uint64_t hash_with(struct tfd_str message, uint32_t tag, hash_fn *own,
                          uint32_t other_tag, hash_fn *other)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    uint64_t ordered = 0;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire == TFD_PB_BYTES)
            ordered = chain(ordered, own(f.bytes));
        else if (other && f.tag == other_tag && f.wire == TFD_PB_BYTES)
            ordered = chain(ordered, other(f.bytes));
        else
            ordered = chain(ordered, hash_field(&f));
    return ordered;
}

static uint64_t hash_list(struct tfd_str list)
{
    return hash_with(list, tensorflow_AttrValue_ListValue_func_tag, hash_func,
                     0, NULL);
}

static uint64_t hash_attr(struct tfd_str attr_value)
{
    return hash_with(attr_value, tensorflow_AttrValue_func_tag, hash_func,
                     tensorflow_AttrValue_list_tag, hash_list);
}

static uint64_t hash_node(struct tfd_str node)
{
    return hash_mapped(node, tensorflow_NodeDef_attr_tag, hash_attr);
}

static const struct {
    uint32_t tag;
    hash_fn *value;
} maps[] = {
    {tensorflow_FunctionDef_attr_tag, hash_attr},
    {tensorflow_FunctionDef_arg_attr_tag, hash_loose},
    {tensorflow_FunctionDef_ret_tag, tfd_hash_str},
    {tensorflow_FunctionDef_control_ret_tag, tfd_hash_str},
    {tensorflow_FunctionDef_resource_arg_unique_id_tag, hash_loose},
};

#define MAP_COUNT (sizeof(maps) / sizeof(maps[0]))

static uint64_t hash_function(struct tfd_str def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    uint64_t ordered = 0, entries = 0;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        size_t i = 0;

        while (i < MAP_COUNT && maps[i].tag != f.tag)
            i++;
        if (f.wire != TFD_PB_BYTES)
            ordered = chain(ordered, hash_field(&f));
        else if (i < MAP_COUNT)
            entries += chain(f.tag, hash_entry(f.bytes, maps[i].value));
        else if (f.tag == tensorflow_FunctionDef_node_def_tag)
            ordered = chain(ordered, hash_node(f.bytes));
        else
            ordered = chain(ordered, hash_field(&f));
    }
    return chain(ordered, entries);
}

bool tfd_eager_same_function(struct tfd_str a, struct tfd_str b)
{
    if (tfd_str_eq(a, b))
        return true;
    return a.size == b.size && hash_function(a) == hash_function(b);
}
