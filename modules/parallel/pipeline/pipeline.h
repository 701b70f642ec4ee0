#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin::parallel {

struct PipelineOptions {
  int64_t micro_batches = 4;  ///< parts of a batch that are on the way at once; more parts wait less for each other
};

/// One part of a Pipeline: a module and what it computes.
struct PipelineStage {
  std::shared_ptr<torch::nn::Module> module = {};
  std::function<at::Tensor(const at::Tensor&)> forward = {};
  c10::Device device = c10::kCPU;
};

/// The parts of a model one after another, each on a device of its own, which work at the same time: the batch is
/// split, and while one stage computes a micro-batch, the stage before computes the next one.
///
///     parallel::Pipeline net({.micro_batches = 8});
///     net->push_back(encoder, at::Device("cuda:0"));
///     net->push_back(decoder, at::Device("cuda:1"));
///     auto loss = net->loss(input, target, [](auto& output, auto& target) { return F::cross_entropy(output, target);
///     });
///
/// Stages are children named 0, 1, ... They take and give one tensor whose dimension 0 counts samples. Gradients are
/// those of the stages one after another on the whole batch, but for BatchNorm, which sees micro-batches, and for the
/// order in which random numbers are drawn on the CPU, where stages share a generator. Devices may repeat. Double
/// backward is not supported.
class PipelineImpl : public torch::nn::Module {
 public:
  /// Throws levin::UsageError for fewer micro-batches than one.
  explicit PipelineImpl(PipelineOptions options = {});

  /// Appends a stage, which moves to `device`: a module holder or a pointer, whose forward takes one tensor.
  template <class M>
  void push_back(const M& stage, c10::Device device) {
    using Pointer = std::decay_t<decltype(pointer_to(stage))>;
    append({pointer_to(stage),
            [module = Pointer(pointer_to(stage))](const at::Tensor& input) -> at::Tensor {
              return module->forward(input);
            },
            device});
  }

  /// GPipe: every stage computes all micro-batches forward, and in backward all of them back. `input` [samples, ...];
  /// the output is on the last stage's device.
  /// Source: Huang et al. 2019, "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism".
  at::Tensor forward(const at::Tensor& input);

  using Loss = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;
  /// 1F1B: a micro-batch goes back as soon as its loss is known, so that stage i of n keeps the activations of at most
  /// n - i micro-batches. `loss` gives the mean over the samples of a micro-batch; the result is that over the batch,
  /// and its backward hands out the gradients that are computed already. `target` [samples, ...].
  /// Source: Narayanan et al. 2019, "PipeDream: Generalized Pipeline Parallelism for DNN Training".
  at::Tensor loss(const at::Tensor& input, const at::Tensor& target, const Loss& loss);

  const std::vector<PipelineStage>& stages() const { return stages_; }

 private:
  template <class M>
  static std::shared_ptr<M> pointer_to(const std::shared_ptr<M>& stage) {
    return stage;
  }
  template <class M>
  static auto pointer_to(const M& holder) -> decltype(holder.ptr()) {
    return holder.ptr();
  }
  void append(PipelineStage stage);
  std::vector<at::Tensor> split(const at::Tensor& tensor, const char* name) const;

  PipelineOptions options_;
  std::vector<PipelineStage> stages_ = {};
};
TORCH_MODULE(Pipeline);

}  // namespace levin::parallel
