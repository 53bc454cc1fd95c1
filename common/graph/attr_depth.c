/*
 * attr_depth.c - walks the messages inside an AttrValue with a stack of
 * readers, one per level.
 *
 *     AttrValue.list -> ListValue.func -> NameAttrList.attr -> entry.value
 *     AttrValue.func -> NameAttrList ...
 */
#include "common/graph/attr_depth.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

enum message { ATTR_VALUE, LIST_VALUE, NAME_ATTR_LIST, ATTR_ENTRY };

/* Which fields lead further down, and into what. */
static const struct step {
    enum message in;
    uint32_t tag;
    enum message to;
} steps[] = {
    {ATTR_VALUE, tensorflow_AttrValue_list_tag, LIST_VALUE},
    {ATTR_VALUE, tensorflow_AttrValue_func_tag, NAME_ATTR_LIST},
    {LIST_VALUE, tensorflow_AttrValue_ListValue_func_tag, NAME_ATTR_LIST},
    {NAME_ATTR_LIST, tensorflow_NameAttrList_attr_tag, ATTR_ENTRY},
    {ATTR_ENTRY, 2, ATTR_VALUE}, /* value of a map's entry */
};

static const struct step *step_from(enum message in, uint32_t tag)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i].in == in && steps[i].tag == tag)
            return &steps[i];
    return NULL;
}

enum tfd_code tfd_attr_depth_check(struct tfd_str name, struct tfd_str value,
                                   struct tfd_status *st)
{
    struct {
        struct tfd_pb_reader reader;
        enum message in;
    } stack[TFD_PROTO_DEPTH_MAX];
    int depth = 1;

    stack[0].reader = tfd_pb_reader_of(value);
    stack[0].in = ATTR_VALUE;
    while (depth > 0) {
        const struct step *down;
        struct tfd_pb_field f;

        if (!tfd_pb_next(&stack[depth - 1].reader, &f)) {
            depth--;
            continue;
        }
        down = step_from(stack[depth - 1].in, f.tag);
        if (!down || f.wire != TFD_PB_BYTES)
            continue;
        if (depth == TFD_PROTO_DEPTH_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Attribute '" TFD_STR_FMT
                            "' is nested deeper than %d messages",
                            TFD_STR_ARG(name), TFD_PROTO_DEPTH_MAX);
        stack[depth].reader = tfd_pb_reader_of(f.bytes);
        stack[depth++].in = down->to;
    }
    return TFD_OK;
}
