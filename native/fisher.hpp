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
    Kahan residual[kColumns];
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
        products.residual[3 * i].add(Lanes<1>{{r0}});
        products.residual[3 * i + 1].add(Lanes<1>{{r1}});
        products.residual[3 * i + 2].add(Lanes<1>{{r2}});
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
    Lanes<1> row[kColumns + 4];
    FSRS_INLINE Lanes<1> &S(int column) { return row[column]; }
    FSRS_INLINE Lanes<1> &D(int column) { return row[kColumns + column]; }
};

FSRS_INLINE Tangent first_tangent(const Constants &c, int rating) {
    Tangent t{};
    t.S(0) = all<1>(1.0f);
    t.D(0) = all<1>(float(c.first_difficulty_w4[rating - 1]));
    t.D(1) = all<1>(float(c.first_difficulty_w5[rating - 1]));
    return t;
}

// Moves the tangent over a review: dS'/dw = dS'/dS dS/dw + dS'/dD dD/dw + direct.
// Its own function, with the partials in memory: inlined, they crowd each other out of the registers.
__attribute__((noinline)) void advance_tangent(const Constants &c, const Partials<1> &p, Lanes<1> recall, Tangent &t) {
    const Lanes<1> onward = fma(p.forgotten * recall, p.forgotten_S, p.S);  // the way through 1 - R included
    auto move = [&](int column, Lanes<1> direct) { t.S(column) = fma(t.S(column), onward, direct); };
    move(0, all<1>(0.0f));
    for (int k = 0; k < 4; ++k) move(1 + k, t.D(k) * p.D);
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
    t.D(0) = fma(t.D(0), p.difficulty_D, all<1>(c.w[7]));
    t.D(1) = fma(t.D(1), p.difficulty_D, c.w[7] * float(c.difficulty_easy_w5));
    t.D(2) = fma(t.D(2), p.difficulty_D, p.w6);
    t.D(3) = fma(t.D(3), p.difficulty_D, p.w7);
}

// The children of a node differ in days, rating and weight, but all take their dR/dw from its dS/dw:
//     root of information * dR/dw = a dS/dw + b (unit vector of w20).
// So the sum over them of the outer products needs A = sum a a and B = sum a b by parent, and sum b b over all nodes;
// the gradient needs sum a residual by parent, and sum b residual.
struct Children {
    float *aa, *ab, *residual;
    Kahan bb, b_residual;

    template <int N>
    FSRS_INLINE Lanes<N> add(const Constants &c, const int32_t *parent, const Review<N> &r, const Trace<N> &x) {  // the loss
        const Loss<N> ls = loss(c, r, x);
        Lanes<N> forgotten_S, forgotten_w20;
        curve_partials(c, x, clamp(x.stability, kSMin, kSMax), forgotten_S, forgotten_w20);
        // root of weight / (R (1 - R)), and the residual d loss / dR over it
        const Lanes<N> scale = keep(ls.inside, sqrt(r.weight / (x.recall * max(x.forgotten, kRMin))));
        const Lanes<N> residual_ = scale * select(r.again, x.recall, -x.forgotten);
        const Lanes<N> by_R = -scale * x.recall, a = by_R * forgotten_S, b = by_R * forgotten_w20;
        scatter_add(aa, parent, a * a);
        scatter_add(ab, parent, a * b);
        scatter_add(residual, parent, a * residual_);
        bb.add(b * b);
        b_residual.add(b * residual_);
        return ls.value;
    }
};

constexpr int kTangentRows = sizeof(Tangent) / sizeof(Lanes<1>);

FSRS_INLINE void store_tangent(float *to, const Tangent &t) {
    for (int k = 0; k < kTangentRows; ++k) store(to + k * kVector, t.row[k]);
}
// The tangents of the parents, from those of their level, which begins at slot `begin`.
FSRS_INLINE void gather_tangent(const float *level, const int32_t *parent, int begin, Tangent &t) {
    const VInt node = *(const VIntInMemory *)parent - begin, lane = node & (kVector - 1);
    const VInt offset = (node - lane) * kTangentRows + lane;
    for (int k = 0; k < kTangentRows; ++k) t.row[k] = gather(level + k * kVector, offset);
}

void fisher_block(const Block &block, const Constants &c, void *workspace, double *sums) {
    Memory memory{static_cast<float *>(workspace)};
    const States states(block, c, memory);
    const size_t slots = size_t(block.leaves.begin);
    float *traces = memory.take(slots * kTraceRows);
    Children children{memory.take(slots), memory.take(slots), memory.take(slots), {}, {}};
    Kahan total;
    for (int slot = 0; slot < block.leaves.begin; slot += kVector) {
        store(children.aa + slot, all<1>(0.0f));
        store(children.ab + slot, all<1>(0.0f));
        store(children.residual + slot, all<1>(0.0f));
    }
    for (int l = 1; l < block.n_inner; ++l)
        for_each_strip(block.inner[l], [&](auto registers, int slot) FSRS_INLINE_BODY {
            const auto r = review<registers.n>(block, slot);
            const auto x = states.advance_nodes(block, c, r, slot);
            store_trace(traces + size_t(slot) * kTraceRows, x);
            total.add(children.add(c, block.parent + slot, r, x));
        });
    for_each_strip(block.leaves, [&](auto registers, int slot) FSRS_INLINE_BODY {
        const auto r = review<registers.n>(block, slot);
        total.add(children.add(c, block.parent + slot, r, states.recall_nodes(block, c, r, slot)));
    });

    Products &products = *reinterpret_cast<Products *>(memory.take(sizeof(Products) / 4));
    Rows &rows = *reinterpret_cast<Rows *>(memory.take(sizeof(Rows) / 4));
    products = Products{};
    int filled = 0;
    Kahan w20_w20, w20_residual;  // what the rows say of w20 alone that is not so
    auto add_row = [&](const Tangent &t, int slot) FSRS_INLINE_BODY {
        const Lanes<1> aa = load<1>(children.aa + slot);
        const Mask<1> some = aa >= 1e-30f;
        if (!anywhere(some)) return;
        const Lanes<1> root = sqrt(aa), inverse = keep(some, 1.0f / root), a = keep(some, root);
        const Lanes<1> b = load<1>(children.ab + slot) * inverse, residual = load<1>(children.residual + slot) * inverse;
        for (int k = 0; k < kColumns; ++k) rows.column[k][filled] = (a * t.row[k]).v[0];
        rows.column[20 - 3][filled] += b.v[0];
        rows.residual[filled] = residual.v[0];
        w20_w20.add(b * b);
        w20_residual.add(b * residual);
        if (++filled == kBuffer) {
            add_products(rows, filled, products);
            filled = 0;
        }
    };

    // The tangents of a level and of the one before it, register by register.
    int width = kVector;
    for (int l = 1; l < block.n_inner; ++l) {
        const int nodes = block.inner[l].end - block.inner[l].begin;
        width = nodes > width ? nodes : width;
    }
    const size_t room = size_t(kTangentRows) * size_t(width + kVector);
    float *before = memory.take(room), *after = memory.take(room);
    Tangent t = first_tangent(c, block.first_rating);
    store_tangent(before, t);
    add_row(t, 0);
    for (int l = 1; l < block.n_inner; ++l) {
        const Level &level = block.inner[l];
        float *to = after;
        for (int slot = level.begin; slot < level.end; slot += kVector, to += kTangentRows * kVector) {
            gather_tangent(before, block.parent + slot, block.inner[l - 1].begin, t);
            const Trace<1> x = load_trace(traces + size_t(slot) * kTraceRows);
            advance_tangent(c, partials(c, review<1>(block, slot), x), x.recall, t);
            const Lanes<1> S = load<1>(states.stability + slot), D = load<1>(states.difficulty + slot);
            const Mask<1> stability_inside = S == clamp(S, kSMin, kSMax), difficulty_inside = D == clamp(D, kDMin, kDMax);
            if (!everywhere(stability_inside))
                for (int k = 0; k < kColumns; ++k) t.S(k) = keep(stability_inside, t.S(k));
            if (!everywhere(difficulty_inside))
                for (int k = 0; k < 4; ++k) t.D(k) = keep(difficulty_inside, t.D(k));
            store_tangent(to, t);
            add_row(t, slot);
        }
        float *swapped = before;
        before = after, after = swapped;
    }
    add_products(rows, filled, products);

    sums[0] = total.value();
    double *gradient = sums + 1, *fisher = gradient + kParameters;
    for (int k = 0; k < kParameters + fsrs::kFisher; ++k) gradient[k] = 0;
    auto parameter = [&](int column) { return column == 0 ? block.first_rating - 1 : column + 3; };
    for (int k = 0; k < kColumns; ++k) gradient[parameter(k)] = products.residual[k].value();
    gradient[20] += children.b_residual.value() - w20_residual.value();
    const VFloat(*tile)[kTile][kTile] = products.tile;
    for (int i = 0; i < kTiles; ++i)
        for (int j = i; j < kTiles; ++j, ++tile)
            for (int a = 0; a < kTile; ++a)
                for (int b = 0; b < kTile; ++b) {
                    int row = parameter(kTile * i + a), column = parameter(kTile * j + b);
                    double value = sum((*tile)[a][b]);
                    fisher[row * kParameters + column] = value;
                    fisher[column * kParameters + row] = value;
                }
    fisher[fsrs::kFisher - 1] += children.bb.value() - w20_w20.value();
}

// Enough for every pass.
size_t workspace_bytes(const fsrs::Largest &largest) {
    const size_t forward = 3 * largest.slots + largest.levels;
    const size_t fisher = 2 * largest.slots + (3 + kTraceRows) * largest.inner_slots + 2 * kTangentRows * (largest.width + kVector);
    const size_t floats = forward > fisher ? forward : fisher;
    return sizeof(float) * floats + sizeof(Rows) + sizeof(Products) + 16 * 64;
}

}  // namespace
