// Cards in an order that puts those with the same beginning side by side.
#pragma once

#include <vector>

#include "pack.hpp"

namespace fsrs {

// Numbers of the cards that have reviews: by first rating, then by length class, then by their reviews one after the
// other. Long intervals count as equal, so cards of the same beginning need not be neighbours where these occur.
std::vector<size_t> sorted_cards(const Histories &);

}  // namespace fsrs
