/*
 * attr_text.c - values of attributes as TensorFlow's messages show them:
 * 3, "SAME", DT_FLOAT, [2,?], [1, 2].
 */
#include "common/graph/attr.h"

#include "common/graph/graph.h"
#include "common/proto/graph.pb.h"
#include "common/proto/tensor_proto.h"

#include <string.h>

/* A longer string is shown by its two ends. */
#define TEXT_MAX 80
#define END_SIZE 10

static void put_escaped_byte(struct tfd_bytes *b, char c)
{
    static const char plain[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
    const char *found = c ? strchr(plain, c) : NULL;

    if (found)
        tfd_bytes_printf(b, "\\%c", letters[found - plain]);
    else if (c >= 0x20 && c < 0x7f)
        tfd_bytes_add(b, &c, 1);
    else
        tfd_bytes_printf(b, "\\%03o", (unsigned)(unsigned char)c);
}

static void put_string(struct tfd_bytes *b, struct tfd_str s)
{
    size_t first = b->size + 1, size;

    tfd_bytes_add(b, "\"", 1);
    for (size_t i = 0; i < s.size; i++)
        put_escaped_byte(b, s.data[i]);
    size = b->size - first;
    if (!b->failed && size >= TEXT_MAX) {
        char end[END_SIZE];

        memcpy(end, b->data + b->size - END_SIZE, END_SIZE);
        b->size = first + END_SIZE;
        tfd_bytes_add(b, "...", 3);
        tfd_bytes_add(b, end, END_SIZE);
    }
    tfd_bytes_add(b, "\"", 1);
}

static void put_float(struct tfd_bytes *b, const struct tfd_pb_field *f)
{
    uint32_t bits = (uint32_t)f->number;
    float value;

    memcpy(&value, &bits, sizeof(value));
    tfd_bytes_printf(b, "%g", (double)value);
}

static void put_shape(struct tfd_bytes *b, struct tfd_str message)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;

    if (tfd_tensor_proto_shape_decode(message, &shape, NULL) == TFD_OK)
        tfd_bytes_printf(b, "%s", tfd_shape_text(&shape, text));
    else
        tfd_bytes_printf(b, "<shape>");
}

static void put_func(struct tfd_bytes *b, struct tfd_str message)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_NameAttrList_name_tag)
            tfd_bytes_add_str(b, f.bytes);
    tfd_bytes_printf(b, "[]");
}

static void put_one(struct tfd_bytes *b, enum tfd_attr_kind kind,
                    const struct tfd_pb_field *f)
{
    switch (kind) {
    case TFD_ATTR_STRING:
        put_string(b, f->bytes);
        break;
    case TFD_ATTR_INT:
        tfd_bytes_printf(b, "%lld", (long long)f->number);
        break;
    case TFD_ATTR_FLOAT:
        put_float(b, f);
        break;
    case TFD_ATTR_BOOL:
        tfd_bytes_printf(b, "%s", f->number ? "true" : "false");
        break;
    case TFD_ATTR_TYPE:
        tfd_bytes_printf(b, "%s",
                         tfd_dtype_enum_name((int)(uint32_t)f->number));
        break;
    case TFD_ATTR_SHAPE:
        put_shape(b, f->bytes);
        break;
    case TFD_ATTR_FUNC:
        put_func(b, f->bytes);
        break;
    default:
        tfd_bytes_printf(b, "<%s>", tfd_attr_kind_name(kind));
    }
}

/* The kind whose values carry this tag; tags of lists and of single values are
 * numbered on their own. */
static bool find_kind(uint32_t tag, uint32_t (*tag_of)(enum tfd_attr_kind),
                      enum tfd_attr_kind *kind)
{
    for (int k = TFD_ATTR_STRING; k <= TFD_ATTR_FUNC; k++)
        if (tag_of((enum tfd_attr_kind)k) == tag) {
            *kind = (enum tfd_attr_kind)k;
            return true;
        }
    return false;
}

static void put_list(struct tfd_bytes *b, struct tfd_str items)
{
    struct tfd_attr_list list = tfd_attr_list_of(items);
    enum tfd_attr_kind kind;
    struct tfd_pb_field f;

    tfd_bytes_printf(b, "[");
    for (int i = 0; tfd_attr_list_next(&list, &f); i++) {
        tfd_bytes_printf(b, "%s", i ? ", " : "");
        if (find_kind(f.tag, tfd_attr_list_tag, &kind))
            put_one(b, kind, &f);
    }
    tfd_bytes_printf(b, "]");
}

void tfd_attr_text(struct tfd_str message, struct tfd_bytes *out)
{
    enum tfd_attr_kind kind;
    struct tfd_pb_field f;

    if (tfd_attr_read(message, &f, NULL) != TFD_OK)
        tfd_bytes_printf(out, "<Unknown AttrValue type>");
    else if (f.tag == tensorflow_AttrValue_list_tag)
        put_list(out, f.bytes);
    else if (find_kind(f.tag, tfd_attr_tag, &kind))
        put_one(out, kind, &f);
    else
        tfd_bytes_printf(out, "<Unknown AttrValue type>");
}

/* ---- Nodes --------------------------------------------------------------- */

/* The attribute with the least name above `after`, of the node's own and those
 * that its definition gives it.  False at the end. */
static bool next_attr(const struct tfd_node *n, struct tfd_str after,
                      struct tfd_attr *next)
{
    int own = (int)n->attr_count, all = own + n->op->attr_count;
    bool found = false;

    for (int i = 0; i < all; i++) {
        const struct tfd_op_attr *def = i < own ? NULL : &n->op->attrs[i - own];
        struct tfd_attr a =
            def ? (struct tfd_attr){def->name, def->default_value}
                : n->attrs[i];

        if ((def && !def->has_default) || tfd_str_cmp(a.name, after) <= 0 ||
            (found && tfd_str_cmp(a.name, next->name) >= 0))
            continue;
        *next = a;
        found = true;
    }
    return found;
}

static void put_attrs(const struct tfd_node *n, struct tfd_bytes *out)
{
    struct tfd_attr a = {TFD_STR_EMPTY, TFD_STR_EMPTY};
    const char *comma = "";

    for (; next_attr(n, a.name, &a); comma = ", ") {
        tfd_bytes_printf(out, "%s" TFD_STR_FMT "=", comma, TFD_STR_ARG(a.name));
        tfd_attr_text(a.value, out);
    }
    if (n->device.size) {
        tfd_bytes_printf(out, "%s_device=", comma);
        put_string(out, n->device);
    }
}

static void put_inputs(const struct tfd_graph *g, const struct tfd_node *n,
                       struct tfd_bytes *out)
{
    for (int32_t i = 0; i < n->in_count; i++) {
        struct tfd_edge e = n->in[i];

        tfd_bytes_printf(out, "%s", i ? ", " : "");
        if (e.node < 0)
            continue;
        tfd_bytes_add_str(out, g->nodes[e.node]->name);
        if (e.output > 0)
            tfd_bytes_printf(out, ":%d", e.output);
    }
    for (int32_t i = 0; i < n->control_count; i++)
        tfd_bytes_printf(out, "%s^" TFD_STR_FMT, i || n->in_count ? ", " : "",
                         TFD_STR_ARG(g->nodes[n->control[i]]->name));
}

void tfd_node_summary(const struct tfd_graph *g, const struct tfd_node *n,
                      struct tfd_bytes *out)
{
    tfd_bytes_printf(out, "{{node " TFD_STR_FMT "}} = " TFD_STR_FMT "[",
                     TFD_STR_ARG(n->name), TFD_STR_ARG(n->op->name));
    put_attrs(n, out);
    tfd_bytes_printf(out, "](");
    put_inputs(g, n, out);
    tfd_bytes_printf(out, ")");
}
