#pragma once
#include <levin/core/run/hiding.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <torch/optim/optimizer.h>

#include <concepts>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace torch::optim {
class LRScheduler;
class ReduceLROnPlateauScheduler;
}  // namespace torch::optim

namespace levin {

template <class O>
concept TorchOptimizer = std::derived_from<O, torch::optim::Optimizer>;

/// LibTorch's own schedulers and pointers to them. They are refused: they refer to their optimizer, which is moved.
template <class S>
concept TorchScheduler =
    std::derived_from<std::remove_cvref_t<S>, torch::optim::LRScheduler> ||
    std::derived_from<std::remove_cvref_t<S>, torch::optim::ReduceLROnPlateauScheduler> || requires(const S& pointer) {
      { *pointer } -> std::convertible_to<const torch::optim::LRScheduler&>;
    };

namespace detail {

template <class S>
constexpr void refuse_torch_scheduler() {
  static_assert(
      never<S>,
      "levin: LibTorch's own schedulers keep a reference to their optimizer, which is moved here; return levin's "
      "beside it, which the trainer binds: {optimizer, levin::StepLR({.step_size = 10, .gamma = 0.1})}");
}

}  // namespace detail

/// One optimizer, by value or by pointer, and its scheduler.
struct OptimizerEntry {
  template <TorchOptimizer O>
  OptimizerEntry(O value) : optimizer(std::make_shared<O>(std::move(value))) {}
  template <TorchOptimizer O>
  OptimizerEntry(std::shared_ptr<O> pointer) : optimizer(std::move(pointer)) {}
  template <TorchOptimizer O>
  OptimizerEntry(std::unique_ptr<O> pointer) : optimizer(std::move(pointer)) {}
  template <class O, std::derived_from<LRSchedulerSpec> S>
    requires std::constructible_from<OptimizerEntry, O&&>
  OptimizerEntry(O&& optimizer_, S scheduler_) : OptimizerEntry(std::forward<O>(optimizer_)) {
    scheduler = std::make_shared<S>(std::move(scheduler_));
  }
  template <class O>
    requires std::constructible_from<OptimizerEntry, O&&>
  OptimizerEntry(O&& optimizer_, std::shared_ptr<const LRSchedulerSpec> scheduler_)
      : OptimizerEntry(std::forward<O>(optimizer_)) {
    scheduler = std::move(scheduler_);
  }
  /// Not callable: reports a compile error.
  template <class O, TorchScheduler S>
  OptimizerEntry(O&&, S&&) {
    detail::refuse_torch_scheduler<S>();
  }

  std::shared_ptr<torch::optim::Optimizer> optimizer;
  std::shared_ptr<const LRSchedulerSpec> scheduler = {};  ///< null: constant learning rates
};

/// The result of configure_optimizers: `return optimizer;`, `return {optimizer, scheduler};`, `return {optimizer_a,
/// optimizer_b};`, `return {{optimizer_a, scheduler_a}, optimizer_b};`, or `return {};` for none.
struct OptimizerConfig {
  OptimizerConfig() = default;
  template <class O>
    requires(!std::same_as<std::remove_cvref_t<O>, OptimizerConfig>) && std::constructible_from<OptimizerEntry, O&&>
  OptimizerConfig(O&& optimizer) {
    entries.emplace_back(std::forward<O>(optimizer));
  }
  template <class O, std::derived_from<LRSchedulerSpec> S>
    requires std::constructible_from<OptimizerEntry, O&&>
  OptimizerConfig(O&& optimizer, S scheduler) {
    entries.emplace_back(std::forward<O>(optimizer), std::move(scheduler));
  }
  template <class O>
    requires std::constructible_from<OptimizerEntry, O&&>
  OptimizerConfig(O&& optimizer, std::shared_ptr<const LRSchedulerSpec> scheduler) {
    entries.emplace_back(std::forward<O>(optimizer), std::move(scheduler));
  }
  /// Not callable: reports a compile error.
  template <class O, TorchScheduler S>
  OptimizerConfig(O&&, S&&) {
    detail::refuse_torch_scheduler<S>();
  }
  OptimizerConfig(std::initializer_list<OptimizerEntry> list) : entries(list) {}

  std::vector<OptimizerEntry> entries = {};
};

}  // namespace levin
