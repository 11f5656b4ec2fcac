#include "objective.hpp"

#include <algorithm>
#include <cmath>

namespace fsrs {

Objective::Objective(const Pack &pack, const double *centre, const double *sigma) : pack_(pack) {
    std::copy_n(centre, kParameters, centre_);
    std::copy_n(sigma, kParameters, sigma_);
}

void Objective::evaluate(Pass &pass, int threads, const Kernel &kernel) const {
    double sums[1 + kParameters + kFisher];
    fsrs::evaluate(pack_, pass.w, pass.wanted, threads, kernel, sums);
    pass.loss = sums[0];
    std::copy_n(sums + 1, kParameters, pass.gradient);
    const bool fisher = pass.wanted == Wanted::fisher;
    if (fisher) std::copy_n(sums + 1 + kParameters, kFisher, pass.fisher);
    for (int k = 0; k < kParameters; ++k) {
        const double w = pass.w[k];
        const bool initial = k < kInitialStabilities;
        const double z = initial ? std::log(w / centre_[k]) / 2 : (w - centre_[k]) / sigma_[k];
        pass.loss += z * z;
        pass.gradient[k] += initial ? z / w : 2 * z / sigma_[k];
        if (fisher) pass.fisher[k * (kParameters + 1)] += initial ? 0.5 / (w * w) : 2 / (sigma_[k] * sigma_[k]);
    }
}

bool minimize(const Objective &objective, TrustRegion &solver, const bool *held, int threads, const Kernel &kernel,
              const std::function<bool()> &interrupted, double *w, Pass &last) {
    while (!solver.done) {
        if (interrupted()) return false;
        std::copy_n(w, kParameters, last.w);
        last.wanted = solver.wants_fisher ? Wanted::fisher : Wanted::gradient;
        objective.evaluate(last, threads, kernel);
        double gradient[kParameters];
        for (int k = 0; k < kParameters; ++k) gradient[k] = held[k] ? 0 : last.gradient[k];
        // cannot be refused: only a first point is
        solver.advance(w, last.loss, gradient, last.wanted == Wanted::fisher ? last.fisher : nullptr, held, w);
    }
    return true;
}

}  // namespace fsrs
