/* runs.c - see runs.h. */
#include "kernels/runs.h"

#include "common/alloc.h"
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

enum tfd_code tfd_runs_copy(struct tfd_kctx *k, int out, int64_t dst_row,
                            int64_t dst_at, const struct tfd_tensor *src,
                            int64_t src_row, int64_t src_at, int64_t run,
                            int64_t count, struct tfd_status *st)
{
    struct tfd_memory *memory = tfd_kctx_memory(k, out);
    enum tfd_dtype dtype = src->dtype;
    const void *from = tfd_tensor_data(src);
    void *to = tfd_tensor_data(&k->out[out]);

    if (memory && run > 0 && count > 0) {
        size_t size = tfd_dtype_size(dtype);

        return memory->copy_runs(
            memory, k->stream, tfd_element_at(to, dtype, dst_at),
            (size_t)dst_row * size, tfd_element_of(from, dtype, src_at),
            (size_t)src_row * size, (size_t)run * size, (size_t)count, st);
    }
    for (int64_t i = 0; i < count && run > 0; i++)
        TFD_TRY(tfd_elements_copy(
            dtype, tfd_element_at(to, dtype, i * dst_row + dst_at),
            tfd_element_of(from, dtype, i * src_row + src_at), run, st));
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
