#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/optim/registry.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// Options of an optimizer for some of the parameters: names or patterns (matches_name), each with the options that
/// differ, as JSON text. In a config `{"bias": {"weight_decay": 0}, "head": {"lr_factor": 10}}`.
struct GroupTable {
  std::vector<std::pair<std::string, std::string>> groups = {};
  bool operator==(const GroupTable&) const = default;
};
LEVIN_DECLARE_OPTION_TYPE(GroupTable);

/// The option of a module by which its optimizer treats some parameters otherwise. As a member without LEVIN_OPTION it
/// is flattened into the module's own options: `model.parameter_groups`.
struct ParameterGroups {
  GroupTable parameter_groups =
      LEVIN_OPTION(parameter_groups, {},
                   "Other options of the optimizer for some parameters, by the end of their "
                   "names, that of a part of the module, or a "
                   "pattern: {\"bias\": {\"weight_decay\": 0}, \"*norm*\": "
                   "{\"weight_decay\": 0}, \"head\": {\"lr_factor\": 10}}; the "
                   "first that fits counts, lr_factor multiplies lr; with Muon, class names the rule, "
                   "Muon or AdamW");
};

/// Makes the optimizer that `part` selects for the parameters of `module` that are trained: one group for those that no
/// row of `groups` names, and one for each row that names some. `path` is the path of the module's options, for error
/// messages. Throws levin::UsageError for invalid options, and for a row that names nothing.
std::unique_ptr<torch::optim::Optimizer> make_grouped_optimizer(const ClassChoice<optim::OptimizerKind>& part,
                                                                const torch::nn::Module& module,
                                                                const ParameterGroups& groups,
                                                                const std::string& path = "model");

}  // namespace levin
