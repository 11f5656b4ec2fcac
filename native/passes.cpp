#include "passes.hpp"

#include "pool.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#if defined(FSRS_X86)
#include <cpuid.h>
#endif

namespace fsrs {

namespace {

// The allowed ranges, with room for a solver's trial points; beyond them float32 could overflow.
constexpr double kLow[kParameters] = {1e-4, 1e-4, 1e-4, 1e-4, 0, -1, -1, -1, -1, -1, -1, 1e-6, -1, -1, -1, -1, 0, -1, -1, -1, 0.01};
constexpr double kHigh[kParameters] = {1e3, 1e3, 1e3, 1e3, 20, 5, 10, 1, 6, 2, 5, 50, 1, 2, 6, 5, 20, 4, 4, 2, 2};

constexpr size_t kSlotsPerThread = 2048;  // some 20 us of a gradient pass; less does not pay for waking a thread

void validate(const double *w) {
    for (int k = 0; k < kParameters; ++k)
        if (!(w[k] >= kLow[k] && w[k] <= kHigh[k]))
            throw std::invalid_argument("w[" + std::to_string(k) + "] is not a number near its allowed range");
}

#if defined(FSRS_X86)
struct Cpu {
    bool avx2 = false, avx512 = false;
    Cpu() {
        unsigned a, b, c, d;
        if (!__get_cpuid(1, &a, &b, &c, &d)) return;
        const bool fma = c & (1u << 12), osxsave = c & (1u << 27), avx = c & (1u << 28);
        if (!fma || !osxsave || !avx || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
        unsigned low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        avx2 = (low & 0x6) == 0x6 && (b & (1u << 5));
        const unsigned f_dq_bw_vl = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);
        avx512 = avx2 && (low & 0xe6) == 0xe6 && (b & f_dq_bw_vl) == f_dq_bw_vl;
    }
};
#endif

// Of the threads of a pass. The calling thread keeps them for its next pass: memory given back and asked for again comes
// with empty pages, which cost more to fill than a small log's pass does.
struct Workspaces {
    std::vector<AlignedBytes> each;
    size_t bytes = 0;

    void reserve(size_t threads, size_t wanted) {
        if (wanted > bytes) {
            each.clear();
            bytes = wanted;
        }
        while (each.size() < threads) each.push_back(allocate_aligned(bytes));
    }
};
thread_local Workspaces workspaces;

// work(block, workspace) for every block, on up to `threads` threads, the largest blocks first.
template <class Work>
void over_blocks(const Pack &pack, int threads, size_t workspace_bytes, Work work) {
    static_assert(noexcept(work(size_t(), nullptr)), "an exception could not leave another thread");
    const size_t blocks = pack.blocks().size();
    const size_t useful = std::min(blocks, pack.slots() / kSlotsPerThread);
    const size_t n = std::clamp<size_t>(size_t(std::max(threads, 1)), 1, std::max<size_t>(useful, 1));
    workspaces.reserve(n, workspace_bytes);
    struct Shared {
        Work &work;
        const Workspaces &workspaces;
        size_t blocks;
        std::atomic<size_t> next{0};
    } shared{work, workspaces, blocks};
    const Task task = [](void *context, size_t place) noexcept {
        Shared &s = *static_cast<Shared *>(context);
        for (size_t block; (block = s.next.fetch_add(1)) < s.blocks;) s.work(block, s.workspaces.each[place].get());
    };
    if (n == 1) return task(&shared, 0);
    run_together(n - 1, task, &shared);
}

}  // namespace

std::vector<const Kernel *> usable_kernels() {
    std::vector<const Kernel *> kernels = {&kBaseline};
#if defined(FSRS_X86)
    static const Cpu cpu;
    if (cpu.avx2) kernels.push_back(&kAvx2);
    if (cpu.avx512) kernels.push_back(&kAvx512);
#endif
    return kernels;
}

const Kernel &choose_kernel(const std::string &isa) {
    std::string wanted = isa;
    if (wanted.empty() || wanted == "auto") {
        const char *from_environment = std::getenv("FSRS_OPT_ISA");
        wanted = from_environment ? from_environment : "";
    }
    const std::vector<const Kernel *> kernels = usable_kernels();
    if (wanted.empty() || wanted == "auto") return *kernels.back();
    std::string names;
    for (const Kernel *kernel : kernels) {
        if (wanted == kernel->isa) return *kernel;
        names += std::string(names.empty() ? "" : ", ") + kernel->isa;
    }
    throw std::invalid_argument("instruction set '" + wanted + "' is not one of those this processor has: " + names);
}

Constants constants(const double *w) {
    Constants c;
    for (int k = 0; k < kParameters; ++k) {
        c.exact_w[k] = w[k];
        c.w[k] = float(w[k]);
    }
    // factor = 0.9^(1 / decay) - 1 with decay = -w20; d factor / dw20 = (factor + 1) ln 0.9 / w20^2
    const double log_09 = std::log(0.9), factor = std::expm1(-log_09 / w[20]);
    c.factor = float(factor);
    c.factor_slope = float(-(factor + 1) * log_09 / (w[20] * factor));
    c.log_w11 = float(std::log(w[11]));
    c.same_day_good = float(w[17] * w[18]);
    c.lapse_ceiling = float(std::exp(-w[17] * w[18]));
    // D0(G) = w4 - exp(w5 (G - 1)) + 1
    for (int rating = 1; rating <= 4; ++rating) {
        const double grown = std::exp(w[5] * (rating - 1)), difficulty = w[4] - grown + 1;
        const bool inside = difficulty >= kDifficultyMin && difficulty <= kDifficultyMax;
        c.first_stability[rating - 1] = float(w[rating - 1]);
        c.first_difficulty[rating - 1] = float(std::clamp(difficulty, kDifficultyMin, kDifficultyMax));
        c.first_difficulty_w4[rating - 1] = inside ? 1 : 0;
        c.first_difficulty_w5[rating - 1] = inside ? -(rating - 1) * grown : 0;
        if (rating == 4) {
            c.difficulty_easy = float(difficulty);
            c.difficulty_easy_w5 = -3 * grown;
        }
    }
    return c;
}

void evaluate(const Pack &pack, const double *w, Wanted wanted, int threads, const Kernel &kernel, double *sums) {
    validate(w);
    const Constants c = constants(w);
    const size_t n = wanted == Wanted::loss ? 1 : wanted == Wanted::gradient ? 1 + kParameters : 1 + kParameters + kFisher;
    const auto pass = wanted == Wanted::loss ? kernel.loss : wanted == Wanted::gradient ? kernel.gradient : kernel.fisher;
    std::vector<double> parts(pack.blocks().size() * n);
    over_blocks(pack, threads, kernel.workspace(pack.largest()), [&](size_t block, void *workspace) noexcept {
        pass(pack.blocks()[block], c, workspace, parts.data() + block * n);
    });
    std::fill(sums, sums + n, 0.0);
    for (size_t block = 0; block < pack.blocks().size(); ++block)
        for (size_t k = 0; k < n; ++k) sums[k] += parts[block * n + k];
}

void forward(const Pack &pack, const double *w, int threads, const Kernel &kernel, const Output &out) {
    validate(w);
    const Constants c = constants(w);
    over_blocks(pack, threads, kernel.workspace(pack.largest()), [&](size_t block, void *workspace) noexcept {
        kernel.forward(pack.blocks()[block], c, workspace, out);
    });
}

}  // namespace fsrs
