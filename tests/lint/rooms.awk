# rooms.awk - the tables of layers and rooms, for layers.awk, which looks at
# includes, and arrows.awk, which looks at objects.
#
# The tables are the architecture.  A new arrow is a design decision and is made
# here, in review, not by adding an #include somewhere.  A row names layers, and
# single headers where two layers meet in exactly one place.  One inversion is
# meant: kernels call what kernels/core/runtime.h declares, which the worker
# implements.

BEGIN {
    may["common"]        = "common config/limits.h"
    may["config"]        = "config common"
    may["kernels"]       = "kernels common config/limits.h"
    may["cuda"]          = "cuda kernels common config/limits.h"
    may["rpc"]           = "rpc config common"
    may["daemon/rewrite"] = "daemon/rewrite kernels config common " \
                            "daemon/worker_api.h"
    may["daemon/worker"] = "daemon/worker rpc kernels config common " \
                           "daemon/worker_api.h daemon/device_proto.h"
    may["daemon/master"] = "daemon/master daemon/rewrite rpc kernels " \
                           "config common daemon/worker_api.h " \
                           "daemon/device_proto.h"
    may["daemon/eager"]  = "daemon/eager daemon/rewrite rpc kernels config " \
                           "common daemon/worker_api.h daemon/device_proto.h"
    may["daemon/status"] = "daemon/status daemon/master daemon/worker " \
                           "daemon/eager rpc kernels cuda config common"
    may["daemon"]        = "daemon daemon/master daemon/worker daemon/eager " \
                           "daemon/status rpc kernels cuda config common " \
                           "client/train/train.h"
    may["client"]        = "client rpc kernels config common daemon/server.h"
    may["examples"]      = "client"
    may["packaging"]     = "packaging config common tools"
    may["tools"]         = "tools client rpc kernels config common " \
                           "daemon/missing_ops.h daemon/graph_file.h " \
                           "daemon/status/kernels_page.h daemon/status/metrics.h " \
                           "daemon/server.h"

    # Rooms of its own layer that a room may include beside itself.
    beside["common/base"] = "memory proto thread"
    beside["common/graph"] = "base proto thread"
    beside["common/proto"] = "base graph"
    beside["common/measure"] = "base"
    beside["common/memory"] = "thread"
    beside["common/thread"] = "base"
    beside["common/resource"] = "base proto thread"
    beside["rpc/core"] = "conn"
    beside["rpc/grpc"] = "conn core http"
    beside["rpc/http"] = "conn core"
    beside["rpc/native"] = "conn core"
    beside["kernels/array"] = "core layout list math reduce state vector"
    beside["kernels/checkpoint"] = "core io"
    beside["kernels/codec"] = "core vector"
    beside["kernels/collective"] = "core"
    beside["kernels/control"] = "core"
    beside["kernels/conv"] = "core linalg vector"
    beside["kernels/core"] = "layout math state vector"
    beside["kernels/crosses"] = "core ragged sparse text"
    beside["kernels/csr"] = "core sparse"
    beside["kernels/data"] = "core data_saved io random"
    beside["kernels/data_calls"] = "core data parse"
    beside["kernels/data_files"] = "checkpoint core data data_graph " \
        "data_saved data_sources io"
    beside["kernels/data_graph"] = "core data data_saved"
    beside["kernels/data_groups"] = "core data data_calls"
    beside["kernels/data_order"] = "core data random"
    beside["kernels/data_saved"] = "core"
    beside["kernels/data_sources"] = "core data io"
    beside["kernels/image"] = "conv core layout random vector"
    beside["kernels/index"] = "core layout state vector"
    beside["kernels/io"] = "core"
    beside["kernels/layout"] = "core vector"
    beside["kernels/linalg"] = "core vector"
    beside["kernels/linear"] = "core random state text"
    beside["kernels/list"] = "core"
    beside["kernels/math"] = "core layout list state vector"
    beside["kernels/nn"] = "conv core io layout " \
        "linalg math random reduce sparse vector"
    beside["kernels/parse"] = "core"
    beside["kernels/proto"] = "core io"
    beside["kernels/quantized"] = "conv core image layout linalg math reduce " \
        "vector"
    beside["kernels/ragged"] = "core layout sparse"
    beside["kernels/random"] = "core layout vector"
    beside["kernels/readers"] = "core data_sources io state"
    beside["kernels/reduce"] = "core vector"
    beside["kernels/sparse"] = "core index layout reduce vector"
    beside["kernels/state"] = "core layout math random vector"
    beside["kernels/tables"] = "core data io text"
    beside["kernels/signal"] = "core vector"
    beside["kernels/text"] = "codec core io signal vector"
    beside["kernels/vector"] = "core random"
    beside["cuda/device"] = "lib"
    beside["cuda/lib"] = "device"
    beside["daemon/master/service"] = "record session"
    beside["daemon/master/facts"] = "session"
    beside["daemon/master/session"] = "record remote service"
    beside["daemon/worker/collective"] = "run state"
    beside["daemon/worker/compile"] = "exchange run state"
    beside["daemon/worker/exchange"] = "run service state"
    beside["daemon/worker/run"] = "compile exchange state"
    beside["daemon/worker/service"] = "collective compile exchange run state"
    beside["client/c_api"] = "session train"
    beside["client/session"] = "c_api"
    beside["client/train"] = "c_api session"
    beside["tools/ctl"] = "npy"
}

function allowed(from, what) {
    return index(" " may[from] " ", " " what " ") > 0
}

function layer_of(path,    part) {
    split(path, part, "/")
    if (part[1] == "daemon" && path ~ /^daemon\/[a-z]+\//)
        return part[1] "/" part[2]
    return part[1]
}

# The room of a file: the folder below its layer's; "" where it is in none.
function room_of(path,    layer, rest) {
    layer = layer_of(path)
    rest = substr(path, length(layer) + 2)
    return rest ~ /\// ? layer "/" substr(rest, 1, index(rest, "/") - 1) : ""
}

# Each family of cuda/ stands on two rooms.
function is_beside(from, to,    name) {
    name = to
    sub(/.*\//, "", name)
    if (from ~ /^cuda\// && name ~ /^(device|lib)$/)
        return 1
    return index(" " beside[from] " ", " " name " ") > 0
}
