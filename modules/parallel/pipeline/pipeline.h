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
  int64_t micro_batches = 4;  ///< parts into which a batch is split; more parts leave stages less idle
};

/// One stage of a Pipeline: a module, its forward and its device.
struct PipelineStage {
  std::shared_ptr<torch::nn::Module> module = {};
  std::function<at::Tensor(const at::Tensor&)> forward = {};
  c10::Device device = c10::kCPU;
};

/// A model split into consecutive stages on different devices that compute at the same time: the batch is split into
/// micro-batches, and while one stage computes a micro-batch, the stage before computes the next one.
///
///     parallel::Pipeline net(parallel::PipelineOptions{.micro_batches = 8});
///     net->push_back(encoder, at::Device("cuda:0"));
///     net->push_back(decoder, at::Device("cuda:1"));
///     auto loss = net->loss(input, target, [](auto& output, auto& target) { return F::cross_entropy(output, target);
///     });
///
/// Stages are children named 0, 1, ... Each takes and returns one tensor whose dimension 0 counts samples. Gradients
/// equal those of running the stages one after another on the whole batch, except for BatchNorm, which sees
/// micro-batches, and for the order of random numbers on the CPU, where stages share a generator. Devices may repeat.
/// Double backward is not supported.
class PipelineImpl : public torch::nn::Module {
 public:
  /// Throws levin::UsageError for fewer than one micro-batch.
  explicit PipelineImpl(PipelineOptions options = {});

  /// Appends a stage and moves it to `device`. `stage` is a module holder or a pointer, and its forward takes one
  /// tensor.
  template <class M>
  void push_back(const M& stage, c10::Device device) {
    using Pointer = std::decay_t<decltype(pointer_to(stage))>;
    append({pointer_to(stage),
            [module = Pointer(pointer_to(stage))](const at::Tensor& input) -> at::Tensor {
              return module->forward(input);
            },
            device});
  }

  /// GPipe: every stage computes the forward of all micro-batches; backward later runs them all back. `input` [samples,
  /// ...]; the output is on the last stage's device.
  /// Source: Huang et al. 2019, "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism".
  at::Tensor forward(const at::Tensor& input);

  using Loss = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;
  /// 1F1B: the backward of a micro-batch starts as soon as its loss is known, so that stage i of n keeps the
  /// activations of at most n - i micro-batches. `loss` computes the mean over the samples of a micro-batch; the result
  /// is the mean over the batch, and its backward distributes the gradients, which are already computed. `target`
  /// [samples, ...].
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
