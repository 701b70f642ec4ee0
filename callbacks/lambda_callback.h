#pragma once
#include <levin/callbacks/callback.h>

#include <functional>
#include <utility>

namespace levin {

/// A callback made of functions; a hook without a function costs nothing.
///
///     LambdaCallback({.on_train_epoch_end = [](Run& run) { ... }})
///
/// The fields have the order of LEVIN_FOR_EACH_HOOK. Source: lightning.pytorch.callbacks.LambdaCallback
class LambdaCallback : public Callback {
 public:
  struct Functions {
#define X(hook, parameters) std::function<void parameters> hook = {};
    LEVIN_FOR_EACH_HOOK(X)
#undef X
  };

  explicit LambdaCallback(Functions functions) : functions_(std::move(functions)) {}

  /// Returns the hooks that have a function.
  HookMask hooks() const {
    HookMask mask;
#define X(hook, parameters) mask.bits |= uint64_t{functions_.hook != nullptr} << static_cast<int>(Hook::hook);
    LEVIN_FOR_EACH_HOOK(X)
#undef X
    return mask;
  }

#define LEVIN_LAMBDA_HOOK_1(hook, A)         \
  void hook(A a) override {                  \
    if (functions_.hook) functions_.hook(a); \
  }
#define LEVIN_LAMBDA_HOOK_2(hook, A, B)         \
  void hook(A a, B b) override {                \
    if (functions_.hook) functions_.hook(a, b); \
  }
#define LEVIN_LAMBDA_CHOOSE(first, second, name, ...) name
#define LEVIN_LAMBDA_ARGUMENTS(...) __VA_ARGS__
#define LEVIN_LAMBDA_HOOK(hook, ...) \
  LEVIN_LAMBDA_CHOOSE(__VA_ARGS__, LEVIN_LAMBDA_HOOK_2, LEVIN_LAMBDA_HOOK_1)(hook, __VA_ARGS__)
#define LEVIN_LAMBDA_EXPAND(...) LEVIN_LAMBDA_HOOK(__VA_ARGS__)
#define X(hook, parameters) LEVIN_LAMBDA_EXPAND(hook, LEVIN_LAMBDA_ARGUMENTS parameters)
  LEVIN_FOR_EACH_HOOK(X)
#undef X
#undef LEVIN_LAMBDA_EXPAND
#undef LEVIN_LAMBDA_HOOK
#undef LEVIN_LAMBDA_ARGUMENTS
#undef LEVIN_LAMBDA_CHOOSE
#undef LEVIN_LAMBDA_HOOK_2
#undef LEVIN_LAMBDA_HOOK_1

 private:
  Functions functions_;
};

}  // namespace levin
