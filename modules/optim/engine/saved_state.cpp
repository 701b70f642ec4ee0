#include <levin/modules/optim/engine/saved_state.h>
#include <c10/util/StringUtil.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <set>
#include <string>

namespace levin::optim::detail {

void check_saved_groups(const ParamGroups& groups, const State::List& saved) {
  std::vector<size_t> sizes;
  for (const torch::optim::OptimizerParamGroup& group : groups) sizes.push_back(group.params().size());
  check_saved_groups(sizes, saved);
}

void check_saved_groups(const std::vector<size_t>& group_sizes, const State::List& saved) {
  if (saved.size() != group_sizes.size())
    throw UsageError("the optimizer's state has ", saved.size(), " parameter groups, the optimizer has ",
                     group_sizes.size(),
                     saved.size() > group_sizes.size() ? "; groups that were added during the run must be there when a "
                                                         "run resumes; see \"Parameters that join later\" "
                                                         "(docs/optimizers.md)"
                                                       : "");
  for (size_t g = 0; g < saved.size(); ++g) {
    const size_t theirs = saved[g].at("params").size(), ours = group_sizes[g];
    if (theirs != ours)
      throw UsageError("the optimizer's state has ", theirs, " parameters in group ", g, ", the optimizer has ", ours);
  }
}

void check_saved_options(const State& saved, const State& present) {
  // Options that tell classes apart. Others belong to many classes, to some versions of Python's, or to the user.
  static const std::set<std::string> kOfClasses = {"betas",
                                                   "momentum",
                                                   "nesterov",
                                                   "dampening",
                                                   "rho",
                                                   "alpha",
                                                   "centered",
                                                   "lambd",
                                                   "t0",
                                                   "etas",
                                                   "step_sizes",
                                                   "lr_decay",
                                                   "max_iter",
                                                   "initial_accumulator_value",
                                                   "d",
                                                   "eps2",
                                                   "momentum_decay",
                                                   "trust_coefficient",
                                                   "beta2_decay",
                                                   "history_size"};
  const auto own_options = [](const State& one, const State& other) {
    std::vector<std::string> names;
    for (const auto& [key, value] : one.to_dict())
      if (kOfClasses.contains(to_text(key)) && !other.contains(to_text(key))) names.push_back(to_text(key));
    return names;
  };
  const std::vector<std::string> theirs = own_options(saved, present), ours = own_options(present, saved);
  if (!theirs.empty() && !ours.empty())
    throw UsageError("the optimizer's state was saved by an optimizer of another class, which has ",
                     c10::Join(", ", theirs), ", and this one has ", c10::Join(", ", ours),
                     "; keep the class, or begin a new run with the weights");
}

void check_saved_keys(const State& of_parameter, const std::vector<const char*>& known) {
  for (const auto& [key, value] : of_parameter.to_dict()) {
    const std::string name = to_text(key);
    const bool is_known =
        name == "step" || std::any_of(known.begin(), known.end(), [&](const char* one) { return name == one; });
    if (is_known || value.is_none()) continue;
    std::string all;
    for (const char* one : known) all += (all.empty() ? "" : ", ") + std::string(one);
    throw UsageError("the optimizer's state has ", name, ", and this optimizer keeps ", all.empty() ? "nothing" : all,
                     ": it was saved by an optimizer of another class");
  }
}

const State* saved_values(const State& saved, int64_t index) {
  const State* const values = saved.at("state").find(index);
  return values != nullptr && !values->is_none() ? values : nullptr;
}

double saved_number(const State& value) {
  return value.is_tensor() ? value.to_tensor().item<double>() : value.to_double();
}

at::Tensor saved_tensor(const char* key, const at::Tensor& saved, const at::Tensor& parameter,
                        const at::Tensor& expected) {
  if (expected.defined() && saved.sizes() != expected.sizes())
    throw UsageError("the optimizer's state has ", key, " of shape ", saved.sizes(), " for a parameter of shape ",
                     parameter.sizes(), "; give the optimizer the same parameters in the same order");
  const auto dtype = parameter.is_floating_point() ? parameter.scalar_type() : saved.scalar_type();
  return saved.detach().to(parameter.device(), dtype, /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace levin::optim::detail
