#include "cards.hpp"

#include <algorithm>
#include <stdexcept>

namespace fsrs {

WholeCards::WholeCards(const CardsAndItems &from) {
    const int64_t n_cards = int64_t(from.n_cards), n_reviews = int64_t(from.n_reviews);
    for (size_t c = 0; c < from.n_cards; ++c)
        if (from.offsets[c] < 0 || from.offsets[c] > from.offsets[c + 1] || from.offsets[c + 1] > n_reviews)
            throw std::invalid_argument("offsets must rise from 0 to at most the number of reviews");
    std::vector<int64_t> end(from.offsets, from.offsets + n_cards);
    cards.reserve(std::min(from.n_cards, from.n_items));
    for (size_t i = 0; i < from.n_items; ++i) {
        const int64_t card = from.card[i], review = from.review[i];
        if (card < 0 || card >= n_cards || review < from.offsets[card] || review >= from.offsets[card + 1])
            throw std::invalid_argument("an item must be a review of its card");
        int64_t &end_ = end[size_t(card)];
        if (end_ == from.offsets[card]) cards.push_back(card);
        end_ = std::max(end_, review + 1);
    }
    offsets.reserve(cards.size() + 1);
    for (int64_t card : cards) offsets.push_back(offsets.back() + end[size_t(card)] - from.offsets[card]);
}

void WholeCards::copy(const CardsAndItems &from, int8_t *rating, int32_t *delta_t, double *weight) const {
    std::fill_n(weight, offsets.back(), 0.0);
    std::vector<int64_t> moved(from.n_cards);  // from a review's place there to its place here
    for (size_t k = 0; k < cards.size(); ++k) {
        const int64_t first = from.offsets[cards[k]], n = offsets[k + 1] - offsets[k];
        std::copy_n(from.rating + first, n, rating + offsets[k]);
        std::copy_n(from.delta_t + first, n, delta_t + offsets[k]);
        moved[size_t(cards[k])] = offsets[k] - first;
    }
    for (size_t i = 0; i < from.n_items; ++i) weight[from.review[i] + moved[size_t(from.card[i])]] = from.weight[i];
}

}  // namespace fsrs
