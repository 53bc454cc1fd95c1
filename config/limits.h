/*
 * limits.h - every maximum of the program, one row each, with its reason.
 *
 * Nothing that a client, a peer, a file or an operator controls may grow past
 * a row of this file: the code that reads it checks first and fails with
 * RESOURCE_EXHAUSTED or INVALID_ARGUMENT naming both sizes.  A number that is
 * no limit on input (a timer period, a default) belongs to its module.
 *
 * Units end the names: _MAX counts things, _SIZE_MAX counts bytes, _MS
 * milliseconds.  Threads: constants.
 */
#ifndef TFD_CONFIG_LIMITS_H
#define TFD_CONFIG_LIMITS_H

#include <stdint.h>

#include "config/limits_kernels.h"

/* ---- Messages ------------------------------------------------------------ */

/* TensorFlow's own ceiling: protobuf and its gRPC channels stop at INT32_MAX;
 * a client that got here was already near its end. */
#define TFD_GRPC_MESSAGE_SIZE_MAX INT64_C(2147483647)

/* Native messages travel in chunks, so this bounds one tensor, not a buffer:
 * the largest embedding shard seen in reports is 40 GB. */
#define TFD_NATIVE_MESSAGE_SIZE_MAX (INT64_C(64) << 30)

/* One frame body.  A small call on the same connection waits behind one chunk
 * at most: 54 ms at 10 Gbit/s. */
#define TFD_FRAME_BODY_SIZE_MAX (UINT32_C(64) << 20)

/* The protobuf part of a native message, tensor bytes apart.  Graphs of
 * 1,000,000 nodes are about 300 MB. */
#define TFD_NATIVE_ENVELOPE_SIZE_MAX (INT64_C(1) << 30)

/* A message up to this size may be inlined in one write; above it the tensor
 * bytes get an iovec of their own.  Not a limit on input but on copies. */
#define TFD_INLINE_BODY_SIZE_MAX (16 * 1024)

/* Protobuf's own default recursion limit; TensorFlow decodes no deeper. */
#define TFD_PROTO_DEPTH_MAX 100

/* The value TensorFlow announces as SETTINGS_MAX_HEADER_LIST_SIZE. */
#define TFD_HEADER_LIST_SIZE_MAX (16 * 1024)

/* A request line and headers of a status page; browsers stay below 8 KiB. */
#define TFD_HTTP_HEAD_SIZE_MAX (16 * 1024)

/* An error text on the wire; TensorFlow cuts its own at 3072 bytes. */
#define TFD_ERROR_TEXT_SIZE_MAX 3072

/* ---- Connections and calls ----------------------------------------------- */

/* Sockets of one server.  14 kB each idle in TensorFlow; ours stay below. */
#define TFD_CONNECTIONS_MAX 10000

/* From one peer address unless --connections_per_peer says otherwise, so that
 * one broken client cannot use up all. */
#define TFD_CONNECTIONS_PER_PEER_MAX 256

/* Hosts without a connection of which a server remembers that it refused them,
 * so that each is logged once in a while and not each time; 200 bytes each. */
#define TFD_REFUSED_HOSTS_MAX 1024

/* At these limits a connection makes place for another once it has been silent
 * for so long: with no call and nothing kept for its peer; with a session and
 * no call, whose client dials again when it goes on. */
#define TFD_CONNECTION_YOUNG_MS 1000
#define TFD_CONNECTION_KEPT_MS 60000

/* Calls open on one connection.  RecvTensor calls of TensorFlow wait a whole
 * step long and come in thousands; below 1,000 such a cluster deadlocks. */
#define TFD_STREAMS_PER_CONNECTION_MAX 4096

/* Streams a peer reset within the window below; more is rapid reset
 * (CVE-2023-44487) and ends the connection. */
#define TFD_STREAM_RESETS_MAX 200
#define TFD_STREAM_RESETS_WINDOW_MS 10000

/* Other frames of HTTP/2 that cost us more than the peer, in the same window.
 * gRPC sends a few PINGs a second and SETTINGS when its windows grow. */
#define TFD_PINGS_MAX 1000
#define TFD_SETTINGS_MAX 100
#define TFD_PRIORITIES_MAX 1000
#define TFD_EMPTY_DATA_MAX 1000
#define TFD_UNKNOWN_FRAMES_MAX 1000
#define TFD_TRAILERS_MAX 100 /* gRPC's requests have none */

/* And so many more for each stream that was opened in the window: a call has
 * few windows to widen, and its message in few frames; ... */
#define TFD_WINDOW_UPDATES_MAX 1000
#define TFD_SMALL_DATA_MAX 1000
#define TFD_SMALL_FRAMES_PER_STREAM 8
/* ... and one more window for so many bytes that we sent. */
#define TFD_WINDOW_UPDATE_SIZE 1024
/* DATA with less than this is small, and so is all that is padded. */
#define TFD_SMALL_DATA_SIZE 64

/* The like on native connections: frames that say that a call is over, more
 * than there were calls, and parts of payloads that are cut this small. */
#define TFD_CANCELS_MAX 1000
#define TFD_SMALL_PARTS_MAX 1000
#define TFD_SMALL_PART_SIZE 4096

/* CONTINUATION frames of one list of headers: 16 KiB need none. */
#define TFD_CONTINUATIONS_MAX 8

/* First bytes, TLS and HTTP/2 settings: an honest peer needs one round trip. */
#define TFD_HANDSHAKE_MS 10000

/* From the first byte of a head to its last. */
#define TFD_HEAD_MS 10000

/* What a connection must send of a message that it has announced, while we read
 * it: 1 KiB/s.  A modem of 1996 sends 3 KiB/s, and a link that is lost and
 * found again has half a minute. */
#define TFD_DELIVERY_MS 30000
#define TFD_DELIVERY_SIZE_MIN (UINT64_C(32) << 10)

/* A connection without a session, a call or a byte. */
#define TFD_CONNECTION_IDLE_MS (5 * 60 * 1000)

/* Bytes queued for one slow reader before the server stops reading from it.
 * Two chunks keep a fast link busy. */
#define TFD_WRITE_QUEUE_SIZE_MAX (INT64_C(128) << 20)

/* Tensors pushed by peers for steps that this worker has not started.  Beyond
 * it the connection is not read until a step takes some. */
#define TFD_PARKED_PUSH_SIZE_MAX (INT64_C(1) << 30)
#define TFD_PARKED_PUSHES_MAX 100000

/* A step id whose parked pushes nobody asked for in this time is dead. */
#define TFD_PARKED_PUSH_MS (10 * 60 * 1000)

/* Steps of which a peer is told that what was pushed for them may be lost, when
 * the connection breaks; more do not push to one peer at the same time. */
#define TFD_LOST_PUSHES_MAX 256

/* Parts of other processes' device memory that are mapped at once. */
#define TFD_PEER_MEMORY_MAX 1024

/* How long it is tried to tell it.  A host that was suspended, or a cable that
 * was unplugged, is back by then, or its steps have been given up. */
#define TFD_LOST_PUSH_MS (2 * 60 * 1000)

/* Request bytes of one native connection whose calls were not answered yet.
 * Beyond it the connection is not read until a handler answers some. */
#define TFD_REQUESTS_SIZE_MAX (INT64_C(1) << 30)

/* Tensors beside one native message: as many as feeds, or variables pushed. */
#define TFD_PAYLOADS_MAX 65536

/* HTTP pages that can be bound; healthz, readyz, metrics and a few more. */
#define TFD_PAGES_MAX 16
#define TFD_PAGE_SIZE_MAX (16 * 1024 * 1024)

/* A silent peer is asked after 5 s and given up after about 10. */
#define TFD_KEEPALIVE_IDLE_S 5
#define TFD_KEEPALIVE_INTERVAL_S 2
#define TFD_KEEPALIVE_PROBES_MAX 3

/* A peer whose kernel has taken no byte of ours for so long is gone.  It also
 * ends a peer that is alive and does not read, so it is longer than a pause
 * that backpressure makes. */
#define TFD_TCP_USER_TIMEOUT_MS 20000

/* ---- Sessions, graphs, steps --------------------------------------------- */

/* Steps that have enqueued their work on a device and are ahead of it, and
 * their nodes: about what CUDA's queue of launches holds.  Multiples of 4. */
#define TFD_DEVICE_STEPS_AHEAD_MAX 32
#define TFD_DEVICE_NODES_AHEAD_MAX 1024

/* Sessions of one master, and those of them that one peer (rpc/conn/origin.h)
 * has opened, so that none keeps the others out; at either limit the oldest go
 * whose clients have no connection, so many at once.  A session costs about 260
 * kB in TensorFlow, which has no limit. */
#define TFD_SESSIONS_MAX 2000
#define TFD_SESSIONS_PER_PEER_MAX 1000
#define TFD_SESSIONS_EVICTED_MAX 64

/* Sessions of all masters on one worker, and of those of one peer: a master may
 * bring all that it has. */
#define TFD_WORKER_SESSIONS_MAX 4000
#define TFD_WORKER_SESSIONS_PER_PEER_MAX 2000

/* Versions of a graph: each ExtendSession makes one. */
#define TFD_GRAPH_VERSIONS_MAX 1000000

/* Nodes of one session's graph, after function bodies are expanded.
 * TensorFlow itself crashes on a chain of 100,000. */
#define TFD_GRAPH_NODES_MAX 1000000
#define TFD_GRAPH_EDGES_MAX 16000000
#define TFD_GRAPH_SIZE_MAX (INT64_C(2) << 30) /* bytes of its arena */

/* The widest op in use (a fused optimizer over all variables) has 50,000. */
#define TFD_NODE_INPUTS_MAX 100000
#define TFD_NODE_OUTPUTS_MAX 100000
#define TFD_NODE_ATTRS_MAX 1000

/* Names of nodes, containers, tensors.  Deep scopes reach 2,000 bytes. */
#define TFD_NAME_SIZE_MAX 8192

/* Components of one queue; the widest input pipelines have dozens. */
#define TFD_QUEUE_COMPONENTS_MAX 1024

#define TFD_FUNCTIONS_MAX 10000
#define TFD_FUNCTION_DEPTH_MAX 64 /* calls of calls while expanding */

/* Nodes that expanding functions may add to a graph at once.  A kilobyte of
 * functions that call each other twice asks for any number; the largest models
 * in use stay below 100,000. */
#define TFD_FUNCTION_NODES_MAX 250000

/* Calls of functions that run as ops: within each other, and at once within one
 * step.  A call costs about 8 kB and, to take back, 100 microseconds. */
#define TFD_FUNCTION_CALLS_DEPTH_MAX 1000
#define TFD_FUNCTION_CALLS_MAX 4000

/* Threads that wait: for each iterator that is asked for an element, and for
 * each that works ahead.  A thread that sleeps costs 20 kB. */
#define TFD_CREW_MAX 4096

/* Devices in one group of collectives: one in each task of a large cluster. */
#define TFD_COLLECTIVE_GROUP_MAX 10000
/* Groups that a task knows; programs have one or two.  Beyond, the one that was
 * not used for longest is forgotten. */
#define TFD_COLLECTIVE_GROUPS_MAX 1024
/* Graphs of collectives whose next step a task knows; the same holds. */
#define TFD_STEP_SEQUENCES_MAX 4096
/* For so long a leader keeps those that its own collectives use, after the last
 * one: members of a program that lives remember them too. */
#define TFD_COLLECTIVE_IDLE_US (INT64_C(3600) * 1000000)
/* Broadcasts whose source a leader remembers; 40 bytes and one a member. */
#define TFD_COLLECTIVE_INSTANCES_MAX 4096

/* Files that a pass which saves a dataset writes at once: 330 kB each where
 * they are compressed. */
#define TFD_SNAPSHOT_SHARDS_MAX 1024
/* Files of a saved dataset that is read: 300 bytes each. */
#define TFD_SNAPSHOT_READ_MAX 65536
/* Metadata of a saved dataset: a hundred bytes, and one for each component. */
#define TFD_SNAPSHOT_METADATA_SIZE_MAX ((size_t)1 << 20)
/* Component types of it that are compared; of more the first. */
#define TFD_SNAPSHOT_TYPES_MAX 64
/* Calls that a dataset makes at once on threads of its own kind of work
 * (num_parallel_calls), however many its program wants. */
#define TFD_DATA_CALLS_MAX 1024

/* A line or a record of a file that a dataset reads. */
#define TFD_DATA_RECORD_SIZE_MAX ((size_t)1 << 30)

/* What all queries of databases together take: a sort is done in memory. */
#define TFD_SQL_MEMORY_SIZE_MAX (INT64_C(256) << 20)
/* A query, and a pattern of LIKE, whose comparison nothing can stop. */
#define TFD_SQL_QUERY_SIZE_MAX 1000000
#define TFD_SQL_PATTERN_SIZE_MAX 100
/* A value of a row. */
#define TFD_SQL_VALUE_SIZE_MAX (64 << 20)

/* Levels of a tree in an LMDB file: liblmdb's own limit. */
#define TFD_LMDB_DEPTH_MAX 32
/* Pages that are looked at for the next pair; whole files have none that are
 * empty, so it is the levels of two trees. */
#define TFD_LMDB_STEPS_MAX 1000

/* Options of a dataset as its program writes them: a few hundred bytes. */
#define TFD_DATA_OPTIONS_SIZE_MAX ((size_t)1 << 20)

/* Lists of tensors within lists, where nested loops make one level each, and
 * datasets made of datasets, of which a concatenation in a loop makes hundreds.
 * What goes through them recurses: freeing and adding take less than 1 kB of
 * stack for each, an element of a dataset up to 3 kB, on threads that have 8 MB
 * (common/thread/crew.c).  Iterators are as deep at most. */
#define TFD_VARIANT_DEPTH_MAX 1000

/* Tensors of one list: iterations of a loop whose gradient is taken. */
#define TFD_VARIANT_TENSORS_MAX 10000000

/* TensorFlow's TensorShape holds no more than 254 dimensions. */
#define TFD_DIMS_MAX 254

/* Up to here a session's graph is read, placed and pruned on the loop thread,
 * within a millisecond; beyond, on one of these threads of the master's. */
#define TFD_BUILD_NODES_INLINE 250
#define TFD_BUILD_SIZE_INLINE ((size_t)16 << 10)
#define TFD_BUILD_THREADS 2

/* Plans of a session that are registered on workers; the oldest idle one is
 * dropped, so a client that makes up signatures costs only time. */
#define TFD_PLANS_PER_SESSION_MAX 256

/* Different (feeds, fetches, targets) signatures whose names and numbers are
 * kept, so that a dropped plan can be built again. */
#define TFD_SIGNATURES_PER_SESSION_MAX 4096

/* Steps of all sessions running at once; more wait in arrival order. */
#define TFD_STEPS_MAX 4096
#define TFD_STEPS_PER_SESSION_MAX 1024

#define TFD_FEEDS_MAX 65536
#define TFD_FETCHES_MAX 65536
#define TFD_TARGETS_MAX 65536

/* Of one callable; each costs a walk over the graph to see that it makes no
 * cycle. */
#define TFD_TENSOR_CONNECTIONS_MAX 1000

/* What closing a session waits for the answer of its workers, and a Reset for
 * all; steps and registrations under way are cancelled before.  TensorFlow
 * waits as long, but for every answer of theirs before. */
#define TFD_CLOSE_MS 10000

/* Nodes that a traced step records on one task, as TensorFlow, and their bytes;
 * what comes later is left out. */
#define TFD_TRACED_NODES_MAX (1 << 20)
#define TFD_TRACE_SIZE_MAX ((size_t)256 << 20)

/* Clients' steps that an operator has traced with one request, those that are
 * under way at once, and the bytes that a master keeps: of one step, of all
 * that have ended (a step of a thousand nodes has some 400 KB).  The
 * last bounds how long they are waited for. */
#define TFD_TRACED_STEPS_MAX 1000
#define TFD_TRACED_AT_ONCE_MAX 16
#define TFD_TRACED_STEP_SIZE_MAX ((size_t)16 << 20)
#define TFD_TRACED_STEPS_SIZE_MAX ((size_t)48 << 20)
#define TFD_TRACED_WAIT_MS_MAX (24 * 3600 * 1000)

/* Clusters that open sessions have brought along. */
#define TFD_CLUSTERS_MAX 64

/* Callables and unfinished partial runs of one session. */
#define TFD_CALLABLES_MAX 4096
#define TFD_PARTIAL_RUNS_MAX 1024

/* Feeds, fetches and targets of one step, as names one after another. */
#define TFD_SIGNATURE_SIZE_MAX (64 * 1024 * 1024)

/* Devices of all tasks of one session. */
#define TFD_SESSION_DEVICES_MAX 20000

/* Attributes of one node that the master adds to a partition. */
#define TFD_ATTR_SIZE_MAX (64 * 1024)

/* Containers named by one Reset, and their names together. */
#define TFD_CONTAINERS_MAX 256
#define TFD_RESET_SIZE_MAX (1024 * 1024)

/* Nested while loops of one node; TensorFlow programs use up to 4. */
#define TFD_WHILE_DEPTH_MAX 64

/* device_filters of one ConfigProto; one per task is what Python writes. */
#define TFD_DEVICE_FILTERS_MAX 10000

/* The bytes of one ConfigProto; a cluster_def of 10,000 tasks fits. */
#define TFD_SESSION_CONFIG_SIZE_MAX (4 * 1024 * 1024)

/* Entries of ConfigProto.device_count and of --device_count. */
#define TFD_DEVICE_TYPES_MAX 8

/* Devices of one type on one task: more than cores or GPUs of any host. */
#define TFD_DEVICES_PER_TYPE_MAX 64

/* Memory of a GPU that one convolution may work in, as in TensorFlow, whose
 * TF_CUDNN_WORKSPACE_LIMIT_IN_MB lowers it. */
#define TFD_CUDNN_WORKSPACE_SIZE_MAX (INT64_C(4) << 30)

/* Shapes of which a GPU remembers what cuDNN said, convolutions and batch norms
 * each: some 300 bytes.  A net of 150 convolutions has three times as many, for
 * each size of a batch or an image. */
#define TFD_CUDNN_SHAPES_MAX 8192

/* Shapes of convolutions for which code of oneDNN's is kept: some 100 KB each,
 * and looked for one by one.  A net of 50 layers has about 75. */
#define TFD_CONV_PRIMITIVES_MAX 256

/* What such code may use: a filter as it wants it, whose channels are filled up
 * to 16, and each thread's room to work in.  Beyond, products do it. */
#define TFD_CONV_PACKED_SIZE_MAX ((size_t)1 << 30)
#define TFD_CONV_WORK_SIZE_MAX ((size_t)64 << 20)

/* ---- EagerService -------------------------------------------------------- */

/* Coordinators that a task works for at once, those included that ended without
 * a word and are not yet forgotten. */
#define TFD_EAGER_CONTEXTS_MAX 64

/* Values that one context keeps; a program has as many as it has tensors. */
#define TFD_EAGER_HANDLES_MAX 4000000

/* Functions that one context knows, of each kind, and their bytes: programs
 * trace hundreds, and register parts of them anew as shapes change. */
#define TFD_EAGER_FUNCTIONS_MAX 100000
#define TFD_EAGER_LIBRARY_SIZE_MAX ((size_t)1 << 30)

/* Single ops that a context keeps compiled, some 10 KiB each. */
#define TFD_EAGER_OPS_MAX 2048

/* Of one operation. */
#define TFD_EAGER_INPUTS_MAX TFD_NODE_INPUTS_MAX
#define TFD_EAGER_ATTRS_MAX 1024

/* Failures that a context remembers, some 2 KiB each: a coordinator asks for a
 * value soon after the operation that should have made it. */
#define TFD_EAGER_FAILURES_MAX 16

/* Values of one packed handle: as many as a program has devices. */
#define TFD_EAGER_PACKED_MAX 4096

/* Ways in which the values of one function lie on tasks, each kept compiled. */
#define TFD_EAGER_SPREADS_MAX 256

/* How long a function on several tasks that has failed waits for the cause of
 * what may be only an echo.  A coordinator waits meanwhile. */
#define TFD_EAGER_CAUSE_WAIT_US 300000u

/* Requests of one stream that wait for those before them, and their bytes. */
#define TFD_EAGER_QUEUED_MAX 100000
#define TFD_EAGER_QUEUED_SIZE_MAX ((size_t)1 << 30)

/* Answers of one stream that its caller has not read: to EagerService, and to
 * who watches a server's health. */
#define TFD_STREAM_UNREAD_SIZE_MAX ((size_t)16 << 20)
#define TFD_WATCH_UNREAD_SIZE_MAX ((size_t)64 << 10)

/* ---- Names --------------------------------------------------------------- */

/* TensorFlow has no limit; real names are ps, worker, chief.  Bounded so that
 * a device name is a value that is copied and compared without a pointer. */
#define TFD_JOB_NAME_SIZE_MAX 63
#define TFD_DEVICE_TYPE_SIZE_MAX 31

/* Text of a device name given by a client, before it is parsed. */
#define TFD_DEVICE_TEXT_SIZE_MAX 1024

/* RFC 1035: a host name has at most 253 characters; plus ":65535", brackets
 * and a scope. */
#define TFD_HOST_SIZE_MAX 253
#define TFD_ADDRESS_SIZE_MAX 320

/* ---- Files --------------------------------------------------------------- */

/* PATH_MAX of Linux, which the kernel enforces anyway; checked first so that
 * the error can name the graph's node. */
#define TFD_FILE_NAME_SIZE_MAX 4095

/* Names of files that one pattern stands for, while they are looked for: a
 * million of a hundred bytes. */
#define TFD_FILE_NAMES_SIZE_MAX ((size_t)128 << 20)

/* One file read whole (ReadFile, a MetaGraphDef). */
#define TFD_FILE_READ_SIZE_MAX (INT64_C(8) << 30)

/* A graph that --missing_ops reads, and what its text becomes: as much as
 * protobuf can write. */
#define TFD_GRAPH_FILE_SIZE_MAX INT64_C(2147483647)

/* MetaGraphDefs of one SavedModel: one for each way to use it; two are many. */
#define TFD_META_GRAPHS_MAX 64

/* A number or a name in the text form of a protobuf message. */
#define TFD_TEXT_TOKEN_SIZE_MAX 256

/* Calls of functions with different attributes that --missing_ops follows. */
#define TFD_MISSING_CALLS_MAX 100000
/* Nodes of their bodies that are looked at, each anew for each call. */
#define TFD_MISSING_CALLED_NODES_MAX 2000000

/* What a compressed gRPC message may grow to: a second of the loop's time, and
 * as much as anybody compresses on purpose. */
#define TFD_GRPC_INFLATED_SIZE_MAX (INT64_C(256) << 20)

/* Compressed gRPC messages that are being made plain, each of another peer; the
 * others wait as they came.  Each takes 40 KiB of zlib's and what it grows
 * to. */
#define TFD_INFLATING_MAX 8

/* Directories a server may read and write below; one bind mount each. */
#define TFD_FILE_ROOTS_MAX 16

/* ---- Users of this host -------------------------------------------------- */

/* Named by --allow_uid; more than these are "any". */
#define TFD_ALLOW_UIDS_MAX 64

/* Read of /proc/net/tcp to find a connection's owner where the kernel cannot be
 * asked: 7,000 sockets, which take the loop some 8 ms. */
#define TFD_PROC_TCP_SIZE_MAX (1 << 20)

/* ---- What operators see -------------------------------------------------- */

/* Steps whose times are remembered (daemon/master/record/step_ring.h): a few
 * seconds of a training, in 400 kB. */
#define TFD_STEPS_KEPT_MAX 1000

/* Prometheus keeps a series for each label that it was ever told, so of each
 * family so many are told, and how many were not: tasks of the cluster, ... */
#define TFD_METRIC_PEERS_MAX 1000
/* ... and queues, whose names clients choose. */
#define TFD_METRIC_QUEUES_MAX 100
/* Bytes of such a name; longer ones count as not told. */
#define TFD_METRIC_LABEL_SIZE_MAX 256
/* Resources of a device that one request for a page looks at: 100,000 take a
 * few milliseconds. */
#define TFD_METRIC_RESOURCES_MAX 100000

/* --slow_factor: above it no step is slow. */
#define TFD_SLOW_FACTOR_MAX 1000000

/* ---- Status pages -------------------------------------------------------- */

/* Rows of one list of /status.json; `more` says how many are left out.  With
 * all of them it has under 2 MB. */
#define TFD_STATUS_TASKS_MAX 1000
#define TFD_STATUS_SESSIONS_MAX 200
#define TFD_STATUS_PLANS_MAX 200
#define TFD_STATUS_PARTS_MAX 100
#define TFD_STATUS_STEPS_MAX 200
#define TFD_STATUS_RESOURCES_MAX 1500

/* Resources that are looked at for the largest of them: 2 ms. */
#define TFD_STATUS_LOOKED_AT_MAX 4096

/* Bytes of a text in it: names may be TFD_NAME_SIZE_MAX. */
#define TFD_STATUS_TEXT_SIZE_MAX 256

/* A task that was asked for its state answers within so long, or is silent;
 * what it said is told for so long. */
#define TFD_STATUS_PEER_WAIT_MS 1000
#define TFD_STATUS_PEER_FRESH_MS 1000
/* Requests for the cluster that wait for its tasks. */
#define TFD_STATUS_WAITING_MAX 64

/* The last 15 minutes, a sample in so many seconds. */
#define TFD_STATUS_SAMPLE_MS 5000
#define TFD_STATUS_SAMPLES_MAX 180

/* ---- Configuration ------------------------------------------------------- */

/* Linux allows 128 KiB in one environment variable; a file may hold more. */
#define TFD_CONFIG_TEXT_SIZE_MAX (1024 * 1024)

/* TF_CONFIG needs 4; Google's echo of the submitted job goes to about 10. */
#define TFD_CONFIG_DEPTH_MAX 32

#define TFD_JOBS_MAX 64
#define TFD_TASKS_MAX 10000 /* of all jobs; one connection each */
#define TFD_TASK_INDEX_MAX 999999

/* Errors printed for one configuration; after these a reader gives up. */
#define TFD_REPORT_LINES_MAX 16
#define TFD_REPORT_LINE_SIZE_MAX 768

/* A configured wait: 10 years.  Larger is a typing error. */
#define TFD_DURATION_MS_MAX (INT64_C(3650) * 24 * 3600 * 1000)

/* Looking longer than waking takes is for nothing: 10 ms are 100 times that. */
#define TFD_SPIN_US_MAX 10000

/* Compute threads: twice the cores of the largest machine on sale. */
#define TFD_THREADS_MAX 1024

/* Threads that fill the queues of one model that is trained. */
#define TFD_QUEUE_THREADS_MAX 256

/* Width and precision that AsString takes: a double has 325 digits before its
 * point, and at most 1,074 behind it. */
#define TFD_AS_STRING_WIDTH_MAX 4096

#endif
