#include <levin/trainer/compiled/step_optimizer.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/adam_rule.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/optim/optimizers/sgd.h>

#include <algorithm>

namespace levin::compiled {
namespace {

using optim::AdamOptions, optim::AdamWOptions, optim::SGDOptions;

constexpr const char* kWhich = "a compiled step makes the steps of levin::optim::SGD, Adam and AdamW";

/// Returns the class's name as configs have it.
std::string class_of(const torch::optim::Optimizer& optimizer) {
  if (dynamic_cast<const optim::SGD*>(&optimizer) != nullptr) return "SGD";
  if (dynamic_cast<const optim::Adam*>(&optimizer) != nullptr) return "Adam";
  if (dynamic_cast<const optim::AdamW*>(&optimizer) != nullptr) return "AdamW";
  throw UsageError("the optimizer is another one, and ", kWhich);
}

optim::Optimizer& levins(torch::optim::Optimizer& optimizer) {
  auto* const ours = dynamic_cast<optim::Optimizer*>(&optimizer);
  if (ours == nullptr) throw UsageError("the optimizer is LibTorch's, and ", kWhich);
  return *ours;
}

/// `settings`: of Adam or AdamW; `step`: the number of the next step, from 1.
void write_adam(double* numbers, const optim::detail::AdamSettings& settings, int64_t step) {
  optim::ParamState state;
  state.step = step;
  const optim::detail::AdamRule</*kL2=*/false, /*kAmsgrad=*/false> rule(settings, state);
  numbers[0] = rule.step_size;
  numbers[1] = rule.correction;
  numbers[2] = rule.kept;
}

}  // namespace

StepOptimizer::StepOptimizer(torch::optim::Optimizer& optimizer, const std::vector<StepInput>& inputs)
    : optimizer_(levins(optimizer)), class_(class_of(optimizer)) {
  for (const torch::optim::OptimizerParamGroup& group : optimizer_.param_groups()) {
    Group& made = groups_.emplace_back();
    made.numbers = at::zeros({3}, at::kDouble);
    for (const at::Tensor& parameter : group.params()) {
      const auto found =
          std::ranges::find_if(inputs, [&](const StepInput& input) { return input.tensor.is_same(parameter); });
      if (found == inputs.end())
        throw UsageError("the optimizer steps a tensor of shape ", parameter.sizes(),
                         " that is no parameter of the module");
      made.members.push_back({.input = static_cast<size_t>(found - inputs.begin()), .parameter = parameter});
    }
  }
}

torch::optim::OptimizerOptions& StepOptimizer::options(size_t group) const {
  return optimizer_.param_groups().at(group).options();
}

nlohmann::json StepOptimizer::describe() const {
  nlohmann::json groups = nlohmann::json::array();
  for (size_t g = 0; g < groups_.size(); ++g) {
    nlohmann::json values =
        nlohmann::json::parse(static_cast<const optim::AnyGroupOptions&>(options(g)).values().dump());
    values.erase("lr");
    values.erase("initial_lr");
    nlohmann::json parameters = nlohmann::json::array();
    for (const Member& member : groups_[g].members) parameters.push_back(member.input);
    groups.push_back({{"options", std::move(values)}, {"parameters", std::move(parameters)}});
  }
  return {{"class", class_}, {"groups", std::move(groups)}};
}

void StepOptimizer::set_stepped(const std::vector<size_t>& inputs) {
  for (Group& group : groups_)
    for (Member& member : group.members) member.is_stepped = std::ranges::find(inputs, member.input) != inputs.end();
}

optim::ParamState* StepOptimizer::state_of(const Member& member) const {
  const auto& states = optimizer_.state();
  const auto found = states.find(member.parameter.unsafeGetTensorImpl());
  return found == states.end() ? nullptr : static_cast<optim::ParamState*>(found->second.get());
}

size_t StepOptimizer::state_size(size_t group) const {
  torch::optim::OptimizerOptions& of_group = options(group);
  if (class_ == "SGD") return optim::options_of<SGDOptions>(of_group).momentum != 0 ? 1 : 0;
  const bool amsgrad = class_ == "Adam" ? optim::options_of<AdamOptions>(of_group).amsgrad
                                        : optim::options_of<AdamWOptions>(of_group).amsgrad;
  return amsgrad ? 3 : 2;
}

bool StepOptimizer::is_as_compiled(const nlohmann::json& as_compiled) {
  bool same = true;
  for (size_t g = 0; g < groups_.size(); ++g)
    same = same && groups_[g].checked &&
           static_cast<const optim::AnyGroupOptions&>(options(g)).equals_but_lr(*groups_[g].checked);
  if (same) return true;
  if (describe() != as_compiled) return false;
  for (size_t g = 0; g < groups_.size(); ++g) groups_[g].checked = options(g).clone();
  return true;
}

std::string StepOptimizer::why_no_state(size_t group) const {
  const size_t tensors = state_size(group);
  const optim::ParamState* first = nullptr;
  for (const Member& member : groups_[group].members) {
    if (!member.is_stepped) continue;
    const optim::ParamState* const state = state_of(member);
    if (state == nullptr && tensors == 0) continue;
    if (state == nullptr) return "the optimizer's first step makes its state";
    if (first == nullptr) first = state;
    if (state->step != first->step) return "the optimizer counts other steps for some of its parameters";
    for (size_t i = 0; i < tensors; ++i) {
      const at::Tensor& tensor = state->tensors.at(i);
      if (!tensor.defined()) return "the optimizer's first step makes its state";
      if (tensor.sizes() != member.parameter.sizes() || tensor.strides() != member.parameter.strides() ||
          tensor.scalar_type() != member.parameter.scalar_type())
        return "the optimizer's state has another layout than its parameters";
    }
  }
  return {};
}

std::string StepOptimizer::why_not(const nlohmann::json& as_compiled) {
  if (optimizer_.param_groups().size() != groups_.size()) return "the optimizer got another group";
  for (size_t g = 0; g < groups_.size(); ++g)
    if (optimizer_.param_groups()[g].params().size() != groups_[g].members.size())
      return "the optimizer got another parameter";
  if (!is_as_compiled(as_compiled)) return "an option of the optimizer changed that is not the learning rate";
  for (size_t g = 0; g < groups_.size(); ++g)
    if (std::string why = why_no_state(g); !why.empty()) return why;
  return {};
}

void StepOptimizer::write_numbers(size_t group) {
  auto* const numbers = groups_[group].numbers.mutable_data_ptr<double>();
  torch::optim::OptimizerOptions& of_group = options(group);
  if (class_ == "SGD") {
    numbers[0] = of_group.get_lr();
    return;
  }
  int64_t step = 1;
  for (const Member& member : groups_[group].members)
    if (member.is_stepped) {
      step = state_of(member)->step + 1;
      break;
    }
  if (class_ == "Adam") {
    const auto& adam = optim::options_of<AdamOptions>(of_group);
    write_adam(numbers, optim::detail::adam_settings(adam, adam.decoupled_weight_decay), step);
  } else {
    write_adam(numbers, optim::detail::adam_settings(optim::options_of<AdamWOptions>(of_group), /*decoupled=*/true),
               step);
  }
}

std::vector<at::Tensor> StepOptimizer::inputs() {
  std::vector<at::Tensor> all;
  for (size_t g = 0; g < groups_.size(); ++g) {
    write_numbers(g);
    all.push_back(groups_[g].numbers);
    const size_t tensors = state_size(g);
    for (const Member& member : groups_[g].members)
      for (size_t i = 0; member.is_stepped && i < tensors; ++i) all.push_back(state_of(member)->tensors[i]);
  }
  return all;
}

void StepOptimizer::count() {
  for (const Group& group : groups_)
    for (const Member& member : group.members) {
      if (!member.is_stepped) continue;
      if (optim::ParamState* const state = state_of(member)) ++state->step;
      member.parameter.unsafeGetTensorImpl()->bump_version();
    }
}

}  // namespace levin::compiled
