// The passes over a block. Compiled once per instruction set; FSRS_KERNEL names the table it exports.
#include "fsrs6.hpp"

namespace {

using fsrs::Block;
using fsrs::kParameters;
using fsrs::Level;
using fsrs::Output;

static_assert(fsrs::kPadding % kVector == 0, "a level begins with a whole register");

constexpr int kFlush = 64;  // registers between moving float32 sums to float64

// A float32 sum per lane that keeps what rounding took (Kahan).
struct Kahan {
    Lanes<1> total = all<1>(0.0f), lost = all<1>(0.0f);
    template <int N>
    FSRS_INLINE void add(Lanes<N> x) {
        FSRS_EACH {
            Lanes<1> more = Lanes<1>{{x.v[i]}} - lost, next = total + more;
            lost = (next - total) - more;
            total = next;
        }
    }
    FSRS_INLINE double value() const { return sum(total) - sum(lost); }
};

// weight * BCE(recalled, R), and its derivative with respect to 1 - R, times R.
template <int N>
struct Loss {
    Lanes<N> value, slope;
    Lanes<N> information;  // weight R^2 / (R (1 - R)), 0 where R is clamped
};
template <int N>
FSRS_INLINE Loss<N> loss(const Constants &c, const Review<N> &r, const Trace<N> &x) {
    Loss<N> l;
    Lanes<N> minus_log_r = c.w[20] * x.log_growth;
    const Mask<N> inside = (x.forgotten >= kRMin) & (minus_log_r <= all<N>(-kLogRMin));
    Lanes<N> forgotten = max(x.forgotten, kRMin);
    // 1 - R has lost the last digits of a small R; the logarithm gets them back
    Lanes<N> lost = keep(forgotten >= 0.5f, (1.0f - forgotten) - x.recall);
    l.value = r.weight * select(r.again, -log(forgotten, lost), clamp(minus_log_r, kRMin, -kLogRMin));
    const Lanes<N> weight = keep(inside, r.weight);
    l.information = weight * (x.recall / forgotten);
    l.slope = select(r.again, -l.information, weight);
    return l;
}

// The workspace of a pass, handed out piece by piece.
struct Memory {
    float *next;
    FSRS_INLINE float *take(size_t floats) {
        float *piece = next;
        next += (floats + 15) / 16 * 16;
        return piece;
    }
};

template <int N>
struct Registers {  // a number of registers that the compiler knows
    static constexpr int n = N;
};

// body(Registers<N>, slot) for all registers of the level.
template <class Body>
FSRS_INLINE void for_each_strip(const Level &level, Body body) {
    int slot = level.begin;
    for (; slot + kStrip - kVector < level.end; slot += kStrip) body(Registers<kUnroll>{}, slot);
    for (; slot < level.end; slot += kVector) body(Registers<1>{}, slot);
}

// Stability and difficulty after each node, not yet clamped, by slot.
struct States {
    float *stability, *difficulty;

    FSRS_INLINE States(const Block &block, const Constants &c, Memory &memory)
        : stability(memory.take(size_t(block.n_slots))), difficulty(memory.take(size_t(block.n_slots))) {
        store(stability, all<1>(c.first_stability[block.first_rating - 1]));
        store(difficulty, all<1>(c.first_difficulty[block.first_rating - 1]));
    }
    // From the parents of the nodes at `slot` over these.
    template <int N>
    FSRS_INLINE Trace<N> advance_nodes(const Block &block, const Constants &c, const Review<N> &r, int slot) const {
        Trace<N> x;
        Lanes<N> S = gather<N>(stability, block.parent + slot), D = gather<N>(difficulty, block.parent + slot);
        advance(c, r, x, S, D);
        store(stability + slot, S);
        store(difficulty + slot, D);
        return x;
    }
    // The same as far as the loss needs it.
    template <int N>
    FSRS_INLINE Trace<N> recall_nodes(const Block &block, const Constants &c, const Review<N> &r, int slot) const {
        Trace<N> x;
        x.stability = gather<N>(stability, block.parent + slot);
        forgetting_curve(c, r, clamp(x.stability, kSMin, kSMax), x);
        return x;
    }
};

void loss_block(const Block &block, const Constants &c, void *workspace, double *sums) {
    Memory memory{static_cast<float *>(workspace)};
    const States states(block, c, memory);
    Kahan total;
    for (int l = 1; l < block.n_inner; ++l)
        for_each_strip(block.inner[l], [&](auto registers, int slot) FSRS_INLINE_BODY {
            const auto r = review<registers.n>(block, slot);
            total.add(loss(c, r, states.advance_nodes(block, c, r, slot)).value);
        });
    for_each_strip(block.leaves, [&](auto registers, int slot) FSRS_INLINE_BODY {
        const auto r = review<registers.n>(block, slot);
        total.add(loss(c, r, states.recall_nodes(block, c, r, slot)).value);
    });
    sums[0] = total.value();
}

// Sums over steps of adjoint times partial; the names follow Partials, `easy` belongs to D0(4).
struct Adjoints {
    Lanes<1> first_stability, first_difficulty, easy;
    Lanes<1> w6, w7, w8, w9, w10, log_w11, w12, w13, w14, w15, w16, w17_w18, w17_rating, w19, w20;
};
constexpr int kAdjoints = sizeof(Adjoints) / sizeof(Lanes<1>);

// Adds what the adjoints say about the 21 parameters, for cards whose first rating is `rating`.
void chain(const double *a, const Constants &c, int rating, double *gradient) {
    const double *w = c.exact_w;
    gradient[rating - 1] += a[0];
    gradient[4] += a[1] * c.first_difficulty_w4[rating - 1] + a[2] * w[7];
    gradient[5] += a[1] * c.first_difficulty_w5[rating - 1] + a[2] * w[7] * c.difficulty_easy_w5;
    for (int k = 6; k <= 10; ++k) gradient[k] += a[k - 3];
    gradient[11] += a[8] / w[11];
    for (int k = 12; k <= 16; ++k) gradient[k] += a[k - 3];
    gradient[17] += a[14] * w[18] + a[15];
    gradient[18] += a[14] * w[17];
    gradient[19] += a[16];
    gradient[20] += a[17];
}

// Reverse mode: level by level forward, then backward with the adjoints of the states after the nodes.
void gradient_block(const Block &block, const Constants &c, void *workspace, double *sums) {
    Memory memory{static_cast<float *>(workspace)};
    const States states(block, c, memory);
    const size_t slots = size_t(block.leaves.begin);
    float *to_stability = memory.take(slots), *to_difficulty = memory.take(slots);  // before the clamps of the states
    float *traces = memory.take(slots * kTraceRows);
    Kahan total;
    Adjoints a{};
    double adjoints[kAdjoints] = {};
    int unflushed = 0;
    auto flush = [&] {
        for (int k = 0; k < kAdjoints; ++k) adjoints[k] += sum((&a.first_stability)[k]);
        a = Adjoints{};
        unflushed = 0;
    };

    for (int slot = 0; slot < block.leaves.begin; slot += kVector) {
        store(to_stability + slot, all<1>(0.0f));
        store(to_difficulty + slot, all<1>(0.0f));
    }
    for (int l = 1; l < block.n_inner; ++l)
        for_each_strip(block.inner[l], [&](auto registers, int slot) FSRS_INLINE_BODY {
            const auto r = review<registers.n>(block, slot);
            store_trace(traces + size_t(slot) * kTraceRows, states.advance_nodes(block, c, r, slot));
        });
    for_each_strip(block.leaves, [&](auto registers, int slot) FSRS_INLINE_BODY {
        constexpr int N = registers.n;
        const Review<N> r = review<N>(block, slot);
        const Trace<N> x = states.recall_nodes(block, c, r, slot);
        const Loss<N> ls = loss(c, r, x);
        total.add(ls.value);
        const Lanes<N> S = clamp(x.stability, kSMin, kSMax);
        Lanes<N> forgotten_S, forgotten_w20;
        curve_partials(c, x, S, forgotten_S, forgotten_w20);
        scatter_add(to_stability, block.parent + slot, keep(S == x.stability, ls.slope * forgotten_S));
        const Lanes<N> w20 = ls.slope * forgotten_w20;
        FSRS_EACH a.w20.v[0] += w20.v[i];
        if ((unflushed += N) >= kFlush) flush();
    });
    for (int l = block.n_inner - 1; l > 0; --l)
        for (int slot = block.inner[l].begin; slot < block.inner[l].end; slot += kVector) {
            const Review<1> r = review<1>(block, slot);
            const Trace<1> x = load_trace(traces + size_t(slot) * kTraceRows);
            const Loss<1> ls = loss(c, r, x);
            total.add(ls.value);
            const Partials<1> p = partials(c, r, x);
            const Lanes<1> to_S = load<1>(to_stability + slot), to_D = load<1>(to_difficulty + slot);
            a.w8 = fma(to_S, p.w8, a.w8);
            a.w9 = fma(to_S, p.w9, a.w9);
            a.w10 = fma(to_S, p.w10, a.w10);
            a.log_w11 = fma(to_S, p.log_w11, a.log_w11);
            a.w12 = fma(to_S, p.w12, a.w12);
            a.w13 = fma(to_S, p.w13, a.w13);
            a.w14 = fma(to_S, p.w14, a.w14);
            a.w15 = fma(to_S, p.w15, a.w15);
            a.w16 = fma(to_S, p.w16, a.w16);
            a.w17_w18 = fma(to_S, p.w17_w18, a.w17_w18);
            a.w17_rating = fma(to_S, p.w17_rating, a.w17_rating);
            a.w19 = fma(to_S, p.w19, a.w19);
            a.w6 = fma(to_D, p.w6, a.w6);
            a.w7 = fma(to_D, p.w7, a.w7);
            a.easy = a.easy + to_D;
            const Lanes<1> to_forgotten = fma(to_S * p.forgotten, x.recall, ls.slope);  // times R
            a.w20 = fma(to_forgotten, p.forgotten_w20, a.w20);
            const Lanes<1> next_S = fma(to_S, p.S, to_forgotten * p.forgotten_S);
            const Lanes<1> next_D = fma(to_S, p.D, to_D * p.difficulty_D);
            scatter_add(to_stability, block.parent + slot, keep(p.stability_inside, next_S));
            scatter_add(to_difficulty, block.parent + slot, keep(p.difficulty_inside, next_D));
            if (++unflushed >= kFlush) flush();
        }
    flush();
    adjoints[0] = to_stability[0];
    adjoints[1] = to_difficulty[0];
    sums[0] = total.value();
    for (int k = 0; k < kParameters; ++k) sums[1 + k] = 0;
    chain(adjoints, c, block.first_rating, sums + 1);
}

// Predictions and states node by node, then written out card by card.
void forward_block(const Block &block, const Constants &c, void *workspace, const Output &out) {
    Memory memory{static_cast<float *>(workspace)};
    const States states(block, c, memory);
    float *forgotten = memory.take(size_t(block.n_slots));
    forgotten[0] = __builtin_nanf("");
    auto body = [&](auto registers, int slot) FSRS_INLINE_BODY {
        store(forgotten + slot, states.advance_nodes(block, c, review<registers.n>(block, slot), slot).forgotten);
    };
    for (int l = 1; l < block.n_inner; ++l) for_each_strip(block.inner[l], body);
    for_each_strip(block.leaves, body);
    for (int l = 0; l < block.n_rest; ++l) for_each_strip(block.rest[l], body);
    for (int slot = 0; slot < block.n_slots; slot += kVector) {
        store(states.stability + slot, clamp(load<1>(states.stability + slot), kSMin, kSMax));
        store(states.difficulty + slot, clamp(load<1>(states.difficulty + slot), kDMin, kDMax));
    }
    int32_t *path = reinterpret_cast<int32_t *>(memory.next);  // the slots of a card's nodes
    const int32_t *next = block.slot;
    for (int64_t n = 0; n < block.n_cards; ++n) {
        const fsrs::Card &card = block.cards[n];
        for (int32_t k = card.shared; k < card.reviews; ++k) path[k] = *next++;
        for (int32_t k = 0; k < card.reviews; ++k) {
            const int64_t to = card.start + k;
            out.retrievability[to] = 1.0 - double(forgotten[path[k]]);
            out.stability[to] = states.stability[path[k]];
            out.difficulty[to] = states.difficulty[path[k]];
        }
    }
}

void math_strip(int which, const float *x, float *y) {
    alignas(64) float a[kStrip];
    for (int i = 0; i < kStrip; ++i) a[i] = x[i];
    Lanes<kUnroll> v = load<kUnroll>(a);
    store(a, which == 0 ? exp(v) : which == 1 ? expm1(v) : which == 2 ? log(v) : log1p(v));
    for (int i = 0; i < kStrip; ++i) y[i] = a[i];
}

}  // namespace

#include "fisher.hpp"

namespace fsrs {

extern const Kernel FSRS_KERNEL;
const Kernel FSRS_KERNEL = {FSRS_ISA,       kStrip,       workspace_bytes, loss_block,
                            gradient_block, fisher_block, forward_block,   math_strip};

}  // namespace fsrs
