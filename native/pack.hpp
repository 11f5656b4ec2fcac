// Histories -> lanes: cards of the same first rating and similar length side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
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

    Packed view() const;
    size_t reviews() const { return reviews_; }
    size_t slots() const { return slot_count_; }  // steps times lanes, padding included
    int longest() const { return longest_; }      // steps of the longest group
    // Ranges of groups that are summed on their own; they do not depend on the number of threads.
    const std::vector<std::pair<size_t, size_t>> &blocks() const { return blocks_; }

  private:
    size_t reviews_ = 0, slot_count_ = 0;
    int longest_ = 0;
    AlignedBytes slots_;
    std::vector<Group> groups_;
    std::vector<int32_t> lane_reviews_;
    std::vector<int64_t> lane_start_;
    std::vector<std::pair<size_t, size_t>> blocks_;
};

}  // namespace fsrs
