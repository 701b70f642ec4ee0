#pragma once
#include <ATen/core/grad_mode.h>
#include <levin/modules/parallel/ranks/gradient_reducer.h>
#include <levin/modules/parallel/replicas/replicate.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <ostream>
#include <type_traits>
#include <utility>

namespace levin::parallel {

/// See DistributedDataParallel.
template <class Impl>
class DistributedDataParallelImpl : public torch::nn::Module {
 public:
  DistributedDataParallelImpl(std::shared_ptr<Impl> module, ProcessGroup& group, DistributedDataParallelOptions options)
      : torch::nn::Module("DistributedDataParallel"), module_(std::move(module)), reducer_(*module_, group, options) {
    torch::nn::Module::train(module_->is_training());  // while there are no children whose modes it would change
    for (const auto& item : module_->named_parameters(/*recurse=*/false))
      register_parameter(item.key(), item.value(), item.value().requires_grad());
    for (const auto& item : module_->named_buffers(/*recurse=*/false)) register_buffer(item.key(), item.value());
    for (const auto& item : module_->named_children()) register_module(item.key(), item.value());
  }

  /// Calls the module's forward; if gradients are enabled, the next backward of its output reduces them over all ranks.
  template <class... Args>
  at::Tensor forward(Args&&... args) {
    const bool reduces = at::GradMode::is_enabled() && synchronizes_;
    if (reduces && module_->is_training()) reducer_.synchronize_buffers();
    at::Tensor output = module_->forward(std::forward<Args>(args)...);
    return reduces ? reducer_.prepare(output) : output;
  }

  /// While the returned guard lives, gradients accumulate on each rank and are not reduced: use it for all
  /// micro-batches of a gradient accumulation window but the last.
  [[nodiscard]] auto no_sync() {
    struct Guard {
      explicit Guard(bool& flag) : flag_(flag), before_(std::exchange(flag, false)) {}
      ~Guard() { flag_ = before_; }
      Guard(const Guard&) = delete;
      Guard& operator=(const Guard&) = delete;

     private:
      bool& flag_;
      bool before_;
    };
    return Guard(synchronizes_);
  }

  /// Returns the wrapped module.
  const std::shared_ptr<Impl>& module() const { return module_; }
  GradientReducer& reducer() { return reducer_; }

  void train(bool on = true) override {
    torch::nn::Module::train(on);
    module_->train(on);
  }
  void pretty_print(std::ostream& stream) const override {
    stream << "DistributedDataParallel(";
    module_->pretty_print(stream);
    stream << ")";
  }

 private:
  std::shared_ptr<Impl> module_;
  GradientReducer reducer_;
  bool synchronizes_ = true;
};

/// A module replicated on all ranks, each with its own batch: when backward returns, gradients are the mean over all
/// ranks. `DistributedDataParallel<LeNet> net(LeNet(), group)` in each process.
///
/// `M` is a module holder (LeNet) or its class (LeNetImpl), on the rank's device, and its forward returns a tensor. Its
/// parameters, buffers and children are registered directly: names in a state dict have no prefix `module.`.
/// Source: torch.nn.parallel.DistributedDataParallel.
template <class M>
class DistributedDataParallel : public torch::nn::ModuleHolder<DistributedDataParallelImpl<ImplOf<M>>> {
 public:
  using Impl = DistributedDataParallelImpl<ImplOf<M>>;
  using Holder = torch::nn::ModuleHolder<Impl>;

  DistributedDataParallel(std::nullptr_t) : Holder(nullptr) {}
  /// Throws as GradientReducer.
  DistributedDataParallel(const M& module, ProcessGroup& group, DistributedDataParallelOptions options = {})
    requires requires { typename M::ContainedType; }
      : DistributedDataParallel(module.ptr(), group, options) {}
  DistributedDataParallel(std::shared_ptr<ImplOf<M>> module, ProcessGroup& group,
                          DistributedDataParallelOptions options = {})
      : Holder(std::make_shared<Impl>(std::move(module), group, options)) {}

  /// Calls forward; the operator() of LibTorch's holders does not support a template forward.
  template <class... Args>
  at::Tensor operator()(Args&&... args) {
    return (*this)->forward(std::forward<Args>(args)...);
  }
};

}  // namespace levin::parallel
