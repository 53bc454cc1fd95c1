/*
 * long_shape.c - what each op does with a long shape: the table, and who asks
 * it.  Sorted by op.
 */
#include "kernels/core/check.h"
#include "kernels/layout/long_view.h"

#include <stdlib.h>
#include <string.h>

#define ALL UINT32_MAX

#define AS_IS(op_)                          \
    {                                       \
        .op = (op_), .run = tfd_long_as_is, \
    }
#define FLAT(op_)                                          \
    {                                                      \
        .op = (op_), .run = tfd_long_flat, .inputs = (ALL) \
    }
#define BROADCAST(op_)                         \
    {                                          \
        .op = (op_), .run = tfd_long_broadcast \
    }
#define BATCH(op_, inner, inputs_)                                            \
    {                                                                         \
        .op = (op_), .run = tfd_long_batch, .arg = (inner), .inputs = inputs_ \
    }
#define REDUCE(op_)                         \
    {                                       \
        .op = (op_), .run = tfd_long_reduce \
    }
#define ROWS(op_, free)                                   \
    {                                                     \
        .op = (op_), .run = tfd_long_rows, .arg = (free), \
    }
#define SIZES(op_)                                                           \
    {                                                                        \
        .op = (op_), .run = tfd_long_sizes, .growth = (TFD_GROWS_BY_SIZES_0) \
    }
#define REFUSE(op_, argument, words_)                               \
    {                                                               \
        .op = (op_), .run = tfd_long_refuse,                        \
        .arg = (argument) /* INVALID_ARGUMENT */, .words = (words_) \
    }

static const struct tfd_long_row rows[] = {
    FLAT("Abs"),
    FLAT("Acos"),
    FLAT("Acosh"),
    BROADCAST("Add"),
    FLAT("AddN"),
    BROADCAST("AddV2"),
    REDUCE("All"),
    FLAT("Angle"),
    REDUCE("Any"),
    AS_IS("ApplyAdaMax"),
    AS_IS("ApplyAdadelta"),
    AS_IS("ApplyAdagrad"),
    AS_IS("ApplyAdagradV2"),
    AS_IS("ApplyAdam"),
    AS_IS("ApplyAddSign"),
    AS_IS("ApplyCenteredRMSProp"),
    AS_IS("ApplyFtrl"),
    AS_IS("ApplyFtrlV2"),
    AS_IS("ApplyGradientDescent"),
    AS_IS("ApplyMomentum"),
    AS_IS("ApplyPowerSign"),
    AS_IS("ApplyProximalAdagrad"),
    AS_IS("ApplyProximalGradientDescent"),
    AS_IS("ApplyRMSProp"),
    REFUSE("ArgMax", 1,
           "Argmax and Argmin only support up to 7 input dimensions, but got "
           "%d. Inputs shape: %s"),
    REFUSE("ArgMin", 1,
           "Argmax and Argmin only support up to 7 input dimensions, but got "
           "%d. Inputs shape: %s"),
    FLAT("AsString"),
    FLAT("Asin"),
    FLAT("Asinh"),
    AS_IS("Assign"),
    AS_IS("AssignAdd"),
    AS_IS("AssignAddVariableOp"),
    AS_IS("AssignSub"),
    AS_IS("AssignSubVariableOp"),
    AS_IS("AssignVariableOp"),
    FLAT("Atan"),
    BROADCAST("Atan2"),
    FLAT("Atanh"),
    {.op = "BatchMatMul", .run = tfd_long_broadcast, .arg = 2},
    {.op = "BatchMatMulV2", .run = tfd_long_broadcast, .arg = 2},
    {.op = "BatchMatMulV3", .run = tfd_long_broadcast, .arg = 2},
    FLAT("Betainc"),
    {.op = "BiasAdd", .run = tfd_long_bias},
    {.op = "BiasAddGrad", .run = tfd_long_bias, .arg = 1},
    {.op = "BiasAddV1", .run = tfd_long_bias},
    BROADCAST("BitwiseAnd"),
    BROADCAST("BitwiseOr"),
    BROADCAST("BitwiseXor"),
    {.op = "BroadcastTo",
     .run = tfd_long_broadcast_to,
     .growth = TFD_GROWS_BY_SIZES_1},
    FLAT("Bucketize"),
    AS_IS("Case"),
    FLAT("Cast"),
    FLAT("Ceil"),
    FLAT("CheckNumerics"),
    FLAT("CheckNumericsV2"),
    BATCH("Cholesky", 2, 1),
    BROADCAST("Complex"),
    FLAT("ComplexAbs"),
    {.op = "ConcatV2",
     .run = tfd_long_axis,
     .arg = -1,
     .inputs = ALL,
     .words = "ConcatOp : Expected concatenating dimensions"},
    FLAT("Conj"),
    FLAT("Cos"),
    FLAT("Cosh"),
    {.op = "Cumprod",
     .run = tfd_long_axis,
     .arg = 1,
     .inputs = 1,
     .words = "ScanOp: Expected scan axis"},
    {.op = "Cumsum",
     .run = tfd_long_axis,
     .arg = 1,
     .inputs = 1,
     .words = "ScanOp: Expected scan axis"},
    FLAT("DataFormatDimMap"),
    FLAT("DecodeBase64"),
    FLAT("DecodeCompressed"),
    {.op = "DecodeRaw",
     .run = tfd_long_flat,
     .inputs = ALL,
     .growth = TFD_GROWS_BY_ONE},
    AS_IS("DestroyResourceOp"),
    FLAT("Digamma"),
    AS_IS("DisableCopyOnRead"),
    BROADCAST("Div"),
    BROADCAST("DivNoNan"),
    ROWS("DynamicPartition", 0),
    {.op = "DynamicStitch", .run = tfd_long_stitch},
    FLAT("Elu"),
    FLAT("EluGrad"),
    FLAT("EncodeBase64"),
    BROADCAST("Equal"),
    FLAT("Erf"),
    FLAT("Erfc"),
    FLAT("Exp"),
    {.op = "ExpandDims", .run = tfd_long_expand, .growth = TFD_GROWS_BY_ONE},
    FLAT("Expm1"),
    FLAT("FakeQuantWithMinMaxArgs"),
    FLAT("FakeQuantWithMinMaxArgsGradient"),
    SIZES("Fill"),
    FLAT("Floor"),
    BROADCAST("FloorDiv"),
    BROADCAST("FloorMod"),
    {.op = "GatherNd",
     .run = tfd_long_gather_nd,
     .growth = TFD_GROWS_BY_INDICES},
    {.op = "GatherV2", .run = tfd_long_gather, .growth = TFD_GROWS_BY_INDICES},
    BROADCAST("Greater"),
    BROADCAST("GreaterEqual"),
    AS_IS("Identity"),
    AS_IS("IdentityN"),
    AS_IS("If"),
    BROADCAST("Igamma"),
    BROADCAST("Igammac"),
    FLAT("Imag"),
    FLAT("Inv"),
    FLAT("InvGrad"),
    FLAT("Invert"),
    FLAT("IsFinite"),
    FLAT("IsInf"),
    FLAT("IsNan"),
    AS_IS("IsVariableInitialized"),
    {.op = "L2Loss", .run = tfd_long_flat, .arg = 1, .inputs = ALL},
    FLAT("LeakyRelu"),
    FLAT("LeakyReluGrad"),
    BROADCAST("LeftShift"),
    BROADCAST("Less"),
    BROADCAST("LessEqual"),
    FLAT("Lgamma"),
    FLAT("Log"),
    FLAT("Log1p"),
    BATCH("LogMatrixDeterminant", 2, 1),
    BATCH("LogSoftmax", 1, 1),
    BROADCAST("LogicalAnd"),
    FLAT("LogicalNot"),
    BROADCAST("LogicalOr"),
    BATCH("MatrixBandPart", 2, 1),
    BATCH("MatrixDeterminant", 2, 1),
    {.op = "MatrixDiag",
     .run = tfd_long_matrix_diag,
     .inputs = 1,
     .growth = TFD_GROWS_BY_ONE},
    BATCH("MatrixDiagPart", 2, 1),
    BATCH("MatrixDiagPartV2", 2, 1),
    BATCH("MatrixDiagPartV3", 2, 1),
    {.op = "MatrixDiagV2",
     .run = tfd_long_matrix_diag,
     .inputs = 1,
     .growth = TFD_GROWS_BY_ONE},
    {.op = "MatrixDiagV3",
     .run = tfd_long_matrix_diag,
     .inputs = 1,
     .growth = TFD_GROWS_BY_ONE},
    BATCH("MatrixInverse", 2, 1),
    BATCH("MatrixSetDiag", 2, 3),
    BATCH("MatrixSetDiagV2", 2, 3),
    BATCH("MatrixSetDiagV3", 2, 3),
    BATCH("MatrixSolve", 2, 3),
    REDUCE("Max"),
    BROADCAST("Maximum"),
    REDUCE("Mean"),
    REDUCE("Min"),
    BROADCAST("Minimum"),
    REFUSE("MirrorPad", 0, "inputs rank not in [0,5]: %d"),
    BROADCAST("Mod"),
    BROADCAST("Mul"),
    BROADCAST("MulNoNan"),
    FLAT("Neg"),
    BROADCAST("NextAfter"),
    AS_IS("NoOp"),
    BROADCAST("NotEqual"),
    {.op = "OneHot", .run = tfd_long_one_hot, .growth = TFD_GROWS_BY_ONE},
    FLAT("OnesLike"),
    {.op = "Pack", .run = tfd_long_pack, .growth = TFD_GROWS_BY_ONE},
    REFUSE("Pad", 0, "inputs rank not in [0,8]: %d"),
    REFUSE("PadV2", 0, "inputs rank not in [0,8]: %d"),
    {.op = "ParallelDynamicStitch", .run = tfd_long_stitch},
    AS_IS("PartitionedCall"),
    AS_IS("Placeholder"),
    AS_IS("PlaceholderV2"),
    AS_IS("PlaceholderWithDefault"),
    BROADCAST("Polygamma"),
    FLAT("PopulationCount"),
    BROADCAST("Pow"),
    AS_IS("PreventGradient"),
    REDUCE("Prod"),
    BATCH("Qr", 2, 1),
    SIZES("RandomStandardNormal"),
    SIZES("RandomUniform"),
    SIZES("RandomUniformInt"),
    AS_IS("Rank"),
    AS_IS("ReadVariableOp"),
    FLAT("Real"),
    BROADCAST("RealDiv"),
    FLAT("Reciprocal"),
    FLAT("ReciprocalGrad"),
    {.op = "RegexFullMatch", .run = tfd_long_flat, .inputs = 1},
    {.op = "RegexReplace", .run = tfd_long_flat, .inputs = 1},
    FLAT("Relu"),
    FLAT("Relu6"),
    FLAT("Relu6Grad"),
    FLAT("ReluGrad"),
    {.op = "Reshape", .run = tfd_long_reshape, .growth = TFD_GROWS_BY_SIZES_1},
    AS_IS("ResourceApplyAdaMax"),
    AS_IS("ResourceApplyAdadelta"),
    AS_IS("ResourceApplyAdagrad"),
    AS_IS("ResourceApplyAdagradV2"),
    AS_IS("ResourceApplyAdam"),
    AS_IS("ResourceApplyAdamWithAmsgrad"),
    AS_IS("ResourceApplyAddSign"),
    AS_IS("ResourceApplyCenteredRMSProp"),
    AS_IS("ResourceApplyFtrl"),
    AS_IS("ResourceApplyFtrlV2"),
    AS_IS("ResourceApplyGradientDescent"),
    AS_IS("ResourceApplyKerasMomentum"),
    AS_IS("ResourceApplyMomentum"),
    AS_IS("ResourceApplyPowerSign"),
    AS_IS("ResourceApplyProximalAdagrad"),
    AS_IS("ResourceApplyProximalGradientDescent"),
    AS_IS("ResourceApplyRMSProp"),
    BROADCAST("RightShift"),
    FLAT("Rint"),
    FLAT("Round"),
    FLAT("Rsqrt"),
    FLAT("RsqrtGrad"),
    AS_IS("SaveV2"),
    ROWS("SegmentMax", 1),
    ROWS("SegmentMean", 1),
    ROWS("SegmentMin", 1),
    ROWS("SegmentProd", 1),
    ROWS("SegmentSum", 1),
    FLAT("Select"),
    BROADCAST("SelectV2"),
    BATCH("SelfAdjointEigV2", 2, 1),
    FLAT("Selu"),
    FLAT("SeluGrad"),
    {.op = "Shape", .run = tfd_long_shape},
    {.op = "ShapeN", .run = tfd_long_shape},
    FLAT("Sigmoid"),
    FLAT("SigmoidGrad"),
    FLAT("Sign"),
    FLAT("Sin"),
    FLAT("Sinh"),
    AS_IS("Size"),
    {.op = "Slice", .run = tfd_long_slice},
    AS_IS("Snapshot"),
    BATCH("Softmax", 1, 1),
    FLAT("Softplus"),
    FLAT("SoftplusGrad"),
    FLAT("Softsign"),
    FLAT("SoftsignGrad"),
    ROWS("SparseSegmentMean", 1),
    ROWS("SparseSegmentSqrtN", 1),
    ROWS("SparseSegmentSum", 1),
    {.op = "Split", .run = tfd_long_axis, .arg = 0, .inputs = 2},
    {.op = "SplitV", .run = tfd_long_axis, .arg = 2, .inputs = 1},
    FLAT("Sqrt"),
    FLAT("SqrtGrad"),
    FLAT("Square"),
    BROADCAST("SquaredDifference"),
    {.op = "Squeeze", .run = tfd_long_squeeze},
    AS_IS("StatefulPartitionedCall"),
    AS_IS("StatelessCase"),
    AS_IS("StatelessIf"),
    SIZES("StatelessRandomNormal"),
    SIZES("StatelessRandomNormalV2"),
    SIZES("StatelessRandomUniform"),
    SIZES("StatelessRandomUniformFullInt"),
    SIZES("StatelessRandomUniformFullIntV2"),
    SIZES("StatelessRandomUniformInt"),
    SIZES("StatelessRandomUniformIntV2"),
    SIZES("StatelessRandomUniformV2"),
    SIZES("StatelessTruncatedNormal"),
    SIZES("StatelessTruncatedNormalV2"),
    AS_IS("StatelessWhile"),
    FLAT("StaticRegexFullMatch"),
    FLAT("StaticRegexReplace"),
    AS_IS("StopGradient"),
    {.op = "StridedSlice", .run = tfd_long_strided_slice},
    FLAT("StringToNumber"),
    BROADCAST("Sub"),
    REDUCE("Sum"),
    BATCH("Svd", 2, 1),
    FLAT("Tan"),
    FLAT("Tanh"),
    FLAT("TanhGrad"),
    {.op = "Tile", .run = tfd_long_tile},
    BATCH("TopK", 1, 1),
    BATCH("TopKV2", 1, 1),
    {.op = "Transpose", .run = tfd_long_transpose},
    BROADCAST("TruncateDiv"),
    BROADCAST("TruncateMod"),
    SIZES("TruncatedNormal"),
    {.op = "Unpack", .run = tfd_long_unpack},
    ROWS("UnsortedSegmentMax", 0),
    ROWS("UnsortedSegmentMin", 0),
    ROWS("UnsortedSegmentProd", 0),
    ROWS("UnsortedSegmentSum", 0),
    AS_IS("VarHandleOp"),
    AS_IS("VarIsInitializedOp"),
    AS_IS("VariableShape"),
    AS_IS("VariableV2"),
    REFUSE("Where", 1, "WhereOp : Unhandled input dimensions: %d"),
    AS_IS("While"),
    BROADCAST("Xdivy"),
    BROADCAST("Xlog1py"),
    BROADCAST("Xlogy"),
    FLAT("ZerosLike"),
    BROADCAST("Zeta"),
    AS_IS("_Copy"),
    AS_IS("_HostSend"),
    AS_IS("_Recv"),
    AS_IS("_Send"),
    FLAT("_UnaryOpsComposition"),
};

const struct tfd_long_row *tfd_long_rows_all(int *count)
{
    *count = TFD_COUNT(rows);
    return rows;
}

static int compare(const void *key, const void *row)
{
    const struct tfd_str *op = key;
    const struct tfd_str name =
        tfd_str_of(((const struct tfd_long_row *)row)->op);

    return tfd_str_cmp(*op, name);
}

static const struct tfd_long_row *find_long_row(struct tfd_str op)
{
    return bsearch(&op, rows, TFD_COUNT(rows), sizeof(*rows), compare);
}

enum tfd_long_growth tfd_long_growth(struct tfd_str op)
{
    const struct tfd_long_row *row = find_long_row(op);

    return row ? row->growth : TFD_GROWS_NEVER;
}

/* ---- Who asks ------------------------------------------------------------ */

static bool has_many(const struct tfd_tensor *sizes)
{
    return sizes->shape.rank == 1 && sizes->shape.dim[0] > TFD_RANK_MAX;
}

static bool grows(const struct tfd_kctx *k, enum tfd_long_growth growth)
{
    switch (growth) {
    case TFD_GROWS_BY_ONE:
        return k->in[0].shape.rank == TFD_RANK_MAX;
    case TFD_GROWS_BY_INDICES:
        return k->in[0].shape.rank + k->in[1].shape.rank > TFD_RANK_MAX + 1;
    case TFD_GROWS_BY_SIZES_0:
        return has_many(&k->in[0]);
    case TFD_GROWS_BY_SIZES_1:
        return has_many(&k->in[1]);
    default:
        return false;
    }
}

bool tfd_long_asked(const struct tfd_kctx *k, enum tfd_long_growth growth)
{
    return grows(k, growth) || tfd_long_first(k) >= 0;
}

/* ---- Inference ----------------------------------------------------------- */

static void infer_sizes(struct tfd_shape_ctx *s, const struct tfd_tensor *sizes)
{
    int64_t dim[TFD_RANK_LONG_MAX], n = sizes->shape.dim[0];

    if (n > TFD_RANK_LONG_MAX)
        return;
    for (int i = 0; i < (int)n; i++)
        dim[i] = tfd_check_int_at(sizes, i);
    (void)!tfd_shape_make_any_partial(&s->out[0], dim, (int)n, NULL);
}

static bool infer_growth(struct tfd_shape_ctx *s, enum tfd_long_growth growth)
{
    int sizes = growth == TFD_GROWS_BY_SIZES_1;

    switch (growth) {
    case TFD_GROWS_BY_ONE:
        return s->in[0].rank == TFD_RANK_MAX;
    case TFD_GROWS_BY_INDICES:
        return s->in[0].rank + s->in[1].rank > TFD_RANK_MAX + 1;
    case TFD_GROWS_BY_SIZES_0:
    case TFD_GROWS_BY_SIZES_1:
        if (!s->value || !s->value[sizes] || !has_many(s->value[sizes]))
            return false;
        infer_sizes(s, s->value[sizes]);
        return true;
    default:
        return false;
    }
}

bool tfd_long_infer(struct tfd_shape_ctx *s, tfd_shape_fn *shape)
{
    if (infer_growth(s, tfd_long_growth(s->node->op->name)))
        return true;
    if (shape == tfd_shape_same || shape == tfd_shape_like_first ||
        shape == tfd_shape_scalar)
        return false;
    for (int i = 0; i < s->in_count; i++)
        if (tfd_shape_is_long(&s->in[i]))
            return true;
    return false;
}

/* ---- Refusals ------------------------------------------------------------ */

enum tfd_code tfd_long_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_long_row *row = find_long_row(tfd_str_of(k->kernel->op));

    return row ? row->run(k, row, st) : tfd_long_fail(k, st);
}

enum tfd_code tfd_long_admit_variable(const struct tfd_kctx *k,
                                      struct tfd_status *st)
{
    const struct tfd_long_row *row = find_long_row(tfd_str_of(k->kernel->op));

    return row && row->run == tfd_long_as_is ? TFD_OK : tfd_long_fail(k, st);
}

enum tfd_code tfd_long_admit(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_long_row *row;

    if (!tfd_shape_long_seen() || tfd_long_first(k) < 0)
        return TFD_OK;
    row = find_long_row(tfd_str_of(k->kernel->op));
    if (row && row->run == tfd_long_refuse)
        return row->run(k, row, st);
    return tfd_long_admit_variable(k, st);
}
