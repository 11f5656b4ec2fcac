// What the kernels of every instruction set share: plain data, no templates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fsrs {

constexpr int kParameters = 21;
constexpr int kLanes = 32;  // cards side by side in a group: a multiple of every strip
constexpr int kFisher = kParameters * kParameters;
constexpr double kStabilityMin = 0.001, kStabilityMax = 36500.0;
constexpr double kDifficultyMin = 1.0, kDifficultyMax = 10.0;
constexpr double kRecallMin = 1e-7;

// The parameters and what follows from them, computed in double and rounded once.
struct Constants {
    float w[kParameters];
    float factor;          // 0.9^(1 / decay) - 1
    float factor_slope;    // -w20 d(ln factor)/dw20
    float log_w11;
    float same_day_good;   // w17 w18
    float lapse_ceiling;   // exp(-w17 w18)
    float difficulty_easy; // D0(4), not clamped
    float first_stability[4], first_difficulty[4];
    // for the last, exact step of the chain rule
    double exact_w[kParameters];
    double first_difficulty_w4[4], first_difficulty_w5[4], difficulty_easy_w5;
};

Constants constants(const double *w);

// Up to kLanes cards with the same first rating, longest first. Step s of lane l has its days, rating and weight at
// slots[(3 s + {0, 1, 2}) * kLanes + l]; the first review of a card takes no slot.
struct Group {
    size_t slot;          // where slots begin
    int32_t steps;        // of the longest lane: its reviews - 1
    int32_t first_rating; // 1..4
};

struct Packed {
    const float *slots;
    const Group *groups;
    const int32_t *lane_reviews;  // [groups, kLanes]: reviews of the lane's card, 0 = no card
    const int64_t *lane_start;    // [groups, kLanes]: where the card's first review lies in the input
};

struct Output {  // one value per review, in the order of the input
    double *retrievability, *stability, *difficulty;
};

// One block of groups, all with the same first rating. `sums` receives loss, gradient [21], Fisher matrix [21, 21].
struct Kernel {
    const char *isa;
    int strip;
    size_t (*workspace)(int steps);  // bytes, aligned to 64
    void (*loss)(const Packed &, size_t begin, size_t end, const Constants &, void *workspace, double *sums);
    void (*gradient)(const Packed &, size_t begin, size_t end, const Constants &, void *workspace, double *sums);
    void (*fisher)(const Packed &, size_t begin, size_t end, const Constants &, void *workspace, double *sums);
    void (*forward)(const Packed &, size_t begin, size_t end, const Constants &, void *workspace, const Output &);
    // exp, expm1, log, log1p (which = 0..3) of `strip` numbers, for tests of their error
    void (*math)(int which, const float *x, float *y);
};

extern const Kernel kBaseline;
#if defined(FSRS_X86)
extern const Kernel kAvx2, kAvx512;
#endif

}  // namespace fsrs
