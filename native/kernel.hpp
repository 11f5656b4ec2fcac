// What the kernels of every instruction set share: plain data, no templates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fsrs {

constexpr int kParameters = 21;
constexpr int kInitialStabilities = 4;  // w0..w3
constexpr int kPadding = 16;  // a level begins at a multiple of it: a whole register on every instruction set
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

struct Level {  // nodes after the same number of reviews, by slot; a level begins a register
    int32_t begin, end;
};

struct Card {
    int64_t start;             // where its first review lies in the input
    int32_t reviews, shared;   // shared: the reviews at its start whose nodes the card before in the block has too
};

// Consecutive cards of the sorted order, with the same first rating, and the trie of their histories. A node is a review
// with all before it; slot 0 is the first review, whose days and weight do not count. The sums of a block are its own.
struct Block {
    const float *delta_t, *rating, *weight;  // [n_slots]; weight is the sum over the reviews that fall on the node
    const int32_t *parent;                   // [n_slots]: the slot of the review before
    const int32_t *slot;                     // [nodes], in the order in which the cards bring them
    const Card *cards;                       // [n_cards]
    // Inner nodes, whose state a later scored review needs, level by level, the first review being the first; then the
    // other scored ones, whose parents are inner; then the rest, level by level, that only predictions need.
    const Level *inner, *rest;
    Level leaves;
    int32_t n_inner, n_rest, n_slots;  // numbers of levels, and of slots
    int64_t n_cards;
    int first_rating;                  // 1..4
};

// The largest of any block: what a workspace must have room for.
struct Largest {
    size_t slots = 0, inner_slots = 0, width = 0, levels = 0;  // width: slots of a level of inner nodes
};

struct Output {  // one value per review, in the order of the input
    double *retrievability, *stability, *difficulty;
};

// Passes over one block. `sums` receives loss, gradient [21], Fisher matrix [21, 21].
struct Kernel {
    const char *isa;
    int strip;
    size_t (*workspace)(const Largest &);  // bytes, aligned to 64
    void (*loss)(const Block &, const Constants &, void *workspace, double *sums);
    void (*gradient)(const Block &, const Constants &, void *workspace, double *sums);
    void (*fisher)(const Block &, const Constants &, void *workspace, double *sums);
    void (*forward)(const Block &, const Constants &, void *workspace, const Output &);
    // exp, expm1, log, log1p (which = 0..3) of `strip` numbers, for tests of their error
    void (*math)(int which, const float *x, float *y);
};

extern const Kernel kBaseline;
#if defined(FSRS_X86)
extern const Kernel kAvx2, kAvx512;
#endif

}  // namespace fsrs
