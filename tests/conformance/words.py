"""What an error says, without what differs from one run to the next.

TensorFlow's own tests, and programs, match on these words; so the bad cases of
the table must end in TensorFlow's, but for the ops of OWN_WORDS.
"""
import re

# A client adds where the node was made; a master, which task it came from.
BEFORE = re.compile(r"^.*\nNode: [^\n]*\n", re.DOTALL)
TASK = re.compile(r"^\s*From /job:\S+:\s")
AFTER = re.compile(r"\[\[\{\{node .*|Original stack trace for .*", re.DOTALL)
# Another process, another container, memory of another device.
PLACES = re.compile(r"(?<=Resource )[^/ ]+(?=/)| on /job:\S+ by allocator \w+")


def words(message):
    """The text of an error as its kernel wrote it."""
    text = AFTER.sub("", TASK.sub("", BEFORE.sub("", message)))
    return " ".join(PLACES.sub("", text).split())


# Ops whose bad cases end in the right class, but in our words.
OWN_WORDS = set("""
AllCandidateSampler ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradV2
ApplyAdam ApplyAddSign ApplyCenteredRMSProp ApplyGradientDescent
ApplyMomentum ApplyPowerSign ApplyProximalAdagrad
ApplyProximalGradientDescent ApplyRMSProp AssignAdd AssignAddVariableOp
AssignSub AssignSubVariableOp AssignVariableOp AudioSummaryV2 BatchMatMul
Betainc Bitcast Bucketize Cholesky ComputeAccidentalHits ConcatV2 CountUpTo Cumprod Cumsum DecodeRaw DenseToSparseSetOperation
DestroyResourceOp Diag DiagPart DisableCopyOnRead DynamicStitch EluGrad Fill
FixedUnigramCandidateSampler GatherNd GatherV2 HistogramSummary InTopKV2
InvertPermutation LeakyReluGrad LogMatrixDeterminant
LogUniformCandidateSampler MatrixBandPart MatrixDeterminant MatrixDiag
MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3
MatrixInverse MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixSolve
MatrixTriangularSolve MirrorPad MirrorPadGrad Multinomial OneHot Pad PadV2
ParallelDynamicStitch Qr RandomGamma RandomPoissonV2 RandomStandardNormal
RandomUniform RandomUniformInt Range ReadFile ReadVariableOp Relu6Grad
Reshape ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad
ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdamWithAmsgrad
ResourceApplyAddSign ResourceApplyCenteredRMSProp
ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum
ResourceApplyPowerSign ResourceApplyProximalAdagrad
ResourceApplyProximalGradientDescent ResourceApplyRMSProp ResourceCountUpTo
ResourceGather ResourceGatherNd ResourceScatterAdd ResourceScatterDiv
ResourceScatterMax ResourceScatterMin ResourceScatterMul ResourceScatterNdAdd
ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub
ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate
ResourceSparseApplyKerasMomentum ReverseSequence ScatterNd ScatterNdAdd
ScatterNdMax ScatterNdMin ScatterNdNonAliasingAdd ScatterNdSub
ScatterNdUpdate SelfAdjointEigV2 SeluGrad SetSize ShardedFilename Slice
SoftplusGrad SoftsignGrad SparseFillEmptyRows SparseFillEmptyRowsGrad
SparseReorder SparseReshape SparseSegmentMean SparseSegmentMeanGrad
SparseSegmentMeanGradV2 SparseSegmentMeanWithNumSegments SparseSegmentSqrtN
SparseSegmentSqrtNGrad SparseSegmentSqrtNGradV2
SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumGrad
SparseSegmentSumGradV2 SparseSegmentSumWithNumSegments SparseTensorDenseAdd
SparseTensorDenseMatMul SparseToDense SparseToSparseSetOperation Split SplitV
StatelessMultinomial StatelessRandomGammaV2 StatelessRandomNormal
StatelessRandomNormalV2 StatelessRandomPoisson StatelessRandomUniform
StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
StatelessRandomUniformInt StatelessRandomUniformIntV2
StatelessRandomUniformV2 StatelessTruncatedNormal StatelessTruncatedNormalV2
StaticRegexFullMatch StridedSlice StringJoin Svd TensorScatterAdd
TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate
TensorSummaryV2 Tile Transpose TruncatedNormal UniformCandidateSampler Unpack
VariableShape _FusedConv2D _FusedMatMul
""".split())
