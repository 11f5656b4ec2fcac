// Forward mode: the derivatives of the state travel with it, so that every review's dR/dw is at hand for the Fisher
// matrix sum weight (dR/dw)(dR/dw)^T / (R (1 - R)).
#pragma once

namespace {

// Within a block one of w0..w3 counts (that of the first rating), so 18 columns: it, then w4..w20.
constexpr int kColumns = 18;
constexpr int kTile = 3;
constexpr int kTiles = kColumns / kTile;
constexpr int kBuffer = 16;  // steps gathered before their outer products are summed

struct Rows {  // scaled derivatives of R of kBuffer steps, and the scaled residuals that make the gradient of them
    Lanes column[kColumns][kBuffer];
    Lanes residual[kBuffer];
};

struct Products {  // float32 sums per lane of a register
    VFloat tile[kTiles * (kTiles + 1) / 2][kTile][kTile];
    VFloat residual[kColumns];
};

// products += rows^T rows, upper triangle by tiles that stay in registers.
void add_products(const Rows &rows, int steps, Products &products) {
    const int n = steps * kUnroll;
    VFloat(*tile)[kTile][kTile] = products.tile;
    const VFloat *residual = rows.residual[0].v;
    for (int i = 0; i < kTiles; ++i) {
        const VFloat *a0 = rows.column[3 * i][0].v, *a1 = rows.column[3 * i + 1][0].v, *a2 = rows.column[3 * i + 2][0].v;
        VFloat *t = products.residual + 3 * i;
        VFloat r0 = t[0], r1 = t[1], r2 = t[2];
        for (int k = 0; k < n; ++k) {
            r0 += a0[k] * residual[k];
            r1 += a1[k] * residual[k];
            r2 += a2[k] * residual[k];
        }
        t[0] = r0, t[1] = r1, t[2] = r2;
        for (int j = i; j < kTiles; ++j, ++tile) {
            const VFloat *b0 = rows.column[3 * j][0].v, *b1 = rows.column[3 * j + 1][0].v,
                         *b2 = rows.column[3 * j + 2][0].v;
            VFloat(&s)[kTile][kTile] = *tile;
            VFloat s00 = s[0][0], s01 = s[0][1], s02 = s[0][2], s10 = s[1][0], s11 = s[1][1], s12 = s[1][2],
                   s20 = s[2][0], s21 = s[2][1], s22 = s[2][2];
            for (int k = 0; k < n; ++k) {
                VFloat x0 = b0[k], x1 = b1[k], x2 = b2[k], y = a0[k];
                s00 += y * x0, s01 += y * x1, s02 += y * x2;
                y = a1[k];
                s10 += y * x0, s11 += y * x1, s12 += y * x2;
                y = a2[k];
                s20 += y * x0, s21 += y * x1, s22 += y * x2;
            }
            s[0][0] = s00, s[0][1] = s01, s[0][2] = s02, s[1][0] = s10, s[1][1] = s11, s[1][2] = s12;
            s[2][0] = s20, s[2][1] = s21, s[2][2] = s22;
        }
    }
}

// Derivatives of the clamped state with respect to the 18 columns; D depends on w4..w7 only.
struct Tangent {
    Lanes S[kColumns], D[4];
};

FSRS_INLINE Tangent first_tangent(const Constants &c, int rating) {
    Tangent t{};
    t.S[0] = all(1.0f);
    t.D[0] = all(float(c.first_difficulty_w4[rating - 1]));
    t.D[1] = all(float(c.first_difficulty_w5[rating - 1]));
    return t;
}

// Column of parameter k (4..20); p.S must already hold the way through 1 - R.
FSRS_INLINE void advance_tangent(const Constants &c, const Partials &p, Mask inside_S, Mask inside_D, Tangent &t) {
    Lanes direct[kColumns] = {};
    direct[8 - 3] = p.w8, direct[9 - 3] = p.w9, direct[10 - 3] = p.w10;
    direct[11 - 3] = p.log_w11 * (1.0f / c.w[11]);
    direct[12 - 3] = p.w12, direct[13 - 3] = p.w13, direct[14 - 3] = p.w14, direct[15 - 3] = p.w15;
    direct[16 - 3] = p.w16;
    direct[17 - 3] = fma(p.w17_w18, c.w[18], p.w17_rating);
    direct[18 - 3] = p.w17_w18 * c.w[17];
    direct[19 - 3] = p.w19;
    direct[20 - 3] = p.forgotten * p.recall * p.forgotten_w20;
    t.S[0] = keep(inside_S, t.S[0] * p.S);
    for (int k = 0; k < 4; ++k) t.S[1 + k] = keep(inside_S, fma(t.S[1 + k], p.S, t.D[k] * p.D));
    for (int k = 5; k < kColumns; ++k) t.S[k] = keep(inside_S, fma(t.S[k], p.S, direct[k]));
    t.D[0] = keep(inside_D, fma(t.D[0], p.difficulty_D, all(c.w[7])));
    t.D[1] = keep(inside_D, fma(t.D[1], p.difficulty_D, c.w[7] * float(c.difficulty_easy_w5)));
    t.D[2] = keep(inside_D, fma(t.D[2], p.difficulty_D, p.w6));
    t.D[3] = keep(inside_D, fma(t.D[3], p.difficulty_D, p.w7));
}

struct FisherWork {
    Rows rows;
    Products products;
    Tangent tangent;
};

void fisher_block(const Packed &packed, size_t begin, size_t end, const Constants &c, void *workspace, double *sums) {
    FisherWork &work = *static_cast<FisherWork *>(workspace);
    Rows &rows = work.rows;
    Tangent &t = work.tangent;
    work.products = Products{};
    Kahan total;
    const int rating = packed.groups[begin].first_rating;
    int filled = 0;
    for_each_strip(packed, begin, end, [&](const Group &, size_t, int, int steps, const float *slots) {
        Lanes stability = all(c.first_stability[rating - 1]);
        Lanes difficulty = all(c.first_difficulty[rating - 1]);
        t = first_tangent(c, rating);
        for (int step = 0; step < steps; ++step) {
            Review r = review(slot_of(slots, step));
            Trace x;
            advance(c, r, x, stability, difficulty);
            Loss l = loss(c, r, x);
            total.add(l.value);
            Partials p = partials(c, r, x);

            // root of weight / (R (1 - R)), and the residual d loss / dR over it
            Lanes scale = keep(l.inside, sqrt(r.weight / (p.recall * max(x.forgotten, kRMin))));
            rows.residual[filled] = scale * select(r.again, p.recall, -x.forgotten);
            Lanes by_R = -scale * p.recall;
            Lanes by_S = by_R * p.forgotten_S;
            for (int k = 0; k < kColumns - 1; ++k) rows.column[k][filled] = by_S * t.S[k];
            rows.column[kColumns - 1][filled] = fma(by_S, t.S[kColumns - 1], by_R * p.forgotten_w20);
            if (++filled == kBuffer) {
                add_products(rows, filled, work.products);
                filled = 0;
            }

            p.S = fma(p.forgotten * p.recall, p.forgotten_S, p.S);
            advance_tangent(c, p, clamp(stability, kSMin, kSMax) == stability,
                            clamp(difficulty, kDMin, kDMax) == difficulty, t);
        }
    });
    add_products(rows, filled, work.products);

    sums[0] = total.value();
    double *gradient = sums + 1, *fisher = gradient + kParameters;
    for (int k = 0; k < kParameters + fsrs::kFisher; ++k) gradient[k] = 0;
    auto parameter = [&](int column) { return column == 0 ? rating - 1 : column + 3; };
    for (int k = 0; k < kColumns; ++k) gradient[parameter(k)] = sum(work.products.residual[k]);
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
    size_t trace = sizeof(Trace) * size_t(steps), fisher = sizeof(FisherWork);
    return trace > fisher ? trace : fisher;
}

}  // namespace
