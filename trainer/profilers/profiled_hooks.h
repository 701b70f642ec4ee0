#pragma once
#include <levin/core/run/hooks.h>
#include <levin/core/run/profiler.h>

#include <array>
#include <string>

namespace levin {

/// The hooks of a module or callback, each an action of a profiler: "[Callback]EarlyStopping.on_validation_end".
class ProfiledHooks final : public Hooks {
 public:
  /// `inner` and `profiler` must outlive the object. `owner`: the beginning of the actions' names, such as
  /// "[LightningModule]Net".
  ProfiledHooks(Hooks& inner, Profiler& profiler, const std::string& owner)
      : inner_(inner), profiler_(profiler), numbers_(numbers_of(profiler, owner)) {}

// A hook has one parameter or two.
#define LEVIN_NAMED(one, ...) (one first __VA_OPT__(, __VA_ARGS__ second))
#define LEVIN_PASSED(one, ...) (first __VA_OPT__(, second))
#define X(hook, parameters)                                                        \
  void hook LEVIN_NAMED parameters override {                                      \
    const ProfileSpan span(&profiler_, numbers_[static_cast<size_t>(Hook::hook)]); \
    inner_.hook LEVIN_PASSED parameters;                                           \
  }
  LEVIN_FOR_EACH_HOOK(X)
#undef X
#undef LEVIN_PASSED
#undef LEVIN_NAMED

 private:
  /// By Hook.
  using Numbers = std::array<int, static_cast<size_t>(Hook::kCount)>;

  static Numbers numbers_of(Profiler& profiler, const std::string& owner) {
    Numbers numbers = {};
#define X(hook, parameters) numbers[static_cast<size_t>(Hook::hook)] = profiler.number_of(owner + "." #hook);
    LEVIN_FOR_EACH_HOOK(X)
#undef X
    return numbers;
  }

  Hooks& inner_;
  Profiler& profiler_;
  Numbers numbers_;
};

}  // namespace levin
