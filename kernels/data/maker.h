/*
 * maker.h - what kernels that make datasets share: attributes, a function with
 * what it has captured, the dataset as an output.
 *
 *     prepare   tfd_dataset_prepare()          what the node says
 *     compute   tfd_dataset_make()             memory, types, inputs
 *               fields of the kind's own
 *               tfd_dataset_output()           or tfd_dataset_unref()
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_MAKER_H
#define TFD_KERNELS_DATA_MAKER_H

#include "kernels/data/dataset.h"

/* A kernel's state. */
struct tfd_dataset_maker {
    int32_t count;
    enum tfd_dtype *types;
    struct tfd_shape *shapes;
    struct tfd_rt_function *function; /* of the attribute; NULL: has none */
    char *name;                       /* of the attribute metadata; "" */
    struct tfd_data_recipe *recipe;   /* of an op that makes datasets */
    bool flag; /* preserve_cardinality, and the like: the kind's */
};

/* output_types or Toutput_types, output_shapes; a function by the attribute
 * "f", "predicate" or what it is called; NULL: none. */
enum tfd_code tfd_dataset_prepare(const struct tfd_prepare *p,
                                  struct tfd_dataset_maker *m,
                                  const char *function,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The lasting function of an attribute. */
enum tfd_code tfd_dataset_function(const struct tfd_prepare *p,
                                   const char *name,
                                   struct tfd_rt_function **out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* A tfd_release_fn; and prepare functions for states that are a maker only. */
void tfd_dataset_maker_release(void *state);
enum tfd_code tfd_dataset_prepare_plain(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st);
enum tfd_code tfd_dataset_prepare_f(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st);

/* `size` zeroed bytes that begin with a dataset, of the maker's types; the
 * first `input_count` inputs of the node are its inputs.  k->state begins with
 * a maker.  It is counted once. */
enum tfd_code tfd_dataset_make(struct tfd_kctx *k,
                               const struct tfd_dataset_kind *kind, size_t size,
                               int input_count, struct tfd_dataset **out,
                               struct tfd_status *st) TFD_MUST_USE;
/* The same without a kernel: of one tensor, for what a dataset yields. */
enum tfd_code tfd_dataset_make_part(const struct tfd_dataset *of,
                                    const struct tfd_dataset_kind *kind,
                                    size_t size, enum tfd_dtype type,
                                    const struct tfd_shape *shape,
                                    struct tfd_dataset **out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Its passes, or those of a dataset within it, have their seeds from there. */
enum tfd_code tfd_dataset_add_seeds(struct tfd_dataset *d,
                                    struct tfd_resource *seeds,
                                    struct tfd_status *st) TFD_MUST_USE;
/* The same with the elements of another dataset. */
enum tfd_code tfd_dataset_make_like(const struct tfd_dataset *like,
                                    const struct tfd_dataset_kind *kind,
                                    size_t size, struct tfd_dataset **out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Output 0; takes the reference, also on failure. */
enum tfd_code tfd_dataset_output(struct tfd_kctx *k,
                                 struct tfd_dataset *take_dataset,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Values that a dataset keeps count for its depth.  INVALID_ARGUMENT beyond
 * TFD_DATASET_DEPTH_MAX. */
enum tfd_code tfd_dataset_deepen(struct tfd_dataset *d,
                                 const struct tfd_tensor *t,
                                 struct tfd_status *st) TFD_MUST_USE;

/* A scalar of INT64 or a bool, by the name that messages have. */
enum tfd_code tfd_dataset_int(const struct tfd_kctx *k, int in,
                              const char *name, int64_t *out,
                              struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_dataset_bool(const struct tfd_kctx *k, int in,
                               const char *name, bool *out,
                               struct tfd_status *st) TFD_MUST_USE;

/* ---- Functions ----------------------------------------------------------- */

/* A function with the values that come behind an element's. */
struct tfd_captured {
    struct tfd_rt_function *function; /* held */
    struct tfd_tensor *values;
    int32_t count;    /* of values; those beyond `passed` are only kept, */
    int32_t passed;   /* as a handle may keep its resource */
    int32_t in_count; /* of an element */
    int32_t out_count;
};

/* The maker's function with `count` inputs of the node from `first` on.
 * INVALID_ARGUMENT when it does not take `elements` tensors before them. */
enum tfd_code tfd_captured_init(struct tfd_captured *c, struct tfd_kctx *k,
                                struct tfd_rt_function *f, int32_t first,
                                int32_t count, int32_t elements,
                                struct tfd_dataset *d,
                                struct tfd_status *st) TFD_MUST_USE;
/* INVALID_ARGUMENT when it does not return so many tensors. */
enum tfd_code tfd_captured_returns(const struct tfd_captured *c, int32_t count,
                                   struct tfd_status *st) TFD_MUST_USE;
void tfd_captured_deinit(struct tfd_captured *c);
/* Arguments of one call: the element, which is taken, and the captured values;
 * free() frees the array. */
struct tfd_tensor *tfd_captured_args(const struct tfd_captured *c,
                                     struct tfd_tensor *element,
                                     struct tfd_status *st);
/* Calls it and waits.  out has room for out_count tensors. */
enum tfd_code tfd_captured_call(const struct tfd_captured *c,
                                struct tfd_data_scope *s,
                                struct tfd_tensor *element,
                                struct tfd_tensor *out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
