// Histories -> blocks: the cards sorted by their histories, and the trie of each run of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernel.hpp"

namespace fsrs {

struct FreeAligned {
    void operator()(void *p) const;
};
using AlignedBytes = std::unique_ptr<void, FreeAligned>;
AlignedBytes allocate_aligned(size_t bytes);  // 64 bytes; throws std::bad_alloc

// Reviews in the order of the input, card by card. Nothing is assumed about the values.
struct Histories {
    const int64_t *offsets;  // [n_offsets]
    size_t n_offsets;
    const int8_t *rating;
    const int32_t *delta_t;
    const double *weight;
    size_t n_reviews;
};

class Pack {
  public:
    // Throws std::invalid_argument with one sentence when a value is outside its range.
    explicit Pack(const Histories &histories);
    Pack(const Pack &) = delete;  // the blocks point into it
    Pack &operator=(const Pack &) = delete;

    size_t reviews() const { return reviews_; }
    size_t slots() const { return slots_; }  // nodes and padding
    const Largest &largest() const { return largest_; }
    // They depend on the histories alone, and so do sums over them, whatever the number of threads.
    const std::vector<Block> &blocks() const { return blocks_; }

  private:
    size_t reviews_ = 0, slots_ = 0;
    Largest largest_;
    std::vector<Block> blocks_;
    std::vector<AlignedBytes> memory_;  // what the blocks point to
    std::vector<Card> cards_;
};

}  // namespace fsrs
