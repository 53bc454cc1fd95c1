/*
 * crc32c.c - eight bytes at a time, with the crc32 instruction of SSE4.2 where
 * the CPU has it (three streams at once where there is much), else by table.
 *
 * The sum is linear over GF(2): the effect of each half byte of a block of
 * eight can be looked up by itself and the sixteen results XORed.  Sixteen
 * tables of sixteen words are 1 KiB and can stand here as constants, so nothing
 * has to be computed at start.
 */
#include "common/base/crc32c.h"

#include <string.h>

#define BLOCK 8

/* nibble_table[p][v]: the register after half byte v and p zero half bytes. */
static const uint32_t nibble_table[16][16] = {
    {0x00000000u, 0x105ec76fu, 0x20bd8edeu, 0x30e349b1u, 0x417b1dbcu,
     0x5125dad3u, 0x61c69362u, 0x7198540du, 0x82f63b78u, 0x92a8fc17u,
     0xa24bb5a6u, 0xb21572c9u, 0xc38d26c4u, 0xd3d3e1abu, 0xe330a81au,
     0xf36e6f75u},
    {0x00000000u, 0xf26b8303u, 0xe13b70f7u, 0x1350f3f4u, 0xc79a971fu,
     0x35f1141cu, 0x26a1e7e8u, 0xd4ca64ebu, 0x8ad958cfu, 0x78b2dbccu,
     0x6be22838u, 0x9989ab3bu, 0x4d43cfd0u, 0xbf284cd3u, 0xac78bf27u,
     0x5e133c24u},
    {0x00000000u, 0x3fc5f181u, 0x7f8be302u, 0x404e1283u, 0xff17c604u,
     0xc0d23785u, 0x809c2506u, 0xbf59d487u, 0xfbc3faf9u, 0xc4060b78u,
     0x844819fbu, 0xbb8de87au, 0x04d43cfdu, 0x3b11cd7cu, 0x7b5fdfffu,
     0x449a2e7eu},
    {0x00000000u, 0x13a29877u, 0x274530eeu, 0x34e7a899u, 0x4e8a61dcu,
     0x5d28f9abu, 0x69cf5132u, 0x7a6dc945u, 0x9d14c3b8u, 0x8eb65bcfu,
     0xba51f356u, 0xa9f36b21u, 0xd39ea264u, 0xc03c3a13u, 0xf4db928au,
     0xe7790afdu},
    {0x00000000u, 0x70a27d8au, 0xe144fb14u, 0x91e6869eu, 0xc76580d9u,
     0xb7c7fd53u, 0x26217bcdu, 0x56830647u, 0x8b277743u, 0xfb850ac9u,
     0x6a638c57u, 0x1ac1f1ddu, 0x4c42f79au, 0x3ce08a10u, 0xad060c8eu,
     0xdda47104u},
    {0x00000000u, 0xa541927eu, 0x4f6f520du, 0xea2ec073u, 0x9edea41au,
     0x3b9f3664u, 0xd1b1f617u, 0x74f06469u, 0x38513ec5u, 0x9d10acbbu,
     0x773e6cc8u, 0xd27ffeb6u, 0xa68f9adfu, 0x03ce08a1u, 0xe9e0c8d2u,
     0x4ca15aacu},
    {0x00000000u, 0xe964b13du, 0xd725148bu, 0x3e41a5b6u, 0xaba65fe7u,
     0x42c2eedau, 0x7c834b6cu, 0x95e7fa51u, 0x52a0c93fu, 0xbbc47802u,
     0x8585ddb4u, 0x6ce16c89u, 0xf90696d8u, 0x106227e5u, 0x2e238253u,
     0xc747336eu},
    {0x00000000u, 0xdd45aab8u, 0xbf672381u, 0x62228939u, 0x7b2231f3u,
     0xa6679b4bu, 0xc4451272u, 0x1900b8cau, 0xf64463e6u, 0x2b01c95eu,
     0x49234067u, 0x9466eadfu, 0x8d665215u, 0x5023f8adu, 0x32017194u,
     0xef44db2cu},
    {0x00000000u, 0x8f2261d3u, 0x1ba8b557u, 0x948ad484u, 0x37516aaeu,
     0xb8730b7du, 0x2cf9dff9u, 0xa3dbbe2au, 0x6ea2d55cu, 0xe180b48fu,
     0x750a600bu, 0xfa2801d8u, 0x59f3bff2u, 0xd6d1de21u, 0x425b0aa5u,
     0xcd796b76u},
    {0x00000000u, 0x38116facu, 0x7022df58u, 0x4833b0f4u, 0xe045beb0u,
     0xd854d11cu, 0x906761e8u, 0xa8760e44u, 0xc5670b91u, 0xfd76643du,
     0xb545d4c9u, 0x8d54bb65u, 0x2522b521u, 0x1d33da8du, 0x55006a79u,
     0x6d1105d5u},
    {0x00000000u, 0xc00c303eu, 0x85f4168du, 0x45f826b3u, 0x0e045bebu,
     0xce086bd5u, 0x8bf04d66u, 0x4bfc7d58u, 0x1c08b7d6u, 0xdc0487e8u,
     0x99fca15bu, 0x59f09165u, 0x120cec3du, 0xd200dc03u, 0x97f8fab0u,
     0x57f4ca8eu},
    {0x00000000u, 0xef306b19u, 0xdb8ca0c3u, 0x34bccbdau, 0xb2f53777u,
     0x5dc55c6eu, 0x697997b4u, 0x8649fcadu, 0x6006181fu, 0x8f367306u,
     0xbb8ab8dcu, 0x54bad3c5u, 0xd2f32f68u, 0x3dc34471u, 0x097f8fabu,
     0xe64fe4b2u},
    {0x00000000u, 0x9c5bfaa6u, 0x3d5b83bdu, 0xa100791bu, 0x7ab7077au,
     0xe6ecfddcu, 0x47ec84c7u, 0xdbb77e61u, 0xf56e0ef4u, 0x6935f452u,
     0xc8358d49u, 0x546e77efu, 0x8fd9098eu, 0x1382f328u, 0xb2828a33u,
     0x2ed97095u},
    {0x00000000u, 0x68032cc8u, 0xd0065990u, 0xb8057558u, 0xa5e0c5d1u,
     0xcde3e919u, 0x75e69c41u, 0x1de5b089u, 0x4e2dfd53u, 0x262ed19bu,
     0x9e2ba4c3u, 0xf628880bu, 0xebcd3882u, 0x83ce144au, 0x3bcb6112u,
     0x53c84ddau},
    {0x00000000u, 0x847609b4u, 0x0d006599u, 0x89766c2du, 0x1a00cb32u,
     0x9e76c286u, 0x1700aeabu, 0x9376a71fu, 0x34019664u, 0xb0779fd0u,
     0x3901f3fdu, 0xbd77fa49u, 0x2e015d56u, 0xaa7754e2u, 0x230138cfu,
     0xa777317bu},
    {0x00000000u, 0x493c7d27u, 0x9278fa4eu, 0xdb448769u, 0x211d826du,
     0x6821ff4au, 0xb3657823u, 0xfa590504u, 0x423b04dau, 0x0b0779fdu,
     0xd043fe94u, 0x997f83b3u, 0x632686b7u, 0x2a1afb90u, 0xf15e7cf9u,
     0xb86201deu}};

static uint64_t load64(const uint8_t *p)
{
    uint64_t v = 0;

    for (int i = 0; i < BLOCK; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

uint32_t tfd_crc32c_extend_portable(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *p = (const uint8_t *)data;
    uint32_t c = ~crc;

    for (; size >= BLOCK; size -= BLOCK, p += BLOCK) {
        uint64_t v = load64(p) ^ c;

        c = 0;
        for (int i = 0; i < 16; i++)
            c ^= nibble_table[15 - i][(v >> (4 * i)) & 15];
    }
    for (; size > 0; size--, p++) {
        c ^= *p;
        c = (c >> 8) ^ nibble_table[1][c & 15] ^ nibble_table[0][(c >> 4) & 15];
    }
    return ~c;
}

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <pthread.h>

/* The instruction gives its result after three cycles, and one can start in
 * each: three streams at once are three times as fast as one.  A long piece is
 * summed as three neighbouring blocks of this size, ... */
#define STREAM 4096

/* ... and a sum is moved over a block of zeros by what its half bytes become:
 * shifted[p][v] is the register after v << 4 * p and STREAM zero bytes. */
static uint32_t shifted[8][16];
static pthread_once_t shifted_made = PTHREAD_ONCE_INIT;

__attribute__((target("sse4.2"))) static void make_shifted(void)
{
    for (int bit = 0; bit < 32; bit++) {
        uint64_t c = UINT64_C(1) << bit;

        for (int i = 0; i < STREAM / BLOCK; i++)
            c = _mm_crc32_u64(c, 0);
        for (int v = 0; v < 16; v++)
            if (v >> bit % 4 & 1)
                shifted[bit / 4][v] ^= (uint32_t)c;
    }
}

static uint64_t over_zeros(uint64_t c)
{
    uint64_t moved = 0;

    for (int p = 0; p < 8; p++)
        moved ^= shifted[p][c >> 4 * p & 15];
    return moved;
}

/* The register c after three blocks at p. */
__attribute__((target("sse4.2"))) static uint64_t three_streams(uint64_t c,
                                                                const void *p)
{
    const uint8_t *at = p;
    uint64_t a = c, b = 0, last = 0;

    for (int i = 0; i < STREAM; i += BLOCK) {
        uint64_t v[3];

        memcpy(&v[0], at + i, BLOCK);
        memcpy(&v[1], at + STREAM + i, BLOCK);
        memcpy(&v[2], at + 2 * STREAM + i, BLOCK);
        a = _mm_crc32_u64(a, v[0]);
        b = _mm_crc32_u64(b, v[1]);
        last = _mm_crc32_u64(last, v[2]);
    }
    return over_zeros(over_zeros(a) ^ b) ^ last;
}

__attribute__((target("sse4.2"))) static uint32_t
extend_sse42(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *p = (const uint8_t *)data;
    uint64_t c = ~crc;

    if (size >= 3 * STREAM)
        pthread_once(&shifted_made, make_shifted);
    for (; size >= 3 * STREAM; size -= 3 * STREAM, p += 3 * STREAM)
        c = three_streams(c, p);
    for (; size >= BLOCK; size -= BLOCK, p += BLOCK) {
        uint64_t v;

        memcpy(&v, p, sizeof(v));
        c = _mm_crc32_u64(c, v);
    }
    for (; size > 0; size--, p++)
        c = _mm_crc32_u8((uint32_t)c, *p);
    return ~(uint32_t)c;
}

uint32_t tfd_crc32c_extend(uint32_t crc, const void *data, size_t size)
{
    if (__builtin_cpu_supports("sse4.2"))
        return extend_sse42(crc, data, size);
    return tfd_crc32c_extend_portable(crc, data, size);
}
#else
uint32_t tfd_crc32c_extend(uint32_t crc, const void *data, size_t size)
{
    return tfd_crc32c_extend_portable(crc, data, size);
}
#endif
