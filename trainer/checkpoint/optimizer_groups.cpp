#include <levin/trainer/checkpoint/optimizer_groups.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/repeats_closure.h>
#include <levin/modules/optim/engine/saved_state.h>
#include <levin/modules/optim/optimizer_state.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace levin {
namespace {

std::vector<std::string> in_one_list(const GroupNames& groups) {
  std::vector<std::string> all;
  for (const std::vector<std::string>& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

GroupNames names_of_state(const State& saved) {
  GroupNames groups;
  for (const State& group : saved.items()) {
    groups.emplace_back();
    for (const State& name : group.items()) groups.back().push_back(name.to_string());
  }
  return groups;
}

/// Returns the numbers of the saved parameters, in the order of the groups.
std::vector<int64_t> numbers_in(const State& saved) {
  std::vector<int64_t> numbers;
  for (const State& group : saved.at("param_groups").items())
    for (const State& number : group.at("params").items()) numbers.push_back(number.to_int());
  return numbers;
}

/// Returns the number under which each present parameter was saved; unset for one that was not.
std::vector<std::optional<int64_t>> saved_numbers(const std::vector<std::string>& present, const State& saved,
                                                  const State* saved_names) {
  const std::vector<int64_t> numbers = numbers_in(saved);
  if (saved_names == nullptr || saved_names->is_none()) {
    if (numbers.size() != present.size())
      throw UsageError("trainer.resume_optimizer_options: present: the optimizer was saved with ", numbers.size(),
                       " parameters, whose names the checkpoint does not hold, and has ", present.size(),
                       " now; resume with the same parameters in the same order");
    return {numbers.begin(), numbers.end()};
  }
  const std::vector<std::string> before = in_one_list(names_of_state(*saved_names));
  std::map<std::string, int64_t> known;
  for (size_t i = 0; i < before.size() && i < numbers.size(); ++i) known[before[i]] = numbers[i];
  std::vector<std::optional<int64_t>> found;
  for (const std::string& name : present) {
    const auto number = known.find(name);
    found.push_back(number == known.end() ? std::nullopt : std::optional(number->second));
  }
  return found;
}

}  // namespace

GroupNames names_of_groups(const torch::optim::Optimizer& optimizer, const torch::nn::Module& module) {
  std::unordered_map<const c10::TensorImpl*, std::string> names;
  for (const auto& parameter : module.named_parameters())
    names[parameter.value().unsafeGetTensorImpl()] = parameter.key();
  GroupNames groups;
  for (const auto& group : optimizer.param_groups()) {
    groups.emplace_back();
    for (const at::Tensor& parameter : group.params()) {
      const auto name = names.find(parameter.unsafeGetTensorImpl());
      groups.back().push_back(name == names.end() ? "" : name->second);
    }
  }
  return groups;
}

State state_of_names(const GroupNames& names, const State& saved) {
  if (saved.is_none() || saved.find("param_groups") == nullptr) return {};
  const State::List& groups = saved.at("param_groups").items();
  if (groups.size() != names.size()) return {};
  State all = State::list();
  for (size_t i = 0; i < names.size(); ++i) {
    const bool has_all = std::ranges::find(names[i], "") == names[i].end();
    if (!has_all || groups[i].at("params").size() != names[i].size()) return {};
    State group = State::list();
    for (const std::string& name : names[i]) group.push_back(name);
    all.push_back(std::move(group));
  }
  return all;
}

bool has_same_order(const GroupNames& present, const State* saved_names) {
  return saved_names == nullptr || saved_names->is_none() ||
         in_one_list(present) == in_one_list(names_of_state(*saved_names));
}

State with_present_groups(torch::optim::Optimizer& optimizer, const GroupNames& present, const State& saved,
                          const State* saved_names) {
  if (optim::detail::repeats_closure(optimizer) && !has_same_order(present, saved_names))
    throw UsageError(
        "trainer.resume_optimizer_options: present: LBFGS has one state for all parameters, and they are others than "
        "in the checkpoint; begin a new run with its weights (model.weights, or levin::load_weights)");
  const std::vector<std::optional<int64_t>> before = saved_numbers(in_one_list(present), saved, saved_names);
  State state = State::dict({{"state", State::dict()}, {"param_groups", State::list()}});
  int64_t number = 0;
  for (size_t g = 0; g < present.size(); ++g) {
    State group = optim::parameter_group_options(optimizer, g);
    State numbers = State::list();
    for (size_t i = 0; i < present[g].size(); ++i, ++number) {
      const std::optional<int64_t> old = before[static_cast<size_t>(number)];
      const State* const values = old ? optim::detail::saved_values(saved, *old) : nullptr;
      if (values != nullptr) state["state"][number] = *values;
      numbers.push_back(number);
    }
    group["params"] = std::move(numbers);
    state["param_groups"].push_back(std::move(group));
  }
  return state;
}

}  // namespace levin
