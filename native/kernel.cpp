// The passes over a block of groups. Compiled once per instruction set; FSRS_KERNEL names the table it exports.
#include "fsrs6.hpp"

namespace {

using fsrs::Group;
using fsrs::kLanes;
using fsrs::kParameters;
using fsrs::Output;
using fsrs::Packed;

static_assert(kLanes % kStrip == 0, "a group is a whole number of strips");

constexpr int kFlush = 64;  // steps between moving float32 sums to float64

// A float32 sum per lane that keeps what rounding took (Kahan).
struct Kahan {
    Lanes total = all(0.0f), lost = all(0.0f);
    FSRS_INLINE void add(Lanes x) {
        x = x - lost;
        Lanes next = total + x;
        lost = (next - total) - x;
        total = next;
    }
    FSRS_INLINE double value() const { return sum(total) - sum(lost); }
};

// weight * BCE(recalled, R), and its derivative with respect to 1 - R times R.
struct Loss {
    Lanes value, slope;
    Mask inside;
};
FSRS_INLINE Loss loss(const Constants &c, const Review &r, const Trace &x) {
    Loss l;
    Lanes minus_log_r = c.w[20] * x.log_growth;
    l.inside = (x.forgotten >= kRMin) & (minus_log_r <= -kLogRMin);
    Lanes forgotten = max(x.forgotten, kRMin);
    Lanes recalled_loss = clamp(minus_log_r, kRMin, -kLogRMin);
    l.value = r.weight * select(r.again, -log(forgotten), recalled_loss);
    l.slope = keep(l.inside, r.weight * select(r.again, (x.forgotten - 1.0f) / forgotten, all(1.0f)));
    return l;
}

template <class Body>
FSRS_INLINE void for_each_strip(const Packed &packed, size_t begin, size_t end, Body body) {
    for (size_t g = begin; g < end; ++g) {
        const Group &group = packed.groups[g];
        for (int strip = 0; strip < kLanes; strip += kStrip) {
            int steps = packed.lane_reviews[g * kLanes + strip] - 1;  // longest first
            if (steps < 0) break;
            body(group, g, strip, steps, packed.slots + group.slot + strip);
        }
    }
}

FSRS_INLINE const float *slot_of(const float *slots, int step) { return slots + size_t(step) * 3 * kLanes; }

void loss_block(const Packed &packed, size_t begin, size_t end, const Constants &c, void *, double *sums) {
    Kahan total;
    for_each_strip(packed, begin, end, [&](const Group &group, size_t, int, int steps, const float *slots) {
        Lanes stability = all(c.first_stability[group.first_rating - 1]);
        Lanes difficulty = all(c.first_difficulty[group.first_rating - 1]);
        for (int step = 0; step < steps; ++step) {
            Review r = review(slot_of(slots, step));
            Trace x;
            advance(c, r, x, stability, difficulty);
            total.add(loss(c, r, x).value);
        }
    });
    sums[0] = total.value();
}

// Sums over steps of adjoint times partial; the names follow Partials.
struct Adjoints {
    Lanes first_stability, first_difficulty, easy;
    Lanes w6, w7, w8, w9, w10, log_w11, w12, w13, w14, w15, w16, w17_w18, w17_rating, w19, w20;
};
constexpr int kAdjoints = sizeof(Adjoints) / sizeof(Lanes);

// Adds what the adjoints say about the 21 parameters, for cards whose first rating is `rating`.
void chain(const double *a, const Constants &c, int rating, double *gradient) {
    const double *w = c.exact_w;
    gradient[rating - 1] += a[0];
    gradient[4] += a[1] * c.first_difficulty_w4[rating - 1] + a[2];
    gradient[5] += a[1] * c.first_difficulty_w5[rating - 1] + a[2] * c.difficulty_easy_w5;
    for (int k = 6; k <= 10; ++k) gradient[k] += a[k - 3];
    gradient[11] += a[8] / w[11];
    for (int k = 12; k <= 16; ++k) gradient[k] += a[k - 3];
    gradient[17] += a[14] * w[18] + a[15];
    gradient[18] += a[14] * w[17];
    gradient[19] += a[16];
    gradient[20] += a[17];
}

// Reverse mode: forward over a strip's reviews keeping every Trace, then backward with the adjoints of the state.
void gradient_block(const Packed &packed, size_t begin, size_t end, const Constants &c, void *workspace, double *sums) {
    Trace *trace = static_cast<Trace *>(workspace);
    Kahan total;
    Adjoints a{};
    double adjoints[kAdjoints] = {};
    int unflushed = 0;
    auto flush = [&] {
        for (int k = 0; k < kAdjoints; ++k) adjoints[k] += sum(reinterpret_cast<Lanes *>(&a)[k]);
        a = Adjoints{};
        unflushed = 0;
    };
    for_each_strip(packed, begin, end, [&](const Group &group, size_t, int, int steps, const float *slots) {
        Lanes stability = all(c.first_stability[group.first_rating - 1]);
        Lanes difficulty = all(c.first_difficulty[group.first_rating - 1]);
        for (int step = 0; step < steps; ++step)
            advance(c, review(slot_of(slots, step)), trace[step], stability, difficulty);
        Lanes to_S = all(0.0f), to_D = all(0.0f);  // d loss / d state after the step, before its clamp
        for (int step = steps - 1; step >= 0; --step) {
            Review r = review(slot_of(slots, step));
            const Trace &x = trace[step];
            Loss l = loss(c, r, x);
            total.add(l.value);
            Partials p = partials(c, r, x);
            a.w8 += to_S * p.w8;
            a.w9 += to_S * p.w9;
            a.w10 += to_S * p.w10;
            a.log_w11 += to_S * p.log_w11;
            a.w12 += to_S * p.w12;
            a.w13 += to_S * p.w13;
            a.w14 += to_S * p.w14;
            a.w15 += to_S * p.w15;
            a.w16 += to_S * p.w16;
            a.w17_w18 += to_S * p.w17_w18;
            a.w17_rating += to_S * p.w17_rating;
            a.w19 += to_S * p.w19;
            a.w6 += to_D * p.w6;
            a.w7 += to_D * p.w7;
            a.easy += to_D * c.w[7];
            Lanes to_forgotten = fma(to_S * p.forgotten, p.recall, l.slope);  // times R
            a.w20 += to_forgotten * p.forgotten_w20;
            Lanes next_S = fma(to_S, p.S, to_forgotten * p.forgotten_S);
            Lanes next_D = fma(to_S, p.D, to_D * p.difficulty_D);
            to_S = keep(p.stability_inside, next_S);
            to_D = keep(p.difficulty_inside, next_D);
        }
        a.first_stability += to_S;
        a.first_difficulty += to_D;
        if ((unflushed += steps) >= kFlush) flush();
    });
    flush();
    sums[0] = total.value();
    for (int k = 0; k < kParameters; ++k) sums[1 + k] = 0;
    chain(adjoints, c, packed.groups[begin].first_rating, sums + 1);
}

void forward_block(const Packed &packed, size_t begin, size_t end, const Constants &c, void *, const Output &out) {
    for_each_strip(packed, begin, end, [&](const Group &group, size_t g, int strip, int steps, const float *slots) {
        Lanes stability = all(c.first_stability[group.first_rating - 1]);
        Lanes difficulty = all(c.first_difficulty[group.first_rating - 1]);
        const int32_t *reviews = packed.lane_reviews + g * kLanes + strip;
        const int64_t *start = packed.lane_start + g * kLanes + strip;
        alignas(64) float forgotten[kStrip], S[kStrip], D[kStrip];
        store(forgotten, all(__builtin_nanf("")));
        for (int step = 0;; ++step) {
            store(S, clamp(stability, kSMin, kSMax));
            store(D, clamp(difficulty, kDMin, kDMax));
            for (int lane = 0; lane < kStrip && reviews[lane] > step; ++lane) {
                int64_t to = start[lane] + step;
                out.retrievability[to] = 1.0 - double(forgotten[lane]);
                out.stability[to] = S[lane];
                out.difficulty[to] = D[lane];
            }
            if (step == steps) break;
            Trace x;
            advance(c, review(slot_of(slots, step)), x, stability, difficulty);
            store(forgotten, x.forgotten);
        }
    });
}

void math_strip(int which, const float *x, float *y) {
    alignas(64) float a[kStrip];
    for (int i = 0; i < kStrip; ++i) a[i] = x[i];
    Lanes v = load(a);
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
