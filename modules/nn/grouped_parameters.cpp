#include <levin/modules/nn/grouped_parameters.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>
#include <levin/modules/name_pattern.h>
#include <levin/modules/optim/engine/group_options.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/modules/optim/optimizers/muon.h>
#include <levin/modules/parallel/tensor/vocabulary_embedding.h>
#include <torch/nn/modules/embedding.h>

#include <algorithm>
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

bool is_embedding(const torch::nn::Module& layer) {
  return dynamic_cast<const torch::nn::EmbeddingImpl*>(&layer) != nullptr ||
         dynamic_cast<const torch::nn::EmbeddingBagImpl*>(&layer) != nullptr ||
         dynamic_cast<const parallel::VocabularyEmbeddingImpl*>(&layer) != nullptr;
}

/// Returns whether a layer has a name that networks give to what turns features into classes or tokens.
bool is_last_layer(const std::string& name) {
  static const std::unordered_set<std::string> kNames = {"head", "lm_head", "classifier", "score", "fc", "embed_out"};
  return kNames.contains(name.substr(name.rfind('.') + 1));
}

/// Returns the parameters of embeddings and of layers that make the output.
std::vector<at::Tensor> outer_parameters(const torch::nn::Module& module) {
  std::vector<at::Tensor> outer;
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    if (!is_embedding(*item.value()) && !is_last_layer(item.key())) continue;
    const std::vector<at::Tensor> own = item.value()->parameters(/*recurse=*/false);
    outer.insert(outer.end(), own.begin(), own.end());
  }
  return outer;
}

void add_group(torch::optim::Optimizer& optimizer, const torch::optim::OptimizerParamGroup& group) {
  if (auto* const own = dynamic_cast<optim::Optimizer*>(&optimizer))
    own->add_param_group(group);
  else
    optimizer.add_param_group(group);
}

/// Adds the groups of a row, whose options are the defaults changed by `values`.
void add_row(torch::optim::Optimizer& optimizer, const std::vector<at::Tensor>& members, const Json& values,
             const std::string& path) {
  auto options = optimizer.defaults().clone();
  change(*options, values, path);
  add_group(optimizer, {members, std::move(options)});
}

/// Does the same for Muon: a row's parameters belong to its two rules, unless the row names one ("class").
void add_row_of_muon(optim::Muon& muon, const std::vector<at::Tensor>& members, Json values, const std::string& path,
                     const std::vector<at::Tensor>& outer) {
  const Json named = values.value("class", Json());
  values.erase("class");
  if (!named.is_null() && named != "Muon" && named != "AdamW")
    throw UsageError(path, ".class: expected Muon or AdamW, got ", named.dump());
  std::vector<at::Tensor> hidden, others;
  for (const at::Tensor& one : members) {
    const bool is_outer = std::ranges::any_of(outer, [&](const at::Tensor& known) { return known.is_same(one); });
    const bool is_hidden = named.is_null() ? one.dim() == 2 && !is_outer : named == "Muon";
    if (is_hidden && one.dim() != 2)
      throw UsageError(path, ".class: Muon steps matrices, and the row names a parameter of shape ", one.sizes());
    (is_hidden ? hidden : others).push_back(one);
  }
  if (!hidden.empty()) add_row(muon, hidden, values, path);
  if (others.empty()) return;
  auto options = static_cast<const optim::AnyGroupOptions&>(muon.defaults()).others();
  change(*options, values, path);
  muon.add_param_group({others, std::move(options)});
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
  auto* const muon = dynamic_cast<optim::Muon*>(optimizer.get());
  const std::vector<at::Tensor> outer = muon != nullptr ? outer_parameters(module) : std::vector<at::Tensor>();
  if (muon != nullptr) muon->step_by_others(outer);
  if (!has_others) optimizer->param_groups().clear();
  for (size_t row = 0; row < rows.size(); ++row) {
    const Json values = Json::parse(rows[row].second);
    const std::string of_row = path + ".parameter_groups[" + rows[row].first + "]";
    if (muon != nullptr)
      add_row_of_muon(*muon, members[row], values, of_row, outer);
    else
      add_row(*optimizer, members[row], values, of_row);
  }
  return optimizer;
}

}  // namespace levin
