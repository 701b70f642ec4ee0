#pragma once
#include <c10/core/Device.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace levin::parallel {

/// Runs `task(i)` for each `devices[i]` in parallel, and returns when all have ended.
///
/// Task 0 runs on the calling thread, the others on pooled threads; with `in_order` all of them run on the calling
/// thread, one after another. Each task runs with its device as the current device, with the caller's streams and its
/// gradient, inference and autocast modes, and with a share of the compute threads. Reentrant and thread-safe.
///
/// If tasks throw, the exception of the first is rethrown as a levin::Error (or levin::UsageError, if it was one) that
/// names the replica and its device; the original exception is nested in it (std::rethrow_if_nested).
void run_replicas(const std::vector<c10::Device>& devices, const std::function<void(size_t)>& task,
                  bool in_order = false);

}  // namespace levin::parallel
