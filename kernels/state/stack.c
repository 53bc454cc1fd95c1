/*
 * stack.c - stacks, in which a while loop keeps what its gradient reads in the
 * reverse order.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/kept.h"
#include "kernels/core/step_handle.h"

#include "common/thread/lock.h"

#include <stdlib.h>
#include <string.h>

struct stack {
    struct tfd_resource resource;
    struct tfd_lock lock; /* of what follows */
    enum tfd_dtype dtype;
    int64_t max; /* -1: none */
    bool closed;
    struct tfd_tensor *tensors;
    int64_t count, capacity;
    char name[128]; /* for messages */
};

/* ---- Stacks -------------------------------------------------------------- */

static void empty(struct stack *s)
{
    while (s->count > 0)
        tfd_tensor_unref(&s->tensors[--s->count]);
}

static void stack_free(struct tfd_resource *r)
{
    struct stack *s = (struct stack *)r;

    empty(s);
    free(s->tensors);
    tfd_lock_deinit(&s->lock);
    free(s);
}

static const struct tfd_resource_type stack_type = {"N10tensorflow5StackE",
                                                    "stack", stack_free};

static enum tfd_code new_stack(const struct tfd_kctx *k, int64_t max,
                               struct stack **out, struct tfd_status *st)
{
    struct stack *s = calloc(1, sizeof(*s));
    struct tfd_str name;
    size_t n;

    if (!s)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a stack");
    tfd_resource_init(&s->resource, &stack_type);
    tfd_lock_init(&s->lock, TFD_LOCK_RESOURCE);
    s->max = max < 0 ? -1 : max;
    if (tfd_node_type(k->node, "elem_type", &s->dtype, st) != TFD_OK ||
        tfd_node_str(k->node, "stack_name", &name, st) != TFD_OK) {
        stack_free(&s->resource);
        return TFD_INVALID_ARGUMENT;
    }
    if (!name.size)
        name = k->node->name;
    n = name.size < sizeof(s->name) ? name.size : sizeof(s->name) - 1;
    memcpy(s->name, name.data, n);
    *out = s;
    return TFD_OK;
}

static enum tfd_code check_open(const struct stack *s, struct tfd_status *st)
{
    return s->closed ? tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Stack[%s] has already been closed.", s->name)
                     : TFD_OK;
}

static enum tfd_code push_value(const struct tfd_kctx *k, struct stack *s,
                                struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1];

    TFD_TRY(check_open(s, st));
    if (t->dtype != s->dtype)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT, "Must have type %s but got %s",
            tfd_dtype_name((int)s->dtype), tfd_dtype_name((int)t->dtype));
    if (s->max >= 0 && s->count >= s->max)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Stack[%s] overflowed its max_size (%lld)", s->name,
                        (long long)s->max);
    if (s->count == s->capacity) {
        int64_t capacity = s->capacity ? 2 * s->capacity : 16;
        struct tfd_tensor *more =
            realloc(s->tensors, sizeof(*more) * (size_t)capacity);

        if (!more)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for a stack of %lld tensors",
                            (long long)capacity);
        s->tensors = more;
        s->capacity = capacity;
    }
    TFD_TRY(tfd_kept_put(k, 1, &s->tensors[s->count], st));
    s->count++;
    return TFD_OK;
}

static enum tfd_code pop_value(struct tfd_kctx *k, struct stack *s,
                               struct tfd_status *st)
{
    struct tfd_tensor *top;

    TFD_TRY(check_open(s, st));
    if (s->count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Stack[%s] is empty when calling Pop().", s->name);
    top = &s->tensors[s->count - 1];
    TFD_TRY(tfd_kept_give(k, 0, top, st));
    tfd_tensor_unref(top);
    s->count--;
    return TFD_OK;
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code stack_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct stack *s = NULL;
    int64_t max;

    TFD_TRY(tfd_check_int(k, 0, &max, st));
    TFD_TRY(new_stack(k, max, &s, st));
    return tfd_step_handle(k, 0, tfd_str_of(s->name), &s->resource, st);
}

static enum tfd_code find_stack(struct tfd_kctx *k, struct stack **out,
                                struct tfd_status *st)
{
    struct tfd_resource *r;

    TFD_TRY(tfd_kctx_resource(k, 0, &stack_type, &r, st));
    *out = (struct stack *)r;
    tfd_lock(&(*out)->lock);
    return TFD_OK;
}

static void leave_stack(struct stack *s)
{
    tfd_unlock(&s->lock);
    tfd_resource_unref(&s->resource);
}

static enum tfd_code push_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[1].shape;
    struct stack *s;
    enum tfd_code rc;

    TFD_TRY(find_stack(k, &s, st));
    rc = push_value(k, s, st);
    leave_stack(s);
    if (rc == TFD_OK)
        tfd_kctx_output_alias(k, 1, 0, &shape);
    return rc;
}

static enum tfd_code pop_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct stack *s;
    enum tfd_code rc;

    TFD_TRY(find_stack(k, &s, st));
    rc = pop_value(k, s, st);
    leave_stack(s);
    return rc;
}

static enum tfd_code close_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct stack *s;

    TFD_TRY(find_stack(k, &s, st));
    s->closed = true;
    empty(s);
    leave_stack(s);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "StackV2",
        .inputs = "max_size: int32",
        .outputs = "handle: resource",
        .attrs = "elem_type: type; stack_name: string = ''",
        .checks = "max_size: scalar",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StackPushV2",
        .inputs = "handle: resource, elem: T",
        .outputs = "output: T",
        .attrs = "T: type; swap_memory: bool = false",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StackPopV2",
        .inputs = "handle: resource",
        .outputs = "elem: elem_type",
        .attrs = "elem_type: type",
        .key = "elem_type",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StackCloseV2",
        .inputs = "handle: resource",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("StackV2", stack_compute),
    TFD_KERNEL_ANY("StackPushV2", push_compute),
    TFD_KERNEL_ANY("StackPopV2", pop_compute),
    TFD_KERNEL_ANY("StackCloseV2", close_compute),
};

const struct tfd_family tfd_family_stack = {
    .name = "stack",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
