/*
 * conv_primitive.c - see conv_primitive.h.
 *
 * What a primitive works in is the caller's, so that it may run on several
 * threads: oneDNN's own is that of the thread which compiled it.
 */
#include "kernels/conv/conv_primitive.h"

#include "common/base/alloc.h"
#include "config/limits.h"
#include "kernels/linalg/dnnl.h"

#include <stdlib.h>
#include <string.h>

#if TFD_DNNL_PRIMITIVES

/* The generated code counts in 32 bits. */
#define SIDE_MAX 32768
#define ELEMENTS_MAX 0x1p28

struct tfd_conv_primitive {
    int64_t kind;
    dnnl_primitive_t convolve, reorder;
    dnnl_memory_desc_t x, y, plain, packed;
    dnnl_memory_desc_t work, reorder_work; /* to work in; may be of 0 bytes */
    size_t x_size, y_size, packed_size;
};

/* ---- Compiling ----------------------------------------------------------- */

/* What descriptors are made of; w may lie as the library likes. */
struct layout {
    dnnl_memory_desc_t x, w, y;
    dnnl_dims_t strides, dilations, before, after;
};

/* From the first element of a window to its last. */
static int64_t extent(const struct tfd_window_side *s)
{
    return (s->size - 1) * s->dilation + 1;
}

/* What the last window lacks; less than 0 when elements are left over. */
static int64_t after(const struct tfd_window_side *s)
{
    return (s->out - 1) * s->stride + extent(s) - s->in - s->before;
}

static bool in_range(int64_t value)
{
    return value > 0 && value <= SIDE_MAX;
}

/* No window lies outside the image, and no number is out of the ordinary.  With
 * a window that is longer than the image, code of oneDNN 2.6 for AVX-512 reads
 * beyond the image's end. */
static bool is_ordinary_side(const struct tfd_window_side *s)
{
    return in_range(s->in) && in_range(s->out) && in_range(s->size) &&
           in_range(s->stride) && in_range(s->dilation) && s->before >= 0 &&
           extent(s) <= s->in && s->before < extent(s) &&
           after(s) > -s->stride && after(s) < extent(s);
}

static bool is_ordinary(const struct tfd_conv_shape_key *key)
{
    const double in = (double)key->in_channels, out = (double)key->out_channels;
    const double images = (double)key->images;

    const bool deep = key->plane.size != 0;

    if (deep && !is_ordinary_side(&key->plane))
        return false;
    return images > 0 && in > 0 && out > 0 && is_ordinary_side(&key->row) &&
           is_ordinary_side(&key->column) &&
           images * in * (double)(key->row.in * key->column.in) *
                   (double)(deep ? key->plane.in : 1) <=
               ELEMENTS_MAX &&
           images * out * (double)(key->row.out * key->column.out) *
                   (double)(deep ? key->plane.out : 1) <=
               ELEMENTS_MAX &&
           in * out * (double)(key->row.size * key->column.size) *
                   (double)(deep ? key->plane.size : 1) <=
               ELEMENTS_MAX;
}

/* Sizes of x, w and y, in the library's order. */
struct dims {
    dnnl_dims_t x, w, y;
};

/* Fills dimensions [2, result): an image has no planes. */
static int set_sides(const struct tfd_conv_shape_key *key, struct layout *l,
                     struct dims *d)
{
    const struct tfd_window_side *all[] = {&key->plane, &key->row,
                                           &key->column};
    const struct tfd_window_side **sides = all + (key->plane.size == 0);
    const int count = key->plane.size ? 3 : 2;

    for (int i = 0; i < count; i++) {
        l->strides[i] = sides[i]->stride;
        l->dilations[i] = sides[i]->dilation - 1;
        l->before[i] = sides[i]->before;
        l->after[i] = after(sides[i]);
        d->x[2 + i] = sides[i]->in;
        d->w[2 + i] = sides[i]->size;
        d->y[2 + i] = sides[i]->out;
    }
    return 2 + count;
}

static bool make_layout(const struct tfd_dnnl *f,
                        const struct tfd_conv_shape_key *key, struct layout *l,
                        dnnl_memory_desc_t *plain)
{
    struct dims d = {{key->images, key->in_channels},
                     {key->out_channels, key->in_channels},
                     {key->images, key->out_channels}};
    const int n = set_sides(key, l, &d);
    const dnnl_format_tag_t image = n == 5 ? dnnl_ndhwc : dnnl_nhwc;
    const dnnl_data_type_t type = key->bfloat16 ? dnnl_bf16 : dnnl_f32;
    const dnnl_data_type_t w = key->kind == TFD_CONV_FILTER ? dnnl_f32 : type;

    return !f->memory_desc_init_by_tag(&l->x, n, d.x, type, image) &&
           !f->memory_desc_init_by_tag(&l->y, n, d.y, type, image) &&
           !f->memory_desc_init_by_tag(&l->w, n, d.w, w, dnnl_format_tag_any) &&
           !f->memory_desc_init_by_tag(plain, n, d.w, w,
                                       n == 5 ? dnnl_dhwio : dnnl_hwio);
}

/* Its weights are of the type of x, though gradients by them may be wider. */
static bool describe_forward(const struct tfd_dnnl *f, const struct layout *l,
                             dnnl_convolution_desc_t *d)
{
    dnnl_memory_desc_t w = l->w;

    w.data_type = l->x.data_type;
    return !f->dilated_convolution_forward_desc_init(
        d, dnnl_forward_training, dnnl_convolution_direct, &l->x, &w, NULL,
        &l->y, l->strides, l->dilations, l->before, l->after);
}

static bool describe_input(const struct tfd_dnnl *f, const struct layout *l,
                           dnnl_convolution_desc_t *d)
{
    return !f->dilated_convolution_backward_data_desc_init(
        d, dnnl_convolution_direct, &l->x, &l->w, &l->y, l->strides,
        l->dilations, l->before, l->after);
}

static bool describe_filter(const struct tfd_dnnl *f, const struct layout *l,
                            dnnl_convolution_desc_t *d)
{
    return !f->dilated_convolution_backward_weights_desc_init(
        d, dnnl_convolution_direct, &l->x, &l->w, NULL, &l->y, l->strides,
        l->dilations, l->before, l->after);
}

/* By kind: how it is described, and what its arguments are called. */
static const struct {
    bool (*describe)(const struct tfd_dnnl *f, const struct layout *l,
                     dnnl_convolution_desc_t *d);
    dnnl_query_t packed;
    int x, w, y;
} kinds[] = {
    [TFD_CONV_FORWARD] = {describe_forward, dnnl_query_weights_md, DNNL_ARG_SRC,
                          DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
    [TFD_CONV_INPUT] = {describe_input, dnnl_query_weights_md,
                        DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
    [TFD_CONV_FILTER] = {describe_filter, dnnl_query_diff_weights_md,
                         DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS,
                         DNNL_ARG_DIFF_DST},
};

/* "ref:any" is slow, and "x64:gemm:jit" is what conv_gemm.c does. */
static bool is_fast(const struct tfd_dnnl *f, const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;

    return !f->primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) &&
           name && !strstr(name, "ref") && !strstr(name, "gemm");
}

/* A gradient wants to see the convolution that it belongs to. */
static dnnl_status_t choose_primitive(const struct tfd_dnnl *f, int64_t kind,
                                      const struct layout *l,
                                      const_dnnl_primitive_attr_t attr,
                                      dnnl_primitive_desc_t *chosen)
{
    dnnl_primitive_desc_t forward;
    dnnl_convolution_desc_t d;
    dnnl_status_t rc;

    if (!describe_forward(f, l, &d))
        return dnnl_invalid_arguments;
    rc = f->primitive_desc_create(&forward, &d, attr, f->engine, NULL);
    if (rc != dnnl_success)
        return rc;
    if (kind == TFD_CONV_FORWARD) {
        *chosen = forward;
        return rc;
    }
    rc = kinds[kind].describe(f, l, &d)
             ? f->primitive_desc_create(chosen, &d, attr, f->engine, forward)
             : dnnl_invalid_arguments;
    f->primitive_desc_destroy(forward);
    return rc;
}

static bool measure(const struct tfd_dnnl *f, struct tfd_conv_primitive *p,
                    const_dnnl_primitive_desc_t pd)
{
    p->packed = *f->primitive_desc_query_md(pd, kinds[p->kind].packed, 0);
    p->work = *f->primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    p->x_size = f->memory_desc_get_size(&p->x);
    p->y_size = f->memory_desc_get_size(&p->y);
    p->packed_size = f->memory_desc_get_size(&p->packed);
    return p->packed_size <= TFD_CONV_PACKED_SIZE_MAX &&
           f->memory_desc_get_size(&p->work) <= TFD_CONV_WORK_SIZE_MAX;
}

static dnnl_status_t compile(const struct tfd_dnnl *f,
                             struct tfd_conv_primitive *p,
                             const_dnnl_primitive_desc_t pd)
{
    if (!is_fast(f, pd) || !measure(f, p, pd))
        return dnnl_unimplemented;
    return f->primitive_create(&p->convolve, pd);
}

static dnnl_status_t compile_reorder(const struct tfd_dnnl *f,
                                     struct tfd_conv_primitive *p,
                                     const_dnnl_primitive_attr_t attr)
{
    const bool unpack = p->kind == TFD_CONV_FILTER;
    dnnl_primitive_desc_t pd;
    dnnl_status_t rc = f->reorder_primitive_desc_create(
        &pd, unpack ? &p->packed : &p->plain, f->engine,
        unpack ? &p->plain : &p->packed, f->engine, attr);

    if (rc != dnnl_success)
        return rc;
    rc = f->primitive_create(&p->reorder, pd);
    p->reorder_work =
        *f->primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    f->primitive_desc_destroy(pd);
    return rc;
}

static dnnl_status_t make_conv_primitive(const struct tfd_dnnl *f,
                                         struct tfd_conv_primitive *p,
                                         const struct tfd_conv_shape_key *key,
                                         const_dnnl_primitive_attr_t attr)
{
    dnnl_primitive_desc_t pd;
    struct layout l;
    dnnl_status_t rc;

    if (!is_ordinary(key) || !make_layout(f, key, &l, &p->plain))
        return dnnl_invalid_arguments;
    p->kind = key->kind;
    p->x = l.x;
    p->y = l.y;
    rc = choose_primitive(f, key->kind, &l, attr, &pd);
    if (rc != dnnl_success)
        return rc;
    rc = compile(f, p, pd);
    if (rc == dnnl_success)
        rc = compile_reorder(f, p, attr);
    f->primitive_desc_destroy(pd);
    return rc;
}

static dnnl_status_t make_with_attributes(const struct tfd_dnnl *f,
                                          struct tfd_conv_primitive *p,
                                          const struct tfd_conv_shape_key *key)
{
    dnnl_primitive_attr_t attr;
    dnnl_status_t rc = f->primitive_attr_create(&attr);

    if (rc != dnnl_success)
        return rc;
    rc = f->primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (rc == dnnl_success)
        rc = make_conv_primitive(f, p, key, attr);
    f->primitive_attr_destroy(attr);
    return rc;
}

struct tfd_conv_primitive *
tfd_conv_primitive_new(const struct tfd_conv_shape_key *key, bool *refused)
{
    struct tfd_conv_primitive *p = calloc(1, sizeof(*p));
    dnnl_status_t rc = dnnl_out_of_memory;

    if (p && tfd_dnnl_has_primitives())
        rc = make_with_attributes(tfd_dnnl(), p, key);
    *refused = rc == dnnl_unimplemented || rc == dnnl_invalid_arguments;
    if (rc == dnnl_success)
        return p;
    tfd_conv_primitive_free(p);
    return NULL;
}

void tfd_conv_primitive_free(struct tfd_conv_primitive *p)
{
    const struct tfd_dnnl *f = tfd_dnnl();

    if (p && p->reorder)
        f->primitive_destroy(p->reorder);
    if (p && p->convolve)
        f->primitive_destroy(p->convolve);
    free(p);
}

/* ---- Running ------------------------------------------------------------- */

#define ARGS_MAX 4

/* One thread's arguments, and the order of its calls. */
struct call {
    const struct tfd_dnnl *f;
    dnnl_stream_t stream;
    dnnl_exec_arg_t args[ARGS_MAX];
    int count;
    struct tfd_buffer *work;
    bool failed;
};

static void add_argument(struct call *c, int arg, const dnnl_memory_desc_t *d,
                         void *bytes)
{
    dnnl_memory_t m;

    if (!c->failed &&
        c->f->memory_create(&m, d, c->f->engine, bytes) == dnnl_success)
        c->args[c->count++] = (dnnl_exec_arg_t){arg, m};
    else
        c->failed = true;
}

static struct call begin_call(const dnnl_memory_desc_t *work)
{
    struct call c = {.f = tfd_dnnl()};
    const size_t size = c.f->memory_desc_get_size(work);

    if (c.f->stream_create(&c.stream, c.f->engine, dnnl_stream_default_flags)) {
        c.stream = NULL;
        c.failed = true;
    }
    if (size == 0)
        return c;
    c.work = tfd_buffer_new(size);
    if (c.work)
        add_argument(&c, DNNL_ARG_SCRATCHPAD, work, c.work->data);
    else
        c.failed = true;
    return c;
}

static void execute(struct call *c, const_dnnl_primitive_t p)
{
    struct tfd_dnnl_signals signals;

    if (c->failed)
        return;
    tfd_dnnl_begin(&signals);
    c->failed = c->f->primitive_execute(p, c->stream, c->count, c->args) !=
                dnnl_success;
    tfd_dnnl_end(&signals);
}

static bool end_call(struct call *c)
{
    while (c->count > 0)
        c->f->memory_destroy(c->args[--c->count].memory);
    if (c->stream)
        c->f->stream_destroy(c->stream);
    tfd_buffer_unref(c->work);
    return !c->failed;
}

size_t tfd_conv_primitive_packed(const struct tfd_conv_primitive *p)
{
    return p->packed_size;
}

bool tfd_conv_primitive_packs_alike(const struct tfd_conv_primitive *p,
                                    const struct tfd_conv_primitive *q)
{
    return tfd_dnnl()->memory_desc_equal(&p->packed, &q->packed);
}

bool tfd_conv_primitive_reorder(const struct tfd_conv_primitive *p,
                                const void *from, void *to)
{
    const bool unpack = p->kind == TFD_CONV_FILTER;
    struct call c = begin_call(&p->reorder_work);

    add_argument(&c, DNNL_ARG_FROM, unpack ? &p->packed : &p->plain,
                 (void *)from);
    add_argument(&c, DNNL_ARG_TO, unpack ? &p->plain : &p->packed, to);
    execute(&c, p->reorder);
    return end_call(&c);
}

/* x and y are the last that were added. */
static void move_layout(struct call *c, void *x, void *y)
{
    c->f->memory_set_data_handle(c->args[c->count - 2].memory, x);
    c->f->memory_set_data_handle(c->args[c->count - 1].memory, y);
}

bool tfd_conv_primitive_run(const struct tfd_conv_primitive *p, void *x,
                            void *packed, void *y, int64_t times)
{
    struct call c = begin_call(&p->work);

    add_argument(&c, kinds[p->kind].w, &p->packed, packed);
    add_argument(&c, kinds[p->kind].x, &p->x, x);
    add_argument(&c, kinds[p->kind].y, &p->y, y);
    for (int64_t i = 0; !c.failed && i < times; i++) {
        if (i > 0)
            move_layout(&c, (char *)x + (size_t)i * p->x_size,
                        (char *)y + (size_t)i * p->y_size);
        execute(&c, p->convolve);
    }
    return end_call(&c);
}

#else

struct tfd_conv_primitive *
tfd_conv_primitive_new(const struct tfd_conv_shape_key *key, bool *refused)
{
    (void)key;
    *refused = true;
    return NULL;
}

void tfd_conv_primitive_free(struct tfd_conv_primitive *p)
{
    (void)p;
}

size_t tfd_conv_primitive_packed(const struct tfd_conv_primitive *p)
{
    (void)p;
    return 0;
}

bool tfd_conv_primitive_packs_alike(const struct tfd_conv_primitive *p,
                                    const struct tfd_conv_primitive *q)
{
    return p == q;
}

bool tfd_conv_primitive_reorder(const struct tfd_conv_primitive *p,
                                const void *from, void *to)
{
    (void)p;
    (void)from;
    (void)to;
    return false;
}

bool tfd_conv_primitive_run(const struct tfd_conv_primitive *p, void *x,
                            void *packed, void *y, int64_t times)
{
    (void)p;
    (void)x;
    (void)packed;
    (void)y;
    (void)times;
    return false;
}

#endif
