/*
 * test_gradients.c - every gradient against differences of the function itself.
 *
 * A case is an operation and its inputs, in double:
 *
 *     p23     fed, [2,3], positive values     s23    fed, any sign, not near 0
 *     u23     as s23, but no shape is known
 *     [1,-1]  constant, int32 vector          5      constant, int32 scalar
 *     b23     constant, bool, [2,3]           o23    one-hot rows, constant
 *     t22     constant, int32, [2,2]: 1, 0, 1, 0
 *     m21:0,2 constant, int32, [2,1]
 *     i23     fed, between -1 and 1           a23     fed, above 1
 *
 * What is derived is the sum of all outputs, each element with its own weight,
 * by each fed input.
 */
#define _GNU_SOURCE 1 /* strtok_r() */

#include "kernels/registry.h"
#include "tests/support/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define EPSILON 1e-5
#define TOLERANCE 1e-6
#define INPUTS_MAX 5
#define ELEMENTS_MAX 64

static void expect(struct fixture *f, TF_Code code, const char *part)
{
    if (TF_GetCode(f->st) != code || !strstr(TF_Message(f->st), part))
        fail_msg("expected %d with '%s', got %d: %s", code, part,
                 TF_GetCode(f->st), TF_Message(f->st));
}

/* ---- Cases --------------------------------------------------------------- */

struct gradient_case {
    const char *op;
    const char *inputs;
    const char *attrs; /* "name=i1" (int), "b1" (bool), "t1" (type), "sa",
                          "l1121" (list of digits) */
};

static const struct gradient_case cases[] = {
    {"AddN", "s23 s23 s23", ""},
    {"Reshape", "s23 [3,2]", ""},
    {"Reshape", "s23 [-1]", ""},
    {"ExpandDims", "s23 1", ""},
    {"Squeeze", "s213", ""},
    {"ZerosLike", "s23", ""},
    {"OnesLike", "s23", ""},
    {"Fill", "[2,3] s", ""},
    {"BiasAdd", "s23 s3", ""},
    {"BiasAddV1", "s23 s3", ""},
    {"BiasAddGrad", "s23", ""},
    {"Add", "s23 s3", ""},
    {"AddV2", "s23 s23", ""},
    {"AddV2", "s21 s3", ""},
    {"Sub", "s23 s21", ""},
    {"Mul", "s23 s", ""},
    {"Mul", "s23 s23", ""},
    {"SquaredDifference", "s23 s3", ""},
    {"Maximum", "s23 p23", ""},
    {"Minimum", "s23 p3", ""},
    {"BroadcastTo", "s3 [2,3]", ""},
    {"Cast", "s23", "DstT=t2"},
    {"ConcatV2", "s23 s21 1", "N=i2"},
    {"ConcatV2", "s13 s23 0", "N=i2"},
    {"Pack", "s23 s23", "axis=i1"},
    {"Unpack", "s23", "num=i3;axis=i1"},
    {"Split", "1 s24", "num_split=i2"},
    {"SplitV", "s24 [1,3] 1", "num_split=i2"},
    {"Tile", "s23 [2,1]", ""},
    {"PlaceholderWithDefault", "s", "shape=0"},
    {"Identity", "s23", ""},
    {"IdentityN", "s23 s2", ""},
    {"RealDiv", "s23 p23", ""},
    {"RealDiv", "s23 p3", ""},
    {"Div", "s23 p23", ""},
    {"DivNoNan", "s23 p23", ""},
    {"FloorMod", "p23 p23", ""},
    {"Sqrt", "p23", ""},
    {"Rsqrt", "p23", ""},
    {"Exp", "s23", ""},
    {"Log", "p23", ""},
    {"Log1p", "p23", ""},
    {"Sigmoid", "s23", ""},
    {"Tanh", "s23", ""},
    {"Sin", "s23", ""},
    {"Cos", "s23", ""},
    {"Erf", "s23", ""},
    {"MatMul", "s23 s32", ""},
    {"Conv2D", "s1341 s2212", "strides=l1111;padding=sSAME"},
    {"Conv2D", "s1441 s2212", "strides=l1221;padding=sVALID"},
    {"Conv2DBackpropInput", "[1,3,3,2] s2221 s1331",
     "strides=l1111;padding=sSAME"},
    {"Conv2DBackpropFilter", "s1331 [2,2,1,2] s1332",
     "strides=l1111;padding=sSAME"},
    {"DepthwiseConv2dNative", "s1332 s2222", "strides=l1111;padding=sSAME"},
    {"DepthwiseConv2dNativeBackpropInput", "[1,3,3,2] s2221 s1332",
     "strides=l1111;padding=sSAME"},
    {"DepthwiseConv2dNativeBackpropFilter", "s1332 [2,2,2,1] s1332",
     "strides=l1111;padding=sSAME"},
    {"MaxPool", "s1342", "ksize=l1221;strides=l1111;padding=sVALID"},
    {"MaxPoolV2", "s1342 [1,2,2,1] [1,2,2,1]", "padding=sSAME"},
    {"AvgPool", "s1342", "ksize=l1231;strides=l1221;padding=sSAME"},
    {"AvgPoolGrad", "[1,4,4,1] s1221",
     "ksize=l1221;strides=l1221;padding=sSAME"},
    {"SpaceToBatchND", "s242 [2] m12:1,1", ""},
    {"BatchToSpaceND", "s422 [2] m12:0,1", ""},
    {"MatMul", "s32 s32", "transpose_a=b1"},
    {"MatMul", "s23 s23", "transpose_b=b1"},
    {"MatMul", "s32 s23", "transpose_a=b1;transpose_b=b1"},
    {"BatchMatMul", "s223 s232", ""},
    {"BatchMatMul", "s232 s232", "adj_x=b1"},
    {"BatchMatMulV2", "s223 s32", ""},
    {"BatchMatMulV2", "u223 u32", ""},
    {"BatchMatMulV2", "s2132 s323", "adj_x=b1;adj_y=b1"},
    {"BatchMatMulV2", "s123 s223", "adj_y=b1"},
    {"BatchMatMulV3", "s223 s32", "Tout=t2"},
    {"Pow", "p23 s23", ""},
    {"Pow", "p23 s", ""},
    {"Sum", "s23 [0]", ""},
    {"Sum", "s23 [0,1]", "keep_dims=b1"},
    {"Sum", "s23 [-1]", ""},
    {"Prod", "s23 [1]", ""},
    {"Prod", "s234 [0,-1]", ""},
    {"Prod", "s23 [0,1]", "keep_dims=b1"},
    {"Prod", "s23 []", ""},
    {"Prod", "u234 [0,2]", ""},
    {"Prod", "u234 1", ""},
    {"Sum", "u23 [-1]", ""},
    {"Sum", "u234 1", ""},
    {"Mean", "u234 [1,-1]", ""},
    {"Mean", "u23 0", ""},
    {"Max", "u23 [1]", ""},
    {"Min", "u23 [0]", "keep_dims=b1"},
    {"Mean", "s23 [1]", ""},
    {"Mean", "s23 [0,1]", ""},
    {"Max", "s23 [1]", ""},
    {"Min", "s23 [0]", ""},
    {"L2Loss", "s23", ""},
    {"Relu", "s23", ""},
    {"ReluGrad", "s23 s23", ""},
    {"Select", "b23 s23 s23", ""},
    {"SelectV2", "b23 s23 s3", ""},
    {"Slice", "s34 [1,0] [2,3]", ""},
    {"Slice", "u34 [1,0] [2,3]", ""},
    {"StridedSliceGrad", "[4,4] [0,1] [3,4] [2,1] s23", ""},
    {"Pad", "s23 t22", ""},
    {"Pad", "u23 t22", ""},
    {"MirrorPad", "s23 m22:1,0,2,1", "mode=sREFLECT"},
    {"MirrorPad", "s23 m22:2,2,0,3", "mode=sSYMMETRIC"},
    {"MirrorPadGrad", "s45 m22:1,1,0,2", "mode=sREFLECT"},
    {"MirrorPadGrad", "s45 m22:1,1,1,0", "mode=sSYMMETRIC"},
    {"GatherV2", "s34 [2,0,2] 0", ""},
    {"GatherV2", "s34 1 0", ""},
    {"GatherV2", "s342 [3,3,0] 1", ""},
    {"GatherV2", "s34 [1,2] -1", ""},
    {"GatherV2", "u34 [1,2] -1", ""},
    {"GatherV2", "s232 t22 1", "batch_dims=i1"},
    {"DynamicStitch", "[0,3] [2,1] s23 s23", "N=i2"},
    {"ParallelDynamicStitch", "[1] 0 s13 s3", "N=i2"},
    {"UnsortedSegmentSum", "s43 [1,0,-1,1] 2", ""},
    {"UnsortedSegmentSum", "s22 t22 2", ""},
    {"Cumsum", "s23 1", ""},
    {"Cumsum", "s23 0", "reverse=b1;exclusive=b1"},
    {"Cumprod", "s23 1", ""},
    {"Cumprod", "s23 -1", "reverse=b1"},
    {"StridedSlice", "s34 [0,1] [3,4] [2,1]", ""},
    {"Softmax", "s23", ""},
    {"LogSoftmax", "s23", ""},
    {"Transpose", "s23 [1,0]", ""},
    {"Neg", "s23", ""},
    {"Abs", "s23", ""},
    {"Sign", "s23", ""},
    {"Square", "s23", ""},
    {"Reciprocal", "p23", ""},
    {"Inv", "p23", ""},
    {"SigmoidGrad", "p23 s23", ""},
    {"TanhGrad", "p23 s23", ""},
    {"SqrtGrad", "p23 s23", ""},
    {"RsqrtGrad", "p23 s23", ""},
    {"ReciprocalGrad", "p23 s23", ""},
    {"InvGrad", "p23 s23", ""},
    {"SoftmaxCrossEntropyWithLogits", "s23 o23", ""},
    {"SparseSoftmaxCrossEntropyWithLogits", "s23 [2,0]", ""},
    {"Elu", "s23", ""},
    {"Selu", "s23", ""},
    {"Softplus", "s23", ""},
    {"Softsign", "s23", ""},
    {"Relu6", "s23", ""},
    {"LeakyRelu", "s23", ""},
    {"DynamicPartition", "s42 [1,0,1,1]", "num_partitions=i2"},
    {"DynamicPartition", "s223 m22:2,0,0,2", "num_partitions=i3"},
    {"SegmentSum", "s42 [0,0,2,2]", ""},
    {"SegmentMean", "s42 [0,0,2,2]", ""},
    {"SegmentMean", "s4 [0,0,0,1]", ""},
    {"SegmentProd", "s42 [0,0,2,2]", ""},
    {"SegmentMin", "s42 [0,0,2,2]", ""},
    {"SegmentMax", "s42 [0,0,2,2]", ""},
    {"UnsortedSegmentSum", "s42 [2,-1,0,2] 3", ""},
    {"UnsortedSegmentSum", "s23 m23:0,1,0,1,1,-1 3", ""},
    {"UnsortedSegmentProd", "s42 [2,0,0,2] 3", ""},
    {"UnsortedSegmentMin", "s42 [0,-1,1,0] 2", ""},
    {"UnsortedSegmentMax", "s42 [0,-1,1,0] 2", ""},
    {"GatherNd", "s32 m21:2,0", ""},
    {"GatherNd", "s32 m32:2,0,0,1,2,0", ""},
    {"ScatterNd", "m21:2,0 s22 [3,2]", ""},
    {"ScatterNd", "m22:2,0,2,0 s2 [3,2]", ""},
    {"ScatterNdNonAliasingAdd", "s32 m21:2,0 s22", ""},
    {"TensorScatterAdd", "s32 m21:2,2 s22", ""},
    {"TensorScatterSub", "s32 m21:2,0 s22", ""},
    {"TensorScatterUpdate", "s32 m21:2,0 s22", ""},
    {"TensorScatterMin", "s32 m21:2,0 s22", ""},
    {"TensorScatterMax", "s32 m21:2,0 s22", ""},
    {"TopK", "s34", "k=i2"},
    {"TopKV2", "s34 2", ""},
    {"TopKV2", "s223 2", ""},
    {"Diag", "s3", ""},
    {"DiagPart", "s33", ""},
    {"SparseTensorDenseAdd", "m22:0,1,1,0 s2 [2,2] s22", ""},
    {"CheckNumerics", "s23", "message=sa"},
    {"CheckNumericsV2", "s23", "message=sa"},
    {"Tan", "i23", ""},
    {"Asin", "i23", ""},
    {"Acos", "i23", ""},
    {"Atan", "s23", ""},
    {"Sinh", "s23", ""},
    {"Cosh", "s23", ""},
    {"Asinh", "s23", ""},
    {"Acosh", "a23", ""},
    {"Atanh", "i23", ""},
    {"Expm1", "s23", ""},
    {"Erfc", "s23", ""},
    {"Lgamma", "p23", ""},
    {"Digamma", "p23", ""},
    {"Atan2", "s23 p3", ""},
    {"MatrixBandPart", "s234 1 0", ""},
    {"MatrixDiag", "s23", ""},
    {"MatrixDiagPart", "s234", ""},
    {"MatrixSetDiag", "s234 s23", ""},
    {"MatrixDiagV2", "s23 1 -1 -1 o", ""},
    {"MatrixDiagV3", "s33 [-1,1] 3 4 o", ""},
    {"MatrixDiagPartV2", "s234 [0,1] o", ""},
    {"MatrixDiagPartV3", "s34 [-2,1] o", ""},
    {"MatrixSetDiagV2", "s234 s223 [1,2]", ""},
    {"MatrixSetDiagV3", "s34 s33 [-1,1]", ""},
};

/* Tested elsewhere: by what they are for, or without numbers. */
static const char *const others[] = {
    "PreventGradient", "ReadVariableOp", "ResourceGather", "Conj", "Complex",
    "Real", "Imag", "ComplexAbs", "Switch", "RefSwitch", "Merge", "RefMerge",
    "SparseToDense", "ReverseSequence", "SparseReorder", "SparseFillEmptyRows",
    "PadV2", "SparseTensorDenseMatMul", "SparseSegmentSum", "SparseSegmentMean",
    "SparseSegmentSqrtN", "SparseSegmentSumWithNumSegments",
    "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments",
    /* in float alone: tests/conformance */
    "LRN", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", NULL};

/* Outputs that are no function of the inputs as far as derivatives go. */
static int derived_outputs(const struct gradient_case *c, int count)
{
    return strstr(c->op, "CrossEntropy") || strstr(c->op, "TopK") ? 1 : count;
}

/* ---- Building a case ----------------------------------------------------- */

struct built {
    struct fixture *f;
    TF_Output in[INPUTS_MAX]; /* of the operation */
    int in_count;
    TF_Output fed[INPUTS_MAX];
    TF_Tensor *value[INPUTS_MAX];
    int fed_count;
    TF_Output loss;
    TF_Output gradient[INPUTS_MAX];
};

/* Numbers that repeat for nobody: steps of the golden ratio. */
static double number(char kind, int i)
{
    double x = fmod(0.618033988749895 * (i + 1), 1.0);

    if (kind == 'i')
        return (i % 2 ? 0.9 : -0.9) * x;
    if (kind == 'a')
        return 1.2 + x;
    return kind == 'p' ? 0.4 + 1.5 * x : (i % 2 ? 1 : -1) * (0.25 + 1.25 * x);
}

static int read_shape(const char *text, int64_t *dims)
{
    int rank = 0;

    for (; text[rank] >= '0' && text[rank] <= '9'; rank++)
        dims[rank] = text[rank] - '0';
    return rank;
}

static TF_Output add_const(struct built *b, TF_Tensor *take_value)
{
    char name[32];
    TF_OperationDescription *d;
    TF_Output out = {NULL, 0};

    snprintf(name, sizeof(name), "const_%d", b->in_count);
    d = TF_NewOperation(b->f->g, "Const", name);
    TF_SetAttrType(d, "dtype", TF_TensorType(take_value));
    TF_SetAttrTensor(d, "value", take_value, b->f->st);
    out.oper = TF_FinishOperation(d, b->f->st);
    TF_DeleteTensor(take_value);
    return out;
}

static TF_Tensor *new_tensor(TF_DataType dtype, const int64_t *dims, int rank)
{
    size_t count = 1;

    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    return TF_AllocateTensor(dtype, dims, rank, count * TF_DataTypeSize(dtype));
}

static TF_Output add_fed(struct built *b, char kind, const int64_t *dims,
                         int rank)
{
    TF_Tensor *t = new_tensor(TF_DOUBLE, dims, rank);
    TF_OperationDescription *d;
    char name[32];
    TF_Output out = {NULL, 0};

    for (int i = 0; i < TF_TensorElementCount(t); i++)
        ((double *)TF_TensorData(t))[i] = number(kind, i + 7 * b->fed_count);
    snprintf(name, sizeof(name), "fed_%d", b->fed_count);
    d = TF_NewOperation(b->f->g, "Placeholder", name);
    TF_SetAttrType(d, "dtype", TF_DOUBLE);
    TF_SetAttrShape(d, "shape", dims, kind == 'u' ? -1 : rank);
    out.oper = TF_FinishOperation(d, b->f->st);
    b->value[b->fed_count] = t;
    b->fed[b->fed_count++] = out;
    return out;
}

static TF_Output add_ints(struct built *b, const char *text)
{
    int32_t values[8];
    int64_t count = 0;
    TF_Tensor *t;
    char *end = (char *)(uintptr_t)text + 1;

    if (*text != '[') {
        values[0] = (int32_t)strtol(text, NULL, 10);
        t = new_tensor(TF_INT32, NULL, 0);
        count = 1;
    } else {
        while (*end && *end != ']') {
            values[count++] = (int32_t)strtol(end, &end, 10);
            end += *end == ',';
        }
        t = new_tensor(TF_INT32, &count, 1);
    }
    for (int64_t i = 0; i < count; i++)
        ((int32_t *)TF_TensorData(t))[i] = values[i];
    return add_const(b, t);
}

static TF_Output add_pattern(struct built *b, const char *text)
{
    TF_DataType dtype = *text == 'b'   ? TF_BOOL
                        : *text == 't' ? TF_INT32
                                       : TF_DOUBLE;
    int64_t dims[8];
    int rank = read_shape(text + 1, dims);
    TF_Tensor *t = new_tensor(dtype, dims, rank);

    for (int i = 0; i < TF_TensorElementCount(t); i++)
        if (dtype == TF_BOOL)
            ((uint8_t *)TF_TensorData(t))[i] = i % 3 != 0;
        else if (dtype == TF_INT32)
            ((int32_t *)TF_TensorData(t))[i] = i % 2 == 0;
        else
            ((double *)TF_TensorData(t))[i] =
                rank == 0 ||
                i % dims[rank - 1] == (i / dims[rank - 1] + 1) % dims[rank - 1];
    return add_const(b, t);
}

static TF_Output add_matrix(struct built *b, const char *text)
{
    int64_t dims[8];
    int rank = read_shape(text + 1, dims), count = 0;
    TF_Tensor *t = new_tensor(TF_INT32, dims, rank);
    char *end = (char *)(uintptr_t)text + rank + 1;

    while (*end && count < TF_TensorElementCount(t))
        ((int32_t *)TF_TensorData(t))[count++] =
            (int32_t)strtol(end + 1, &end, 10);
    return add_const(b, t);
}

static TF_Output add_input(struct built *b, const char *text)
{
    int64_t dims[8];

    if (strchr("psuia", *text))
        return add_fed(b, *text, dims, read_shape(text + 1, dims));
    if (*text == 'b' || *text == 'o' || *text == 't')
        return add_pattern(b, text);
    if (*text == 'm')
        return add_matrix(b, text);
    return add_ints(b, text);
}

static void set_list(TF_OperationDescription *d, const char *name,
                     const char *digits)
{
    int64_t values[8];
    int count = 0;

    for (; *digits && count < 8; digits++)
        values[count++] = *digits - '0';
    TF_SetAttrIntList(d, name, values, count);
}

static void set_attrs(TF_OperationDescription *d, const char *attrs)
{
    char text[80], *at = text, *one, *value;

    snprintf(text, sizeof(text), "%s", attrs);
    while ((one = strtok_r(at, ";", &at))) {
        value = strchr(one, '=');
        *value++ = '\0';
        if (*value == 'i')
            TF_SetAttrInt(d, one, strtol(value + 1, NULL, 10));
        else if (*value == 'b')
            TF_SetAttrBool(d, one, 1);
        else if (*value == 't')
            TF_SetAttrType(d, one, (TF_DataType)strtol(value + 1, NULL, 10));
        else if (*value == 's')
            TF_SetAttrString(d, one, value + 1, strlen(value + 1));
        else if (*value == 'l')
            set_list(d, one, value + 1);
        else
            TF_SetAttrShape(d, one, NULL, 0);
    }
}

static TF_Operation *add_operation(struct built *b,
                                   const struct gradient_case *c)
{
    char text[80], *at = text, *one;
    TF_OperationDescription *d;

    snprintf(text, sizeof(text), "%s", c->inputs);
    while ((one = strtok_r(at, " ", &at)))
        b->in[b->in_count++] = add_input(b, one);
    expect(b->f, TF_OK, "");
    d = TF_NewOperation(b->f->g, c->op, "op");
    for (int i = 0; i < b->in_count; i++)
        TF_AddInput(d, b->in[i]);
    set_attrs(d, c->attrs);
    return TF_FinishOperation(d, b->f->st);
}

static bool shape_is_known(struct built *b, TF_Output y, int64_t *dims,
                           int64_t rank)
{
    if (rank < 0)
        return false;
    TF_GraphGetTensorShape(b->f->g, y, dims, (int)rank, b->f->st);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0)
            return false;
    return true;
}

/* Sum of output * weights over all axes; of its squares where the shape is only
 * known later. */
static TF_Output weigh(struct built *b, TF_Output y, int k)
{
    int64_t dims[8], rank = TF_GraphGetTensorNumDims(b->f->g, y, b->f->st);
    TF_Tensor *weights, *axes;
    char product[32], sum[32];

    snprintf(sum, sizeof(sum), "sum_%d", k);
    if (!shape_is_known(b, y, dims, rank))
        return op1(b->f, "L2Loss", sum, y);
    axes = new_tensor(TF_INT32, &rank, 1);
    weights = new_tensor(TF_DOUBLE, dims, (int)rank);
    for (int i = 0; i < TF_TensorElementCount(weights); i++)
        ((double *)TF_TensorData(weights))[i] = number('s', 3 * i + k);
    for (int i = 0; i < rank; i++)
        ((int32_t *)TF_TensorData(axes))[i] = i;
    snprintf(product, sizeof(product), "product_%d", k);
    b->in_count = 10 + 2 * k; /* names of constants */
    y = op2(b->f, "Mul", product, y, add_const(b, weights));
    b->in_count++;
    return op2(b->f, "Sum", sum, y, add_const(b, axes));
}

static void build(struct built *b, const struct gradient_case *c)
{
    TF_Operation *op = add_operation(b, c);
    TF_Output sums[8];
    TF_OperationDescription *d;
    int outputs;

    if (!op)
        fail_msg("%s(%s): %s", c->op, c->inputs, TF_Message(b->f->st));
    outputs = derived_outputs(c, TF_OperationNumOutputs(op));
    for (int i = 0; i < outputs; i++)
        sums[i] = weigh(b, (TF_Output){op, i}, i);
    d = TF_NewOperation(b->f->g, "AddN", "loss");
    TF_AddInputList(d, sums, outputs);
    b->loss = (TF_Output){TF_FinishOperation(d, b->f->st), 0};
    expect(b->f, TF_OK, "");
    TF_AddGradients(b->f->g, &b->loss, 1, b->fed, b->fed_count, NULL, b->f->st,
                    b->gradient);
    if (TF_GetCode(b->f->st) != TF_OK)
        fail_msg("%s(%s): %s", c->op, c->inputs, TF_Message(b->f->st));
}

/* ---- Checking a case ----------------------------------------------------- */

static TF_Tensor *fetch(struct built *b, TF_Session *s, TF_Output y)
{
    TF_Tensor *out = NULL;

    TF_SessionRun(s, NULL, b->fed, b->value, b->fed_count, &y, &out, 1, NULL, 0,
                  NULL, b->f->st);
    return out;
}

static double loss_at(struct built *b, TF_Session *s, double *element, double x)
{
    double before = *element, loss;
    TF_Tensor *t;

    *element = x;
    t = fetch(b, s, b->loss);
    expect(b->f, TF_OK, "");
    loss = *(double *)TF_TensorData(t);
    TF_DeleteTensor(t);
    *element = before;
    return loss;
}

static void check_element(struct built *b, TF_Session *s,
                          const struct gradient_case *c, int input, int i,
                          double gradient)
{
    double *element = (double *)TF_TensorData(b->value[input]) + i;
    double difference = (loss_at(b, s, element, *element + EPSILON) -
                         loss_at(b, s, element, *element - EPSILON)) /
                        (2 * EPSILON);

    if (fabs(difference - gradient) > TOLERANCE * (1 + fabs(difference)))
        fail_msg("%s(%s): by input %d[%d]: %.9g, the difference is %.9g", c->op,
                 c->inputs, input, i, gradient, difference);
}

static void check_input(struct built *b, TF_Session *s,
                        const struct gradient_case *c, int input)
{
    int64_t count = TF_TensorElementCount(b->value[input]);
    TF_Tensor *t = NULL;

    if (b->gradient[input].oper) {
        t = fetch(b, s, b->gradient[input]);
        if (TF_GetCode(b->f->st) != TF_OK)
            fail_msg("%s(%s): %s", c->op, c->inputs, TF_Message(b->f->st));
        assert_int_equal(TF_TensorElementCount(t), count);
    }
    for (int i = 0; i < count; i++)
        check_element(b, s, c, input, i,
                      t ? ((double *)TF_TensorData(t))[i] : 0);
    TF_DeleteTensor(t);
}

static void check_case(const struct gradient_case *c)
{
    struct fixture f = {TF_NewGraph(), TF_NewStatus()};
    struct built b = {.f = &f};
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Session *s;

    build(&b, c);
    s = TF_NewSession(f.g, o, f.st);
    for (int i = 0; i < b.fed_count; i++)
        check_input(&b, s, c, i);
    for (int i = 0; i < b.fed_count; i++)
        TF_DeleteTensor(b.value[i]);
    TF_DeleteSession(s, f.st);
    TF_DeleteSessionOptions(o);
    TF_DeleteGraph(f.g);
    TF_DeleteStatus(f.st);
}

static void test_gradients_are_limits_of_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_case(&cases[i]);
}

static bool has_case(const char *op)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].op, op) == 0)
            return true;
    for (size_t i = 0; others[i]; i++)
        if (strcmp(others[i], op) == 0)
            return true;
    return false;
}

static void test_every_gradient_has_a_case(void **state)
{
    (void)state;
    for (int i = 0; i < tfd_family_count; i++)
        for (int k = 0; k < tfd_families[i]->op_count; k++)
            if (tfd_families[i]->ops[k].grad &&
                !has_case(tfd_families[i]->ops[k].name))
                fail_msg("%s of family %s has a gradient and no case",
                         tfd_families[i]->ops[k].name, tfd_families[i]->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_limits_of_differences),
        cmocka_unit_test(test_every_gradient_has_a_case),
    };

    return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
