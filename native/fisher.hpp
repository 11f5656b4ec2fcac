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
__attribute__((noinline)) void add_products(const Rows &rows, int n, Products &products) {
    VFloat(*tile)[kTile][kTile] = products.tile;
    const VFloat *residual = rows.residual;
    for (int i = 0; i < kTiles; ++i, ++tile) {
        const VFloat *a0 = rows.column[3 * i], *a1 = rows.column[3 * i + 1], *a2 = rows.column[3 * i + 2];
        {  // on the diagonal, half a tile and the residuals: as many sums side by side as in a whole tile
            VFloat s00{}, s01{}, s02{}, s11{}, s12{}, s22{}, r0{}, r1{}, r2{};
            for (int k = 0; k < n; ++k) {
                const VFloat x0 = a0[k], x1 = a1[k], x2 = a2[k], y = residual[k];
                s00 += x0 * x0, s01 += x0 * x1, s02 += x0 * x2;
                s11 += x1 * x1, s12 += x1 * x2, s22 += x2 * x2;
                r0 += x0 * y, r1 += x1 * y, r2 += x2 * y;
            }
            VFloat(&s)[kTile][kTile] = *tile;
            s[0][0] += s00, s[0][1] += s01, s[0][2] += s02, s[1][1] += s11, s[1][2] += s12, s[2][2] += s22;
            products.residual[3 * i].add(Lanes<1>{{r0}});
            products.residual[3 * i + 1].add(Lanes<1>{{r1}});
            products.residual[3 * i + 2].add(Lanes<1>{{r2}});
        }
        for (int j = i + 1; j < kTiles; ++j) {
            const VFloat *b0 = rows.column[3 * j], *b1 = rows.column[3 * j + 1],
                         *b2 = rows.column[3 * j + 2];
            VFloat s00{}, s01{}, s02{}, s10{}, s11{}, s12{}, s20{}, s21{}, s22{};
            for (int k = 0; k < n; ++k) {
                VFloat x0 = b0[k], x1 = b1[k], x2 = b2[k], y = a0[k];
                s00 += y * x0, s01 += y * x1, s02 += y * x2;
                y = a1[k];
                s10 += y * x0, s11 += y * x1, s12 += y * x2;
                y = a2[k];
                s20 += y * x0, s21 += y * x1, s22 += y * x2;
            }
            VFloat(&s)[kTile][kTile] = *++tile;
            s[0][0] += s00, s[0][1] += s01, s[0][2] += s02, s[1][0] += s10, s[1][1] += s11, s[1][2] += s12;
            s[2][0] += s20, s[2][1] += s21, s[2][2] += s22;
        }
    }
}

// Derivatives of S and D, before their clamps let them pass or not, with respect to the 18 columns; D depends on w4..w7
// only. Those of a level lie row by row.
constexpr int kD = kColumns, kTangentRows = kColumns + 4;  // S of the columns, then D of w4..w7

// From row to row: room for a level and what `gather` reads behind it. An odd number of cache lines, so that the rows do
// not all fall into the same sets of the cache.
constexpr size_t tangent_stride(size_t width) { return 16 * ((width + 2 * kVector + 15) / 16 | 1); }

// How a review moves tangents: dS'/dw = dS'/dS dS/dw + dS'/dD dD/dw + direct; the like for D'; then through the clamps.
struct Move {
    Lanes<1> S_S, S_D, D_D;
    Lanes<1> direct[kTangentRows];  // of columns 0 to 4 there is none on S'

    FSRS_INLINE Move(const Constants &c, const Partials<1> &p, Lanes<1> recall, Lanes<1> S, Lanes<1> D) {
        const Lanes<1> forgotten = p.forgotten * recall;
        S_S = fma(forgotten, p.forgotten_S, p.S);  // the way through 1 - R included
        S_D = p.D;
        D_D = p.difficulty_D;
        direct[8 - 3] = p.w8;
        direct[9 - 3] = p.w9;
        direct[10 - 3] = p.w10;
        direct[11 - 3] = p.log_w11 * (1.0f / c.w[11]);
        direct[12 - 3] = p.w12;
        direct[13 - 3] = p.w13;
        direct[14 - 3] = p.w14;
        direct[15 - 3] = p.w15;
        direct[16 - 3] = p.w16;
        direct[17 - 3] = fma(p.w17_w18, c.w[18], p.w17_rating);
        direct[18 - 3] = p.w17_w18 * c.w[17];
        direct[19 - 3] = p.w19;
        direct[20 - 3] = forgotten * p.forgotten_w20;
        direct[kD] = all<1>(c.w[7]);
        direct[kD + 1] = all<1>(c.w[7] * float(c.difficulty_easy_w5));
        direct[kD + 2] = p.w6;
        direct[kD + 3] = p.w7;
        const Mask<1> stability_inside = S == clamp(S, kSMin, kSMax), difficulty_inside = D == clamp(D, kDMin, kDMax);
        if (!everywhere(stability_inside)) {
            S_S = keep(stability_inside, S_S);
            S_D = keep(stability_inside, S_D);
            for (int k = 5; k < kColumns; ++k) direct[k] = keep(stability_inside, direct[k]);
        }
        if (!everywhere(difficulty_inside)) {
            D_D = keep(difficulty_inside, D_D);
            for (int k = kD; k < kTangentRows; ++k) direct[k] = keep(difficulty_inside, direct[k]);
        }
    }
};

// The tangents after a register of nodes from those of their parents, and the same times `scale` as a row of products.
template <class Parents>
__attribute__((noinline)) void advance_tangents(const float *before, Parents parents, const Move &move, float *after,
                                                size_t stride, Lanes<1> scale, VFloat *row) {
    const Lanes<1> S_S = move.S_S, S_D = move.S_D, D_D = move.D_D;
    auto parent = [&](int row) FSRS_INLINE_BODY { return gather(before + size_t(row) * stride, parents); };
    auto put = [&](int k, Lanes<1> S) FSRS_INLINE_BODY {
        store(after + size_t(k) * stride, S);
        row[k * (kBuffer + 1)] = (scale * S).v[0];
    };
    put(0, parent(0) * S_S);
    for (int k = 0; k < 4; ++k) {
        const Lanes<1> D = parent(kD + k);
        store(after + size_t(kD + k) * stride, fma(D, D_D, move.direct[kD + k]));
        put(1 + k, fma(parent(1 + k), S_S, D * S_D));
    }
    for (int k = 5; k < kColumns; ++k) put(k, fma(parent(k), S_S, move.direct[k]));
}

// The children of a node differ in days, rating and weight, but all take their dR/dw from its dS/dw:
//     dR/dw = a dS/dw + b (unit vector of w20).
// So for the sum of information (dR/dw)(dR/dw)^T over them the sums of a a and a b are enough, by parent, and that of b b
// over all nodes; for the gradient those of slope a and slope b.
struct Children {
    float *sums;  // of a a, a b and slope a, side by side
    Kahan bb, b_slope;

    template <int N>
    FSRS_INLINE Lanes<N> add(const Constants &c, const int32_t *parent, const Review<N> &r, const Trace<N> &x) {  // the loss
        const Loss<N> l = loss(c, r, x);
        Lanes<N> a, b;
        curve_partials(c, x, clamp(x.stability, kSMin, kSMax), a, b);
        const Lanes<N> weighted_a = l.information * a, weighted_b = l.information * b;
        scatter_add(sums, parent, weighted_a * a, weighted_a * b, l.slope * a);
        bb.add(weighted_b * b);
        b_slope.add(l.slope * b);
        return l.value;
    }
};

// Forward: keeps the traces of the inner nodes, and adds every scored node to what its parent knows of its children.
__attribute__((noinline)) void record_children(const Block &block, const Constants &c, const States &states, float *traces,
                                               Children &children, Kahan &total) {
    for (int k = 0; k < 4 * block.leaves.begin; k += kVector) store(children.sums + k, all<1>(0.0f));
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
}

void fisher_block(const Block &block, const Constants &c, void *workspace, double *sums) {
    Memory memory{static_cast<float *>(workspace)};
    const States states(block, c, memory);
    const size_t slots = size_t(block.leaves.begin);
    float *traces = memory.take(slots * kTraceRows);
    Children children{memory.take(4 * slots), {}, {}};
    Kahan total;
    record_children(block, c, states, traces, children, total);
    Products &products = *reinterpret_cast<Products *>(memory.take(sizeof(Products) / 4));
    Rows &rows = *reinterpret_cast<Rows *>(memory.take(sizeof(Rows) / 4));
    products = Products{};
    int filled = 0;
    Kahan w20_w20, w20_residual;  // what the rows say of w20 alone that is not so
    // A row of products for the nodes at `slot`: its scale goes to `fill`, which fills the columns. Rows without children go.
    auto add_row = [&](int slot, auto fill) FSRS_INLINE_BODY {
        const Triple sums = load_triple(children.sums + 4 * slot);  // a a, a b, slope a
        const Mask<1> some = sums.a >= 1e-30f;
        const Lanes<1> root = sqrt(sums.a), inverse = keep(some, 1.0f / root);
        fill(keep(some, root));
        if (!anywhere(some)) return;
        const Lanes<1> b = sums.b * inverse, residual = sums.c * inverse;
        rows.column[20 - 3][filled] += b.v[0];
        rows.residual[filled] = residual.v[0];
        w20_w20.add(b * b);
        w20_residual.add(b * residual);
        if (++filled == kBuffer) {
            add_products(rows, filled, products);
            filled = 0;
        }
    };

    size_t width = 0;
    for (int l = 0; l < block.n_inner; ++l) {
        const size_t nodes = size_t(block.inner[l].end - block.inner[l].begin);
        width = nodes > width ? nodes : width;
    }
    const size_t stride = tangent_stride(width);
    float *before = memory.take(kTangentRows * stride), *after = memory.take(kTangentRows * stride);
    for (int k = 0; k < kTangentRows; ++k) store(before + k * stride, all<1>(0.0f));
    store(before, all<1>(1.0f));
    store(before + kD * stride, all<1>(float(c.first_difficulty_w4[block.first_rating - 1])));
    store(before + (kD + 1) * stride, all<1>(float(c.first_difficulty_w5[block.first_rating - 1])));
    add_row(0, [&](Lanes<1> scale) {
        for (int k = 0; k < kColumns; ++k) rows.column[k][filled] = (scale * load<1>(before + k * stride)).v[0];
    });
    for (int l = 1; l < block.n_inner; ++l) {
        const Level &level = block.inner[l];
        const int first = block.inner[l - 1].begin;
        for (int slot = level.begin; slot < level.end; slot += kVector) {
            const Trace<1> x = load_trace(traces + size_t(slot) * kTraceRows);
            const Move move(c, partials(c, review<1>(block, slot), x), x.recall, load<1>(states.stability + slot),
                            load<1>(states.difficulty + slot));
            add_row(slot, [&](Lanes<1> scale) FSRS_INLINE_BODY {
                with_places(block.parent + slot, first, [&](auto parents) FSRS_INLINE_BODY {
                    advance_tangents(before, parents, move, after + (slot - level.begin), stride, scale,
                                     rows.column[0] + filled);
                });
            });
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
    gradient[20] += children.b_slope.value() - w20_residual.value();
    const VFloat(*tile)[kTile][kTile] = products.tile;
    for (int i = 0; i < kTiles; ++i)
        for (int j = i; j < kTiles; ++j, ++tile)
            for (int a = 0; a < kTile; ++a)
                for (int b = i == j ? a : 0; b < kTile; ++b) {
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
    const size_t fisher = 2 * largest.slots + (4 + kTraceRows) * largest.inner_slots + 2 * kTangentRows * tangent_stride(largest.width);
    const size_t floats = forward > fisher ? forward : fisher;
    return sizeof(float) * floats + sizeof(Rows) + sizeof(Products) + 24 * 64;
}

}  // namespace
