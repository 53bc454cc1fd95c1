/*
 * all.c - the array of all CPU families of families.def, and a search in it for
 * the loop of an op and type, which fused kernels run.
 */
#include "kernels/core/families.h"
#include "kernels/core/registry.h"

#include <string.h>

const struct tfd_family *const tfd_families[] = {
#define FAMILY(f) &tfd_family_##f,
#define CUDA_FAMILY(f)
#include "kernels/core/families.def"
#undef FAMILY
#undef CUDA_FAMILY
};

const int tfd_family_count = TFD_COUNT(tfd_families);

tfd_range_fn *tfd_registry_loop(const char *op, enum tfd_dtype dtype)
{
    for (int f = 0; f < tfd_family_count; f++)
        for (int i = 0; i < tfd_families[f]->kernel_count; i++) {
            const struct tfd_kernel *k = &tfd_families[f]->kernels[i];

            if (k->device == TFD_CPU && k->dtype == dtype &&
                strcmp(k->op, op) == 0)
                return k->range;
        }
    return NULL;
}
