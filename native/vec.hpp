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
constexpr int kUnroll = 2;  // registers side by side: hides the latency of the recurrence
#elif defined(__AVX2__)
constexpr int kVector = 8;
constexpr int kUnroll = 2;
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

// table[index[lane]] in every lane; processors' own instruction for it is slower on many.
template <int N>
FSRS_INLINE Lanes<N> gather(const float *table, const int32_t *index) {
    Lanes<N> r;
    FSRS_EACH {
        const VInt at = *(const VIntInMemory *)(index + i * kVector);
#define FSRS_4(k) table[at[k]], table[at[k + 1]], table[at[k + 2]], table[at[k + 3]]
#if defined(__AVX512F__)
        r.v[i] = VFloat{FSRS_4(0), FSRS_4(4), FSRS_4(8), FSRS_4(12)};
#elif defined(__AVX2__)
        r.v[i] = VFloat{FSRS_4(0), FSRS_4(4)};
#else
        r.v[i] = VFloat{FSRS_4(0)};
#endif
#undef FSRS_4
    }
    return r;
}

// Where lanes find their values, if many tables are to be read at the same places. Neighbours in a level have parents
// close together and in rising order: one register from the first's place on, or two, rearranged, hold what all want.
template <int N>
struct Places {
    int first;
    VInt lane;  // from the first on
};
struct FarPlaces {
    const int32_t *index;
    int begin;
};
FSRS_INLINE Lanes<1> gather(const float *table, FarPlaces places) {
    return gather<1>(table - places.begin, places.index);
}
#if defined(__AVX2__)
FSRS_INLINE VFloat load_anywhere(const float *p) {
    VFloat r;
    __builtin_memcpy(&r, p, sizeof r);
    return r;
}
FSRS_INLINE Lanes<1> gather(const float *table, Places<1> places) {
    const VFloat low = load_anywhere(table + places.first);
#if defined(__AVX512F__)
    return {{(VFloat)_mm512_permutexvar_ps((__m512i)places.lane, (__m512)low)}};
#else
    return {{(VFloat)_mm256_permutevar8x32_ps((__m256)low, (__m256i)places.lane)}};
#endif
}
FSRS_INLINE Lanes<1> gather(const float *table, Places<2> places) {
    const VFloat low = load_anywhere(table + places.first), high = load_anywhere(table + places.first + kVector);
#if defined(__AVX512F__)
    return {{(VFloat)_mm512_permutex2var_ps((__m512)low, (__m512i)places.lane, (__m512)high)}};
#else
    const __m256 from_low = _mm256_permutevar8x32_ps((__m256)low, (__m256i)places.lane);
    const __m256 from_high = _mm256_permutevar8x32_ps((__m256)high, (__m256i)places.lane);
    return {{(VFloat)_mm256_blendv_ps(from_low, from_high, (__m256)(places.lane << 28))}};  // bit 3 as sign
#endif
}
#endif
// body(places) for the places index[lane] - begin, which rise; it may read up to two registers from the first of them.
template <class Body>
FSRS_INLINE void with_places(const int32_t *index, int begin, Body body) {
#if defined(__AVX2__)
    const VInt lane = *(const VIntInMemory *)index - index[0];
    const int last = index[kVector - 1] - index[0];
    if (last < kVector) return body(Places<1>{index[0] - begin, lane});
    if (last < 2 * kVector) return body(Places<2>{index[0] - begin, lane});
#endif
    body(FarPlaces{index, begin});
}

// to[index[lane]] += a's lane, one lane after the other.
template <int N>
FSRS_INLINE void scatter_add(float *to, const int32_t *index, Lanes<N> a) {
    FSRS_EACH for (int lane = 0; lane < kVector; ++lane) to[index[i * kVector + lane]] += a.v[i][lane];
}

// Three sums by place that lie side by side, in four floats each.
struct Triple {
    Lanes<1> a, b, c;
};
// to[index[lane]] += the lane's three values, one lane after the other.
template <int N>
FSRS_INLINE void scatter_add(float *to, const int32_t *index, Lanes<N> a, Lanes<N> b, Lanes<N> c) {
#if defined(__SSE2__)
    alignas(64) float from[3][N * kVector];
    store(from[0], a), store(from[1], b), store(from[2], c);
    for (int lane = 0; lane < N * kVector; lane += 4) {
        __m128 p = _mm_load_ps(from[0] + lane), q = _mm_load_ps(from[1] + lane), r = _mm_load_ps(from[2] + lane), s{};
        _MM_TRANSPOSE4_PS(p, q, r, s);
        auto add = [&](int k, __m128 x) FSRS_INLINE_BODY {
            float *place = to + 4 * size_t(index[lane + k]);
            _mm_store_ps(place, _mm_add_ps(_mm_load_ps(place), x));
        };
        add(0, p), add(1, q), add(2, r), add(3, s);
    }
#else
    FSRS_EACH for (int lane = 0; lane < kVector; ++lane) {
        float *place = to + 4 * size_t(index[i * kVector + lane]);
        place[0] += a.v[i][lane], place[1] += b.v[i][lane], place[2] += c.v[i][lane];
    }
#endif
}
// The sums of a register of places.
FSRS_INLINE Triple load_triple(const float *from) {
    Triple t;
#if defined(__SSE2__)
    __m128 row[3][kVector / 4];
    for (int k = 0; k < kVector / 4; ++k, from += 16) {
        __m128 p = _mm_load_ps(from), q = _mm_load_ps(from + 4), r = _mm_load_ps(from + 8), s = _mm_load_ps(from + 12);
        _MM_TRANSPOSE4_PS(p, q, r, s);
        row[0][k] = p, row[1][k] = q, row[2][k] = r;
    }
#if defined(__AVX512F__)
    auto join = [](const __m128 *x) FSRS_INLINE_BODY {
        return (VFloat)_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_set_m128(x[1], x[0])), _mm256_set_m128(x[3], x[2]), 1);
    };
#elif defined(__AVX2__)
    auto join = [](const __m128 *x) FSRS_INLINE_BODY { return (VFloat)_mm256_set_m128(x[1], x[0]); };
#else
    auto join = [](const __m128 *x) FSRS_INLINE_BODY { return (VFloat)x[0]; };
#endif
    t.a.v[0] = join(row[0]), t.b.v[0] = join(row[1]), t.c.v[0] = join(row[2]);
#else
    for (int lane = 0; lane < kVector; ++lane, from += 4)
        t.a.v[0][lane] = from[0], t.b.v[0][lane] = from[1], t.c.v[0][lane] = from[2];
#endif
    return t;
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
