// The pretrain stage's one-dimensional fit; training/pretrain.py in C++.
#pragma once

#include <cstddef>

namespace fsrs {

// First long-term reviews of one first rating: per delta_t (days, > 0) the recall, smoothed and inside (0, 1), and count.
struct FirstReviews {
    const double *delta_t, *recall, *count;
    size_t n;
};

// The S0 in [low, high] that minimizes sum(count BCE(recall, R(delta_t, S0))) + |S0 - centre| / 16.
double initial_stability(const FirstReviews &reviews, double centre, double w20, double low, double high);

}  // namespace fsrs
