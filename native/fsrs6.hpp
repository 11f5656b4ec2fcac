// FSRS-6 over lanes: one review's step, and its partial derivatives beside each formula.
//
// S stability, D difficulty, R retrievability, forgotten = 1 - R (kept beside R: each is exact where it is small).
#pragma once

#include "kernel.hpp"
#include "math.hpp"

namespace {

using fsrs::Constants;

constexpr float kSMin = float(fsrs::kStabilityMin), kSMax = float(fsrs::kStabilityMax);
constexpr float kDMin = float(fsrs::kDifficultyMin), kDMax = float(fsrs::kDifficultyMax);
constexpr float kRMin = float(fsrs::kRecallMin);
constexpr float kLogRMin = -16.1180957f;  // ln 1e-7

template <int N>
struct Review {
    Lanes<N> delta_t, rating, weight;
    Mask<N> again, same_day, lapse;  // lapse: Again on a later day
};

template <int N>
FSRS_INLINE Review<N> review(const fsrs::Block &block, int slot) {
    Review<N> r;
    r.delta_t = load<N>(block.delta_t + slot);
    r.rating = load<N>(block.rating + slot);
    r.weight = load<N>(block.weight + slot);
    r.again = r.rating == 1.0f;
    r.same_day = r.delta_t == 0.0f;
    r.lapse = and_not(r.again, r.same_day);
    return r;
}

// What a step computes that its derivatives need again. Stability and difficulty are before the review, not yet clamped.
template <int N>
struct Trace {
    Lanes<N> stability, difficulty;
    Lanes<N> recall, forgotten;      // R and 1 - R
    Lanes<N> log_growth;             // -ln R / w20
    Lanes<N> curve_slope;            // (factor t / S) / (1 + factor t / S) / S
    Lanes<N> log_base;               // ln D for a lapse, else ln S
    Lanes<N> log_s1;                 // ln(S + 1)
    Lanes<N> power, gain, inc;       // the formulas' exp(..), exp(..) - 1, and gain + 1, exact near 0 too
};

// In memory, the trace of a register is kTraceRows registers.
constexpr int kTraceRows = sizeof(Trace<1>) / sizeof(Lanes<1>);

template <int N>
FSRS_INLINE void store_trace(float *to, const Trace<N> &x) {
    const Lanes<N> *rows = &x.stability;
    for (int k = 0; k < kTraceRows; ++k) FSRS_EACH store(to + (i * kTraceRows + k) * kVector, Lanes<1>{{rows[k].v[i]}});
}
FSRS_INLINE Trace<1> load_trace(const float *from) {
    Trace<1> x;
    Lanes<1> *rows = &x.stability;
    for (int k = 0; k < kTraceRows; ++k) rows[k] = load<1>(from + k * kVector);
    return x;
}

template <int N>
FSRS_INLINE Lanes<N> rating_factor(const Constants &c, const Review<N> &r) {  // h b: w15 for Hard, w16 for Easy, else 1
    return select(r.rating == 2.0f, all<N>(c.w[15]), select(r.rating == 4.0f, all<N>(c.w[16]), 1.0f));
}

// R(t, S) = (1 + factor t / S)^-w20, from the clamped stability.
template <int N>
FSRS_INLINE void forgetting_curve(const Constants &c, const Review<N> &r, Lanes<N> S, Trace<N> &x) {
    Lanes<N> inverse = 1.0f / S;
    Lanes<N> elapsed = c.factor * r.delta_t * inverse;
    x.log_growth = log1p(elapsed);
    PowerOfTwo<N> R = split_exp(-c.w[20] * x.log_growth);
    x.recall = exp(R);
    x.forgotten = -expm1(R);
    x.curve_slope = elapsed / (elapsed + 1.0f) * inverse;
}

// Partial derivatives of 1 - R = 1 - (1 + factor t / S)^-w20, both divided by R, S being the clamped stability.
template <int N>
FSRS_INLINE void curve_partials(const Constants &c, const Trace<N> &x, Lanes<N> S, Lanes<N> &by_S, Lanes<N> &by_w20) {
    by_S = -c.w[20] * x.curve_slope;
    by_w20 = fma(x.curve_slope * S, -c.factor_slope, x.log_growth);
}

// The state after the review, not yet clamped.
template <int N>
FSRS_INLINE void advance(const Constants &c, const Review<N> &r, Trace<N> &x, Lanes<N> &stability, Lanes<N> &difficulty) {
    x.stability = stability;
    x.difficulty = difficulty;
    Lanes<N> S = clamp(stability, kSMin, kSMax);
    Lanes<N> D = clamp(difficulty, kDMin, kDMax);
    forgetting_curve(c, r, S, x);
    x.log_base = log(select(r.lapse, D, S));
    x.log_s1 = log1p(S);
    // same day: inc = gain + 1 = exp(w17 (G - 3 + w18)) S^-w19
    Lanes<N> same = fma(x.log_base, -c.w[19], fma(r.rating - 3.0f, c.w[17], c.same_day_good));
    // lapse: power * gain = w11 D^-w12 exp(w14 (1 - R)) * ((S + 1)^w13 - 1)
    // success: power * gain = exp(w8) S^-w9 * (exp(w10 (1 - R)) - 1)
    PowerOfTwo<N> e = split_exp(select(r.same_day, same, select(r.lapse, c.w[13] * x.log_s1, c.w[10] * x.forgotten)));
    x.gain = expm1(e);
    x.inc = exp(e);
    x.power = exp(select(r.lapse, fma(x.forgotten, c.w[14], fma(x.log_base, -c.w[12], c.log_w11)),
                         fma(x.log_base, -c.w[9], c.w[8])));
    // same day: S' = S max(inc, 1), without the max for Again
    Lanes<N> kept = S * select(r.again, x.inc, max(x.inc, 1.0f));
    // success: S' = S (1 + power (11 - D) gain h b)
    Lanes<N> increase = x.power * x.gain * ((11.0f - D) * rating_factor(c, r));
    // lapse: S' = min(power gain, S / exp(w17 w18))
    Lanes<N> lapsed = min(x.power * x.gain, S * c.lapse_ceiling);
    stability = select(r.same_day, kept, select(r.lapse, lapsed, fma(S, increase, S)));
    // D1 = D - w6 (G - 3) (10 - D) / 9;  D' = w7 (D0(4) - D1) + D1
    Lanes<N> D1 = fma((10.0f - D) * (r.rating - 3.0f), -c.w[6] / 9.0f, D);
    difficulty = fma(c.difficulty_easy - D1, c.w[7], D1);
}

// Partial derivatives of S' and D' before their clamps, zero where the branch was not taken.
template <int N>
struct Partials {
    Lanes<N> S, D, forgotten;               // of S' with respect to the state and to 1 - R
    Lanes<N> w8, w9, w10, w15, w16;         // success
    Lanes<N> log_w11, w12, w13, w14;        // lapse
    Lanes<N> w17_w18, w17_rating, w19;      // same day (and the lapse's ceiling): d/d(w17 w18), d/dw17 through w17 (G - 3)
    Lanes<N> difficulty_D, w6, w7;          // of D'; its derivative with respect to D0(4) is w7
    Lanes<N> forgotten_S, forgotten_w20;    // of 1 - R, both divided by R
    Mask<N> stability_inside, difficulty_inside;  // the clamp of the state before the review lets the gradient pass
};

template <int N>
FSRS_INLINE Partials<N> partials(const Constants &c, const Review<N> &r, const Trace<N> &x) {
    Partials<N> p;
    Lanes<N> S = clamp(x.stability, kSMin, kSMax);
    Lanes<N> D = clamp(x.difficulty, kDMin, kDMax);
    p.stability_inside = S == x.stability;
    p.difficulty_inside = D == x.difficulty;

    curve_partials(c, x, S, p.forgotten_S, p.forgotten_w20);

    // success: S' = S (1 + power (11 - D) gain h b), power = exp(w8) S^-w9, gain = exp(w10 (1 - R)) - 1
    Mask<N> not_success = r.same_day | r.lapse;
    Lanes<N> h_b = rating_factor(c, r);
    Lanes<N> rate = drop(not_success, x.power * (11.0f - D));
    Lanes<N> increase = rate * h_b * x.gain;                  // S' / S - 1
    Lanes<N> steepness = S * rate * h_b * x.inc;      // dS' / d(w10 (1 - R))
    p.w8 = S * increase;
    p.w9 = -p.w8 * x.log_base;
    p.w10 = steepness * x.forgotten;
    Lanes<N> unscaled = S * rate * x.gain;
    p.w15 = keep(r.rating == 2.0f, unscaled);
    p.w16 = keep(r.rating == 4.0f, unscaled);

    // lapse: S' = min(power gain, S / exp(w17 w18)), power = w11 D^-w12 exp(w14 (1 - R)), gain = (S + 1)^w13 - 1
    Lanes<N> ceiling = S * c.lapse_ceiling;
    Lanes<N> after = x.power * x.gain;
    Mask<N> formula = r.lapse & (after <= ceiling);
    Lanes<N> base = keep(formula, x.power * x.inc);   // dS' / d(w13 ln(S + 1))
    p.log_w11 = keep(formula, after);
    p.w12 = -p.log_w11 * x.log_base;
    p.w13 = base * x.log_s1;
    p.w14 = p.log_w11 * x.forgotten;

    // same day: S' = S max(inc, 1), inc = exp(w17 (G - 3 + w18)) S^-w19; the raw side counts at a tie
    Mask<N> raw = r.same_day & (r.again | (x.gain >= 0.0f));
    Lanes<N> moved = keep(raw, S * x.inc);
    p.w17_w18 = moved - keep(and_not(r.lapse, formula), ceiling);
    p.w17_rating = moved * (r.rating - 3.0f);
    p.w19 = -moved * x.log_base;

    Lanes<N> same_day_S = select(raw, x.inc * (1.0f - c.w[19]), 1.0f);
    Lanes<N> lapse_S = select(formula, base * c.w[13] / (S + 1.0f), c.lapse_ceiling);
    Lanes<N> success_S = fma(increase, 1.0f - c.w[9], 1.0f);
    p.S = select(r.same_day, same_day_S, select(r.lapse, lapse_S, success_S));
    p.D = -fma(p.log_w11 / D, c.w[12], S * x.power * x.gain * drop(not_success, h_b));
    p.forgotten = fma(steepness, c.w[10], c.w[14] * p.log_w11);

    // D1 = D - w6 (G - 3) (10 - D) / 9;  D' = w7 (D0(4) - D1) + D1
    Lanes<N> toward = (r.rating - 3.0f) * (-1.0f / 9.0f);
    Lanes<N> D1 = fma((10.0f - D) * toward, c.w[6], D);
    p.difficulty_D = (1.0f - c.w[7]) * (1.0f - c.w[6] * toward);
    p.w6 = (1.0f - c.w[7]) * ((10.0f - D) * toward);
    p.w7 = c.difficulty_easy - D1;
    return p;
}

}  // namespace
