// The Python module fsrs_opt._native: checked arrays in, arrays out; the GIL is free while a pass runs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "passes.hpp"

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

fsrs::Pack *pack(const Array<int64_t> &offsets, const Array<int8_t> &rating, const Array<int32_t> &delta_t,
                 const Array<double> &weight) {
    const size_t n = rating.shape(0);
    if (delta_t.shape(0) != n || weight.shape(0) != n)
        throw std::invalid_argument("rating, delta_t and weight must have the same length");
    nb::gil_scoped_release release;
    return new fsrs::Pack({offsets.data(), offsets.shape(0), rating.data(), delta_t.data(), weight.data(), n});
}

nb::tuple evaluate(const fsrs::Pack &pack, const Array<double> &w, fsrs::Wanted wanted, int threads,
                   const std::string &isa) {
    constexpr int n = fsrs::kParameters;
    const double *parameters_ = parameters(w);
    double sums[1 + n + fsrs::kFisher];
    {
        nb::gil_scoped_release release;
        fsrs::evaluate(pack, parameters_, wanted, threads, fsrs::choose_kernel(isa), sums);
    }
    double *gradient = new double[n];
    std::copy(sums + 1, sums + 1 + n, gradient);
    if (wanted == fsrs::Wanted::gradient) return nb::make_tuple(sums[0], result(gradient, {n}));
    double *fisher = new double[fsrs::kFisher];
    std::copy(sums + 1 + n, sums + 1 + n + fsrs::kFisher, fisher);
    return nb::make_tuple(sums[0], result(gradient, {n}), result(fisher, {n, n}));
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
        .def_prop_ro("n_nodes", &fsrs::Pack::nodes, "Nodes of the trie: the reviews that the passes visit.")
        .def("loss", [](const fsrs::Pack &pack, const Array<double> &w, int threads, const std::string &isa) {
            const double *p = parameters(w);
            nb::gil_scoped_release release;
            double loss;
            fsrs::evaluate(pack, p, fsrs::Wanted::loss, threads, fsrs::choose_kernel(isa), &loss);
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
            const size_t n = pack.reviews();
            fsrs::AlignedBytes memory = fsrs::allocate_aligned(3 * n * sizeof(double));
            double *out = static_cast<double *>(memory.get());
            nb::capsule owner(out, [](void *q) noexcept { fsrs::FreeAligned()(q); });
            memory.release();
            {
                nb::gil_scoped_release release;
                fsrs::forward(pack, p, threads, fsrs::choose_kernel(isa), {out, out + n, out + 2 * n});
            }
            return nb::make_tuple(Result(out, {n}, owner), Result(out + n, {n}, owner), Result(out + 2 * n, {n}, owner));
        }, nb::arg("w"), nb::arg("threads") = 1, nb::arg("isa") = "");
}
