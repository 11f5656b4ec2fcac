// Passes over a whole pack: the kernel for this processor, threads over blocks, sums in a fixed order.
#pragma once

#include <string>
#include <vector>

#include "pack.hpp"

namespace fsrs {

std::vector<const Kernel *> usable_kernels();  // on this processor, slowest first
// `isa` "" or "auto": the environment variable FSRS_OPT_ISA if set, else the fastest. Throws std::invalid_argument.
const Kernel &choose_kernel(const std::string &isa);

enum class Wanted { loss, gradient, fisher };

// sums: loss, then gradient [21], then Fisher matrix [21, 21], as far as wanted. Throws std::invalid_argument for
// parameters that are not finite or far outside their ranges.
void evaluate(const Pack &, const double *w, Wanted, int threads, const Kernel &, double *sums);
void forward(const Pack &, const double *w, int threads, const Kernel &, const Output &);

}  // namespace fsrs
