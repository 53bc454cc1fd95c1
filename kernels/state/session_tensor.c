/*
 * session_tensor.c - GetSessionHandle, GetSessionHandleV2, GetSessionTensor,
 * DeleteSessionTensor: values that stay with a session between its steps.
 *
 *     x --> GetSessionHandle --> "NODE;7;DEVICE" --> the client
 *              |                                       |  feeds it
 *              v                                       v
 *           [ store of the session and device ] --> GetSessionTensor --> x
 *
 * The kernels of one session and device find the same store by its struct
 * tfd_rt, and hold it; kernels last as long as the session, so the last one
 * frees what nobody has deleted.  A server of TensorFlow refuses these ops
 * ("called on null session state"): there they work within one process alone.
 */
#include "kernels/state/session_tensor.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"

#include "common/base/atomic.h"
#include "common/base/id_map.h"
#include "common/base/map.h"
#include "common/thread/lock.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct kept_tensor {
    struct tfd_tensor value;
    size_t name_size;
    char name[]; /* the key in the store */
};

struct session_store {
    const struct tfd_rt *rt;
    int users;            /* guarded by stores_lock */
    struct tfd_lock lock; /* of what follows */
    struct tfd_map kept;
    int64_t next_id;
    size_t size; /* atomic: of all that is kept; written under the lock */
};

static struct tfd_lock stores_lock = TFD_LOCK_INIT(TFD_LOCK_NESTED);
static struct tfd_id_map stores; /* by the address of the struct tfd_rt */

/* ---- Stores -------------------------------------------------------------- */

static struct session_store *new_store(const struct tfd_rt *rt)
{
    struct session_store *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->rt = rt;
    tfd_lock_init(&s->lock, TFD_LOCK_RESOURCE);
    tfd_map_init(&s->kept);
    return s;
}

static size_t kept_size(const struct kept_tensor *t)
{
    return sizeof(*t) + t->name_size + tfd_tensor_size(&t->value);
}

static void free_kept(struct kept_tensor *t)
{
    tfd_tensor_unref(&t->value);
    free(t);
}

static void free_store(struct session_store *s)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&s->kept, &at, &e))
        free_kept((struct kept_tensor *)e->value);
    tfd_map_deinit(&s->kept);
    tfd_lock_deinit(&s->lock);
    free(s);
}

static struct session_store *find_store(const struct tfd_rt *rt)
{
    return tfd_id_map_get(&stores, (uint64_t)(uintptr_t)rt);
}

/* The store of the session and device, for one more kernel. */
static struct session_store *hold_store(const struct tfd_rt *rt)
{
    struct session_store *fresh = new_store(rt), *s;

    if (!fresh)
        return NULL;
    tfd_lock(&stores_lock);
    s = find_store(rt);
    if (!s && tfd_id_map_put(&stores, (uint64_t)(uintptr_t)rt, fresh)) {
        s = fresh;
        fresh = NULL;
    }
    if (s)
        s->users++;
    tfd_unlock(&stores_lock);
    if (fresh)
        free_store(fresh);
    return s;
}

static void drop_store(struct session_store *s)
{
    bool last;

    tfd_lock(&stores_lock);
    last = --s->users == 0;
    if (last)
        tfd_id_map_remove(&stores, (uint64_t)(uintptr_t)s->rt);
    if (stores.count == 0)
        tfd_id_map_deinit(&stores);
    tfd_unlock(&stores_lock);
    if (last)
        free_store(s);
}

size_t tfd_session_tensors_size(const struct tfd_rt *rt)
{
    struct session_store *s;
    size_t size = 0;

    tfd_lock(&stores_lock);
    s = find_store(rt);
    if (s)
        size = TFD_LOAD_RELAXED(&s->size);
    tfd_unlock(&stores_lock);
    return size;
}

static enum tfd_code store_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct session_store **s = state;

    *s = hold_store(p->rt);
    return *s ? TFD_OK
              : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                         "no memory for the tensors of a session");
}

static void store_release(void *state)
{
    struct session_store **s = state;

    if (*s)
        drop_store(*s);
}

/* ---- Keeping ------------------------------------------------------------- */

/* "NODE;ID;DEVICE", as clients take it apart. */
static enum tfd_code write_name(const struct tfd_kctx *k, int64_t id,
                                struct tfd_bytes *name, struct tfd_status *st)
{
    tfd_bytes_add_str(name, k->node->name);
    tfd_bytes_printf(name, ";%" PRId64 ";%s", id, tfd_rt_device(k->rt));
    return tfd_bytes_ok(name, "a session tensor's handle", st);
}

static struct kept_tensor *new_kept(struct tfd_str name,
                                    const struct tfd_tensor *value)
{
    struct kept_tensor *t = calloc(1, sizeof(*t) + name.size);

    if (!t)
        return NULL;
    memcpy(t->name, name.data, name.size);
    t->name_size = name.size;
    t->value = tfd_tensor_ref(value);
    return t;
}

static enum tfd_code add_kept(struct session_store *s, struct kept_tensor *t,
                              struct tfd_status *st)
{
    bool full, added;

    tfd_lock(&s->lock);
    full = s->kept.count >= TFD_SESSION_TENSORS_MAX;
    added =
        !full && tfd_map_put(&s->kept, (struct tfd_str){t->name, t->name_size},
                             (uintptr_t)t);
    if (added)
        (void)TFD_COUNTER_ADD(&s->size, kept_size(t));
    tfd_unlock(&s->lock);
    if (added)
        return TFD_OK;
    free_kept(t);
    return full ? tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                           "a session keeps %d tensors on one device at most; "
                           "those no longer used are to be deleted",
                           TFD_SESSION_TENSORS_MAX)
                : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                           "no memory to keep a tensor of a session");
}

/* The handle as a string, or as a resource that is called so. */
static enum tfd_code put_handle(struct tfd_kctx *k, struct tfd_str name,
                                struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    enum tfd_dtype dtype = (enum tfd_dtype)k->node->out_types[0];
    struct tfd_str type = TFD_STR("TensorHandle");
    struct tfd_handle *h;

    TFD_TRY(tfd_kctx_output(k, 0, dtype, &scalar, st));
    if (dtype == TFD_STRING)
        return tfd_tstring_set(tfd_tensor_data(&k->out[0]), name, st);
    h = tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)), type, name, type, 0,
                       st);
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) = h;
    return h ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static enum tfd_code keep_named(struct tfd_kctx *k, struct session_store *s,
                                struct tfd_str name, struct tfd_status *st)
{
    struct kept_tensor *t = new_kept(name, &k->in[0]);

    if (!t)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to keep a tensor of a session");
    TFD_TRY(add_kept(s, t, st));
    return put_handle(k, name, st);
}

static enum tfd_code keep_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct session_store *s = *(struct session_store **)k->state;
    struct tfd_bytes name;
    enum tfd_code rc;
    int64_t id;

    tfd_lock(&s->lock);
    id = s->next_id++;
    tfd_unlock(&s->lock);
    tfd_bytes_init(&name, TFD_NAME_SIZE_MAX + TFD_STATUS_TEXT_MAX);
    rc = write_name(k, id, &name, st);
    if (rc == TFD_OK)
        rc = keep_named(k, s, tfd_bytes_view(&name), st);
    tfd_bytes_deinit(&name);
    return rc;
}

/* ---- Using --------------------------------------------------------------- */

static enum tfd_code look_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct session_store *s = *(struct session_store **)k->state;
    struct tfd_tensor value = TFD_TENSOR_INIT;
    int want = k->node->out_types[0], have;
    struct tfd_str name;
    uintptr_t found;

    TFD_TRY(tfd_check_str(k, 0, &name, st));
    tfd_lock(&s->lock);
    if (tfd_map_get(&s->kept, name, &found))
        value = tfd_tensor_ref(&((struct kept_tensor *)found)->value);
    tfd_unlock(&s->lock);
    have = (int)value.dtype;
    if (have == TFD_DTYPE_INVALID)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The tensor with handle '" TFD_STR_FMT
                        "' is not in the session store.",
                        TFD_STR_ARG(name));
    if (have == want) {
        k->out[0] = value;
        return TFD_OK;
    }
    tfd_tensor_unref(&value);
    return tfd_fail(st, TFD_INTERNAL,
                    "Output 0 of type %s does not match declared output type "
                    "%s for node {{node %s}}",
                    tfd_dtype_name(have), tfd_dtype_name(want),
                    k->node->name.data);
}

static enum tfd_code forget_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct session_store *s = *(struct session_store **)k->state;
    struct kept_tensor *t = NULL;
    struct tfd_str name;
    uintptr_t found;

    TFD_TRY(tfd_check_str(k, 0, &name, st));
    tfd_lock(&s->lock);
    if (tfd_map_get(&s->kept, name, &found) && tfd_map_remove(&s->kept, name))
        t = (struct kept_tensor *)found;
    if (t)
        (void)TFD_COUNTER_SUB(&s->size, kept_size(t));
    tfd_unlock(&s->lock);
    if (!t)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Failed to delete a tensor with handle '" TFD_STR_FMT
                        "' in the session store.",
                        TFD_STR_ARG(name));
    free_kept(t);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "GetSessionHandle",
        .inputs = "value: T",
        .outputs = "handle: string",
        .attrs = "T: type",
        .key = "T",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "GetSessionHandleV2",
        .inputs = "value: T",
        .outputs = "handle: resource",
        .attrs = "T: type",
        .key = "T",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "GetSessionTensor",
        .inputs = "handle: string",
        .outputs = "value: dtype",
        .attrs = "dtype: type",
        .key = "dtype",
        .checks = "handle: scalar 'handle must be scalar'",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DeleteSessionTensor",
        .inputs = "handle: string",
        .outputs = "",
        .checks = "handle: scalar '`handle` must be scalar'",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define KERNEL(name_, compute_)                                  \
    TFD_KERNEL_ANY(name_, compute_, .prepare = store_prepare,    \
                   .release = store_release,                     \
                   .state_size = sizeof(struct session_store *), \
                   .flags = TFD_KERNEL_SHARED)

static const struct tfd_kernel kernels[] = {
    KERNEL("GetSessionHandle", keep_compute),
    KERNEL("GetSessionHandleV2", keep_compute),
    KERNEL("GetSessionTensor", look_compute),
    KERNEL("DeleteSessionTensor", forget_compute),
};

const struct tfd_family tfd_family_session_tensor = {
    .name = "session_tensor",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
