/*
 * recipe.h - what is needed to run the op that made a dataset once more, here
 * or on another task: the op's name, its attributes and its function.
 *
 * A kernel that makes datasets has one recipe, and all datasets that it makes
 * share it; the op's inputs are kept by each dataset itself.
 *
 * Ownership: counted.  The recipe does not hold the function's library; a
 * dataset that calls functions does, by the function's world
 * (daemon/worker/run/lasting.h). Threads: any.
 */
#ifndef TFD_KERNELS_DATA_SAVED_RECIPE_H
#define TFD_KERNELS_DATA_SAVED_RECIPE_H

#include "kernels/core/function_call.h"

struct tfd_data_recipe {
    int refs; /* atomic */
    struct tfd_arena arena;
    struct tfd_str op;
    struct tfd_attr *attrs; /* all that the definition has */
    int32_t attr_count;
    const struct tfd_rt_function *function; /* one of its own; NULL: none */
};

enum tfd_code tfd_data_recipe_new(const struct tfd_prepare *p,
                                  struct tfd_data_recipe **out,
                                  struct tfd_status *st) TFD_MUST_USE;
struct tfd_data_recipe *tfd_data_recipe_ref(struct tfd_data_recipe *r);
void tfd_data_recipe_unref(struct tfd_data_recipe *r); /* NULL is nothing */
/* False when it has no such attribute. */
bool tfd_data_recipe_attr(const struct tfd_data_recipe *r, const char *name,
                          struct tfd_str *value);

#endif
