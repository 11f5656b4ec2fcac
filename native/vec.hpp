// Lanes: the histories that one step of the recurrence moves side by side.
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
constexpr int kUnroll = 2;   // registers side by side: hides the latency of the recurrence
#elif defined(__AVX2__)
constexpr int kVector = 8;
constexpr int kUnroll = 4;
#else
constexpr int kVector = 4;
#if defined(FSRS_UNROLL)
constexpr int kUnroll = FSRS_UNROLL;
#else
constexpr int kUnroll = 4;
#endif
#endif
constexpr int kStrip = kVector * kUnroll;

typedef float VFloat __attribute__((vector_size(kVector * 4)));
typedef int32_t VInt __attribute__((vector_size(kVector * 4)));
typedef VFloat VFloatInMemory __attribute__((may_alias));
typedef VInt VIntInMemory __attribute__((may_alias));
typedef uint32_t VBits __attribute__((vector_size(kVector * 4)));

// N registers side by side.
template <int N>
struct Lanes {
    VFloat v[N];
};
template <int N>
struct Mask {  // every lane all ones or all zeros
    VInt v[N];
};

#define FSRS_EACH for (int i = 0; i < N; ++i)
#define FSRS_INLINE inline __attribute__((always_inline))
#define FSRS_INLINE_BODY __attribute__((always_inline))  // of a lambda

FSRS_INLINE VFloat splat(float x) { return VFloat{} + x; }

template <int N>
FSRS_INLINE Lanes<N> all(float x) {
    Lanes<N> r;
    FSRS_EACH r.v[i] = splat(x);
    return r;
}

#define FSRS_BINARY(op)                                                                     \
    template <int N>                                                                        \
    FSRS_INLINE Lanes<N> operator op(Lanes<N> a, Lanes<N> b) {                              \
        FSRS_EACH a.v[i] = a.v[i] op b.v[i];                                                \
        return a;                                                                           \
    }                                                                                       \
    template <int N>                                                                        \
    FSRS_INLINE Lanes<N> operator op(Lanes<N> a, float b) { return a op all<N>(b); }        \
    template <int N>                                                                        \
    FSRS_INLINE Lanes<N> operator op(float a, Lanes<N> b) { return all<N>(a) op b; }
FSRS_BINARY(+)
FSRS_BINARY(-)
FSRS_BINARY(*)
FSRS_BINARY(/)
#undef FSRS_BINARY

template <int N>
FSRS_INLINE Lanes<N> operator-(Lanes<N> a) {
    FSRS_EACH a.v[i] = -a.v[i];
    return a;
}

// a * b + c; one rounding where the processor has a fused multiply-add (-ffp-contract=fast).
template <int N>
FSRS_INLINE Lanes<N> fma(Lanes<N> a, Lanes<N> b, Lanes<N> c) {
    FSRS_EACH a.v[i] = a.v[i] * b.v[i] + c.v[i];
    return a;
}
template <int N>
FSRS_INLINE Lanes<N> fma(Lanes<N> a, float b, float c) { return fma(a, all<N>(b), all<N>(c)); }
template <int N>
FSRS_INLINE Lanes<N> fma(Lanes<N> a, float b, Lanes<N> c) { return fma(a, all<N>(b), c); }
template <int N>
FSRS_INLINE Lanes<N> fma(Lanes<N> a, Lanes<N> b, float c) { return fma(a, b, all<N>(c)); }

#define FSRS_COMPARE(op)                                      \
    template <int N>                                          \
    FSRS_INLINE Mask<N> operator op(Lanes<N> a, Lanes<N> b) { \
        Mask<N> r;                                            \
        FSRS_EACH r.v[i] = a.v[i] op b.v[i];                  \
        return r;                                             \
    }                                                         \
    template <int N>                                          \
    FSRS_INLINE Mask<N> operator op(Lanes<N> a, float b) { return a op all<N>(b); }
FSRS_COMPARE(==)
FSRS_COMPARE(<=)
FSRS_COMPARE(>=)
#undef FSRS_COMPARE

template <int N>
FSRS_INLINE Mask<N> operator&(Mask<N> a, Mask<N> b) {
    FSRS_EACH a.v[i] = a.v[i] & b.v[i];
    return a;
}
template <int N>
FSRS_INLINE Mask<N> operator|(Mask<N> a, Mask<N> b) {
    FSRS_EACH a.v[i] = a.v[i] | b.v[i];
    return a;
}
template <int N>
FSRS_INLINE Mask<N> and_not(Mask<N> a, Mask<N> b) {  // a and not b
    FSRS_EACH a.v[i] = a.v[i] & ~b.v[i];
    return a;
}

template <int N>
FSRS_INLINE Lanes<N> select(Mask<N> m, Lanes<N> a, Lanes<N> b) {
    FSRS_EACH a.v[i] = m.v[i] ? a.v[i] : b.v[i];
    return a;
}
template <int N>
FSRS_INLINE Lanes<N> select(Mask<N> m, Lanes<N> a, float b) { return select(m, a, all<N>(b)); }
template <int N>
FSRS_INLINE Lanes<N> select(Mask<N> m, float a, Lanes<N> b) { return select(m, all<N>(a), b); }
template <int N>
FSRS_INLINE Lanes<N> keep(Mask<N> m, Lanes<N> a) {  // a, or 0 where m is false
    FSRS_EACH a.v[i] = (VFloat)((VInt)a.v[i] & m.v[i]);
    return a;
}
template <int N>
FSRS_INLINE Lanes<N> drop(Mask<N> m, Lanes<N> a) {  // a, or 0 where m is true
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

template <int N>
FSRS_INLINE Lanes<N> min(Lanes<N> a, Lanes<N> b) {
    FSRS_EACH a.v[i] = smaller(a.v[i], b.v[i]);
    return a;
}
template <int N>
FSRS_INLINE Lanes<N> max(Lanes<N> a, float b) {
    FSRS_EACH a.v[i] = larger(a.v[i], splat(b));
    return a;
}
template <int N>
FSRS_INLINE Lanes<N> clamp(Lanes<N> a, float low, float high) {
    return min(max(a, low), all<N>(high));
}
template <int N>
FSRS_INLINE Lanes<N> sqrt(Lanes<N> a) {
    FSRS_EACH a.v[i] = root(a.v[i]);
    return a;
}

template <int N>
FSRS_INLINE Lanes<N> load(const float *p) {  // p aligned to a register
    Lanes<N> r;
    FSRS_EACH r.v[i] = *(const VFloatInMemory *)(p + i * kVector);
    return r;
}
template <int N>
FSRS_INLINE void store(float *p, Lanes<N> a) { FSRS_EACH *(VFloatInMemory *)(p + i * kVector) = a.v[i]; }
template <int N>
FSRS_INLINE void add_to(float *p, Lanes<N> a) { store(p, load<N>(p) + a); }

// base[index of the lane] in every lane.
FSRS_INLINE Lanes<1> gather(const float *base, VInt index) {
#if defined(__AVX512F__)
    return {{(VFloat)_mm512_i32gather_ps((__m512i)index, base, 4)}};
#elif defined(__AVX2__)
    return {{VFloat{base[index[0]], base[index[1]], base[index[2]], base[index[3]], base[index[4]], base[index[5]], base[index[6]], base[index[7]]}}};
#else
    Lanes<1> r{};
    for (int lane = 0; lane < kVector; ++lane) r.v[0][lane] = base[index[lane]];
    return r;
#endif
}
template <int N>
FSRS_INLINE Lanes<N> gather(const float *base, const int32_t *index) {  // index aligned to a register
    Lanes<N> r;
    FSRS_EACH r.v[i] = gather(base, *(const VIntInMemory *)(index + i * kVector)).v[0];
    return r;
}
// to[index[lane]] += a's lane, one lane after the other.
template <int N>
FSRS_INLINE void scatter_add(float *to, const int32_t *index, Lanes<N> a) {
    FSRS_EACH for (int lane = 0; lane < kVector; ++lane) to[index[i * kVector + lane]] += a.v[i][lane];
}

FSRS_INLINE bool everywhere(Mask<1> m) {  // true in every lane
#if defined(__AVX512F__)
    return _mm512_movepi32_mask((__m512i)m.v[0]) == 0xffff;
#elif defined(__AVX2__)
    return _mm256_movemask_ps((__m256)m.v[0]) == 0xff;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)m.v[0]) == 0xf;
#else
    for (int i = 0; i < kVector; ++i)
        if (!m.v[0][i]) return false;
    return true;
#endif
}

FSRS_INLINE bool anywhere(Mask<1> m) {  // true in some lane
    return !everywhere({{~m.v[0]}});
}

FSRS_INLINE double sum(VFloat a) {
    double r = 0;
    for (int i = 0; i < kVector; ++i) r += a[i];
    return r;
}
template <int N>
FSRS_INLINE double sum(Lanes<N> a) {
    double r = 0;
    FSRS_EACH r += sum(a.v[i]);
    return r;
}

}  // namespace
