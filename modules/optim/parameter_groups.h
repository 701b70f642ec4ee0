#pragma once
#include <levin/trainer/core/error.h>
#include <torch/optim/optimizer.h>

#include <string>
#include <vector>

namespace levin::optim::detail {

using Groups = std::vector<torch::optim::OptimizerParamGroup>;

Groups one_group(std::vector<at::Tensor> parameters);

/// "SGD.param_groups[0]"
std::string group_path(const char* optimizer, size_t group);

/// Throws UsageError where `optimizer` ("SGD") cannot train these: no parameters, one that is undefined or computed
/// from others, one given twice.
void check_parameters(const char* optimizer, const Groups& groups);

/// Returns `groups`. Throws as `check_parameters` does, and for a group with the options of another optimizer, which
/// LibTorch would take for its own or ignore.
template <class TorchOptions>
const Groups& checked_groups(const char* optimizer, const Groups& groups) {
  check_parameters(optimizer, groups);
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].has_options() && dynamic_cast<const TorchOptions*>(&groups[i].options()) == nullptr)
      throw UsageError(group_path(optimizer, i),
                       ": the options are those of another optimizer; give torch::optim::", optimizer, "Options");
  return groups;
}

/// Calls `check(options, path)` for the options of each group of an optimizer that was made from checked groups.
template <class TorchOptions, class Check>
void check_group_options(const char* optimizer, const Groups& groups, const Check& check) {
  for (size_t i = 0; i < groups.size(); ++i)
    check(static_cast<const TorchOptions&>(groups[i].options()), group_path(optimizer, i));
}

}  // namespace levin::optim::detail
