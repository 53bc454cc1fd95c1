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
PLACES = re.compile(r"(?<=Resource )[^/ ]+(?=/)|(?<=container=)\w+| on /job:\S+ by allocator \w+")


def words(message):
    """The text of an error as its kernel wrote it."""
    text = AFTER.sub("", TASK.sub("", BEFORE.sub("", message)))
    return " ".join(PLACES.sub("", text).split())


# Ops whose bad cases end in the right class, but in our words.
OWN_WORDS = set("""
AllCandidateSampler ApplyCenteredRMSProp ApplyProximalAdagrad ApplyRMSProp
AudioSummaryV2 AvgPool AvgPoolGrad BatchMatMul Betainc Bitcast Bucketize
ComputeAccidentalHits ConcatV2 Conv2D Conv2DBackpropFilter Conv2DBackpropInput
CountUpTo Cumprod Cumsum DenseToSparseSetOperation DepthwiseConv2dNative
DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput
DestroyResourceOp Diag DiagPart DynamicStitch Fill
FixedUnigramCandidateSampler FusedBatchNorm FusedBatchNormGrad
FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3
GatherV2 HistogramSummary InTopKV2 LRN LRNGrad LogUniformCandidateSampler
MatrixBandPart MatrixInverse MatrixSolve MatrixTriangularSolve MaxPool
MaxPoolGrad MaxPoolGradV2 MaxPoolV2 Multinomial ParallelDynamicStitch
RandomGamma Range ReadFile Reshape ResourceApplyCenteredRMSProp
ResourceApplyProximalAdagrad ResourceApplyRMSProp ResourceCountUpTo
ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin
ResourceScatterMul ResourceScatterSub ResourceSparseApplyKerasMomentum
ReverseSequence SelfAdjointEigV2 SetSize ShardedFilename SparseFillEmptyRows
SparseFillEmptyRowsGrad SparseReorder SparseReshape SparseSegmentMeanGrad
SparseSegmentMeanGradV2 SparseSegmentMeanWithNumSegments
SparseSegmentSqrtNGrad SparseSegmentSqrtNGradV2
SparseSegmentSqrtNWithNumSegments SparseSegmentSumGrad SparseSegmentSumGradV2
SparseSegmentSumWithNumSegments SparseTensorDenseAdd SparseTensorDenseMatMul
SparseToDense SparseToSparseSetOperation Split SplitV StatelessMultinomial
StatelessRandomGammaV2 StatelessRandomNormalV2 StatelessRandomPoisson
StatelessRandomUniformFullIntV2 StatelessRandomUniformIntV2
StatelessRandomUniformV2 StatelessTruncatedNormalV2 StaticRegexFullMatch
StridedSlice StringJoin TensorSummaryV2 UniformCandidateSampler Unpack
VariableShape _FusedConv2D _FusedMatMul
""".split())
