// What the `map` recipe minimizes, and its minimization step by step: training/objective.py and the loop of
// training/stepwise.py in C++.
#pragma once

#include <functional>

#include "passes.hpp"
#include "solver.hpp"

namespace fsrs {

struct Pass {  // the objective at w; fisher only if it was wanted
    double w[kParameters], loss, gradient[kParameters], fisher[kFisher];
    Wanted wanted;
};

// J: the loss of a pack plus the prior, ((w - centre) / sigma)^2 and (ln(w / centre) / 2)^2 for w0..w3.
class Objective {
  public:
    Objective(const Pack &pack, const double *centre, const double *sigma);  // the pack must outlive it

    // pass.w and pass.wanted (gradient or fisher) are given, the rest is filled in. Throws as fsrs::evaluate does.
    void evaluate(Pass &pass, int threads, const Kernel &kernel) const;

  private:
    const Pack &pack_;
    double centre_[kParameters], sigma_[kParameters];
};

// How far a stage of the `map` recipe goes, and how: see training/trust_region.py.
struct Effort {
    double promise;
    int patience, fisher_steps, max_passes;
};

struct Stage {
    int passes;               // that were made
    double start, objective;  // J at the stage's first point and at its last
    bool converged;
};

enum class End { done, stopped, not_finite };

// The `map` recipe's stages, one after another from a point: the compiled training_step, step after step.
class Minimizer {
  public:
    Minimizer(const Objective &objective, const Settings &settings, const double *w);  // the objective must outlive it

    // Passes and steps until the solver is done, or `go_on` (passes, J at the best point) says no after one. The gradient's
    // entries that are held are replaced by zero before the solver gets it. A pass that the last stage made is not repeated.
    End run(const bool *held, const Effort &effort, int threads, const Kernel &kernel,
            const std::function<bool(int, double)> &go_on, Stage &stage);

    const double *w() const { return w_; }  // the best point; after `stopped` the last one that was proposed

  private:
    const Objective &objective_;
    Settings settings_;
    double w_[kParameters];
    Pass last_;
    bool has_last_ = false;
};

}  // namespace fsrs
