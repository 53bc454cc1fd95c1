/*
 * matmul.c - TensorFlow's C API on libtfd: y = a x b on a server, or in this
 * process when no target is given.
 *
 *     matmul [tfd://HOST:PORT | grpc://HOST:PORT]
 */
#include <tensorflow/c/c_api.h>

#include <stdio.h>
#include <string.h>

static TF_Output constant(TF_Graph *g, const char *name, const float *values,
                          const int64_t dims[2], TF_Status *st)
{
    size_t size = (size_t)(dims[0] * dims[1]) * sizeof(float);
    TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, 2, size);
    TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
    TF_Output out = {NULL, 0};

    memcpy(TF_TensorData(t), values, size);
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrTensor(d, "value", t, st);
    out.oper = TF_FinishOperation(d, st);
    TF_DeleteTensor(t);
    return out;
}

int main(int argc, char **argv)
{
    const int64_t a_dims[] = {2, 3}, b_dims[] = {3, 1};
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 10, 100};
    TF_Status *st = TF_NewStatus();
    TF_Graph *g = TF_NewGraph();
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Output in[] = {constant(g, "a", a, a_dims, st),
                      constant(g, "b", b, b_dims, st)};
    TF_OperationDescription *d = TF_NewOperation(g, "MatMul", "y");
    TF_Tensor *result = NULL;
    TF_Session *session;
    TF_Output y = {NULL, 0};

    TF_AddInput(d, in[0]);
    TF_AddInput(d, in[1]);
    y.oper = TF_FinishOperation(d, st);
    if (argc > 1)
        TF_SetTarget(options, argv[1]);
    session = TF_NewSession(g, options, st);
    if (TF_GetCode(st) == TF_OK)
        TF_SessionRun(session, NULL, NULL, NULL, 0, &y, &result, 1, NULL, 0,
                      NULL, st);
    if (TF_GetCode(st) != TF_OK) {
        fprintf(stderr, "matmul: %s\n", TF_Message(st));
        return 1;
    }
    for (int i = 0; i < 2; i++)
        printf("%g\n", (double)((float *)TF_TensorData(result))[i]);
    TF_DeleteTensor(result);
    TF_CloseSession(session, st);
    TF_DeleteSession(session, st);
    TF_DeleteSessionOptions(options);
    TF_DeleteGraph(g);
    TF_DeleteStatus(st);
    return 0;
}
