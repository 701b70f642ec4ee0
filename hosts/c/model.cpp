#include <levin/hosts/c/model.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/state/state.h>
#include <levin/hosts/c/host_config.h>
#include <levin/hosts/c/status.h>
#include <levin/modules/program_module.h>
#include <levin/modules/script_module.h>
#include <levin/modules/weights.h>

namespace levin::c {

Models& models() {
  static Models all("a model");
  return all;
}

EvalMode::Scope::Scope(EvalMode& mode) : mode_(mode) {
  auto& parts = mode.parts_;
  if (parts.empty()) {
    parts.emplace_back(&mode.module_, false);
    for (const auto& part : mode.module_.modules(/*include_self=*/false)) parts.emplace_back(part.get(), false);
  }
  for (auto& [part, was_training] : parts) {
    was_training = part->is_training();
    has_changed_ = has_changed_ || was_training;
  }
  if (has_changed_) mode.module_.eval();
}

EvalMode::Scope::~Scope() {
  if (!has_changed_) return;
  // `train` sets the parts below, too, which come later.
  for (const auto& [part, was_training] : mode_.parts_) part->train(was_training);
}

ModuleInputs::ModuleInputs(const LightningModule& module)
    // A program of Python's says itself which whole numbers it takes.
    : long_indices_(dynamic_cast<const ImportedModule*>(&module) == nullptr) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (!at::isFloatingType(parameter.scalar_type())) continue;
    real_ = parameter;
    break;
  }
}

InputDtypes ModuleInputs::dtypes() const {
  return {.real = real_.defined() ? real_.scalar_type() : at::kFloat, .long_indices = long_indices_};
}

c10::Device ModuleInputs::device() const { return real_.defined() ? real_.device() : c10::Device(c10::kCPU); }

BatchFunction function_of(LightningModule& module, const std::string& name) {
  // The result of a program's predict_step is that of its forward.
  if (name == "predict_step" || (name == "forward" && dynamic_cast<ImportedModule*>(&module) != nullptr))
    return [&module](const Batch& batch) { return module.predict_step(batch, 0); };
  std::map<std::string, BatchFunction> functions = module.export_functions();
  if (const auto found = functions.find(name); found != functions.end()) return std::move(found->second);
  std::string names = "predict_step";
  for (const auto& [known, function] : functions) names += ", " + known;
  throw UsageError("the model has no function '", name, "'; it has ", names);
}

void Model::run(const char* function, const levin_array* inputs, size_t count) {
  const Batch batch = batches_.make(inputs, count, inputs_.dtypes());
  const BatchFunction called = function_of(*module_, function == nullptr ? "predict_step" : function);
  const at::NoGradGuard no_gradients;
  const EvalMode::Scope evaluation(eval_);
  results_.set(called(batch.to(inputs_.device())));
}

void Model::find_example() {
  if (has_example_) return;
  const Batch& example = module_->example_input;
  if (example.empty())
    throw UsageError("the model has no example, so that its inputs and outputs are not known before it is run");
  const at::NoGradGuard no_gradients;
  const EvalMode::Scope evaluation(eval_);
  example_inputs_.set(example);
  example_outputs_.set(module_->predict_step(example.to(inputs_.device()), 0));
  has_example_ = true;
}

const Results& Model::example_inputs() {
  find_example();
  return example_inputs_;
}

const Results& Model::example_outputs() {
  find_example();
  return example_outputs_;
}

const Results& Model::weights() {
  NamedTensors tensors;
  for (const auto& [name, value] : module_state_dict(*module_).to_dict())
    if (value.is_tensor()) tensors.emplace_back(to_text(name), value.to_tensor());
  weights_.set(std::move(tensors));
  return weights_;
}

}  // namespace levin::c
