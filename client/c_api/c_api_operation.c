/*
 * c_api_operation.c - what an operation is and whom it is connected to;
 * attributes are in c_api_get_attr.c.
 *
 * A graph keeps the edges that lead into a node, so who reads an output is
 * found by looking at the nodes that were added later.
 */
#include "client/c_api/capi.h"

#include "common/proto/graphdef.h"

const char *TF_OperationName(TF_Operation *oper)
{
    return oper->node->name.data;
}

const char *TF_OperationOpType(TF_Operation *oper)
{
    return oper->node->op->name.data;
}

const char *TF_OperationDevice(TF_Operation *oper)
{
    return oper->node->device.data;
}

/* ---- Outputs and inputs -------------------------------------------------- */

int TF_OperationNumOutputs(TF_Operation *oper)
{
    return oper->node->out_count;
}

TF_DataType TF_OperationOutputType(TF_Output oper_out)
{
    const struct tfd_node *n = oper_out.oper->node;

    if (oper_out.index < 0 || oper_out.index >= n->out_count)
        return (TF_DataType)0;
    return (TF_DataType)tfd_dtype_base(n->out_types[oper_out.index]);
}

int TF_OperationNumInputs(TF_Operation *oper)
{
    return oper->node->in_count;
}

TF_DataType TF_OperationInputType(TF_Input oper_in)
{
    const struct tfd_node *n = oper_in.oper->node;

    if (oper_in.index < 0 || oper_in.index >= n->in_count)
        return (TF_DataType)0;
    return (TF_DataType)tfd_dtype_base(n->in_types[oper_in.index]);
}

TF_Output TF_OperationInput(TF_Input oper_in)
{
    const struct tfd_node *n = oper_in.oper->node;
    TF_Graph *g = oper_in.oper->graph;
    TF_Output out = {NULL, -1};

    if (oper_in.index < 0 || oper_in.index >= n->in_count)
        return out;
    tfd_lock(&g->lock);
    out = tfd_capi_output(g, n->in[oper_in.index]);
    tfd_unlock(&g->lock);
    return out;
}

void TF_OperationAllInputs(TF_Operation *oper, TF_Output *inputs,
                           int max_inputs)
{
    tfd_lock(&oper->graph->lock);
    for (int i = 0; i < max_inputs && i < oper->node->in_count; i++)
        inputs[i] = tfd_capi_output(oper->graph, oper->node->in[i]);
    tfd_unlock(&oper->graph->lock);
}

/* ---- Lengths of list arguments ------------------------------------------- */

static int64_t list_length(const struct tfd_node *n,
                           const struct tfd_op_arg *args, int count,
                           const char *name, struct tfd_status *st)
{
    const struct tfd_op_attr *attrs = n->op->attrs;
    enum tfd_dtype types[1];
    int64_t length = 1;
    int types_count;

    for (int i = 0; i < count; i++) {
        if (!tfd_str_is(args[i].name, name))
            continue;
        if (args[i].number_attr >= 0)
            (void)!tfd_node_int(n, attrs[args[i].number_attr].name.data,
                                &length, st);
        if (args[i].list_attr < 0)
            return length;
        /* More than fit fails, and says how many there are. */
        (void)!tfd_node_types(n, attrs[args[i].list_attr].name.data, types, 1,
                              &types_count, NULL);
        return types_count;
    }
    tfd_fail(st, TFD_INVALID_ARGUMENT, "%s arg '%.100s' not found",
             args == n->op->in ? "Input" : "Output", name);
    return -1;
}

int TF_OperationOutputListLength(TF_Operation *oper, const char *arg_name,
                                 TF_Status *status)
{
    const struct tfd_node *n = oper->node;

    return (int)list_length(n, n->op->out, n->op->out_count, arg_name,
                            tfd_capi_status(status));
}

int TF_OperationInputListLength(TF_Operation *oper, const char *arg_name,
                                TF_Status *status)
{
    const struct tfd_node *n = oper->node;

    return (int)list_length(n, n->op->in, n->op->in_count, arg_name,
                            tfd_capi_status(status));
}

/* ---- Neighbours ---------------------------------------------------------- */

/* Calls of found() by operation and input; the lock is held. */
struct search {
    TF_Input *consumers;
    TF_Operation **operations;
    int max;
    int count;
};

static void found(struct search *s, TF_Operation *op, int input)
{
    if (s->count < s->max && s->consumers)
        s->consumers[s->count] = (TF_Input){op, input};
    if (s->count < s->max && s->operations)
        s->operations[s->count] = op;
    s->count++;
}

static void search_consumers(struct search *s, TF_Output from)
{
    TF_Graph *g = from.oper->graph;

    tfd_lock(&g->lock);
    for (int32_t i = 0; i < g->operation_count; i++) {
        const struct tfd_node *n = g->operations[i]->node;

        for (int32_t k = 0; k < n->in_count; k++)
            if (n->in[k].node == from.oper->node->id &&
                n->in[k].output == from.index)
                found(s, g->operations[i], k);
    }
    tfd_unlock(&g->lock);
}

static void search_controlled(struct search *s, const TF_Operation *from)
{
    TF_Graph *g = from->graph;

    tfd_lock(&g->lock);
    for (int32_t i = 0; i < g->operation_count; i++) {
        const struct tfd_node *n = g->operations[i]->node;

        for (int32_t k = 0; k < n->control_count; k++)
            if (n->control[k] == from->node->id)
                found(s, g->operations[i], k);
    }
    tfd_unlock(&g->lock);
}

int TF_OperationOutputNumConsumers(TF_Output oper_out)
{
    struct search s = {0};

    search_consumers(&s, oper_out);
    return s.count;
}

int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input *consumers,
                                int max_consumers)
{
    struct search s = {.consumers = consumers, .max = max_consumers};

    search_consumers(&s, oper_out);
    return s.count;
}

int TF_OperationNumControlInputs(TF_Operation *oper)
{
    return oper->node->control_count;
}

int TF_OperationGetControlInputs(TF_Operation *oper,
                                 TF_Operation **control_inputs,
                                 int max_control_inputs)
{
    const struct tfd_node *n = oper->node;

    tfd_lock(&oper->graph->lock);
    for (int i = 0; i < max_control_inputs && i < n->control_count; i++)
        control_inputs[i] = oper->graph->operations[n->control[i]];
    tfd_unlock(&oper->graph->lock);
    return n->control_count;
}

int TF_OperationNumControlOutputs(TF_Operation *oper)
{
    struct search s = {0};

    search_controlled(&s, oper);
    return s.count;
}

int TF_OperationGetControlOutputs(TF_Operation *oper,
                                  TF_Operation **control_outputs,
                                  int max_control_outputs)
{
    struct search s = {.operations = control_outputs,
                       .max = max_control_outputs};

    search_controlled(&s, oper);
    return s.count;
}

/* ---- As a message -------------------------------------------------------- */

void TF_OperationToNodeDef(TF_Operation *oper, TF_Buffer *output_node_def,
                           TF_Status *status)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, TFD_CAPI_MESSAGE_MAX);
    tfd_lock(&oper->graph->lock);
    tfd_graphdef_put_node(&b, oper->graph->graph, oper->node);
    tfd_unlock(&oper->graph->lock);
    (void)!tfd_capi_give(output_node_def, &b, tfd_capi_status(status));
}
