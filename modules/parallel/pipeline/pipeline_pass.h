#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/pipeline/pipeline.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace levin::parallel {

/// A channel between two concurrently running stages, with one slot per micro-batch.
class PipelineChannel {
 public:
  explicit PipelineChannel(size_t micro_batches) : places_(micro_batches) {}
  void put(size_t micro_batch, at::Tensor tensor);
  /// Waits for the tensor of `micro_batch`. Returns an undefined tensor if a stage has failed and the tensor will never
  /// arrive.
  at::Tensor take(size_t micro_batch);
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> places_;
  bool closed_ = false;
};

/// The forward and backward of one batch through the stages of a pipeline.
class PipelinePass {
 public:
  PipelinePass(std::vector<PipelineStage> stages, std::vector<at::Tensor> inputs);

  /// GPipe: runs the forward of all micro-batches; returns the outputs, on the last stage's device.
  std::vector<at::Tensor> run_forward();
  /// Runs the backward after `run_forward`, from the gradients of the outputs.
  void run_backward(std::vector<at::Tensor> gradients);
  /// 1F1B: runs forward and backward interleaved; `loss_of(output, micro_batch)` is applied to the last stage's output.
  /// Returns the sum of the losses.
  at::Tensor run_both(const std::function<at::Tensor(const at::Tensor& output, size_t micro_batch)>& loss_of);

  /// Makes the compute stream of the last stage's device wait for the compute streams of the other stages.
  void wait_for_stages() const;

  /// After a backward: returns the gradients of the stages' parameters, in order; undefined for parameters without a
  /// gradient.
  std::vector<at::Tensor> parameter_gradients() const;
  /// After a backward: returns the gradients of the inputs, on the inputs' device; undefined if no input requires one.
  std::vector<at::Tensor> input_gradients() const { return input_gradients_; }

 private:
  /// The tensors that a stage keeps for the backward of a micro-batch.
  struct Kept {
    at::Tensor input, output;
  };
  struct StageState {
    std::vector<at::Tensor> parameters = {};  ///< the parameters that require a gradient
    std::vector<at::Tensor> gradients = {};   ///< gradients of `parameters`, summed over micro-batches
    std::vector<bool> is_own = {};            ///< true if no other tensor shares the memory of the sum
    std::vector<Kept> kept = {};
  };
  size_t last() const { return stages_.size() - 1; }
  void run_stages(const std::function<void(size_t stage)>& run);
  /// Returns false if another stage has failed.
  bool step_forward(size_t stage, size_t micro_batch);
  bool step_backward(size_t stage, size_t micro_batch);
  void add_gradients(StageState& state, std::vector<at::Tensor> gradients) const;

  std::vector<PipelineStage> stages_;
  std::vector<at::Tensor> inputs_;
  std::vector<StageState> states_;
  std::vector<std::unique_ptr<PipelineChannel>> activations_ = {};  ///< [i]: from stage i to i + 1; the last: outputs
  std::vector<std::unique_ptr<PipelineChannel>> gradients_ = {};    ///< [i]: to stage i, gradients of its outputs
  std::vector<at::Tensor> input_gradients_;
};

}  // namespace levin::parallel
