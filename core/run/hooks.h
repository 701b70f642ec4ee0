#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/run/hiding.h>

#include <cstdint>
#include <exception>
#include <type_traits>
#include <typeinfo>

namespace torch::optim {
class Optimizer;
}

namespace levin {

class Run;
class State;

/// Every hook that modules and callbacks share, in the order in which `docs/hooks.md` explains them. Names and order
/// are PyTorch Lightning's; a batch hook reads its arguments (batch, output, indices) from the Run.
#define LEVIN_FOR_EACH_HOOK(X)                                  \
  X(setup, (Run&))                                              \
  X(teardown, (Run&))                                           \
  X(on_fit_start, (Run&))                                       \
  X(on_fit_end, (Run&))                                         \
  X(on_sanity_check_start, (Run&))                              \
  X(on_sanity_check_end, (Run&))                                \
  X(on_train_start, (Run&))                                     \
  X(on_train_end, (Run&))                                       \
  X(on_train_epoch_start, (Run&))                               \
  X(on_train_epoch_end, (Run&))                                 \
  X(on_train_batch_start, (Run&))                               \
  X(on_train_batch_end, (Run&))                                 \
  X(on_before_zero_grad, (Run&, torch::optim::Optimizer&))      \
  X(on_before_backward, (Run&, at::Tensor&))                    \
  X(on_after_backward, (Run&))                                  \
  X(on_before_optimizer_step, (Run&, torch::optim::Optimizer&)) \
  X(on_validation_start, (Run&))                                \
  X(on_validation_end, (Run&))                                  \
  X(on_validation_epoch_start, (Run&))                          \
  X(on_validation_epoch_end, (Run&))                            \
  X(on_validation_batch_start, (Run&))                          \
  X(on_validation_batch_end, (Run&))                            \
  X(on_test_start, (Run&))                                      \
  X(on_test_end, (Run&))                                        \
  X(on_test_epoch_start, (Run&))                                \
  X(on_test_epoch_end, (Run&))                                  \
  X(on_test_batch_start, (Run&))                                \
  X(on_test_batch_end, (Run&))                                  \
  X(on_predict_start, (Run&))                                   \
  X(on_predict_end, (Run&))                                     \
  X(on_predict_epoch_start, (Run&))                             \
  X(on_predict_epoch_end, (Run&))                               \
  X(on_predict_batch_start, (Run&))                             \
  X(on_predict_batch_end, (Run&))                               \
  X(on_exception, (Run&, const std::exception&))                \
  X(on_save_checkpoint, (Run&, State&))                         \
  X(on_load_checkpoint, (Run&, const State&))

enum class Hook : int {
#define X(hook, parameters) hook,
  LEVIN_FOR_EACH_HOOK(X)
#undef X
      kCount
};

/// The hook interface of LightningModule and Callback; each hook does nothing until it is overridden.
struct Hooks {
  virtual ~Hooks() = default;
#define X(hook, parameters) \
  virtual void hook parameters {}
  LEVIN_FOR_EACH_HOOK(X)
#undef X
};

/// The hooks that a class overrides: one bit for each Hook.
struct HookMask {
  uint64_t bits = 0;
  constexpr bool has(Hook hook) const { return (bits >> static_cast<int>(hook)) & 1; }
  constexpr HookMask only(Hook hook) const { return {bits & (uint64_t{1} << static_cast<int>(hook))}; }
  constexpr HookMask without(Hook hook) const { return {bits & ~(uint64_t{1} << static_cast<int>(hook))}; }
};
static_assert(static_cast<int>(Hook::kCount) <= 64);
inline constexpr HookMask kAllHooks{~uint64_t{0}};

/// Returns the hooks that `T` or a class between it and Hooks overrides, found at compile time.
///
/// `&T::hook` has the type of Hooks' own member unless some class overrides it. A name that is private, overloaded or
/// ambiguous counts as overridden, which is always correct, only slower. A function with a hook's name and other
/// parameters does not compile: it would never be called.
template <class T>
constexpr HookMask overridden_hooks() {
  HookMask mask;
#define X(hook, parameters) LEVIN_REFUSE_HIDING(T, Hooks, hook, "void " #hook #parameters)
  LEVIN_FOR_EACH_HOOK(X)
#undef X
#define X(hook, parameters)                                                                  \
  if constexpr (requires { &T::hook; }) {                                                    \
    constexpr bool overridden = !std::is_same_v<decltype(&T::hook), decltype(&Hooks::hook)>; \
    mask.bits |= uint64_t{overridden} << static_cast<int>(Hook::hook);                       \
  } else {                                                                                   \
    mask.bits |= uint64_t{1} << static_cast<int>(Hook::hook);                                \
  }
  LEVIN_FOR_EACH_HOOK(X)
#undef X
  return mask;
}

/// Returns the hooks of an object. If the object's class is derived from `T`, all hooks count as overridden, since
/// nothing is known about that class.
template <class T>
HookMask overridden_hooks(const T& object) {
  return typeid(object) == typeid(T) ? overridden_hooks<T>() : kAllHooks;
}

}  // namespace levin
