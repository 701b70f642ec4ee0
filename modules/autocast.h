#pragma once
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <optional>

namespace levin {

/// While it lives, runs operations of the calling thread in lower precision where that is safe. The destructor restores
/// the previous state, also after an exception.
///
///     {
///       const levin::Autocast autocast(at::kCUDA, at::kBFloat16);
///       loss = F::cross_entropy(net(input), target);
///     }
///     loss.backward();
///
/// Scopes nest; a scope with `enabled` false turns autocast off inside another. Cast weights are cached from their
/// first use until the outermost scope ends, unless `cache_enabled` is false. Autocast is thread-local: AutocastState
/// transfers it to other threads. Source: https://pytorch.org/docs/stable/amp.html#torch.autocast
class Autocast {
 public:
  /// `dtype`: at::kHalf or at::kBFloat16; unset: the thread's at::autocast dtype, by default bfloat16 on the CPU and
  /// float16 elsewhere (see at::autocast::set_autocast_dtype). Throws levin::UsageError for a device or dtype that
  /// LibTorch has no autocast for.
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

/// A thread's autocast settings for the CPU and CUDA, to transfer them to another thread:
///
///     const levin::AutocastState state;                      // of this thread
///     std::thread([state] { const levin::AutocastGuard guard(state); ... });
class AutocastState {
 public:
  /// Captures the settings of the calling thread.
  AutocastState();
  /// Applies the settings to the calling thread.
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

/// Applies an AutocastState to the calling thread while it lives; the destructor restores the previous settings.
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
