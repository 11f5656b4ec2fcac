// Threads that outlive a pass: to start one takes as long as a pass over most people's logs.
#pragma once

#include <cstddef>

namespace fsrs {

using Task = void (*)(void *context, size_t place) noexcept;

// task(context, 0) here, and task(context, k) once each for some of k = 1..helpers on other threads: those that come
// before it returns here. So a task must do whatever work is left, wherever it runs. Returns when all have ended.
// Only one caller at a time gets helpers, and nobody where no thread can be started; a child of fork() starts its own.
void run_together(size_t helpers, Task task, void *context);

}  // namespace fsrs
