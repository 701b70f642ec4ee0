#pragma once
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <optional>

namespace levin {

/// Runs operations of the calling thread in lower precision where that is safe, as long as it lives; then all is as it
/// was found, also after an exception.
///
///     {
///       const levin::Autocast autocast(at::kCUDA, at::kBFloat16);
///       loss = F::cross_entropy(net(input), target);
///     }
///     loss.backward();
///
/// Scopes nest; one with `enabled` false turns autocast off in the middle of another. The casts of weights are kept
/// from their first use until the outermost scope ends, unless `cache_enabled` is false. Autocast is a thread's own
/// affair: AutocastState takes it to others. Source: https://pytorch.org/docs/stable/amp.html#torch.autocast
class Autocast {
 public:
  /// `dtype`: at::kHalf or at::kBFloat16; unset: bfloat16 on the CPU, float16 elsewhere, unless the thread says
  /// otherwise (at::autocast::set_autocast_dtype). Throws levin::UsageError for a device or dtype that LibTorch has no
  /// autocast for.
  explicit Autocast(c10::DeviceType device, std::optional<at::ScalarType> dtype = {}, bool enabled = true,
                    std::optional<bool> cache_enabled = {});
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool enabled_before_, cache_before_;
  at::ScalarType dtype_before_;
};

/// What autocast does in a thread on the CPU and on CUDA, for taking it to another thread:
///
///     const levin::AutocastState state;                      // of this thread
///     std::thread([state] { const levin::AutocastGuard guard(state); ... });
class AutocastState {
 public:
  /// That of the calling thread.
  AutocastState();
  /// Makes the calling thread's autocast so.
  void restore() const;
  bool operator==(const AutocastState&) const = default;

 private:
  struct OfDevice {
    bool enabled = false;
    at::ScalarType dtype = at::kFloat;
    bool operator==(const OfDevice&) const = default;
  };
  std::array<OfDevice, 2> devices_ = {};
  bool cache_enabled_ = true;
};

/// Another thread's autocast in the calling one, as long as it lives.
class AutocastGuard {
 public:
  explicit AutocastGuard(const AutocastState& state);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  AutocastState before_ = {};
};

}  // namespace levin
