/*
 * host.c - CPU kernels that serve a GPU as well.
 *
 * Ops that only pass a value on or copy its parts, and small arithmetic on what
 * describes other tensors (shapes, indices, counters), which lies in host
 * memory also where it belongs to a GPU.  Types and host arguments are
 * TensorFlow's (its rows for DEVICE_DEFAULT).  Variants of a GPU hold what lies
 * there (copy_variant.c).
 */
#include "kernels/core/families.h"

#define BIT(type) (UINT32_C(1) << TFD_##type)

#define FLOATS (BIT(HALF) | BIT(BFLOAT16) | BIT(FLOAT) | BIT(DOUBLE))
#define COMPLEXES (BIT(COMPLEX64) | BIT(COMPLEX128))
#define INTS                                                          \
    (BIT(INT8) | BIT(INT16) | BIT(INT64) | BIT(UINT8) | BIT(UINT16) | \
     BIT(UINT32) | BIT(UINT64))
/* What lies in the memory of a GPU. */
#define ON_DEVICE (FLOATS | COMPLEXES | INTS | BIT(BOOL))
/* What never does. */
#define ON_HOST (BIT(INT32) | BIT(STRING) | BIT(RESOURCE))
#define SHAPES (BIT(INT32) | BIT(INT64))
#define QUANTISED (BIT(QINT8) | BIT(QUINT8) | BIT(QINT32))
/* Of reference variables. */
#define VARIABLES (FLOATS | COMPLEXES | BIT(BOOL) | BIT(INT64) | BIT(UINT32))

#define FIRST UINT32_C(1)
#define SECOND (UINT32_C(1) << 1)
#define THIRD (UINT32_C(1) << 2)
#define FOURTH (UINT32_C(1) << 3)

#define HOST(op_, types_)                            \
    {                                                \
        (op_), (types_), TFD_HOST_ALL, TFD_HOST_ALL, \
    }
/* On the device, and for the types of the host on the host. */
#define PASS(op_, in_, out_)                          \
    {(op_), ON_DEVICE | BIT(VARIANT), (in_), (out_)}, \
    {                                                 \
        (op_), ON_HOST, TFD_HOST_ALL, TFD_HOST_ALL    \
    }

/* Elements of lists, the argument own_in, are where their type is. */
#define LIST(op_, in_, own_in_)                  \
    {(op_), ON_DEVICE | BIT(VARIANT), (in_), 0}, \
    {                                            \
        (op_), BIT(INT32), (in_) | (own_in_), 0  \
    }

static const struct tfd_borrowed borrowed[] = {
    {"NoOp", 0, 0, 0},
    {"ControlTrigger", 0, 0, 0},
    HOST("_Send", 0),
    HOST("_HostSend", 0),
    HOST("_Recv", 0),
    HOST("_HostRecv", 0),
    {"_Arg", 0, 0, 0},
    {"_Retval", 0, 0, 0},
    HOST("LoopCond", 0),

    {"Const", ON_DEVICE | QUANTISED | BIT(QINT16) | BIT(QUINT16), 0, 0},
    HOST("Const", BIT(INT32)),
    PASS("Identity", 0, 0),
    PASS("StopGradient", 0, 0),
    PASS("PreventGradient", 0, 0),
    PASS("Placeholder", 0, 0),
    PASS("PlaceholderV2", 0, 0),
    PASS("PlaceholderWithDefault", 0, 0),
    {"IdentityN", 0, 0, 0},
    PASS("Switch", SECOND, 0),
    {"Switch", QUANTISED, SECOND, 0},
    PASS("_SwitchN", SECOND, 0),
    PASS("Merge", 0, SECOND),
    {"Merge", QUANTISED, 0, SECOND},
    PASS("Enter", 0, 0),
    PASS("Exit", 0, 0),
    PASS("NextIteration", 0, 0),
    {"RefSwitch", VARIABLES | INTS | QUANTISED, SECOND, 0},
    HOST("RefSwitch", BIT(INT32) | BIT(STRING)),
    {"RefMerge", VARIABLES, 0, SECOND},
    {"RefEnter", VARIABLES, 0, 0},
    {"RefExit", VARIABLES, 0, 0},
    {"RefNextIteration", VARIABLES, 0, 0},

    {"VariableV2", VARIABLES, 0, 0},
    {"Assign", VARIABLES | INTS, 0, 0},
    {"IsVariableInitialized", VARIABLES, 0, FIRST},
    {"VarHandleOp", ON_DEVICE, 0, FIRST},
    {"ReadVariableOp", ON_DEVICE, FIRST, 0},
    {"AssignVariableOp", ON_DEVICE, FIRST, 0},
    HOST("VarIsInitializedOp", 0),
    HOST("VariableShape", SHAPES),
    HOST("DestroyResourceOp", 0),
    HOST("DisableCopyOnRead", 0),

    /* What they are given and give is where its type is. */
    {"PartitionedCall", 0, 0, 0},
    {"StatefulPartitionedCall", 0, 0, 0},
    {"SymbolicGradient", 0, 0, 0},
    {"If", 0, FIRST, 0},
    {"StatelessIf", 0, FIRST, 0},
    {"Case", 0, FIRST, 0},
    {"StatelessCase", 0, FIRST, 0},
    {"While", 0, 0, 0},
    {"StatelessWhile", 0, 0, 0},
    HOST("FIFOQueueV2", 0),
    {"QueueEnqueueV2", 0, FIRST, 0},
    {"QueueDequeueV2", 0, FIRST, 0},
    HOST("QueueCloseV2", 0),
    HOST("QueueSizeV2", 0),
    HOST("QueueIsClosedV2", 0),
    HOST("StackV2", 0),
    {"StackPushV2", ON_DEVICE & ~BIT(BOOL), FIRST, 0},
    {"StackPopV2", ON_DEVICE & ~BIT(BOOL), FIRST, 0},
    HOST("StackPushV2", BIT(INT32) | BIT(BOOL)),
    HOST("StackPopV2", BIT(INT32) | BIT(BOOL)),
    HOST("StackCloseV2", 0),
    {"TensorArrayGradV3", 0, FIRST, FIRST},
    {"TensorArrayGradWithShape", 0, FIRST | THIRD, FIRST},
    HOST("TensorArraySizeV3", 0),
    HOST("TensorArrayCloseV3", 0),

    LIST("EmptyTensorList", FIRST | SECOND, 0),
    LIST("TensorListReserve", FIRST | SECOND, 0),
    LIST("TensorListPushBack", 0, SECOND),
    LIST("TensorListSetItem", SECOND, THIRD),
    LIST("TensorListConcatLists", 0, 0),
    LIST("TensorListFromTensor", SECOND, FIRST),
    LIST("TensorListScatter", SECOND | THIRD, FIRST),
    LIST("TensorListScatterV2", SECOND | THIRD | FOURTH, FIRST),
    LIST("TensorListScatterIntoExistingList", THIRD, SECOND),
    LIST("TensorListSplit", SECOND | THIRD, FIRST),
    {"TensorListResize", 0, SECOND, 0},
    {"TensorListLength", 0, 0, FIRST},
    {"TensorListElementShape", 0, 0, FIRST},
    {"OptionalNone", 0, 0, 0},
    {"OptionalFromValue", 0, 0, 0},
    {"OptionalHasValue", 0, 0, FIRST},
    {"OptionalGetValue", 0, 0, 0},

    {"Shape", ON_DEVICE | BIT(VARIANT), 0, FIRST},
    {"ShapeN", ON_DEVICE | BIT(VARIANT), 0, FIRST},
    {"Size", ON_DEVICE | BIT(VARIANT), 0, FIRST},
    {"Rank", ON_DEVICE | BIT(VARIANT), 0, FIRST},
    {"Reshape", ON_DEVICE, SECOND, 0},
    {"ExpandDims", ON_DEVICE, SECOND, 0},
    {"Squeeze", ON_DEVICE, 0, 0},
    {"Bitcast", ON_DEVICE | BIT(INT32) | QUANTISED | BIT(QINT16) | BIT(QUINT16),
     0, 0},
    HOST("Shape", BIT(INT32) | BIT(STRING)),
    HOST("ShapeN", BIT(INT32)),
    HOST("Size", BIT(INT32)),
    HOST("Rank", BIT(INT32)),
    HOST("Reshape", BIT(INT32)),
    HOST("ExpandDims", BIT(INT32)),
    HOST("Squeeze", BIT(INT32)),

    /* Copies within the device (kernels/layout/runs.h). */
    {"Snapshot", ON_DEVICE | BIT(INT32), 0, 0},
    {"ConcatV2", ON_DEVICE, SECOND, 0},
    {"Pack", ON_DEVICE, 0, 0},
    {"Unpack", ON_DEVICE & ~BIT(INT64), 0, 0},
    {"Split", ON_DEVICE, FIRST, 0},
    {"SplitV", ON_DEVICE, SECOND | THIRD, 0},

    HOST("Assert", 0),
    HOST("BroadcastArgs", SHAPES),
    HOST("BroadcastGradientArgs", SHAPES),
    HOST("ConcatOffset", 0),
    HOST("InvertPermutation", SHAPES),
    HOST("Qr", BIT(HALF)),
    HOST("ParallelDynamicStitch", ON_DEVICE | BIT(INT32)),
    HOST("LinSpace", BIT(FLOAT) | BIT(DOUBLE)),
    HOST("Range", BIT(INT32)),
    HOST("StatelessRandomGetAlg", 0),
    HOST("StatelessRandomGetKeyCounter", 0),
    HOST("StatelessRandomGetKeyCounterAlg", 0),
    HOST("ConcatV2", BIT(INT32)),
    HOST("Fill", BIT(INT32)),
    HOST("ScatterNd", BIT(INT32)),
    HOST("ScatterNdNonAliasingAdd", BIT(INT32)),
    HOST("Slice", BIT(INT32)),
    HOST("SplitV", BIT(INT32)),
    HOST("StridedSlice", BIT(INT32)),
    HOST("StridedSliceGrad", BIT(INT32)),
    HOST("Pad", BIT(INT32)),
    HOST("PadV2", BIT(INT32)),
    HOST("TensorScatterAdd", BIT(INT32)),
    HOST("TensorScatterMax", BIT(INT32)),
    HOST("TensorScatterMin", BIT(INT32)),
    HOST("TensorScatterSub", BIT(INT32)),
    HOST("TensorScatterUpdate", BIT(INT32)),
    HOST("Pack", BIT(INT32)),
    HOST("Unpack", SHAPES),
    HOST("Max", BIT(INT32)),
    HOST("Min", BIT(INT32)),
    HOST("Sum", BIT(INT32)),
    HOST("Prod", BIT(INT32)),

    HOST("Abs", BIT(INT32)),
    HOST("Neg", BIT(INT32)),
    HOST("Sign", BIT(INT32)),
    HOST("Square", BIT(INT32)),
    HOST("OnesLike", BIT(INT32)),
    HOST("ZerosLike", BIT(INT32)),
    HOST("Add", BIT(INT32)),
    HOST("AddN", BIT(INT32)),
    HOST("AddV2", BIT(INT32)),
    HOST("Sub", BIT(INT32)),
    HOST("Mul", BIT(INT32)),
    HOST("Div", BIT(INT32)),
    HOST("FloorDiv", BIT(INT32)),
    HOST("FloorMod", BIT(INT32)),
    HOST("Mod", BIT(INT32)),
    HOST("TruncateMod", BIT(INT32)),
    HOST("Maximum", BIT(INT32)),
    HOST("Minimum", BIT(INT32)),
    HOST("SquaredDifference", BIT(INT32)),
    HOST("Equal", BIT(INT32)),
    HOST("NotEqual", BIT(INT32)),
    HOST("Less", BIT(INT32)),
    HOST("LessEqual", BIT(INT32)),
    HOST("Greater", BIT(INT32)),
    HOST("GreaterEqual", BIT(INT32)),
};

const struct tfd_family tfd_cuda_family_host = {
    .name = "host",
    .borrowed = borrowed,
    .borrowed_count = TFD_COUNT(borrowed),
};
