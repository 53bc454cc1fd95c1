/*
 * volume.c - see volume.h.
 */
#include "kernels/conv/volume.h"

#include "common/base/str.h"

/* By meaning: the dimension's place in NDHWC, in NCDHW. */
static const int places[2][TFD_VOLUME_DIMS] = {{0, 1, 2, 3, 4},
                                               {0, 2, 3, 4, 1}};

int tfd_volume_at(const struct tfd_volume *v, enum tfd_volume_dim d)
{
    return places[v->channels_second][d];
}

enum tfd_code tfd_volume_read(const struct tfd_node *n, struct tfd_volume *v,
                              struct tfd_status *st)
{
    struct tfd_str text;

    *v = (struct tfd_volume){.padding = TFD_WINDOW_VALID};
    for (int d = 0; d < TFD_VOLUME_DIMS; d++)
        v->stride[d] = v->dilation[d] = v->size[d] = 1;
    if (tfd_node_attr(n, "data_format", &text)) {
        TFD_TRY(tfd_node_str(n, "data_format", &text, st));
        v->channels_second = tfd_str_is(text, "NCDHW");
    }
    TFD_TRY(tfd_node_str(n, "padding", &text, st));
    if (tfd_str_is(text, "SAME"))
        v->padding = TFD_WINDOW_SAME;
    return TFD_OK;
}

enum tfd_code tfd_volume_numbers(const struct tfd_node *n,
                                 const struct tfd_volume_attr *attr,
                                 const struct tfd_volume *v, int64_t *out,
                                 struct tfd_status *st)
{
    int64_t values[TFD_VOLUME_DIMS * 2];
    int count;

    TFD_TRY(
        tfd_node_ints(n, attr->name, values, TFD_VOLUME_DIMS * 2, &count, st));
    if (count != TFD_VOLUME_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s field must specify 5 dimensions", attr->words);
    for (int d = 0; d < TFD_VOLUME_DIMS; d++) {
        out[d] = values[tfd_volume_at(v, (enum tfd_volume_dim)d)];
        if (out[d] < 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s%lld", attr->small,
                            (long long)out[d]);
        if (out[d] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Attr %s has value %lld out of range for an int32",
                            attr->name, (long long)out[d]);
    }
    return TFD_OK;
}

/* The side of a window that moves along one dimension only. */
enum tfd_code tfd_volume_side(const struct tfd_volume *v, enum tfd_volume_dim d,
                              int64_t in, int64_t size,
                              struct tfd_window_side *side,
                              struct tfd_status *st)
{
    const struct tfd_window w = {
        .padding = v->padding,
        .stride = {[TFD_WINDOW_ROW] = v->stride[d]},
        .dilation = {[TFD_WINDOW_ROW] = v->dilation[d]}};

    return tfd_window_side(&w, TFD_WINDOW_ROW, in, size, side, st);
}

enum tfd_code tfd_volume_out(const struct tfd_volume *v, enum tfd_volume_dim d,
                             int64_t in, int64_t size, int64_t *out,
                             struct tfd_status *st)
{
    struct tfd_window_side side;

    *out = TFD_DIM_UNKNOWN;
    if (in == TFD_DIM_UNKNOWN || size == TFD_DIM_UNKNOWN)
        return TFD_OK;
    TFD_TRY(tfd_volume_side(v, d, in, size, &side, st));
    *out = side.out;
    return TFD_OK;
}

struct tfd_shape tfd_volume_unknown(void)
{
    struct tfd_shape s = {.rank = TFD_VOLUME_DIMS};

    for (int i = 0; i < TFD_VOLUME_DIMS; i++)
        s.dim[i] = TFD_DIM_UNKNOWN;
    return s;
}
