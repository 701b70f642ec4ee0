#include <levin/hosts/c/model.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/state/state.h>
#include <levin/hosts/c/host_config.h>
#include <levin/hosts/c/status.h>
#include <levin/modules/program_module.h>
#include <levin/modules/script_module.h>
#include <levin/modules/weights.h>

namespace levin::c {

namespace {

/// Returns the tensor, or this rank's part of one whose memory is divided among the ranks.
at::Tensor own_memory(const at::Tensor& tensor) {
  at::Tensor own = parallel::own_part(tensor).values;
  return own.defined() ? own : tensor;
}

}  // namespace

Models& models() {
  static auto& all = *new Models("a model");
  return all;
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

bool ModuleInputs::are_weights_divided() const { return parallel::own_part(real_).values.defined(); }

std::optional<parallel::WatchScope> gather_weights(bool are_divided) {
  return are_divided ? std::optional<parallel::WatchScope>(std::in_place) : std::optional<parallel::WatchScope>();
}

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

Batch Model::evaluate(const BatchFunction& function, const Batch& batch) {
  const at::NoGradGuard no_gradients;
  if (modes_)
    modes_->remember();
  else
    modes_.emplace(*module_);
  const bool changes = modes_->has_training_part();
  const auto as_before = c10::make_scope_exit([&] {
    if (changes) modes_->restore();
  });
  if (changes) module_->eval();
  const auto gathering = gather_weights(inputs_.are_weights_divided());
  return function(batch.to(inputs_.device()));
}

void Model::run(const char* function, const levin_array* inputs, size_t count) {
  const std::string_view name = function == nullptr ? "predict_step" : function;
  if (!function_ || function_name_ != name) {
    function_ = function_of(*module_, std::string(name));
    function_name_ = name;
  }
  const Batch batch = batches_.make(inputs, count, inputs_.dtypes());
  results_.set(evaluate(function_, batch));
}

void Model::find_signature() {
  if (signature_) return;
  const Batch& example = module_->example_input;
  if (example.empty()) {
    signature_ = signature_of(*module_);
    return;
  }
  example_inputs_.set(example);
  example_outputs_.set(evaluate(function_of(*module_, "predict_step"), example));
  signature_.emplace();
}

size_t Model::input_count() {
  find_signature();
  return example_inputs_.count() + signature_->inputs.size();
}

size_t Model::output_count() {
  find_signature();
  return example_outputs_.count() + signature_->outputs.size();
}

void Model::describe_input(size_t place, levin_array& array) {
  find_signature();
  if (example_inputs_.count() > 0)
    example_inputs_.give(place, array);
  else
    describe(signature_->inputs, place, array);
}

void Model::describe_output(size_t place, levin_array& array) {
  find_signature();
  if (example_inputs_.count() > 0)
    example_outputs_.give(place, array);
  else
    describe(signature_->outputs, place, array);
}

const Results& Model::weights() {
  NamedTensors tensors;
  for (const auto& [name, value] : module_state_dict(*module_).to_dict())
    if (value.is_tensor()) tensors.emplace_back(to_text(name), own_memory(value.to_tensor()));
  weights_.set(std::move(tensors));
  return weights_;
}

}  // namespace levin::c
