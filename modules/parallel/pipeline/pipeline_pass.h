#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/pipeline/pipeline.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace levin::parallel {

/// Tensors on their way between stages that run at the same time, one place for each micro-batch.
class PipelineChannel {
 public:
  explicit PipelineChannel(size_t micro_batches) : places_(micro_batches) {}
  void put(size_t micro_batch, at::Tensor tensor);
  /// Waits for it. Undefined where a stage has failed and it will never come.
  at::Tensor take(size_t micro_batch);
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> places_;
  bool closed_ = false;
};

/// The way of one batch through the stages of a pipeline, there and back.
class PipelinePass {
 public:
  PipelinePass(std::vector<PipelineStage> stages, std::vector<at::Tensor> inputs);

  /// GPipe: all micro-batches forward; the outputs, on the last stage's device.
  std::vector<at::Tensor> run_forward();
  /// Then back, from the gradients of the outputs.
  void run_backward(std::vector<at::Tensor> gradients);
  /// 1F1B: both at once; `loss_of(output, micro_batch)` ends the last stage. The sum of the losses.
  at::Tensor run_both(const std::function<at::Tensor(const at::Tensor& output, size_t micro_batch)>& loss_of);

  /// The computing stream of the last stage's device waits for those of the others.
  void wait_for_stages() const;

  /// After a way back: the gradients of the stages' parameters in their order, undefined for those without.
  std::vector<at::Tensor> parameter_gradients() const;
  /// Those of the inputs, on the inputs' device; undefined where no input requires one.
  std::vector<at::Tensor> input_gradients() const { return input_gradients_; }

 private:
  /// What a stage keeps for the way back.
  struct Kept {
    at::Tensor input, output;
  };
  struct StageState {
    std::vector<at::Tensor> parameters = {};  ///< those that require a gradient
    std::vector<at::Tensor> gradients = {};   ///< of them, summed over micro-batches
    std::vector<bool> is_own = {};            ///< the sum is memory that nobody else sees
    std::vector<Kept> kept = {};
  };
  size_t last() const { return stages_.size() - 1; }
  void run_stages(const std::function<void(size_t stage)>& run);
  /// False where another stage has failed.
  bool step_forward(size_t stage, size_t micro_batch);
  bool step_backward(size_t stage, size_t micro_batch);
  void add_gradients(StageState& state, std::vector<at::Tensor> gradients) const;

  std::vector<PipelineStage> stages_;
  std::vector<at::Tensor> inputs_;
  std::vector<StageState> states_;
  std::vector<std::unique_ptr<PipelineChannel>> activations_ = {};  ///< [i]: from stage i to i + 1, the last: outputs
  std::vector<std::unique_ptr<PipelineChannel>> gradients_ = {};    ///< [i]: to stage i, of its outputs
  std::vector<at::Tensor> input_gradients_;
};

}  // namespace levin::parallel
