/*
 * opdef_default.c - "= 1", "= [DT_INT32]": default values of attributes.
 */
#include "common/graph/graph.h"
#include "common/graph/opdef_scan.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "common/proto/tensor.pb.h"
#include "common/proto/tensor_proto.h"

#include <ctype.h>
#include <math.h>

/* "-12.5e-3", "inf".  Without strtod(), which obeys the locale of the program
 * that we are linked into.  Exact where there are at most 15 digits and the
 * exponent is at most 22. */
static enum tfd_code need_float(struct tfd_scan *s, float *out)
{
    bool negative = tfd_scan_eat(s, "-");
    double value = 0, power = 1;
    int64_t exponent = 0, e = 0;
    int digits = 0;

    if (tfd_scan_eat(s, "inf")) {
        *out = negative ? -INFINITY : INFINITY;
        return TFD_OK;
    }
    for (; isdigit((unsigned char)*s->at); s->at++, digits++)
        value = value * 10 + (*s->at - '0');
    if (*s->at == '.')
        for (s->at++; isdigit((unsigned char)*s->at);
             s->at++, exponent--, digits++)
            value = value * 10 + (*s->at - '0');
    if (!digits)
        return tfd_scan_fail(s, "a number");
    if (*s->at == 'e') {
        s->at++;
        TFD_TRY(tfd_scan_int(s, &e));
    }
    exponent += e;
    for (int64_t i = exponent < 0 ? -exponent : exponent; i > 0 && i < 400; i--)
        power *= 10;
    value = exponent < 0 ? value / power : value * power;
    *out = (float)(negative ? -value : value);
    return TFD_OK;
}

static enum tfd_code need_type(struct tfd_scan *s, int *out)
{
    *out = (int)tfd_scan_dtype(tfd_scan_word(s));
    return *out ? TFD_OK : tfd_scan_fail(s, "a type before");
}

/* "{ unknown_rank: true }", "{}", "{ dim { size: 2 } dim { size: -1 } }". */
static enum tfd_code need_shape(struct tfd_scan *s, struct tfd_shape *out)
{
    *out = (struct tfd_shape){0};
    TFD_TRY(tfd_scan_need(s, "{"));
    if (tfd_scan_eat(s, "unknown_rank")) {
        out->rank = TFD_RANK_UNKNOWN;
        TFD_TRY(tfd_scan_need(s, ":"));
        TFD_TRY(tfd_scan_need(s, "true"));
    }
    while (out->rank >= 0 && out->rank < TFD_RANK_MAX &&
           tfd_scan_eat(s, "dim")) {
        TFD_TRY(tfd_scan_need(s, "{"));
        TFD_TRY(tfd_scan_need(s, "size"));
        TFD_TRY(tfd_scan_need(s, ":"));
        TFD_TRY(tfd_scan_int(s, &out->dim[out->rank++]));
        TFD_TRY(tfd_scan_need(s, "}"));
    }
    return tfd_scan_need(s, "}");
}

/* "{ dtype: DT_UINT8 tensor_shape: { dim { size: 2 } } int_val: 1 int_val: 2 }"
 * as an AttrValue. */
static enum tfd_code put_tensor(struct tfd_scan *s, struct tfd_bytes *b)
{
    size_t mark = tfd_pb_begin(b, tensorflow_AttrValue_tensor_tag), shape_mark;
    struct tfd_shape shape;
    int64_t value;
    int type;

    TFD_TRY(tfd_scan_need(s, "{"));
    TFD_TRY(tfd_scan_need(s, "dtype"));
    TFD_TRY(tfd_scan_need(s, ":"));
    TFD_TRY(need_type(s, &type));
    tfd_pb_put_int(b, tensorflow_TensorProto_dtype_tag, type);
    TFD_TRY(tfd_scan_need(s, "tensor_shape"));
    TFD_TRY(tfd_scan_need(s, ":"));
    TFD_TRY(need_shape(s, &shape));
    shape_mark = tfd_pb_begin(b, tensorflow_TensorProto_tensor_shape_tag);
    tfd_tensor_proto_shape_encode(b, &shape);
    tfd_pb_finish(b, shape_mark);
    while (tfd_scan_eat(s, "int_val")) {
        TFD_TRY(tfd_scan_need(s, ":"));
        TFD_TRY(tfd_scan_int(s, &value));
        tfd_pb_put_int_always(b, tensorflow_TensorProto_int_val_tag, value);
    }
    TFD_TRY(tfd_scan_need(s, "}"));
    tfd_pb_finish(b, mark);
    return TFD_OK;
}

static enum tfd_code need_bool(struct tfd_scan *s, bool *out)
{
    *out = tfd_scan_eat(s, "true");
    return *out || tfd_scan_eat(s, "false") ? TFD_OK
                                            : tfd_scan_fail(s, "true or false");
}

static enum tfd_code parse_scalar(struct tfd_scan *s, enum tfd_attr_kind kind,
                                  struct tfd_bytes *b)
{
    union {
        struct tfd_str s;
        int64_t i;
        float f;
        bool b;
        int type;
        struct tfd_shape shape;
    } v;

    switch (kind) {
    case TFD_ATTR_STRING:
        TFD_TRY(tfd_scan_quoted(s, &v.s));
        tfd_attr_put_str(b, v.s);
        return TFD_OK;
    case TFD_ATTR_INT:
        TFD_TRY(tfd_scan_int(s, &v.i));
        tfd_attr_put_int(b, v.i);
        return TFD_OK;
    case TFD_ATTR_FLOAT:
        TFD_TRY(need_float(s, &v.f));
        tfd_attr_put_float(b, v.f);
        return TFD_OK;
    case TFD_ATTR_BOOL:
        TFD_TRY(need_bool(s, &v.b));
        tfd_attr_put_bool(b, v.b);
        return TFD_OK;
    case TFD_ATTR_TYPE:
        TFD_TRY(need_type(s, &v.type));
        tfd_attr_put_type(b, v.type);
        return TFD_OK;
    case TFD_ATTR_SHAPE:
        TFD_TRY(need_shape(s, &v.shape));
        tfd_attr_put_shape(b, &v.shape);
        return TFD_OK;
    case TFD_ATTR_TENSOR:
        return put_tensor(s, b);
    default:
        return tfd_scan_fail(s, "no default of this kind");
    }
}

static enum tfd_code parse_ints(struct tfd_scan *s, struct tfd_bytes *b)
{
    int64_t values[TFD_SCAN_LIST_MAX];
    int n = 0;

    do {
        if (n == TFD_SCAN_LIST_MAX)
            return tfd_scan_fail(s, "fewer numbers");
        TFD_TRY(tfd_scan_int(s, &values[n++]));
    } while (tfd_scan_eat(s, ","));
    tfd_attr_put_ints(b, values, n);
    return tfd_scan_need(s, "]");
}

static enum tfd_code parse_floats(struct tfd_scan *s, struct tfd_bytes *b)
{
    float values[TFD_SCAN_LIST_MAX];
    int n = 0;

    do {
        if (n == TFD_SCAN_LIST_MAX)
            return tfd_scan_fail(s, "fewer numbers");
        TFD_TRY(need_float(s, &values[n++]));
    } while (tfd_scan_eat(s, ","));
    tfd_attr_put_floats(b, values, n);
    return tfd_scan_need(s, "]");
}

static enum tfd_code parse_types(struct tfd_scan *s, struct tfd_bytes *b)
{
    int values[TFD_SCAN_LIST_MAX];
    int n = 0;

    do {
        if (n == TFD_SCAN_LIST_MAX)
            return tfd_scan_fail(s, "fewer types");
        TFD_TRY(need_type(s, &values[n++]));
    } while (tfd_scan_eat(s, ","));
    tfd_attr_put_types(b, values, n);
    return tfd_scan_need(s, "]");
}

static enum tfd_code parse_strings(struct tfd_scan *s, struct tfd_bytes *b)
{
    struct tfd_str values[TFD_SCAN_LIST_MAX];
    int n = 0;

    do {
        if (n == TFD_SCAN_LIST_MAX)
            return tfd_scan_fail(s, "fewer strings");
        TFD_TRY(tfd_scan_quoted(s, &values[n++]));
    } while (tfd_scan_eat(s, ","));
    tfd_attr_put_strs(b, values, n);
    return tfd_scan_need(s, "]");
}

static enum tfd_code parse_list(struct tfd_scan *s, enum tfd_attr_kind kind,
                                struct tfd_bytes *b)
{
    TFD_TRY(tfd_scan_need(s, "["));
    if (tfd_scan_eat(s, "]")) {
        tfd_attr_put_ints(b, NULL, 0);
        return TFD_OK;
    }
    switch (kind) {
    case TFD_ATTR_INT:
        return parse_ints(s, b);
    case TFD_ATTR_FLOAT:
        return parse_floats(s, b);
    case TFD_ATTR_TYPE:
        return parse_types(s, b);
    case TFD_ATTR_STRING:
        return parse_strings(s, b);
    default:
        return tfd_scan_fail(s, "an empty list");
    }
}

enum tfd_code tfd_scan_default(struct tfd_scan *s, struct tfd_op_attr *a)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, 4096);
    rc = a->list ? parse_list(s, a->kind, &b) : parse_scalar(s, a->kind, &b);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&b, "a default", s->st);
    if (rc == TFD_OK) {
        a->has_default = true;
        a->default_value = tfd_arena_str(s->arena, tfd_bytes_view(&b));
        rc = tfd_arena_check(a->default_value.data, "a default", s->st);
    }
    tfd_bytes_deinit(&b);
    return rc;
}
