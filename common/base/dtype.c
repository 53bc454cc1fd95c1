/*
 * dtype.c - the tables behind the element types of tensor.h, indexed by the
 * number of the type.
 */
#include "common/base/str.h"
#include "common/base/tensor.h"

struct names {
    const char *name;
    const char *ref_name;
    const char *enum_name;
    const char *ref_enum_name;
};

#define NAMES(type, text) \
    [TFD_##type] = {text, text "_ref", "DT_" #type, "DT_" #type "_REF"}

/* TensorFlow's spelling, which is not always the enum's in lower case. */
static const struct names names[TFD_DTYPE_END] = {
    NAMES(FLOAT, "float"),     NAMES(DOUBLE, "double"),
    NAMES(INT32, "int32"),     NAMES(UINT8, "uint8"),
    NAMES(INT16, "int16"),     NAMES(INT8, "int8"),
    NAMES(STRING, "string"),   NAMES(COMPLEX64, "complex64"),
    NAMES(INT64, "int64"),     NAMES(BOOL, "bool"),
    NAMES(QINT8, "qint8"),     NAMES(QUINT8, "quint8"),
    NAMES(QINT32, "qint32"),   NAMES(BFLOAT16, "bfloat16"),
    NAMES(QINT16, "qint16"),   NAMES(QUINT16, "quint16"),
    NAMES(UINT16, "uint16"),   NAMES(COMPLEX128, "complex128"),
    NAMES(HALF, "half"),       NAMES(RESOURCE, "resource"),
    NAMES(VARIANT, "variant"), NAMES(UINT32, "uint32"),
    NAMES(UINT64, "uint64"),
};

static const size_t sizes[TFD_DTYPE_END] = {
#define X(name, number, ctype) [number] = sizeof(ctype),
    TFD_POD_DTYPES(X)
#undef X
        [TFD_STRING] = sizeof(struct tfd_tstring),
    [TFD_RESOURCE] = sizeof(void *),
    [TFD_VARIANT] = sizeof(void *),
};

/* These three are asked for every output of every kernel: one load each. */
bool tfd_dtype_valid(int number)
{
    return number > 0 && number < TFD_DTYPE_END && sizes[number];
}

size_t tfd_dtype_size(enum tfd_dtype t)
{
    return (unsigned)t < TFD_DTYPE_END ? sizes[t] : 0;
}

bool tfd_dtype_is_pod(enum tfd_dtype t)
{
#define X(name, number, ctype) | UINT32_C(1) << (number)
    const uint32_t pods = UINT32_C(0) TFD_POD_DTYPES(X);
#undef X

    return (unsigned)t < TFD_DTYPE_END && (pods >> t & 1);
}

bool tfd_dtype_is_ref(int number)
{
    return number > TFD_REF && tfd_dtype_valid(number - TFD_REF);
}

enum tfd_dtype tfd_dtype_base(int number)
{
    if (tfd_dtype_is_ref(number))
        return (enum tfd_dtype)(number - TFD_REF);
    return tfd_dtype_valid(number) ? (enum tfd_dtype)number : TFD_DTYPE_INVALID;
}

const char *tfd_dtype_name(int number)
{
    const struct names *n = &names[tfd_dtype_base(number)];

    if (!n->name)
        return "invalid";
    return tfd_dtype_is_ref(number) ? n->ref_name : n->name;
}

const char *tfd_dtype_enum_name(int number)
{
    const struct names *n = &names[tfd_dtype_base(number)];

    if (!n->name)
        return "DT_INVALID";
    return tfd_dtype_is_ref(number) ? n->ref_enum_name : n->enum_name;
}
