/*
 * data_fingerprint.c - see fingerprint.h.
 */
#include "kernels/data_graph/data_fingerprint.h"

#include "config/limits.h"
#include "kernels/data_graph/data_library.h"

/* FNV-1a: of the same dataset it is the same in every process. */
#define HASH_START UINT64_C(14695981039346656037)
#define HASH_PRIME UINT64_C(1099511628211)

static uint64_t mix(uint64_t h, struct tfd_str s)
{
    for (size_t i = 0; i < s.size; i++)
        h = (h ^ (uint8_t)s.data[i]) * HASH_PRIME;
    return (h ^ s.size) * HASH_PRIME;
}

/* A function stands for what it is, `hashes` has that, and not for its name,
 * which tracing counts up. */
static uint64_t hash_attr(const struct tfd_attr *a,
                          const struct tfd_map *hashes)
{
    struct tfd_str function = tfd_data_library_name(a->value);
    uint64_t h = mix(HASH_START, a->name);
    uintptr_t found = 0;

    if (function.size == 0)
        return mix(h, a->value);
    (void)tfd_map_get(hashes, function, &found);
    return (h ^ found) * HASH_PRIME;
}

/* What an input names, "node:out:0" or "^node", with the node's number for its
 * name: names, too, are counted up by tracing. */
static uint64_t mix_input(uint64_t h, struct tfd_str in,
                          const struct tfd_map *numbers)
{
    const size_t mark = in.size > 0 && in.data[0] == '^';
    struct tfd_str name = {in.data + mark, 0}, rest;
    uintptr_t number;

    while (mark + name.size < in.size && name.data[name.size] != ':')
        name.size++;
    if (!tfd_map_get(numbers, name, &number))
        return mix(h, in);
    rest = (struct tfd_str){name.data + name.size, in.size - mark - name.size};
    return mix((h ^ (number << 1 | mark)) * HASH_PRIME, rest);
}

/* Attributes come in any order. */
static uint64_t mix_function_node(uint64_t h, const struct tfd_function_node *n,
                                  const struct tfd_map *numbers,
                                  const struct tfd_map *hashes)
{
    uint64_t attrs = 0;

    h = mix(h, n->op);
    for (int32_t k = 0; k < n->in_count; k++)
        h = mix_input(h, n->in[k], numbers);
    for (int32_t k = 0; k < n->attr_count; k++)
        if (!tfd_str_is(n->attrs[k].name, "metadata"))
            attrs += hash_attr(&n->attrs[k], hashes);
    return (h ^ attrs) * HASH_PRIME;
}

static enum tfd_code no_hash_memory(struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for a dataset's fingerprint");
}

static enum tfd_code hash_function(const struct tfd_function *f,
                                   const struct tfd_map *hashes, uint64_t *h,
                                   struct tfd_status *st)
{
    struct tfd_map numbers;
    bool ok = true;

    *h = HASH_START;
    tfd_map_init(&numbers);
    for (int32_t i = 0; ok && i < f->node_count; i++)
        ok = tfd_map_put(&numbers, f->nodes[i].name, (uintptr_t)i);
    for (int32_t i = 0; ok && i < f->node_count; i++)
        *h = mix_function_node(*h, &f->nodes[i], &numbers, hashes);
    for (int32_t i = 0; ok && i < f->op.out_count; i++)
        *h = mix_input(*h, f->ret[i], &numbers);
    tfd_map_deinit(&numbers);
    return ok ? TFD_OK : no_hash_memory(st);
}

/* Functions call each other, so each round knows those that are called as the
 * one before it did: after DEPTH of them a hash is of what is called so deep.
 */
#define DEPTH 4

static enum tfd_code hash_round(const struct tfd_data_library *l,
                                const struct tfd_map *before,
                                struct tfd_map *after, struct tfd_status *st)
{
    uint64_t h;

    for (const struct tfd_data_function *f = l->first; f; f = f->next) {
        TFD_TRY(hash_function(f->function, before, &h, st));
        if (!tfd_map_put(after, f->function->op.name, (uintptr_t)h))
            return no_hash_memory(st);
    }
    return TFD_OK;
}

static enum tfd_code hash_functions(const struct tfd_data_library *l,
                                    struct tfd_map *hashes,
                                    struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    for (int i = 0; rc == TFD_OK && i < DEPTH; i++) {
        struct tfd_map before = *hashes;

        tfd_map_init(hashes);
        rc = hash_round(l, &before, hashes, st);
        tfd_map_deinit(&before);
    }
    return rc;
}

static uint64_t mix_value(uint64_t h, const struct tfd_tensor *t,
                          struct tfd_bytes *text)
{
    tfd_bytes_clear(text);
    if (t->dtype == TFD_RESOURCE)
        return mix(h, TFD_STR("resource"));
    tfd_tensor_proto_encode(text, t, NULL);
    return mix(h, tfd_bytes_view(text));
}

static uint64_t mix_node(uint64_t h, const struct tfd_data_node *n,
                         const struct tfd_map *hashes, struct tfd_bytes *text)
{
    uint64_t attrs = 0;

    h = mix(h, n->op);
    for (int32_t i = 0; i < n->attr_count; i++)
        if (!tfd_str_is(n->attrs[i].name, "metadata"))
            attrs += hash_attr(&n->attrs[i], hashes);
    h = (h ^ attrs) * HASH_PRIME;
    for (int32_t i = 0; i < n->in_count; i++)
        if (n->in[i].node >= 0)
            h = (h ^ (uint64_t)n->in[i].node) * HASH_PRIME;
        else
            h = mix_value(h, n->in[i].value, text);
    return h;
}

static enum tfd_code mix_all(void *arg, const struct tfd_data_nodes *g,
                             const struct tfd_data_library *l,
                             struct tfd_status *st)
{
    uint64_t *out = arg;
    struct tfd_map hashes;
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_map_init(&hashes);
    tfd_bytes_init(&text, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = hash_functions(l, &hashes, st);
    *out = HASH_START;
    for (int32_t i = 0; rc == TFD_OK && i < g->count; i++)
        *out = mix_node(*out, g->node[i], &hashes, &text);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&text, "a dataset's fingerprint", st);
    tfd_bytes_deinit(&text);
    tfd_map_deinit(&hashes);
    return rc;
}

enum tfd_code tfd_data_fingerprint(const struct tfd_tensor *dataset,
                                   uint64_t *out, struct tfd_status *st)
{
    return tfd_data_library_use(dataset, mix_all, out, st);
}
