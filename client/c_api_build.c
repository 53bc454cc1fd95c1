/*
 * c_api_build.c - TF_NewOperation() to TF_FinishOperation(); attributes are in
 * c_api_attr.c.
 */
#include "client/op_desc.h"

#include <string.h>

TF_OperationDescription *TF_NewOperation(TF_Graph *graph, const char *op_type,
                                         const char *oper_name)
{
    return tfd_op_desc_new(graph, tfd_str_of(op_type), tfd_str_of(oper_name));
}

TF_Operation *TF_FinishOperation(TF_OperationDescription *desc,
                                 TF_Status *status)
{
    struct tfd_status *st = tfd_capi_status(status);
    TF_Operation *op = NULL;
    TF_Graph *g;

    if (!desc) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an operation");
        return NULL;
    }
    g = desc->graph;
    tfd_lock(&g->lock);
    if (tfd_op_desc_finish(desc, &op, st) != TFD_OK)
        op = NULL;
    /* An unknown op, too, is a mistake of who builds the node. */
    if (st->code == TFD_NOT_FOUND)
        st->code = TFD_INVALID_ARGUMENT;
    tfd_unlock(&g->lock);
    tfd_op_desc_free(desc);
    return op;
}

void TF_SetDevice(TF_OperationDescription *desc, const char *device)
{
    desc->device = tfd_arena_str(&desc->arena, tfd_str_of(device));
    (void)!tfd_arena_check(desc->device.data, "a device's name", &desc->st);
}

/* ---- Inputs -------------------------------------------------------------- */

/* TensorFlow's words for an output that there is not. */
static bool has_output(TF_OperationDescription *desc, TF_Output input)
{
    int count = input.oper ? input.oper->node->out_count : 0;

    if (!input.oper || (input.index >= 0 && input.index < count))
        return true;
    tfd_fail(&desc->st, TFD_INVALID_ARGUMENT,
             "Attempt to add output %d of " TFD_STR_FMT
             " not in range [0, %d) to node with type " TFD_STR_FMT
             ". Node: {{node " TFD_STR_FMT "}}",
             input.index, TFD_STR_ARG(input.oper->node->name), count,
             TFD_STR_ARG(desc->op), TFD_STR_ARG(input.oper->node->name));
    return false;
}

static void add_edge(TF_OperationDescription *desc, TF_Output input)
{
    struct tfd_edge e;

    if (!has_output(desc, input))
        return;
    if (tfd_capi_edge(desc->graph, input, &e, &desc->st) == TFD_OK)
        tfd_bytes_add(&desc->edges, &e, sizeof(e));
    else
        tfd_status_context(&desc->st, "Node '" TFD_STR_FMT "'",
                           TFD_STR_ARG(desc->name));
}

static void add_arg(TF_OperationDescription *desc, const TF_Output *inputs,
                    int count, bool list)
{
    struct tfd_desc_arg arg = {
        (int32_t)(desc->edges.size / sizeof(struct tfd_edge)), count, list};

    if (desc->st.code != TFD_OK)
        return;
    for (int i = 0; i < count; i++)
        add_edge(desc, inputs[i]);
    tfd_bytes_add(&desc->args, &arg, sizeof(arg));
}

void TF_AddInput(TF_OperationDescription *desc, TF_Output input)
{
    add_arg(desc, &input, 1, false);
}

void TF_AddInputList(TF_OperationDescription *desc, const TF_Output *inputs,
                     int num_inputs)
{
    add_arg(desc, inputs, num_inputs < 0 ? 0 : num_inputs, true);
}

static bool is_own(TF_OperationDescription *desc, const TF_Operation *op,
                   const char *what)
{
    if (op && op->graph == desc->graph)
        return true;
    tfd_fail(&desc->st, TFD_INVALID_ARGUMENT,
             "Node '" TFD_STR_FMT "': %s is no operation of this graph",
             TFD_STR_ARG(desc->name), what);
    return false;
}

void TF_AddControlInput(TF_OperationDescription *desc, TF_Operation *input)
{
    if (is_own(desc, input, "a control input"))
        tfd_bytes_add(&desc->controls, &input->node->id,
                      sizeof(input->node->id));
}

void TF_ColocateWith(TF_OperationDescription *desc, TF_Operation *op)
{
    struct tfd_bytes text;
    struct tfd_str class;

    if (!is_own(desc, op, "what it is colocated with"))
        return;
    tfd_bytes_init(&text, TFD_CAPI_MESSAGE_MAX);
    tfd_bytes_add_str(&text, TFD_STR("loc:@"));
    tfd_bytes_add_str(&text, op->node->name);
    if (tfd_bytes_ok(&text, "_class", &desc->st) == TFD_OK) {
        class = tfd_arena_str(&desc->arena, tfd_bytes_view(&text));
        if (tfd_arena_check(class.data, "_class", &desc->st) == TFD_OK)
            tfd_bytes_add(&desc->colocation, &class, sizeof(class));
    }
    tfd_bytes_deinit(&text);
}
