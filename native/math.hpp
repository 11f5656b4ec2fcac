// exp, expm1, log and log1p over lanes: range reduction and minimax polynomials fitted for this file.
//
// Largest relative error against the exact value, over the arguments named (tests/model/test_native_math.py):
// 2.5e-7 each, of which the polynomials are 1.4e-8 (exp) and 1e-9 (log); the rest is float32 rounding.
#pragma once

#include "vec.hpp"

namespace {

constexpr float kLog2e = 1.44269504f;
constexpr float kLn2High = 0.693359375f;  // few bits: a product with a small integer is exact
constexpr float kLn2Low = -2.12194440e-4f;
constexpr float kLn2 = 0.693147181f;
constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, held in the low bits

template <int N>
struct PowerOfTwo {
    Lanes<N> scale;  // 2^n
    Lanes<N> rest;   // expm1(x - n ln 2)
};

// exp(x) = scale * (1 + rest); x in [-87, 88].
template <int N>
FSRS_INLINE PowerOfTwo<N> split_exp(Lanes<N> x) {
    PowerOfTwo<N> e;
    Lanes<N> shifted = fma(x, kLog2e, kRounder);
    Lanes<N> n = shifted - kRounder;
    Lanes<N> r = fma(n, -kLn2Low, fma(n, -kLn2High, x));
    Lanes<N> p = fma(r, 1.38825165e-3f, 8.36654752e-3f);
    p = fma(p, r, 4.16672006e-2f);
    p = fma(p, r, 1.66665435e-1f);
    p = fma(p, r, 0.49999997f);
    e.rest = fma(p, r * r, r);
    FSRS_EACH e.scale.v[i] = (VFloat)(((VBits)shifted.v[i] << 23) + 0x3f800000u);
    return e;
}

template <int N>
FSRS_INLINE Lanes<N> exp(PowerOfTwo<N> e) { return fma(e.scale, e.rest, e.scale); }
template <int N>
FSRS_INLINE Lanes<N> expm1(PowerOfTwo<N> e) { return fma(e.scale, e.rest, e.scale - 1.0f); }
template <int N>
FSRS_INLINE Lanes<N> exp(Lanes<N> x) { return exp(split_exp(x)); }
template <int N>
FSRS_INLINE Lanes<N> expm1(Lanes<N> x) { return expm1(split_exp(x)); }

// x = 2^exponent (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for x > 0 and normal; inverse = 2^-exponent.
template <int N>
struct Fraction {
    Lanes<N> exponent, f, inverse;
};
template <int N>
FSRS_INLINE Fraction<N> split_log(Lanes<N> x) {
    Fraction<N> r;
    FSRS_EACH {
        VInt bits = (VInt)x.v[i];
        VInt e = (bits - 0x3f3504f3) & (VInt)(VBits{} + 0xff800000u);
        r.exponent.v[i] = __builtin_convertvector(e >> 23, VFloat);
        r.f.v[i] = (VFloat)(bits - e) - splat(1.0f);
        r.inverse.v[i] = (VFloat)(0x3f800000 - e);
    }
    return r;
}
template <int N>
FSRS_INLINE Lanes<N> log_of(Lanes<N> exponent, Lanes<N> f) {  // exponent ln 2 + log1p(f) = ... + 2 atanh(f / (2 + f))
    Lanes<N> s = f / (f + 2.0f);
    Lanes<N> z = s * s;
    Lanes<N> p = fma(z, 0.298728257f, 0.399775028f);
    p = fma(p, z, 0.666667759f);
    p = fma(p, z, 2.0f);
    return fma(exponent, kLn2, p * s);
}

template <int N>
FSRS_INLINE Lanes<N> log(Lanes<N> x) {
    Fraction<N> r = split_log(x);
    return log_of(r.exponent, r.f);
}

// log(x + lost), lost being what rounding took from x.
template <int N>
FSRS_INLINE Lanes<N> log(Lanes<N> x, Lanes<N> lost) {
    Fraction<N> r = split_log(x);
    return log_of(r.exponent, fma(lost, r.inverse, r.f));
}

// x >= 0. What rounding takes from 1 + x goes into f.
template <int N>
FSRS_INLINE Lanes<N> log1p(Lanes<N> x) {
    Lanes<N> u = x + 1.0f;
    Lanes<N> most = u - 1.0f;
    Lanes<N> lost = (x - most) + (1.0f - (u - most));
    return log(u, lost);
}

}  // namespace
