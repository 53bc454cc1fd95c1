"""The rows of tests/bench/ops, by what their ops do."""
import importlib

from tests.bench.op_cases.table import ROWS

for module in ("elementwise", "arrays", "rows", "networks", "quantized", "kept",
               "files"):
    importlib.import_module("tests.bench.op_cases." + module)

ROWS.sort(key=lambda found: found.family)

# Families that have no row, and why.
UNMEASURED = {
    "assign_group": "it compares a few numbers",
    "collective": "it wants several tasks: tests/cluster/mixed/test_collectives",
    "communicator": "the same",
    "array": "its outputs are the input's memory or a few numbers",
    "assert": "it does nothing unless it fails",
    "data_format": "it changes a few numbers",
    "count_up_to": "it moves one number",
    "map_defun": "its time is that of the function it calls",
    "onednn": "what TensorFlow's rewriter makes, and no client can ask for",
    "queue_make": "it makes handles; what lies in queues is queue's",
    "stage": "it holds tensors as a queue does, whose rows there are",
    "map_stage": "the same",
    "tensor_list_push": "what TensorListPushBack does, whose rows there are",
    "tensor_map": "what TensorListSetItem does, whose rows there are",
    "mutex": "it waits, or makes a handle",
    "record_input": "it reads files as ReaderRead does, a pipeline's",
    "restore": "it reads files as RestoreV2 does, whose rows there are",
    "session_tensor": "its outputs are the input's memory",
    "sleep": "it waits",
    "weak_handle": "it makes a handle, or looks at one",
    "batching": "it waits for others, joins their rows as concat does, calls a function",
    "temporary": "it holds what variables do, whose rows there are",
    "sendrecv": "it is put between tasks: tests/bench/run_updates, trainers.py",
}
A_STEP_EACH = "elements come one a step: the pipeline of tests/bench/coordinator"
OF_A_PIPELINE = "what files hold: the pipeline of tests/bench/coordinator"
OF_A_TABLE = "a row has no table to ask, which is filled once: not measured yet"
UNMEASURED.update(dict.fromkeys((
    "auto_shard", "data_dummies", "data_seeds", "dataset_batch", "dataset_cache",
    "dataset_count", "dataset_chunks", "dataset_csv", "dataset_files", "dataset_generator", "dataset_graph",
    "batch_size", "dataset_branch", "dataset_examples", "dataset_group_reduce", "dataset_group_window",
    "dataset_limits", "dataset_lmdb", "dataset_map_batch", "dataset_matching",
    "dataset_records", "dataset_select", "dataset_sparse_batch",
    "dataset_global_shuffle", "dataset_index_map",
    "dataset_weighted_map", "dataset_sparse_slices", "dataset_thread_pool", "dataset_unbatch", "dataset_unique",
    "dataset_info", "dataset_join", "dataset_map", "dataset_nested",
    "dataset_padded_batch", "dataset_parallel_map", "dataset_pass",
    "dataset_prefetch", "dataset_rebatch", "dataset_reduce",
    "dataset_shuffle", "dataset_source", "dataset_sql", "dataset_to_graph",
    "dataset_to_records", "dataset_load", "dataset_save", "dataset_snapshot", "dataset_old_snapshot",
    "snapshot_reader",
    "dataset_window", "iterator_state", "iterators", "multi_device_iterator",
    "one_shot_iterator"), A_STEP_EACH))
UNMEASURED.update(dict.fromkeys(("dense_make", "lookup", "table_dataset", "table_make",
                                 "table_text"),
                                OF_A_TABLE))
UNMEASURED.update(dict.fromkeys((
    "matching_files", "parse_example", "parse_sequence", "ragged_variant", "reduce_join", "serialize_sparse",
    "deserialize_sparse"), OF_A_PIPELINE))
UNMEASURED["event_ops"] = "its time is the file's, and that of histogram, summary"
UNMEASURED["spectrogram"] = "its time is that of fft's rows"
UNMEASURED["wav_ops"] = "it copies samples as AudioSummaryV2 does, which has a row"
UNMEASURED["compressed_element"] = "it does what libsnappy does"
UNMEASURED.update(dict.fromkeys(("base64", "json_example", "serialized", "decode_proto",
                                 "encode_proto"),
                                "it copies bytes from one form to another"))
UNMEASURED.update(dict.fromkeys((
    "ngrams", "row_fingerprint", "segment_join"), "what StringJoin and "
    "StringToHashBucketFast do, whose rows there are"))
UNMEASURED.update(dict.fromkeys(("decode_image", "encode_image"),
                                "it does what libpng and libjpeg do"))
UNMEASURED["cluster_start"] = "a search for clusters begins with it, once"
UNMEASURED["draw_boxes"] = "it copies, and draws a few lines"
UNMEASURED["suppress_boxes"] = "its time is that of what is chosen"
UNMEASURED["combine_boxes"] = "the same"
UNMEASURED["distort_box"] = "it draws a few numbers"
UNMEASURED["random_crop"] = "no graph of today has it; it copies rows"
UNMEASURED["tile_grad"] = "no graph of today has it; it sums as Sum does"
UNMEASURED["distributed_save"] = "it waits for a server that saves"
UNMEASURED["project"] = "it is like CropAndResize, whose row there is"
UNMEASURED["print"] = "it writes a line, or makes one"
UNMEASURED.update(dict.fromkeys(("unicode_decode", "unicode_encode"),
                                "it does what ICU does"))
UNMEASURED.update(dict.fromkeys(("ragged_cross", "sparse_cross"), "what "
    "StringJoin and StringToHashBucketFast do, whose rows there are"))
UNMEASURED["composite_variant"] = "it makes a variant of what there is, or takes it out"
UNMEASURED["ragged_variant_grad"] = "copies of ranges, as Concat's, whose row there is"
UNMEASURED["csr"] = "no row can make its matrices; it counts as SparseReshape does"
UNMEASURED.update(dict.fromkeys(("csr_cholesky", "csr_order"), "no row can make their matrices"))
UNMEASURED["csr_matmul"] = "no row can make its matrices; what SparseTensorDenseMatMul does"
UNMEASURED["csr_product"] = "no row can make its matrices"
UNMEASURED["csr_transpose"] = "no row can make its matrices"
UNMEASURED["ensure_shape"] = "its output is the input's memory"
UNMEASURED["reader_make"] = "it makes handles; what they read is readers'"
UNMEASURED.update(dict.fromkeys(("remap_matrix", "vocab_remapping"),
                                "once, when training goes on with a model"))
UNMEASURED["readers"] = OF_A_PIPELINE
UNMEASURED["sparse_map"] = "it holds tensors as a queue does, whose rows there are"
UNMEASURED.update({
    "sparse_count": "it sorts pairs as SparseReorder does, whose row there is",
    "sparse_bincount": "it counts as DenseBincount does, whose row there is",
    "mixed_matmul": "the product is MatMul's, whose row there is",
    "ragged_range": "Range of each row, whose row there is",
    "ragged_to_sparse": "it writes down where the values are, once",
    "ragged_gather": "copies of ranges, as Concat's, whose row there is",
    "ragged_to_tensor": "copies of rows between defaults, as Pad's",
    "ragged_fill": "what SparseFillEmptyRows does, whose row there is",
    "edit_distance": "its time is the product of two lengths, not a size's",
})
UNMEASURED.update({
    "immutable_const": "its time is the file's, as ReadFile's",
    "abort": "it does nothing but fail",
    "file_configuration": "it does nothing but fail",
    "for_loop": "its time is that of the function it calls",
    "list_array": "its outputs are the inputs' memory",
    "sdca": "its time is that of random steps through a model's weights",
    "isotonic": "its time is that of the values, which pool more or less",
    "nearest": "the product is MatMul's and the choice TopKV2's, whose rows there are",
    "parallel_concat": "copies of rows, as Pack's, whose row there is",
    "stochastic_cast": "one thread follows the stream, as in TensorFlow",
})
UNMEASURED.update(dict.fromkeys(
    ("dequantize", "fused_depthwise", "fused_matmul", "quantized_concat",
     "quantized_conv", "quantized_layers", "quantized_norm", "quantized_pairs",
     "quantized_pool", "quantized_resize", "requantize", "uniform_add",
     "uniform_conv", "uniform_dot"),
    "its inputs are of quantised types, which no row can draw"))
__all__ = ["ROWS", "UNMEASURED"]
UNMEASURED["batch_norm_global"] = "no graph of today may have its ops"
