#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/optim/registry.h>

#include <concepts>
#include <memory>
#include <utility>

namespace levin {

struct WrapOptions {
  ClassChoice<optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"Adam"}, "Optimizer");
  ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
};

/// The result of `wrap`: a network and its loss as a LightningModule.
///
/// Logs train_loss, val_loss and test_loss; predict returns the network's output.
template <class Net, class Loss>
class WrappedModule : public LightningModule {
 public:
  WrappedModule(Net net_, Loss loss, WrapOptions options)
      : net(register_module("net", std::move(net_))), loss_(std::move(loss)), options_(std::move(options)) {}

  StepOutput training_step(const Batch& batch, int64_t) override {
    const at::Tensor loss = loss_of(batch);
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  void validation_step(const Batch& batch, int64_t) override { log("val_loss", loss_of(batch), {.prog_bar = true}); }
  void test_step(const Batch& batch, int64_t) override { log("test_loss", loss_of(batch)); }
  Batch predict_step(const Batch& batch, int64_t) override { return Batch(net->forward(batch.input())); }

  OptimizerConfig configure_optimizers() override {
    auto optimizer = optim::make_optimizer(options_.optimizer, "optimizer", parameters());
    if (!options_.lr_scheduler) return optimizer;
    return {std::move(optimizer), options_.lr_scheduler.make("lr_scheduler")};
  }

  Net net;

 private:
  at::Tensor loss_of(const Batch& batch) { return loss_(net->forward(batch.input()), batch.target()); }

  Loss loss_;
  WrapOptions options_;
};

/// Makes a LightningModule from any network with `at::Tensor forward(const at::Tensor& input)` and a loss, without a
/// new class:
///
///     auto module = levin::wrap(net, [](auto output, auto target) { return F::mse_loss(output, target); },
///                               {.optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.1}}});
///     trainer.fit(*module, loader);
///
/// `net` is a module holder (torch::nn::Sequential, ...) or a std::shared_ptr; the caller's copy shares the trained
/// parameters. Parameter names are those of the network with the prefix `net.`.
template <class Net, class Loss>
  requires requires(Net net, Loss loss, const at::Tensor& tensor) {
    { loss(net->forward(tensor), tensor) } -> std::convertible_to<at::Tensor>;
  }
std::shared_ptr<WrappedModule<Net, Loss>> wrap(Net net, Loss loss, WrapOptions options = {}) {
  return std::make_shared<WrappedModule<Net, Loss>>(std::move(net), std::move(loss), std::move(options));
}

}  // namespace levin
