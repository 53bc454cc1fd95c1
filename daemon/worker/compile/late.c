/*
 * late.c - which values of variables are read by those who consume them.
 *
 * In TensorFlow what an Identity reads from a reference variable shares the
 * variable's memory, and so does what a Switch, a Merge, an Enter or an Exit
 * passes on of it: consumers see what was assigned in between, and programs
 * rely on that (the tokens of synchronous replicas are a step read before it is
 * counted up; a loop that assigns sees its own assignments through a read
 * outside of it).  Here such nodes pass the reference on, and each consumer
 * reads for itself when it runs.  A value that a loop carries from one
 * iteration to the next is read at NextIteration.
 *
 * Ops that give their input's memory another shape, or nothing else to do, pass
 * on a view of it (kernels/state/variable.h).  So do those that pass the
 * reference on where an Assign may give the variable other memory, which
 * earlier reads do not see.
 *
 * What a client fetches is read again when the step ends
 * (tfd_step_read_late()): there TensorFlow looks at the memory first, to send
 * it.  What is sent to another task, to be fetched there perhaps, is read after
 * what is quickly done (late_send.c); what a function returns, when that runs.
 *
 * A loop that references enter cannot run as code (while_guard.c).  So they
 * enter it only where that can be seen: where something writes to a variable
 * within a loop, or outside without coming after this one.
 */
#include "daemon/worker/compile/wiring.h"

#define FRAME_BITS 64

/* The bit of a loop; those beyond the last share none. */
static uint64_t bit_of(int32_t frame)
{
    return frame > 0 && frame < FRAME_BITS ? UINT64_C(1) << frame : 0;
}

/* Takes a reference and is none of those that only look. */
static bool may_write(const struct tfd_exec_node *x)
{
    bool takes = false, gives = false;

    if (x->kind != TFD_EXEC_KERNEL && x->kind != TFD_EXEC_ASYNC)
        return false;
    for (int32_t i = 0; i < x->node->in_count; i++)
        takes |= tfd_dtype_is_ref(x->node->in_types[i]);
    for (int32_t i = 0; i < x->node->out_count; i++)
        gives |= tfd_dtype_is_ref(x->node->out_types[i]);
    return takes && (gives || !(x->node->op->flags & TFD_OP_UNINITIALIZED_OK));
}

/* It may give its variable another count of elements. */
static bool may_replace(const struct tfd_node *n)
{
    bool validate = true;

    return tfd_str_is(n->op->name, "Assign") &&
           tfd_node_bool(n, "validate_shape", &validate, NULL) == TFD_OK &&
           !validate;
}

/* The loops that have ended before node `exec` begins; after: those of the
 * nodes before it. */
static uint64_t loops_before(const struct tfd_wiring *w, const uint64_t *after,
                             int32_t exec)
{
    const struct tfd_plan_node *p = &w->c->nodes[w->graph_node[exec]];
    const struct tfd_node *n = w->c->g->nodes[w->graph_node[exec]];
    uint64_t loops = 0;

    for (int32_t i = 0; i < n->in_count; i++) {
        int32_t from = w->c->sources[p->first_in + i].exec;

        if (from >= 0 && from < exec)
            loops |= after[from];
    }
    for (int32_t i = 0; i < n->control_count; i++) {
        int32_t from = w->c->nodes[n->control[i]].control;

        if (from >= 0 && w->c->nodes[from].exec >= 0)
            loops |= after[w->c->nodes[from].exec];
    }
    return loops;
}

enum tfd_code tfd_wiring_find_writers(struct tfd_wiring *w,
                                      struct tfd_status *st)
{
    uint64_t *after = tfd_arena_array(
        &w->c->scratch, (size_t)w->e->node_count + 1, sizeof(*after));

    TFD_TRY(tfd_arena_check(after, "nodes of a graph", st));
    for (int32_t i = 0; i < w->e->node_count; i++) {
        const struct tfd_exec_node *x = &w->e->nodes[i];

        if (w->graph_node[i] < 0)
            continue;
        after[i] = loops_before(w, after, i);
        if (x->route == TFD_ROUTE_EXIT)
            after[i] |= bit_of(w->frame[i]);
        if (!may_write(x))
            continue;
        w->has_writer = true;
        w->e->replaces |= may_replace(x->node);
        w->written_while |= w->frame[i] ? UINT64_MAX : ~after[i];
    }
    return TFD_OK;
}

/* A loop within another gets references only where the outer one has. */
static bool enters_late(const struct tfd_wiring *w,
                        const struct tfd_exec_node *x)
{
    uint64_t bit = bit_of(x->value);

    return bit ? (w->written_while & bit) != 0 : w->has_writer;
}

/* Kernels whose outputs share their input's memory in TensorFlow, some only
 * where there is nothing to do, or where whole rows of it are taken.  Whether
 * one does here the runner sees. */
static const char *const forwarders[] = {
    "AddN",
    "All",
    "Any",
    "BatchToSpaceND",
    "Bitcast",
    "BroadcastTo",
    "Cast",
    "CheckNumerics",
    "CheckNumericsV2",
    "ExpandDims",
    "MatrixBandPart",
    "Max",
    "Mean",
    "Min",
    "MirrorPad",
    "Pack",
    "Pad",
    "PadV2",
    "PlaceholderWithDefault",
    "Prod",
    "Reshape",
    "Slice",
    "SpaceToBatchND",
    "Split",
    "SplitV",
    "Squeeze",
    "StackPush",
    "StackPushV2",
    "StridedSlice",
    "Sum",
    "Tile",
    "Transpose",
    "Unpack",
};

/* Kernels that put an input where it stays: kernels/core/kept.h.  What of it
 * goes on at once, too, is as with a forwarder. */
static const char *const keepers[] = {
    "AssignVariableOp",   "QueueEnqueue",       "QueueEnqueueV2",
    "StackPush",          "StackPushV2",        "TensorArrayWrite",
    "TensorArrayWriteV2", "TensorArrayWriteV3", "TensorListPushBack",
    "TensorListSetItem",  "TensorMapInsert",
};

bool tfd_late_keeps(const struct tfd_node *n)
{
    for (size_t i = 0; i < sizeof(keepers) / sizeof(*keepers); i++)
        if (tfd_str_is(n->op->name, keepers[i]))
            return true;
    return false;
}

bool tfd_late_forwards(const struct tfd_node *n)
{
    for (size_t i = 0; i < sizeof(forwarders) / sizeof(*forwarders); i++)
        if (tfd_str_is(n->op->name, forwarders[i]))
            return true;
    return false;
}

/* A Send may be: not those of a GPU's memory, nor one in a loop, whose
 * iteration may be gone when it would run. */
static bool puts_off(const struct tfd_wiring *w, const struct tfd_exec_node *x)
{
    return (x->kind == TFD_EXEC_KERNEL || x->kind == TFD_EXEC_SEND) &&
           !(x->flags & TFD_EXEC_STREAM) && w->frame[x - w->e->nodes] == 0;
}

/* Kernels that hand out what lies in a container.  Those of a later step, too,
 * may hand out what was put in from a reference; what others hold ends with the
 * step. */
static const struct taker {
    const char *op;
    bool later;
} takers[] = {
    {"QueueDequeue", true},       {"QueueDequeueV2", true},
    {"ReadVariableOp", true},     {"StackPop", false},
    {"StackPopV2", false},        {"TensorArrayRead", false},
    {"TensorArrayReadV2", false}, {"TensorArrayReadV3", false},
    {"TensorListGetItem", false}, {"TensorListPopBack", false},
};

/* x may hand out references. */
static bool takes(const struct tfd_wiring *w, const struct tfd_exec_node *x)
{
    bool in_loop = w->frame[x - w->e->nodes] != 0;

    if (!w->has_writer || (x->flags & TFD_EXEC_STREAM) ||
        (x->kind != TFD_EXEC_KERNEL && x->kind != TFD_EXEC_ASYNC))
        return false;
    for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++)
        if (tfd_str_is(x->node->op->name, takers[i].op))
            return w->keeps_refs || (takers[i].later && !in_loop);
    return false;
}

bool tfd_wiring_reads_late(const struct tfd_wiring *w,
                           const struct tfd_exec_node *x)
{
    const uint32_t passes =
        TFD_OP_IDENTITY | TFD_OP_EXIT | TFD_OP_SWITCH | TFD_OP_MERGE;

    if (takes(w, x))
        return true;
    if (!(x->flags & TFD_EXEC_REF_IN))
        return false;
    if (x->kind == TFD_EXEC_FETCH)
        return w->has_writer && !w->c->env->is_function;
    if (x->node->op->flags & TFD_OP_SEND)
        return w->has_writer && puts_off(w, x);
    if ((x->kind == TFD_EXEC_KERNEL || x->kind == TFD_EXEC_ASYNC) &&
        tfd_late_keeps(x->node)) /* another step may assign */
        return !(x->flags & TFD_EXEC_STREAM);
    if (x->kind == TFD_EXEC_KERNEL)
        return w->has_writer && !(x->flags & TFD_EXEC_STREAM) &&
               tfd_late_forwards(x->node);
    if (x->node->op->flags & TFD_OP_ENTER)
        return x->kind == TFD_EXEC_PASS && enters_late(w, x);
    return (x->node->op->flags & passes) &&
           (x->kind == TFD_EXEC_PASS || x->kind == TFD_EXEC_SWITCH ||
            x->kind == TFD_EXEC_MERGE);
}
