#include <levin/modules/parallel/pipeline/pipeline_pass.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/replicas/replica_threads.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <utility>

namespace levin::parallel {

void PipelineChannel::put(size_t micro_batch, at::Tensor tensor) {
  {
    const std::lock_guard lock(mutex_);
    places_[micro_batch] = std::move(tensor);
  }
  changed_.notify_all();
}

at::Tensor PipelineChannel::take(size_t micro_batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || places_[micro_batch].defined(); });
  return std::exchange(places_[micro_batch], at::Tensor());
}

void PipelineChannel::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

PipelinePass::PipelinePass(std::vector<PipelineStage> stages, std::vector<at::Tensor> inputs)
    : stages_(std::move(stages)),
      inputs_(std::move(inputs)),
      states_(stages_.size()),
      input_gradients_(inputs_.size()) {
  for (size_t i = 0; i < stages_.size(); ++i) {
    for (const at::Tensor& parameter : stages_[i].module->parameters())
      if (parameter.requires_grad()) states_[i].parameters.push_back(parameter);
    states_[i].gradients.resize(states_[i].parameters.size());
    states_[i].is_own.resize(states_[i].parameters.size());
    states_[i].kept.resize(inputs_.size());
    activations_.push_back(std::make_unique<PipelineChannel>(inputs_.size()));
    gradients_.push_back(std::make_unique<PipelineChannel>(inputs_.size()));
  }
}

/// Runs all stages in parallel; if one throws, the stages that wait for it end too.
void PipelinePass::run_stages(const std::function<void(size_t stage)>& run) {
  std::vector<c10::Device> devices;
  for (const PipelineStage& stage : stages_) devices.push_back(stage.device);
  run_replicas(devices, [&](size_t stage) {
    try {
      run(stage);
    } catch (...) {
      for (const auto& channel : activations_) channel->close();
      for (const auto& channel : gradients_) channel->close();
      throw;
    }
  });
}

bool PipelinePass::step_forward(size_t stage, size_t micro_batch) {
  at::Tensor input = stage == 0 ? inputs_[micro_batch] : activations_[stage - 1]->take(micro_batch);
  if (!input.defined()) return false;
  const bool needs_gradient = input.requires_grad();
  input = input.detach().to(stages_[stage].device, /*non_blocking=*/true).requires_grad_(needs_gradient);
  const at::AutoGradMode gradients(true);
  at::Tensor output = stages_[stage].forward(input);
  states_[stage].kept[micro_batch] = {input, output};
  // The next stage sees whether a gradient is required, but not this stage's graph.
  activations_[stage]->put(micro_batch, output.detach().requires_grad_(output.requires_grad()));
  return true;
}

bool PipelinePass::step_backward(size_t stage, size_t micro_batch) {
  const Kept kept = std::exchange(states_[stage].kept[micro_batch], {});
  if (!kept.output.defined())
    throw Error("Pipeline: backward ran through this batch before; activations are kept for one time only");
  at::Tensor gradient = gradients_[stage]->take(micro_batch);
  if (!gradient.defined()) return false;
  const bool to_input = kept.input.requires_grad();
  std::vector<at::Tensor> wanted = states_[stage].parameters;
  if (to_input) wanted.push_back(kept.input);
  at::Tensor of_input;
  if (kept.output.requires_grad() && !wanted.empty()) {
    std::vector<at::Tensor> found =
        torch::autograd::grad({kept.output}, wanted, {gradient.to(kept.output.device(), /*non_blocking=*/true)},
                              /*retain_graph=*/std::nullopt,
                              /*create_graph=*/false, /*allow_unused=*/true);
    if (to_input) {
      of_input = std::move(found.back());
      found.pop_back();
    }
    add_gradients(states_[stage], std::move(found));
  }
  if (stage == 0) {
    input_gradients_[micro_batch] = of_input;
  } else {
    gradients_[stage - 1]->put(micro_batch, of_input.defined() ? of_input : at::zeros_like(kept.input));
  }
  return true;
}

void PipelinePass::add_gradients(StageState& state, std::vector<at::Tensor> gradients) const {
  for (size_t i = 0; i < gradients.size(); ++i) {
    at::Tensor& sum = state.gradients[i];
    if (!gradients[i].defined()) continue;
    if (!sum.defined()) {
      sum = std::move(gradients[i]);
    } else if (state.is_own[i]) {
      sum.add_(gradients[i]);
    } else {
      sum = sum + gradients[i];
      state.is_own[i] = true;
    }
  }
}

std::vector<at::Tensor> PipelinePass::run_forward() {
  run_stages([&](size_t stage) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (!step_forward(stage, i)) return;
  });
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < inputs_.size(); ++i) outputs.push_back(activations_[last()]->take(i));
  return outputs;
}

void PipelinePass::run_backward(std::vector<at::Tensor> gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) gradients_[last()]->put(i, std::move(gradients[i]));
  run_stages([&](size_t stage) {
    for (size_t i = inputs_.size(); i-- > 0;)
      if (!step_backward(stage, i)) return;
  });
}

at::Tensor PipelinePass::run_both(
    const std::function<at::Tensor(const at::Tensor& output, size_t micro_batch)>& loss_of) {
  at::Tensor sum;
  const auto forward = [&](size_t stage, size_t micro_batch) {
    if (!step_forward(stage, micro_batch)) return false;
    if (stage != last()) return true;
    const at::AutoGradMode with_gradients(true);
    at::Tensor& output = states_[stage].kept[micro_batch].output;
    output = loss_of(output, micro_batch);
    sum = sum.defined() ? sum + output.detach() : output.detach();
    gradients_[stage]->put(micro_batch, at::ones_like(output));
    return true;
  };
  run_stages([&](size_t stage) {
    const size_t count = inputs_.size(), ahead = std::min(count, last() - stage);
    size_t next = 0;
    for (; next < ahead; ++next)
      if (!forward(stage, next)) return;
    for (size_t back = 0; back < count; ++back) {
      if (next < count && !forward(stage, next++)) return;
      if (!step_backward(stage, back)) return;
    }
  });
  return sum;
}

void PipelinePass::wait_for_stages() const {
  const c10::Device last_device = stages_.back().device;
  for (const PipelineStage& stage : stages_) {
    if (stage.device == last_device || !stage.device.is_cuda() || !last_device.is_cuda()) continue;
    const c10::impl::VirtualGuardImpl guard(stage.device.type());
    c10::Event done(stage.device.type());
    done.record(guard.getStream(stage.device));
    done.block(guard.getStream(last_device));
  }
}

std::vector<at::Tensor> PipelinePass::parameter_gradients() const {
  std::vector<at::Tensor> all;
  for (const StageState& state : states_) all.insert(all.end(), state.gradients.begin(), state.gradients.end());
  return all;
}

}  // namespace levin::parallel
