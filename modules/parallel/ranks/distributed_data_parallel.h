#pragma once
#include <ATen/core/grad_mode.h>
#include <levin/modules/parallel/ranks/gradient_reducer.h>
#include <levin/modules/parallel/replicas/replicate.h>
#include <levin/modules/parallel/wrapper_module.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace levin::parallel {

/// See DistributedDataParallel.
template <class Impl>
class DistributedDataParallelImpl : public WrapperModule<Impl> {
 public:
  DistributedDataParallelImpl(std::shared_ptr<Impl> module, ProcessGroup& group, DistributedDataParallelOptions options)
      : WrapperModule<Impl>("DistributedDataParallel", std::move(module)), reducer_(*this->module(), group, options) {}

  /// Calls the module's forward; if gradients are enabled, the next backward of its output reduces them over all ranks.
  template <class... Args>
  at::Tensor forward(Args&&... args) {
    const bool reduces = at::GradMode::is_enabled() && synchronizes_;
    if (reduces && this->module()->is_training()) reducer_.synchronize_buffers();
    at::Tensor output = this->module()->forward(std::forward<Args>(args)...);
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

  GradientReducer& reducer() { return reducer_; }

 private:
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
