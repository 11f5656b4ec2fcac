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

struct PowerOfTwo {
    Lanes scale;  // 2^n
    Lanes rest;   // expm1(x - n ln 2)
};

// exp(x) = scale * (1 + rest); x in [-87, 88].
FSRS_INLINE PowerOfTwo split_exp(Lanes x) {
    PowerOfTwo e;
    Lanes shifted = fma(x, kLog2e, kRounder);
    Lanes n = shifted - kRounder;
    Lanes r = fma(n, -kLn2Low, fma(n, -kLn2High, x));
    Lanes p = fma(r, 1.38825165e-3f, 8.36654752e-3f);
    p = fma(p, r, 4.16672006e-2f);
    p = fma(p, r, 1.66665435e-1f);
    p = fma(p, r, 0.49999997f);
    e.rest = fma(p, r * r, r);
    FSRS_EACH e.scale.v[i] = (VFloat)(((VBits)shifted.v[i] << 23) + 0x3f800000u);
    return e;
}

FSRS_INLINE Lanes exp(Lanes x) {
    PowerOfTwo e = split_exp(x);
    return fma(e.scale, e.rest, e.scale);
}

FSRS_INLINE Lanes expm1(Lanes x) {
    PowerOfTwo e = split_exp(x);
    return fma(e.scale, e.rest, e.scale - 1.0f);
}

// log(u + u * correction) for u > 0 and normal; `lost` is what rounding took from u.
FSRS_INLINE Lanes log_of_sum(Lanes u, Lanes lost) {
    Lanes exponent, f;
    FSRS_EACH {
        VInt bits = (VInt)u.v[i];
        VInt e = (bits - 0x3f3504f3) & (VInt)(VBits{} + 0xff800000u);  // 2^e <= u * sqrt(2) < 2^(e + 1)
        exponent.v[i] = __builtin_convertvector(e >> 23, VFloat);
        f.v[i] = (VFloat)(bits - e) - splat(1.0f);
        f.v[i] = f.v[i] + lost.v[i] * (VFloat)(0x3f800000 - e);  // lost * 2^-e
    }
    Lanes s = f / (f + 2.0f);
    Lanes z = s * s;
    Lanes p = fma(z, 0.298728257f, 0.399775028f);
    p = fma(p, z, 0.666667759f);
    p = fma(p, z, 2.0f);
    return fma(exponent, all(kLn2), p * s);
}

FSRS_INLINE Lanes log(Lanes x) { return log_of_sum(x, all(0.0f)); }

// x >= 0
FSRS_INLINE Lanes log1p(Lanes x) {
    Lanes u = x + 1.0f;
    Lanes most = u - 1.0f;
    Lanes lost = (x - most) + (1.0f - (u - most));
    return log_of_sum(u, lost);
}

}  // namespace
