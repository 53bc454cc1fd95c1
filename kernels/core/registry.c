/*
 * registry.c - see registry.h.
 *
 * Kernels stay where their families have them; for each op the registry holds
 * an array of pointers to its rows.  An op has a few dozen rows at most and a
 * kernel is chosen when a graph is registered, so they are searched in turn.
 */
#include "kernels/core/registry.h"

#include "kernels/layout/long_shape.h"

#include <string.h>

#define ARENA_MAX ((size_t)16 << 20) /* 8 bytes for each row of ours */

/* ---- Building ------------------------------------------------------------ */

static enum tfd_code add_ops(struct tfd_registry *r, const struct tfd_family *f,
                             struct tfd_status *st)
{
    for (int i = 0; i < f->op_count; i++)
        if (tfd_op_set_add(&r->ops, &f->ops[i], st)) {
            tfd_status_context(st, "family %s", f->name);
            return TFD_INTERNAL;
        }
    return TFD_OK;
}

static enum tfd_code fail_undefined(const struct tfd_family *f, const char *op,
                                    struct tfd_status *st)
{
    return tfd_fail(st, TFD_INTERNAL,
                    "family %s: a kernel for the op %s, which nobody defines",
                    f->name, op ? op : "(none)");
}

static enum tfd_code find_op(const struct tfd_registry *r,
                             const struct tfd_family *f, const char *name,
                             int *op, struct tfd_status *st)
{
    *op = tfd_op_index(&r->ops, tfd_str_of(name));
    return *op < 0 ? fail_undefined(f, name, st) : TFD_OK;
}

static enum tfd_code count_kernels(struct tfd_registry *r,
                                   const struct tfd_family *f,
                                   struct tfd_status *st)
{
    int op;

    for (int i = 0; i < f->kernel_count; i++) {
        TFD_TRY(find_op(r, f, f->kernels[i].op, &op, st));
        r->kernel_count[op]++;
        r->has_gpu |= f->kernels[i].device == TFD_GPU;
    }
    return TFD_OK;
}

static enum tfd_code add_kernel(struct tfd_registry *r, int op,
                                const struct tfd_kernel *k,
                                struct tfd_status *st)
{
    const struct tfd_kernel **row = r->kernels[op];

    for (; *row; row++)
        if ((*row)->dtype == k->dtype && (*row)->device == k->device)
            return tfd_fail(st, TFD_INTERNAL,
                            "op %s has two kernels for type %s on one kind of "
                            "device",
                            k->op, tfd_dtype_name((int)k->dtype));
    *row = k;
    return TFD_OK;
}

static enum tfd_code add_kernels(struct tfd_registry *r,
                                 const struct tfd_family *f,
                                 struct tfd_status *st)
{
    int op;

    for (int i = 0; i < f->kernel_count; i++) {
        TFD_TRY(find_op(r, f, f->kernels[i].op, &op, st));
        TFD_TRY(add_kernel(r, op, &f->kernels[i], st));
    }
    return TFD_OK;
}

/* One more than there are, so that each row ends with NULL. */
static enum tfd_code make_rows(struct tfd_registry *r, struct tfd_status *st)
{
    for (int i = 0; i < r->ops.count; i++) {
        r->kernels[i] = tfd_arena_array(
            &r->arena, (size_t)r->kernel_count[i] + 1, sizeof(*r->kernels[i]));
        TFD_TRY(tfd_arena_check(r->kernels[i], "kernels", st));
    }
    return TFD_OK;
}

/* ---- Borrowed kernels ---------------------------------------------------- */

static int count_types(uint32_t types)
{
    return types ? __builtin_popcount(types) : 1;
}

/* Room for the rows that a family borrows, at most. */
static enum tfd_code count_borrowed(struct tfd_registry *r,
                                    const struct tfd_family *f,
                                    struct tfd_status *st)
{
    int op;

    for (int i = 0; i < f->borrowed_count; i++) {
        const struct tfd_borrowed *b = &f->borrowed[i];

        TFD_TRY(find_op(r, f, b->op, &op, st));
        r->kernel_count[op] += count_types(b->types);
    }
    return TFD_OK;
}

/* The CPU's row for a type; 0: the first there is. */
static const struct tfd_kernel *lender(const struct tfd_kernel *const *row,
                                       int type)
{
    for (; *row; row++)
        if ((*row)->device == TFD_CPU &&
            (type == 0 || (*row)->dtype == TFD_DTYPE_INVALID ||
             (int)(*row)->dtype == type))
            return *row;
    return NULL;
}

static enum tfd_code lend(struct tfd_registry *r, int op,
                          const struct tfd_borrowed *b, int type,
                          struct tfd_status *st)
{
    const struct tfd_kernel *k = lender(r->kernels[op], type);
    struct tfd_kernel *mine;

    if (!k) {
        r->kernel_count[op]--;
        return TFD_OK;
    }
    mine = tfd_arena_alloc(&r->arena, sizeof(*mine));
    TFD_TRY(tfd_arena_check(mine, "kernels", st));
    *mine = *k;
    mine->dtype = (enum tfd_dtype)type;
    mine->device = TFD_GPU;
    mine->host_in = b->host_in;
    mine->host_out = b->host_out;
    return add_kernel(r, op, mine, st);
}

/* Types that the CPU has no kernel for are left out. */
static enum tfd_code add_borrowed(struct tfd_registry *r,
                                  const struct tfd_family *f,
                                  struct tfd_status *st)
{
    for (int i = 0; i < f->borrowed_count; i++) {
        const struct tfd_borrowed *b = &f->borrowed[i];
        int op = tfd_op_index(&r->ops, tfd_str_of(b->op));

        for (int type = 0; type < TFD_DTYPE_END; type++)
            if (b->types ? b->types >> type & 1 : type == 0)
                TFD_TRY(lend(r, op, b, type, st));
    }
    return TFD_OK;
}

static enum tfd_code build_tables(struct tfd_registry *r,
                                  const struct tfd_family *const *families,
                                  int count, struct tfd_status *st)
{
    size_t ops;

    for (int i = 0; i < count; i++)
        TFD_TRY(add_ops(r, families[i], st));
    ops = (size_t)r->ops.count;
    r->kernels = tfd_arena_array(&r->arena, ops, sizeof(*r->kernels));
    r->kernel_count = tfd_arena_array(&r->arena, ops, sizeof(int));
    if (!r->kernels || !r->kernel_count)
        return tfd_arena_check(NULL, "kernels", st);
    for (int i = 0; i < count; i++)
        TFD_TRY(count_kernels(r, families[i], st));
    for (int i = 0; i < count; i++)
        TFD_TRY(count_borrowed(r, families[i], st));
    TFD_TRY(make_rows(r, st));
    for (int i = 0; i < count; i++)
        TFD_TRY(add_kernels(r, families[i], st));
    for (int i = 0; i < count; i++)
        TFD_TRY(add_borrowed(r, families[i], st));
    return TFD_OK;
}

enum tfd_code tfd_registry_init(struct tfd_registry *r,
                                const struct tfd_family *const *families,
                                int count, struct tfd_status *st)
{
    enum tfd_code rc;

    *r = (struct tfd_registry){.kernels = NULL};
    tfd_op_set_init(&r->ops);
    tfd_arena_init(&r->arena, ARENA_MAX);
    rc = build_tables(r, families, count, st);
    if (rc != TFD_OK)
        tfd_registry_deinit(r);
    return rc;
}

void tfd_registry_deinit(struct tfd_registry *r)
{
    tfd_op_set_deinit(&r->ops);
    tfd_arena_deinit(&r->arena);
    r->kernels = NULL;
    r->kernel_count = NULL;
}

/* ---- Checking ------------------------------------------------------------ */

static enum tfd_code check_kernel(const struct tfd_family *f,
                                  const struct tfd_op *op,
                                  const struct tfd_kernel *k,
                                  struct tfd_status *st)
{
    if (!k->compute == !k->start)
        return tfd_fail(st, TFD_INTERNAL,
                        "family %s: a kernel for the op %s needs compute or "
                        "start, and not both",
                        f->name, k->op);
    if (k->dtype &&
        (op->key_attr < 0 || !(op->attrs[op->key_attr].types >> k->dtype & 1)))
        return tfd_fail(st, TFD_INTERNAL,
                        "family %s: the op %s does not come in type %s",
                        f->name, k->op, tfd_dtype_name((int)k->dtype));
    return TFD_OK;
}

static enum tfd_code check_family(const struct tfd_registry *r,
                                  const struct tfd_family *f,
                                  struct tfd_status *st)
{
    for (int i = 0; i < f->kernel_count; i++) {
        const struct tfd_kernel *k = &f->kernels[i];
        const struct tfd_op *op = tfd_op_find(&r->ops, tfd_str_of(k->op));

        if (!op)
            return fail_undefined(f, k->op, st);
        TFD_TRY(check_kernel(f, op, k, st));
    }
    return TFD_OK;
}

enum tfd_code tfd_registry_check(const struct tfd_registry *r,
                                 const struct tfd_family *const *families,
                                 int count, struct tfd_status *st)
{
    TFD_TRY(tfd_op_set_check(&r->ops, st));
    for (int i = 0; i < count; i++)
        TFD_TRY(check_family(r, families[i], st));
    return TFD_OK;
}

/* ---- Choosing ------------------------------------------------------------ */

static enum tfd_dtype key_of(const struct tfd_node *n)
{
    enum tfd_dtype key = TFD_DTYPE_INVALID;

    if (n->op->key_attr < 0 ||
        tfd_node_type(n, n->op->attrs[n->op->key_attr].name.data, &key, NULL))
        return TFD_DTYPE_INVALID;
    return key;
}

const struct tfd_kernel *tfd_registry_kernel(const struct tfd_registry *r,
                                             const struct tfd_node *n,
                                             enum tfd_device_kind device)
{
    const struct tfd_kernel *const *row;
    const struct tfd_kernel *any = NULL;
    enum tfd_dtype key = key_of(n);

    if (n->op->index < 0)
        return NULL;
    row = r->kernels[n->op->index];
    for (; *row; row++) {
        if ((*row)->device != device)
            continue;
        if ((*row)->dtype == TFD_DTYPE_INVALID)
            any = *row;
        else if ((*row)->dtype == key)
            return *row;
    }
    return any;
}

/* ---- Shapes -------------------------------------------------------------- */

static void put_shape_node(const struct tfd_shape_ctx *s, struct tfd_bytes *out)
{
    if (s->graph)
        tfd_node_summary(s->graph, s->node, out);
    else
        tfd_bytes_printf(out, "{{node " TFD_STR_FMT "}} = " TFD_STR_FMT,
                         TFD_STR_ARG(s->node->name),
                         TFD_STR_ARG(s->node->op->name));
}

/* "... for '{{node n}} = Op[T=DT_FLOAT](a)' with input shapes: [2], [3]." as
 * TensorFlow. */
static enum tfd_code fail_shapes(const struct tfd_shape_ctx *s,
                                 const struct tfd_status *why,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes node, list;

    tfd_bytes_init(&node, TFD_STATUS_TEXT_MAX);
    tfd_bytes_init(&list, 512);
    put_shape_node(s, &node);
    for (int i = 0; i < s->in_count; i++)
        tfd_bytes_printf(&list, "%s%s", i ? ", " : "",
                         tfd_shape_text(&s->in[i], text));
    tfd_fail(st, why->code,
             "%s for '" TFD_STR_FMT "' with input shapes: " TFD_STR_FMT ".",
             why->text, TFD_STR_ARG(tfd_bytes_view(&node)),
             TFD_STR_ARG(tfd_bytes_view(&list)));
    tfd_bytes_deinit(&node);
    tfd_bytes_deinit(&list);
    return why->code;
}

enum tfd_code tfd_registry_infer(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    tfd_shape_fn *shape = s->node->op->def->shape;
    struct tfd_status why = TFD_STATUS_INIT;

    for (int i = 0; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    if (!shape || tfd_long_infer(s, shape))
        return TFD_OK;
    if (shape(s, &why))
        return fail_shapes(s, &why, st);
    for (int i = 0; i < s->out_count; i++) {
        struct tfd_shape out = s->out[i];

        if (out.rank != TFD_RANK_UNKNOWN && !tfd_shape_is_long(&out) &&
            tfd_shape_make_partial(&s->out[i], out.dim, out.rank, &why))
            return fail_shapes(s, &why, st);
    }
    return TFD_OK;
}
