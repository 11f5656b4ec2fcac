// What the `map` recipe minimizes, and its minimization step by step: training/objective.py and the loop of
// training_step in C++.
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

// Passes and steps from `w` until the solver is done, or `interrupted` says so before a pass (then false). Held entries
// are zero in the gradient that the solver gets. `w` becomes the best point; `last` is the last pass, if there was one.
bool minimize(const Objective &objective, TrustRegion &solver, const bool *held, int threads, const Kernel &kernel,
              const std::function<bool()> &interrupted, double *w, Pass &last);

}  // namespace fsrs
