/*
 * einsum.c - sums of products over labelled dimensions: Einsum.
 *
 * Each label is of one kind, by where it is:
 *
 *     batch      in both inputs and the output
 *     contract   in both inputs only
 *     free       in one input and the output
 *     summed     in one input only
 *
 * So a product is one of matrices, [batch][free a][contract] by
 * [batch][contract][free b], once the summed ones are gone.  An input that lies
 * like that, or transposed, is taken as it is; others are copied in that order,
 * through strides that follow the labels: a label that is there twice has the
 * sum of both strides, which is the diagonal.  What comes out is
 * [batch][free a][free b], and goes to its place in the same way.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/linalg/batch_matmul.h"
#include "kernels/linalg/einsum/einsum_equation.h"
#include "kernels/linalg/einsum/einsum_grad.h"
#include "kernels/vector/narrow.h"

#include <string.h>

#define LABELS_MAX (2 * TFD_RANK_MAX)
/* Of each input: copied in order, widened, ones and sums; the product, and what
 * it is rounded to. */
#define SCRATCH_MAX 10

/* A label, and what it is in each of the inputs and in the output. */
struct label {
    int code; /* the character, or -1, -2, ... of an ellipsis from its end */
    int64_t dim;
    bool in[3];
    int64_t stride[3]; /* of inputs 0 and 1, and of the output */
};

struct einsum {
    struct tfd_einsum_equation e;
    struct label label[LABELS_MAX];
    int count;
    const struct tfd_shape *shape[2];
    struct tfd_shape out;
    bool repeats;        /* a label is in the output twice */
    enum tfd_dtype type; /* that is computed in */
    struct tfd_tensor scratch[SCRATCH_MAX];
    int scratch_count;
};

/* ---- Labels of dimensions ------------------------------------------------ */

static struct label *label_of(struct einsum *s, int code)
{
    for (int i = 0; i < s->count; i++)
        if (s->label[i].code == code)
            return &s->label[i];
    if (s->count == LABELS_MAX)
        return NULL;
    s->label[s->count] = (struct label){.code = code, .dim = 1};
    return &s->label[s->count++];
}

/* The code of dimension d of `rank`, of which an ellipsis has `more`. */
static int code_at(const struct tfd_einsum_side *s, int d, int more)
{
    if (s->ellipsis < 0 || d < s->ellipsis)
        return (unsigned char)s->label[d];
    if (d >= s->ellipsis + more)
        return (unsigned char)s->label[d - more];
    return d - s->ellipsis - more;
}

static enum tfd_code take_dim(struct einsum *s, int input, int code,
                              int64_t dim, int64_t stride,
                              const struct tfd_shape *shape, int axis,
                              struct tfd_status *st)
{
    struct label *l = label_of(s, code);
    char text[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    bool known;

    if (!l)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Einsum of more than %d labels",
                        LABELS_MAX);
    known = l->in[0] || l->in[1];
    if (code < 0 && dim == 1)
        return TFD_OK; /* broadcast: as if it were not there */
    if (known && l->dim != dim && code < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid broadcasting dimensions: %s vs. %s",
                        tfd_shape_text(s->shape[0], other),
                        tfd_shape_text(shape, text));
    if (known && l->dim != dim)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Expected dimension %lld at axis %d of the input shaped "
            "%s but got dimension %lld",
            (long long)l->dim, axis, tfd_shape_text(shape, text),
            (long long)dim);
    l->dim = dim;
    l->in[input] = true;
    l->stride[input] += stride;
    return TFD_OK;
}

static enum tfd_code take_shape(struct einsum *s, int input,
                                const struct tfd_shape *shape,
                                struct tfd_status *st)
{
    const struct tfd_einsum_side *side = &s->e.in[input];
    const int more = shape->rank - side->count;
    int64_t stride[TFD_RANK_MAX];

    if (side->ellipsis < 0 ? more != 0 : more < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected input %d to have rank %s%d but got: %d",
                        input, side->ellipsis < 0 ? "" : "at least ",
                        side->count, shape->rank);
    tfd_element_strides(shape, stride);
    for (int d = 0; d < shape->rank; d++)
        TFD_TRY(take_dim(s, input, code_at(side, d, more), shape->dim[d],
                         stride[d], shape, d, st));
    return TFD_OK;
}

/* The dimensions that ellipses of inputs have at most. */
static int ellipsis_rank(const struct einsum *s, const struct tfd_kctx *k)
{
    int most = 0;

    for (int i = 0; i < s->e.in_count; i++) {
        int more = k->in[i].shape.rank - s->e.in[i].count;

        most = s->e.in[i].ellipsis >= 0 && more > most ? more : most;
    }
    return most;
}

static enum tfd_code take_output(struct einsum *s, int more,
                                 struct tfd_status *st)
{
    const struct tfd_einsum_side *side = &s->e.out;
    const int rank = side->count + (side->ellipsis < 0 ? 0 : more);
    int64_t stride[TFD_RANK_MAX];
    struct label *l;

    if (rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Einsum to %d dimensions; at most %d", rank,
                        TFD_RANK_MAX);
    s->out.rank = rank;
    for (int d = 0; d < rank; d++) {
        l = label_of(s, code_at(side, d, side->ellipsis < 0 ? 0 : more));
        if (!l)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "Einsum of more than %d labels", LABELS_MAX);
        s->out.dim[d] = l->dim;
    }
    TFD_TRY(tfd_shape_make(&s->out, s->out.dim, rank, st));
    tfd_element_strides(&s->out, stride);
    for (int d = 0; d < rank; d++) {
        l = label_of(s, code_at(side, d, side->ellipsis < 0 ? 0 : more));
        s->repeats = s->repeats || l->in[2];
        l->in[2] = true;
        l->stride[2] += stride[d];
    }
    return TFD_OK;
}

static enum tfd_code check_ellipsis(const struct einsum *s, int more,
                                    struct tfd_status *st)
{
    if (more > 0 && s->e.out.ellipsis < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Output contains %d broadcasting dimension(s) but no "
                        "ellipsis (...) was found in the output subscripts.",
                        more);
    return TFD_OK;
}

/* ---- Orders of labels ---------------------------------------------------- */

/* Numbers of labels, in an order. */
struct order {
    int at[LABELS_MAX], count;
    int64_t elements;
};

static void put_label(const struct einsum *s, struct order *o, int i)
{
    o->at[o->count++] = i;
    o->elements *= s->label[i].dim;
}

/* The labels that are, or are not, in each of the three. */
static struct order labels_in(const struct einsum *s, bool a, bool b, bool out)
{
    struct order o = {.elements = 1};

    for (int i = 0; i < s->count; i++) {
        const struct label *l = &s->label[i];

        if (l->in[0] == a && l->in[1] == b && l->in[2] == out)
            put_label(s, &o, i);
    }
    return o;
}

static struct order joined(const struct einsum *s, const struct order *a,
                           const struct order *b, const struct order *c)
{
    const struct order *const parts[] = {a, b, c};
    struct order o = {.elements = 1};

    for (int p = 0; p < 3; p++)
        for (int i = 0; parts[p] && i < parts[p]->count; i++)
            put_label(s, &o, parts[p]->at[i]);
    return o;
}

/* Whether the elements of an input, or the output, lie in this order. */
static bool lies_so(const struct einsum *s, const struct order *o, int place)
{
    int64_t stride = 1;

    for (int i = o->count - 1; i >= 0; i--) {
        const struct label *l = &s->label[o->at[i]];

        if (l->dim != 1 && l->stride[place] != stride)
            return false;
        stride *= l->dim;
    }
    return true;
}

/* ---- Copies -------------------------------------------------------------- */

static enum tfd_code new_scratch(struct einsum *s, enum tfd_dtype dtype,
                                 int64_t elements, void **data,
                                 struct tfd_status *st)
{
    struct tfd_shape shape = {1, {elements}};
    struct tfd_tensor *t = &s->scratch[s->scratch_count];

    if (s->scratch_count == SCRATCH_MAX)
        return tfd_fail(st, TFD_INTERNAL, "Einsum wants more than %d tensors",
                        SCRATCH_MAX);
    TFD_TRY(tfd_tensor_new(t, dtype, &shape, st));
    s->scratch_count++;
    *data = tfd_tensor_data(t);
    return TFD_OK;
}

/* Between memory in this order and an input or the output (place 2). */
static enum tfd_code move_labels(struct tfd_kctx *k, const struct einsum *s,
                                 const struct order *o, int place,
                                 enum tfd_dtype dtype, void *to,
                                 const void *from, struct tfd_status *st)
{
    int64_t packed[TFD_RANK_MAX], own[TFD_RANK_MAX];
    struct tfd_shape box = {.rank = 0};

    for (int i = 0; i < o->count; i++) {
        const struct label *l = &s->label[o->at[i]];

        if (l->dim == 1)
            continue;
        if (box.rank == TFD_RANK_MAX)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "Einsum of more than %d dimensions at a time",
                            TFD_RANK_MAX);
        own[box.rank] = l->stride[place];
        box.dim[box.rank++] = l->dim;
    }
    tfd_element_strides(&box, packed);
    if (tfd_shape_elements(&box) == 0)
        return TFD_OK;
    return tfd_elements_box(k, dtype, &box, to, place == 2 ? own : packed, from,
                            place == 2 ? packed : own, st);
}

/* Sums of the last `run` elements of each row, as a product with ones. */
static enum tfd_code sum_rows(struct tfd_kctx *k, struct einsum *s,
                              enum tfd_dtype dtype, int64_t rows, int64_t run,
                              const void *x, void **y, struct tfd_status *st)
{
    struct tfd_gemm g = {.dtype = dtype, .m = rows, .n = 1, .k = run};
    void *ones = NULL;

    TFD_TRY(new_scratch(s, dtype, run, &ones, st));
    TFD_TRY(new_scratch(s, dtype, rows, y, st));
    switch (dtype) {
#define ONES(name, number, T)             \
    case TFD_##name:                      \
        for (int64_t i = 0; i < run; i++) \
            ((T *)ones)[i] = (T)1;        \
        break;
        ONES(FLOAT, 1, float)
        ONES(DOUBLE, 2, double)
        ONES(INT32, 3, int32_t)
        ONES(INT64, 9, int64_t)
    case TFD_COMPLEX64:
        for (int64_t i = 0; i < run; i++)
            ((tfd_complex64 *)ones)[i] = (tfd_complex64){1, 0};
        break;
    default:
        for (int64_t i = 0; i < run; i++)
            ((tfd_complex128 *)ones)[i] = (tfd_complex128){1, 0};
    }
    g.a = x;
    g.b = ones;
    g.c = *y;
    g.lda = run;
    g.ldb = g.ldc = 1;
    if (rows > 0)
        tfd_gemm_parallel(k, &g);
    return TFD_OK;
}

static enum tfd_dtype computed_in(enum tfd_dtype dtype)
{
    return tfd_dtype_is_narrow(dtype) ? TFD_FLOAT : dtype;
}

/* Input `i` in the order `o`, then `summed`, which are summed up; of a type
 * that products are made of. */
static enum tfd_code pack_input(struct tfd_kctx *k, struct einsum *s, int i,
                                const struct order *o,
                                const struct order *summed, const void **data,
                                struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[i];
    const struct order all = joined(s, o, summed, NULL);
    const enum tfd_dtype type = s->type;
    const void *from = tfd_tensor_data(x);
    void *to = NULL;

    if (!lies_so(s, &all, i)) {
        TFD_TRY(new_scratch(s, x->dtype, all.elements, &to, st));
        TFD_TRY(move_labels(k, s, &all, i, x->dtype, to, from, st));
        from = to;
    }
    if (type != x->dtype) {
        TFD_TRY(new_scratch(s, type, all.elements, &to, st));
        if (all.elements > 0)
            tfd_narrow_widen(x->dtype, from, to, all.elements);
        from = to;
    }
    if (summed->count > 0) {
        TFD_TRY(
            sum_rows(k, s, type, o->elements, summed->elements, from, &to, st));
        from = to;
    }
    *data = from;
    return TFD_OK;
}

/* What lies in the order `o` becomes the output, which is there. */
static enum tfd_code put_result(struct tfd_kctx *k, struct einsum *s,
                                const struct order *o, const void *from,
                                struct tfd_status *st)
{
    struct tfd_tensor *y = &k->out[0];
    void *rounded = NULL;

    if (s->type != y->dtype) {
        TFD_TRY(new_scratch(s, y->dtype, o->elements, &rounded, st));
        tfd_narrow_round(y->dtype, from, rounded, o->elements);
        from = rounded;
    }
    if (s->repeats)
        tfd_elements_clear(y);
    return move_labels(k, s, o, 2, y->dtype, tfd_tensor_data(y), from, st);
}

/* ---- Products ------------------------------------------------------------ */

/* What the product is made in; sums of one input alone are made in float. */
static enum tfd_dtype product_type(const struct tfd_kctx *k,
                                   const struct einsum *s,
                                   const struct order *left,
                                   const struct order *right,
                                   const struct order *summed)
{
    if (k->in[0].dtype == TFD_BFLOAT16 && summed[0].count == 0 &&
        summed[1].count == 0 &&
        tfd_gemm_wants_bfloat16(left->elements, right->elements))
        return TFD_BFLOAT16;
    return s->type;
}

static enum tfd_code multiply(struct tfd_kctx *k, struct einsum *s,
                              struct tfd_status *st)
{
    const struct order batch = labels_in(s, true, true, true);
    const struct order contract = labels_in(s, true, true, false);
    const struct order left = labels_in(s, true, false, true);
    const struct order right = labels_in(s, false, true, true);
    const struct order summed[2] = {labels_in(s, true, false, false),
                                    labels_in(s, false, true, false)};
    const struct order turned[2] = {joined(s, &batch, &contract, &left),
                                    joined(s, &batch, &right, &contract)};
    struct order use[2] = {joined(s, &batch, &left, &contract),
                           joined(s, &batch, &contract, &right)};
    const struct order result = joined(s, &batch, &left, &right);
    const enum tfd_dtype type = product_type(k, s, &left, &right, summed);
    struct tfd_batch_matmul_plan p = {.count = batch.elements};
    const bool straight = type == TFD_FLOAT && batch.elements == 1 &&
                          tfd_gemm_wants_straight(left.elements, right.elements,
                                                  contract.elements);
    bool turn[2], direct;
    void *c = tfd_tensor_data(&k->out[0]);

    s->type = type;
    if (contract.elements == 0) { /* sums of nothing */
        tfd_elements_clear(&k->out[0]);
        return TFD_OK;
    }
    for (int i = 0; i < 2; i++) {
        turn[i] = summed[i].count == 0 && lies_so(s, &turned[i], i) &&
                  !lies_so(s, &use[i], i) && (i == 0 || !straight);
        use[i] = turn[i] ? turned[i] : use[i];
    }
    p.g = (struct tfd_gemm){.dtype = type,
                            .transpose_a = turn[0],
                            .transpose_b = turn[1],
                            .m = left.elements,
                            .n = right.elements,
                            .k = contract.elements};
    p.g.lda = turn[0] ? p.g.m : p.g.k;
    p.g.ldb = turn[1] ? p.g.k : p.g.n;
    p.g.ldc = p.g.n;
    if (p.count > 1) {
        p.shape = (struct tfd_shape){1, {p.count}};
        p.step[0][0] = p.step[1][0] = 1;
    }
    TFD_TRY(pack_input(k, s, 0, &use[0], &summed[0], &p.g.a, st));
    TFD_TRY(pack_input(k, s, 1, &use[1], &summed[1], &p.g.b, st));
    direct = !s->repeats && type == k->out[0].dtype && lies_so(s, &result, 2);
    if (!direct)
        TFD_TRY(new_scratch(s, type, result.elements, &c, st));
    p.g.c = c;
    tfd_batch_matmul_run(k, &p);
    return direct ? TFD_OK : put_result(k, s, &result, c, st);
}

static enum tfd_code rearrange(struct tfd_kctx *k, struct einsum *s,
                               struct tfd_status *st)
{
    const struct order kept = labels_in(s, true, false, true);
    const struct order summed = labels_in(s, true, false, false);
    const void *data;

    TFD_TRY(pack_input(k, s, 0, &kept, &summed, &data, st));
    return put_result(k, s, &kept, data, st);
}

static enum tfd_code run_einsum(struct tfd_kctx *k, struct einsum *s,
                                struct tfd_status *st)
{
    const int more = ellipsis_rank(s, k);

    for (int i = 0; i < s->e.in_count; i++) {
        s->shape[i] = &k->in[i].shape;
        TFD_TRY(take_shape(s, i, s->shape[i], st));
    }
    s->type = computed_in(k->in[0].dtype);
    TFD_TRY(check_ellipsis(s, more, st));
    TFD_TRY(take_output(s, more, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &s->out, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return (s->e.in_count == 2 ? multiply : rearrange)(k, s, st);
}

static enum tfd_code einsum_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct einsum s = {.e = *(const struct tfd_einsum_equation *)k->state};
    enum tfd_code rc = run_einsum(k, &s, st);

    for (int i = 0; i < s.scratch_count; i++)
        tfd_tensor_unref(&s.scratch[i]);
    return rc;
}

static enum tfd_code einsum_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_str text;

    tfd_gemm_init();
    TFD_TRY(tfd_node_str(p->node, "equation", &text, st));
    return tfd_einsum_parse(text, p->node->in_count, state, st);
}

static enum tfd_code einsum_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_einsum_equation e;
    struct tfd_str text;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_node_str(s->node, "equation", &text, st));
    TFD_TRY(tfd_einsum_parse(text, s->in_count, &e, st));
    if (e.out.ellipsis >= 0 || e.out.count > TFD_RANK_MAX)
        return TFD_OK;
    s->out[0].rank = e.out.count;
    for (int d = 0; d < e.out.count; d++)
        s->out[0].dim[d] = TFD_DIM_UNKNOWN;
    for (int i = 0; i < s->in_count; i++)
        for (int d = 0; e.in[i].ellipsis < 0 && d < s->in[i].rank &&
                        s->in[i].rank == e.in[i].count;
             d++)
            for (int o = 0; o < e.out.count; o++)
                if (e.out.label[o] == e.in[i].label[d] && s->in[i].dim[d] >= 0)
                    s->out[0].dim[o] = s->in[i].dim[d];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Einsum",
        .inputs = "inputs: N * T",
        .outputs = "output: T",
        .attrs = "equation: string; N: int >= 1; T: type",
        .shape = einsum_shape,
        .grad = tfd_einsum_gradient,
    },
};

#define KERNEL(type)                                                      \
    TFD_KERNEL("Einsum", type, einsum_compute, .prepare = einsum_prepare, \
               .state_size = sizeof(struct tfd_einsum_equation))

static const struct tfd_kernel kernels[] = {
    KERNEL(FLOAT), KERNEL(DOUBLE), KERNEL(HALF),      KERNEL(BFLOAT16),
    KERNEL(INT32), KERNEL(INT64),  KERNEL(COMPLEX64), KERNEL(COMPLEX128),
};

const struct tfd_family tfd_family_einsum = {
    .name = "einsum",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
