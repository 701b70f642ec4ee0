#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace levin::adapters {

constexpr const char* kPeftConfigFile = "adapter_config.json";
constexpr const char* kPeftWeightsFile = "adapter_model.safetensors";
/// Before each name in a file of PEFT's: the wrapper's, and the one of the network in it.
constexpr std::string_view kPeftPrefix = "base_model.model.";
constexpr std::string_view kFactorA = ".lora_A.weight", kFactorB = ".lora_B.weight";
constexpr std::string_view kMagnitude = ".lora_magnitude_vector";

/// The two factors of an adapter in a file, and DoRA's magnitudes.
struct Factors {
  at::Tensor a = {}, b = {}, magnitude = {};
};

/// What a file of weights holds, by the names of the network.
struct PeftWeights {
  std::map<std::string, Factors> factors = {};    ///< by the layer's name
  std::map<std::string, at::Tensor> others = {};  ///< parameters and buffers that were trained whole
};

/// Reads an adapter_model.safetensors of LoRA. Throws levin::UsageError that names the file for one that is missing,
/// damaged, or without adapters, and for a kind of adapter that is not supported.
PeftWeights read_peft_weights(const std::filesystem::path& file);

/// Throws levin::UsageError unless all adapters have magnitudes, or none, as adapter_config.json says.
void check_magnitudes(const PeftWeights& weights, bool dora, const std::string& file);

/// Returns whether a weight of `sizes` is stored as [in, out]; a square one is if `transposes_square`. Throws
/// levin::UsageError that begins with `what` if the factors are for a weight of other sizes.
bool is_transposed(at::IntArrayRef sizes, const Factors& factors, bool transposes_square, const std::string& what);

/// Returns the names among `all` that a file's `name` stands for: itself, or the only one that ends with it.
std::optional<std::string> name_in(const std::vector<std::string>& all, const std::string& name);

}  // namespace levin::adapters
