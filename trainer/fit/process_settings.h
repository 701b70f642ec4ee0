#pragma once
#include <ATen/core/Generator.h>
#include <c10/core/Device.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/device/torch_settings.h>
#include <levin/core/system/heap.h>
#include <levin/core/system/runs_in_progress.h>
#include <levin/trainer/options/resolved_options.h>

#include <cstdint>
#include <optional>

namespace levin {

/// What a run sets in the process, as far as its options allow it: LibTorch's switches, threads, the heap, random
/// numbers. The destructor, or `restore`, puts back what was there before.
class ProcessSettings {
 public:
  /// Sets switches, threads and the heap.
  explicit ProcessSettings(const ResolvedOptions& options);

  /// Seeds the random numbers of a run on `rank` and `device`. Warns if other runs of the process draw from them too.
  void seed(const ResolvedOptions& options, int64_t rank, c10::Device device);
  void restore();

  /// The run's CPU generator: its own, or undefined for LibTorch's; unset: the run draws as its caller does.
  const std::optional<at::Generator>& generator() const { return generator_; }

 private:
  std::optional<TorchSettings> settings_ = {};
  std::optional<HeapRetention> heap_ = {};
  std::optional<RunInProgress> in_progress_ = {};
  std::optional<at::Generator> generator_ = {};
  std::optional<RngGuard> generator_as_before_ = {};
};

}  // namespace levin
