/*
 * constant.c - TFD_Const and its short forms.
 */
#include "client/train/model.h"

#include <string.h>

TF_Output TFD_Const(TFD_Scope *scope, const char *name, TF_Tensor *value,
                    TF_Status *status)
{
    TF_OperationDescription *d = NULL;
    struct tfd_status *st = &status->st;

    if (tfd_model_ok(status) && !value)
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no tensor for constant %.100s",
                 name ? name : "Const");
    d = tfd_scope_begin(scope, "Const", name, status);
    if (d) {
        TF_SetAttrType(d, "dtype", TF_TensorType(value));
        TF_SetAttrTensor(d, "value", value, status);
    }
    return tfd_scope_end(d, status);
}

/* A tensor of `count` elements (a scalar if count is -1) with this content. */
static TF_Tensor *make_constant(TF_DataType dtype, int count, const void *data)
{
    int64_t dim = count;
    size_t size = TF_DataTypeSize(dtype) * (count < 0 ? 1 : (size_t)count);
    TF_Tensor *t = TF_AllocateTensor(dtype, &dim, count < 0 ? 0 : 1, size);

    if (t && size)
        memcpy(TF_TensorData(t), data, size);
    return t;
}

static TF_Output add_const(TFD_Scope *scope, const char *name,
                           TF_Tensor *take_value, TF_Status *status)
{
    TF_Output out = TFD_Const(scope, name, take_value, status);

    TF_DeleteTensor(take_value);
    return out;
}

TF_Output TFD_ConstFloat(TFD_Scope *scope, const char *name, float value,
                         TF_Status *status)
{
    return add_const(scope, name, make_constant(TF_FLOAT, -1, &value), status);
}

TF_Output TFD_ConstInt(TFD_Scope *scope, const char *name, TF_DataType dtype,
                       int64_t value, TF_Status *status)
{
    int32_t narrow = (int32_t)value;

    if (dtype == TF_INT64)
        return add_const(scope, name, make_constant(TF_INT64, -1, &value),
                         status);
    if (tfd_model_ok(status) && (dtype != TF_INT32 || narrow != value))
        tfd_fail(&status->st, TFD_INVALID_ARGUMENT,
                 "constant %.100s: %lld is no number of type %s",
                 name ? name : "Const", (long long)value,
                 tfd_dtype_name((int)dtype));
    return add_const(scope, name, make_constant(TF_INT32, -1, &narrow), status);
}

TF_Output TFD_ConstInts(TFD_Scope *scope, const char *name,
                        const int32_t *values, int count, TF_Status *status)
{
    return add_const(scope, name,
                     make_constant(TF_INT32, count < 0 ? 0 : count, values),
                     status);
}

static TF_Tensor *make_strings(const char *const *values, int count)
{
    int64_t dim = count;
    int elements = count < 0 ? 1 : count;
    TF_Tensor *t = TF_AllocateTensor(TF_STRING, &dim, count < 0 ? 0 : 1,
                                     sizeof(TF_TString) * (size_t)elements);
    TF_TString *strings = t ? TF_TensorData(t) : NULL;

    for (int i = 0; strings && i < elements; i++)
        TF_StringCopy(&strings[i], values[i], strlen(values[i]));
    return t;
}

TF_Output TFD_ConstString(TFD_Scope *scope, const char *name, const char *value,
                          TF_Status *status)
{
    return add_const(scope, name, make_strings(&value, -1), status);
}

TF_Output TFD_ConstStrings(TFD_Scope *scope, const char *name,
                           const char *const *values, int count,
                           TF_Status *status)
{
    return add_const(scope, name, make_strings(values, count < 0 ? 0 : count),
                     status);
}
