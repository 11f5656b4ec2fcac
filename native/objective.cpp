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

Minimizer::Minimizer(const Objective &objective, const Settings &settings, const double *w)
    : objective_(objective), settings_(settings) {
    std::copy_n(w, kParameters, w_);
}

End Minimizer::run(const bool *held, const Effort &effort, int threads, const Kernel &kernel,
                   const std::function<bool(int, double)> &go_on, Stage &stage) {
    settings_.promise = effort.promise;
    settings_.patience = effort.patience;
    settings_.fisher_steps = effort.fisher_steps;
    settings_.max_passes = effort.max_passes;
    TrustRegion solver(settings_);
    stage = {};
    while (!solver.done) {
        const bool at_hand = has_last_ && std::equal(w_, w_ + kParameters, last_.w) &&
                             (last_.wanted == Wanted::fisher || !solver.wants_fisher);
        if (!at_hand) {
            has_last_ = false;
            std::copy_n(w_, kParameters, last_.w);
            last_.wanted = solver.wants_fisher ? Wanted::fisher : Wanted::gradient;
            objective_.evaluate(last_, threads, kernel);
            has_last_ = true;
            ++stage.passes;
        }
        if (solver.passes == 0) stage.start = last_.loss;
        double gradient[kParameters];
        for (int k = 0; k < kParameters; ++k) gradient[k] = held[k] ? 0 : last_.gradient[k];
        const double *fisher = solver.wants_fisher ? last_.fisher : nullptr;
        if (!solver.advance(last_.w, last_.loss, gradient, fisher, held, w_)) return End::not_finite;
        if (!go_on(stage.passes, solver.objective())) return End::stopped;
    }
    stage.objective = solver.objective();
    stage.converged = solver.converged;
    return End::done;
}

}  // namespace fsrs
