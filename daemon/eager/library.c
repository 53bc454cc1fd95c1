/*
 * library.c - see library.h.
 */
#include "daemon/eager/library.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"
#include "daemon/eager/same_function.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void tfd_eager_library_deinit(struct tfd_eager_library *l)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&l->by_name, &at, &e)) {
        struct tfd_eager_function *f = (struct tfd_eager_function *)e->value;

        assert(!f->graph && !f->spreads);
        free(f);
    }
    tfd_map_deinit(&l->by_name);
    l->size = 0;
}

struct tfd_eager_function *
tfd_eager_library_find(const struct tfd_eager_library *l, struct tfd_str name)
{
    uintptr_t value;

    return tfd_map_get(&l->by_name, name, &value)
               ? (struct tfd_eager_function *)value
               : NULL;
}

static enum tfd_code read_name(struct tfd_str def, struct tfd_str *name,
                               struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def), s;
    struct tfd_str signature = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    *name = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_FunctionDef_signature_tag)
            signature = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "FunctionDef", st));
    s = tfd_pb_reader_of(signature);
    while (tfd_pb_next(&s, &f))
        if (f.tag == tensorflow_OpDef_name_tag)
            *name = tfd_pb_str(&s, &f);
    TFD_TRY(tfd_pb_end(&s, "OpDef", st));
    if (name->size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "a function without a name");
    return TFD_OK;
}

static enum tfd_code check_again(const struct tfd_eager_function *f,
                                 struct tfd_str def, struct tfd_status *st)
{
    if (tfd_eager_same_function(f->def, def))
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Attempting to add a duplicate function with name: " TFD_STR_FMT
        " where the previous and current definitions differ. "
        "Previous and current definitions have %zu and %zu bytes.",
        TFD_STR_ARG(f->name), f->def.size, def.size);
}

static enum tfd_code check_room(const struct tfd_eager_library *l, size_t size,
                                struct tfd_status *st)
{
    if (l->by_name.count >= TFD_EAGER_FUNCTIONS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a context has %zu functions here, at most %d are "
                        "possible",
                        l->by_name.count, TFD_EAGER_FUNCTIONS_MAX);
    if (size > TFD_EAGER_LIBRARY_SIZE_MAX - l->size)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "the functions of a context have %zu bytes here, %zu "
                        "more are too many: at most %zu are possible",
                        l->size, size, TFD_EAGER_LIBRARY_SIZE_MAX);
    return TFD_OK;
}

/* Both behind the function, in one block. */
static struct tfd_eager_function *copy_function(struct tfd_str def,
                                                struct tfd_str library)
{
    struct tfd_eager_function *f =
        calloc(1, sizeof(*f) + def.size + library.size);
    char *at = (char *)(f + 1);

    if (!f)
        return NULL;
    memcpy(at, def.data, def.size);
    f->def = (struct tfd_str){at, def.size};
    if (library.size)
        memcpy(at + def.size, library.data, library.size);
    f->library = (struct tfd_str){at + def.size, library.size};
    return f;
}

/* Or nobody could use the op any more. */
static enum tfd_code check_ops(const struct tfd_eager_library *l,
                               struct tfd_str name, struct tfd_status *st)
{
    if (!l->ops || !tfd_op_find(l->ops, name))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Cannot add function '" TFD_STR_FMT
                    "' because an op with the same name already exists.",
                    TFD_STR_ARG(name));
}

enum tfd_code tfd_eager_library_add(struct tfd_eager_library *l,
                                    struct tfd_str def, struct tfd_str library,
                                    struct tfd_status *st)
{
    struct tfd_eager_function *f;
    struct tfd_str name;

    TFD_TRY(read_name(def, &name, st));
    TFD_TRY(check_ops(l, name, st));
    f = tfd_eager_library_find(l, name);
    if (f)
        return check_again(f, def, st);
    TFD_TRY(check_room(l, def.size + library.size, st));
    f = copy_function(def, library);
    if (f && read_name(f->def, &f->name, st) == TFD_OK &&
        tfd_map_put(&l->by_name, f->name, (uintptr_t)f)) {
        l->size += def.size + library.size;
        return TFD_OK;
    }
    free(f);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for a function of %zu bytes", def.size);
}

void tfd_eager_library_forget_spreads(struct tfd_eager_function *f)
{
    if (f->spreads)
        f->forget(f);
    f->spans = false;
}

void tfd_eager_library_remove(struct tfd_eager_library *l,
                              struct tfd_eager_function *f)
{
    assert(!f->graph && !f->spreads);
    l->size -= f->def.size + f->library.size;
    tfd_map_remove(&l->by_name, f->name);
    free(f);
}
