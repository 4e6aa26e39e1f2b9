/* Numbers of PyTorch's CPU generator, written by tools/make_goldens.py: do not edit. */
#ifndef CH_TEST_TORCH_RNG_H
#define CH_TEST_TORCH_RNG_H

#include <stdint.h>

/* clang-format off */
enum { FIRST = 8, LATE = 1244, UNIFORMS = 5000 };

static const struct {
    uint64_t seed;
    uint32_t first[FIRST], late[FIRST];
} raw_golden[] = {
    {0u, {0x8c7f0aacu, 0x97c4aa2fu, 0xb716a675u, 0xd821ccc0u, 0x9a4eb343u, 0xdba252fbu, 0x8b7d76c3u,
     0xd8e57d67u}, {0xa3389e9du, 0xac0ae1fcu, 0xd0244c41u, 0x44463f17u, 0xf9e9ecc8u, 0x90668580u, 0xe3c98457u,
     0xf4f98f25u}},
    {1u, {0x6ac1f425u, 0xff4780ebu, 0xb8672f8cu, 0xeebc1448u, 0x00077effu, 0x20ccc389u, 0x4d65aacbu,
     0xffc11e85u}, {0x305198d6u, 0x0c269901u, 0xa4d65848u, 0x72d7f133u, 0xc11a31c7u, 0xe73a2770u, 0x35f28ed7u,
     0xe1a54c4du}},
    {12345u, {0xedfb51e2u, 0xe3e12de5u, 0x50fdfd1du, 0x21760881u, 0x2f154da4u, 0x0a2dada9u, 0x345e0ffeu,
     0xd391517eu}, {0x9f883adau, 0xd5c447f5u, 0xcc7a1ddau, 0xbb1c5bf7u, 0x8b6d49f0u, 0xc578d17bu, 0x329515efu,
     0xc1c586dcu}},
    {1099511627783u, {0x1388f0afu, 0x3a32e4c4u, 0xc7a8c219u, 0x51a829f6u, 0x703b9643u, 0xfa6cd0d3u,
     0xb9350397u, 0x74a13667u}, {0xa1c2d41fu, 0x21951e0bu, 0x11e786d6u, 0x47a1bb3fu, 0xab9f33c0u, 0x2767e415u,
     0x414276ffu, 0x24b5be2bu}}};

static const struct {
    double low, high;
    float first[FIRST];
    uint64_t hash;
} uniform_golden[] = {
    {0x0.0p+0, 0x1.0000000000000p+0, {0x1.83e84a0000000p-1f, 0x1.1e03ac0000000p-2f, 0x1.9cbe300000000p-2f,
     0x1.7828900000000p-1f, 0x1.dfbfc00000000p-6f, 0x1.9987120000000p-1f, 0x1.96ab2c0000000p-2f,
     0x1.823d0a0000000p-1f}, 0x805d3a15312bf793u},
    {-0x1.3333333333333p-2, 0x1.199999999999ap+0, {0x1.85786a0000000p-1f, 0x1.74e1600000000p-4f,
     0x1.0ea3de0000000p-2f, 0x1.7505980000000p-1f, -0x1.0938d40000000p-2f, 0x1.a3bd1c0000000p-1f,
     0x1.0622d80000000p-2f, 0x1.8322440000000p-1f}, 0xaab4fc682daad947u},
    {-0x1.5555555555555p-2, 0x1.5555555555555p-2, {0x1.5fc0c60000000p-3f, -0x1.2d50700000000p-3f,
     -0x1.08af800000000p-4f, 0x1.406c2c0000000p-3f, -0x1.4158040000000p-2f, 0x1.9968300000000p-3f,
     -0x1.18e2360000000p-4f, 0x1.5b4d700000000p-3f}, 0x5191c6cf4f8472d2u},
    {-0x1.279a74590331cp-2, 0x1.279a74590331cp-2, {0x1.30a0860000000p-3f, -0x1.04f21c0000000p-3f,
     -0x1.ca72e60000000p-5f, 0x1.157e7a0000000p-3f, -0x1.164ab80000000p-2f, 0x1.628e8e0000000p-3f,
     -0x1.e681340000000p-5f, 0x1.2cc5d40000000p-3f}, 0x00fabe3d69aff1f8u}};

static const struct {
    int low, high, value[64];
} below_golden[] = {
    {0, 10, {0, 1, 5, 3, 4, 7, 0, 8, 1, 0, 1, 5, 6, 5, 7, 6, 3, 7, 9, 4, 0, 2, 1, 3, 9, 6, 1, 4, 2, 9, 5, 7,
     3, 1, 2, 5, 7, 5, 7, 3, 9, 2, 8, 9, 5, 4, 8, 5, 5, 7, 1, 6, 7, 5, 3, 9, 4, 1, 5, 0, 1, 8, 2, 9}},
    {4, 11, {5, 5, 7, 7, 5, 6, 5, 10, 4, 7, 8, 6, 8, 7, 7, 9, 5, 10, 7, 5, 8, 4, 6, 5, 6, 5, 8, 10, 4, 5, 6,
     8, 7, 7, 7, 10, 5, 5, 4, 10, 9, 10, 10, 8, 4, 4, 7, 4, 7, 4, 8, 6, 9, 7, 5, 7, 10, 7, 10, 8, 5, 5, 5,
     10}}};

static const struct {
    double p;
    int value[64];
    uint32_t after;
} bernoulli_golden[] = {
    {0.9, {0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1},
     0x4b039210u},
    {0.5, {0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0,
     1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0},
     0x4b039210u}};

static const struct {
    int size[3];
    uint32_t after;
} normal_golden[] = {
    {{1, 0, 0}, 0x34eb8be6u},
    {{2, 0, 0}, 0x34eb8be6u},
    {{3, 0, 0}, 0x7d088408u},
    {{4, 0, 0}, 0x7d088408u},
    {{5, 0, 0}, 0xc412899bu},
    {{6, 0, 0}, 0xc412899bu},
    {{7, 0, 0}, 0x4bfb1e07u},
    {{8, 0, 0}, 0x4bfb1e07u},
    {{9, 0, 0}, 0x14ab75b5u},
    {{10, 0, 0}, 0x14ab75b5u},
    {{11, 0, 0}, 0x70f9a42cu},
    {{12, 0, 0}, 0x70f9a42cu},
    {{13, 0, 0}, 0xe1438dafu},
    {{14, 0, 0}, 0xe1438dafu},
    {{15, 0, 0}, 0x6a0b4e7du},
    {{16, 0, 0}, 0x4bfb1e07u},
    {{17, 0, 0}, 0x1e7d0892u},
    {{18, 0, 0}, 0x4bcbe4feu},
    {{19, 0, 0}, 0xe0be4179u},
    {{20, 0, 0}, 0xa0f83e89u},
    {{21, 0, 0}, 0x860f956au},
    {{22, 0, 0}, 0x94704029u},
    {{23, 0, 0}, 0x7dfc9fe9u},
    {{24, 0, 0}, 0x9994f5beu},
    {{25, 0, 0}, 0xbb5be781u},
    {{26, 0, 0}, 0x440cb8d2u},
    {{27, 0, 0}, 0x03bb9067u},
    {{28, 0, 0}, 0x48e12c90u},
    {{29, 0, 0}, 0x17e6a3ceu},
    {{30, 0, 0}, 0x40eb2805u},
    {{31, 0, 0}, 0xd3990f3au},
    {{32, 0, 0}, 0x6a0b4e7du},
    {{33, 0, 0}, 0xd55fc7d0u},
    {{34, 0, 0}, 0x24e7f384u},
    {{35, 0, 0}, 0xe4750c6eu},
    {{36, 0, 0}, 0x2a659aa4u},
    {{37, 0, 0}, 0xf5405f69u},
    {{38, 0, 0}, 0xf6c426b3u},
    {{39, 0, 0}, 0x8fb3ca1bu},
    {{40, 0, 0}, 0xf5d16b1fu},
    {{832, 0, 0}, 0xb016b99du},
    {{1, 1, 0}, 0x34eb8be6u},
    {{3, 3, 0}, 0xc412899bu},
    {{1, 16, 2}, 0x70f9a42cu},
    {{5, 40, 1}, 0x05def16cu},
    {{2, 1, 15}, 0xa0f83e89u}};

static const int normal_calls[] = {3, 16, 1, 15, 17, 2, 100, 3, 4000, 1};
static const struct {
    double deviation;
    float first[FIRST];
    uint64_t hash;
    uint32_t after;
} normal_value_golden[] = {
    {0x1.0000000000000p+0, {0x1.6e68720000000p-5f, 0x1.e946f60000000p+0f, -0x1.d926ba0000000p-3f,
     -0x1.f154ba0000000p-1f, -0x1.2caf080000000p-1f, -0x1.2989180000000p+1f, -0x1.c1bec60000000p-1f,
     -0x1.7be3620000000p-3f}, 0xc8e219693004a12fu, 0x2ebf44b5u},
    {0x1.47ae147ae147bp-6, {0x1.d500920000000p-11f, 0x1.39232c0000000p-5f, -0x1.2ed11a0000000p-8f,
     -0x1.3e4ab40000000p-6f, -0x1.80e00a0000000p-7f, -0x1.7cd8700000000p-5f, -0x1.1fd6400000000p-6f,
     -0x1.e641c40000000p-9f}, 0x7e7e51383dc159b5u, 0x2ebf44b5u}};

/* nn.Linear(64, 13), then xavier_uniform_ of its weight. */
static const struct {
    float kaiming[FIRST];
    uint64_t kaiming_hash;
    float bias[FIRST];
    uint64_t bias_hash;
    float xavier[FIRST];
    uint64_t xavier_hash;
    uint32_t after;
} init_golden[] = {
    {{-0x1.fba2580000000p-4f, -0x1.93e5a00000000p-4f, -0x1.b698380000000p-5f, -0x1.e465f40000000p-4f,
     -0x1.d112000000000p-8f, -0x1.c270e00000000p-4f, 0x1.1664000000000p-4f, 0x1.f318a80000000p-5f},
     0x2684f408f172cf3eu, {-0x1.4fcc500000000p-6f, 0x1.8146d80000000p-4f, 0x1.6d5f400000000p-6f,
     -0x1.c5bda40000000p-4f, 0x1.c0f39c0000000p-4f, 0x1.b425680000000p-4f, 0x1.1787800000000p-6f,
     -0x1.ee4ef80000000p-4f}, 0xc5c1ec5b7bd5b108u, {0x1.d4deb80000000p-3f, -0x1.1b77dc0000000p-3f,
     0x1.6985800000000p-8f, -0x1.25868e0000000p-3f, -0x1.6587ee0000000p-3f, 0x1.48a5940000000p-3f,
     0x1.c5cd000000000p-8f, 0x1.7bdabc0000000p-4f}, 0xaf1987b2a28eaac9u, 0x9c41e8a3u}};

#endif
