/*
 * shapes.c - see shapes.h.
 */
#include "kernels/data/shapes.h"

#include "config/limits.h"

#include <stdlib.h>

enum tfd_code tfd_data_shape_components(struct tfd_shape_ctx *s,
                                        struct tfd_status *st)
{
    struct tfd_shape *shapes;
    enum tfd_code rc;
    int count;

    if (!s->node)
        return TFD_OK;
    shapes = calloc((size_t)s->out_count + 1, sizeof(*shapes));
    if (!shapes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for shapes");
    rc = tfd_node_shapes(s->node, "output_shapes", shapes, s->out_count, &count,
                         st);
    if (rc == TFD_OK && count != s->out_count)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "`output_shapes` must be the same length as "
                      "`output_types` (%d vs. %d)",
                      count, s->out_count);
    for (int i = 0; rc == TFD_OK && i < count; i++)
        s->out[i] = shapes[i];
    free(shapes);
    return rc;
}
