/*
 * graph.h - short functions that add constants, placeholders and operations to
 * a TF_Graph, for tests of the client.
 */
#ifndef TFD_TESTS_SUPPORT_GRAPH_H
#define TFD_TESTS_SUPPORT_GRAPH_H

#include <tensorflow/c/c_api.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What every test of a graph has. */
struct fixture {
    TF_Graph *g;
    TF_Status *st;
};

static inline int fixture_setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){TF_NewGraph(), TF_NewStatus()};
    *state = &f;
    return !f.g || !f.st;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *f = *state;

    TF_DeleteGraph(f->g);
    TF_DeleteStatus(f->st);
    return 0;
}

static inline void expect(struct fixture *f, TF_Code code, const char *part)
{
    if (TF_GetCode(f->st) != code || !strstr(TF_Message(f->st), part))
        fail_msg("expected %d with '%s', got %d: %s", code, part,
                 TF_GetCode(f->st), TF_Message(f->st));
}

static inline TF_Tensor *floats(const float *values, const int64_t *dims,
                                int rank)
{
    size_t count = 1;
    TF_Tensor *t;

    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    t = TF_AllocateTensor(TF_FLOAT, dims, rank, count * sizeof(float));
    if (t && count)
        memcpy(TF_TensorData(t), values, count * sizeof(float));
    return t;
}

static inline TF_Output constant(struct fixture *f, const char *name,
                                 const float *values, const int64_t *dims,
                                 int rank)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "Const", name);
    TF_Tensor *t = floats(values, dims, rank);
    TF_Output out = {NULL, 0};

    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrTensor(d, "value", t, f->st);
    out.oper = TF_FinishOperation(d, f->st);
    TF_DeleteTensor(t);
    return out;
}

static inline TF_Output scalar(struct fixture *f, const char *name, float value)
{
    return constant(f, name, &value, NULL, 0);
}

static inline TF_Output placeholder(struct fixture *f, const char *name,
                                    const int64_t *dims, int rank)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "Placeholder", name);

    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrShape(d, "shape", dims, rank);
    return (TF_Output){TF_FinishOperation(d, f->st), 0};
}

static inline TF_Output op1(struct fixture *f, const char *op, const char *name,
                            TF_Output x)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, op, name);

    TF_AddInput(d, x);
    return (TF_Output){TF_FinishOperation(d, f->st), 0};
}

static inline TF_Output op2(struct fixture *f, const char *op, const char *name,
                            TF_Output x, TF_Output y)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, op, name);

    TF_AddInput(d, x);
    TF_AddInput(d, y);
    return (TF_Output){TF_FinishOperation(d, f->st), 0};
}

/* What y is where x is fed, in a session of its own. */
static inline float run_scalar(struct fixture *f, TF_Output y, TF_Output x,
                               float at)
{
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Session *s = TF_NewSession(f->g, o, f->st);
    TF_Tensor *in = floats(&at, NULL, 0), *out = NULL;
    float value;

    TF_SessionRun(s, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, f->st);
    expect(f, TF_OK, "");
    value = *(float *)TF_TensorData(out);
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
    TF_DeleteSession(s, f->st);
    TF_DeleteSessionOptions(o);
    return value;
}

#endif
