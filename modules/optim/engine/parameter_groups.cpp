#include <levin/modules/optim/engine/parameter_groups.h>

#include <unordered_set>

namespace levin::optim::detail {

ParamGroups one_group(std::vector<at::Tensor> parameters) {
  ParamGroups groups;
  groups.emplace_back(std::move(parameters));
  return groups;
}

std::vector<at::Tensor> parameters_of(const torch::optim::Optimizer& optimizer) {
  std::vector<at::Tensor> parameters;
  for (const auto& group : optimizer.param_groups())
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  return parameters;
}

std::string group_path(const char* optimizer, size_t group) {
  return c10::str(optimizer, ".param_groups[", group, "]");
}

void check_parameters(const char* optimizer, const ParamGroups& groups) {
  std::unordered_set<const void*> seen;
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<at::Tensor>& parameters = groups[g].params();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor& parameter = parameters[i];
      const std::string where = c10::str(optimizer, ": parameter ", i, " of group ", g);
      if (!parameter.defined())
        throw UsageError(where, " is an undefined tensor; build the modules before the optimizer");
      if (!parameter.is_leaf())
        throw UsageError(where, " is computed from other tensors; give the tensors that it is computed from");
      if (!seen.insert(parameter.unsafeGetTensorImpl()).second)
        throw UsageError(where, " (shape ", parameter.sizes(), ") is given twice; give each parameter once");
    }
  }
  if (seen.empty())
    throw UsageError(
        optimizer,
        ": there are no parameters to train; use register_module and register_parameter before parameters()");
}

}  // namespace levin::optim::detail
