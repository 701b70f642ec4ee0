#pragma once
#include <levin/trainer/core/hooks.h>

#include <cstdint>

namespace levin {

/// The functions of LightningModule whose override the trainer must know of, beside the hooks.
#define LEVIN_FOR_EACH_MODULE_METHOD(X) \
  X(training_step)                      \
  X(validation_step)                    \
  X(test_step)                          \
  X(predict_step)                       \
  X(optimizer_step)                     \
  X(backward)                           \
  X(optimizer_zero_grad)                \
  X(configure_gradient_clipping)        \
  X(lr_scheduler_step)                  \
  X(on_before_batch_transfer)           \
  X(transfer_batch_to_device)           \
  X(on_after_batch_transfer)

enum class ModuleMethod : int {
#define X(method) method,
  LEVIN_FOR_EACH_MODULE_METHOD(X)
#undef X
};

/// What a module's class overrides; everything, where its class is not known.
struct ModuleOverrides {
  HookMask hooks = kAllHooks;
  uint64_t methods = ~uint64_t{0};
  constexpr bool has(ModuleMethod method) const { return (methods >> static_cast<int>(method)) & 1; }
  constexpr bool has(Hook hook) const { return hooks.has(hook); }
};

}  // namespace levin
