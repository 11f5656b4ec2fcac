// The steps of the `map` recipe's solver: training/trust_region.py in C++, formula by formula and with the same names.
#pragma once

#include <limits>
#include <vector>

#include "kernel.hpp"

namespace fsrs {

// One limit of the quadratic program: sum value[i] x[index[i]] <= room over its first `count` entries, with room >= 0.
struct Limit {
    int count, index[kParameters];
    double value[kParameters], room;
};

// n <= 21. x [n] that minimizes gradient x + x hessian x / 2 inside the limits; zeros when that cannot be found. training/qp.py
std::vector<double> solve_qp(int n, const std::vector<double> &hessian, const std::vector<double> &gradient,
                             std::vector<Limit> limits);

struct Settings {
    double low[kParameters], high[kParameters];  // allowed range of each parameter
    double centre[kParameters], sigma[kParameters];
    double ceiling;  // highest w17 and w18 with one relearning step
    int relearning_steps, max_passes, fisher_steps, patience;
    double promise;
};

// Where training stands; see training/trust_region.py for what each step does.
class TrustRegion {
  public:
    explicit TrustRegion(const Settings &settings) : set_(settings) {}

    // Judges the point w, with its objective, gradient [21] and Fisher matrix [21, 21] (or null), and writes the next one
    // to try. Entries that are held do not move. Returns false for a first objective that is not finite.
    bool advance(const double *w, double objective, const double *gradient, const double *fisher, const bool *held,
                 double *next);

    bool wants_fisher = true, done = false, converged = false;
    int passes = 0;
    double objective() const { return best_.objective; }

  private:
    struct Point {
        double z[kParameters], w[kParameters], gradient[kParameters];
        double objective = std::numeric_limits<double>::infinity();
    };

    void judge(const Point &trial, const double *fisher);
    void bfgs(const double *moved, const double *change);
    void propose(const bool *held, double *next);
    void minimizer(const double (&matrix)[kFisher], const bool *held, double *move) const;
    void bring_in(const double *move, double *w) const;
    double same_day_ceiling(const double *w) const;

    Settings set_;
    bool started_ = false;
    Point best_;
    double matrix_[kFisher];
    int fisher_steps_ = 0, small_promises_ = 0;
    double damping_ = 1e-3, radius_ = 4.0, promised_ = std::numeric_limits<double>::infinity();
};

}  // namespace fsrs
