#pragma once
#include <levin/core/ranks/process_group.h>
#include <levin/core/ranks/store_server.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// Calls `body` in `world_size` threads, each a rank of one process group, over Gloo unless another backend is given:
/// ranks that are processes share memory in their tests. Rethrows the earliest exception: a rank that ends with an
/// error leaves the group, and others then fail for that.
inline void run_rank_threads(int64_t world_size, const std::function<void(levin::ProcessGroup&)>& body,
                             levin::ProcessGroupBackend backend = levin::ProcessGroupBackend::Gloo) {
  const levin::StoreServer store;
  std::mutex mutex;
  std::exception_ptr earliest;
  const auto record_error = [&] {
    const std::lock_guard lock(mutex);
    if (!earliest) earliest = std::current_exception();
  };
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        levin::ProcessGroup group({.rank = rank, .world_size = world_size, .master_port = store.port()}, c10::kCPU,
                                  std::chrono::seconds(30), backend);
        try {
          body(group);
          group.barrier();  // no rank leaves while another still communicates
        } catch (...) {
          record_error();  // while the connections are still open
        }
      } catch (...) {
        record_error();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (earliest) std::rethrow_exception(earliest);
}

/// In place of CHECK in the threads of ranks, as Catch is of use in one thread alone: the test fails with an exception
/// that names the rank.
#define RANK_CHECK(group, ...)         \
  if (!static_cast<bool>(__VA_ARGS__)) \
  throw std::logic_error("rank " + std::to_string((group).rank()) + ": not true: " #__VA_ARGS__)
