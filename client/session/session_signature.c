/*
 * session_signature.c - what a program asks for, as names, remembered.
 *
 * A program runs the same few signatures for hours.  They are found by the
 * numbers of nodes, so that a step builds no string; all parts of one lie in a
 * single allocation.
 */
#include "client/session/backend.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 2048    /* a power of two */
#define KEPT_MAX 1024 /* half of them; more are made for their run only */
#define INDEX_TEXT 12 /* ":2147483647" and the end */

/* ---- Finding ------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
    return hash * UINT64_C(0xff51afd7ed558ccd);
}

static uint64_t mix_output(uint64_t hash, TF_Output o)
{
    return mix(hash, (uint64_t)o.oper->node->id << 32 | (uint32_t)o.index);
}

static uint64_t hash_of(const struct tfd_call_shape *c)
{
    uint64_t hash = mix((uint64_t)c->input_count, (uint64_t)c->output_count);

    for (int i = 0; i < c->input_count; i++)
        hash = mix_output(hash, c->inputs[i]);
    for (int i = 0; i < c->output_count; i++)
        hash = mix_output(hash, c->outputs[i]);
    for (int i = 0; i < c->target_count; i++)
        hash = mix(hash, (uint64_t)c->targets[i]->node->id);
    return hash;
}

static bool same_outputs(const struct tfd_edge *e, const TF_Output *o,
                         int count)
{
    for (int i = 0; i < count; i++)
        if (e[i].node != o[i].oper->node->id || e[i].output != o[i].index)
            return false;
    return true;
}

static bool is_same(const struct tfd_signature_names *n,
                    const struct tfd_call_shape *c, uint64_t hash)
{
    const struct tfd_edge *e = n->edges;

    if (n->hash != hash || n->input_count != c->input_count ||
        n->output_count != c->output_count ||
        n->target_count != c->target_count ||
        !same_outputs(e, c->inputs, c->input_count) ||
        !same_outputs(e + c->input_count, c->outputs, c->output_count))
        return false;
    e += c->input_count + c->output_count;
    for (int i = 0; i < c->target_count; i++)
        if (e[i].node != c->targets[i]->node->id)
            return false;
    return true;
}

/* TensorFlow looks outputs up by name, and takes a negative index for a part of
 * the name.  One of another graph is not taken for ours of the same name. */
static enum tfd_code check_output(const TF_Graph *g, TF_Output o,
                                  struct tfd_status *st)
{
    struct tfd_edge e;

    if (!o.oper || (o.oper->graph == g && o.index >= 0))
        return tfd_capi_edge(g, o, &e, st);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Tensor " TFD_STR_FMT ":%d%s, specified in either "
                    "feed_devices or fetch_devices was not found in the Graph",
                    TFD_STR_ARG(o.oper->node->name), o.index,
                    o.index < 0 ? ":0" : "");
}

static enum tfd_code check_target(const TF_Graph *g, const TF_Operation *op,
                                  int i, struct tfd_status *st)
{
    if (!op)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "target %d is no operation",
                        i);
    if (op->graph == g)
        return TFD_OK;
    return tfd_fail(st, TFD_NOT_FOUND,
                    "PruneForTargets: Some target nodes not found: " TFD_STR_FMT
                    " ",
                    TFD_STR_ARG(op->node->name));
}

static enum tfd_code check_call(const TF_Graph *g,
                                const struct tfd_call_shape *c,
                                struct tfd_status *st)
{
    for (int i = 0; i < c->input_count; i++)
        TFD_TRY(check_output(g, c->inputs[i], st));
    for (int i = 0; i < c->output_count; i++)
        TFD_TRY(check_output(g, c->outputs[i], st));
    for (int i = 0; i < c->target_count; i++)
        TFD_TRY(check_target(g, c->targets[i], i, st));
    return TFD_OK;
}

/* ---- Making -------------------------------------------------------------- */

/* Pieces of one block, or the size it must have while base is NULL. */
struct block {
    char *base;
    size_t used;
};

static void *piece(struct block *b, size_t count, size_t size)
{
    void *at = b->base ? b->base + b->used : NULL;

    b->used += (count * size + 15) & ~(size_t)15;
    return at;
}

static size_t name_space(const TF_Output *o, int count)
{
    size_t size = 0;

    for (int i = 0; i < count; i++)
        size += o[i].oper->node->name.size + INDEX_TEXT;
    return size;
}

static void lay_out(struct block *b, struct tfd_signature_names *n, char **text,
                    const struct tfd_call_shape *c)
{
    size_t in = (size_t)c->input_count, out = (size_t)c->output_count;
    size_t targets = (size_t)c->target_count;

    (void)piece(b, 1, sizeof(*n));
    n->edges = piece(b, in + out + targets, sizeof(*n->edges));
    n->feeds = piece(b, in, sizeof(*n->feeds));
    n->fetches = piece(b, out, sizeof(*n->fetches));
    n->targets = piece(b, targets, sizeof(*n->targets));
    n->fetch_of = piece(b, out, sizeof(*n->fetch_of));
    n->feed_types = piece(b, in, sizeof(*n->feed_types));
    *text = piece(b,
                  name_space(c->inputs, c->input_count) +
                      name_space(c->outputs, c->output_count),
                  1);
}

static struct tfd_str write_name(char **text, TF_Output o)
{
    struct tfd_str name = o.oper->node->name, out;

    memcpy(*text, name.data, name.size);
    out.data = *text;
    out.size = name.size +
               (size_t)snprintf(*text + name.size, INDEX_TEXT, ":%d", o.index);
    *text += out.size + 1;
    return out;
}

static int find_fetch(const struct tfd_signature_names *n, int output)
{
    const struct tfd_edge *e = n->edges + n->input_count;

    for (int i = 0; i < output; i++)
        if (e[i].node == e[output].node && e[i].output == e[output].output)
            return n->fetch_of[i];
    return -1;
}

static void fill_names(struct tfd_signature_names *n,
                       const struct tfd_call_shape *c, char *text)
{
    struct tfd_edge *e = n->edges;

    for (int i = 0; i < c->input_count; i++) {
        *e++ =
            (struct tfd_edge){c->inputs[i].oper->node->id, c->inputs[i].index};
        n->feeds[i] = write_name(&text, c->inputs[i]);
        n->feed_types[i] = (uint8_t)tfd_dtype_base(
            c->inputs[i].oper->node->out_types[c->inputs[i].index]);
    }
    for (int i = 0; i < c->output_count; i++) {
        *e++ = (struct tfd_edge){c->outputs[i].oper->node->id,
                                 c->outputs[i].index};
        n->fetch_of[i] = find_fetch(n, i);
        if (n->fetch_of[i] >= 0)
            continue;
        n->fetch_of[i] = n->fetch_count;
        n->fetches[n->fetch_count++] = write_name(&text, c->outputs[i]);
    }
    for (int i = 0; i < c->target_count; i++) {
        *e++ = (struct tfd_edge){c->targets[i]->node->id, 0};
        n->targets[i] = c->targets[i]->node->name;
    }
}

static struct tfd_signature_names *
make_signature(const struct tfd_call_shape *c, uint64_t hash)
{
    struct tfd_signature_names sizes, *n;
    struct block b = {NULL, 0};
    char *text;

    lay_out(&b, &sizes, &text, c);
    n = calloc(1, b.used);
    if (!n)
        return NULL;
    b = (struct block){(char *)n, 0};
    lay_out(&b, n, &text, c);
    n->hash = hash;
    n->input_count = c->input_count;
    n->output_count = c->output_count;
    n->target_count = c->target_count;
    fill_names(n, c, text);
    return n;
}

/* ---- Public -------------------------------------------------------------- */

enum tfd_code tfd_signatures_find(struct tfd_signatures *s, const TF_Graph *g,
                                  const struct tfd_call_shape *call,
                                  struct tfd_signature_names **out,
                                  struct tfd_status *st)
{
    uint64_t hash;
    size_t at;

    TFD_TRY(check_call(g, call, st));
    if (!s->slots)
        s->slots = calloc(SLOTS, sizeof(struct tfd_signature_names *));
    if (!s->slots)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a step");
    hash = hash_of(call);
    for (at = hash % SLOTS; s->slots[at]; at = (at + 1) % SLOTS)
        if (is_same(s->slots[at], call, hash)) {
            *out = s->slots[at];
            return TFD_OK;
        }
    *out = make_signature(call, hash);
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a step");
    (*out)->kept = s->count < KEPT_MAX;
    if ((*out)->kept) {
        s->slots[at] = *out;
        s->count++;
    }
    return TFD_OK;
}

void tfd_signature_names_free(struct tfd_signature_names *n)
{
    free(n);
}

void tfd_signatures_deinit(struct tfd_signatures *s)
{
    for (int i = 0; s->slots && i < SLOTS; i++)
        free(s->slots[i]);
    free(s->slots);
    *s = (struct tfd_signatures){NULL, 0};
}
