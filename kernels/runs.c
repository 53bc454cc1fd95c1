/* runs.c - see runs.h. */
#include "kernels/runs.h"

#include "kernels/element.h"

void tfd_runs_around(const struct tfd_shape *s, int axis, int64_t *outer,
                     int64_t *inner)
{
    *outer = *inner = 1;
    for (int d = 0; d < axis; d++)
        *outer *= s->dim[d];
    for (int d = axis + 1; d < s->rank; d++)
        *inner *= s->dim[d];
}

enum tfd_code tfd_runs_copy(enum tfd_dtype dtype, void *dst, int64_t dst_row,
                            int64_t dst_at, const void *src, int64_t src_row,
                            int64_t src_at, int64_t run, int64_t count,
                            struct tfd_status *st)
{
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(tfd_elements_copy(
            dtype, tfd_element_at(dst, dtype, i * dst_row + dst_at),
            tfd_element_of(src, dtype, i * src_row + src_at), run, st));
    return TFD_OK;
}

enum tfd_code tfd_runs_gradients(struct tfd_grad *g, struct tfd_edge *parts,
                                 struct tfd_status *st)
{
    int count = g->node->out_count;

    if (count > TFD_GRAD_LIST_MAX)
        return tfd_fail(
            st, TFD_UNIMPLEMENTED,
            "gradient of " TFD_STR_FMT " with %d outputs; at most %d",
            TFD_STR_ARG(g->node->op->name), count, TFD_GRAD_LIST_MAX);
    for (int i = 0; i < count; i++) {
        parts[i] = g->dy[i];
        if (parts[i].node < 0)
            TFD_TRY(tfd_grad_emit(g, "ZerosLike", &g->y[i], 1, &parts[i], st));
    }
    return TFD_OK;
}
