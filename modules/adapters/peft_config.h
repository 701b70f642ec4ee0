#pragma once
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace levin::adapters {

/// What PEFT's adapter_config.json says of a LoRA adapter, as far as it is needed to compute with it.
struct PeftConfig {
  double alpha = 8;
  std::map<std::string, double> alpha_of = {};  ///< by the end of a layer's name, where it differs
  double dropout = 0;
  bool rslora = false;
  bool fan_in_fan_out = false;
  bool dora = false;
};

/// Reads an adapter_config.json. Throws levin::UsageError that names the file and the field: for a file that is missing
/// or no JSON, another kind of adapter than LoRA, and settings that change what is computed and are not known.
PeftConfig read_peft_config(const std::filesystem::path& file);

/// Returns the factor of the adapter of a layer.
double scale_of(const PeftConfig& config, const std::string& layer, int64_t rank);

/// Returns the fields that PEFT writes for a LoRA adapter of this alpha and rank, for use and not for training.
nlohmann::ordered_json peft_config_json(double alpha, int64_t rank, bool dora);

}  // namespace levin::adapters
