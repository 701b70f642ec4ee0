#pragma once
#include <levin/core/run/hooks.h>

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

/// All functions that a module may override beside the hooks, with what to write.
#define LEVIN_FOR_EACH_MODULE_SIGNATURE(X)                                                                 \
  X(training_step, "StepOutput training_step(const Batch&, int64_t)")                                      \
  X(validation_step, "void validation_step(const Batch&, int64_t)")                                        \
  X(test_step, "void test_step(const Batch&, int64_t)")                                                    \
  X(predict_step, "Batch predict_step(const Batch&, int64_t)")                                             \
  X(configure_optimizers, "OptimizerConfig configure_optimizers()")                                        \
  X(configure_callbacks, "std::vector<CallbackEntry> configure_callbacks()")                               \
  X(configure_model, "void configure_model()")                                                             \
  X(prepare_data, "void prepare_data()")                                                                   \
  X(train_dataloader, "data::Loaders train_dataloader()")                                                  \
  X(val_dataloader, "data::Loaders val_dataloader()")                                                      \
  X(test_dataloader, "data::Loaders test_dataloader()")                                                    \
  X(predict_dataloader, "data::Loaders predict_dataloader()")                                              \
  X(export_functions, "std::map<std::string, BatchFunction> export_functions()")                           \
  X(optimizer_step, "void optimizer_step(LightningOptimizer&, const Closure&)")                            \
  X(backward, "void backward(const at::Tensor&)")                                                          \
  X(optimizer_zero_grad, "void optimizer_zero_grad(LightningOptimizer&)")                                  \
  X(configure_gradient_clipping,                                                                           \
    "void configure_gradient_clipping(LightningOptimizer&, std::optional<double>, GradientClipAlgorithm)") \
  X(lr_scheduler_step, "void lr_scheduler_step(LRScheduler&, std::optional<double>)")                      \
  X(on_before_batch_transfer, "Batch on_before_batch_transfer(Batch, int64_t)")                            \
  X(transfer_batch_to_device, "Batch transfer_batch_to_device(Batch, c10::Device, int64_t)")               \
  X(on_after_batch_transfer, "Batch on_after_batch_transfer(Batch, int64_t)")                              \
  X(on_validation_model_zero_grad, "void on_validation_model_zero_grad()")                                 \
  X(on_validation_model_eval, "void on_validation_model_eval()")                                           \
  X(on_validation_model_train, "void on_validation_model_train()")                                         \
  X(on_test_model_eval, "void on_test_model_eval()")                                                       \
  X(on_test_model_train, "void on_test_model_train()")                                                     \
  X(on_predict_model_eval, "void on_predict_model_eval()")

enum class ModuleMethod : int {
#define X(method) method,
  LEVIN_FOR_EACH_MODULE_METHOD(X)
#undef X
};

/// The functions that a module's class overrides; all of them if the class is unknown.
struct ModuleOverrides {
  HookMask hooks = kAllHooks;
  uint64_t methods = ~uint64_t{0};
  constexpr bool has(ModuleMethod method) const { return (methods >> static_cast<int>(method)) & 1; }
  constexpr bool has(Hook hook) const { return hooks.has(hook); }
};

}  // namespace levin
