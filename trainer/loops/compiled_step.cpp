#include <levin/trainer/loops/compiled_step.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <levin/core/ranks/torch_compat/autograd_node.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/batch_tensors.h>
#include <levin/trainer/compiled/step_source.h>
#include <levin/trainer/loops/overridden_inside.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>

namespace levin {
namespace {

using compiled::InputKind, compiled::StepInput;
using torch::autograd::variable_list;

/// Gives a parameter's accumulator its gradient, with all hooks, as the engine does.
void accumulate(torch::autograd::Node& accumulator, at::Tensor gradient) {
  variable_list given;
  given.push_back(std::move(gradient));
  for (const auto& hook : accumulator.tensor_pre_hooks()) given = (*hook)(given);
  for (const auto& hook : accumulator.pre_hooks()) given = (*hook)(given);
  const auto& after = accumulator.post_hooks();
  const variable_list kept = after.empty() ? variable_list() : given;
  variable_list results = accumulator(std::move(given));
  for (const auto& hook : after) results = (*hook)(results, kept);
}

/// A graph node whose backward gives the gradients that the step has already computed. It calls the accumulators
/// itself: the engine needs more time for each of them than a small step has.
class GradientsOfStep final : public torch::autograd::Node {
 public:
  GradientsOfStep(torch::autograd::edge_list&& parameters, std::vector<at::Tensor> gradients)
      : Node(std::move(parameters)), gradients_(std::move(gradients)) {}
  std::string name() const override { return "CompiledStep"; }

 private:
  variable_list apply(variable_list&& of_loss) override {
    if (gradients_.empty()) throw Error("backward of a compiled step ran twice; its gradients are given once");
    if (of_loss.front().defined()) {
      const double factor = of_loss.front().item<double>();
      if (factor != 1)
        for (at::Tensor& gradient : gradients_) gradient.mul_(factor);
    }
    // Until here they are edges, by which a reducer finds the parameters that a loss used; the engine shall follow
    // none.
    const torch::autograd::edge_list accumulators = next_edges();
    set_next_edges({});
    for (size_t i = 0; i < accumulators.size(); ++i) accumulate(*accumulators[i].function, std::move(gradients_[i]));
    gradients_.clear();
    return {};
  }
  void release_variables() override { gradients_.clear(); }

  std::vector<at::Tensor> gradients_;
};

at::Tensor with_gradients(at::Tensor loss, torch::autograd::edge_list parameters, std::vector<at::Tensor> gradients) {
  torch::autograd::create_gradient_edge(
      loss, torch_compat::make_node<GradientsOfStep>(std::move(parameters), std::move(gradients)));
  return loss;
}

/// Returns whether anyone is told of the gradient.
bool has_hooks(const torch::autograd::Edge& accumulator) {
  torch::autograd::Node& node = *accumulator.function;
  return !node.tensor_pre_hooks().empty() || !node.pre_hooks().empty() || !node.post_hooks().empty() ||
         node.tensor_post_acc_grad_hooks() != nullptr;
}

[[noreturn]] void refuse_run(const std::string& why) {
  throw UsageError("trainer.compiled_step: ", why, "; leave compiled_step unset");
}

}  // namespace

CompiledStep::CompiledStep(const StepParts& parts, std::filesystem::path path, compiled::StepDescription description,
                           std::unique_ptr<compiled::CompiledCode> code)
    : parts_(parts),
      path_(std::move(path)),
      description_(std::move(description)),
      code_(std::move(code)),
      needs_no_graph_(parts.strategy.comm().world_size() == 1 && !parts.overrides.has(ModuleMethod::backward) &&
                      !parts.hooks.anyone_overrides(Hook::on_before_backward)) {}

std::string CompiledStep::recompile_advice() const {
  return compiled::recompile_advice(path_) + (makes_optimizer_steps() ? " --optimizer in_step" : "");
}

bool CompiledStep::takes(const Batch& batch) {
  gradients_.clear();
  if (batch.is_own()) return run_eagerly("a batch of the program's own type");
  if (!is_checked_ || !is_as_traced()) look_at_module(batch);
  if (!is_as_traced()) return run_eagerly("the module was in another mode, or had other parameters");
  if (!take_batch(batch)) return run_eagerly("another shape, dtype or number of samples");
  if (!std::exchange(is_checked_, true)) check(batch);
  if (optimizer_)
    if (const std::string why = optimizer_->why_not(description_.optimizer); !why.empty()) return run_eagerly(why);
  return true;
}

void CompiledStep::look_at_module(const Batch& batch) {
  const std::vector<StepInput> inputs = compiled::inputs_of_step(parts_.module, batch);
  if (!is_checked_) compiled::check_inputs(description_, inputs, path_);
  inputs_.clear();
  for (const StepInput& input : inputs) inputs_.push_back(input.tensor);
  parameters_.clear();
  for (const size_t index : description_.gradients) parameters_.push_back(inputs_.at(index));
  accumulators_ = torch::autograd::collect_next_edges(parameters_);
  if (makes_optimizer_steps()) make_optimizer(inputs);
  if (is_checked_) return;
  modes_.clear();
  modes_.emplace_back(&parts_.module, parts_.module.is_training());
  for (const auto& part :
       parts_.module.modules(/*include_self=*/false))  // a module on the stack has no pointer to itself
    modes_.emplace_back(part.get(), part->is_training());
}

void CompiledStep::make_optimizer(const std::vector<StepInput>& inputs) {
  try {
    optimizer_ = std::make_unique<compiled::StepOptimizer>(*parts_.optimizers.front(), inputs);
  } catch (const UsageError& error) {
    refuse_run(error.what());
  }
  optimizer_->set_stepped(description_.gradients);
}

/// Compares the step with the one that was compiled.
void CompiledStep::check(const Batch& batch) {
  const std::optional<Batch> like_traced = compiled::resized(batch, description_.batch_size);
  const compiled::StepTrace trace =
      compiled::trace_step({.module = parts_.module, .context = parts_.context, .precision = parts_.precision},
                           like_traced.value_or(batch), 0);
  if (trace.digest() != description_.digest)
    throw UsageError("trainer.compiled_step: ", path_.string(), ": was compiled from another training_step of ",
                     description_.model, " (precision ", description_.precision, ", LibTorch ", description_.torch,
                     "): its code, its options or its constants differ", recompile_advice());
  logged_ = trace.log.entries();
  if (!optimizer_) return;
  if (const nlohmann::json now = optimizer_->describe(); now != description_.optimizer)
    throw UsageError("trainer.compiled_step: ", path_.string(), ": makes the steps of ", description_.optimizer.dump(),
                     ", and the run has ", now.dump(), recompile_advice());
}

bool CompiledStep::is_as_traced() const {
  if (inputs_.size() != description_.inputs.size()) return false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const compiled::StepDescription::Input& expected = description_.inputs[i];
    if (expected.kind == InputKind::Batch) break;
    if (!expected.takes(inputs_[i], 0) || !expected.has_strides(inputs_[i], 0)) return false;
    if (inputs_[i].requires_grad() != (expected.kind == InputKind::Parameter)) return false;
  }
  return std::ranges::all_of(modes_, [](const auto& mode) { return mode.first->is_training() == mode.second; });
}

bool CompiledStep::take_batch(const Batch& batch) {
  const int64_t samples = batch.size();
  if (samples < description_.least_samples || samples > description_.most_samples) return false;
  size_t i = inputs_.size();
  while (i > 0 && description_.inputs[i - 1].kind == InputKind::Batch) --i;
  bool fits = true;
  for_each_tensor(batch, [&](const std::string& name, const at::Tensor& tensor) {
    fits = fits && i < inputs_.size() && description_.inputs[i].name == name &&
           description_.inputs[i].takes(tensor, samples);
    if (!fits) return;
    inputs_[i] =
        description_.inputs[i].has_strides(tensor, samples) ? tensor : description_.inputs[i].copy_of(tensor, samples);
    ++i;
  });
  return fits && i == inputs_.size();
}

bool CompiledStep::run_eagerly(const std::string& why) {
  if (eager_batches_++ == 0) why_eager_ = why;
  return false;
}

void CompiledStep::count_other(const char* why) { run_eagerly(why); }

std::optional<StepProgram::WholeStep> CompiledStep::run_whole(const Input& input, const InParts& /*in_parts*/) {
  if (!makes_optimizer_steps()) return {};
  if (input.window != 1) {
    run_eagerly("several batches made one step");
    return {};
  }
  if (!takes(input.batch)) return {};
  parts_.optimizers.front()->zero_grad();  // of an eager step before
  WholeStep step;
  parts_.precision.forward_context(
      [&] { step.output = parts_.strategy.run_step(*this, input.batch, input.batch_idx); });
  return step;
}

StepFunction& CompiledStep::loss_of(const Batch& batch) {
  if (makes_optimizer_steps() || !takes(batch)) return eager_;
  return *this;
}

StepOutput CompiledStep::operator()(LightningModule& /*module*/, const Batch& /*batch*/, int64_t /*batch_idx*/) {
  std::vector<at::Tensor> results;
  {
    // The code records nothing, and its precision is compiled in.
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    if (optimizer_) {
      std::vector<at::Tensor> all = inputs_;
      for (at::Tensor& input : optimizer_->inputs()) all.push_back(std::move(input));
      results = code_->run(all);
      optimizer_->count();
    } else {
      results = code_->run(inputs_);
    }
  }
  if (results.size() != description_.results())
    throw UsageError("trainer.compiled_step: ", path_.string(), ": returned ", results.size(), " tensors, ",
                     description_.results(), " were expected", recompile_advice());
  ++compiled_batches_;
  auto next = results.begin();
  StepOutput output(std::move(*next++));
  if (description_.has_weight) output.weight_tensor = std::move(*next++);
  for (const StepLog::Entry& entry : logged_) parts_.context.sink->log(entry.name, *next++, entry.options);
  if (optimizer_) return output;
  std::vector<at::Tensor> gradients(std::make_move_iterator(next), std::make_move_iterator(results.end()));
  if (needs_no_graph_)
    gradients_ = std::move(gradients);
  else
    output.loss = with_gradients(std::move(output.loss), accumulators_, std::move(gradients));
  return output;
}

std::string CompiledStep::summary() const {
  std::string text = c10::str("compiled step: ", compiled_batches_, " batches of this run used ", path_.string());
  if (eager_batches_ > 0) text += c10::str(", ", eager_batches_, " ran eagerly (the first: ", why_eager_, ")");
  return text;
}

bool CompiledStep::add_gradients(double factor) {
  if (gradients_.empty()) return false;
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (has_hooks(accumulators_[i])) {
      accumulate(*accumulators_[i].function, factor == 1 ? std::move(gradients_[i]) : gradients_[i].mul_(factor));
      continue;
    }
    at::Tensor& gradient = parameters_[i].mutable_grad();
    if (gradient.defined())
      gradient.add_(gradients_[i], factor);
    else if (factor == 1)
      gradient = std::move(gradients_[i]);
    else
      gradient = std::move(gradients_[i].mul_(factor));
  }
  gradients_.clear();
  return true;
}

std::string why_not_with_optimizer(const StepParts& parts) {
  if (parts.optimizers.size() != 1) return "the run has no optimizer";
  if (const StrategyChoice& strategy = parts.options.strategy(); !strategy.traits.is_plain)
    return c10::str("strategy ", strategy.name, " steps otherwise than one device does");
  if (parts.options->accumulate_grad_batches != 1) return "accumulate_grad_batches is not 1";
  if (parts.options->gradient_clip_val.value_or(0) > 0) return "gradient_clip_val is set";
  if (parts.precision.master_weights(0) != nullptr)
    return c10::str("precision ", parts.precision.name(), " steps copies of the weights");
  if (const std::string name = overridden_inside(parts); !name.empty())
    return name + " is overridden, and would not be called";
  return {};
}

std::unique_ptr<CompiledStep> make_compiled_step(const StepParts& parts) {
  const std::filesystem::path path = parts.options->compiled_step;
  const c10::Device device = parts.strategy.device();
  if (!device.is_cpu()) refuse_run(c10::str("the run is on ", device, ", and steps are compiled for the CPU"));
  if (parts.precision.scaler() != nullptr)
    refuse_run(std::string("precision ") + parts.precision.name() + " scales the loss, and a compiled step does not");
  for (const auto& parameter : parts.module.parameters())
    if (!parameter.is_cpu())
      refuse_run(c10::str("a parameter is on ", parameter.device(), ", and steps are compiled for the CPU"));
  compiled::StepDescription description = compiled::read_step_description(path);
  compiled::check_machine(description, path);
  if (description.makes_optimizer_steps())
    if (const std::string why = why_not_with_optimizer(parts); !why.empty())
      throw UsageError("trainer.compiled_step: ", path.string(), " makes the optimizer's steps too, and ", why,
                       "; compile the step without --optimizer in_step");
  std::unique_ptr<compiled::CompiledCode> code = compiled::load_compiled_code(path);
  return std::make_unique<CompiledStep>(parts, path, std::move(description), std::move(code));
}

}  // namespace levin
