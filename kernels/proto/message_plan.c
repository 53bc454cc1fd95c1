/*
 * message_plan.c - see message_plan.h.
 */
#include "kernels/proto/message_plan.h"

#include "config/limits.h"
#include "kernels/io/file_check.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char local_set[] = {
#include "kernels/proto/local_set.h"
};

/* ---- Sources ------------------------------------------------------------- */

static enum tfd_code no_source(struct tfd_str source, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Source does not represent serialized file descriptor set "
                    "proto. This may be due to a missing dependency on the "
                    "file containing REGISTER_DESCRIPTOR_POOL(\"" TFD_STR_FMT
                    "\", ...);",
                    TFD_STR_ARG(source));
}

/* A set that is none has TensorFlow's words. */
static enum tfd_code read_set(struct tfd_proto_pool *pool, struct tfd_str set,
                              struct tfd_str source, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    enum tfd_code rc = tfd_proto_pool_read(pool, set, &why);

    if (rc == TFD_DATA_LOSS)
        return no_source(source, st);
    return rc == TFD_OK ? rc : tfd_fail(st, rc, "%s", why.text);
}

/* A file that is not there, or is no set, is what TensorFlow has these words
 * for; one that may not be read says so. */
static enum tfd_code read_file(const struct tfd_kctx *k, struct tfd_str name,
                               struct tfd_proto_pool *pool,
                               struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_file_access *access;
    struct tfd_bytes contents;
    enum tfd_code rc;

    TFD_TRY(tfd_file_check(k, &access, st));
    tfd_bytes_init(&contents, TFD_PROTO_SET_SIZE_MAX);
    rc = tfd_file_read_all(access, name, &contents, &why);
    if (rc == TFD_OK)
        rc = tfd_proto_pool_read(pool, tfd_bytes_view(&contents), &why);
    tfd_bytes_deinit(&contents);
    if (rc == TFD_PERMISSION_DENIED || rc == TFD_RESOURCE_EXHAUSTED ||
        rc == TFD_CANCELLED)
        return tfd_fail(st, rc, "%s", why.text);
    return rc == TFD_OK ? rc : no_source(name, st);
}

static enum tfd_code read_source(const struct tfd_kctx *k,
                                 struct tfd_proto_pool *pool,
                                 struct tfd_status *st)
{
    const struct tfd_str local = {(const char *)local_set, sizeof(local_set)};
    const size_t prefix = strlen("bytes://");
    struct tfd_str source;

    TFD_TRY(tfd_node_str(k->node, "descriptor_source", &source, st));
    if (source.size == 0 || tfd_str_is(source, "local://"))
        return read_set(pool, local, source, st);
    if (tfd_str_starts(source, "bytes://"))
        return read_set(
            pool, (struct tfd_str){source.data + prefix, source.size - prefix},
            source, st);
    return read_file(k, source, pool, st);
}

/* ---- Fields -------------------------------------------------------------- */

bool tfd_proto_plan_fits(enum tfd_proto_type type, enum tfd_dtype dtype)
{
    const char *kind = tfd_proto_type_kind(type);

    if (type == TFD_PROTO_ENUM)
        return dtype == TFD_INT32;
    if (!strcmp(kind, "message") || !strcmp(kind, "string"))
        return dtype == TFD_STRING;
    if (!strcmp(kind, tfd_dtype_name((int)dtype)))
        return true;
    /* One that is twice as wide. */
    return (!strcmp(kind, "int32") && dtype == TFD_INT64) ||
           (!strcmp(kind, "uint32") && dtype == TFD_UINT64) ||
           (!strcmp(kind, "float") && dtype == TFD_DOUBLE);
}

static enum tfd_code find_field(const struct tfd_kctx *k,
                                struct tfd_proto_plan *p, int at,
                                tfd_proto_check_fn *check,
                                struct tfd_status *st)
{
    const struct tfd_str name = p->names[at];
    const struct tfd_proto_field *f = tfd_proto_message_field(p->message, name);

    if (!f && check)
        f = tfd_proto_pool_extension(&p->pool, p->message, name);
    if (!f)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Unknown field: " TFD_STR_FMT " in message type " TFD_STR_FMT,
            TFD_STR_ARG(name), TFD_STR_ARG(p->message->symbol.name));
    p->fields[at] = f;
    return check ? check(k, p, at, st) : TFD_OK;
}

struct place {
    int32_t number;
    int at;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static enum tfd_code sort_fields(struct tfd_proto_plan *p,
                                 struct tfd_status *st)
{
    struct place *places = calloc((size_t)p->count + 1, sizeof(*places));

    if (!places)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %d fields",
                        p->count);
    for (int i = 0; i < p->count; i++)
        places[i] = (struct place){p->fields[i]->number, i};
    qsort(places, (size_t)p->count, sizeof(*places), compare_places);
    for (int i = 0; i < p->count; i++)
        p->order[i] = places[i].at;
    free(places);
    return TFD_OK;
}

static enum tfd_code find_message(const struct tfd_kctx *k,
                                  struct tfd_proto_plan *p,
                                  struct tfd_status *st)
{
    struct tfd_str name;

    TFD_TRY(tfd_node_str(k->node, "message_type", &name, st));
    p->message = tfd_proto_pool_message(&p->pool, name);
    if (p->message)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "No descriptor found for message type " TFD_STR_FMT,
                    TFD_STR_ARG(name));
}

/* As many as there are; they are more than the node has values for when
 * p->count is. */
static enum tfd_code read_names(const struct tfd_kctx *k,
                                struct tfd_proto_plan *p, struct tfd_status *st)
{
    struct tfd_str *shorter;
    size_t room;

    p->names = calloc(TFD_NODE_OUTPUTS_MAX, sizeof(*p->names));
    if (!p->names)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for names");
    TFD_TRY(tfd_node_strs(k->node, "field_names", p->names,
                          TFD_NODE_OUTPUTS_MAX, &p->count, st));
    room = (size_t)p->count + 1;
    shorter = realloc(p->names, room * sizeof(*p->names));
    p->names = shorter ? shorter : p->names;
    p->fields = calloc(room, sizeof(*p->fields));
    p->order = calloc(room, sizeof(*p->order));
    if (!p->fields || !p->order)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %d fields",
                        p->count);
    return TFD_OK;
}

static void free_plan(struct tfd_proto_plan *p)
{
    if (!p)
        return;
    tfd_proto_pool_deinit(&p->pool);
    free(p->names);
    free(p->fields);
    free(p->order);
    free(p);
}

static enum tfd_code fill_plan(const struct tfd_kctx *k,
                               struct tfd_proto_plan *p, int fields,
                               tfd_proto_check_fn *check, struct tfd_status *st)
{
    TFD_TRY(read_source(k, &p->pool, st));
    TFD_TRY(find_message(k, p, st));
    TFD_TRY(read_names(k, p, st));
    if (check && p->count != fields)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "field_names and output_types attributes must have the "
                        "same length");
    for (int i = 0; i < p->count; i++)
        TFD_TRY(find_field(k, p, i, check, st));
    if (p->count != fields)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Length of inputs list must match field_names");
    return sort_fields(p, st);
}

/* ---- Public -------------------------------------------------------------- */

enum tfd_code tfd_proto_plans_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct tfd_proto_plans *s = state;

    (void)p;
    (void)st;
    tfd_lock_init(&s->lock, TFD_LOCK_RESOURCE);
    return TFD_OK;
}

void tfd_proto_plans_release(void *state)
{
    struct tfd_proto_plans *s = state;

    free_plan(s->plan);
    tfd_lock_deinit(&s->lock);
}

static struct tfd_proto_plan *kept_plan(struct tfd_proto_plans *s)
{
    struct tfd_proto_plan *p;

    tfd_lock(&s->lock);
    p = s->plan;
    tfd_unlock(&s->lock);
    return p;
}

/* Two steps may make one at once: the first is kept. */
enum tfd_code tfd_proto_plan_get(struct tfd_kctx *k, int fields,
                                 tfd_proto_check_fn *check,
                                 const struct tfd_proto_plan **out,
                                 struct tfd_status *st)
{
    struct tfd_proto_plans *s = k->state;
    struct tfd_proto_plan *p = kept_plan(s), *extra;

    *out = p;
    if (p)
        return TFD_OK;
    p = calloc(1, sizeof(*p));
    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a message's fields");
    if (fill_plan(k, p, fields, check, st) != TFD_OK) {
        free_plan(p);
        return st ? st->code : TFD_INVALID_ARGUMENT;
    }
    tfd_lock(&s->lock);
    extra = s->plan ? p : NULL;
    if (!extra)
        s->plan = p;
    *out = s->plan;
    tfd_unlock(&s->lock);
    free_plan(extra);
    return TFD_OK;
}
