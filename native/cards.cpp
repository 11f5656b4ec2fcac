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
    for (size_t i = 0; i < from.n_items; ++i) {
        const int64_t card = from.card[i], review = from.review[i];
        if (card < 0 || card >= n_cards || review < from.offsets[card] || review >= from.offsets[card + 1])
            throw std::invalid_argument("an item must be a review of its card");
        end[size_t(card)] = std::max(end[size_t(card)], review + 1);
    }
    offsets.reserve(from.n_cards + 1);
    cards.reserve(from.n_cards);
    std::vector<bool> seen(from.n_cards);
    for (size_t k = 0; k < from.n_cards; ++k) {
        const int64_t card = from.order[k];
        if (card < 0 || card >= n_cards || seen[size_t(card)])
            throw std::invalid_argument("order must hold the number of each card once");
        seen[size_t(card)] = true;
        const int64_t used = end[size_t(card)] - from.offsets[card];
        if (used == 0) continue;
        cards.push_back(card);
        offsets.push_back(offsets.back() + used);
    }
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
