/*
 * data_format.c - what is said of dimensions in one layout, in another:
 *
 *     DataFormatDimMap DataFormatVecPermute
 *
 * A layout is four or five letters, one for each dimension ("NHWC").  The first
 * op has numbers of dimensions; the second has a number, or two, for each, or
 * for each dimension of space alone.
 */
#include "common/base/str.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#define LETTERS_MAX 5

struct layouts {
    int count;
    char from[LETTERS_MAX], to[LETTERS_MAX];
    int place[LETTERS_MAX]; /* in `to` of each letter of `from` */
};

/* ---- Layouts ------------------------------------------------------------- */

static enum tfd_code read_layout(const struct tfd_node *n, const char *attr,
                                 const char *what, char *letters, int *count,
                                 struct tfd_str *text, struct tfd_status *st)
{
    TFD_TRY(tfd_node_str(n, attr, text, st));
    if (text->size != LETTERS_MAX - 1 && text->size != LETTERS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s format must be of length 4 or 5, received %s = "
                        "%.*s",
                        what, attr, (int)(text->size < 99 ? text->size : 99),
                        text->data);
    *count = (int)text->size;
    for (int i = 0; i < *count; i++)
        letters[i] = text->data[i];
    return TFD_OK;
}

static int place_of(const char *letters, int count, char letter)
{
    for (int i = 0; i < count; i++)
        if (letters[i] == letter)
            return i;
    return -1;
}

/* Each letter of one is in the other, once. */
static bool is_permutation(struct layouts *l, int to_count)
{
    bool taken[LETTERS_MAX] = {false};

    if (l->count != to_count)
        return false;
    for (int i = 0; i < l->count; i++) {
        int at = place_of(l->to, to_count, l->from[i]);

        if (at < 0 || taken[at])
            return false;
        taken[at] = true;
        l->place[i] = at;
    }
    return true;
}

static enum tfd_code prepare_layouts(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct layouts *l = state;
    struct tfd_str from, to;
    int to_count = 0;

    TFD_TRY(read_layout(p->node, "src_format", "Source", l->from, &l->count,
                        &from, st));
    TFD_TRY(read_layout(p->node, "dst_format", "Destination", l->to, &to_count,
                        &to, st));
    if (!is_permutation(l, to_count))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Destination and source format must determine a "
                        "permutation, got %.*s and %.*s",
                        (int)from.size, from.data, (int)to.size, to.data);
    return TFD_OK;
}

static void store(struct tfd_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(t))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(t))[i] = value;
}

/* ---- Kernels ------------------------------------------------------------- */

/* Numbers go round: -1 is the last dimension, and so is any other with the
 * same remainder. */
static enum tfd_code map_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct layouts *l = k->state;
    const struct tfd_tensor *x = &k->in[0];

    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &x->shape, st));
    for (int64_t i = 0; i < tfd_tensor_elements(x); i++) {
        int64_t at = tfd_check_int_at(x, i) % l->count;

        store(&k->out[0], i, l->place[at < 0 ? at + l->count : at]);
    }
    return TFD_OK;
}

static enum tfd_code check_vector(const struct layouts *l,
                                  const struct tfd_shape *s,
                                  struct tfd_status *st)
{
    const int count = l->count;
    char text[TFD_SHAPE_TEXT_MAX];

    tfd_shape_text(s, text);
    if (s->rank != 1 && s->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be a vector or 2D tensor, but got shape %s",
                        text);
    if (s->dim[0] != count && s->dim[0] != count - 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s must be of size %d or %d, but got shape %s",
                        s->rank == 1 ? "1D input"
                                     : "First dimension of 2D input",
                        count - 2, count, text);
    if (s->rank == 2 && s->dim[1] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Second dimension of 2D input must be of size 2, but "
                        "got shape %s",
                        text);
    return TFD_OK;
}

/* The letters of space alone, in their order; how many. */
static int space_of(const char *letters, int count, char *out)
{
    int n = 0;

    for (int i = 0; i < count; i++)
        if (letters[i] == 'H' || letters[i] == 'W' ||
            (letters[i] == 'D' && count == LETTERS_MAX))
            out[n++] = letters[i];
    return n;
}

static enum tfd_code permute_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct layouts *l = k->state;
    const struct tfd_tensor *x = &k->in[0];
    const char *from = l->from, *to = l->to;
    char space_from[LETTERS_MAX], space_to[LETTERS_MAX];
    int n, each;

    TFD_TRY(check_vector(l, &x->shape, st));
    n = (int)x->shape.dim[0];
    each = x->shape.rank;
    if (n != l->count) {
        if (space_of(from, l->count, space_from) != n)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Format specifier must contain %s for 2D case",
                            n == 2 ? "H and W" : "D, H and W");
        space_of(to, l->count, space_to);
        from = space_from;
        to = space_to;
    }
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &x->shape, st));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < each; j++)
            store(&k->out[0], place_of(to, n, from[i]) * each + j,
                  tfd_check_int_at(x, i * each + j));
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS                                                     \
    "T: {int32, int64} = DT_INT32; src_format: string = 'NHWC'; " \
    "dst_format: string = 'NCHW'"

static const struct tfd_opdef ops[] = {
    {
        .name = "DataFormatDimMap",
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = ATTRS,
        .shape = tfd_shape_like_first,
    },
    {
        .name = "DataFormatVecPermute",
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = ATTRS,
        .shape = tfd_shape_like_first,
    },
};

#define ROW(op, type, compute)                                \
    TFD_KERNEL(op, type, compute, .prepare = prepare_layouts, \
               .state_size = sizeof(struct layouts))

static const struct tfd_kernel kernels[] = {
    ROW("DataFormatDimMap", INT32, map_compute),
    ROW("DataFormatDimMap", INT64, map_compute),
    ROW("DataFormatVecPermute", INT32, permute_compute),
    ROW("DataFormatVecPermute", INT64, permute_compute),
};

const struct tfd_family tfd_family_data_format = {
    .name = "data_format",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
