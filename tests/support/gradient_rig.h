/*
 * gradient_rig.h - a gradient against differences of the function itself.
 *
 * A case is an operation and its inputs, in double:
 *
 *     p23     fed, [2,3], positive values     s23    fed, any sign, not near 0
 *     u23     as s23, but no shape is known
 *     [1,-1]  constant, int32 vector          5      constant, int32 scalar
 *     b23     constant, bool, [2,3]           o23    one-hot rows, constant
 *     t22     constant, int32, [2,2]: 1, 0, 1, 0
 *     m21:0,2 constant, int32, [2,1]
 *     i23     fed, between -1 and 1           a23     fed, above 1
 *
 * What is derived is the sum of all outputs, each element with its own weight,
 * by each fed input.  Who includes it first defines _GNU_SOURCE, for
 * strtok_r().
 */
#ifndef TFD_TESTS_SUPPORT_GRADIENT_RIG_H
#define TFD_TESTS_SUPPORT_GRADIENT_RIG_H

#include "tests/support/graph.h"

#include "client/c_api/op_desc.h"
#include "common/graph/deprecated.h"

#include <math.h>
#include <stdlib.h>

#define EPSILON 1e-5
#define TOLERANCE 1e-6
#define INPUTS_MAX 5
#define ELEMENTS_MAX 64

struct gradient_case {
    const char *op;
    const char *inputs;
    const char *attrs; /* "name=i1" (int), "f0.1" (float), "b1" (bool), "t1"
                          (type), "sa", "l1121" (list of digits) */
};

/* Outputs that are no function of the inputs as far as derivatives go. */
static inline int derived_outputs(const struct gradient_case *c, int count)
{
    return strstr(c->op, "CrossEntropy") || strstr(c->op, "TopK") ||
                   strstr(c->op, "WithArgmax")
               ? 1
               : count;
}

/* ---- Building a case ----------------------------------------------------- */

struct built {
    struct fixture *f;
    TF_Output in[INPUTS_MAX]; /* of the operation */
    int in_count;
    TF_Output fed[INPUTS_MAX];
    TF_Tensor *value[INPUTS_MAX];
    int fed_count;
    TF_Output loss;
    TF_Output gradient[INPUTS_MAX];
};

/* Numbers that repeat for nobody: steps of the golden ratio. */
static inline double number(char kind, int i)
{
    double x = fmod(0.618033988749895 * (i + 1), 1.0);

    if (kind == 'i')
        return (i % 2 ? 0.9 : -0.9) * x;
    if (kind == 'a')
        return 1.2 + x;
    return kind == 'p' ? 0.4 + 1.5 * x : (i % 2 ? 1 : -1) * (0.25 + 1.25 * x);
}

static inline int read_shape(const char *text, int64_t *dims)
{
    int rank = 0;

    for (; text[rank] >= '0' && text[rank] <= '9'; rank++)
        dims[rank] = text[rank] - '0';
    return rank;
}

static inline TF_Output add_const(struct built *b, TF_Tensor *take_value)
{
    char name[32];
    TF_OperationDescription *d;
    TF_Output out = {NULL, 0};

    snprintf(name, sizeof(name), "const_%d", b->in_count);
    d = TF_NewOperation(b->f->g, "Const", name);
    TF_SetAttrType(d, "dtype", TF_TensorType(take_value));
    TF_SetAttrTensor(d, "value", take_value, b->f->st);
    out.oper = TF_FinishOperation(d, b->f->st);
    TF_DeleteTensor(take_value);
    return out;
}

static inline TF_Tensor *new_tensor(TF_DataType dtype, const int64_t *dims,
                                    int rank)
{
    size_t count = 1;

    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    return TF_AllocateTensor(dtype, dims, rank, count * TF_DataTypeSize(dtype));
}

static inline TF_Output add_fed(struct built *b, char kind, const int64_t *dims,
                                int rank)
{
    TF_Tensor *t = new_tensor(TF_DOUBLE, dims, rank);
    TF_OperationDescription *d;
    char name[32];
    TF_Output out = {NULL, 0};

    for (int i = 0; i < TF_TensorElementCount(t); i++)
        ((double *)TF_TensorData(t))[i] = number(kind, i + 7 * b->fed_count);
    snprintf(name, sizeof(name), "fed_%d", b->fed_count);
    d = TF_NewOperation(b->f->g, "Placeholder", name);
    TF_SetAttrType(d, "dtype", TF_DOUBLE);
    TF_SetAttrShape(d, "shape", dims, kind == 'u' ? -1 : rank);
    out.oper = TF_FinishOperation(d, b->f->st);
    b->value[b->fed_count] = t;
    b->fed[b->fed_count++] = out;
    return out;
}

static inline TF_Output add_ints(struct built *b, const char *text)
{
    int32_t values[8];
    int64_t count = 0;
    TF_Tensor *t;
    char *end = (char *)(uintptr_t)text + 1;

    if (*text != '[') {
        values[0] = (int32_t)strtol(text, NULL, 10);
        t = new_tensor(TF_INT32, NULL, 0);
        count = 1;
    } else {
        while (*end && *end != ']') {
            values[count++] = (int32_t)strtol(end, &end, 10);
            end += *end == ',';
        }
        t = new_tensor(TF_INT32, &count, 1);
    }
    for (int64_t i = 0; i < count; i++)
        ((int32_t *)TF_TensorData(t))[i] = values[i];
    return add_const(b, t);
}

static inline TF_Output add_pattern(struct built *b, const char *text)
{
    TF_DataType dtype = *text == 'b'   ? TF_BOOL
                        : *text == 't' ? TF_INT32
                                       : TF_DOUBLE;
    int64_t dims[8];
    int rank = read_shape(text + 1, dims);
    TF_Tensor *t = new_tensor(dtype, dims, rank);

    for (int i = 0; i < TF_TensorElementCount(t); i++)
        if (dtype == TF_BOOL)
            ((uint8_t *)TF_TensorData(t))[i] = i % 3 != 0;
        else if (dtype == TF_INT32)
            ((int32_t *)TF_TensorData(t))[i] = i % 2 == 0;
        else
            ((double *)TF_TensorData(t))[i] =
                rank == 0 ||
                i % dims[rank - 1] == (i / dims[rank - 1] + 1) % dims[rank - 1];
    return add_const(b, t);
}

static inline TF_Output add_matrix(struct built *b, const char *text)
{
    int64_t dims[8];
    int rank = read_shape(text + 1, dims), count = 0;
    TF_Tensor *t = new_tensor(TF_INT32, dims, rank);
    char *end = (char *)(uintptr_t)text + rank + 1;

    while (*end && count < TF_TensorElementCount(t))
        ((int32_t *)TF_TensorData(t))[count++] =
            (int32_t)strtol(end + 1, &end, 10);
    return add_const(b, t);
}

static inline TF_Output add_input(struct built *b, const char *text)
{
    int64_t dims[8];

    if (strchr("psuia", *text))
        return add_fed(b, *text, dims, read_shape(text + 1, dims));
    if (*text == 'b' || *text == 'o' || *text == 't')
        return add_pattern(b, text);
    if (*text == 'm')
        return add_matrix(b, text);
    return add_ints(b, text);
}

static inline void set_list(TF_OperationDescription *d, const char *name,
                            const char *digits)
{
    int64_t values[8];
    int count = 0;

    for (; *digits && count < 8; digits++)
        values[count++] = *digits - '0';
    TF_SetAttrIntList(d, name, values, count);
}

static inline void set_attrs(TF_OperationDescription *d, const char *attrs)
{
    char text[80], *at = text, *one, *value;

    snprintf(text, sizeof(text), "%s", attrs);
    while ((one = strtok_r(at, ";", &at))) {
        value = strchr(one, '=');
        *value++ = '\0';
        if (*value == 'i')
            TF_SetAttrInt(d, one, strtol(value + 1, NULL, 10));
        else if (*value == 'f')
            TF_SetAttrFloat(d, one, strtof(value + 1, NULL));
        else if (*value == 'b')
            TF_SetAttrBool(d, one, 1);
        else if (*value == 't')
            TF_SetAttrType(d, one, (TF_DataType)strtol(value + 1, NULL, 10));
        else if (*value == 's')
            TF_SetAttrString(d, one, value + 1, strlen(value + 1));
        else if (*value == 'l')
            set_list(d, one, value + 1);
        else
            TF_SetAttrShape(d, one, NULL, 0);
    }
}

/* A graph of the last producer that has the op: one is older after an older one
 * has been imported into it. */
static inline void make_graph_for(struct built *b, const char *op)
{
    const struct tfd_deprecated *row = tfd_deprecated_find(tfd_str_of(op));
    /* GraphDef.versions (4) of two bytes, its producer (1). */
    char def[] = {0x22, 2, 0x08, row ? (char)(row->version - 1) : 0};
    TF_Buffer bytes = {.data = def, .length = sizeof(def)};
    TF_ImportGraphDefOptions *o;

    if (!row)
        return;
    o = TF_NewImportGraphDefOptions();
    TF_GraphImportGraphDef(b->f->g, &bytes, o, b->f->st);
    TF_DeleteImportGraphDefOptions(o);
    expect(b->f, TF_OK, "");
}

static inline TF_Operation *add_operation(struct built *b,
                                          const struct gradient_case *c)
{
    char text[80], *at = text, *one;
    TF_OperationDescription *d;

    make_graph_for(b, c->op);
    snprintf(text, sizeof(text), "%s", c->inputs);
    while ((one = strtok_r(at, " ", &at)))
        b->in[b->in_count++] = add_input(b, one);
    expect(b->f, TF_OK, "");
    d = TF_NewOperation(b->f->g, c->op, "op");
    tfd_op_desc_flat(d, b->in, b->in_count);
    set_attrs(d, c->attrs);
    return TF_FinishOperation(d, b->f->st);
}

static inline bool shape_is_known(struct built *b, TF_Output y, int64_t *dims,
                                  int64_t rank)
{
    if (rank < 0)
        return false;
    TF_GraphGetTensorShape(b->f->g, y, dims, (int)rank, b->f->st);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0)
            return false;
    return true;
}

/* Sum of output * weights over all axes; of its squares where the shape is only
 * known later. */
static inline TF_Output weigh(struct built *b, TF_Output y, int k)
{
    int64_t dims[8], rank = TF_GraphGetTensorNumDims(b->f->g, y, b->f->st);
    TF_Tensor *weights, *axes;
    char product[32], sum[32];

    snprintf(sum, sizeof(sum), "sum_%d", k);
    if (!shape_is_known(b, y, dims, rank))
        return op1(b->f, "L2Loss", sum, y);
    axes = new_tensor(TF_INT32, &rank, 1);
    weights = new_tensor(TF_DOUBLE, dims, (int)rank);
    for (int i = 0; i < TF_TensorElementCount(weights); i++)
        ((double *)TF_TensorData(weights))[i] = number('s', 3 * i + k);
    for (int i = 0; i < rank; i++)
        ((int32_t *)TF_TensorData(axes))[i] = i;
    snprintf(product, sizeof(product), "product_%d", k);
    b->in_count = 10 + 2 * k; /* names of constants */
    y = op2(b->f, "Mul", product, y, add_const(b, weights));
    b->in_count++;
    return op2(b->f, "Sum", sum, y, add_const(b, axes));
}

static inline void build(struct built *b, const struct gradient_case *c)
{
    TF_Operation *op = add_operation(b, c);
    TF_Output sums[8];
    TF_OperationDescription *d;
    int outputs;

    if (!op)
        fail_msg("%s(%s): %s", c->op, c->inputs, TF_Message(b->f->st));
    outputs = derived_outputs(c, TF_OperationNumOutputs(op));
    for (int i = 0; i < outputs; i++)
        sums[i] = weigh(b, (TF_Output){op, i}, i);
    d = TF_NewOperation(b->f->g, "AddN", "loss");
    TF_AddInputList(d, sums, outputs);
    b->loss = (TF_Output){TF_FinishOperation(d, b->f->st), 0};
    expect(b->f, TF_OK, "");
    TF_AddGradients(b->f->g, &b->loss, 1, b->fed, b->fed_count, NULL, b->f->st,
                    b->gradient);
    if (TF_GetCode(b->f->st) != TF_OK)
        fail_msg("%s(%s): %s", c->op, c->inputs, TF_Message(b->f->st));
}

/* ---- Checking a case ----------------------------------------------------- */

static inline TF_Tensor *fetch(struct built *b, TF_Session *s, TF_Output y)
{
    TF_Tensor *out = NULL;

    TF_SessionRun(s, NULL, b->fed, b->value, b->fed_count, &y, &out, 1, NULL, 0,
                  NULL, b->f->st);
    return out;
}

static inline double loss_at(struct built *b, TF_Session *s, double *element,
                             double x)
{
    double before = *element, loss;
    TF_Tensor *t;

    *element = x;
    t = fetch(b, s, b->loss);
    expect(b->f, TF_OK, "");
    loss = *(double *)TF_TensorData(t);
    TF_DeleteTensor(t);
    *element = before;
    return loss;
}

static inline void check_element(struct built *b, TF_Session *s,
                                 const struct gradient_case *c, int input,
                                 int i, double gradient)
{
    double *element = (double *)TF_TensorData(b->value[input]) + i;
    double difference = (loss_at(b, s, element, *element + EPSILON) -
                         loss_at(b, s, element, *element - EPSILON)) /
                        (2 * EPSILON);

    if (fabs(difference - gradient) > TOLERANCE * (1 + fabs(difference)))
        fail_msg("%s(%s): by input %d[%d]: %.9g, the difference is %.9g", c->op,
                 c->inputs, input, i, gradient, difference);
}

static inline void check_input(struct built *b, TF_Session *s,
                               const struct gradient_case *c, int input)
{
    int64_t count = TF_TensorElementCount(b->value[input]);
    TF_Tensor *t = NULL;

    if (b->gradient[input].oper) {
        t = fetch(b, s, b->gradient[input]);
        if (TF_GetCode(b->f->st) != TF_OK)
            fail_msg("%s(%s): %s", c->op, c->inputs, TF_Message(b->f->st));
        assert_int_equal(TF_TensorElementCount(t), count);
    }
    for (int i = 0; i < count; i++)
        check_element(b, s, c, input, i,
                      t ? ((double *)TF_TensorData(t))[i] : 0);
    TF_DeleteTensor(t);
}

static inline void check_case(const struct gradient_case *c)
{
    struct fixture f = {TF_NewGraph(), TF_NewStatus()};
    struct built b = {.f = &f};
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Session *s;

    build(&b, c);
    s = TF_NewSession(f.g, o, f.st);
    for (int i = 0; i < b.fed_count; i++)
        check_input(&b, s, c, i);
    for (int i = 0; i < b.fed_count; i++)
        TF_DeleteTensor(b.value[i]);
    TF_DeleteSession(s, f.st);
    TF_DeleteSessionOptions(o);
    TF_DeleteGraph(f.g);
    TF_DeleteStatus(f.st);
}

#endif
