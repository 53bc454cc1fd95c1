/*
 * iterator_state.c - where an iterator is, as a value that a checkpoint keeps.
 *
 *     vector of one variant, an optional of three tensors
 *         string  what wrote it
 *         string  the iterator's stages: "Iterator::Root::Map\n..."
 *         int64   elements given, then seed, seed2 and drawn pairs of each
 *                 generator of seeds, as it was at the beginning
 */
#include "common/base/container.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data/iterator.h"
#include "kernels/data_graph/data_library.h"

#include <stdlib.h>
#include <string.h>

#define MARK "tfd iterator 1"
#define NUMBERS_EACH 3

enum { PART_MARK, PART_STAGES, PART_NUMBERS, PARTS };

static enum tfd_code iterator_of(struct tfd_kctx *k, struct tfd_iterator **out,
                                 struct tfd_resource **r, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_resource(k, 0, &tfd_iterator_type, r, st));
    *out = (struct tfd_iterator *)*r; /* its first member */
    return TFD_OK;
}

/* Each is the path to a dataset by first inputs; with a newline. */
static enum tfd_code put_stages(const struct tfd_dataset *d,
                                struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_bytes path;

    tfd_bytes_init(&path, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_printf(&path, "%s", TFD_DATA_ROOT);
    for (; d; d = d->input_count ? d->inputs[0] : NULL) {
        if (d->kind->name)
            tfd_bytes_printf(&path, "::%s", d->kind->name);
        tfd_bytes_add_str(out, tfd_bytes_view(&path));
        tfd_bytes_printf(out, "\n");
    }
    out->failed = out->failed || path.failed;
    tfd_bytes_deinit(&path);
    return tfd_bytes_ok(out, "the state of an iterator", st);
}

/* ---- Saving -------------------------------------------------------------- */

struct save_state {
    int64_t policy;
};

static enum tfd_code save_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_node_int(p->node, "external_state_policy",
                        &((struct save_state *)state)->policy, st);
}

static enum tfd_code check_library(void *arg, const struct tfd_data_nodes *g,
                                   const struct tfd_data_library *l,
                                   struct tfd_status *st)
{
    (void)arg;
    (void)g;
    return tfd_data_library_check(l, st);
}

/* With the policy to fail, functions that keep a state are refused. */
static enum tfd_code check_functions(struct tfd_dataset *d,
                                     struct tfd_status *st)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_variant_object_tensor(&tfd_dataset_ref(d)->object, &t, st));
    rc = tfd_data_library_use(&t, check_library, NULL, st);
    tfd_tensor_unref(&t);
    return rc;
}

static enum tfd_code check_policy(const struct tfd_kctx *k,
                                  struct tfd_dataset *d, struct tfd_status *st)
{
    int64_t policy = ((const struct save_state *)k->state)->policy;

    if (policy < 0 || policy > 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unexpected value of external policy: %lld",
                        (long long)policy);
    return policy == 2 ? check_functions(d, st) : TFD_OK;
}

static enum tfd_code put_text(struct tfd_variant *v, int part,
                              struct tfd_str text, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&t, TFD_STRING, &scalar, st));
    rc = tfd_tstring_set(tfd_tensor_data(&t), text, st);
    if (rc == TFD_OK)
        rc = tfd_variant_set(v, part, &t, st);
    tfd_tensor_unref(&t);
    return rc;
}

static enum tfd_code put_numbers(struct tfd_variant *v,
                                 const struct tfd_iterator_position *p,
                                 struct tfd_status *st)
{
    int64_t count = 1 + NUMBERS_EACH * (int64_t)p->dataset->seed_count;
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_shape shape;
    enum tfd_code rc;
    int64_t *number;

    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    TFD_TRY(tfd_tensor_new(&t, TFD_INT64, &shape, st));
    number = tfd_tensor_data(&t);
    *number++ = p->given;
    for (int i = 0; i < p->dataset->seed_count; i++) {
        *number++ = (int64_t)p->seeds[i].seed;
        *number++ = (int64_t)p->seeds[i].seed2;
        *number++ = (int64_t)p->seeds[i].drawn;
    }
    rc = tfd_variant_set(v, PART_NUMBERS, &t, st);
    tfd_tensor_unref(&t);
    return rc;
}

static enum tfd_code fill_state(const struct tfd_iterator_position *p,
                                struct tfd_variant *v, struct tfd_status *st)
{
    struct tfd_bytes stages;
    enum tfd_code rc;

    v->has_value = true;
    TFD_TRY(put_text(v, PART_MARK, TFD_STR(MARK), st));
    tfd_bytes_init(&stages, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = put_stages(p->dataset, &stages, st);
    if (rc == TFD_OK)
        rc = put_text(v, PART_STAGES, tfd_bytes_view(&stages), st);
    tfd_bytes_deinit(&stages);
    return rc == TFD_OK ? put_numbers(v, p, st) : rc;
}

static enum tfd_code write_state(struct tfd_kctx *k,
                                 const struct tfd_iterator_position *p,
                                 struct tfd_status *st)
{
    static const struct tfd_shape one = {1, {1}};
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_OPTIONAL, st);
    enum tfd_code rc;

    if (!v)
        return TFD_RESOURCE_EXHAUSTED;
    rc = fill_state(p, v, st);
    if (rc == TFD_OK)
        rc = tfd_kctx_output(k, 0, TFD_VARIANT, &one, st);
    if (rc == TFD_OK)
        *(struct tfd_variant **)tfd_tensor_data(&k->out[0]) = v;
    else
        tfd_variant_unref(v);
    return rc;
}

static enum tfd_code save_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_iterator_position p = {NULL, 0, NULL};
    struct tfd_iterator *it;
    struct tfd_resource *r;
    enum tfd_code rc;

    TFD_TRY(iterator_of(k, &it, &r, st));
    rc = tfd_iterator_save(it, &p, st);
    if (rc == TFD_OK)
        rc = check_policy(k, p.dataset, st);
    if (rc == TFD_OK)
        rc = write_state(k, &p, st);
    tfd_iterator_position_drop(&p);
    tfd_resource_unref(r);
    return rc;
}

/* ---- Restoring ----------------------------------------------------------- */

static enum tfd_code no_state(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "serialized is not the state of an iterator that this "
                    "program has saved");
}

static bool is_text(const struct tfd_tensor *t)
{
    return t->dtype == TFD_STRING && t->shape.rank == 0;
}

static bool is_state(const struct tfd_variant *v)
{
    const struct tfd_tensor *numbers;

    if (!v || v->kind != TFD_VARIANT_OPTIONAL || !v->has_value ||
        v->count != PARTS || !is_text(&v->tensors[PART_MARK]) ||
        !is_text(&v->tensors[PART_STAGES]))
        return false;
    numbers = &v->tensors[PART_NUMBERS];
    return tfd_str_is(tfd_tstring_view(tfd_tensor_data(&v->tensors[PART_MARK])),
                      MARK) &&
           numbers->dtype == TFD_INT64 && numbers->shape.rank == 1 &&
           numbers->shape.dim[0] % NUMBERS_EACH == 1 &&
           *(const int64_t *)tfd_tensor_data(numbers) >= 0;
}

static enum tfd_code state_of(const struct tfd_tensor *t,
                              const struct tfd_variant **out,
                              struct tfd_status *st)
{
    if (t->shape.rank != 1 || t->shape.dim[0] != 1)
        return no_state(st);
    *out = *(struct tfd_variant *const *)tfd_tensor_data(t);
    return is_state(*out) ? TFD_OK : no_state(st);
}

static enum tfd_code other_dataset(struct tfd_str what, enum tfd_code code,
                                   struct tfd_status *st)
{
    return tfd_fail(
        st, code,
        "Failed to restore dataset iterator from checkpoint: " TFD_STR_FMT
        ". Make sure the dataset definition has not "
        "changed between the process that saved the checkpoint and "
        "the process that is restoring it.",
        TFD_STR_ARG(what));
}

static bool has_line(struct tfd_str text, struct tfd_str line)
{
    while (text.size >= line.size) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;

        if (tfd_str_eq((struct tfd_str){text.data, size}, line))
            return true;
        if (!end)
            return false;
        text.data += size + 1;
        text.size -= size + 1;
    }
    return false;
}

/* Every stage that there is must be one that was saved. */
static enum tfd_code match_stages(struct tfd_str have, struct tfd_str saved,
                                  struct tfd_status *st)
{
    while (have.size > 0) {
        const char *end = memchr(have.data, '\n', have.size);
        struct tfd_str line = {have.data, (size_t)(end - have.data)};

        if (!has_line(saved, line))
            return other_dataset(line, TFD_NOT_FOUND, st);
        have.data += line.size + 1;
        have.size -= line.size + 1;
    }
    return TFD_OK;
}

static enum tfd_code check_stages(const struct tfd_dataset *d,
                                  const struct tfd_variant *v,
                                  struct tfd_status *st)
{
    const struct tfd_str saved =
        tfd_tstring_view(tfd_tensor_data(&v->tensors[PART_STAGES]));
    struct tfd_bytes have;
    enum tfd_code rc;

    tfd_bytes_init(&have, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = put_stages(d, &have, st);
    if (rc == TFD_OK)
        rc = match_stages(tfd_bytes_view(&have), saved, st);
    tfd_bytes_deinit(&have);
    return rc;
}

static enum tfd_code read_seeds(const int64_t *number, struct tfd_dataset *d,
                                struct tfd_iterator_position *p,
                                struct tfd_status *st)
{
    p->seeds = calloc((size_t)d->seed_count + 1, sizeof(*p->seeds));
    if (!p->seeds)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the state of an iterator");
    for (int i = 0; i < d->seed_count; i++, number += NUMBERS_EACH)
        p->seeds[i] = (struct tfd_data_seeds_state){
            (uint64_t)number[0], (uint64_t)number[1], (uint64_t)number[2]};
    return TFD_OK;
}

static enum tfd_code restore(struct tfd_iterator *it, struct tfd_dataset *d,
                             const struct tfd_variant *v, struct tfd_status *st)
{
    const struct tfd_tensor *numbers = &v->tensors[PART_NUMBERS];
    const int64_t *number = tfd_tensor_data(numbers);
    struct tfd_iterator_position p = {tfd_dataset_ref(d), number[0], NULL};
    enum tfd_code rc = check_stages(d, v, st);

    if (rc == TFD_OK &&
        numbers->shape.dim[0] != 1 + NUMBERS_EACH * (int64_t)d->seed_count)
        rc = other_dataset(TFD_STR("seeds"), TFD_NOT_FOUND, st);
    if (rc == TFD_OK)
        rc = read_seeds(number + 1, d, &p, st);
    if (rc == TFD_OK)
        rc = tfd_iterator_restore(it, &p, st);
    tfd_iterator_position_drop(&p);
    return rc;
}

static enum tfd_code restore_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_variant *v = NULL;
    struct tfd_iterator *it;
    struct tfd_resource *r;
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(state_of(&k->in[1], &v, st));
    TFD_TRY(iterator_of(k, &it, &r, st));
    d = tfd_iterator_dataset(it);
    rc = d ? restore(it, d, v, st)
           : other_dataset(
                 TFD_STR("Restore() failed because the iterator has not been "
                         "initialized. Ensure that you have run the "
                         "initializer operation for this iterator before "
                         "restoring it."),
                 TFD_FAILED_PRECONDITION, st);
    tfd_dataset_unref(d);
    tfd_resource_unref(r);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SerializeIterator",
        .inputs = "resource_handle: resource",
        .outputs = "serialized: variant",
        .attrs = "external_state_policy: int = 0",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DeserializeIterator",
        .inputs = "resource_handle: resource, serialized: variant",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SerializeIterator", save_compute, .prepare = save_prepare,
                   .state_size = sizeof(struct save_state)),
    TFD_KERNEL_ANY("DeserializeIterator", restore_compute),
};

const struct tfd_family tfd_family_iterator_state = {
    .name = "iterator_state",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
