#include "pack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fsrs {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kBlockSlots = 8192;  // about 40 microseconds of work; small enough to share out a small log

void validate(const Histories &h) {
    if (h.n_offsets == 0) throw std::invalid_argument("offsets must hold n_cards + 1 numbers");
    if (h.offsets[0] != 0 || h.offsets[h.n_offsets - 1] != int64_t(h.n_reviews))
        throw std::invalid_argument("offsets must run from 0 to the number of reviews");
    for (size_t card = 0; card + 1 < h.n_offsets; ++card) {
        // differences of numbers in [0, n_reviews] cannot overflow
        if (h.offsets[card + 1] < h.offsets[card] || h.offsets[card + 1] > int64_t(h.n_reviews))
            throw std::invalid_argument("offsets must not decrease");
        if (h.offsets[card + 1] - h.offsets[card] >= std::numeric_limits<int32_t>::max())
            throw std::invalid_argument("a card has too many reviews");
    }
    int bad_rating = 0, bad_delta = 0, bad_weight = 0;
    for (size_t i = 0; i < h.n_reviews; ++i) {
        bad_rating |= h.rating[i] < 1 || h.rating[i] > 4;
        bad_delta |= h.delta_t[i] < 0;
        bad_weight |= !(h.weight[i] >= 0.0 && h.weight[i] <= 1e30);  // NaN fails too
    }
    if (bad_rating) throw std::invalid_argument("ratings must be 1, 2, 3 or 4");
    if (bad_delta) throw std::invalid_argument("delta_t must not be negative");
    if (bad_weight) throw std::invalid_argument("weights must be finite and not negative");
}

// Cards by (first rating ascending, reviews descending, position); empty cards are left out.
struct Order {
    std::vector<size_t> card;
    size_t count[4];  // per first rating
};

Order order_of_cards(const Histories &h) {
    const size_t cards = h.n_offsets - 1;
    Order order{{}, {0, 0, 0, 0}};
    int64_t longest = 0;
    for (size_t card = 0; card < cards; ++card) longest = std::max(longest, h.offsets[card + 1] - h.offsets[card]);
    // Lengths over the cap share a bucket (and are sorted below), so that one long card costs no memory.
    const int64_t cap = std::min<int64_t>(longest, 4096);
    std::vector<size_t> next(4 * size_t(cap) + 1, 0);
    auto bucket = [&](size_t card, int64_t reviews) {
        return size_t(h.rating[h.offsets[card]] - 1) * size_t(cap) + size_t(cap - std::min(reviews, cap));
    };
    for (size_t card = 0; card < cards; ++card) {
        int64_t reviews = h.offsets[card + 1] - h.offsets[card];
        if (reviews == 0) continue;
        ++next[bucket(card, reviews) + 1];
        ++order.count[h.rating[h.offsets[card]] - 1];
    }
    for (size_t b = 1; b < next.size(); ++b) next[b] += next[b - 1];
    order.card.resize(next.back());
    for (size_t card = 0; card < cards; ++card) {
        int64_t reviews = h.offsets[card + 1] - h.offsets[card];
        if (reviews) order.card[next[bucket(card, reviews)]++] = card;
    }
    if (longest > cap) {
        auto begin = order.card.begin();
        for (size_t count : order.count) {
            auto first_at_cap = std::find_if(begin, begin + count, [&](size_t card) {
                return h.offsets[card + 1] - h.offsets[card] <= cap;
            });
            std::stable_sort(begin, first_at_cap, [&](size_t a, size_t b) {
                return h.offsets[a + 1] - h.offsets[a] > h.offsets[b + 1] - h.offsets[b];
            });
            begin += count;
        }
    }
    return order;
}

}  // namespace

void FreeAligned::operator()(void *p) const { ::operator delete(p, std::align_val_t(kAlignment)); }

AlignedBytes allocate_aligned(size_t bytes) {
    AlignedBytes p(::operator new(std::max(bytes, kAlignment), std::align_val_t(kAlignment)));
#if defined(__linux__)
    // Fresh memory costs more to map page by page than a pass over it; ask for 2 MB pages, as numpy does.
    constexpr uintptr_t huge = uintptr_t(1) << 21;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(p.get()) + huge - 1) / huge * huge;
    const uintptr_t end = (reinterpret_cast<uintptr_t>(p.get()) + bytes) / huge * huge;
    if (begin < end) madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#endif
    return p;
}

Pack::Pack(const Histories &h) : reviews_(h.n_reviews) {
    validate(h);
    const Order order = order_of_cards(h);

    size_t slot = 0, block_slots = 0;
    auto card = order.card.begin();
    for (int rating = 1; rating <= 4; ++rating) {
        const size_t count = order.count[rating - 1];
        for (size_t done = 0; done < count; done += kLanes) {
            const bool new_block = done == 0 || block_slots >= kBlockSlots;
            if (new_block) {
                blocks_.emplace_back(groups_.size(), groups_.size());
                block_slots = 0;
            }
            const size_t lanes = std::min<size_t>(kLanes, count - done);
            for (size_t lane = 0; lane < kLanes; ++lane) {
                const bool used = lane < lanes;
                lane_start_.push_back(used ? h.offsets[card[lane]] : 0);
                lane_reviews_.push_back(used ? int32_t(h.offsets[card[lane] + 1] - h.offsets[card[lane]]) : 0);
            }
            card += lanes;
            const int32_t steps = lane_reviews_[groups_.size() * kLanes] - 1;
            groups_.push_back({slot, steps, rating});
            slot += size_t(steps) * 3 * kLanes;
            block_slots += size_t(steps) * kLanes;
            slot_count_ += size_t(steps) * kLanes;
            longest_ = std::max(longest_, steps);
            blocks_.back().second = groups_.size();
        }
    }

    slots_ = allocate_aligned(slot * sizeof(float));
    for (size_t g = 0; g < groups_.size(); ++g) {
        float *to = static_cast<float *>(slots_.get()) + groups_[g].slot;
        const int64_t *start = lane_start_.data() + g * kLanes;
        const int32_t *reviews = lane_reviews_.data() + g * kLanes;
        int lanes = kLanes;
        for (int32_t step = 1; step <= groups_[g].steps; ++step, to += 3 * kLanes) {
            while (reviews[lanes - 1] <= step) --lanes;  // the first lane reaches every step
            for (int lane = 0; lane < lanes; ++lane) {
                const int64_t from = start[lane] + step;
                to[lane] = float(h.delta_t[from]);
                to[kLanes + lane] = float(h.rating[from]);
                to[2 * kLanes + lane] = float(h.weight[from]);
            }
            for (int lane = lanes; lane < kLanes; ++lane) {  // padding: an unscored Good on the same day
                to[lane] = 0.0f;
                to[kLanes + lane] = 3.0f;
                to[2 * kLanes + lane] = 0.0f;
            }
        }
    }
}

Packed Pack::view() const {
    return {static_cast<const float *>(slots_.get()), groups_.data(), lane_reviews_.data(), lane_start_.data()};
}

}  // namespace fsrs
