#pragma once
#include <levin/core/system/error.h>
#include <torch/optim/optimizer.h>

#include <string>
#include <vector>

namespace levin::optim {

using ParamGroups = std::vector<torch::optim::OptimizerParamGroup>;

namespace detail {

ParamGroups one_group(std::vector<at::Tensor> parameters);

/// Returns the parameters of all groups, in order.
std::vector<at::Tensor> parameters_of(const torch::optim::Optimizer& optimizer);

/// Returns the path of a group for error messages: "SGD.param_groups[0]".
std::string group_path(const char* optimizer, size_t group);

/// Throws levin::UsageError that names `optimizer` ("SGD") for an empty list of parameters, an undefined, computed
/// (non-leaf) or duplicate parameter.
void check_parameters(const char* optimizer, const ParamGroups& groups);

/// Returns `groups`. Throws as `check_parameters`, and for a group with the options of another optimizer, which
/// LibTorch would misinterpret or ignore.
template <class TorchOptions>
const ParamGroups& checked_groups(const char* optimizer, const ParamGroups& groups) {
  check_parameters(optimizer, groups);
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].has_options() && dynamic_cast<const TorchOptions*>(&groups[i].options()) == nullptr)
      throw UsageError(group_path(optimizer, i),
                       ": the options are those of another optimizer; give torch::optim::", optimizer, "Options");
  return groups;
}

}  // namespace detail
}  // namespace levin::optim
