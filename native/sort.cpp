#include "sort.hpp"

#include <algorithm>
#include <utility>

namespace fsrs {

namespace {

constexpr int kCode = 11, kChunk = 5;               // bits of a review, reviews of a key
constexpr int32_t kLongest = (1 << kCode) / 4 - 2;  // longer intervals count as this one
constexpr size_t kSmall = 192;                      // up to here comparing is quicker than counting digits

struct Entry {
    uint64_t key;
    size_t card;
};

// kChunk reviews of the card from `first` on, 0 where it has ended.
uint64_t key_of(const Histories &h, size_t card, int64_t first) {
    const int64_t from = h.offsets[card] + first, end = std::min(from + kChunk, h.offsets[card + 1]);
    uint64_t key = 0;
    for (int64_t i = from; i < end; ++i)
        key = key << kCode | uint64_t(4 * std::min(h.delta_t[i], kLongest) + h.rating[i]);
    return key << kCode * (from + kChunk - std::max(end, from));
}

// Long cards share little, and a few of them in a block of short ones would fill its registers badly: they come last,
// in classes by the power of two.
uint64_t length_class(int64_t reviews) {
    uint64_t k = 0;
    while (reviews >> k > 64) ++k;
    return k;
}

void sort(Entry *begin, Entry *end, std::vector<Entry> &spare) {
    const size_t n = size_t(end - begin);
    if (n <= kSmall) {
        std::sort(begin, end, [](const Entry &a, const Entry &b) { return a.key < b.key; });
        return;
    }
    constexpr int kDigits = 8;
    std::vector<size_t> count(kDigits * 256, 0);
    for (const Entry *e = begin; e < end; ++e)
        for (int d = 0; d < kDigits; ++d) ++count[size_t(d) * 256 + (e->key >> 8 * d & 255)];
    if (spare.size() < n) spare.resize(n);
    Entry *from = begin, *to = spare.data();
    for (int d = 0; d < kDigits; ++d) {
        size_t *next = count.data() + size_t(d) * 256;
        if (next[from->key >> 8 * d & 255] == n) continue;  // all the same
        size_t total = 0;
        for (int digit = 0; digit < 256; ++digit) total += std::exchange(next[digit], total);
        for (size_t i = 0; i < n; ++i) to[next[from[i].key >> 8 * d & 255]++] = from[i];
        std::swap(from, to);
    }
    if (from != begin) std::copy(from, from + n, begin);
}

}  // namespace

std::vector<size_t> sorted_cards(const Histories &h) {
    std::vector<Entry> entries, spare;
    entries.reserve(h.n_offsets - 1);
    for (size_t card = 0; card + 1 < h.n_offsets; ++card) {
        const int64_t reviews = h.offsets[card + 1] - h.offsets[card];
        if (reviews == 0) continue;
        const uint64_t top = uint64_t(h.rating[h.offsets[card]] - 1) << 6 | length_class(reviews);
        entries.push_back({top << kChunk * kCode | key_of(h, card, 1), card});
    }
    sort(entries.data(), entries.data() + entries.size(), spare);

    // Runs of the same key, by the reviews that follow.
    struct Run {
        size_t begin, end;
        int64_t next;
    };
    std::vector<Run> runs;
    auto split = [&](size_t begin, size_t end, int64_t next) {
        constexpr uint64_t last_review = (uint64_t(1) << kCode) - 1;
        for (size_t first = begin, i = begin + 1; i <= end; ++i)
            if (i == end || entries[i].key != entries[first].key) {
                if (i - first > 1 && entries[first].key & last_review) runs.push_back({first, i, next});
                first = i;
            }
    };
    split(0, entries.size(), 1 + kChunk);
    while (!runs.empty()) {
        const Run run = runs.back();
        runs.pop_back();
        uint64_t differing = 0;
        for (size_t i = run.begin; i < run.end; ++i) {
            entries[i].key = key_of(h, entries[i].card, run.next);
            differing |= entries[i].key ^ entries[run.begin].key;
        }
        if (differing) sort(entries.data() + run.begin, entries.data() + run.end, spare);
        split(run.begin, run.end, run.next + kChunk);
    }
    std::vector<size_t> cards(entries.size());
    for (size_t i = 0; i < cards.size(); ++i) cards[i] = entries[i].card;
    return cards;
}

}  // namespace fsrs
