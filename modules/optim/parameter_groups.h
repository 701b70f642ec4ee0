#pragma once
#include <levin/trainer/core/error.h>
#include <torch/optim/optimizer.h>

#include <string>
#include <vector>

namespace levin::optim::detail {

using Groups = std::vector<torch::optim::OptimizerParamGroup>;

Groups one_group(std::vector<at::Tensor> parameters);

/// Returns `groups`. Throws UsageError where `optimizer` ("SGD") cannot train them: no parameters, one that is
/// undefined or computed from others, one given twice.
const Groups& checked_parameters(const char* optimizer, const Groups& groups);

/// Calls `check(options, path)` for the LibTorch options of each group. Throws UsageError where a group holds those of
/// another optimizer.
template <class TorchOptions, class Check>
void check_group_options(const char* optimizer, const Groups& groups, const Check& check) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto* options = dynamic_cast<const TorchOptions*>(&groups[i].options());
    const std::string path = std::string(optimizer) + ".param_groups[" + std::to_string(i) + "]";
    if (options == nullptr)
      throw UsageError(path, ": the options are those of another optimizer; give torch::optim::", optimizer, "Options");
    check(*options, path);
  }
}

}  // namespace levin::optim::detail
