/*
 * added_node.c - see added_node.h.  All values are in one buffer, which moves
 * while it grows, so views of them are made at the end.
 */
#include "daemon/rewrite/added_node.h"

#include "config/limits.h"

#include <assert.h>

void tfd_added_node_init(struct tfd_added_node *a)
{
    a->count = 0;
    tfd_bytes_init(&a->values, TFD_ATTR_SIZE_MAX);
}

struct tfd_bytes *tfd_added_node_attr(struct tfd_added_node *a,
                                      const char *name)
{
    assert(a->count < TFD_ADDED_NODE_ATTRS_MAX);
    a->at[a->count] = a->values.size;
    a->list[a->count++].name = tfd_str_of(name);
    return &a->values;
}

void tfd_added_node_put(struct tfd_added_node *a, struct tfd_bytes *out,
                        const struct tfd_nodedef *def)
{
    struct tfd_nodedef whole = *def;

    for (int i = 0; i < a->count; i++) {
        size_t end = i + 1 < a->count ? a->at[i + 1] : a->values.size;

        a->list[i].value.data = a->values.data + a->at[i];
        a->list[i].value.size = end - a->at[i];
    }
    whole.attrs = a->list;
    whole.attr_count = a->count;
    tfd_graphdef_put(out, &whole);
    tfd_bytes_deinit(&a->values);
}
