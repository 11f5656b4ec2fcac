#include "pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

namespace fsrs {

namespace {

using Clock = std::chrono::steady_clock;

// After a job a helper looks out for the next before it sleeps: waking it takes the caller 5 to 20 microseconds, and the
// passes of a fit follow each other sooner than this.
constexpr std::chrono::microseconds kLookout{200};
// A helper that gets its processor back this late, when it has offered it to others, shares it with them. It could lose it
// amid its part and hold up the caller for milliseconds: it sleeps, and is not woken for a while.
constexpr std::chrono::microseconds kLate{100};
constexpr std::chrono::milliseconds kRest{10};
constexpr int kPauses = 32;  // about a microsecond
constexpr uint64_t kPlaces = 0xffff;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Waits about a microsecond, or until `ready`.
template <class Ready>
bool spin(Ready ready) {
    for (int k = 0; k < kPauses; ++k) {
        if (ready()) return true;
        relax();
    }
    return ready();
}

// Who takes a place in a job takes part in it; the caller withdraws those left when its own part is done, and so never
// waits for a helper that comes too late.
struct Pool {
    alignas(64) std::atomic<uint64_t> job{0};  // its number << 16 | places left
    alignas(64) std::atomic<size_t> ended{0};  // helpers that are through with it
    std::atomic<bool> taken{false};            // by a caller
    std::atomic<size_t> asleep{0};
    std::atomic<Clock::rep> rest{0};  // until then nobody is woken
    Task task = nullptr;  // of the job
    void *context = nullptr;
    size_t threads = 0;
    std::mutex mutex;
    std::condition_variable wake;
};

[[noreturn]] void help(Pool &pool) {
    uint64_t job, last = 0;  // the last job that is none of its business any more
    auto wanted = [&] {
        job = pool.job;
        return (job & kPlaces) != 0 && job >> 16 != last;
    };
    auto look_out = [&] {
        const auto begin = Clock::now();
        for (auto now = begin; now - begin < kLookout;) {
            const auto offered = now;
            std::this_thread::yield();
            now = Clock::now();
            if (now - offered > kLate) {
                pool.rest = (now + kRest).time_since_epoch().count();
                last = pool.job >> 16;
                return false;
            }
            if (spin(wanted)) return true;
        }
        return false;
    };
    for (;;) {
        while (look_out()) {
            if (!pool.job.compare_exchange_strong(job, job - 1)) continue;
            last = job >> 16;
            pool.task(pool.context, job & kPlaces);
            ++pool.ended;
        }
        std::unique_lock<std::mutex> lock(pool.mutex);
        ++pool.asleep;  // before it looks once more: a caller who does not see this has been seen
        pool.wake.wait(lock, wanted);
        --pool.asleep;
    }
}

// Never deleted: at the end of the process its threads may still be looking at it.
std::atomic<Pool *> current{nullptr};

#if !defined(_WIN32)
// The threads are not in the child, and whether a mutex was locked is past knowing.
[[maybe_unused]] const int forget_at_fork = pthread_atfork(nullptr, nullptr, [] { current = nullptr; });
#endif

Pool &pool() {
    Pool *here = current;
    if (here) return *here;
    Pool *made = new Pool;
    if (current.compare_exchange_strong(here, made)) return *made;
    delete made;
    return *here;
}

// While it lives, this thread and those it starts take no signals: they are for the program's own threads.
struct NoSignals {
#if !defined(_WIN32)
    sigset_t before;
    NoSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
#endif
};

// Starts threads up to `helpers`; how many there are.
size_t start(Pool &pool, size_t helpers) {
    if (pool.threads >= helpers) return helpers;
    const NoSignals here;
    try {
        for (; pool.threads < helpers; ++pool.threads) std::thread(help, std::ref(pool)).detach();
    } catch (const std::exception &) {
        // no more to be had
    }
    return std::min(pool.threads, helpers);
}

}  // namespace

void run_together(size_t helpers, Task task, void *context) {
    Pool &pool = fsrs::pool();
    if (helpers == 0 || pool.taken.exchange(true)) return task(context, 0);
    helpers = start(pool, std::min<size_t>(helpers, kPlaces));
    pool.task = task;
    pool.context = context;
    pool.ended = 0;
    const uint64_t number = (pool.job >> 16) + 1;
    pool.job = number << 16 | helpers;
    if (pool.asleep != 0 && Clock::now().time_since_epoch().count() >= pool.rest) {
        { std::lock_guard<std::mutex> lock(pool.mutex); }  // who has looked for the last time waits by now
        for (size_t k = 0; k < helpers; ++k) pool.wake.notify_one();
    }
    task(context, 0);
    const size_t left = pool.job.exchange(number << 16) & kPlaces;
    while (!spin([&] { return pool.ended == helpers - left; })) std::this_thread::yield();
    pool.taken = false;
}

}  // namespace fsrs
