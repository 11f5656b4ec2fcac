#include "pack.hpp"

#include "sort.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
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
    unsigned bad_rating = 0, bad_delta = 0;
    bool bad_weight = false;
    for (size_t i = 0; i < h.n_reviews; ++i) bad_rating |= uint8_t(h.rating[i] - 1);
    for (size_t i = 0; i < h.n_reviews; ++i) bad_delta |= unsigned(h.delta_t[i]);
    // the bits of numbers from 0 to 1e30 are in that order; what they leave in doubt (-0.0 too) is looked at one by one
    constexpr double most = 1e30;
    int64_t bits, most_bits, doubtful = 0;
    std::memcpy(&most_bits, &most, sizeof most);
    for (size_t i = 0; i < h.n_reviews; ++i) {
        std::memcpy(&bits, h.weight + i, sizeof bits);
        doubtful |= bits | int64_t(uint64_t(most_bits) - uint64_t(bits));
    }
    if (doubtful < 0)
        for (size_t i = 0; i < h.n_reviews; ++i) bad_weight |= !(h.weight[i] >= 0.0 && h.weight[i] <= most);  // NaN too
    bad_rating &= ~3u, bad_delta &= 1u << 31;
    if (bad_rating) throw std::invalid_argument("ratings must be 1, 2, 3 or 4");
    if (bad_delta) throw std::invalid_argument("delta_t must not be negative");
    if (bad_weight) throw std::invalid_argument("weights must be finite and not negative");
}

int32_t padded(int32_t n) { return (n + kPadding - 1) / kPadding * kPadding; }

// The trie of a run of cards, node by node in the order in which the cards bring them: a parent before its children.
struct Trie {
    struct Node {
        float delta_t, rating, weight;
        int32_t parent, cell;
    };
    // Where nodes belong is counted in cells: the inner ones and the rest by level, the leaves in one.
    static constexpr size_t kLeaves = 1;
    static constexpr size_t inner(size_t level) { return 3 * level; }
    static constexpr size_t rest(size_t level) { return 3 * level + 2; }

    std::vector<Node> nodes;  // the first `n` count
    std::vector<int32_t> count;
    size_t n = 0, levels = 0;
    // Of the last card's reviews: its nodes, their weight so far, and whether a review after one is known to be scored.
    std::vector<int32_t> path;
    std::vector<double> weight;
    std::vector<char> needed;
    size_t depth = 0;

    // The first review: its days and weight do not count.
    void begin(int8_t rating) {
        reserve(1);
        nodes[0] = {0.0f, float(rating), 0.0f, 0, 0};
        path[0] = 0, weight[0] = 0.0, needed[0] = true;
        n = depth = levels = 1;
    }
    // Shares the nodes of the card before as far as the reviews are the same, and adds nodes for those that follow.
    void add(const Histories &h, const Card *before, Card &card) {
        const size_t reviews = size_t(card.reviews), most = std::min(depth, reviews);
        const int8_t *rating = h.rating + card.start;
        const int32_t *delta_t = h.delta_t + card.start;
        const double *weight_ = h.weight + card.start;
        size_t k = 1;
        if (before) {
            const int8_t *other_rating = h.rating + before->start;
            const int32_t *other_delta_t = h.delta_t + before->start;
            while (k < most && delta_t[k] == other_delta_t[k] && rating[k] == other_rating[k]) ++k;
            card.shared = int32_t(k);
        }
        complete(k);
        for (size_t i = 1; i < k; ++i) weight[i] += weight_[i];
        reserve(reviews);
        for (int32_t parent = path[k - 1]; k < reviews; ++k, ++n) {
            nodes[n] = {float(delta_t[k]), float(rating[k]), 0.0f, parent, 0};
            path[k] = parent = int32_t(n);
            weight[k] = weight_[k];
            needed[k] = false;
        }
        depth = reviews;
        levels = std::max(levels, depth);
    }
    // No card will share the nodes of the last one's reviews from `first` on: what they are is known.
    void complete(size_t first) {
        bool scored_after = false;
        for (size_t k = depth; k-- > first;) {
            const bool is_inner = scored_after | needed[k], scored = weight[k] > 0;
            const size_t cell = is_inner ? inner(k) : scored ? kLeaves : rest(k);
            Node &node = nodes[size_t(path[k])];
            node.weight = float(weight[k]);
            node.cell = int32_t(cell);
            ++count[cell];
            scored_after = is_inner | scored;
        }
        if (first > 0) needed[first - 1] |= scored_after;
    }
    void reserve(size_t reviews) {
        if (nodes.size() < n + reviews) nodes.resize(2 * (n + reviews));
        if (path.size() >= reviews) return;
        path.resize(2 * reviews);
        weight.resize(2 * reviews);
        needed.resize(2 * reviews);
        count.resize(3 * path.size());
    }
    void clear() {
        std::fill(count.begin(), count.end(), 0);
        n = depth = levels = 0;
    }
};

// The trie as the kernels want it; returns the memory that the block points to.
AlignedBytes lay_out(Trie &trie, Block &block) {
    int32_t slots = 0;
    auto place = [&slots](int32_t &nodes) {
        const Level level{slots, slots + nodes};
        slots = padded(level.end);
        nodes = level.begin;
        return level;
    };
    std::vector<Level> levels;
    std::vector<int32_t> &next = trie.count;  // the next slot of each cell
    for (size_t level = 0; level < trie.levels; ++level)
        if (next[Trie::inner(level)]) levels.push_back(place(next[Trie::inner(level)]));
    block.n_inner = int32_t(levels.size());
    block.leaves = place(next[Trie::kLeaves]);
    for (size_t level = 0; level < trie.levels; ++level)
        if (next[Trie::rest(level)]) levels.push_back(place(next[Trie::rest(level)]));
    block.n_rest = int32_t(levels.size()) - block.n_inner;
    block.n_slots = slots;

    const size_t n = size_t(slots), nodes = trie.n;
    AlignedBytes memory = allocate_aligned(n * 16 + nodes * 4 + levels.size() * sizeof(Level));
    float *delta_t = static_cast<float *>(memory.get()), *rating = delta_t + n, *weight = rating + n;
    int32_t *parent = reinterpret_cast<int32_t *>(weight + n), *slot = parent + n;
    Level *levels_ = reinterpret_cast<Level *>(slot + nodes);
    std::copy(levels.begin(), levels.end(), levels_);
    for (size_t id = 0; id < nodes; ++id) {
        const Trie::Node &node = trie.nodes[id];
        const int32_t s = next[size_t(node.cell)]++;
        slot[id] = s;
        delta_t[s] = node.delta_t;
        rating[s] = node.rating;
        weight[s] = node.weight;
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
    block.first_rating = int(trie.nodes[0].rating);
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
    size_t first = 0;  // of the block
    auto close = [&](size_t end) {
        trie.complete(0);
        Block block{};
        memory_.push_back(lay_out(trie, block));
        block.cards = cards_.data() + first;
        block.n_cards = int64_t(end - first);
        blocks_.push_back(block);
        slots_ += size_t(block.n_slots);
        largest_.slots = std::max(largest_.slots, size_t(block.n_slots));
        largest_.levels = std::max(largest_.levels, trie.levels);
        largest_.inner_slots = std::max(largest_.inner_slots, size_t(block.leaves.begin));
        for (int32_t l = 0; l < block.n_inner; ++l)
            largest_.width = std::max(largest_.width, size_t(padded(block.inner[l].end) - block.inner[l].begin));
        trie.clear();
    };
    for (size_t c = 0; c < cards_.size(); ++c) {
        Card &card = cards_[c];
        const bool full = trie.n >= std::max(block_nodes, kMeanWidth * trie.levels);
        if (c > first && (full || h.rating[card.start] != h.rating[cards_[first].start])) {
            close(c);
            first = c;
        }
        if (c + kAhead < cards_.size()) {  // in sorted order the cards lie anywhere in memory
            const int64_t ahead = cards_[c + kAhead].start;
            __builtin_prefetch(h.rating + ahead);
            __builtin_prefetch(h.delta_t + ahead);
            __builtin_prefetch(h.weight + ahead);
            __builtin_prefetch(h.weight + ahead + 8);
        }
        if (c == first) trie.begin(h.rating[card.start]);
        trie.add(h, c == first ? nullptr : &cards_[c - 1], card);
    }
    if (!cards_.empty()) close(cards_.size());
    // Threads begin with the largest, so that none is still at work on one when the others have finished.
    std::stable_sort(blocks_.begin(), blocks_.end(), [](const Block &a, const Block &b) { return a.n_slots > b.n_slots; });
}

}  // namespace fsrs
