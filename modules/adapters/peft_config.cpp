#include <levin/modules/adapters/peft_config.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/low_rank_adapter.h>
#include <levin/modules/name_pattern.h>

#include <cmath>
#include <set>
#include <string_view>

namespace levin::adapters {
namespace {

using PeftJson = nlohmann::ordered_json;

/// Fields that do not change what a trained adapter computes: how it was made, and for whom.
const std::set<std::string, std::less<>>& harmless_fields() {
  static const std::set<std::string, std::less<>> fields = {"peft_type",
                                                            "auto_mapping",
                                                            "base_model_name_or_path",
                                                            "revision",
                                                            "task_type",
                                                            "inference_mode",
                                                            "r",
                                                            "target_modules",
                                                            "exclude_modules",
                                                            "lora_alpha",
                                                            "lora_dropout",
                                                            "fan_in_fan_out",
                                                            "use_rslora",
                                                            "use_dora",
                                                            "modules_to_save",
                                                            "init_lora_weights",
                                                            "rank_pattern",
                                                            "alpha_pattern",
                                                            "layers_to_transform",
                                                            "layers_pattern",
                                                            "megatron_core",
                                                            "eva_config",
                                                            "qalora_group_size",
                                                            "ensure_weight_tying",
                                                            "peft_version",
                                                            "bias"};
  return fields;
}

/// Returns whether a setting of a field that is not known says that it is not used.
bool is_off(const PeftJson& value) {
  return value.is_null() || value == false || ((value.is_object() || value.is_array()) && value.empty());
}

/// Returns whether the adapter began with other base weights than those of the network's files.
bool changes_base(const PeftJson& init) {
  if (!init.is_string()) return false;
  const auto& name = init.get_ref<const std::string&>();
  return name != "gaussian" && name != "orthogonal" && name != "eva";
}

double number(const PeftJson& json, std::string_view field, double missing, const std::string& file) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) return missing;
  if (!found->is_number() || !std::isfinite(found->get<double>())) throw UsageError(file, ": ", field, " is no number");
  return found->get<double>();
}

bool flag(const PeftJson& json, std::string_view field, const std::string& file) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) return false;
  if (!found->is_boolean()) throw UsageError(file, ": ", field, " is neither true nor false");
  return found->get<bool>();
}

void check_fields(const PeftJson& json, const std::string& file) {
  if (const auto kind = json.find("peft_type"); kind == json.end() || *kind != "LORA")
    throw UsageError(file, ": peft_type is ", kind == json.end() ? "missing" : kind->dump(), "; LORA is supported");
  if (const auto bias = json.find("bias"); bias != json.end() && *bias != "none")
    throw UsageError(file, ": bias is ", bias->dump(), "; adapters with biases that were trained are not supported");
  if (const auto init = json.find("init_lora_weights"); init != json.end() && changes_base(*init))
    throw UsageError(file, ": init_lora_weights is ", init->dump(),
                     ", which changes the network's own weights; convert the adapter to plain LoRA with PEFT "
                     "(save_pretrained, path_initial_model_for_weight_conversion)");
  for (const auto& [name, value] : json.items())
    if (!harmless_fields().contains(name) && !is_off(value))
      throw UsageError(file, ": ", name, " is ", value.dump(), ", which is not supported");
}

std::map<std::string, double> alpha_pattern(const PeftJson& json, const std::string& file) {
  std::map<std::string, double> alphas;
  const auto pattern = json.find("alpha_pattern");
  if (pattern == json.end() || is_off(*pattern)) return alphas;
  if (!pattern->is_object()) throw UsageError(file, ": alpha_pattern is no object");
  for (const auto& [name, value] : pattern->items()) {
    if (name.find_first_of("*?[]()|^$\\+{}") != std::string::npos)
      throw UsageError(file, ": alpha_pattern has the regular expression ", name,
                       "; ends of layers' names are supported");
    alphas[name] = number(*pattern, name, 0, file);
  }
  return alphas;
}

}  // namespace

PeftConfig read_peft_config(const std::filesystem::path& file) {
  const std::string name = file.string();
  const PeftJson json = read_json_file(file);
  if (!json.is_object()) throw UsageError(name, ": no JSON object");
  check_fields(json, name);
  return {.alpha = number(json, "lora_alpha", 8, name),
          .alpha_of = alpha_pattern(json, name),
          .dropout = number(json, "lora_dropout", 0, name),
          .rslora = flag(json, "use_rslora", name),
          .fan_in_fan_out = flag(json, "fan_in_fan_out", name),
          .dora = flag(json, "use_dora", name)};
}

double scale_of(const PeftConfig& config, const std::string& layer, int64_t rank) {
  double alpha = config.alpha;
  for (const auto& [pattern, other] : config.alpha_of)
    if (matches_name(pattern, layer)) alpha = other;
  return scale_of(alpha, rank, config.rslora);
}

nlohmann::ordered_json peft_config_json(double alpha, int64_t rank, bool dora) {
  return {{"peft_type", "LORA"},
          {"base_model_name_or_path", nullptr},
          {"task_type", nullptr},
          {"inference_mode", true},
          {"r", rank},
          {"lora_alpha", alpha},
          {"lora_dropout", 0.0},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"use_rslora", false},
          {"use_dora", dora},
          {"init_lora_weights", true},
          {"target_modules", PeftJson::array()},
          {"modules_to_save", nullptr},
          {"rank_pattern", PeftJson::object()},
          {"alpha_pattern", PeftJson::object()}};
}

}  // namespace levin::adapters
