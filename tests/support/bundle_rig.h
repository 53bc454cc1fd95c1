/*
 * bundle_rig.h - checkpoints of both formats in files in memory, for tests of
 * kernels/checkpoint/bundle*.c.
 */
#ifndef TFD_TESTS_SUPPORT_BUNDLE_RIG_H
#define TFD_TESTS_SUPPORT_BUNDLE_RIG_H

#include "kernels/checkpoint/bundle_writer.h"
#include "kernels/checkpoint/slices_writer.h"
#include "tests/support/bundle_fixtures.h"
#include "tests/support/memory_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct state {
    struct memory_files m;
    struct tfd_status st;
};

static inline int set_up(void **state)
{
    struct state *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    memory_files_init(&s->m);
    *state = s;
    return 0;
}

static inline int tear_down(void **state)
{
    struct state *s = *state;

    assert_int_equal(s->m.open, 0);
    memory_files_deinit(&s->m);
    free(s);
    return 0;
}

/* ---- Tensors ------------------------------------------------------------- */

static inline struct tfd_shape shape_of(int rank, int64_t a, int64_t b)
{
    int64_t dim[] = {a, b};
    struct tfd_shape s;

    assert_int_equal(tfd_shape_make(&s, dim, rank, NULL), TFD_OK);
    return s;
}

static inline struct tfd_tensor
tensor_of(enum tfd_dtype dtype, struct tfd_shape shape, const void *data)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, NULL), TFD_OK);
    if (data)
        memcpy(tfd_tensor_data(&t), data, tfd_tensor_size(&t));
    return t;
}

static inline struct tfd_tensor strings_of(const char *const *text,
                                           int64_t count)
{
    struct tfd_shape shape = shape_of(1, count, 0);
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, TFD_STRING, &shape, NULL), TFD_OK);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(
            tfd_tstring_set(&((struct tfd_tstring *)tfd_tensor_data(&t))[i],
                            tfd_str_of(text[i]), NULL),
            TFD_OK);
    return t;
}

static const float w_values[] = {1, 2, 3, 4, 5, 6};
static const char *const s_values[] = {"x", "yy", ""};
static const int32_t p_values[] = {1, 2, 3, 4, 5, 6, 7, 8};

static inline struct tfd_tensor w_tensor(void)
{
    return tensor_of(TFD_FLOAT, shape_of(2, 2, 3), w_values);
}

static inline struct tfd_tensor p_rows(int first)
{
    return tensor_of(TFD_INT32, shape_of(2, 2, 2), p_values + 2 * first);
}

/* ---- Writing ------------------------------------------------------------- */

/* Adds a tensor, of which the writer keeps no reference. */
static inline void add(struct state *s, struct tfd_bundle_writer *w,
                       const char *name, const char *spec, struct tfd_tensor t)
{
    struct tfd_shape whole, piece;
    struct tfd_tensor_slice slice;
    struct tfd_str n = tfd_str_of(name);

    if (*spec) {
        assert_int_equal(tfd_tensor_slice_parse(tfd_str_of(spec), &whole,
                                                &slice, &piece, &s->st),
                         TFD_OK);
        assert_int_equal(
            tfd_bundle_writer_add_slice(w, n, &whole, &slice, &t, &s->st),
            TFD_OK);
    } else {
        assert_int_equal(tfd_bundle_writer_add(w, n, &t, &s->st), TFD_OK);
    }
    tfd_tensor_unref(&t);
}

static inline void begin(struct state *s, struct tfd_bundle_writer *w,
                         const char *prefix)
{
    assert_int_equal(
        tfd_bundle_writer_open(w, &s->m.access, tfd_str_of(prefix), &s->st),
        TFD_OK);
}

static inline void finish(struct state *s, struct tfd_bundle_writer *w)
{
    assert_int_equal(tfd_bundle_writer_finish(w, &s->st), TFD_OK);
    tfd_bundle_writer_deinit(w);
}

static inline void add_v1(struct state *s, struct tfd_slices_writer *w,
                          const char *name, const char *spec,
                          struct tfd_tensor t)
{
    struct tfd_tensor_slice slice = tfd_tensor_slice_all(t.shape.rank);
    struct tfd_shape whole = t.shape, piece;

    if (*spec)
        assert_int_equal(tfd_tensor_slice_parse(tfd_str_of(spec), &whole,
                                                &slice, &piece, &s->st),
                         TFD_OK);
    assert_int_equal(
        tfd_slices_writer_add(w, tfd_str_of(name), &whole, &slice, &t, &s->st),
        TFD_OK);
    tfd_tensor_unref(&t);
}

#endif
