/*
 * graph_rig.h - a graph of a test's own ops, made node by node, for tests of
 * what stands below the runtime.
 */
#ifndef TFD_TESTS_SUPPORT_GRAPH_RIG_H
#define TFD_TESTS_SUPPORT_GRAPH_RIG_H

#include "common/graph/graph.h"
#include "common/base/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tfd_op_set set;
static struct tfd_graph *g;

static inline void open_graph(const struct tfd_opdef *defs, size_t count)
{
    tfd_op_set_init(&set);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tfd_op_set_add(&set, &defs[i], NULL), TFD_OK);
    g = tfd_graph_new(&set, NULL);
    assert_non_null(g);
}

static inline void close_graph(void)
{
    tfd_graph_unref(g);
    tfd_op_set_deinit(&set);
}

static inline enum tfd_code try_add(const char *name, const char *op,
                                    const struct tfd_edge *in, int in_count,
                                    const struct tfd_attr *attrs,
                                    int attr_count, struct tfd_node **out,
                                    struct tfd_status *st)
{
    struct tfd_node_spec spec = {.name = tfd_str_of(name),
                                 .op = tfd_str_of(op),
                                 .device = TFD_STR_EMPTY,
                                 .in = in,
                                 .in_count = in_count,
                                 .attrs = attrs,
                                 .attr_count = attr_count};

    return tfd_graph_add(g, &spec, out, st);
}

static inline struct tfd_node *add_with(const char *name, const char *op,
                                        const struct tfd_edge *in, int in_count,
                                        const struct tfd_attr *attrs,
                                        int attr_count)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_node *n = NULL;

    if (try_add(name, op, in, in_count, attrs, attr_count, &n, &st))
        fail_msg("%s", st.text);
    return n;
}

static inline struct tfd_node *add(const char *name, const char *op,
                                   const struct tfd_edge *in, int in_count)
{
    return add_with(name, op, in, in_count, NULL, 0);
}

/* A node without inputs whose attribute T is a type. */
static inline struct tfd_edge typed(const char *name, const char *op, int type)
{
    struct tfd_attr a = {.name = TFD_STR("T")};
    struct tfd_bytes b;
    struct tfd_node *n;

    tfd_bytes_init(&b, 100);
    tfd_attr_put_type(&b, type);
    a.value = tfd_bytes_view(&b);
    n = add_with(name, op, NULL, 0, &a, 1);
    tfd_bytes_deinit(&b);
    return (struct tfd_edge){n->id, 0};
}

/* The text may go on. */
static inline void expect(enum tfd_code rc, enum tfd_code code,
                          const struct tfd_status *st, const char *text)
{
    if (rc != code || strncmp(st->text, text, strlen(text)))
        fail_msg("%s \"%s\", expected %s \"%s\"", tfd_code_name(rc), st->text,
                 tfd_code_name(code), text);
}

/* For the next call with the same status. */
static inline void expect_and_clear(enum tfd_code rc, enum tfd_code code,
                                    struct tfd_status *st, const char *text)
{
    expect(rc, code, st, text);
    tfd_status_clear(st);
}

/* Zeros. */
static inline struct tfd_tensor tensor(enum tfd_dtype dtype, int rank,
                                       int64_t d0, int64_t d1)
{
    struct tfd_shape shape = {rank, {d0, d1, 1}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, NULL), TFD_OK);
    if (tfd_tensor_data(&t))
        memset(tfd_tensor_data(&t), 0, tfd_tensor_size(&t));
    return t;
}

#endif
