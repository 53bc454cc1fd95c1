/*
 * op_desc_inputs.c - inputs of a description, one argument of the definition
 * after the other.
 *
 * Each input is compared with its argument when it comes, and what it decides
 * (T, N, a list of types) is written down as an attribute: a later input or
 * attribute that says something else is a mistake.  The calls alone know where
 * one list ends and the next begins, so the graph has nothing left to guess.
 */
#include "client/c_api/op_desc.h"

#include "common/graph/attr.h"

#include <stdlib.h>

/* ---- Outputs that are no inputs ------------------------------------------ */

static void put_misuse(TF_OperationDescription *d, TF_Output input)
{
    const struct tfd_node *n = input.oper ? input.oper->node : NULL;
    const char *line = d->misuse.size ? "\n" : "";

    if (n)
        tfd_bytes_printf(&d->misuse,
                         "%sAttempt to add output %d of " TFD_STR_FMT
                         " not in range [0, %d) to node with type " TFD_STR_FMT
                         ". Node: {{node " TFD_STR_FMT "}}",
                         line, input.index, TFD_STR_ARG(n->name), n->out_count,
                         TFD_STR_ARG(d->op), TFD_STR_ARG(n->name));
    else
        tfd_bytes_printf(
            &d->misuse,
            "%sAttempt to add nullptr Node to node with type " TFD_STR_FMT,
            line, TFD_STR_ARG(d->op));
}

/* The output is one; now it is among the node's inputs. */
static bool add_edge(TF_OperationDescription *d, TF_Output input)
{
    struct tfd_edge e;

    if (!input.oper || input.index < 0 ||
        input.index >= input.oper->node->out_count) {
        put_misuse(d, input);
        return false;
    }
    if (tfd_capi_edge(d->graph, input, &e, &d->st) != TFD_OK) {
        tfd_status_context(&d->st, "Node '" TFD_STR_FMT "'",
                           TFD_STR_ARG(d->name));
        return false;
    }
    tfd_bytes_add(&d->edges, &e, sizeof(e));
    return true;
}

static int type_of(TF_Output input)
{
    return input.oper->node->out_types[input.index];
}

/* ---- What the definition says -------------------------------------------- */

static const struct tfd_op_arg *next_arg(TF_OperationDescription *d)
{
    if (!d->def)
        return NULL;
    if (d->arg_count < d->def->in_count)
        return &d->def->in[d->arg_count++];
    tfd_op_desc_error(d, "More Input() calls than the %d input_args",
                      d->def->in_count);
    return NULL;
}

/* A reference is good where a value is wanted, but not the reverse. */
static void check_input_type(TF_OperationDescription *d,
                             const struct tfd_op_arg *arg, int expected,
                             int actual)
{
    if (arg->ref)
        expected |= TFD_REF;
    if (expected != actual && expected != (int)tfd_dtype_base(actual))
        tfd_op_desc_error(d, "Input '" TFD_STR_FMT "' passed %s expected %s",
                          TFD_STR_ARG(arg->name), tfd_dtype_name(actual),
                          tfd_dtype_name(expected));
}

static void check_ref(TF_OperationDescription *d, const struct tfd_op_arg *arg,
                      int actual)
{
    if (arg->ref && !(actual & TFD_REF))
        tfd_op_desc_error(d,
                          "Input '" TFD_STR_FMT "' passed %s expected ref type",
                          TFD_STR_ARG(arg->name), tfd_dtype_name(actual));
}

static void set_type(TF_OperationDescription *d, int attr, int type)
{
    struct tfd_bytes value;

    tfd_op_desc_value_init(&value);
    tfd_attr_put_type(&value, (int)tfd_dtype_base(type));
    tfd_op_desc_take(d, d->def->attrs[attr].name.data, &value);
}

static void set_number(TF_OperationDescription *d, int attr, int number)
{
    struct tfd_bytes value;

    tfd_op_desc_value_init(&value);
    tfd_attr_put_int(&value, number);
    tfd_op_desc_take(d, d->def->attrs[attr].name.data, &value);
}

/* ---- Single inputs ------------------------------------------------------- */

void tfd_op_desc_input(TF_OperationDescription *desc, TF_Output input)
{
    const struct tfd_op_arg *arg;

    if (!add_edge(desc, input) || !(arg = next_arg(desc)))
        return;
    if (arg->number_attr >= 0 || arg->list_attr >= 0) {
        tfd_op_desc_error(
            desc, "Single tensor passed to '" TFD_STR_FMT "', expected list",
            TFD_STR_ARG(arg->name));
    } else if (arg->type_attr < 0) {
        check_input_type(desc, arg, (int)arg->dtype, type_of(input));
    } else {
        check_ref(desc, arg, type_of(input));
        set_type(desc, arg->type_attr, type_of(input));
    }
}

/* ---- Lists --------------------------------------------------------------- */

/* "N * T": as many as there are, all of the first one's type. */
static void take_number(TF_OperationDescription *d,
                        const struct tfd_op_arg *arg, const TF_Output *inputs,
                        int count)
{
    int type = (int)arg->dtype;

    set_number(d, arg->number_attr, count);
    if (arg->type_attr >= 0 && count > 0) {
        type = (int)tfd_dtype_base(type_of(inputs[0]));
        set_type(d, arg->type_attr, type);
    }
    for (int i = 0; i < count; i++)
        check_input_type(d, arg, type, type_of(inputs[i]));
}

/* "list(type)": each has a type of its own. */
static void take_types(TF_OperationDescription *d, const struct tfd_op_arg *arg,
                       const TF_Output *inputs, int count)
{
    int *types = calloc((size_t)count + 1, sizeof(*types));
    struct tfd_bytes value;

    if (!types) {
        tfd_fail(&d->st, TFD_RESOURCE_EXHAUSTED, "no memory for types");
        return;
    }
    for (int i = 0; i < count; i++) {
        check_ref(d, arg, type_of(inputs[i]));
        types[i] = (int)tfd_dtype_base(type_of(inputs[i]));
    }
    tfd_op_desc_value_init(&value);
    tfd_attr_put_types(&value, types, count);
    tfd_op_desc_take(d, d->def->attrs[arg->list_attr].name.data, &value);
    free(types);
}

void tfd_op_desc_inputs(TF_OperationDescription *desc, const TF_Output *inputs,
                        int count)
{
    const struct tfd_op_arg *arg;
    bool all = true;

    for (int i = 0; i < count; i++)
        all = add_edge(desc, inputs[i]) && all;
    if (!all || !(arg = next_arg(desc)))
        return;
    if (arg->number_attr >= 0)
        take_number(desc, arg, inputs, count);
    else if (arg->list_attr >= 0)
        take_types(desc, arg, inputs, count);
    else
        tfd_op_desc_error(desc,
                          "List provided to input '" TFD_STR_FMT
                          "' when single Tensor expected",
                          TFD_STR_ARG(arg->name));
}

/* ---- All at once --------------------------------------------------------- */

static bool is_list(const struct tfd_op_arg *arg)
{
    return arg->number_attr >= 0 || arg->list_attr >= 0;
}

void tfd_op_desc_flat(TF_OperationDescription *desc, const TF_Output *inputs,
                      int count)
{
    int args = desc->def ? desc->def->in_count : 0, lists = 0, each = 0, at = 0;

    for (int i = 0; i < args; i++)
        lists += is_list(&desc->def->in[i]);
    if (lists && count > args - lists)
        each = (count - (args - lists)) / lists;
    for (int i = 0; i < args && at <= count; i++)
        if (is_list(&desc->def->in[i])) {
            tfd_op_desc_inputs(desc, inputs + at, each);
            at += each;
        } else if (at < count) {
            tfd_op_desc_input(desc, inputs[at++]);
        }
    for (; at < count; at++) /* too many: a mistake each */
        tfd_op_desc_input(desc, inputs[at]);
}
