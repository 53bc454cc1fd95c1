/*
 * limits_kernels.h - the maxima of single kernels: what pictures, texts, plans
 * and tables of one op may grow to, one row each, with its reason.
 *
 * It is a part of limits.h, which says what the names and units mean and which
 * is what other files include.  Threads: constants.
 */
#ifndef TFD_CONFIG_LIMITS_KERNELS_H
#define TFD_CONFIG_LIMITS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Pixels of a picture that is decoded, of all of its frames together, and of
 * one side: TensorFlow's own. */
#define TFD_PICTURE_PIXELS_MAX (INT64_C(1) << 29)
#define TFD_PICTURE_SIDE_MAX (INT64_C(1) << 27)

/* What libjpeg may keep of a progressive picture: two bytes for each channel
 * of each pixel, of as many as above. */
#define TFD_JPEG_WORK_SIZE_MAX (INT64_C(5) << 28)

/* Scans of one JPEG, each of which visits all of its pixels; files in use have
 * 10. */
#define TFD_JPEG_SCANS_MAX 500

/* A picture's file that is written. */
#define TFD_PICTURE_FILE_SIZE_MAX ((size_t)INT32_MAX)
/* Events that wait for their file to be written: one of the largest message,
 * and what may wait with it. */
#define TFD_EVENT_QUEUE_SIZE_MAX (INT64_C(4) << 30)
/* So many bytes are written at once, whatever max_queue says. */
#define TFD_EVENT_QUEUE_KEPT_SIZE_MAX ((size_t)16 << 20)

/* Points of a Fourier transform: a plan takes 140 bytes each at most, and the
 * work of a thread 200. */
#define TFD_FFT_LENGTH_MAX (INT64_C(1) << 24)
/* Plans of transforms that are kept, and their bytes; programs have a few
 * lengths, of some thousand points. */
#define TFD_FFT_PLANS_MAX 64
#define TFD_FFT_PLANS_SIZE_MAX ((size_t)64 << 20)

/* Cosines that Mfcc has a table of: coefficients times channels, of which
 * programs have 13 and 40. */
#define TFD_MFCC_TABLE_MAX (INT64_C(1) << 22)

/* Weights that classes are sampled by, 16 bytes each; vocabularies have a few
 * million words. */
#define TFD_CANDIDATE_WEIGHTS_MAX (INT64_C(1) << 26)

/* Rows of feature lists in the SequenceExamples of one op; an empty one takes
 * two bytes there and 48 here. */
#define TFD_SEQUENCE_ROWS_MAX (INT64_C(1) << 26)

/* What one ReaderReadUpTo gives, keys and values together. */
#define TFD_READ_UP_TO_SIZE_MAX ((size_t)2 << 30)

/* What one execution of DecodeCompressed may make of its strings together; a
 * kilobyte can ask for a megabyte.  TensorFlow cuts each at 2^31 - 1. */
#define TFD_INFLATED_SIZE_MAX (INT64_C(2) << 30)

/* Regular expressions that are compiled at once: each may use 8 MiB, as in
 * TensorFlow, where most need some 20 kB. */
#define TFD_PATTERNS_MAX 1024

/* The longest pattern that is read; RE2's program for a longer one would not
 * fit into those 8 MiB. */
#define TFD_PATTERN_SIZE_MAX ((size_t)1 << 20)

/* What one execution of RegexReplace may make of its strings together; a
 * rewrite may name a match again and again. */
#define TFD_REPLACED_SIZE_MAX ((size_t)2 << 30)

/* Strings that all n-grams of one execution of StringNGrams show together, the
 * paddings among them, whose number a graph is free to choose. */
#define TFD_NGRAM_PLACES_MAX (INT64_C(1) << 31)
/* And their bytes. */
#define TFD_NGRAM_SIZE_MAX ((size_t)2 << 30)
/* Widths in the attribute ngram_widths. */
#define TFD_NGRAM_WIDTHS_MAX 1024

/* A string whose case is changed, in bytes of UTF-8: one of UTF-16 has three
 * of them at most and may become three, and ICU counts in int32. */
#define TFD_LETTERS_SIZE_MAX (INT32_MAX / 9)
/* The name of an encoding, in attributes of the unicode ops, and its NUL. */
#define TFD_ENCODING_NAME_SIZE_MAX 64

/* What one execution of Substr may make of its strings together. */
#define TFD_SUBSTR_SIZE_MAX ((size_t)2 << 30)

/* One string that base64, a field of CSV or an Example in JSON becomes. */
#define TFD_CONVERTED_SIZE_MAX ((size_t)2 << 30)

/* Objects and arrays of JSON within each other: protobuf's own limit. */
#define TFD_JSON_DEPTH_MAX 100

/* What one execution of an op that reads or writes Unicode makes of its strings
 * together, or of one of them: ICU counts to 2^31. */
#define TFD_DECODED_SIZE_MAX ((size_t)2 << 30)

/* Nodes of the tree of one beam search of CTCBeamSearchDecoder, of 80 bytes
 * each: a width of 1,000 over 10,000 steps, if no two beginnings were alike. */
#define TFD_CTC_NODES_MAX (1 << 24)

/* A text that Print or StringFormat makes: the values of a tensor with all of
 * its elements, or of many tensors. */
#define TFD_PRINTED_SIZE_MAX ((size_t)1 << 30)
/* What one Print or PrintV2 may tell the log, in lines of up to 900 bytes. */
#define TFD_PRINTED_LINES_MAX 1000

/* Lists and maps that one AddN or ZerosLike makes, those within others among
 * them: some 300 bytes each; loops have a few thousand. */
#define TFD_VARIANT_MADE_MAX (1 << 20)

/* Examples that SdcaOptimizer takes at once, and features of one group: they
 * are sorted in one piece.  Batches have a few thousand. */
#define TFD_SDCA_SORTED_MAX (1 << 24)

/* Detections that CombinedNonMaxSuppression sorts in one piece: of a thousand
 * classes 16,000 each. */
#define TFD_DETECTIONS_MAX (1 << 24)

/* Sparse tensors that wait in one map of AddSparseToTensorsMap, some 200 bytes
 * each, and their bytes together; pipelines have a batch or a few there. */
#define TFD_SPARSE_MAP_COUNT_MAX (1 << 22)
#define TFD_SPARSE_MAP_SIZE_MAX ((size_t)8 << 30)

/* What one execution of SparseCrossV2 and its kin may make of its strings
 * together: crosses are products of rows, which a graph is free to choose. */
#define TFD_CROSSED_SIZE_MAX ((size_t)2 << 30)
/* Columns that are crossed. */
#define TFD_CROSSED_COLUMNS_MAX 1024

/* Elements of a sparse matrix that a product or a factor of sparse ones has:
 * 20 bytes each at most. */
#define TFD_CSR_MADE_MAX (INT64_C(1) << 28)

/* Classes that a sampler counts, of 8 bytes each. */
#define TFD_CANDIDATE_TREE_MAX ((int64_t)1 << 26)

/* Files that one Restore reads at once, each of which is open: a shard for each
 * parameter server; and the names that its pattern may find. */
#define TFD_RESTORE_SHARDS_MAX 256
#define TFD_RESTORE_NAMES_SIZE_MAX ((size_t)1 << 24)

/* Tensors that GetSessionHandle keeps in one session, of 100 bytes each beside
 * their values; a program that forgets to delete them notices. */
#define TFD_SESSION_TENSORS_MAX (1 << 20)

/* Patterns that one RecordInput looks for files by, each of which costs a look
 * at a folder; programs have one, or one for each of some folders. */
#define TFD_RECORD_INPUT_PATTERNS_MAX 10000
/* Files that one RecordInput reads in turn; records that it holds back to
 * shuffle them, of 24 bytes each beside what is in them, and their bytes. */
#define TFD_RECORD_INPUT_FILES_MAX 64
#define TFD_RECORD_INPUT_RECORDS_MAX (INT64_C(1) << 20)
#define TFD_RECORD_INPUT_SIZE_MAX ((size_t)1 << 30)
#define TFD_RECORD_INPUT_NAMES_SIZE_MAX ((size_t)1 << 26)

/* Sizes that a batch may be filled up to; programs have a few. */
#define TFD_BATCH_SIZES_MAX 1024
/* Steps whose rows are in one batch, each of which is a row of its index; and
 * batches that are full and wait for a thread, whatever max_enqueued_batches
 * says. */
#define TFD_BATCH_TASKS_MAX (1 << 20)
#define TFD_BATCHES_WAITING_MAX (1 << 20)
/* Batches at once of one batcher, whatever num_batch_threads says: a function
 * that has itself in its batch takes one more each time. */
#define TFD_BATCH_THREADS_MAX 1024
/* Batches that the rows of one step are split among, some 500 bytes each. */
#define TFD_BATCH_PARTS_MAX (1 << 16)
/* Steps that wait in one Unbatch or UnbatchGrad, and tensors that wait there
 * for their steps, some 300 bytes each beside their values. */
#define TFD_UNBATCH_WAITING_MAX (1 << 20)

/* Descriptions of protobuf messages that one node has; all of TensorFlow's own
 * are 300 kB, in 400 files with 5,000 fields and values, of 200 bytes each. */
#define TFD_PROTO_SET_SIZE_MAX ((size_t)16 << 20)
#define TFD_PROTO_FILES_MAX 4096
#define TFD_PROTO_FIELDS_MAX (1 << 20)
#define TFD_PROTO_NAME_SIZE_MAX ((size_t)4096)
/* And their tables. */
#define TFD_PROTO_POOL_SIZE_MAX ((size_t)512 << 20)
/* What is kept beside a message while it is put in order, 48 bytes for each of
 * its fields, and copies of those that are merged. */
#define TFD_PROTO_WORK_SIZE_MAX ((size_t)1 << 30)

#endif
