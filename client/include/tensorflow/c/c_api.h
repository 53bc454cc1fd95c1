/*
 * c_api.h - TensorFlow's C API, as far as libtfd has it: graphs, sessions,
 * gradients and servers, under TensorFlow's names and with its meaning, so that
 * a program written for libtensorflow links against libtfd instead.
 *
 * Ownership: what a TF_New... function returns is given back to the
 * TF_Delete... function of that name; TF_Operation pointers belong to their
 * graph and stay valid as long as it.  Strings that are returned belong to the
 * object asked.
 *
 * Errors: functions that can fail set a TF_Status, the last argument mostly,
 * and overwrite what was in it.  Functions without one ignore bad arguments or
 * return NULL, 0 or -1.
 *
 * Threads: a status, buffer, tensor, description or options object belongs to
 * one thread at a time.  A graph may be read and extended, and a session run,
 * by several threads.
 *
 * Compiles as C99 and C++.
 */
#ifndef TENSORFLOW_C_C_API_H_
#define TENSORFLOW_C_C_API_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_CAPI_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* The TensorFlow release whose graphs and behaviour are followed. */
TF_CAPI_EXPORT extern const char *TF_Version(void);

/* ---- Status -------------------------------------------------------------- */

typedef struct TF_Status TF_Status;

/* The canonical codes of RPCs, number for number. */
typedef enum TF_Code {
    TF_OK = 0,
    TF_CANCELLED = 1,
    TF_UNKNOWN = 2,
    TF_INVALID_ARGUMENT = 3,
    TF_DEADLINE_EXCEEDED = 4,
    TF_NOT_FOUND = 5,
    TF_ALREADY_EXISTS = 6,
    TF_PERMISSION_DENIED = 7,
    TF_RESOURCE_EXHAUSTED = 8,
    TF_FAILED_PRECONDITION = 9,
    TF_ABORTED = 10,
    TF_OUT_OF_RANGE = 11,
    TF_UNIMPLEMENTED = 12,
    TF_INTERNAL = 13,
    TF_UNAVAILABLE = 14,
    TF_DATA_LOSS = 15,
    TF_UNAUTHENTICATED = 16
} TF_Code;

TF_CAPI_EXPORT extern TF_Status *TF_NewStatus(void);
TF_CAPI_EXPORT extern void TF_DeleteStatus(TF_Status *s);
/* Text beyond 2 kB is cut. */
TF_CAPI_EXPORT extern void TF_SetStatus(TF_Status *s, TF_Code code,
                                        const char *message);
TF_CAPI_EXPORT extern TF_Code TF_GetCode(const TF_Status *s);
/* "" while the code is TF_OK. */
TF_CAPI_EXPORT extern const char *TF_Message(const TF_Status *s);

/* ---- Buffers: serialised protobuf messages ------------------------------- */

typedef struct TF_Buffer {
    const void *data;
    size_t length;
    /* Called by TF_DeleteBuffer() when it is not NULL. */
    void (*data_deallocator)(void *data, size_t length);
} TF_Buffer;

/* A copy of the bytes. */
TF_CAPI_EXPORT extern TF_Buffer *TF_NewBufferFromString(const void *proto,
                                                        size_t length);
/* Empty; the caller may set the fields. */
TF_CAPI_EXPORT extern TF_Buffer *TF_NewBuffer(void);
TF_CAPI_EXPORT extern void TF_DeleteBuffer(TF_Buffer *b);
TF_CAPI_EXPORT extern TF_Buffer TF_GetBuffer(TF_Buffer *b);

/* ---- Element types ------------------------------------------------------- */

typedef enum TF_DataType {
    TF_FLOAT = 1,
    TF_DOUBLE = 2,
    TF_INT32 = 3,
    TF_UINT8 = 4,
    TF_INT16 = 5,
    TF_INT8 = 6,
    TF_STRING = 7,
    TF_COMPLEX64 = 8,
    TF_COMPLEX = 8, /* the older name */
    TF_INT64 = 9,
    TF_BOOL = 10,
    TF_QINT8 = 11,
    TF_QUINT8 = 12,
    TF_QINT32 = 13,
    TF_BFLOAT16 = 14,
    TF_QINT16 = 15,
    TF_QUINT16 = 16,
    TF_UINT16 = 17,
    TF_COMPLEX128 = 18,
    TF_HALF = 19,
    TF_RESOURCE = 20,
    TF_VARIANT = 21,
    TF_UINT32 = 22,
    TF_UINT64 = 23
} TF_DataType;

/* Bytes of one element; 0 for types whose elements have no fixed size (strings,
 * resources, variants) and for numbers that are no type, references among
 * them.  A string takes sizeof(TF_TString) bytes of a tensor all the same. */
TF_CAPI_EXPORT extern size_t TF_DataTypeSize(TF_DataType dtype);

/* ---- Strings: elements of TF_STRING tensors ------------------------------ */

/* Opaque; use the functions below, which keep short strings within it.  All
 * zero is the empty string.  A program that includes TensorFlow's own header in
 * place of this one finds the layout it knows. */
typedef struct TF_TString {
    size_t opaque[3];
} TF_TString;

TF_CAPI_EXPORT extern void TF_StringInit(TF_TString *t);
TF_CAPI_EXPORT extern void TF_StringCopy(TF_TString *t, const char *src,
                                         size_t size);
/* Does not copy: src must outlive t. */
TF_CAPI_EXPORT extern void TF_StringAssignView(TF_TString *t, const char *src,
                                               size_t size);
TF_CAPI_EXPORT extern const char *TF_StringGetDataPointer(const TF_TString *t);
TF_CAPI_EXPORT extern size_t TF_StringGetSize(const TF_TString *t);
TF_CAPI_EXPORT extern size_t TF_StringGetCapacity(const TF_TString *t);
TF_CAPI_EXPORT extern void TF_StringDealloc(TF_TString *t);

/* ---- Tensors ------------------------------------------------------------- */

typedef struct TF_Tensor TF_Tensor;

/* A tensor over the caller's memory.  deallocator (may be NULL) is called when
 * nobody uses the memory any more, which may be later than TF_DeleteTensor()
 * and on another thread; at once if the data had to be copied because it is not
 * aligned to 64 bytes.  NULL when the shape is bad or length is too small; the
 * memory then stays the caller's. */
TF_CAPI_EXPORT extern TF_Tensor *
TF_NewTensor(TF_DataType dtype, const int64_t *dims, int num_dims, void *data,
             size_t length,
             void (*deallocator)(void *data, size_t length, void *arg),
             void *deallocator_arg);
/* Contents undefined; strings are empty. */
TF_CAPI_EXPORT extern TF_Tensor *TF_AllocateTensor(TF_DataType dtype,
                                                   const int64_t *dims,
                                                   int num_dims, size_t length);
/* A tensor with the data of this one if nobody else has it, else NULL. */
TF_CAPI_EXPORT extern TF_Tensor *TF_TensorMaybeMove(TF_Tensor *tensor);
TF_CAPI_EXPORT extern void TF_DeleteTensor(TF_Tensor *tensor);
TF_CAPI_EXPORT extern TF_DataType TF_TensorType(const TF_Tensor *tensor);
TF_CAPI_EXPORT extern int TF_NumDims(const TF_Tensor *tensor);
TF_CAPI_EXPORT extern int64_t TF_Dim(const TF_Tensor *tensor, int index);
TF_CAPI_EXPORT extern size_t TF_TensorByteSize(const TF_Tensor *tensor);
TF_CAPI_EXPORT extern void *TF_TensorData(const TF_Tensor *tensor);
TF_CAPI_EXPORT extern int64_t TF_TensorElementCount(const TF_Tensor *tensor);

/* ---- Graphs -------------------------------------------------------------- */

typedef struct TF_Graph TF_Graph;
typedef struct TF_OperationDescription TF_OperationDescription;
typedef struct TF_Operation TF_Operation;

/* One input, one output of an operation. */
typedef struct TF_Input {
    TF_Operation *oper;
    int index;
} TF_Input;

typedef struct TF_Output {
    TF_Operation *oper;
    int index;
} TF_Output;

TF_CAPI_EXPORT extern TF_Graph *TF_NewGraph(void);
/* Sessions on the graph keep it alive until they are deleted. */
TF_CAPI_EXPORT extern void TF_DeleteGraph(TF_Graph *graph);

/* What is known of an output's shape: dims, -1 where one is unknown, and
 * num_dims -1 where the rank is.  Set adds to what is known and fails where it
 * contradicts. */
TF_CAPI_EXPORT extern void
TF_GraphSetTensorShape(TF_Graph *graph, TF_Output output, const int64_t *dims,
                       const int num_dims, TF_Status *status);
TF_CAPI_EXPORT extern int
TF_GraphGetTensorNumDims(TF_Graph *graph, TF_Output output, TF_Status *status);
TF_CAPI_EXPORT extern void TF_GraphGetTensorShape(TF_Graph *graph,
                                                  TF_Output output,
                                                  int64_t *dims, int num_dims,
                                                  TF_Status *status);

TF_CAPI_EXPORT extern TF_Operation *TF_GraphOperationByName(TF_Graph *graph,
                                                            const char *name);
/* Begins with *pos = 0; NULL after the last one. */
TF_CAPI_EXPORT extern TF_Operation *TF_GraphNextOperation(TF_Graph *graph,
                                                          size_t *pos);
/* A GraphDef; output must be empty and is the caller's. */
TF_CAPI_EXPORT extern void TF_GraphToGraphDef(TF_Graph *graph,
                                              TF_Buffer *output_graph_def,
                                              TF_Status *status);
/* An OpDef. */
TF_CAPI_EXPORT extern void TF_GraphGetOpDef(TF_Graph *graph,
                                            const char *op_name,
                                            TF_Buffer *output_op_def,
                                            TF_Status *status);
/* A VersionDef. */
TF_CAPI_EXPORT extern void TF_GraphVersions(TF_Graph *graph,
                                            TF_Buffer *output_version_def,
                                            TF_Status *status);
/* An OpList of all operations; the caller's. */
TF_CAPI_EXPORT extern TF_Buffer *TF_GetAllOpList(void);

/* ---- Building an operation ----------------------------------------------- */

/* Describes a new operation; what is wrong is said by TF_FinishOperation(),
 * which frees the description in any case and returns NULL on failure. */
TF_CAPI_EXPORT extern TF_OperationDescription *
TF_NewOperation(TF_Graph *graph, const char *op_type, const char *oper_name);
TF_CAPI_EXPORT extern TF_Operation *
TF_FinishOperation(TF_OperationDescription *desc, TF_Status *status);

TF_CAPI_EXPORT extern void TF_SetDevice(TF_OperationDescription *desc,
                                        const char *device);
/* In the order of the definition: one call for each argument. */
TF_CAPI_EXPORT extern void TF_AddInput(TF_OperationDescription *desc,
                                       TF_Output input);
TF_CAPI_EXPORT extern void TF_AddInputList(TF_OperationDescription *desc,
                                           const TF_Output *inputs,
                                           int num_inputs);
TF_CAPI_EXPORT extern void TF_AddControlInput(TF_OperationDescription *desc,
                                              TF_Operation *input);
TF_CAPI_EXPORT extern void TF_ColocateWith(TF_OperationDescription *desc,
                                           TF_Operation *op);

/* A later value of an attribute replaces an earlier one. */
TF_CAPI_EXPORT extern void TF_SetAttrString(TF_OperationDescription *desc,
                                            const char *attr_name,
                                            const void *value, size_t length);
TF_CAPI_EXPORT extern void TF_SetAttrStringList(TF_OperationDescription *desc,
                                                const char *attr_name,
                                                const void *const *values,
                                                const size_t *lengths,
                                                int num_values);
TF_CAPI_EXPORT extern void TF_SetAttrInt(TF_OperationDescription *desc,
                                         const char *attr_name, int64_t value);
TF_CAPI_EXPORT extern void TF_SetAttrIntList(TF_OperationDescription *desc,
                                             const char *attr_name,
                                             const int64_t *values,
                                             int num_values);
TF_CAPI_EXPORT extern void TF_SetAttrFloat(TF_OperationDescription *desc,
                                           const char *attr_name, float value);
TF_CAPI_EXPORT extern void TF_SetAttrFloatList(TF_OperationDescription *desc,
                                               const char *attr_name,
                                               const float *values,
                                               int num_values);
TF_CAPI_EXPORT extern void TF_SetAttrBool(TF_OperationDescription *desc,
                                          const char *attr_name,
                                          unsigned char value);
TF_CAPI_EXPORT extern void TF_SetAttrBoolList(TF_OperationDescription *desc,
                                              const char *attr_name,
                                              const unsigned char *values,
                                              int num_values);
TF_CAPI_EXPORT extern void TF_SetAttrType(TF_OperationDescription *desc,
                                          const char *attr_name,
                                          TF_DataType value);
TF_CAPI_EXPORT extern void TF_SetAttrTypeList(TF_OperationDescription *desc,
                                              const char *attr_name,
                                              const TF_DataType *values,
                                              int num_values);
/* num_dims -1: unknown rank; a dimension of -1 is unknown. */
TF_CAPI_EXPORT extern void TF_SetAttrShape(TF_OperationDescription *desc,
                                           const char *attr_name,
                                           const int64_t *dims, int num_dims);
TF_CAPI_EXPORT extern void TF_SetAttrShapeList(TF_OperationDescription *desc,
                                               const char *attr_name,
                                               const int64_t *const *dims,
                                               const int *num_dims,
                                               int num_shapes);
TF_CAPI_EXPORT extern void TF_SetAttrTensor(TF_OperationDescription *desc,
                                            const char *attr_name,
                                            TF_Tensor *value,
                                            TF_Status *status);
/* proto is an AttrValue. */
TF_CAPI_EXPORT extern void
TF_SetAttrValueProto(TF_OperationDescription *desc, const char *attr_name,
                     const void *proto, size_t proto_len, TF_Status *status);

/* ---- Asking an operation ------------------------------------------------- */

TF_CAPI_EXPORT extern const char *TF_OperationName(TF_Operation *oper);
TF_CAPI_EXPORT extern const char *TF_OperationOpType(TF_Operation *oper);
TF_CAPI_EXPORT extern const char *TF_OperationDevice(TF_Operation *oper);

TF_CAPI_EXPORT extern int TF_OperationNumOutputs(TF_Operation *oper);
/* The type without its mark where the output is a reference; 0 for an output
 * that there is not. */
TF_CAPI_EXPORT extern TF_DataType TF_OperationOutputType(TF_Output oper_out);
TF_CAPI_EXPORT extern int TF_OperationOutputListLength(TF_Operation *oper,
                                                       const char *arg_name,
                                                       TF_Status *status);
TF_CAPI_EXPORT extern int TF_OperationNumInputs(TF_Operation *oper);
TF_CAPI_EXPORT extern TF_DataType TF_OperationInputType(TF_Input oper_in);
TF_CAPI_EXPORT extern int TF_OperationInputListLength(TF_Operation *oper,
                                                      const char *arg_name,
                                                      TF_Status *status);
/* Where the input comes from. */
TF_CAPI_EXPORT extern TF_Output TF_OperationInput(TF_Input oper_in);
TF_CAPI_EXPORT extern void
TF_OperationAllInputs(TF_Operation *oper, TF_Output *inputs, int max_inputs);
/* Who reads it: a search through the graph. */
TF_CAPI_EXPORT extern int TF_OperationOutputNumConsumers(TF_Output oper_out);
TF_CAPI_EXPORT extern int TF_OperationOutputConsumers(TF_Output oper_out,
                                                      TF_Input *consumers,
                                                      int max_consumers);
TF_CAPI_EXPORT extern int TF_OperationNumControlInputs(TF_Operation *oper);
TF_CAPI_EXPORT extern int
TF_OperationGetControlInputs(TF_Operation *oper, TF_Operation **control_inputs,
                             int max_control_inputs);
TF_CAPI_EXPORT extern int TF_OperationNumControlOutputs(TF_Operation *oper);
TF_CAPI_EXPORT extern int
TF_OperationGetControlOutputs(TF_Operation *oper,
                              TF_Operation **control_outputs,
                              int max_control_outputs);

/* The values of attributes; defaults count.  Lists: at most max_values are
 * written; TF_OperationGetAttrMetadata() tells how many there are. */
typedef enum TF_AttrType {
    TF_ATTR_STRING = 0,
    TF_ATTR_INT = 1,
    TF_ATTR_FLOAT = 2,
    TF_ATTR_BOOL = 3,
    TF_ATTR_TYPE = 4,
    TF_ATTR_SHAPE = 5,
    TF_ATTR_TENSOR = 6,
    TF_ATTR_PLACEHOLDER = 7,
    TF_ATTR_FUNC = 8
} TF_AttrType;

typedef struct TF_AttrMetadata {
    unsigned char is_list;
    int64_t list_size; /* -1 when it is no list */
    TF_AttrType type;
    /* STRING: bytes (of all elements).  SHAPE: dimensions (of all elements);
     * -1 where one shape's rank is unknown.  Else -1. */
    int64_t total_size;
} TF_AttrMetadata;

TF_CAPI_EXPORT extern TF_AttrMetadata
TF_OperationGetAttrMetadata(TF_Operation *oper, const char *attr_name,
                            TF_Status *status);
TF_CAPI_EXPORT extern void
TF_OperationGetAttrString(TF_Operation *oper, const char *attr_name,
                          void *value, size_t max_length, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrInt(TF_Operation *oper,
                                                  const char *attr_name,
                                                  int64_t *value,
                                                  TF_Status *status);
TF_CAPI_EXPORT extern void
TF_OperationGetAttrIntList(TF_Operation *oper, const char *attr_name,
                           int64_t *values, int max_values, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrFloat(TF_Operation *oper,
                                                    const char *attr_name,
                                                    float *value,
                                                    TF_Status *status);
TF_CAPI_EXPORT extern void
TF_OperationGetAttrFloatList(TF_Operation *oper, const char *attr_name,
                             float *values, int max_values, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrBool(TF_Operation *oper,
                                                   const char *attr_name,
                                                   unsigned char *value,
                                                   TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrType(TF_Operation *oper,
                                                   const char *attr_name,
                                                   TF_DataType *value,
                                                   TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrTypeList(TF_Operation *oper,
                                                       const char *attr_name,
                                                       TF_DataType *values,
                                                       int max_values,
                                                       TF_Status *status);
TF_CAPI_EXPORT extern void
TF_OperationGetAttrShape(TF_Operation *oper, const char *attr_name,
                         int64_t *value, int num_dims, TF_Status *status);
/* The tensor is the caller's. */
TF_CAPI_EXPORT extern void TF_OperationGetAttrTensor(TF_Operation *oper,
                                                     const char *attr_name,
                                                     TF_Tensor **value,
                                                     TF_Status *status);
/* An AttrValue. */
TF_CAPI_EXPORT extern void
TF_OperationGetAttrValueProto(TF_Operation *oper, const char *attr_name,
                              TF_Buffer *output_attr_value, TF_Status *status);
/* A NodeDef. */
TF_CAPI_EXPORT extern void TF_OperationToNodeDef(TF_Operation *oper,
                                                 TF_Buffer *output_node_def,
                                                 TF_Status *status);

/* ---- Import of a GraphDef ------------------------------------------------ */

typedef struct TF_ImportGraphDefOptions TF_ImportGraphDefOptions;
typedef struct TF_ImportGraphDefResults TF_ImportGraphDefResults;

TF_CAPI_EXPORT extern TF_ImportGraphDefOptions *
TF_NewImportGraphDefOptions(void);
TF_CAPI_EXPORT extern void
TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions *opts);
/* Names become prefix/name. */
TF_CAPI_EXPORT extern void
TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions *opts,
                                  const char *prefix);
/* Inputs that name src_name:src_index read dst of the graph instead. */
TF_CAPI_EXPORT extern void
TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions *opts,
                                        const char *src_name, int src_index,
                                        TF_Output dst);
/* Imported nodes without inputs wait for oper. */
TF_CAPI_EXPORT extern void
TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions *opts,
                                             TF_Operation *oper);
/* Outputs and operations of the GraphDef (names without prefix) that the
 * results or return_outputs shall name, in this order. */
TF_CAPI_EXPORT extern void
TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions *opts,
                                        const char *oper_name, int index);
TF_CAPI_EXPORT extern int
TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions *opts);
TF_CAPI_EXPORT extern void
TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions *opts,
                                           const char *oper_name);
TF_CAPI_EXPORT extern int TF_ImportGraphDefOptionsNumReturnOperations(
    const TF_ImportGraphDefOptions *opts);

/* On failure the graph is as it was. */
TF_CAPI_EXPORT extern void
TF_GraphImportGraphDef(TF_Graph *graph, const TF_Buffer *graph_def,
                       const TF_ImportGraphDefOptions *options,
                       TF_Status *status);
TF_CAPI_EXPORT extern void TF_GraphImportGraphDefWithReturnOutputs(
    TF_Graph *graph, const TF_Buffer *graph_def,
    const TF_ImportGraphDefOptions *options, TF_Output *return_outputs,
    int num_return_outputs, TF_Status *status);
TF_CAPI_EXPORT extern TF_ImportGraphDefResults *
TF_GraphImportGraphDefWithResults(TF_Graph *graph, const TF_Buffer *graph_def,
                                  const TF_ImportGraphDefOptions *options,
                                  TF_Status *status);
/* The arrays belong to the results. */
TF_CAPI_EXPORT extern void
TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults *results,
                                      int *num_outputs, TF_Output **outputs);
TF_CAPI_EXPORT extern void
TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults *results,
                                         int *num_opers, TF_Operation ***opers);
TF_CAPI_EXPORT extern void
TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults *results);

/* ---- While loops --------------------------------------------------------- */

/* A loop in the making: cond_graph makes a scalar bool of cond_inputs,
 * body_graph the next values of body_inputs.  The program adds to both graphs
 * and sets cond_output, body_outputs and name. */
typedef struct TF_WhileParams {
    const int ninputs;
    TF_Graph *const cond_graph;
    const TF_Output *const cond_inputs;
    TF_Output cond_output;
    TF_Graph *const body_graph;
    const TF_Output *const body_inputs;
    TF_Output *const body_outputs;
    const char *name; /* unique; begins the names of the operations */
} TF_WhileParams;

/* inputs: outputs of g, the variables' first values.  TF_INVALID_ARGUMENT for
 * none; then there is nothing to finish or abort. */
TF_CAPI_EXPORT extern TF_WhileParams
TF_NewWhile(TF_Graph *g, TF_Output *inputs, int ninputs, TF_Status *status);
/* Adds the loop to g; outputs, ninputs of them, are the variables' last
 * values.  Frees the params in any case, those of TF_NewWhile() that is. */
TF_CAPI_EXPORT extern void TF_FinishWhile(const TF_WhileParams *params,
                                          TF_Status *status,
                                          TF_Output *outputs);
TF_CAPI_EXPORT extern void TF_AbortWhile(const TF_WhileParams *params);

/* ---- Gradients ----------------------------------------------------------- */

/*
 * Adds operations for the derivatives of y[0] + ... + y[ny - 1] by each of x,
 * and returns them in dy; dy[i].oper is NULL where y does not depend on x[i].
 * dx (may be NULL) has the gradients that arrive at y, ones by default.  An
 * operation without a known gradient on the way is TF_NOT_FOUND, an x that no y
 * is reached from TF_INVALID_ARGUMENT.  While loops are derived, but none
 * within loops, nor conditionals in them whose values are needed.
 *
 * prefix (NULL: "gradients") begins the names of the operations; one that is
 * taken is TF_INVALID_ARGUMENT, the default is made unique.
 */
TF_CAPI_EXPORT extern void TF_AddGradients(TF_Graph *g, TF_Output *y, int ny,
                                           TF_Output *x, int nx, TF_Output *dx,
                                           TF_Status *status, TF_Output *dy);
TF_CAPI_EXPORT extern void
TF_AddGradientsWithPrefix(TF_Graph *g, const char *prefix, TF_Output *y, int ny,
                          TF_Output *x, int nx, TF_Output *dx,
                          TF_Status *status, TF_Output *dy);

/* ---- Sessions ------------------------------------------------------------ */

typedef struct TF_SessionOptions TF_SessionOptions;
typedef struct TF_Session TF_Session;

TF_CAPI_EXPORT extern TF_SessionOptions *TF_NewSessionOptions(void);
TF_CAPI_EXPORT extern void TF_DeleteSessionOptions(TF_SessionOptions *opts);
/* "" (default): in this process, sharing nothing with other sessions.
 * "tfd://host:port": a tfd server, "grpc://host:port": one that speaks gRPC. */
TF_CAPI_EXPORT extern void TF_SetTarget(TF_SessionOptions *options,
                                        const char *target);
/* proto is a ConfigProto. */
TF_CAPI_EXPORT extern void TF_SetConfig(TF_SessionOptions *options,
                                        const void *proto, size_t proto_len,
                                        TF_Status *status);

/* NULL on failure.  The target is contacted by the first run, which waits for
 * it for operation_timeout_in_ms of the ConfigProto, or 90 s. */
TF_CAPI_EXPORT extern TF_Session *TF_NewSession(TF_Graph *graph,
                                                const TF_SessionOptions *opts,
                                                TF_Status *status);
/* Running steps end with TF_CANCELLED; later runs fail. */
TF_CAPI_EXPORT extern void TF_CloseSession(TF_Session *session,
                                           TF_Status *status);
/* No run may be under way. */
TF_CAPI_EXPORT extern void TF_DeleteSession(TF_Session *session,
                                            TF_Status *status);

/*
 * Runs what outputs and target_opers need, with inputs replaced by
 * input_values.  Operations that the graph has gained since the last run are
 * sent first.  On success output_values are the caller's, on failure all NULL.
 * run_options (NULL: none) is a RunOptions of which timeout_in_ms counts;
 * run_metadata must be NULL or empty, and stays so.
 */
TF_CAPI_EXPORT extern void
TF_SessionRun(TF_Session *session, const TF_Buffer *run_options,
              const TF_Output *inputs, TF_Tensor *const *input_values,
              int ninputs, const TF_Output *outputs, TF_Tensor **output_values,
              int noutputs, const TF_Operation *const *target_opers,
              int ntargets, TF_Buffer *run_metadata, TF_Status *status);

/* ---- Servers ------------------------------------------------------------- */

typedef struct TF_Server TF_Server;

/* proto is a ServerDef; one without cluster makes a local server.  NULL on
 * failure. */
TF_CAPI_EXPORT extern TF_Server *
TF_NewServer(const void *proto, size_t proto_len, TF_Status *status);
TF_CAPI_EXPORT extern void TF_ServerStart(TF_Server *server, TF_Status *status);
/* Lets running steps end, then closes the port. */
TF_CAPI_EXPORT extern void TF_ServerStop(TF_Server *server, TF_Status *status);
/* Waits until it has been stopped. */
TF_CAPI_EXPORT extern void TF_ServerJoin(TF_Server *server, TF_Status *status);
/* "grpc://localhost:2222" */
TF_CAPI_EXPORT extern const char *TF_ServerTarget(TF_Server *server);
/* Stops it if it runs. */
TF_CAPI_EXPORT extern void TF_DeleteServer(TF_Server *server);

#ifdef __cplusplus
}
#endif

#endif
