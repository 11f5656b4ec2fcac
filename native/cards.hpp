// The training set as whole cards: training/data.py's windowed_batch in C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fsrs {

// Histories card after card, and items. Nothing is assumed about the values.
struct CardsAndItems {
    const int64_t *offsets;  // [n_cards + 1]
    const int8_t *rating;
    const int32_t *delta_t;
    size_t n_cards, n_reviews;
    const int64_t *review, *card;  // [n_items], both as indices
    const double *weight;
    size_t n_items;
};

// Where the reviews of each card up to its last item go: cards in the order in which they first have an item. Cards
// without items are left away.
struct WholeCards {
    std::vector<int64_t> offsets{0};
    std::vector<int64_t> cards;  // [offsets.size() - 1]

    // Throws std::invalid_argument with one sentence when an index is out of bounds.
    explicit WholeCards(const CardsAndItems &from);
    // [offsets.back()] each; reviews that are no items weigh 0.
    void copy(const CardsAndItems &from, int8_t *rating, int32_t *delta_t, double *weight) const;
};

}  // namespace fsrs
