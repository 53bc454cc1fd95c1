/*
 * model.h - a model that learns y = 2x - 1 from one fixed batch, for tests of
 * what trains it.
 */
#ifndef TFD_TESTS_SUPPORT_MODEL_H
#define TFD_TESTS_SUPPORT_MODEL_H

#include "tests/support/graph.h"

#include <tfd/train.h>

#include <math.h>

struct line_model {
    TFD_Scope *scope;
    TFD_Variable *w, *b;
    TF_Output loss;
    TF_Operation *train_op;
};

static inline TF_Output vector(TFD_Scope *s, const char *name,
                               const float *values, int64_t count,
                               TF_Status *st)
{
    TF_Tensor *t = floats(values, &count, 1);
    TF_Output out = TFD_Const(s, name, t, st);

    TF_DeleteTensor(t);
    return out;
}

/* optimizer NULL: none yet. */
static inline struct line_model line_model(struct fixture *f,
                                           const char *optimizer, float rate)
{
    static const float x[] = {-1, 0, 1, 2}, y[] = {-3, -1, 1, 3};
    struct line_model m = {.scope = TFD_NewScope(f->g)};
    TFD_Scope *s = m.scope;
    int32_t axis = 0;
    TF_Output guess;

    m.w = TFD_NewVariable(s, "w", TFD_ConstFloat(s, "w/initial", 0.5f, f->st),
                          TFD_TRAINABLE, f->st);
    m.b = TFD_NewVariable(s, "b", TFD_ConstFloat(s, "b/initial", 0, f->st),
                          TFD_TRAINABLE, f->st);
    guess =
        TFD_Op2(s, "Mul", vector(s, "x", x, 4, f->st), TFD_Read(m.w), f->st);
    guess = TFD_Op2(s, "AddV2", guess, TFD_Read(m.b), f->st);
    guess = TFD_Op2(s, "SquaredDifference", guess, vector(s, "y", y, 4, f->st),
                    f->st);
    m.loss = TFD_Op2(s, "Mean", guess,
                     TFD_ConstInts(s, "axis", &axis, 1, f->st), f->st);
    TFD_Collect(s, "losses", m.loss, f->st);
    if (optimizer)
        m.train_op = TFD_Minimize(s, optimizer, rate, m.loss, f->st);
    return m;
}

/* ---- Steps of it --------------------------------------------------------- */

static inline TF_Session *open_session(struct fixture *f)
{
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Session *s = TF_NewSession(f->g, o, f->st);

    TF_DeleteSessionOptions(o);
    expect(f, TF_OK, "");
    return s;
}

static inline void run(struct fixture *f, TF_Session *s, const char *name)
{
    const TF_Operation *op = TF_GraphOperationByName(f->g, name);

    if (!op)
        fail_msg("no operation %s", name);
    TF_SessionRun(s, NULL, NULL, NULL, 0, NULL, NULL, 0, &op, 1, NULL, f->st);
    expect(f, TF_OK, "");
}

static inline double value(struct fixture *f, TF_Session *s, const char *name)
{
    TF_Output y = {TF_GraphOperationByName(f->g, name), 0};
    TF_Tensor *t = NULL;
    double x;

    if (!y.oper)
        fail_msg("no operation %s", name);
    TF_SessionRun(s, NULL, NULL, NULL, 0, &y, &t, 1, NULL, 0, NULL, f->st);
    expect(f, TF_OK, "");
    x = TF_TensorType(t) == TF_INT64 ? (double)*(int64_t *)TF_TensorData(t)
                                     : (double)*(float *)TF_TensorData(t);
    TF_DeleteTensor(t);
    return x;
}

static inline void check_near(double x, double expected)
{
    if (fabs(x - expected) > 1e-5)
        fail_msg("%.7g is not %.7g", x, expected);
}

#endif
