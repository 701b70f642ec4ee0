#pragma once
#include <cstdint>

namespace levin::data {

/// What a loader's thread does first: it computes alone (LibTorch would start a team of threads for each worker), and
/// leaves signals to the program's other threads.
void prepare_worker_thread();

/// Warns, once in a process, of more workers than there are cores for this process.
void warn_of_many_workers(int64_t num_workers);

}  // namespace levin::data
