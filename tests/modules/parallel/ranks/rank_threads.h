#pragma once
#include <levin/core/ranks/process_group.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// Calls `body` in `world_size` threads, each a rank of one process group over Gloo. Rethrows the first rank's
/// exception, in rank order.
inline void run_ranks_over_gloo(int64_t world_size, const std::function<void(levin::ProcessGroup&)>& body) {
  const levin::StoreServer store;
  std::vector<std::exception_ptr> errors(static_cast<size_t>(world_size));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        levin::ProcessGroup group({.rank = rank, .world_size = world_size, .master_port = store.port()}, c10::kCPU,
                                  std::chrono::seconds(30));
        body(group);
        group.barrier();  // no rank leaves while another still communicates
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

/// In place of CHECK in the threads of ranks, as Catch is of use in one thread alone: the test fails with an exception
/// that names the rank.
#define RANK_CHECK(group, ...)         \
  if (!static_cast<bool>(__VA_ARGS__)) \
  throw std::logic_error("rank " + std::to_string((group).rank()) + ": not true: " #__VA_ARGS__)
