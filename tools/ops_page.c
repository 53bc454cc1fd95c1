/*
 * ops_page.c - writes docs/ops.md from the tables of the families, so that the
 * page cannot lag behind them.  `make docs` runs it:
 *
 *     ops_page GPU_ROWS UNCHECKED >docs/ops.md
 *
 *     GPU_ROWS   lines "Op type" of cuda/ (tools/gpu_rows): a build without
 *                nvcc has no other way to know them
 *     UNCHECKED  names of ops that the conformance table does not run, each
 *                with its reason after it (tools/unchecked_ops)
 */
#include "kernels/core/families.h"
#include "kernels/core/gradient_call.h"
#include "kernels/core/registry.h"

#include "common/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS_MAX 4096
#define LINE_MAX_SIZE 256
#define ALL_TYPES (~UINT32_C(0))

struct line {
    const struct tfd_op *op;
    uint32_t cpu;  /* bits by enum tfd_dtype */
    uint32_t gpu;  /* the same, of what runs on the device */
    uint32_t host; /* of what a GPU leaves in host memory */
    bool unchecked;
};

static struct line lines[OPS_MAX];

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "ops_page: %s: %s\n", what, why);
    exit(1);
}

/* ---- What there is ------------------------------------------------------- */

static uint32_t bit_of(enum tfd_dtype dtype)
{
    return dtype == TFD_DTYPE_INVALID ? ALL_TYPES : UINT32_C(1) << dtype;
}

static bool are_host(const struct tfd_op_arg *args, int count, uint32_t host)
{
    for (int i = 0; i < count; i++)
        if (!(host >> i & 1) && args[i].dtype != TFD_RESOURCE &&
            args[i].dtype != TFD_STRING)
            return false;
    return true;
}

/* All that the row of a GPU takes and gives is in host memory. */
static bool is_host(const struct tfd_op *op, const struct tfd_kernel *k)
{
    return are_host(op->in, op->in_count, k->host_in) &&
           are_host(op->out, op->out_count, k->host_out);
}

/* Of a GPU the registry has only rows that are borrowed from the CPU. */
static void add_kernels(const struct tfd_registry *r)
{
    for (int i = 0; i < r->ops.count; i++)
        for (const struct tfd_kernel *const *k = r->kernels[i]; *k; k++) {
            if ((*k)->device == TFD_CPU)
                lines[i].cpu |= bit_of((*k)->dtype);
            else if (is_host(lines[i].op, *k))
                lines[i].host |= bit_of((*k)->dtype);
            else
                lines[i].gpu |= bit_of((*k)->dtype);
        }
}

static void add_ops(const struct tfd_registry *r)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    if (r->ops.count > OPS_MAX)
        give_up("registry", "more ops than there is room for");
    while (tfd_map_next(&r->ops.by_name, &at, &e)) {
        const struct tfd_op *op = tfd_op_find(&r->ops, e->key);

        if (!op)
            give_up("no definition that can be parsed", e->key.data);
        lines[op->index].op = op;
    }
}

static struct line *find(const struct tfd_registry *r, const char *name)
{
    const struct tfd_op *op = tfd_op_find(&r->ops, tfd_str_of(name));

    return op ? &lines[op->index] : NULL;
}

static uint32_t type_of(const char *name)
{
    if (strcmp(name, "*") == 0)
        return ALL_TYPES;
    for (int type = 1; type < TFD_DTYPE_END; type++)
        if (strcmp(tfd_dtype_name(type), name) == 0)
            return UINT32_C(1) << type;
    give_up("no such type", name);
}

static void read_gpu_row(const struct tfd_registry *r, char *text)
{
    char *type = strchr(text, ' ');
    struct line *line;

    if (!type)
        give_up("no row", text);
    *type++ = '\0';
    line = find(r, text);
    if (!line)
        give_up("no such op", text);
    line->gpu |= type_of(type);
}

/* "Op why", or a line that begins with #. */
static void read_unchecked(const struct tfd_registry *r, char *text)
{
    struct line *line;

    if (*text == '#')
        return;
    text[strcspn(text, " ")] = '\0';
    line = find(r, text);
    if (!line)
        give_up("no such op", text);
    line->unchecked = true;
}

static void read_lines(const struct tfd_registry *r, const char *path,
                       void (*read)(const struct tfd_registry *, char *))
{
    FILE *file = fopen(path, "r");
    char text[LINE_MAX_SIZE];

    if (!file)
        give_up("cannot be opened", path);
    while (fgets(text, sizeof(text), file)) {
        text[strcspn(text, "\n")] = '\0';
        read(r, text);
    }
    fclose(file);
}

/* ---- The page ------------------------------------------------------------ */

#define BIT(type) (UINT32_C(1) << TFD_##type)

/* The order of the page, which is not that of the numbers. */
static const enum tfd_dtype order[] = {
    TFD_HALF,       TFD_BFLOAT16, TFD_FLOAT,   TFD_DOUBLE, TFD_COMPLEX64,
    TFD_COMPLEX128, TFD_INT8,     TFD_INT16,   TFD_INT32,  TFD_INT64,
    TFD_UINT8,      TFD_UINT16,   TFD_UINT32,  TFD_UINT64, TFD_BOOL,
    TFD_STRING,     TFD_RESOURCE, TFD_VARIANT, TFD_QINT8,  TFD_QUINT8,
    TFD_QINT16,     TFD_QUINT16,  TFD_QINT32,
};

static const struct {
    const char *name;
    uint32_t types;
} groups[] = {
    {"floats", BIT(HALF) | BIT(BFLOAT16) | BIT(FLOAT) | BIT(DOUBLE)},
    {"complex", BIT(COMPLEX64) | BIT(COMPLEX128)},
    {"ints", BIT(INT8) | BIT(INT16) | BIT(INT32) | BIT(INT64) | BIT(UINT8) |
                 BIT(UINT16) | BIT(UINT32) | BIT(UINT64)},
};

static void put_types(const char *before, uint32_t types)
{
    if (types == ALL_TYPES) {
        printf("%sany", before);
        return;
    }
    for (int i = 0; i < TFD_COUNT(groups); i++)
        if ((types & groups[i].types) == groups[i].types) {
            printf("%s%s", before, groups[i].name);
            types &= ~groups[i].types;
            before = " ";
        }
    for (int i = 0; i < TFD_COUNT(order); i++)
        if (types >> order[i] & 1) {
            printf("%s%s", before, tfd_dtype_name((int)order[i]));
            before = " ";
        }
}

static void put_gpu(const struct line *l)
{
    if (l->gpu)
        put_types("", l->gpu);
    if (l->host)
        put_types(l->gpu ? "; host: " : "host: ", l->host);
    if (!l->gpu && !l->host)
        printf("-");
}

/* Control flow and calls are differentiated by the walk over the graph. */
static const char *gradient_of(const struct tfd_op *op)
{
    const uint32_t walked = TFD_OP_SWITCH | TFD_OP_MERGE | TFD_OP_ENTER |
                            TFD_OP_EXIT | TFD_OP_NEXT_ITERATION;
    struct tfd_node node = {.op = op};

    if (op->def->grad)
        return "yes";
    if (op->flags & walked || tfd_gradient_is_call(&node))
        return "yes";
    return op->flags & TFD_OP_NO_GRADIENT ? "none" : "-";
}

static void put_line(const struct line *l)
{
    printf("| " TFD_STR_FMT " | ", TFD_STR_ARG(l->op->name));
    put_types("", l->cpu);
    if (!l->cpu)
        printf("-");
    printf(" | ");
    put_gpu(l);
    printf(" | %s | %s |\n", gradient_of(l->op), l->unchecked ? "-" : "yes");
}

static int by_name(const void *a, const void *b)
{
    const struct tfd_str x = ((const struct line *)a)->op->name;
    const struct tfd_str y = ((const struct line *)b)->op->name;

    return strcmp(x.data, y.data);
}

static void put_counts(int count)
{
    int gpu = 0, host = 0, gradient = 0, checked = 0;

    for (int i = 0; i < count; i++) {
        gpu += lines[i].gpu != 0;
        host += lines[i].host && !lines[i].gpu;
        gradient += strcmp(gradient_of(lines[i].op), "yes") == 0;
        checked += !lines[i].unchecked;
    }
    printf("%d ops: %d have a kernel of a GPU and %d more run beside it in "
           "host memory,\n%d have a gradient, %d are checked against "
           "TensorFlow.\n\n",
           count, gpu, host, gradient, checked);
}

static const char head[] =
    "# Operations\n"
    "\n"
    "`make docs` writes this page from the tables of the families; "
    "`make check` fails\n"
    "when it is stale.  A running server tells the same of itself under "
    "`/kernels`;\n"
    "`tfd --missing_ops=GRAPH` says what a graph wants beyond it.\n"
    "\n"
    "- **CPU**, **GPU**: the element types that have a kernel, by the "
    "attribute that chooses\n"
    "  it (most often `T`). *floats* are half, bfloat16, float and double; "
    "*complex* are\n"
    "  complex64 and complex128; *ints* are the signed and unsigned integers "
    "of 8 to 64\n"
    "  bits; *any* is every type that the definition allows. *host*: the op "
    "is placed on a\n"
    "  GPU, and these types stay in host memory, as in TensorFlow.\n"
    "- **gradient**: *yes* where `TF_AddGradients` and the training loop of "
    "`libtfd`\n"
    "  differentiate it; *none* where the gradient is known to be none; *-* "
    "where asking\n"
    "  for one is an error. Python's gradients are Python's own.\n"
    "- **checked**: the conformance suite runs the op on tfd and in "
    "TensorFlow, and\n"
    "  compares the answers.\n"
    "\n";

static void put_page(int count)
{
    fputs(head, stdout);
    put_counts(count);
    fputs("| op | CPU | GPU | gradient | checked |\n"
          "|---|---|---|---|---|\n",
          stdout);
    for (int i = 0; i < count; i++)
        put_line(&lines[i]);
}

static void init_registry(struct tfd_registry *r)
{
    const struct tfd_family **families =
        calloc((size_t)tfd_family_count + 1, sizeof(*families));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!families)
        give_up("registry", "no memory");
    memcpy(families, tfd_families,
           (size_t)tfd_family_count * sizeof(*families));
    families[tfd_family_count] = &tfd_cuda_family_host;
    if (tfd_registry_init(r, families, tfd_family_count + 1, &st))
        give_up("registry", st.text);
    free(families);
}

int main(int argc, char **argv)
{
    struct tfd_registry r;

    if (argc != 3)
        give_up("usage", "ops_page GPU_ROWS UNCHECKED");
    init_registry(&r);
    add_ops(&r);
    add_kernels(&r);
    read_lines(&r, argv[1], read_gpu_row);
    read_lines(&r, argv[2], read_unchecked);
    qsort(lines, (size_t)r.ops.count, sizeof(*lines), by_name);
    put_page(r.ops.count);
    tfd_registry_deinit(&r);
    return 0;
}
