/*
 * value.c - see value.h.
 */
#include "tools/ctl/value.h"

#include "common/base/half.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRINTED_MAX 1000

static json_t *real_json(double v)
{
    if (isnan(v))
        return json_string("NaN");
    if (isinf(v))
        return json_string(v > 0 ? "Infinity" : "-Infinity");
    return json_real(v);
}

static json_t *whole_json(uint64_t v)
{
    char text[24];

    if (v <= INT64_MAX)
        return json_integer((json_int_t)v);
    snprintf(text, sizeof(text), "%" PRIu64, v);
    return json_string(text);
}

static json_t *pair_json(double re, double im)
{
    return json_pack("[o, o]", real_json(re), real_json(im));
}

static json_t *element_json(const struct tfd_tensor *t, int64_t i)
{
    const void *data = tfd_tensor_data(t);

    switch (t->dtype) {
#define ROW(name, number, ctype) \
    case TFD_##name:             \
        return json_integer((json_int_t)((const ctype *)data)[i]);
        ROW(INT8, 0, int8_t)
        ROW(INT16, 0, int16_t)
        ROW(INT32, 0, int32_t)
        ROW(INT64, 0, int64_t)
        ROW(UINT8, 0, uint8_t)
        ROW(UINT16, 0, uint16_t)
        ROW(UINT32, 0, uint32_t)
        TFD_QUANT_DTYPES(ROW)
#undef ROW
    case TFD_UINT64:
        return whole_json(((const uint64_t *)data)[i]);
    case TFD_FLOAT:
        return real_json((double)((const float *)data)[i]);
    case TFD_DOUBLE:
        return real_json(((const double *)data)[i]);
    case TFD_HALF:
        return real_json(
            (double)tfd_half_to_float(((const tfd_half *)data)[i]));
    case TFD_BFLOAT16:
        return real_json(
            (double)tfd_bfloat16_to_float(((const tfd_bfloat16 *)data)[i]));
    case TFD_COMPLEX64:
        return pair_json((double)((const tfd_complex64 *)data)[i].re,
                         (double)((const tfd_complex64 *)data)[i].im);
    case TFD_COMPLEX128:
        return pair_json(((const tfd_complex128 *)data)[i].re,
                         ((const tfd_complex128 *)data)[i].im);
    case TFD_BOOL:
        return json_boolean(((const tfd_bool *)data)[i]);
    case TFD_STRING:
        return tfd_ctl_text(
            tfd_tstring_view(&((const struct tfd_tstring *)data)[i]));
    default:
        return json_null();
    }
}

static json_t *shape_json(const struct tfd_tensor *t)
{
    json_t *shape = json_array();

    for (int d = 0; d < t->shape.rank && d < TFD_RANK_MAX; d++)
        json_array_append_new(shape, json_integer(t->shape.dim[d]));
    return shape;
}

json_t *tfd_ctl_value_json(struct tfd_str name, const struct tfd_tensor *t)
{
    json_t *values = json_array();

    for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
        if (json_array_append_new(values, element_json(t, i)) != 0)
            return json_decref(values), NULL;
    return json_pack("{s:o, s:s, s:o, s:o}", "name", tfd_ctl_text(name), "type",
                     tfd_dtype_name((int)t->dtype), "shape", shape_json(t),
                     "values", values);
}

/* Floats as short as their type allows; the rest as JSON. */
static void print_element(const struct tfd_ctl *c, const struct tfd_tensor *t,
                          int64_t i)
{
    json_t *v = element_json(t, i);
    char *text;

    if (json_is_real(v)) {
        fprintf(c->to, "%.*g", t->dtype == TFD_DOUBLE ? 17 : 9,
                json_real_value(v));
    } else {
        text = json_dumps(v, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        fputs(text ? text : "?", c->to);
        free(text);
    }
    json_decref(v);
}

void tfd_ctl_value_print(const struct tfd_ctl *c, struct tfd_str name,
                         const struct tfd_tensor *t)
{
    int64_t count = tfd_tensor_elements(t);
    int rank = t->shape.rank;
    int64_t line = rank > 0 && rank <= TFD_RANK_MAX && t->shape.dim[rank - 1]
                       ? t->shape.dim[rank - 1]
                       : 1;
    char shape[TFD_SHAPE_TEXT_MAX];

    fprintf(c->to, TFD_STR_FMT " %s %s\n", TFD_STR_ARG(name),
            tfd_dtype_name((int)t->dtype), tfd_shape_text(&t->shape, shape));
    for (int64_t i = 0; i < count && i < PRINTED_MAX; i++) {
        print_element(c, t, i);
        fputc((i + 1) % line == 0 || i + 1 == count ? '\n' : ' ', c->to);
    }
    if (count > PRINTED_MAX)
        fprintf(c->to, "%s... %" PRId64 " more\n",
                PRINTED_MAX % line == 0 ? "" : "\n", count - PRINTED_MAX);
}
