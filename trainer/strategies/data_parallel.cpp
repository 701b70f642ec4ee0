#include <levin/trainer/strategies/data_parallel.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/device/gpu_discovery.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/run/logged_metric.h>
#include <levin/core/system/error.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/adapters/copy_adapters.h>
#include <levin/modules/optim/parameter_rows.h>
#include <levin/modules/parallel/replicas/replica_threads.h>
#include <levin/trainer/strategies/gather_outputs.h>
#include <levin/trainer/strategies/step_error.h>

#include <set>
#include <utility>

namespace levin {
namespace {

/// Makes the module use `context` while the guard lives.
class ContextGuard {
 public:
  ContextGuard(LightningModule& module, StepContext* context, StepContext* before) : module_(module), before_(before) {
    ModuleAccess::set_context(module, context);
  }
  ~ContextGuard() { ModuleAccess::set_context(module_, before_); }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  LightningModule& module_;
  StepContext* before_;
};

}  // namespace

DataParallelStrategy::DataParallelStrategy(std::vector<c10::Device> devices, c10::Device output_device, bool in_order)
    : devices_(std::move(devices)),
      output_device_(output_device),
      in_order_(in_order),
      contexts_(devices_.size()),
      logs_(devices_.size()) {
  for (const c10::Device& device : devices_) transfers_.emplace_back(device);
}

std::string DataParallelStrategy::where() const { return to_text(devices_); }

void DataParallelStrategy::place(LightningModule& module) {
  module_ = &module;
  module.to(devices_.front());
  make_replicas();
}

void DataParallelStrategy::make_replicas() {
  replicas_.clear();
  std::vector<torch::nn::Module*> replicas;
  for (size_t i = 1; i < devices_.size(); ++i) {
    replicas_.push_back(make_replica(*module_, devices_[i]));
    replicas.push_back(replicas_.back().get());
  }
  state_.emplace(*module_, replicas, std::vector<c10::Device>(devices_.begin() + 1, devices_.end()));
}

std::shared_ptr<LightningModule> DataParallelStrategy::make_replica(LightningModule& module, c10::Device device) const {
  const RngGuard generators_as_before;
  std::shared_ptr<LightningModule> replica;
  if (const ModuleAccess::Factory& make = ModuleAccess::factory(module)) {
    replica = make();
    ModuleAccess::configure_model_once(*replica);
  } else {
    try {
      replica = std::dynamic_pointer_cast<LightningModule>(adapters::clone_adapted(module, device));
    } catch (const c10::Error&) {
      replica = nullptr;
    }
  }
  if (!replica)
    throw UsageError(
        "strategy dp trains replicas of the module, and ", module.name(),
        " can make none: make it with levin::make_module<M>(arguments...), which remembers how, or override "
        "clone(device)");
  adapters::copy_adapters(module, *replica);
  copy_checkpoint_activations(module, *replica);
  const auto& metrics = module.registered_metrics();
  for (size_t i = 0; i < metrics.size(); ++i)
    if (replica->registered_metrics().size() != metrics.size() ||
        replica->registered_metrics()[i].second == metrics[i].second)
      throw UsageError("strategy dp: the clone of ", module.name(),
                       " registers other metrics than its own members; make "
                       "the module with levin::make_module<M>(arguments...)");
  State present = State::dict();
  for (const auto& item : module.named_parameters()) present[item.key()] = item.value();
  optim::take_row_counts(*replica, present);
  replica->to(device);
  return replica;
}

void DataParallelStrategy::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  if (!module_->automatic_optimization)
    throw UsageError(
        "strategy dp runs training_step on parts of the batch, and manual optimization would step in each; "
        "set automatic_optimization = true, or use one device");
  watch_ = optim::ParameterWatch(optimizers);
}

/// Makes new replicas if the module has other parameters than before, or of other shapes.
void DataParallelStrategy::follow_parameters() {
  if (!watch_.has_changed()) return;
  std::set<const void*> known, present;
  const parallel::PairedTensors& parameters = state_->parameters();
  bool has_other_shapes = false;
  for (size_t i = 0; i < parameters.originals().size(); ++i) {
    const at::Tensor& original = parameters.originals()[i];
    known.insert(original.unsafeGetTensorImpl());
    has_other_shapes |= !replicas_.empty() && parameters.replica_tensor(0, i).sizes() != original.sizes();
  }
  for (const at::Tensor& parameter : module_->parameters()) present.insert(parameter.unsafeGetTensorImpl());
  if (known != present || has_other_shapes) make_replicas();
}

std::vector<int64_t> DataParallelStrategy::run_parts(const Batch& batch, const PartStep& step) {
  follow_parameters();
  const std::vector<Batch> parts = batch.chunk(static_cast<int64_t>(devices_.size()));
  std::vector<int64_t> samples;
  for (const Batch& part : parts) samples.push_back(part.size());
  state_->refresh();
  state_->attach(parts.size() - 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    logs_[i].begin(samples[i]);
    contexts_[i] = *context_;
    contexts_[i].sink = &logs_[i];
    contexts_[i].device = devices_[i];
    if (i > 0) ModuleAccess::set_context(module_on(i), &contexts_[i]);
  }
  {
    const ContextGuard guard(*module_, contexts_.data(), context_);
    const auto run_part = [&, watch = std::exchange(first_step_, false)](size_t i) {
      LightningModule& module = module_on(i);
      const Batch part = transfers_[i](parts[i]);
      explain_step_errors(module, part, devices_[i], watch, [&] { step(i, module, part); });
    };
    const auto last = devices_.begin() + static_cast<std::ptrdiff_t>(parts.size());
    parallel::run_replicas({devices_.begin(), last}, run_part, in_order_);
  }
  state_->merge_buffers({samples.begin(), samples.end()});
  merge_logs({logs_.begin(), logs_.begin() + static_cast<std::ptrdiff_t>(parts.size())}, output_device_,
             *context_->sink);
  merge_metrics(parts.size());
  return samples;
}

/// Merges the replicas' counts in registered metrics that they did not log into the module's metrics.
void DataParallelStrategy::merge_metrics(size_t parts) {
  const auto& metrics = module_->registered_metrics();
  for (size_t i = 1; i < parts; ++i) {
    const auto& others = module_on(i).registered_metrics();
    for (size_t k = 0; k < metrics.size(); ++k) {
      LoggedMetric& other = *others[k].second;
      other.to(devices_.front());
      metrics[k].second->prepend_state_dict(other.state_dict());
      other.reset();
    }
  }
}

StepOutput DataParallelStrategy::run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) {
  if (!function.can_run_parts())
    throw UsageError(
        "strategy dp runs a step on parts of the batch, by replicas of the module, which the loss of a host program "
        "does not know; use one device, or ddp");
  std::vector<StepOutput> outputs(devices_.size());
  const std::vector<int64_t> samples =
      run_parts(batch, [&](size_t replica, LightningModule& module, const Batch& part) {
        const StepOutput& output = outputs[replica] = function(module, part, batch_idx);
        if (output.weight_tensor.defined())
          logs_[replica].set_weight(output.weight_tensor.item<double>());  // host sync
        else if (output.weight)
          logs_[replica].set_weight(*output.weight);
      });
  outputs.resize(samples.size());
  return gather_outputs(outputs, samples, output_device_);
}

void DataParallelStrategy::run_evaluation_step(EvaluationStep kind, const Batch& batch, int64_t batch_idx) {
  run_parts(batch, [&](size_t, LightningModule& module, const Batch& part) { (module.*kind)(part, batch_idx); });
}

Batch DataParallelStrategy::run_predict_step(const Batch& batch, int64_t batch_idx) {
  std::vector<Batch> predictions(devices_.size());
  const size_t parts = run_parts(batch, [&](size_t replica, LightningModule& module, const Batch& part) {
                         predictions[replica] = module.predict_step(part, batch_idx);
                       }).size();
  predictions.resize(parts);
  return parts == 1 ? predictions.front() : Batch::gather(predictions, output_device_);
}

void DataParallelStrategy::step(torch::optim::Optimizer& optimizer, const Closure& closure) {
  optimizer.step(closure);
  // LibTorch's own optimizers do not increase the parameters' versions.
  state_->expect_changes();
}

}  // namespace levin
