#include <levin/trainer/loops/captured_step.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/batch_tensors.h>
#include <levin/trainer/loops/overridden_inside.h>

#include <string>
#include <utility>

namespace levin {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw UsageError("trainer.cuda_graphs: ", reason, "; set cuda_graphs to false");
}

std::vector<at::Tensor> tensors_of(const Batch& batch) {
  std::vector<at::Tensor> tensors;
  for_each_tensor(batch, [&](const std::string&, const at::Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

void check_device(const Batch& batch, c10::Device device) {
  if (batch.is_own()) refuse("a batch of the program's own type cannot be copied to where a graph reads it");
  for_each_tensor(batch, [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.device() != device)
      refuse(c10::str("'", name, "' of the batch is on ", tensor.device(), ", and a graph reads only ", device));
  });
}

/// Returns the dtypes, sizes and strides of all tensors.
std::vector<int64_t> key_of(const Batch& batch) {
  std::vector<int64_t> key;
  for_each_tensor(batch, [&](const std::string&, const at::Tensor& tensor) {
    key.push_back(static_cast<int64_t>(tensor.scalar_type()));
    key.push_back(tensor.dim());
    key.insert(key.end(), tensor.sizes().begin(), tensor.sizes().end());
    key.insert(key.end(), tensor.strides().begin(), tensor.strides().end());
  });
  return key;
}

void check_log(const StepLog& log, c10::Device device) {
  for (const StepLog::Entry& entry : log.entries())
    if (!entry.tensor.defined() || entry.tensor.device() != device)
      refuse("log('" + entry.name + "') " +
             (entry.metric ? "of a metric, whose state a replay does not count on; log it in on_train_batch_end"
                           : "of a number: a replay would log it again as it was; log a tensor on the GPU"));
}

void check_output(const StepOutput& output) {
  if (!output.loss.defined() || output.weight || output.weight_tensor.defined())
    refuse("training_step must return a loss in each step, and no weight");
}

}  // namespace

/// The graph for one batch shape, and the memory that the graph reads and writes.
struct CapturedStep::Shape {
  bool seen = false;
  std::unique_ptr<DeviceGraph> graph = {};
  Batch batch = {};
  std::vector<at::Tensor> inputs = {};                            ///< of `batch`
  std::vector<std::pair<at::Tensor, at::Tensor>> gradients = {};  ///< pairs of parameter and gradient
  StepLog log = {};
  PartsOutput left = {};
};

CapturedStep::CapturedStep(const Parts& parts, MakeGraph make_graph)
    : parts_(parts),
      make_graph_(std::move(make_graph)),
      stream_(parts.device),
      watch_(parts.optimizer, optim::ParameterWatch::Sees::TensorsAndFreezing) {}

/// Returns the entry of the batch's shape; null if there are already `kMostShapes` others.
CapturedStep::Shape* CapturedStep::find(const Batch& batch) {
  const std::vector<int64_t> key = key_of(batch);
  if (const auto found = shapes_.find(key); found != shapes_.end()) return found->second.get();
  if (shapes_.size() < kMostShapes) return (shapes_[key] = std::make_shared<Shape>()).get();
  if (!std::exchange(warned_, true))
    console::warn(c10::str("trainer.cuda_graphs: batches come in more than ", kMostShapes,
                           " shapes; steps of the others run without a graph"));
  return nullptr;
}

std::optional<StepProgram::WholeStep> CapturedStep::run_whole(const Input& input, const InParts& in_parts) {
  if (input.window != 1) return {};  // only such a window is a step from its beginning to its end
  const Batch& batch = input.batch;
  check_device(batch, parts_.device);
  if (++steps_ <= kStepsBefore) return {};
  Shape* const shape = find(batch);
  if (shape == nullptr || !std::exchange(shape->seen, true)) return {};
  const bool other_parameters = watch_.has_changed();
  if (!parts_.optimizer.prepare_replay() || other_parameters)
    for (auto& [key, other] : shapes_) other->graph.reset();
  if (!shape->graph) capture(*shape, batch, in_parts);
  const std::vector<at::Tensor> inputs = tensors_of(batch);
  for (size_t i = 0; i < inputs.size(); ++i) shape->inputs[i].copy_(inputs[i], /*non_blocking=*/true);
  for (auto& [parameter, gradient] : shape->gradients) parameter.mutable_grad() = gradient;
  shape->graph->replay();
  for (const StepLog::Entry& entry : shape->log.entries())
    parts_.context.sink->log(entry.name, entry.tensor, entry.options);
  const PartsOutput& left = shape->left;
  // Host sync, only with a loss scale: schedulers must know whether the step was skipped.
  const bool skipped = left.found_inf.defined() && left.found_inf.item<float>() != 0;
  if (!skipped) parts_.optimizer.count_replay();
  return WholeStep{left.output, skipped};
}

void CapturedStep::capture(Shape& shape, const Batch& batch, const InParts& in_parts) {
  shape.batch = batch.clone();
  shape.inputs = tensors_of(shape.batch);
  parts_.optimizer.zero_grad();
  LogSink* const sink = std::exchange(parts_.context.sink, &shape.log);
  parts_.optimizer.begin_capture();
  const auto as_before = c10::make_scope_exit([&] {
    parts_.optimizer.end_capture();
    parts_.context.sink = sink;
  });
  std::unique_ptr<DeviceGraph> graph = make_graph_();
  try {
    graph->capture([&] {
      shape.log.begin(shape.batch.size(), /*reads_cpu=*/false);
      shape.left = in_parts(shape.batch);
      check_output(shape.left.output);
      shape.left.output.loss = shape.left.output.loss.detach();
    });
  } catch (const UsageError&) {
    throw;
  } catch (const c10::Error& error) {
    refuse(
        c10::str("the step cannot be captured: training_step must not wait for the GPU (item(), cpu(), printing a "
                 "tensor), nor copy to it from the CPU (torch::tensor, to(device)); ",
                 error.what_without_backtrace()));
  }
  check_log(shape.log, parts_.device);
  shape.gradients.clear();
  for (const torch::optim::OptimizerParamGroup& group : parts_.optimizer.param_groups())
    for (const at::Tensor& parameter : group.params()) shape.gradients.emplace_back(parameter, parameter.grad());
  shape.graph = std::move(graph);
}

std::unique_ptr<CapturedStep> make_captured_step(const StepParts& parts) {
  const c10::Device device = parts.strategy.device();
  if (!device.is_cuda()) refuse(c10::str("the run is on ", device, ", and steps are captured on a GPU"));
  if (const StrategyChoice& strategy = parts.options.strategy(); !strategy.traits.is_plain)
    refuse(c10::str("strategy ", strategy.name, " cannot be captured, one device can"));
  for (const at::Tensor& parameter : parts.module.parameters())
    if (parameter.device() != device)
      refuse(c10::str("a parameter is on ", parameter.device(), ", and one graph is of one device, ", device));
  if (const std::string name = overridden_inside(parts); !name.empty())
    refuse(name + " is overridden, and a replay would not call it");
  if (parts.optimizers.size() != 1) refuse("there is no optimizer");
  auto* const optimizer = dynamic_cast<optim::Optimizer*>(parts.optimizers.front().get());
  if (optimizer == nullptr || !optimizer->can_be_captured())
    refuse("the optimizer computes on the host; levin::optim::SGD, Adam and AdamW do not");
  return std::make_unique<CapturedStep>(CapturedStep::Parts{parts.module, parts.context, *optimizer, device});
}

}  // namespace levin
