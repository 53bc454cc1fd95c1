/*
 * c_api_build.c - TF_NewOperation() to TF_FinishOperation(); attributes are in
 * c_api_attr.c.
 */
#include "client/c_api/op_desc.h"

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

void TF_AddInput(TF_OperationDescription *desc, TF_Output input)
{
    tfd_op_desc_input(desc, input);
}

void TF_AddInputList(TF_OperationDescription *desc, const TF_Output *inputs,
                     int num_inputs)
{
    tfd_op_desc_inputs(desc, inputs, num_inputs < 0 ? 0 : num_inputs);
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
