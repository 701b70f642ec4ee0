#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <string>
#include <vector>

namespace levin::parallel {

/// The parameters of a module that are gathered and given back together.
struct UnitParameters {
  std::string name;  ///< of the part, such as "net.blocks.3"; empty for what is in no part
  std::vector<std::string> names = {};
  std::vector<at::Tensor> parameters = {};  ///< each belongs to one unit
};

/// Divides the parameters of a module into units, in the order in which the parts are registered. Units are the parts
/// that derive from ShardUnit, modules imported from Python, and the children of a ModuleList or Sequential that have
/// more than 1 % of all parameters. A parameter belongs to the innermost unit around it; one that several units share,
/// and one in no unit, to the unit without a name, which comes first. Units without parameters, and parameters without
/// elements, are left out.
std::vector<UnitParameters> find_units(const torch::nn::Module& module);

}  // namespace levin::parallel
