#include "pack.hpp"

#include "sort.hpp"

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
// Larger blocks share more beginnings, smaller ones fit into nearer caches and share out better among threads: a small
// log is cut into more blocks than one for each first rating, which costs it up to a twentieth more slots.
constexpr size_t kFewestBlockNodes = 2048, kMostBlockNodes = 8192, kReviewsPerBlockNode = 10;
constexpr size_t kAhead = 6;  // cards
constexpr size_t kMeanWidth = 32;  // more nodes where that leaves too few a level to fill registers

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
    // one loop each, in integers, which compilers turn into registers of several numbers
    unsigned bad_rating = 0, bad_delta = 0, bad_weight = 0;
    for (size_t i = 0; i < h.n_reviews; ++i) bad_rating |= uint8_t(h.rating[i] - 1);
    for (size_t i = 0; i < h.n_reviews; ++i) bad_delta |= unsigned(h.delta_t[i]);
    for (size_t i = 0; i < h.n_reviews; ++i) bad_weight |= !(h.weight[i] >= 0.0) | !(h.weight[i] <= 1e30);  // NaN too
    bad_rating &= ~3u, bad_delta &= 1u << 31;
    if (bad_rating) throw std::invalid_argument("ratings must be 1, 2, 3 or 4");
    if (bad_delta) throw std::invalid_argument("delta_t must not be negative");
    if (bad_weight) throw std::invalid_argument("weights must be finite and not negative");
}

int32_t padded(int32_t n) { return (n + kPadding - 1) / kPadding * kPadding; }

// The trie of a run of cards, node by node in the order in which the cards bring them: a parent before its children.
struct Trie {
    struct Node {
        double weight;
        int32_t parent, level, delta_t;
        int8_t rating;
        bool inner;  // a review after it is scored
    };
    std::vector<Node> nodes;
    std::vector<int32_t> path;  // the nodes of the last card's reviews

    // Walks along the nodes of the card before as far as the reviews are the same, and adds nodes for the rest.
    void add(const Histories &h, Card &card) {
        const size_t reviews = size_t(card.reviews);
        const int8_t *rating = h.rating + card.start;
        const int32_t *delta_t = h.delta_t + card.start;
        const double *weight = h.weight + card.start;
        if (nodes.empty()) {  // the first review: its days and weight do not count
            nodes.push_back({0.0, 0, 0, 0, rating[0], true});
            path.assign(1, 0);
        } else {
            card.shared = 1;
        }
        size_t k = 1;
        for (; k < reviews && k < path.size(); ++k) {
            Node &node = nodes[size_t(path[k])];
            if (node.delta_t != delta_t[k] || node.rating != rating[k]) break;
            node.weight += weight[k];
            ++card.shared;
        }
        path.resize(reviews);
        int32_t id = int32_t(nodes.size());
        nodes.resize(nodes.size() + reviews - k);
        for (; k < reviews; ++k, ++id) {
            nodes[size_t(id)] = {weight[k], path[k - 1], int32_t(k), delta_t[k], rating[k], false};
            path[k] = id;
        }
    }

    // Marks the inner nodes; counts of inner and other unscored nodes by level, and of the scored leaves.
    void count(std::vector<int32_t> &inner, int32_t &leaves, std::vector<int32_t> &rest) {
        size_t levels = 0;
        for (const Node &node : nodes) levels = std::max(levels, size_t(node.level) + 1);
        inner.assign(levels, 0);
        rest.assign(levels, 0);
        leaves = 0;
        for (size_t id = nodes.size(); id-- > 0;) {
            const Node &node = nodes[id];
            const bool scored = node.weight > 0;
            nodes[size_t(node.parent)].inner |= node.inner | scored;
            ++(node.inner ? inner[size_t(node.level)] : scored ? leaves : rest[size_t(node.level)]);
        }
    }
};

// The trie as the kernels want it; returns the memory that the block points to.
AlignedBytes lay_out(Trie &trie, Block &block) {
    std::vector<int32_t> inner, rest;  // counts, then the next slots
    int32_t leaves;
    trie.count(inner, leaves, rest);
    int32_t slots = 0;
    auto place = [&slots](int32_t &nodes) {
        const Level level{slots, slots + nodes};
        slots = padded(level.end);
        nodes = level.begin;
        return level;
    };
    std::vector<Level> levels;
    for (int32_t &nodes : inner)
        if (nodes) levels.push_back(place(nodes));
    block.n_inner = int32_t(levels.size());
    block.leaves = place(leaves);
    for (int32_t &nodes : rest)
        if (nodes) levels.push_back(place(nodes));
    block.n_rest = int32_t(levels.size()) - block.n_inner;
    block.n_slots = slots;

    const size_t n = size_t(slots), nodes = trie.nodes.size();
    AlignedBytes memory = allocate_aligned(n * 16 + nodes * 4 + levels.size() * sizeof(Level));
    float *delta_t = static_cast<float *>(memory.get()), *rating = delta_t + n, *weight = rating + n;
    int32_t *parent = reinterpret_cast<int32_t *>(weight + n), *slot = parent + n;
    Level *levels_ = reinterpret_cast<Level *>(slot + nodes);
    std::copy(levels.begin(), levels.end(), levels_);
    for (size_t id = 0; id < nodes; ++id) {
        const Trie::Node &node = trie.nodes[id];
        const size_t level = size_t(node.level);
        const int32_t s = (node.inner ? inner[level] : node.weight > 0 ? leaves : rest[level])++;
        slot[id] = s;
        delta_t[s] = float(node.delta_t);
        rating[s] = float(node.rating);
        weight[s] = float(node.weight);
        parent[s] = slot[node.parent];
    }
    auto pad = [&](const Level &level) {  // with unscored Goods on the same day, siblings of the last node
        for (int32_t s = level.end; s < padded(level.end); ++s)
            delta_t[s] = weight[s] = 0.0f, rating[s] = 3.0f, parent[s] = parent[level.end - 1];
    };
    for (const Level &level : levels) pad(level);
    pad(block.leaves);
    block.delta_t = delta_t, block.rating = rating, block.weight = weight;
    block.parent = parent, block.slot = slot;
    block.inner = levels_, block.rest = levels_ + block.n_inner;
    block.first_rating = trie.nodes[0].rating;
    return memory;
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
    const std::vector<size_t> order = sorted_cards(h);
    cards_.reserve(order.size());
    for (size_t card : order) cards_.push_back({h.offsets[card], int32_t(h.offsets[card + 1] - h.offsets[card]), 0});

    const size_t block_nodes = std::clamp(h.n_reviews / kReviewsPerBlockNode, kFewestBlockNodes, kMostBlockNodes);
    Trie trie;
    trie.nodes.reserve(std::min(h.n_reviews, 2 * block_nodes));
    size_t first = 0, deepest = 0;  // of the block
    auto close = [&](size_t end) {
        Block block{};
        memory_.push_back(lay_out(trie, block));
        block.cards = cards_.data() + first;
        block.n_cards = int64_t(end - first);
        blocks_.push_back(block);
        nodes_ += trie.nodes.size();
        slots_ += size_t(block.n_slots);
        largest_.slots = std::max(largest_.slots, size_t(block.n_slots));
        largest_.levels = std::max(largest_.levels, deepest);
        largest_.inner_slots = std::max(largest_.inner_slots, size_t(block.leaves.begin));
        for (int32_t l = 0; l < block.n_inner; ++l)
            largest_.width = std::max(largest_.width, size_t(padded(block.inner[l].end) - block.inner[l].begin));
        trie.nodes.clear();
    };
    for (size_t c = 0; c < cards_.size(); ++c) {
        Card &card = cards_[c];
        const bool full = trie.nodes.size() >= std::max(block_nodes, kMeanWidth * deepest);
        if (c > first && (full || h.rating[card.start] != h.rating[cards_[first].start])) {
            close(c);
            first = c, deepest = 0;
        }
        if (c + kAhead < cards_.size()) {  // in sorted order the cards lie anywhere in memory
            const int64_t ahead = cards_[c + kAhead].start;
            __builtin_prefetch(h.rating + ahead);
            __builtin_prefetch(h.delta_t + ahead);
            __builtin_prefetch(h.weight + ahead);
            __builtin_prefetch(h.weight + ahead + 8);
        }
        deepest = std::max(deepest, size_t(card.reviews));
        trie.add(h, card);
    }
    if (!cards_.empty()) close(cards_.size());
    // Threads begin with the largest, so that none is still at work on one when the others have finished.
    std::stable_sort(blocks_.begin(), blocks_.end(), [](const Block &a, const Block &b) { return a.n_slots > b.n_slots; });
}

}  // namespace fsrs
