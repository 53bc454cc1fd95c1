/*
 * stack.c - stacks, in which a while loop keeps what its gradient reads in the
 * reverse order.  The older ops name one by a reference to two strings.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/kept.h"
#include "kernels/core/owner.h"
#include "kernels/core/step_handle.h"

#include "common/thread/lock.h"

#include <stdlib.h>

struct stack {
    struct tfd_resource resource;
    struct tfd_lock lock; /* of what follows */
    enum tfd_dtype dtype;
    int64_t max; /* -1: none */
    bool closed;
    struct tfd_tensor *tensors;
    int64_t count, capacity;
    char name[TFD_STEP_NAME_MAX]; /* for messages */
};

/* ---- Stacks -------------------------------------------------------------- */

static void free_tensors(struct tfd_tensor *tensors, int64_t count)
{
    while (count > 0)
        tfd_tensor_unref(&tensors[--count]);
    free(tensors);
}

/* Closes it.  The tensors are freed without the lock: with the last handle of
 * another resource that one goes, and takes locks of its own. */
static void stack_empty(struct tfd_resource *r)
{
    struct stack *s = (struct stack *)r;
    struct tfd_tensor *tensors;
    int64_t count;

    tfd_lock(&s->lock);
    s->closed = true;
    tensors = s->tensors;
    count = s->count;
    s->tensors = NULL;
    s->count = s->capacity = 0;
    tfd_unlock(&s->lock);
    free_tensors(tensors, count);
}

static void stack_free(struct tfd_resource *r)
{
    struct stack *s = (struct stack *)r;

    free_tensors(s->tensors, s->count);
    tfd_lock_deinit(&s->lock);
    free(s);
}

static const struct tfd_resource_type stack_type = {
    .name = "N10tensorflow5StackE",
    .what = "stack",
    .free = stack_free,
    .empty = stack_empty,
};

static enum tfd_code new_stack(struct tfd_kctx *k, int64_t max,
                               struct stack **out, struct tfd_status *st)
{
    struct stack *s = calloc(1, sizeof(*s));
    struct tfd_str name;

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
    tfd_step_name(k, 0, name, s->name);
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

static enum tfd_code pop_value(struct stack *s, struct tfd_tensor *out,
                               struct tfd_status *st)
{
    TFD_TRY(check_open(s, st));
    if (s->count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Stack[%s] is empty when calling Pop().", s->name);
    *out = s->tensors[--s->count];
    return TFD_OK;
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code stack_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct stack *s = NULL;
    int64_t max = -1;

    if (k->in_count > 0)
        TFD_TRY(tfd_check_int(k, 0, &max, st));
    TFD_TRY(new_stack(k, max, &s, st));
    return tfd_step_handle(k, 0, "_stacks", tfd_str_of(s->name), &s->resource,
                           st);
}

static enum tfd_code find_stack(struct tfd_kctx *k, struct stack **out,
                                struct tfd_status *st)
{
    struct tfd_resource *r;

    TFD_TRY(tfd_step_find(k, &stack_type, &r, st));
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
    struct tfd_tensor top = TFD_TENSOR_INIT;
    struct stack *s;
    enum tfd_code rc;

    TFD_TRY(find_stack(k, &s, st));
    rc = pop_value(s, &top, st);
    leave_stack(s);
    if (rc == TFD_OK)
        rc = tfd_kept_give(k, 0, &top, st);
    tfd_tensor_unref(&top);
    return rc;
}

static enum tfd_code close_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_resource *r;

    TFD_TRY(tfd_step_find(k, &stack_type, &r, st));
    stack_empty(r);
    tfd_resource_unref(r);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define STACK(name_, inputs_, handle_, checks_, shape_)       \
    {                                                         \
        .name = name_, .inputs = inputs_, .outputs = handle_, \
        .attrs = "elem_type: type; stack_name: string = ''",  \
        .checks = checks_, .shape = shape_,                   \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,        \
    }
/* flags_: those of TensorFlow; who has a reference needs none. */
#define USERS(suffix_, handle_, flags_)                                  \
    {                                                                    \
        .name = "StackPush" suffix_,                                     \
        .inputs = handle_ ", elem: T",                                   \
        .outputs = "output: T",                                          \
        .attrs = "T: type; swap_memory: bool = false",                   \
        .flags = (flags_) | TFD_OP_NO_GRADIENT,                          \
    },                                                                   \
        {                                                                \
            .name = "StackPop" suffix_,                                  \
            .inputs = handle_,                                           \
            .outputs = "elem: elem_type",                                \
            .attrs = "elem_type: type",                                  \
            .key = "elem_type",                                          \
            .flags = (flags_) | TFD_OP_NO_GRADIENT,                      \
        },                                                               \
    {                                                                    \
        .name = "StackClose" suffix_, .inputs = handle_,                 \
        .shape = tfd_shape_none, .flags = (flags_) | TFD_OP_NO_GRADIENT, \
    }

#define REF "handle: Ref(string)"
#define RES "handle: resource"

static const struct tfd_opdef ops[] = {
    STACK("Stack", "", REF, NULL, tfd_owner_shape),
    STACK("StackV2", "max_size: int32", RES, "max_size: scalar",
          tfd_shape_scalar),
    USERS("", REF, 0),
    USERS("V2", RES, TFD_OP_STATEFUL),
};

#define BOTH(name_, ...) \
    TFD_KERNEL_ANY(name_, __VA_ARGS__), TFD_KERNEL_ANY(name_ "V2", __VA_ARGS__)

static const struct tfd_kernel kernels[] = {
    BOTH("Stack", stack_compute),
    BOTH("StackPush", push_compute),
    BOTH("StackPop", pop_compute),
    BOTH("StackClose", close_compute),
};

const struct tfd_family tfd_family_stack = {
    .name = "stack",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
