/*
 * test_space_batch.c - SpaceToBatchND and BatchToSpaceND against a loop over
 * the elements of the wide tensor: with and without a border, every size of an
 * element, odd sizes of what lies behind the space, odd addresses; blocks and
 * borders that do not fit.
 */
#include "tests/support/kernel_bytes.h"

struct plain {
    int rank, dims;   /* of the wide tensor; of space */
    int64_t wide[6];  /* its shape */
    int64_t block[4]; /* of each dimension of space */
    int64_t pads[8];  /* before and after each */
    enum tfd_dtype type, number_type;
    int odd;
};

static struct tfd_shape folded_of(const struct plain *p)
{
    struct tfd_shape s = {p->rank, {0}};

    for (int i = 0; i < p->rank; i++)
        s.dim[i] = p->wide[i];
    for (int i = 0; i < p->dims; i++) {
        s.dim[0] *= p->block[i];
        s.dim[i + 1] = (p->wide[i + 1] + p->pads[2 * i] + p->pads[2 * i + 1]) /
                       p->block[i];
    }
    return s;
}

/* Where in the folded tensor the element at these places of the wide one is. */
static int64_t place_of(const struct plain *p, const struct tfd_shape *folded,
                        const int64_t *at)
{
    int64_t offset = 0, place = 0;

    for (int i = 0; i < p->dims; i++)
        offset =
            offset * p->block[i] + (at[i + 1] + p->pads[2 * i]) % p->block[i];
    for (int i = 0; i < p->rank; i++)
        place = place * folded->dim[i] +
                (i == 0         ? offset * p->wide[0] + at[0]
                 : i <= p->dims ? (at[i] + p->pads[2 * i - 2]) / p->block[i - 1]
                                : at[i]);
    return place;
}

/* Every element of the wide tensor, to or from the folded one. */
static void move(const struct plain *p, const struct tfd_shape *folded,
                 bool fold_it, char *to, const char *from)
{
    const size_t size = tfd_dtype_size(p->type);
    const struct tfd_shape wide = {p->rank,
                                   {p->wide[0], p->wide[1], p->wide[2],
                                    p->wide[3], p->wide[4], p->wide[5]}};

    for (int64_t i = 0; i < tfd_shape_elements(&wide); i++) {
        int64_t at[6], rest = i;
        size_t there;

        for (int d = p->rank - 1; d >= 0; d--) {
            at[d] = rest % p->wide[d];
            rest /= p->wide[d];
        }
        there = (size_t)place_of(p, folded, at) * size;
        if (fold_it)
            memcpy(to + there, from + (size_t)i * size, size);
        else
            memcpy(to + (size_t)i * size, from + there, size);
    }
}

static void check_one(const struct plain *p, bool fold_it, int mode)
{
    const struct krig_case c = {
        .op = fold_it ? "SpaceToBatchND" : "BatchToSpaceND", .attrs = ""};
    const struct tfd_shape folded = folded_of(p);
    struct tfd_shape out = folded;
    struct tfd_tensor x;
    char *want;

    if (!fold_it)
        memcpy(out.dim, p->wide, sizeof(p->wide));
    want =
        calloc((size_t)tfd_shape_elements(&out) + 1, tfd_dtype_size(p->type));
    assert_non_null(want);
    x = krig_bytes(p->type, p->rank, fold_it ? p->wide : folded.dim, p->odd);
    move(p, &folded, fold_it, want, tfd_tensor_data(&x));
    krig.in[0] = x;
    krig.in[1] = krig_ints(p->number_type, 1, (int64_t[]){p->dims}, p->block);
    krig.in[2] = krig_ints(p->number_type, 2, (int64_t[]){p->dims, 2}, p->pads);
    krig.in_count = 3;
    krig_run_well(&c, mode);
    krig_expect_bytes(&out, want);
    krig_end();
    free(want);
}

static void check(struct plain p)
{
    static const enum tfd_dtype types[] = {TFD_INT8, TFD_BFLOAT16, TFD_FLOAT,
                                           TFD_DOUBLE};
    static const int odds[] = {0, 16, 1, 7};

    for (size_t t = 0; t < TFD_COUNT(types); t++)
        for (int mode = 0; mode < KRIG_ALL; mode++) {
            p.type = types[t];
            p.number_type = t % 2 ? TFD_INT32 : TFD_INT64;
            p.odd = odds[(t + (size_t)mode) % 4];
            check_one(&p, true, mode);
            check_one(&p, false, mode);
        }
}

static void test_sizes_behind_the_space(void **state)
{
    static const int64_t inners[] = {1,  2,  3,  4,  5,  7,  8,
                                     15, 16, 17, 31, 33, 64, 65};

    (void)state;
    for (size_t i = 0; i < TFD_COUNT(inners); i++) {
        check((struct plain){
            4, 2, {3, 6, 4, inners[i]}, {2, 2}, {0, 0, 0, 0}, 0, 0, 0});
        check((struct plain){
            4, 2, {2, 6, 10, inners[i]}, {3, 5}, {0, 0, 0, 0}, 0, 0, 0});
        check((struct plain){
            4, 2, {2, 5, 4, inners[i]}, {2, 3}, {1, 0, 0, 2}, 0, 0, 0});
    }
}

static void test_dimensions_of_space(void **state)
{
    (void)state;
    check((struct plain){2, 1, {3, 12}, {4}, {0, 0}, 0, 0, 0});
    check((struct plain){2, 1, {3, 11}, {4}, {2, 3}, 0, 0, 0});
    check((struct plain){3, 1, {2, 9, 5}, {3}, {0, 0}, 0, 0, 0});
    check((struct plain){
        5, 3, {2, 4, 3, 6, 3}, {2, 3, 2}, {0, 0, 0, 0, 0, 0}, 0, 0, 0});
    check((struct plain){
        5, 3, {2, 3, 3, 5, 3}, {2, 1, 4}, {1, 0, 0, 0, 2, 1}, 0, 0, 0});
    check((struct plain){5,
                         4,
                         {1, 2, 4, 2, 6},
                         {2, 2, 1, 3},
                         {0, 0, 0, 0, 0, 0, 0, 0},
                         0,
                         0,
                         0});
}

static void test_nothing_one_and_blocks_of_one(void **state)
{
    (void)state;
    check((struct plain){3, 1, {0, 4, 3}, {2}, {0, 0}, 0, 0, 0});
    check((struct plain){3, 1, {2, 4, 0}, {2}, {0, 0}, 0, 0, 0});
    check((struct plain){3, 1, {2, 0, 3}, {2}, {1, 1}, 0, 0, 0});
    check((struct plain){2, 1, {1, 1}, {1}, {0, 0}, 0, 0, 0});
    check((struct plain){2, 1, {1, 1}, {3}, {1, 1}, 0, 0, 0});
    check((struct plain){3, 0, {2, 3, 5}, {1}, {0}, 0, 0, 0});
    check((struct plain){3, 2, {2, 3, 5}, {1, 1}, {0, 0, 0, 0}, 0, 0, 0});
    check((struct plain){3, 2, {2, 3, 5}, {1, 1}, {2, 1, 0, 3}, 0, 0, 0});
    /* A border as wide as a block: some blocks are nothing else. */
    check((struct plain){3, 1, {2, 2, 3}, {2}, {4, 6}, 0, 0, 0});
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"SpaceToBatchND",
         "",
         {"float[1,5] 1", "int32[1] 2", "int32[1,2] 0 0"},
         {"!INVALID_ARGUMENT padded_shape[0]=5 is not divisible by "
          "block_shape[0]=2"}},
        {"SpaceToBatchND",
         "",
         {"float[1,4] 1", "int32[1] 0", "int32[1,2] 0 0"},
         {"!INVALID_ARGUMENT block_shape[0] = 0 must be positive"}},
        {"SpaceToBatchND",
         "",
         {"float[1,4] 1", "int32[1] 2", "int32[1,2] -1 1"},
         {"!INVALID_ARGUMENT (-1, 1) between 0 and"}},
        {"SpaceToBatchND",
         "",
         {"float[1,4] 1", "int32[2] 2 2", "int32[2,2] 0"},
         {"!INVALID_ARGUMENT block_shape must be one-dimensional"}},
        {"SpaceToBatchND",
         "",
         {"float[1,4] 1", "int32[1] 2", "int32[2] 0 0"},
         {"!INVALID_ARGUMENT paddings or crops should have shape [1,2] "
          "instead of [2]"}},
        {"BatchToSpaceND",
         "",
         {"float[3,4] 1", "int32[1] 2", "int32[1,2] 0 0"},
         {"!INVALID_ARGUMENT Input batch dimension (3) is not divisible by "
          "product of block sizes (2)"}},
        {"BatchToSpaceND",
         "",
         {"float[2,2] 1", "int32[1] 2", "int32[1,2] 3 2"},
         {"!INVALID_ARGUMENT cropped_shape[0] must be non-negative: 2 * 2 less "
          "5"}},
        {"BatchToSpaceND",
         "",
         {"float[2,2] 1", "int64[1] -2", "int64[1,2] 0 0"},
         {"!INVALID_ARGUMENT block_shape[0] = -2 must be positive"}},
        {"BatchToSpaceND",
         "",
         {"float[2,2] 1", "int64[1] 9223372036854775807", "int64[1,2] 0 0"},
         {"!INVALID_ARGUMENT"}},
        {"SpaceToBatchND",
         "",
         {"float[4,4] 1", "int64[1] 4611686018427387904",
          "int64[1,2] 2147483647 0"},
         {"!INVALID_ARGUMENT"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_behind_the_space),
        cmocka_unit_test(test_dimensions_of_space),
        cmocka_unit_test(test_nothing_one_and_blocks_of_one),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("space_batch", tests, krig_setup,
                                       krig_teardown);
}
