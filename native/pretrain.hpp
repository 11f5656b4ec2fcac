// The pretrain stage's search for w0..w3; training/pretrain.py in C++.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fsrs {

// First long-term reviews of one first rating: per delta_t (days, > 0) the recall (smoothed) and count.
struct FirstReviews {
    const double *delta_t, *recall, *count;
    size_t n;
};

// The S0 in [low, high] that minimizes sum(count BCE(recall, R(delta_t, S0))) + |S0 - centre| / 16.
double initial_stability(const FirstReviews &reviews, double centre, double w20, double low, double high);

struct FirstRatingItems {  // [n] each
    const bool *kept;  // by the outlier filter
    const int32_t *long_term_count;
    const int8_t *first_rating;  // 1..4
    const int32_t *delta_t;      // > 0
    const bool *label;
    size_t n;
};

struct InitialStabilities {
    double stability[4];  // NaN where a first rating has no item
    int64_t n_items[4];
};

// The S0 of each first rating, from the kept items with a long-term count of 1. Throws std::invalid_argument for ratings
// and days that no item has.
InitialStabilities initial_stabilities(const FirstRatingItems &items, const double *centre, double w20, double low,
                                       double high);

}  // namespace fsrs
