// Runs every kernel over odd and random histories under AddressSanitizer and UndefinedBehaviorSanitizer
// (make sanitize): exit 0 if nothing was read or written out of bounds and every sum is finite.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <thread>

#include "cards.hpp"
#include "objective.hpp"
#include "pretrain.hpp"

namespace {

const double kDefaults[fsrs::kParameters] = {0.212,  1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194,
                                             0.001,  1.8722, 0.1666, 0.796,  1.4835, 0.0614, 0.2629,
                                             1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542};
std::atomic<int> failures{0};

void expect(bool right, const char *what) {
    if (!right) {
        std::printf("not right: %s\n", what);
        ++failures;
    }
}

// Exact-size vectors, so that one element too far is out of bounds.
struct Input {
    std::vector<int64_t> offsets{0};
    std::vector<int8_t> rating;
    std::vector<int32_t> delta_t;
    std::vector<double> weight;

    void card(int reviews, std::mt19937 &random, bool same_day = false) {
        for (int k = 0; k < reviews; ++k) {
            rating.push_back(int8_t(1 + random() % 4));
            delta_t.push_back(k == 0 || same_day || random() % 3 == 0 ? 0 : int32_t(random() % 90000));
            weight.push_back(delta_t.back() > 0 ? 1.0 : 0.0);
        }
        offsets.push_back(int64_t(rating.size()));
    }
    fsrs::Histories histories() const {
        return {offsets.data(), offsets.size(), rating.data(), delta_t.data(), weight.data(), rating.size()};
    }
};

void all_passes(const Input &input) {
    const fsrs::Pack pack(input.histories());
    std::vector<double> R(pack.reviews()), S(R), D(R), sums(1 + fsrs::kParameters + fsrs::kFisher);
    for (const fsrs::Kernel *kernel : fsrs::usable_kernels())
        for (int threads = 1; threads <= 3; ++threads) {
            for (fsrs::Wanted wanted : {fsrs::Wanted::loss, fsrs::Wanted::gradient, fsrs::Wanted::fisher}) {
                fsrs::evaluate(pack, kDefaults, wanted, threads, *kernel, sums.data());
                for (double value : sums) expect(std::isfinite(value), "a sum is not finite");
            }
            fsrs::forward(pack, kDefaults, threads, *kernel, {R.data(), S.data(), D.data()});
            for (double s : S) expect(s >= 0.0009 && s <= 36500.1, "a stability is out of range");
        }
}

// Several callers of passes at the same time.
void at_once(const Input &input) {
    std::vector<std::thread> callers;
    for (int k = 0; k < 3; ++k) callers.emplace_back([&input] { all_passes(input); });
    for (std::thread &caller : callers) caller.join();
}

void refused(const Input &input, const char *what) {
    try {
        fsrs::Pack pack(input.histories());
        expect(false, what);
    } catch (const std::invalid_argument &) {
    }
}

void whole_cards(const Input &input, std::mt19937 &random) {
    const size_t n_cards = input.offsets.size() - 1;
    std::vector<int64_t> review, card;
    for (size_t c = 0; c < n_cards; ++c)
        for (int64_t k = input.offsets[c] + 1; k < input.offsets[c + 1]; ++k)
            if (random() % 2) {
                const auto place = int64_t(random() % (review.size() + 1));  // in any order
                review.insert(review.begin() + place, k), card.insert(card.begin() + place, int64_t(c));
            }
    const std::vector<double> weights(review.size(), 1.0);
    const fsrs::CardsAndItems from{input.offsets.data(), input.rating.data(), input.delta_t.data(), n_cards,
                                   input.rating.size(),  review.data(),       card.data(),          weights.data(),
                                   review.size()};
    const fsrs::WholeCards cards(from);
    const size_t n = size_t(cards.offsets.back());
    std::vector<int8_t> rating(n);
    std::vector<int32_t> delta_t(n);
    std::vector<double> weight(n);
    cards.copy(from, rating.data(), delta_t.data(), weight.data());
    double sum = 0;
    for (double w : weight) sum += w;
    expect(sum == double(review.size()), "an item was lost");
}

// A whole fit, some parameters held, and the pretrain stage's own.
void fit(const Input &input, int relearning_steps, bool frozen, std::mt19937 &random) {
    const fsrs::Pack pack(input.histories());
    fsrs::Settings settings{};
    for (int k = 0; k < fsrs::kParameters; ++k) {
        settings.centre[k] = kDefaults[k];
        settings.low[k] = kDefaults[k] * 0.7;
        settings.high[k] = kDefaults[k] * 1.4;
        settings.sigma[k] = 0.1 + kDefaults[k] / 5;
    }
    settings.ceiling = 2;
    settings.relearning_steps = relearning_steps;
    bool held[fsrs::kParameters] = {frozen, frozen, frozen, frozen};
    const fsrs::Objective objective(pack, settings.centre, settings.sigma);
    const fsrs::Kernel &kernel = *fsrs::usable_kernels().back();
    fsrs::Minimizer minimizer(objective, settings, kDefaults);
    fsrs::Stage stage;
    int steps = 0;
    auto always = [&steps](int, double) { return ++steps > 0; };
    for (const fsrs::Effort &effort : {fsrs::Effort{3, 1, 3, 30}, fsrs::Effort{1e-3, 2, 1, 30}}) {
        expect(minimizer.run(held, effort, 2, kernel, always, stage) == fsrs::End::done, "not done");
        expect(stage.objective <= stage.start && stage.passes <= 30, "a stage that made it worse");
        std::fill(held, held + fsrs::kInitialStabilities, false);
    }
    expect(steps >= 2, "no steps");
    const std::vector<double> w(minimizer.w(), minimizer.w() + fsrs::kParameters);
    for (double value : w) expect(std::isfinite(value), "a parameter is not finite");
    const size_t n = 1 + random() % 500;
    std::vector<char> kept(n), label(n);
    std::vector<int32_t> long_term_count(n), delta_t(n);
    std::vector<int8_t> first_rating(n);
    int64_t items[4] = {};
    for (size_t i = 0; i < n; ++i) {
        kept[i] = random() % 8 != 0, label[i] = random() % 4 != 0;
        long_term_count[i] = 1 + int32_t(random() % 3), delta_t[i] = 1 + int32_t(random() % 40);
        first_rating[i] = int8_t(1 + random() % (1 + unsigned(relearning_steps)));
        if (kept[i] && long_term_count[i] == 1) ++items[first_rating[i] - 1];
    }
    const auto flags = [](const std::vector<char> &some) { return reinterpret_cast<const bool *>(some.data()); };
    const fsrs::InitialStabilities found = fsrs::initial_stabilities(
        {flags(kept), long_term_count.data(), first_rating.data(), delta_t.data(), flags(label), n}, kDefaults, 0.15, 1e-3, 100);
    for (int k = 0; k < 4; ++k) {
        const double s0 = found.stability[k];
        expect(found.n_items[k] == items[k], "a first review was lost");
        expect(items[k] ? s0 >= 1e-3 && s0 <= 100 : std::isnan(s0), "an initial stability is out of range");
    }
}

}  // namespace

int main() {
    std::mt19937 random(1);
    all_passes(Input{});
    for (int cards : {1, 7, 31, 32, 33, 64, 100, 3000}) {
        Input input;
        for (int card = 0; card < cards; ++card) input.card(int(random() % 12), random);
        all_passes(input);
        if (cards == 3000) at_once(input);
        whole_cards(input, random);
        for (int relearning_steps : {0, 1, 3}) fit(input, relearning_steps, cards % 2 == 0, random);
    }
    Input longest;
    longest.card(5000, random, true);
    for (int card = 0; card < 40; ++card) longest.card(1 + card % 3, random);
    longest.card(4500, random);
    all_passes(longest);

    Input bad;
    bad.card(3, random);
    bad.rating[0] = 0;
    refused(bad, "rating 0");
    bad.rating[0] = 3;
    bad.delta_t[2] = -1;
    refused(bad, "negative delta_t");
    bad.delta_t[2] = 1;
    bad.weight[1] = NAN;
    refused(bad, "weight NaN");
    bad.weight[1] = 1;
    bad.offsets = {0, 9, 3};
    refused(bad, "offsets out of bounds");
    bad.offsets = {};
    refused(bad, "no offsets");
    std::printf("kernels:");
    for (const fsrs::Kernel *kernel : fsrs::usable_kernels()) std::printf(" %s", kernel->isa);
    std::printf("; %d failures\n", failures.load());
    return failures != 0;
}
