#include "pretrain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace fsrs {

namespace {

constexpr int kGrid = 17;

// The first term and its derivatives by x = ln S0.
struct Loss {
    double value = 0, slope = 0, curvature = 0;
};

Loss loss(const FirstReviews &reviews, double x, double w20, double factor) {
    Loss l;
    const double inverse = std::exp(-x);
    for (size_t i = 0; i < reviews.n; ++i) {
        const double elapsed = factor * reviews.delta_t[i] * inverse, log_r = -w20 * std::log1p(elapsed);
        const double r = std::exp(log_r), forgotten = std::max(-std::expm1(log_r), 1e-12);
        const double p = reviews.recall[i], n = reviews.count[i];
        const double g = w20 * elapsed / (1 + elapsed);  // d ln R / dx
        const double off = (p - r) / forgotten;
        l.value -= n * (p * log_r + (1 - p) * std::log(forgotten));
        l.slope -= n * g * off;
        l.curvature += n * g * (off / (1 + elapsed) + g * r * (1 - p) / (forgotten * forgotten));
    }
    return l;
}

}  // namespace

double initial_stability(const FirstReviews &reviews, double centre, double w20, double low, double high) {
    const double factor = std::expm1(-std::log(0.9) / w20);
    auto total = [&](double x) {
        return loss(reviews, x, w20, factor).value + std::abs(std::exp(x) - centre) / 16;
    };
    // In x = ln S0 the first term is convex. So is the second above its kink, and below it is concave.
    const double kink = std::log(centre), at_kink = loss(reviews, kink, w20, factor).slope;
    double left = std::log(low), right = std::log(high), pull = 1;  // pull: the sign of the second term's slope
    if (at_kink <= 0) {
        if (at_kink >= -centre / 16) return centre;  // it goes down to here from both sides
        left = kink;
    } else {
        right = kink, pull = -1;
        // Convex and concave together might have several valleys; where they rise to here, no case with more than one is known.
        if (at_kink <= centre / 16) {  // it goes down to here at last, but may have had a valley before
            // Where the first term falls both do: a valley lies between the first term's minimum and here.
            double first = left, beyond = kink;
            if (loss(reviews, first, w20, factor).slope < 0) {
                for (int k = 0; k < 40; ++k) {
                    const double middle = (first + beyond) / 2;
                    (loss(reviews, middle, w20, factor).slope < 0 ? first : beyond) = middle;
                }
            }
            const double step = (kink - first) / (kGrid - 1);
            int best = kGrid - 1;
            double least = total(kink);
            for (int k = 0; k + 1 < kGrid; ++k)
                if (const double here = total(first + k * step); here < least) least = here, best = k;
            if (best == kGrid - 1) return centre;
            left = first + std::max(best - 1, 0) * step, right = first + (best + 1) * step;
        }
    }
    // Newton's method, halving where it would leave the bracket
    double x = std::clamp(kink, left, right);
    for (int iteration = 0; iteration < 100; ++iteration) {
        const Loss l = loss(reviews, x, w20, factor);
        const double slope = l.slope + pull * std::exp(x) / 16, curvature = l.curvature + pull * std::exp(x) / 16;
        (slope > 0 ? right : left) = x;
        double next = x - slope / curvature;
        if (!(next > left && next < right)) next = (left + right) / 2;
        if (std::abs(next - x) < 1e-12) break;
        x = next;
    }
    const double found = std::clamp(std::exp(x), low, high);
    return total(kink) <= total(x) ? centre : found;
}

InitialStabilities initial_stabilities(const FirstRatingItems &items, const double *centre, double w20, double low,
                                       double high) {
    // delta_t and label of each first review as one number: in order, those of one delta_t lie side by side
    std::vector<uint32_t> of_rating[4];
    int64_t kept = 0, recalled = 0;
    for (size_t i = 0; i < items.n; ++i) {
        if (!items.kept[i]) continue;
        ++kept, recalled += items.label[i];
        if (items.long_term_count[i] != 1) continue;
        if (items.first_rating[i] < 1 || items.first_rating[i] > 4 || items.delta_t[i] < 1)
            throw std::invalid_argument("an item has a first rating from 1 to 4 and a delta_t above 0");
        of_rating[items.first_rating[i] - 1].push_back(uint32_t(items.delta_t[i]) << 1 | uint32_t(items.label[i]));
    }
    const double average_recall = double(recalled) / double(kept);
    InitialStabilities found;
    for (int k = 0; k < 4; ++k) {
        std::vector<uint32_t> &mine = of_rating[k];
        found.stability[k] = std::numeric_limits<double>::quiet_NaN();
        found.n_items[k] = int64_t(mine.size());
        if (mine.empty()) continue;
        std::sort(mine.begin(), mine.end());
        std::vector<double> delta_t, recall, count;
        for (size_t i = 0; i < mine.size();) {
            const uint32_t days = mine[i] >> 1;
            double n = 0, right = 0;
            for (; i < mine.size() && mine[i] >> 1 == days; ++i) ++n, right += mine[i] & 1;
            delta_t.push_back(days);
            recall.push_back((right / n * n + average_recall) / (n + 1));  // one review more of average recall
            count.push_back(n);
        }
        found.stability[k] =
            initial_stability({delta_t.data(), recall.data(), count.data(), delta_t.size()}, centre[k], w20, low, high);
    }
    return found;
}

}  // namespace fsrs
