/*
 * step_handle.c - see step_handle.h.  The container's name is the one that
 * TensorFlow gives them, for messages.
 *
 *     tensor -> names -> the strings
 *                 `----> resource
 */
#include "kernels/core/step_handle.h"

#include "common/base/atomic.h"
#include "kernels/state/variable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CONTAINER_TEXT_MAX 48

/* ---- Resource handles ---------------------------------------------------- */

static const char *container_text(const struct tfd_kctx *k,
                                  char text[CONTAINER_TEXT_MAX])
{
    snprintf(text, CONTAINER_TEXT_MAX, "__per_step_%" PRId64,
             k->step ? tfd_step_id(k->step) : 0);
    return text;
}

enum tfd_code tfd_step_resource(struct tfd_kctx *k, int out,
                                struct tfd_str name, struct tfd_resource *take,
                                struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_handle *h;
    char container[CONTAINER_TEXT_MAX];

    h = tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)),
                       tfd_str_of(container_text(k, container)), name,
                       tfd_str_of(take->type->name), 0, st);
    if (!h) {
        tfd_resource_unref(take);
        return TFD_RESOURCE_EXHAUSTED;
    }
    h->cached = take;
    if (tfd_kctx_output(k, out, TFD_RESOURCE, &scalar, st) != TFD_OK) {
        tfd_handle_unref(h);
        return TFD_RESOURCE_EXHAUSTED;
    }
    *(struct tfd_handle **)tfd_tensor_data(&k->out[out]) = h;
    return TFD_OK;
}

/* ---- Two strings --------------------------------------------------------- */

struct names {
    struct tfd_buffer buffer; /* first; its data are those of `strings` */
    struct tfd_tensor strings;
    struct tfd_resource *resource;
};

static void release_names(struct tfd_buffer *b)
{
    struct names *names = (struct names *)b;

    tfd_resource_unref(names->resource);
    tfd_tensor_unref(&names->strings);
    free(names);
}

static enum tfd_code put_two(struct tfd_tensor *out, const char *group,
                             struct tfd_str name, struct tfd_status *st)
{
    static const struct tfd_shape two = {1, {2}};
    struct tfd_tstring *s;

    TFD_TRY(tfd_tensor_new(out, TFD_STRING, &two, st));
    s = tfd_tensor_data(out);
    TFD_TRY(tfd_tstring_set(&s[0], tfd_str_of(group), st));
    return tfd_tstring_set(&s[1], name, st);
}

static enum tfd_code new_names(const char *group, struct tfd_str name,
                               struct tfd_resource *resource,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    struct names *names = calloc(1, sizeof(*names));
    struct tfd_tensor *strings;

    if (!names)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a handle");
    strings = &names->strings;
    names->resource = tfd_resource_ref(resource);
    if (put_two(strings, group, name, st) != TFD_OK) {
        release_names(&names->buffer);
        return TFD_RESOURCE_EXHAUSTED;
    }
    names->buffer = (struct tfd_buffer){1, strings->buffer->size,
                                        strings->buffer->data, release_names};
    *out = *strings;
    out->buffer = &names->buffer;
    return TFD_OK;
}

/* As the containers of TensorFlow have it: the two in one. */
static enum tfd_code joined(struct tfd_str group, struct tfd_str name,
                            struct tfd_bytes *out, struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_bytes_init(out, group.size + name.size + 1);
    tfd_bytes_add_str(out, group);
    tfd_bytes_add_str(out, name);
    rc = tfd_bytes_ok(out, "a handle", st);
    if (rc != TFD_OK)
        tfd_bytes_deinit(out);
    return rc;
}

/* A gradient is asked for again by the same name: what is there stays. */
static enum tfd_code keep(struct tfd_kctx *k, const char *group,
                          struct tfd_str name, struct tfd_resource *r,
                          struct tfd_status *st)
{
    struct tfd_resource *known;
    struct tfd_bytes key;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(joined(tfd_str_of(group), name, &key, st));
    known = tfd_step_kept(k->step, tfd_bytes_view(&key), r->type, false);
    if (known != r)
        rc = tfd_step_keep(k->step, tfd_bytes_view(&key), r, st);
    if (known)
        tfd_resource_unref(known);
    tfd_bytes_deinit(&key);
    return rc;
}

static enum tfd_code put_names(struct tfd_kctx *k, int out, const char *group,
                               struct tfd_str name, struct tfd_resource *r,
                               struct tfd_status *st)
{
    struct tfd_variable_spec spec = {.type = &tfd_variable_ref_type,
                                     .name = name,
                                     .dtype = TFD_STRING,
                                     .shape = {1, {2}}};
    struct tfd_resource *reference;
    struct tfd_tensor names;
    enum tfd_code rc;

    TFD_TRY(keep(k, group, name, r, st));
    TFD_TRY(new_names(group, name, r, &names, st));
    if (!tfd_dtype_is_ref(k->node->out_types[out])) {
        k->out[out] = names;
        return TFD_OK;
    }
    rc = tfd_variable_make(&spec, &reference, st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(&names);
        return rc;
    }
    k->ref_out[out] = (struct tfd_variable *)reference;
    tfd_variable_set(k->ref_out[out], &names);
    return TFD_OK;
}

enum tfd_code tfd_step_handle(struct tfd_kctx *k, int out, const char *group,
                              struct tfd_str name, struct tfd_resource *take,
                              struct tfd_status *st)
{
    enum tfd_code rc;

    if (k->node->out_types[out] == TFD_RESOURCE)
        return tfd_step_resource(k, out, name, take, st);
    rc = put_names(k, out, group, name, take, st);
    tfd_resource_unref(take);
    return rc;
}

void tfd_step_name(struct tfd_kctx *k, int out, struct tfd_str wanted,
                   char name[TFD_STEP_NAME_MAX])
{
    struct tfd_str s = wanted.size ? wanted : k->node->name;
    int room = TFD_STEP_NAME_MAX - 24;

    if ((size_t)room > s.size)
        room = (int)s.size;
    if (k->node->out_types[out] == TFD_RESOURCE)
        snprintf(name, TFD_STEP_NAME_MAX, TFD_STR_FMT, TFD_STR_ARG(s));
    else
        snprintf(name, TFD_STEP_NAME_MAX, "%.*s_%" PRIu64, room, s.data,
                 tfd_rt_unique(k->rt));
}

/* ---- Finding it again ---------------------------------------------------- */

/* The strings at input 0, counted. */
static enum tfd_code strings_of(struct tfd_kctx *k, struct tfd_tensor *out,
                                struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->ref && k->ref[0])
        TFD_TRY(tfd_variable_read(k->ref[0], out, st));
    else
        *out = tfd_tensor_ref(&k->in[0]);
    if (out->dtype == TFD_STRING && tfd_tensor_elements(out) == 2)
        return TFD_OK;
    tfd_shape_text(&out->shape, text);
    tfd_tensor_unref(out);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Handle of node " TFD_STR_FMT
                    " must be 2-element vector, but had shape: %s",
                    TFD_STR_ARG(k->node->name), text);
}

static enum tfd_code find_by_name(struct tfd_kctx *k,
                                  const struct tfd_tensor *strings,
                                  const struct tfd_resource_type *type,
                                  struct tfd_resource **out,
                                  struct tfd_status *st)
{
    const struct tfd_tstring *s = tfd_tensor_data(strings);
    char container[CONTAINER_TEXT_MAX];
    struct tfd_bytes key;

    TFD_TRY(joined(tfd_tstring_view(&s[0]), tfd_tstring_view(&s[1]), &key, st));
    *out = tfd_step_kept(k->step, tfd_bytes_view(&key), type, false);
    if (!*out)
        tfd_fail(st, TFD_NOT_FOUND,
                 "Resource %s/" TFD_STR_FMT "/%s does not exist.",
                 container_text(k, container),
                 TFD_STR_ARG(tfd_bytes_view(&key)), type->name);
    tfd_bytes_deinit(&key);
    return *out ? TFD_OK : TFD_NOT_FOUND;
}

enum tfd_code tfd_step_find(struct tfd_kctx *k,
                            const struct tfd_resource_type *type,
                            struct tfd_resource **out, struct tfd_status *st)
{
    struct tfd_tensor strings = TFD_TENSOR_INIT;
    struct tfd_resource *r = NULL;
    enum tfd_code rc = TFD_OK;

    if (k->node->in_types[0] == TFD_RESOURCE)
        return tfd_kctx_resource(k, 0, type, out, st);
    TFD_TRY(strings_of(k, &strings, st));
    if (strings.buffer->release == release_names)
        r = ((struct names *)strings.buffer)->resource;
    if (r && r->type == type && !TFD_LOAD_ACQUIRE(&r->removed))
        *out = tfd_resource_ref(r);
    else
        rc = find_by_name(k, &strings, type, out, st);
    tfd_tensor_unref(&strings);
    return rc;
}
