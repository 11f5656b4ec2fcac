#include "solver.hpp"

#include <algorithm>
#include <cmath>

namespace fsrs {

namespace {

constexpr int n_log = kInitialStabilities;  // they count by their logarithm
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-11;
constexpr int kMaxIterations = 500;
constexpr double kLargestRadius = 64.0, kSmallestRadius = 1e-7, kSmallestDamping = 1e-9;

double to_z(const Settings &s, int k, double w) { return k < n_log ? std::log(w) : (w - s.centre[k]) / s.sigma[k]; }
double to_w(const Settings &s, int k, double z) { return k < n_log ? std::exp(z) : s.centre[k] + s.sigma[k] * z; }
double w_by_z(const Settings &s, int k, double w) { return k < n_log ? w : s.sigma[k]; }

// L with L L^T = a, in place of a's lower triangle; false where a is not positive definite.
bool cholesky(int n, double *a, int stride) {
    for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) {
            double sum = a[i * stride + j];
            for (int k = 0; k < j; ++k) sum -= a[i * stride + k] * a[j * stride + k];
            if (i > j)
                a[i * stride + j] = sum / a[j * stride + j];
            else if (!(sum > 0))
                return false;
            else
                a[j * stride + j] = std::sqrt(sum);
        }
    }
    return true;
}

void substitute(int n, const double *l, int stride, double *x) {  // x := (L L^T)^-1 x
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < i; ++k) x[i] -= l[i * stride + k] * x[k];
        x[i] /= l[i * stride + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) x[i] -= l[k * stride + i] * x[k];
        x[i] /= l[i * stride + i];
    }
}

// a := a^-1, Gauss-Jordan; false where the symmetric a is not positive definite, as its pivots tell.
bool invert(int n, double *a) {
    for (int k = 0; k < n; ++k) {
        double *__restrict pivot_row = a + k * n;
        if (!(pivot_row[k] > 0)) return false;
        const double inverse = 1 / pivot_row[k];
        pivot_row[k] = 1;
        for (int j = 0; j < n; ++j) pivot_row[j] *= inverse;
        for (int i = 0; i < n; ++i) {
            if (i == k) continue;
            double *__restrict row = a + i * n;
            const double factor = row[k];
            row[k] = 0;
            for (int j = 0; j < n; ++j) row[j] -= factor * pivot_row[j];
        }
    }
    return true;
}

bool contains(const std::vector<int> &some, int k) { return std::find(some.begin(), some.end(), k) != some.end(); }

double dot(const Limit &limit, const double *x) {
    double sum = 0;
    for (int i = 0; i < limit.count; ++i) sum += limit.value[i] * x[limit.index[i]];
    return sum;
}

}  // namespace

std::vector<double> solve_qp(int n, const std::vector<double> &hessian, const std::vector<double> &gradient,
                             std::vector<Limit> limits) {
    const std::vector<double> nothing(n, 0.0);
    // Limits of one variable are rows of another length than limits of several: compare distances.
    auto is_empty = [](Limit &limit) {
        double length = 0;
        for (int i = 0; i < limit.count; ++i) length += limit.value[i] * limit.value[i];
        length = std::sqrt(length);
        for (int i = 0; i < limit.count; ++i) limit.value[i] /= length;
        limit.room /= length;
        return length == 0;
    };
    limits.erase(std::remove_if(limits.begin(), limits.end(), is_empty), limits.end());
    const int m = int(limits.size());

    std::vector<double> inverse = hessian;  // symmetric: row i is also column i
    if (!invert(n, inverse.data())) return nothing;
    std::vector<double> x(n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) x[i] -= inverse[i * n + j] * gradient[j];

    // Never more than n limits are active: their rows are independent.
    std::vector<int> active, implied;  // implied by the active ones: what they seem violated by is rounding
    std::vector<double> multipliers;
    std::vector<std::vector<double>> through;  // inverse times the row of each active limit
    std::vector<double> toward(n), direction(n), answer, gram;
    int iterations = 0;
    while (true) {
        int worst = -1;
        double most = -kInfinity, size = 0;
        for (int k = 0; k < m; ++k) {
            const bool met = contains(active, k) || contains(implied, k);
            const double excess = met ? 0.0 : dot(limits[k], x.data()) - limits[k].room;
            if (excess > most) most = excess, worst = k;
        }
        for (double value : x) size = std::max(size, std::abs(value));
        if (worst < 0 || !(most > kTiny * (1 + size))) return x;
        const Limit &normal = limits[worst];
        double multiplier = 0;
        while (true) {
            if (++iterations > kMaxIterations) return nothing;
            // How x and the active multipliers answer to one more unit of the new limit's multiplier
            const int k = int(active.size());
            std::fill(toward.begin(), toward.end(), 0.0);
            for (int i = 0; i < normal.count; ++i)
                for (int j = 0; j < n; ++j) toward[j] += normal.value[i] * inverse[normal.index[i] * n + j];
            gram.assign(k * k, 0.0);
            answer.assign(k, 0.0);
            for (int i = 0; i < k; ++i) {
                for (int j = 0; j <= i; ++j) gram[i * k + j] = dot(limits[active[i]], through[j].data());
                answer[i] = dot(limits[active[i]], toward.data());
            }
            // never singular: a limit becomes active only where the active ones do not imply it
            if (!cholesky(k, gram.data(), k)) return nothing;
            substitute(k, gram.data(), k, answer.data());
            for (int j = 0; j < n; ++j) {
                direction[j] = -toward[j];
                for (int i = 0; i < k; ++i) direction[j] += answer[i] * through[i][j];
            }
            const double progress = -dot(normal, direction.data());
            double until_release = kInfinity, until_met = kInfinity;
            int released = -1;
            for (int i = 0; i < k; ++i)
                if (answer[i] > kTiny && multipliers[i] / answer[i] < until_release)
                    until_release = multipliers[i] / answer[i], released = i;
            if (progress > kTiny * dot(normal, toward.data()))  // else the active limits imply this direction
                until_met = (dot(normal, x.data()) - normal.room) / progress;
            const double length = std::min(until_release, until_met);
            if (!std::isfinite(length)) {  // limits cannot contradict each other where x = 0 is allowed
                implied.push_back(worst);
                break;
            }
            for (int i = 0; i < k; ++i) multipliers[i] -= length * answer[i];
            multiplier += length;
            if (std::isfinite(until_met))
                for (int j = 0; j < n; ++j) x[j] += length * direction[j];
            if (until_met <= until_release) {
                active.push_back(worst);
                multipliers.push_back(multiplier);
                through.push_back(toward);
                break;
            }
            active.erase(active.begin() + released);
            implied.clear();
            multipliers.erase(multipliers.begin() + released);
            through.erase(through.begin() + released);
        }
    }
}

bool TrustRegion::advance(const double *w, double objective, const double *gradient, const double *fisher,
                          const bool *held, double *next) {
    ++passes;
    Point trial;
    double scale[kParameters];
    for (int k = 0; k < kParameters; ++k) {
        scale[k] = w_by_z(set_, k, w[k]);
        trial.w[k] = w[k];
        trial.z[k] = to_z(set_, k, w[k]);
        trial.gradient[k] = gradient[k] * scale[k];
    }
    trial.objective = objective;
    double scaled[kFisher];
    if (fisher)
        for (int i = 0; i < kParameters; ++i)
            for (int j = 0; j < kParameters; ++j)
                scaled[i * kParameters + j] = fisher[i * kParameters + j] * scale[i] * scale[j];
    if (!started_) {
        bool finite = std::isfinite(objective);
        for (double g : trial.gradient) finite = finite && std::isfinite(g);
        if (!finite) return false;
        best_ = trial;
        for (int i = 0; i < kFisher; ++i) matrix_[i] = fisher ? scaled[i] : i % (kParameters + 1) == 0;
        started_ = true;
    } else {
        judge(trial, fisher ? scaled : nullptr);
    }
    propose(held, next);
    return true;
}

void TrustRegion::judge(const Point &trial, const double *fisher) {
    bool finite = std::isfinite(trial.objective);
    for (double g : trial.gradient) finite = finite && std::isfinite(g);
    const bool better = finite && trial.objective < best_.objective;
    double ratio = -1;  // of what came to what was promised
    if (finite && promised_ > 0) ratio = (best_.objective - trial.objective) / promised_;
    if (ratio > 0.5)
        damping_ = std::max(damping_ / 8, kSmallestDamping);
    else if (!better)
        damping_ *= 10;
    double length = 0, moved[kParameters], change[kParameters];
    for (int k = 0; k < kParameters; ++k) {
        moved[k] = trial.z[k] - best_.z[k];
        change[k] = trial.gradient[k] - best_.gradient[k];
        length = std::max(length, std::abs(moved[k]));
    }
    if (!better)
        radius_ = std::min(radius_, length) / 4;
    else if (ratio < 0.25)
        radius_ = std::max(length / 2, kSmallestRadius);
    else if (ratio > 0.75)
        radius_ = std::min(std::max(radius_, 2.5 * length), kLargestRadius);
    if (better && wants_fisher && fisher)
        std::copy(fisher, fisher + kFisher, matrix_);
    else if (finite && !wants_fisher)
        bfgs(moved, change);
    if (better) best_ = trial;
}

// Powell's damped update (Nocedal and Wright, procedure 18.2): the matrix stays positive definite.
void TrustRegion::bfgs(const double *moved, const double *change) {
    double through[kParameters], damped[kParameters], curvature = 0, along = 0;
    for (int i = 0; i < kParameters; ++i) {
        through[i] = 0;
        for (int j = 0; j < kParameters; ++j) through[i] += matrix_[i * kParameters + j] * moved[j];
        curvature += moved[i] * through[i];
        along += moved[i] * change[i];
    }
    if (!(curvature > 0)) return;
    const double theta = along < 0.2 * curvature ? 0.8 * curvature / (curvature - along) : 1;
    along = 0;
    for (int i = 0; i < kParameters; ++i) {
        damped[i] = theta * change[i] + (1 - theta) * through[i];
        along += moved[i] * damped[i];
    }
    for (int i = 0; i < kParameters; ++i)
        for (int j = 0; j < kParameters; ++j)
            matrix_[i * kParameters + j] += damped[i] * damped[j] / along - through[i] * through[j] / curvature;
}

// The next point to try, or the best one when it is time to stop.
void TrustRegion::propose(const bool *held, double *next) {
    if (wants_fisher && fisher_steps_ >= set_.fisher_steps) wants_fisher = false;
    double matrix[kFisher], move[kParameters], moved[kParameters];
    std::copy(matrix_, matrix_ + kFisher, matrix);
    if (wants_fisher) {
        ++fisher_steps_;
        for (int i = 0; i < kFisher; i += kParameters + 1) matrix[i] += damping_ * matrix[i];
    }
    minimizer(matrix, held, move);
    bring_in(move, next);
    for (int k = 0; k < kParameters; ++k) moved[k] = next[k] == best_.w[k] ? 0 : to_z(set_, k, next[k]) - best_.z[k];
    promised_ = 0;
    for (int i = 0; i < kParameters; ++i) {
        double through = 0;
        for (int j = 0; j < kParameters; ++j) through += matrix_[i * kParameters + j] * moved[j];
        promised_ -= moved[i] * (best_.gradient[i] + through / 2);
    }
    small_promises_ = promised_ < set_.promise ? small_promises_ + 1 : 0;
    converged = small_promises_ >= set_.patience || radius_ <= kSmallestRadius;
    done = converged || passes >= set_.max_passes;
    if (done) std::copy(best_.w, best_.w + kParameters, next);
}

// The move that minimizes the quadratic model inside box, order, ceilings and trust region.
void TrustRegion::minimizer(const double (&matrix)[kFisher], const bool *held, double *move) const {
    int place[kParameters], n = 0;  // of each free parameter in the program
    for (int k = 0; k < kParameters; ++k) place[k] = held[k] ? -1 : n++;
    std::vector<double> hessian(n * n), gradient(n);
    std::vector<Limit> limits;
    limits.reserve(2 * kParameters + 5);
    for (int i = 0; i < kParameters; ++i) {
        if (held[i]) continue;
        gradient[place[i]] = best_.gradient[i];
        for (int j = 0; j < kParameters; ++j)
            if (!held[j]) hessian[place[i] * n + place[j]] = matrix[i * kParameters + j];
    }
    auto add = [&](std::initializer_list<std::pair<int, double>> row, double room) {
        limits.emplace_back();
        Limit &limit = limits.back();
        limit.count = 0;
        limit.room = room;
        for (auto [k, value] : row)
            if (!held[k]) limit.index[limit.count] = place[k], limit.value[limit.count++] = value;
    };
    for (int k = 0; k < kParameters; ++k)
        add({{k, 1}}, std::min(to_z(set_, k, set_.high[k]) - best_.z[k], radius_));
    for (int k = 0; k < kParameters; ++k)
        add({{k, -1}}, std::min(best_.z[k] - to_z(set_, k, set_.low[k]), radius_));
    for (int k = 0; k + 1 < n_log; ++k) add({{k, 1}, {k + 1, -1}}, best_.z[k + 1] - best_.z[k]);
    if (set_.relearning_steps > 1) {
        const double ceiling = same_day_ceiling(best_.w);
        auto slope = [&](int k) {  // of the ceiling, by the coordinate of w_k
            double nudged[kParameters];
            std::copy(best_.w, best_.w + kParameters, nudged);
            nudged[k] += 1e-6;
            return (same_day_ceiling(nudged) - ceiling) / 1e-6 * set_.sigma[k];
        };
        const double by_11 = slope(11), by_13 = slope(13), by_14 = slope(14);
        for (int k : {17, 18})
            add({{11, -by_11}, {13, -by_13}, {14, -by_14}, {k, set_.sigma[k]}}, ceiling - best_.w[k]);
    }
    const std::vector<double> found = solve_qp(n, hessian, gradient, std::move(limits));
    for (int k = 0; k < kParameters; ++k) move[k] = held[k] ? 0 : found[place[k]];
}

// Parameters after a move: exact where nothing moves, inside every limit where rounding left it.
void TrustRegion::bring_in(const double *move, double *w) const {
    double moved[kParameters], highest = 0;
    for (int k = 0; k < kParameters; ++k) {
        moved[k] = move[k] == 0 ? best_.w[k] : to_w(set_, k, best_.z[k] + move[k]);
        if (k < n_log) {
            highest = std::max(highest, moved[k]);
            if (move[k] != 0) moved[k] = highest;
        }
        moved[k] = std::min(std::max(moved[k], set_.low[k]), set_.high[k]);
    }
    const double ceiling = same_day_ceiling(moved);
    for (int k : {17, 18}) moved[k] = std::min(moved[k], ceiling);
    for (int k = 0; k < kParameters; ++k) w[k] = move[k] == 0 ? best_.w[k] : moved[k];
}

// model/parameters.py
double TrustRegion::same_day_ceiling(const double *w) const {
    if (set_.relearning_steps <= 1) return set_.ceiling;
    const double room =
        -(std::log(w[11]) + std::log(std::pow(2.0, w[13]) - 1.0) + 0.3 * w[14]) / set_.relearning_steps;
    return std::min(set_.ceiling, std::sqrt(std::max(0.01, room)));
}

}  // namespace fsrs
