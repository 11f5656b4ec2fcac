// The passes over a block of groups. Compiled once per instruction set; FSRS_KERNEL names the table it exports.
#include "fsrs6.hpp"

namespace {

using fsrs::kLanes;
using fsrs::kParameters;
using fsrs::Output;
using fsrs::Packed;

static_assert(kLanes % kStrip == 0, "a group is a whole number of strips");

constexpr int kFlush = 64;  // steps between moving float32 sums to float64

// A float32 sum per lane that keeps what rounding took (Kahan).
template <int N>
struct Kahan {
    Lanes<N> total = all<N>(0.0f), lost = all<N>(0.0f);
    FSRS_INLINE void add(Lanes<N> x) {
        x = x - lost;
        Lanes<N> next = total + x;
        lost = (next - total) - x;
        total = next;
    }
    FSRS_INLINE double value() const { return sum(total) - sum(lost); }
};

// weight * BCE(recalled, R), and its derivative with respect to 1 - R, times R.
template <int N>
struct Loss {
    Lanes<N> value, slope;
    Mask<N> inside;  // R is not clamped
};
template <int N>
FSRS_INLINE Loss<N> loss(const Constants &c, const Review<N> &r, const Trace<N> &x) {
    Loss<N> l;
    Lanes<N> minus_log_r = c.w[20] * x.log_growth;
    l.inside = (x.forgotten >= kRMin) & (minus_log_r <= all<N>(-kLogRMin));
    Lanes<N> forgotten = max(x.forgotten, kRMin);
    // 1 - R has lost the last digits of a small R; the logarithm gets them back
    Lanes<N> lost = keep(forgotten >= 0.5f, (1.0f - forgotten) - x.recall);
    l.value = r.weight * select(r.again, -log(forgotten, lost), clamp(minus_log_r, kRMin, -kLogRMin));
    l.slope = keep(l.inside, r.weight * select(r.again, -x.recall / forgotten, 1.0f));
    return l;
}

FSRS_INLINE const float *slot_of(const float *slots, int step) { return slots + size_t(step) * 3 * kLanes; }

// body(group index, first lane of the strip, steps of its longest lane, its slots) for every strip of the groups.
template <class Body>
FSRS_INLINE void for_each_strip(const Packed &packed, size_t begin, size_t end, Body body) {
    for (size_t g = begin; g < end; ++g)
        for (int lane = 0; lane < kLanes; lane += kStrip) {
            const int steps = packed.lane_reviews[g * kLanes + lane] - 1;  // longest first
            if (steps < 0) break;
            body(g, lane, steps, packed.slots + packed.groups[g].slot + lane);
        }
}

void loss_block(const Packed &packed, size_t begin, size_t end, const Constants &c, void *, double *sums) {
    const int rating = packed.groups[begin].first_rating;
    Kahan<kUnroll> total;
    for_each_strip(packed, begin, end, [&](size_t, int, int steps, const float *slots) {
        Lanes<kUnroll> stability = all<kUnroll>(c.first_stability[rating - 1]);
        Lanes<kUnroll> difficulty = all<kUnroll>(c.first_difficulty[rating - 1]);
        for (int step = 0; step < steps; ++step) {
            Review<kUnroll> r = review<kUnroll>(slot_of(slots, step));
            Trace<kUnroll> x;
            advance(c, r, x, stability, difficulty);
            total.add(loss(c, r, x).value);
        }
    });
    sums[0] = total.value();
}

// Runs a strip forward and keeps every step's trace.
FSRS_INLINE void record(const Constants &c, int rating, int steps, const float *slots, float *trace) {
    Lanes<kUnroll> stability = all<kUnroll>(c.first_stability[rating - 1]);
    Lanes<kUnroll> difficulty = all<kUnroll>(c.first_difficulty[rating - 1]);
    for (int step = 0; step < steps; ++step, trace += kTraceRows * kStrip) {
        Trace<kUnroll> x;
        advance(c, review<kUnroll>(slot_of(slots, step)), x, stability, difficulty);
        store_trace(trace, x);
    }
}

// body(steps, slots, traces) for every register of a recorded strip that holds a card.
template <class Body>
FSRS_INLINE void for_each_register(const int32_t *lane_reviews, const float *slots, const float *trace, Body body) {
    for (int lane = 0; lane < kStrip; lane += kVector)
        if (lane_reviews[lane] > 1) body(lane_reviews[lane] - 1, slots + lane, trace + lane);
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

// Reverse mode: a strip forward, then each of its registers backward with the adjoints of the state.
void gradient_block(const Packed &packed, size_t begin, size_t end, const Constants &c, void *workspace, double *sums) {
    const int rating = packed.groups[begin].first_rating;
    float *traces = static_cast<float *>(workspace);
    Kahan<1> total;
    Adjoints a{};
    double adjoints[kAdjoints] = {};
    int unflushed = 0;
    auto flush = [&] {
        for (int k = 0; k < kAdjoints; ++k) adjoints[k] += sum((&a.first_stability)[k]);
        a = Adjoints{};
        unflushed = 0;
    };
    auto backward = [&](int steps, const float *slots, const float *trace) {
        Lanes<1> to_S = all<1>(0.0f), to_D = all<1>(0.0f);  // d loss / d state after the step, before its clamp
        for (int step = steps - 1; step >= 0; --step) {
            const Review<1> r = review<1>(slot_of(slots, step));
            const Trace<1> x = load_trace(trace + size_t(step) * kTraceRows * kStrip);
            const Loss<1> l = loss(c, r, x);
            total.add(l.value);
            const Partials<1> p = partials(c, r, x);
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
            Lanes<1> to_forgotten = fma(to_S * p.forgotten, x.recall, l.slope);  // times R
            a.w20 = fma(to_forgotten, p.forgotten_w20, a.w20);
            Lanes<1> next_S = fma(to_S, p.S, to_forgotten * p.forgotten_S);
            Lanes<1> next_D = fma(to_S, p.D, to_D * p.difficulty_D);
            to_S = keep(p.stability_inside, next_S);
            to_D = keep(p.difficulty_inside, next_D);
            if (++unflushed == kFlush) flush();
        }
        a.first_stability = a.first_stability + to_S;
        a.first_difficulty = a.first_difficulty + to_D;
    };
    for_each_strip(packed, begin, end, [&](size_t g, int lane, int steps, const float *slots) {
        record(c, rating, steps, slots, traces);
        for_each_register(packed.lane_reviews + g * kLanes + lane, slots, traces, backward);
    });
    flush();
    sums[0] = total.value();
    for (int k = 0; k < kParameters; ++k) sums[1 + k] = 0;
    chain(adjoints, c, rating, sums + 1);
}

// Predictions and states of a strip are gathered first and then written card by card: whole runs of the output.
void forward_block(const Packed &packed, size_t begin, size_t end, const Constants &c, void *workspace,
                   const Output &out) {
    const int rating = packed.groups[begin].first_rating;
    float *rows = static_cast<float *>(workspace);  // [steps + 1][forgotten, S, D][kStrip]
    for_each_strip(packed, begin, end, [&](size_t g, int lane, int steps, const float *slots) {
        Lanes<kUnroll> stability = all<kUnroll>(c.first_stability[rating - 1]);
        Lanes<kUnroll> difficulty = all<kUnroll>(c.first_difficulty[rating - 1]);
        Lanes<kUnroll> forgotten = all<kUnroll>(__builtin_nanf(""));
        for (int step = 0;; ++step) {
            float *row = rows + size_t(step) * 3 * kStrip;
            store(row, forgotten);
            store(row + kStrip, clamp(stability, kSMin, kSMax));
            store(row + 2 * kStrip, clamp(difficulty, kDMin, kDMax));
            if (step == steps) break;
            Trace<kUnroll> x;
            advance(c, review<kUnroll>(slot_of(slots, step)), x, stability, difficulty);
            forgotten = x.forgotten;
        }
        for (int i = 0; i < kStrip; ++i) {
            const int64_t start = packed.lane_start[g * kLanes + lane + i];
            const int reviews = packed.lane_reviews[g * kLanes + lane + i];
            const float *row = rows + i;
            for (int64_t to = start; to < start + reviews; ++to, row += 3 * kStrip) {
                out.retrievability[to] = 1.0 - double(row[0]);
                out.stability[to] = row[kStrip];
                out.difficulty[to] = row[2 * kStrip];
            }
        }
    });
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
const Kernel FSRS_KERNEL = {FSRS_ISA, kStrip,        workspace_bytes, loss_block,
                            gradient_block, fisher_block, forward_block,   math_strip};

}  // namespace fsrs
