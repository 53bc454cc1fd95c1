/*
 * resource_facts.c - see resource_facts.h.
 */
#include "daemon/worker/state/resource_facts.h"

#include "common/thread/lock_try.h"
#include "kernels/list/tensor_array.h"
#include "kernels/state/accumulator_core.h"
#include "kernels/state/barrier_core.h"
#include "kernels/state/queue_core.h"
#include "kernels/state/variable.h"
#include "kernels/tables/lookup_table.h"

/* Tensors of a queue that are looked at. */
#define LOOKED_AT 256

static int64_t value_size(const struct tfd_tensor *t)
{
    return t->dtype == TFD_DTYPE_INVALID ? 0 : (int64_t)tfd_tensor_size(t);
}

/* ---- Kinds --------------------------------------------------------------- */

static void variable_facts(struct tfd_resource *r, struct tfd_resource_facts *f)
{
    struct tfd_variable *v = (struct tfd_variable *)r;

    f->dtype = v->dtype;
    f->shape = v->shape;
    f->has_shape = true;
    if (v->of)
        return; /* its bytes are another's */
    tfd_lock(&v->lock);
    f->bytes = v->initialized ? value_size(&v->value) : 0;
    if (v->initialized)
        f->shape = v->value.shape;
    tfd_unlock(&v->lock);
}

static int64_t row_size(const struct tfd_queue *q, int64_t i)
{
    const struct tfd_queue_row *row =
        q->rows[(q->head + i) & (q->room - 1)].row;
    int64_t size = 0;

    for (int c = 0; c < q->spec.count; c++)
        size += value_size(&row->part[c]);
    return size;
}

static int64_t rows_size(const struct tfd_queue *q)
{
    int64_t some = LOOKED_AT / (q->spec.count > 0 ? q->spec.count : 1) + 1;
    int64_t size = 0;

    if (some > q->count)
        some = q->count;
    for (int64_t i = 0; i < some; i++)
        size += row_size(q, i);
    return some > 0 ? size / some * q->count : 0;
}

static void queue_facts(struct tfd_resource *r, struct tfd_resource_facts *f)
{
    struct tfd_queue *q = (struct tfd_queue *)r;

    if (q->spec.count == 1)
        f->dtype = q->spec.types[0];
    f->capacity = q->spec.capacity;
    tfd_lock(&q->lock);
    f->count = q->count;
    f->bytes = rows_size(q);
    f->puts_wait = q->enqueues.first != NULL;
    f->takes_wait = q->dequeues.first != NULL;
    f->closed = q->closed;
    tfd_unlock(&q->lock);
}

/* A static table is read without its lock once it is filled; who fills it
 * holds the lock for as long as its file takes. */
static void table_facts(struct tfd_resource *r, struct tfd_resource_facts *f)
{
    struct tfd_table *t = (struct tfd_table *)r;

    f->dtype = t->spec.value_dtype;
    if (!tfd_lock_try(&t->lock))
        return;
    if (t->dense) {
        f->count = t->dense->count;
        f->capacity = t->dense->buckets;
        f->bytes = value_size(&t->dense->keys) + value_size(&t->dense->values);
    } else {
        f->count = t->store.count;
        f->bytes = value_size(&t->store.keys) + value_size(&t->store.values) +
                   value_size(&t->store.slot_memory);
    }
    tfd_unlock(&t->lock);
}

/* Who adds a gradient holds the lock meanwhile. */
static void accumulator_facts(struct tfd_resource *r,
                              struct tfd_resource_facts *f)
{
    struct tfd_accumulator *a = (struct tfd_accumulator *)r;

    f->dtype = a->spec.dtype;
    f->shape = a->spec.shape;
    f->has_shape = true;
    if (!tfd_lock_try(&a->lock))
        return;
    f->count = a->sum.count;
    f->bytes = value_size(&a->sum.values) + value_size(&a->sum.indices) +
               value_size(&a->sum.counts);
    f->takes_wait = a->first != NULL;
    tfd_unlock(&a->lock);
}

static void barrier_facts(struct tfd_resource *r, struct tfd_resource_facts *f)
{
    struct tfd_barrier *b = (struct tfd_barrier *)r;

    queue_facts(&b->queue->resource, f);
    f->dtype = TFD_DTYPE_INVALID;
    f->capacity = -1;
}

/* Its elements may be millions: they are counted, not looked at, and kernels
 * hold the lock for all of them. */
static void array_facts(struct tfd_resource *r, struct tfd_resource_facts *f)
{
    struct tfd_tensor_array *a = (struct tfd_tensor_array *)r;

    f->dtype = a->dtype;
    if (!tfd_lock_try(&a->lock))
        return;
    f->shape = a->element_shape;
    f->has_shape = true;
    f->count = a->count;
    f->closed = a->closed;
    tfd_unlock(&a->lock);
}

static const struct {
    const struct tfd_resource_type *type;
    const char *kind;
    void (*facts)(struct tfd_resource *r, struct tfd_resource_facts *f);
} kinds[] = {
    {&tfd_variable_type, "variable", variable_facts},
    {&tfd_variable_ref_type, "variable", variable_facts},
    {&tfd_queue_type, "queue", queue_facts},
    {&tfd_table_type, "table", table_facts},
    {&tfd_accumulator_type, "accumulator", accumulator_facts},
    {&tfd_barrier_type, "barrier", barrier_facts},
    {&tfd_tensor_array_type, "tensor array", array_facts},
};

void tfd_resource_facts(struct tfd_resource *r, struct tfd_resource_facts *out)
{
    *out = (struct tfd_resource_facts){
        .kind = r->type->what,
        .dtype = TFD_DTYPE_INVALID,
        .bytes = -1,
        .count = -1,
        .capacity = -1,
        .puts_wait = -1,
        .takes_wait = -1,
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].type == r->type) {
            out->kind = kinds[i].kind;
            kinds[i].facts(r, out);
            return;
        }
}
