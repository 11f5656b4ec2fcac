// Forward mode: the derivatives of the state travel with it, so that every review's dR/dw is at hand for the Fisher
// matrix sum weight (dR/dw)(dR/dw)^T / (R (1 - R)).
#pragma once

namespace {

// Within a block one of w0..w3 counts (that of the first rating), so 18 columns: it, then w4..w20.
constexpr int kColumns = 18;
constexpr int kTile = 3;
constexpr int kTiles = kColumns / kTile;
constexpr int kBuffer = 24;  // registers gathered before their outer products are summed

struct Rows {  // scaled derivatives of R, and the scaled residuals that make the gradient of them
    VFloat column[kColumns][kBuffer + 1];  // + 1: columns should not all fall into the same sets of the cache
    VFloat residual[kBuffer];
};

struct Products {  // float32 sums per lane of a register
    VFloat tile[kTiles * (kTiles + 1) / 2][kTile][kTile];
    Kahan<1> residual[kColumns];
};

// products += rows^T rows, upper triangle by tiles that stay in registers. The rows are summed from zero and then added:
// short sums lose less.
void add_products(const Rows &rows, int n, Products &products) {
    VFloat(*tile)[kTile][kTile] = products.tile;
    const VFloat *residual = rows.residual;
    for (int i = 0; i < kTiles; ++i) {
        const VFloat *a0 = rows.column[3 * i], *a1 = rows.column[3 * i + 1], *a2 = rows.column[3 * i + 2];
        VFloat r0{}, r1{}, r2{};
        for (int k = 0; k < n; ++k) {
            r0 += a0[k] * residual[k];
            r1 += a1[k] * residual[k];
            r2 += a2[k] * residual[k];
        }
        products.residual[3 * i].add({{r0}});
        products.residual[3 * i + 1].add({{r1}});
        products.residual[3 * i + 2].add({{r2}});
        for (int j = i; j < kTiles; ++j, ++tile) {
            const VFloat *b0 = rows.column[3 * j], *b1 = rows.column[3 * j + 1],
                         *b2 = rows.column[3 * j + 2];
            VFloat(&s)[kTile][kTile] = *tile;
            VFloat s00{}, s01{}, s02{}, s10{}, s11{}, s12{}, s20{}, s21{}, s22{};
            for (int k = 0; k < n; ++k) {
                VFloat x0 = b0[k], x1 = b1[k], x2 = b2[k], y = a0[k];
                s00 += y * x0, s01 += y * x1, s02 += y * x2;
                y = a1[k];
                s10 += y * x0, s11 += y * x1, s12 += y * x2;
                y = a2[k];
                s20 += y * x0, s21 += y * x1, s22 += y * x2;
            }
            s[0][0] += s00, s[0][1] += s01, s[0][2] += s02, s[1][0] += s10, s[1][1] += s11, s[1][2] += s12;
            s[2][0] += s20, s[2][1] += s21, s[2][2] += s22;
        }
    }
}

// Derivatives of the state, not yet clamped, with respect to the 18 columns; D depends on w4..w7 only.
struct Tangent {
    Lanes<1> S[kColumns], D[4];
};

FSRS_INLINE Tangent first_tangent(const Constants &c, int rating) {
    Tangent t{};
    t.S[0] = all<1>(1.0f);
    t.D[0] = all<1>(float(c.first_difficulty_w4[rating - 1]));
    t.D[1] = all<1>(float(c.first_difficulty_w5[rating - 1]));
    return t;
}

// Writes this review's scaled dR/dw and moves the tangent over the review: dS'/dw = dS'/dS dS/dw + dS'/dD dD/dw + direct.
// Its own function, with the partials in memory: inlined, they crowd each other out of the registers.
__attribute__((noinline)) void advance_tangent(const Constants &c, const Partials<1> &p, Lanes<1> recall, Lanes<1> scale, Tangent &t,
                                               Rows &rows, int row) {
    const Lanes<1> by_R = -scale * recall, by_S = by_R * p.forgotten_S;
    const Lanes<1> onward = fma(p.forgotten * recall, p.forgotten_S, p.S);  // the way through 1 - R included
    auto move = [&](int column, Lanes<1> direct) {
        rows.column[column][row] = (by_S * t.S[column]).v[0];
        t.S[column] = fma(t.S[column], onward, direct);
    };
    move(0, all<1>(0.0f));
    for (int k = 0; k < 4; ++k) move(1 + k, t.D[k] * p.D);
    move(8 - 3, p.w8);
    move(9 - 3, p.w9);
    move(10 - 3, p.w10);
    move(11 - 3, p.log_w11 * (1.0f / c.w[11]));
    move(12 - 3, p.w12);
    move(13 - 3, p.w13);
    move(14 - 3, p.w14);
    move(15 - 3, p.w15);
    move(16 - 3, p.w16);
    move(17 - 3, fma(p.w17_w18, c.w[18], p.w17_rating));
    move(18 - 3, p.w17_w18 * c.w[17]);
    move(19 - 3, p.w19);
    move(20 - 3, p.forgotten * recall * p.forgotten_w20);
    rows.column[20 - 3][row] += (by_R * p.forgotten_w20).v[0];
    t.D[0] = fma(t.D[0], p.difficulty_D, all<1>(c.w[7]));
    t.D[1] = fma(t.D[1], p.difficulty_D, c.w[7] * float(c.difficulty_easy_w5));
    t.D[2] = fma(t.D[2], p.difficulty_D, p.w6);
    t.D[3] = fma(t.D[3], p.difficulty_D, p.w7);
}

struct FisherWork {
    Rows rows;
    Products products;
    Tangent tangent;
    float traces[];
};

void fisher_block(const Packed &packed, size_t begin, size_t end, const Constants &c, void *workspace, double *sums) {
    FisherWork &work = *static_cast<FisherWork *>(workspace);
    Rows &rows = work.rows;
    Tangent &t = work.tangent;
    work.products = Products{};
    Kahan<1> total;
    const int rating = packed.groups[begin].first_rating;
    int filled = 0;
    auto onward = [&](int steps, const float *slots, const float *trace) {
        t = first_tangent(c, rating);
        for (int step = 0; step < steps; ++step, trace += kTraceRows * kStrip) {
            const Review<1> r = review<1>(slot_of(slots, step));
            const Trace<1> x = load_trace(trace);
            const Loss<1> l = loss(c, r, x);
            total.add(l.value);
            const Partials<1> p = partials(c, r, x);

            // the clamp of the state before this review
            if (!everywhere(p.stability_inside))
                for (Lanes<1> &s : t.S) s = keep(p.stability_inside, s);
            for (Lanes<1> &d : t.D) d = keep(p.difficulty_inside, d);

            // root of weight / (R (1 - R)), and the residual d loss / dR over it
            Lanes<1> scale = keep(l.inside, sqrt(r.weight / (x.recall * max(x.forgotten, kRMin))));
            rows.residual[filled] = (scale * select(r.again, x.recall, -x.forgotten)).v[0];
            advance_tangent(c, p, x.recall, scale, t, rows, filled);
            if (everywhere(r.weight == 0.0f)) continue;  // the row is all zeros: the next one overwrites it
            if (++filled == kBuffer) {
                add_products(rows, filled, work.products);
                filled = 0;
            }
        }
    };
    for_each_strip(packed, begin, end, [&](size_t g, int lane, int steps, const float *slots) {
        record(c, rating, steps, slots, work.traces);
        for_each_register(packed.lane_reviews + g * kLanes + lane, slots, work.traces, onward);
    });
    add_products(rows, filled, work.products);

    sums[0] = total.value();
    double *gradient = sums + 1, *fisher = gradient + kParameters;
    for (int k = 0; k < kParameters + fsrs::kFisher; ++k) gradient[k] = 0;
    auto parameter = [&](int column) { return column == 0 ? rating - 1 : column + 3; };
    for (int k = 0; k < kColumns; ++k) gradient[parameter(k)] = work.products.residual[k].value();
    const VFloat(*tile)[kTile][kTile] = work.products.tile;
    for (int i = 0; i < kTiles; ++i)
        for (int j = i; j < kTiles; ++j, ++tile)
            for (int a = 0; a < kTile; ++a)
                for (int b = 0; b < kTile; ++b) {
                    int row = parameter(kTile * i + a), column = parameter(kTile * j + b);
                    double value = sum((*tile)[a][b]);
                    fisher[row * kParameters + column] = value;
                    fisher[column * kParameters + row] = value;
                }
}

size_t workspace_bytes(int steps) {
    return sizeof(FisherWork) + sizeof(float) * kTraceRows * kStrip * (size_t(steps) + 1);
}

}  // namespace
