// Lanes: the cards that one step of the recurrence moves side by side.
//
// This header is compiled once per instruction set (see CMakeLists.txt). Everything lives in an anonymous namespace
// and nothing here instantiates a standard template, so that no function compiled for a newer processor can be
// chosen by the linker for an older one.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kVector = 16;  // floats in a register
#elif defined(__AVX2__)
constexpr int kVector = 8;
#else
constexpr int kVector = 4;
#endif
#ifndef FSRS_UNROLL
#define FSRS_UNROLL 2  // registers side by side: hides the latency of the recurrence
#endif
constexpr int kUnroll = FSRS_UNROLL;
constexpr int kStrip = kVector * kUnroll;  // cards that one step moves

typedef float VFloat __attribute__((vector_size(kVector * 4)));
typedef int32_t VInt __attribute__((vector_size(kVector * 4)));
typedef VFloat VFloatInMemory __attribute__((may_alias));
typedef uint32_t VBits __attribute__((vector_size(kVector * 4)));

struct Lanes {
    VFloat v[kUnroll];
};
struct Mask {  // every lane all ones or all zeros
    VInt v[kUnroll];
};

#define FSRS_EACH for (int i = 0; i < kUnroll; ++i)
#define FSRS_INLINE inline __attribute__((always_inline))

FSRS_INLINE VFloat splat(float x) { return VFloat{} + x; }

FSRS_INLINE Lanes all(float x) {
    Lanes r;
    FSRS_EACH r.v[i] = splat(x);
    return r;
}

#define FSRS_BINARY(op)                                   \
    FSRS_INLINE Lanes operator op(Lanes a, Lanes b) {     \
        FSRS_EACH a.v[i] = a.v[i] op b.v[i];              \
        return a;                                         \
    }                                                     \
    FSRS_INLINE Lanes operator op(Lanes a, float b) {     \
        FSRS_EACH a.v[i] = a.v[i] op splat(b);            \
        return a;                                         \
    }                                                     \
    FSRS_INLINE Lanes operator op(float a, Lanes b) {     \
        FSRS_EACH b.v[i] = splat(a) op b.v[i];            \
        return b;                                         \
    }
FSRS_BINARY(+)
FSRS_BINARY(-)
FSRS_BINARY(*)
FSRS_BINARY(/)
#undef FSRS_BINARY

FSRS_INLINE Lanes operator-(Lanes a) {
    FSRS_EACH a.v[i] = -a.v[i];
    return a;
}
FSRS_INLINE Lanes &operator+=(Lanes &a, Lanes b) {
    FSRS_EACH a.v[i] = a.v[i] + b.v[i];
    return a;
}

// a * b + c; one rounding where the processor has a fused multiply-add (-ffp-contract=fast).
FSRS_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
    FSRS_EACH a.v[i] = a.v[i] * b.v[i] + c.v[i];
    return a;
}
FSRS_INLINE Lanes fma(Lanes a, float b, float c) { return fma(a, all(b), all(c)); }
FSRS_INLINE Lanes fma(Lanes a, float b, Lanes c) { return fma(a, all(b), c); }
FSRS_INLINE Lanes fma(Lanes a, Lanes b, float c) { return fma(a, b, all(c)); }

#define FSRS_COMPARE(op)                               \
    FSRS_INLINE Mask operator op(Lanes a, Lanes b) {   \
        Mask r;                                        \
        FSRS_EACH r.v[i] = a.v[i] op b.v[i];           \
        return r;                                      \
    }                                                  \
    FSRS_INLINE Mask operator op(Lanes a, float b) {   \
        Mask r;                                        \
        FSRS_EACH r.v[i] = a.v[i] op splat(b);         \
        return r;                                      \
    }
FSRS_COMPARE(==)
FSRS_COMPARE(<=)
FSRS_COMPARE(>=)
FSRS_COMPARE(>)
#undef FSRS_COMPARE

FSRS_INLINE Mask operator&(Mask a, Mask b) {
    FSRS_EACH a.v[i] = a.v[i] & b.v[i];
    return a;
}
FSRS_INLINE Mask operator|(Mask a, Mask b) {
    FSRS_EACH a.v[i] = a.v[i] | b.v[i];
    return a;
}
FSRS_INLINE Mask and_not(Mask a, Mask b) {  // a and not b
    FSRS_EACH a.v[i] = a.v[i] & ~b.v[i];
    return a;
}

FSRS_INLINE Lanes select(Mask m, Lanes a, Lanes b) {
    FSRS_EACH a.v[i] = m.v[i] ? a.v[i] : b.v[i];
    return a;
}
FSRS_INLINE Lanes keep(Mask m, Lanes a) {  // a, or 0 where m is false
    FSRS_EACH a.v[i] = (VFloat)((VInt)a.v[i] & m.v[i]);
    return a;
}

FSRS_INLINE Lanes drop(Mask m, Lanes a) {  // a, or 0 where m is true
    FSRS_EACH a.v[i] = (VFloat)((VInt)a.v[i] & ~m.v[i]);
    return a;
}

FSRS_INLINE VFloat smaller(VFloat a, VFloat b) {
#if defined(__AVX512F__)
    return (VFloat)_mm512_min_ps(a, b);
#elif defined(__AVX2__)
    return (VFloat)_mm256_min_ps(a, b);
#elif defined(__SSE2__)
    return (VFloat)_mm_min_ps(a, b);
#else
    return a < b ? a : b;
#endif
}
FSRS_INLINE VFloat larger(VFloat a, VFloat b) {
#if defined(__AVX512F__)
    return (VFloat)_mm512_max_ps(a, b);
#elif defined(__AVX2__)
    return (VFloat)_mm256_max_ps(a, b);
#elif defined(__SSE2__)
    return (VFloat)_mm_max_ps(a, b);
#else
    return a > b ? a : b;
#endif
}
FSRS_INLINE VFloat root(VFloat a) {
#if defined(__AVX512F__)
    return (VFloat)_mm512_sqrt_ps(a);
#elif defined(__AVX2__)
    return (VFloat)_mm256_sqrt_ps(a);
#elif defined(__SSE2__)
    return (VFloat)_mm_sqrt_ps(a);
#elif defined(__aarch64__)
    return (VFloat)vsqrtq_f32((float32x4_t)a);
#else
    for (int i = 0; i < kVector; ++i) a[i] = __builtin_sqrtf(a[i]);
    return a;
#endif
}

FSRS_INLINE Lanes min(Lanes a, Lanes b) {
    FSRS_EACH a.v[i] = smaller(a.v[i], b.v[i]);
    return a;
}
FSRS_INLINE Lanes max(Lanes a, float b) {
    FSRS_EACH a.v[i] = larger(a.v[i], splat(b));
    return a;
}
FSRS_INLINE Lanes clamp(Lanes a, float low, float high) {
    FSRS_EACH a.v[i] = smaller(larger(a.v[i], splat(low)), splat(high));
    return a;
}
FSRS_INLINE Lanes sqrt(Lanes a) {
    FSRS_EACH a.v[i] = root(a.v[i]);
    return a;
}

FSRS_INLINE Lanes load(const float *p) {  // p aligned to a register
    Lanes r;
    FSRS_EACH r.v[i] = *(const VFloatInMemory *)(p + i * kVector);
    return r;
}
FSRS_INLINE void store(float *p, Lanes a) { FSRS_EACH *(VFloatInMemory *)(p + i * kVector) = a.v[i]; }

FSRS_INLINE double sum(VFloat a) {
    double r = 0;
    for (int i = 0; i < kVector; ++i) r += a[i];
    return r;
}
FSRS_INLINE double sum(Lanes a) {
    double r = 0;
    FSRS_EACH r += sum(a.v[i]);
    return r;
}

}  // namespace
