#include <levin/modules/nn/grouped_parameters.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>
#include <levin/modules/name_pattern.h>
#include <levin/modules/optim/engine/group_options.h>
#include <levin/modules/optim/optimizer.h>

#include <optional>
#include <unordered_set>

namespace levin {
namespace {

constexpr const char* kLrFactor = "lr_factor";

Json write_groups(const GroupTable& table) {
  Json json = Json::object();
  for (const auto& [pattern, options] : table.groups) json[pattern] = Json::parse(options);
  return json;
}

std::optional<GroupTable> parse_groups(const Json& json) {
  if (!json.is_object()) return {};
  GroupTable table;
  for (const auto& [pattern, options] : json.items()) {
    if (pattern.empty() || !options.is_object() || options.empty()) return {};
    table.groups.emplace_back(pattern, options.dump());
  }
  return table;
}

/// Returns the parameters of `module` that are trained, with their names, those under two names once.
std::vector<std::pair<std::string, at::Tensor>> trained_parameters(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, at::Tensor>> trained;
  std::unordered_set<const at::TensorImpl*> seen;
  for (const auto& item : module.named_parameters())
    if (item.value().requires_grad() && seen.insert(item.value().unsafeGetTensorImpl()).second)
      trained.emplace_back(item.key(), item.value());
  return trained;
}

/// Changes the options of a group by those of a row. Throws for names and values that the optimizer does not have.
void change(torch::optim::OptimizerOptions& options, Json values, const std::string& path) {
  auto* const known = dynamic_cast<optim::AnyGroupOptions*>(&options);
  if (known == nullptr) throw UsageError(path, ": the optimizer's class is not one of levin's, which have such groups");
  if (const auto factor = values.find(kLrFactor); factor != values.end()) {
    if (!factor->is_number() || values.contains("lr"))
      throw UsageError(path, ".", kLrFactor, ": expected a number, and no lr beside it");
    values["lr"] = known->get_lr() * factor->get<double>();
    values.erase(kLrFactor);
  }
  const Json present = known->values();
  for (const auto& [name, value] : values.items()) {
    if (present.contains(name)) continue;
    std::vector<std::string> names = {kLrFactor};
    for (const auto& item : present.items()) names.push_back(item.key());
    throw UsageError(path, ": the optimizer has no option ", name, did_you_mean(name, names));
  }
  known->set_values(values);
  known->check(path);
}

void add_group(torch::optim::Optimizer& optimizer, const torch::optim::OptimizerParamGroup& group) {
  if (auto* const own = dynamic_cast<optim::Optimizer*>(&optimizer))
    own->add_param_group(group);
  else
    optimizer.add_param_group(group);
}

}  // namespace

const OptionType& OptionTraits<GroupTable>::type() {
  static const ValueType<GroupTable> type(
      "an object of names or patterns and the options that differ, such as {\"bias\": {\"weight_decay\": 0}}",
      parse_groups, write_groups, json_or_text, /*a_switch=*/false,
      R"({"type": "object", "additionalProperties": {"type": "object", "minProperties": 1}})");
  return type;
}

std::unique_ptr<torch::optim::Optimizer> make_grouped_optimizer(const ClassChoice<optim::OptimizerKind>& part,
                                                                const torch::nn::Module& module,
                                                                const ParameterGroups& groups,
                                                                const std::string& path) {
  const auto& rows = groups.parameter_groups.groups;
  std::vector<at::Tensor> others;
  std::vector<std::vector<at::Tensor>> members(rows.size());
  for (const auto& [name, parameter] : trained_parameters(module)) {
    size_t row = 0;
    while (row < rows.size() && !names_parameter(rows[row].first, name)) ++row;
    (row < rows.size() ? members[row] : others).push_back(parameter);
  }
  for (size_t row = 0; row < rows.size(); ++row)
    if (members[row].empty())
      throw UsageError(path, ".parameter_groups: ", rows[row].first,
                       " names no parameter that is trained and that no row before it names");
  const bool has_others = !others.empty() || rows.empty();
  auto optimizer = optim::make_optimizer(part, path + ".optimizer", has_others ? others : members.front());
  for (size_t row = 0; row < rows.size(); ++row) {
    auto options = optimizer->defaults().clone();
    change(*options, Json::parse(rows[row].second), path + ".parameter_groups[" + rows[row].first + "]");
    if (!has_others && row == 0)
      optimizer->param_groups().front().set_options(std::move(options));
    else
      add_group(*optimizer, {members[row], std::move(options)});
  }
  return optimizer;
}

}  // namespace levin
