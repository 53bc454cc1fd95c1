/*
 * kernels_page.c - see kernels_page.h.
 */
#include "daemon/status/kernels_page.h"

enum place { ON_CPU, ON_GPU, ON_GPU_IN_HOST_MEMORY, PLACES };

static const char *const place_text[PLACES] = {
    " CPU host ",
    " GPU device ",
    " GPU host ",
};

static bool are_host(const struct tfd_op_arg *args, int count, uint32_t host)
{
    for (int i = 0; i < count; i++)
        if (!(host >> i & 1) && args[i].dtype != TFD_RESOURCE &&
            args[i].dtype != TFD_STRING)
            return false;
    return true;
}

static enum place place_of_kernel(const struct tfd_op *op,
                                  const struct tfd_kernel *k)
{
    if (k->device == TFD_CPU)
        return ON_CPU;
    return are_host(op->in, op->in_count, k->host_in) &&
                   are_host(op->out, op->out_count, k->host_out)
               ? ON_GPU_IN_HOST_MEMORY
               : ON_GPU;
}

static void add_text(struct tfd_bytes *out, struct tfd_str text)
{
    tfd_bytes_add_str(out, text);
}

/* " CPU host T=float" for the first of a line, else ",double". */
static void add_type(struct tfd_bytes *out, const struct tfd_op *op,
                     const struct tfd_kernel *k, enum place place, bool first)
{
    if (first) {
        add_text(out, op->name);
        add_text(out, tfd_str_of(place_text[place]));
    }
    if (k->dtype == TFD_DTYPE_INVALID) {
        add_text(out, first ? TFD_STR("*") : TFD_STR(",*"));
        return;
    }
    if (first)
        add_text(out, op->attrs[op->key_attr].name);
    add_text(out, first ? TFD_STR("=") : TFD_STR(","));
    add_text(out, tfd_str_of(tfd_dtype_name((int)k->dtype)));
}

static void add_line(struct tfd_bytes *out, const struct tfd_op *op,
                     const struct tfd_kernel *const *kernels, enum place place)
{
    bool first = true;

    for (; *kernels; kernels++)
        if (place_of_kernel(op, *kernels) == place) {
            add_type(out, op, *kernels, place, first);
            first = false;
        }
    if (!first)
        add_text(out, TFD_STR("\n"));
}

void tfd_kernels_page_write(const struct tfd_registry *r, struct tfd_bytes *out)
{
    for (int i = 0; i < r->ops.count; i++) {
        const struct tfd_kernel *const *kernels = r->kernels[i];
        const struct tfd_op *op = NULL;

        if (*kernels)
            op = tfd_op_find(&r->ops, tfd_str_of((*kernels)->op));
        for (int place = 0; op && place < PLACES; place++)
            add_line(out, op, kernels, (enum place)place);
    }
}
