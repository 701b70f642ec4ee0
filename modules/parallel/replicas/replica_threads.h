#pragma once
#include <c10/core/Device.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace levin::parallel {

/// Runs `task(i)` for each `devices[i]` at once, and returns when all have ended.
///
/// Task 0 runs on the calling thread, the others on threads that are kept from call to call; `in_order` runs all of
/// them on the calling thread, one after another. Each task has its device as the current one, the caller's streams,
/// gradient, inference and autocast modes, and its share of the compute threads. Calls may be nested and may come from
/// several threads.
///
/// Where tasks throw, the exception of the first is thrown as levin::Error (levin::UsageError where it was one) that
/// names the replica and its device; the original is nested in it (std::rethrow_if_nested).
void run_replicas(const std::vector<c10::Device>& devices, const std::function<void(size_t)>& task,
                  bool in_order = false);

}  // namespace levin::parallel
