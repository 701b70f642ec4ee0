#pragma once
#include <cstdint>

namespace levin::data {

/// Prepares a loader's thread: it computes with one thread (LibTorch would start a thread pool per worker) and blocks
/// signals, which the program's other threads receive.
void prepare_worker_thread();

/// Warns, once per process, if there are more workers than cores for this process.
void warn_of_many_workers(int64_t num_workers);

}  // namespace levin::data
