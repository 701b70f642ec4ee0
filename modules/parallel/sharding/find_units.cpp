#include <levin/modules/parallel/sharding/find_units.h>
#include <levin/modules/imported_module.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>

#include <unordered_map>

namespace levin::parallel {
namespace {

int64_t parameters_in(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const at::Tensor& parameter : module.parameters()) count += parameter.numel();
  return count;
}

bool is_list(const torch::nn::Module& module) {
  return dynamic_cast<const torch::nn::ModuleListImpl*>(&module) != nullptr ||
         dynamic_cast<const torch::nn::SequentialImpl*>(&module) != nullptr;
}

class UnitFinder {
 public:
  explicit UnitFinder(const torch::nn::Module& module) : least_(parameters_in(module) / 100) {
    units_.push_back({.name = ""});
    visit(module, "", 0);
  }

  std::vector<UnitParameters> take() {
    std::vector<UnitParameters> taken;
    for (size_t unit = 0; unit < units_.size(); ++unit) {
      for (Found& one : found_)
        if (one.unit == unit) {
          units_[unit].names.push_back(one.name);
          units_[unit].parameters.push_back(one.parameter);
        }
      if (!units_[unit].parameters.empty()) taken.push_back(std::move(units_[unit]));
    }
    return taken;
  }

 private:
  struct Found {
    at::Tensor parameter;
    std::string name;
    size_t unit;
  };

  void visit(const torch::nn::Module& module, const std::string& path, size_t unit) {
    for (const auto& item : module.named_parameters(/*recurse=*/false)) add(item.value(), path + item.key(), unit);
    for (const auto& child : module.named_children()) {
      const std::string name = path + child.key();
      size_t of_child = unit;
      if (is_unit(module, *child.value())) {
        of_child = units_.size();
        units_.push_back({.name = name});
      }
      visit(*child.value(), name + ".", of_child);
    }
  }

  bool is_unit(const torch::nn::Module& parent, const torch::nn::Module& child) const {
    if (dynamic_cast<const ShardUnit*>(&child) != nullptr) return true;
    const bool may_be = is_list(parent) || dynamic_cast<const ImportedModule*>(&child) != nullptr;
    return may_be && parameters_in(child) > least_;
  }

  void add(const at::Tensor& parameter, const std::string& name, size_t unit) {
    if (parameter.numel() == 0) return;  // nothing to divide
    const auto [known, is_new] = places_.emplace(parameter.unsafeGetTensorImpl(), found_.size());
    if (is_new)
      found_.push_back({.parameter = parameter, .name = name, .unit = unit});
    else if (found_[known->second].unit != unit)
      found_[known->second].unit = 0;
  }

  int64_t least_;
  std::vector<UnitParameters> units_ = {};
  std::vector<Found> found_ = {};
  std::unordered_map<const void*, size_t> places_ = {};
};

}  // namespace

std::vector<UnitParameters> find_units(const torch::nn::Module& module) { return UnitFinder(module).take(); }

}  // namespace levin::parallel
