/*
 * feed.c - see feed.h.
 */
#include "tools/ctl/feed.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/proto/tensor.pb.h"

#include <string.h>

#define TAG(name) tensorflow_##name##_tag

/* What a placeholder takes. */
struct taken {
    bool found, placeholder, has_rank;
    enum tfd_dtype dtype;
    int rank;
    int64_t dim[TFD_RANK_MAX];
};

static void read_shape(struct tfd_str proto, struct taken *p)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f, d;

    p->has_rank = true;
    p->rank = 0;
    while (tfd_pb_next(&r, &f)) {
        struct tfd_pb_reader dim = tfd_pb_reader_of(f.bytes);
        int64_t size = 0;

        if (f.tag == TAG(TensorShapeProto_unknown_rank) && f.number)
            p->has_rank = false;
        if (f.tag != TAG(TensorShapeProto_dim) || f.wire != TFD_PB_BYTES)
            continue;
        while (tfd_pb_next(&dim, &d))
            if (d.tag == TAG(TensorShapeProto_Dim_size))
                size = (int64_t)d.number;
        if (p->rank < TFD_RANK_MAX)
            p->dim[p->rank] = size;
        p->rank++;
    }
    if (p->rank > TFD_RANK_MAX)
        p->has_rank = false;
}

static void read_attr(struct tfd_str entry, struct taken *p)
{
    struct tfd_pb_reader r;
    struct tfd_pb_entry e;
    struct tfd_pb_field f;

    if (!tfd_pb_map_entry(entry, &e))
        return;
    r = tfd_pb_reader_of(e.value);
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG(AttrValue_type) && tfd_str_is(e.key, "dtype") &&
            f.number < TFD_DTYPE_END)
            p->dtype = (enum tfd_dtype)f.number;
        if (f.tag == TAG(AttrValue_shape) && tfd_str_is(e.key, "shape") &&
            f.wire == TFD_PB_BYTES)
            read_shape(f.bytes, p);
    }
}

/* False: it has another name. */
static bool read_node(struct tfd_str def, struct tfd_str name, struct taken *p)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_str own = TFD_STR_EMPTY, op = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    *p = (struct taken){.dtype = TFD_DTYPE_INVALID};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG(NodeDef_name))
            own = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(NodeDef_op))
            op = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(NodeDef_attr) && f.wire == TFD_PB_BYTES)
            read_attr(f.bytes, p);
    }
    p->found = tfd_str_eq(own, name);
    p->placeholder = tfd_str_starts(op, "Placeholder");
    /* A placeholder of old graphs says [] where it means any shape. */
    if (tfd_str_is(op, "Placeholder") && p->rank == 0)
        p->has_rank = false;
    return p->found;
}

/* "x" of "x:0". */
static struct tfd_str node_of(struct tfd_str tensor)
{
    const char *colon = memchr(tensor.data, ':', tensor.size);

    if (colon)
        tensor.size = (size_t)(colon - tensor.data);
    return tensor;
}

static void find_node(struct tfd_str graph_def, struct tfd_str name,
                      struct taken *p)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph_def);
    struct tfd_pb_field f;

    *p = (struct taken){.dtype = TFD_DTYPE_INVALID};
    while (tfd_pb_next(&r, &f))
        if (f.tag == TAG(GraphDef_node) && f.wire == TFD_PB_BYTES &&
            read_node(f.bytes, name, p))
            return;
    p->found = false;
}

bool tfd_ctl_feed_known(struct tfd_str graph_def, struct tfd_str name)
{
    struct taken p;

    find_node(graph_def, node_of(name), &p);
    return p.found;
}

/* .npy has no quantised types: their integers stand for them. */
static void adopt_type(struct tfd_tensor *t, enum tfd_dtype wanted)
{
    static const enum tfd_dtype pairs[][2] = {
        {TFD_INT8, TFD_QINT8},   {TFD_UINT8, TFD_QUINT8},
        {TFD_INT16, TFD_QINT16}, {TFD_UINT16, TFD_QUINT16},
        {TFD_INT32, TFD_QINT32},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (pairs[i][0] == t->dtype && pairs[i][1] == wanted)
            t->dtype = wanted;
}

static bool fits(const struct taken *p, const struct tfd_shape *shape)
{
    if (!p->has_rank)
        return true;
    if (p->rank != shape->rank)
        return false;
    for (int d = 0; d < p->rank; d++)
        if (p->dim[d] >= 0 && p->dim[d] != shape->dim[d])
            return false;
    return true;
}

enum tfd_code tfd_ctl_feed_check(struct tfd_str graph_def, struct tfd_str name,
                                 struct tfd_tensor *t, struct tfd_status *st)
{
    char has[TFD_SHAPE_TEXT_MAX], takes[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape wanted = TFD_SHAPE_UNKNOWN;
    struct taken p;

    find_node(graph_def, node_of(name), &p);
    if (!p.found)
        return tfd_fail(st, TFD_NOT_FOUND, "the graph has no such operation");
    if (!p.placeholder)
        return TFD_OK;
    adopt_type(t, p.dtype);
    if (p.dtype && p.dtype != t->dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "the file has elements of %s, the graph takes %s",
                        tfd_dtype_name((int)t->dtype),
                        tfd_dtype_name((int)p.dtype));
    if (fits(&p, &t->shape))
        return TFD_OK;
    if (tfd_shape_make_partial(&wanted, p.dim, p.rank, NULL) != TFD_OK)
        wanted = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "the file has the shape %s, the graph takes %s",
                    tfd_shape_text(&t->shape, has),
                    tfd_shape_text(&wanted, takes));
}
