// The Python module fsrs_opt._native: checked arrays in, arrays out; the GIL is free while a pass runs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "cards.hpp"
#include "objective.hpp"
#include "pretrain.hpp"

namespace nb = nanobind;

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, double>;

Result result(double *data, std::initializer_list<size_t> shape) {
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<double *>(p); });
    return Result(data, shape, owner);
}

const double *parameters(const Array<double> &w) {
    if (w.shape(0) != fsrs::kParameters) throw std::invalid_argument("w must hold 21 parameters");
    return w.data();
}

const bool *flags(const Array<bool> &held) {
    if (held.shape(0) != fsrs::kParameters) throw std::invalid_argument("held must hold 21 flags");
    return held.data();
}

fsrs::Pack *pack(const Array<int64_t> &offsets, const Array<int8_t> &rating, const Array<int32_t> &delta_t,
                 const Array<double> &weight) {
    const size_t n = rating.shape(0);
    if (delta_t.shape(0) != n || weight.shape(0) != n)
        throw std::invalid_argument("rating, delta_t and weight must have the same length");
    nb::gil_scoped_release release;
    return new fsrs::Pack({offsets.data(), offsets.shape(0), rating.data(), delta_t.data(), weight.data(), n});
}

Result copied(const double *values, std::initializer_list<size_t> shape) {
    size_t n = 1;
    for (size_t length : shape) n *= length;
    double *owned = new double[n];
    std::copy_n(values, n, owned);
    return result(owned, shape);
}

// (loss, gradient) or, where there is one, (loss, gradient, fisher).
nb::tuple as_tuple(double loss, const double *gradient, const double *fisher) {
    constexpr size_t n = fsrs::kParameters;
    if (!fisher) return nb::make_tuple(loss, copied(gradient, {n}));
    return nb::make_tuple(loss, copied(gradient, {n}), copied(fisher, {n, n}));
}

nb::tuple evaluate(const fsrs::Pack &pack, const Array<double> &w, fsrs::Wanted wanted, int threads,
                   const std::string &isa) {
    const double *parameters_ = parameters(w);
    const fsrs::Kernel &kernel = fsrs::choose_kernel(isa);  // reads the environment, which the GIL guards
    double sums[1 + fsrs::kParameters + fsrs::kFisher];
    {
        nb::gil_scoped_release release;
        fsrs::evaluate(pack, parameters_, wanted, threads, kernel, sums);
    }
    return as_tuple(sums[0], sums + 1, wanted == fsrs::Wanted::fisher ? sums + 1 + fsrs::kParameters : nullptr);
}

nb::tuple evaluate_objective(const fsrs::Objective &objective, const Array<double> &w, fsrs::Wanted wanted, int threads,
                             const std::string &isa) {
    fsrs::Pass pass;
    std::copy_n(parameters(w), fsrs::kParameters, pass.w);
    pass.wanted = wanted;
    const fsrs::Kernel &kernel = fsrs::choose_kernel(isa);
    {
        nb::gil_scoped_release release;
        objective.evaluate(pass, threads, kernel);
    }
    return as_tuple(pass.loss, pass.gradient, wanted == fsrs::Wanted::fisher ? pass.fisher : nullptr);
}

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

fsrs::Settings settings(const Array<double> &low, const Array<double> &high, const Array<double> &centre,
                        const Array<double> &sigma, double ceiling, int relearning_steps) {
    fsrs::Settings s{};
    auto copy = [](const Array<double> &from, double *to) { std::copy_n(parameters(from), fsrs::kParameters, to); };
    copy(low, s.low);
    copy(high, s.high);
    copy(centre, s.centre);
    copy(sigma, s.sigma);
    s.ceiling = ceiling;
    s.relearning_steps = relearning_steps;
    return s;
}

fsrs::TrustRegion *trust_region(const Array<double> &low, const Array<double> &high, const Array<double> &centre,
                                const Array<double> &sigma, double ceiling, int relearning_steps, int max_passes,
                                int fisher_steps, double promise, int patience) {
    fsrs::Settings s = settings(low, high, centre, sigma, ceiling, relearning_steps);
    s.max_passes = max_passes;
    s.fisher_steps = fisher_steps;
    s.promise = promise;
    s.patience = patience;
    return new fsrs::TrustRegion(s);
}

[[noreturn]] void raise_not_finite() {
    PyErr_SetString(PyExc_FloatingPointError, "the objective is not finite at the starting parameters");
    throw nb::python_error();
}

Result advance(fsrs::TrustRegion &solver, const Array<double> &w, double objective, const Array<double> &gradient,
               const std::optional<Matrix> &fisher, const Array<bool> &held) {
    constexpr size_t n = fsrs::kParameters;
    if (fisher && (fisher->shape(0) != n || fisher->shape(1) != n))
        throw std::invalid_argument("fisher must be 21 by 21");
    double next[n];
    if (!solver.advance(parameters(w), objective, parameters(gradient), fisher ? fisher->data() : nullptr, flags(held), next))
        raise_not_finite();
    return copied(next, {n});
}

// One stage: the passes that were made, J at its start and at its end, whether it converged.
nb::tuple run(fsrs::Minimizer &minimizer, const Array<bool> &held, double promise, int patience, int fisher_steps,
              int max_passes, int threads, const std::string &isa, nb::handle progress) {
    const bool *held_ = flags(held);
    const fsrs::Kernel &kernel = fsrs::choose_kernel(isa);
    auto go_on = [progress](int passes, double objective) {
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) return false;
        if (progress.is_none()) return true;
        PyObject *said = PyObject_CallFunction(progress.ptr(), "id", passes, objective);
        Py_XDECREF(said);
        return said != nullptr;
    };
    fsrs::Stage stage;
    fsrs::End end;
    {
        nb::gil_scoped_release release;
        end = minimizer.run(held_, {promise, patience, fisher_steps, max_passes}, threads, kernel, go_on, stage);
    }
    if (end == fsrs::End::stopped) throw nb::python_error();
    if (end == fsrs::End::not_finite) raise_not_finite();
    return nb::make_tuple(stage.passes, stage.start, stage.objective, stage.converged);
}

Result solve_qp(const Matrix &hessian, const Array<double> &gradient, const Matrix &A, const Array<double> &b) {
    const size_t n = gradient.shape(0), m = b.shape(0);
    if (n > fsrs::kParameters || hessian.shape(0) != n || hessian.shape(1) != n || A.shape(0) != m || A.shape(1) != n)
        throw std::invalid_argument("hessian [n, n], gradient [n], A [m, n] and b [m] with n up to 21");
    std::vector<fsrs::Limit> limits(m);
    for (size_t k = 0; k < m; ++k) {
        limits[k].count = int(n);
        limits[k].room = b.data()[k];
        for (size_t j = 0; j < n; ++j) limits[k].index[j] = int(j), limits[k].value[j] = A.data()[k * n + j];
    }
    const std::vector<double> x = fsrs::solve_qp(int(n), {hessian.data(), hessian.data() + n * n},
                                                 {gradient.data(), gradient.data() + n}, std::move(limits));
    return copied(x.data(), {n});
}

template <class T>
nb::ndarray<nb::numpy, T> owned(T *data, size_t n) {
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return {data, {n}, owner};
}

nb::tuple whole_cards(const Array<int64_t> &offsets, const Array<int8_t> &rating, const Array<int32_t> &delta_t,
                      const Array<int64_t> &review, const Array<int64_t> &card, const Array<double> &weight) {
    const size_t n_items = review.shape(0);
    if (offsets.shape(0) == 0 || delta_t.shape(0) != rating.shape(0))
        throw std::invalid_argument("offsets must hold n_cards + 1 numbers, delta_t as many as rating");
    const size_t n_cards = offsets.shape(0) - 1;
    if (card.shape(0) != n_items || weight.shape(0) != n_items)
        throw std::invalid_argument("review, card and weight must have the same length");
    const fsrs::CardsAndItems from{offsets.data(), rating.data(), delta_t.data(), n_cards,
                                   rating.shape(0), review.data(), card.data(),   weight.data(), n_items};
    const fsrs::WholeCards cards(from);
    const size_t n = size_t(cards.offsets.back());
    auto offsets_ = owned(new int64_t[cards.offsets.size()], cards.offsets.size());
    auto rating_ = owned(new int8_t[n], n);
    auto delta_t_ = owned(new int32_t[n], n);
    auto weight_ = owned(new double[n], n);
    std::copy(cards.offsets.begin(), cards.offsets.end(), offsets_.data());
    {
        nb::gil_scoped_release release;
        cards.copy(from, rating_.data(), delta_t_.data(), weight_.data());
    }
    return nb::make_tuple(offsets_, rating_, delta_t_, weight_);
}

// Stability (NaN where there is none) and number of items of each first rating.
nb::tuple initial_stabilities(const Array<bool> &kept, const Array<int32_t> &long_term_count,
                              const Array<int8_t> &first_rating, const Array<int32_t> &delta_t, const Array<bool> &label,
                              const Array<double> &centre, double w20, double low, double high) {
    const size_t n = kept.shape(0);
    if (long_term_count.shape(0) != n || first_rating.shape(0) != n || delta_t.shape(0) != n || label.shape(0) != n)
        throw std::invalid_argument("kept, long_term_count, first_rating, delta_t and label must have the same length");
    if (centre.shape(0) != 4) throw std::invalid_argument("centre must hold 4 numbers");
    if (!(0 < low && low < high && w20 > 0 && *std::min_element(centre.data(), centre.data() + 4) > 0))
        throw std::invalid_argument("limits and w20 must be positive");
    const fsrs::FirstRatingItems items{kept.data(),    long_term_count.data(), first_rating.data(),
                                       delta_t.data(), label.data(),           n};
    fsrs::InitialStabilities found;
    {
        nb::gil_scoped_release release;
        found = fsrs::initial_stabilities(items, centre.data(), w20, low, high);
    }
    return nb::make_tuple(
        nb::make_tuple(found.stability[0], found.stability[1], found.stability[2], found.stability[3]),
        nb::make_tuple(found.n_items[0], found.n_items[1], found.n_items[2], found.n_items[3]));
}

}  // namespace

NB_MODULE(_native, m) {
    m.def("isa", [](const std::string &isa) { return std::string(fsrs::choose_kernel(isa).isa); }, nb::arg("isa") = "",
          "Instruction set that a pass would use.");
    m.def("isas", [] {
        std::vector<std::string> names;
        for (const fsrs::Kernel *kernel : fsrs::usable_kernels()) names.emplace_back(kernel->isa);
        return names;
    }, "Instruction sets that this processor can use, slowest first.");
    m.def("math", [](int which, const Array<float> &x, const std::string &isa) {
        if (which < 0 || which > 3) throw std::invalid_argument("which must be 0 (exp), 1 (expm1), 2 (log) or 3 (log1p)");
        const fsrs::Kernel &kernel = fsrs::choose_kernel(isa);
        const size_t n = x.shape(0), strip = size_t(kernel.strip);
        double *y = new double[n];
        Result owned = result(y, {n});
        std::vector<float> in(strip, 1.0f), out(strip);
        for (size_t i = 0; i < n; i += strip) {
            const size_t count = std::min(strip, n - i);
            std::copy(x.data() + i, x.data() + i + count, in.begin());
            kernel.math(which, in.data(), out.data());
            std::copy(out.begin(), out.begin() + count, y + i);
        }
        return owned;
    }, nb::arg("which"), nb::arg("x"), nb::arg("isa") = "", "The kernels' own exp, expm1, log, log1p, for tests.");

    nb::class_<fsrs::Pack>(m, "Pack", "The trie of distinct histories; immutable, may be used from several threads at once.")
        .def(nb::new_(&pack), nb::arg("offsets"), nb::arg("rating"), nb::arg("delta_t"), nb::arg("weight"))
        .def_prop_ro("n_reviews", &fsrs::Pack::reviews)
        .def_prop_ro("n_slots", &fsrs::Pack::slots, "Nodes of the trie, padding included.")
        .def("loss", [](const fsrs::Pack &pack, const Array<double> &w, int threads, const std::string &isa) {
            const double *p = parameters(w);
            const fsrs::Kernel &kernel = fsrs::choose_kernel(isa);
            nb::gil_scoped_release release;
            double loss;
            fsrs::evaluate(pack, p, fsrs::Wanted::loss, threads, kernel, &loss);
            return loss;
        }, nb::arg("w"), nb::arg("threads") = 1, nb::arg("isa") = "")
        .def("loss_gradient", [](const fsrs::Pack &pack, const Array<double> &w, int threads, const std::string &isa) {
            return evaluate(pack, w, fsrs::Wanted::gradient, threads, isa);
        }, nb::arg("w"), nb::arg("threads") = 1, nb::arg("isa") = "")
        .def("loss_gradient_fisher", [](const fsrs::Pack &pack, const Array<double> &w, int threads,
                                        const std::string &isa) {
            return evaluate(pack, w, fsrs::Wanted::fisher, threads, isa);
        }, nb::arg("w"), nb::arg("threads") = 1, nb::arg("isa") = "")
        .def("forward", [](const fsrs::Pack &pack, const Array<double> &w, int threads, const std::string &isa) {
            const double *p = parameters(w);
            const fsrs::Kernel &kernel = fsrs::choose_kernel(isa);
            const size_t n = pack.reviews();
            fsrs::AlignedBytes memory = fsrs::allocate_aligned(3 * n * sizeof(double));
            double *out = static_cast<double *>(memory.get());
            nb::capsule owner(out, [](void *q) noexcept { fsrs::FreeAligned()(q); });
            memory.release();
            {
                nb::gil_scoped_release release;
                fsrs::forward(pack, p, threads, kernel, {out, out + n, out + 2 * n});
            }
            return nb::make_tuple(Result(out, {n}, owner), Result(out + n, {n}, owner), Result(out + 2 * n, {n}, owner));
        }, nb::arg("w"), nb::arg("threads") = 1, nb::arg("isa") = "");

    nb::class_<fsrs::Objective>(m, "Objective", "J of training/objective.py over a pack, compiled.")
        .def("__init__", [](fsrs::Objective *self, const fsrs::Pack &pack, const Array<double> &centre,
                            const Array<double> &sigma) {
            new (self) fsrs::Objective(pack, parameters(centre), parameters(sigma));
        }, nb::arg("pack"), nb::arg("centre"), nb::arg("sigma"), nb::keep_alive<1, 2>())
        .def("loss_gradient", [](const fsrs::Objective &objective, const Array<double> &w, int threads,
                                 const std::string &isa) {
            return evaluate_objective(objective, w, fsrs::Wanted::gradient, threads, isa);
        }, nb::arg("w"), nb::arg("threads") = 1, nb::arg("isa") = "")
        .def("loss_gradient_fisher", [](const fsrs::Objective &objective, const Array<double> &w, int threads,
                                        const std::string &isa) {
            return evaluate_objective(objective, w, fsrs::Wanted::fisher, threads, isa);
        }, nb::arg("w"), nb::arg("threads") = 1, nb::arg("isa") = "");

    nb::class_<fsrs::TrustRegion>(m, "TrustRegion", "The solver's arithmetic: training/trust_region.py, compiled.")
        .def(nb::new_(&trust_region), nb::arg("low"), nb::arg("high"), nb::arg("centre"), nb::arg("sigma"),
             nb::arg("ceiling"), nb::arg("relearning_steps"), nb::arg("max_passes"), nb::arg("fisher_steps"),
             nb::arg("promise"), nb::arg("patience"))
        .def_ro("wants_fisher", &fsrs::TrustRegion::wants_fisher)
        .def_ro("done", &fsrs::TrustRegion::done)
        .def_ro("converged", &fsrs::TrustRegion::converged)
        .def_ro("passes", &fsrs::TrustRegion::passes)
        .def_prop_ro("objective", &fsrs::TrustRegion::objective)
        .def("advance", &advance, nb::arg("w"), nb::arg("objective"), nb::arg("gradient"), nb::arg("fisher").none(),
             nb::arg("held"));

    nb::class_<fsrs::Minimizer>(m, "Minimizer", "The stages of the `map` recipe, one after another from a point.")
        .def("__init__", [](fsrs::Minimizer *self, const fsrs::Objective &objective, const Array<double> &w,
                            const Array<double> &low, const Array<double> &high, const Array<double> &centre,
                            const Array<double> &sigma, double ceiling, int relearning_steps) {
            const double *start = parameters(w);
            new (self) fsrs::Minimizer(objective, settings(low, high, centre, sigma, ceiling, relearning_steps), start);
        }, nb::arg("objective"), nb::arg("w"), nb::arg("low"), nb::arg("high"), nb::arg("centre"), nb::arg("sigma"),
             nb::arg("ceiling"), nb::arg("relearning_steps"), nb::keep_alive<1, 2>())
        .def_prop_ro("w", [](const fsrs::Minimizer &minimizer) { return copied(minimizer.w(), {fsrs::kParameters}); },
                     nb::rv_policy::move)
        .def("run", &run, nb::arg("held"), nb::arg("promise"), nb::arg("patience"), nb::arg("fisher_steps"),
             nb::arg("max_passes"), nb::arg("threads") = 1, nb::arg("isa") = "", nb::arg("progress").none() = nb::none(),
             "Passes made, J at the start and at the end, whether it converged. progress is called with passes and J.");
    m.def("solve_qp", &solve_qp, nb::arg("hessian"), nb::arg("gradient"), nb::arg("A"), nb::arg("b"),
          "The quadratic program of training/qp.py, compiled.");
    m.def("whole_cards", &whole_cards, nb::arg("offsets"), nb::arg("rating"), nb::arg("delta_t"),
          nb::arg("review"), nb::arg("card"), nb::arg("weight"),
          "offsets, rating, delta_t and weight of training/data.py's windowed_batch, compiled.");
    m.def("initial_stabilities", &initial_stabilities, nb::arg("kept"), nb::arg("long_term_count"),
          nb::arg("first_rating"), nb::arg("delta_t"), nb::arg("label"), nb::arg("centre"), nb::arg("w20"),
          nb::arg("low"), nb::arg("high"), "The fits of the first ratings of training/pretrain.py, compiled.");
}
